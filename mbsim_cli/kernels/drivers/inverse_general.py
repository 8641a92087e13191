"""Inverse dynamics of any tree, one instant after another: Euler parameters, springs, and all parameter derivatives."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.equations.force_variation import vary_applied
from mbsim_cli.kernels.algorithms.equations.forces import applied_wrench, clear_wrenches
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import residual
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces, vary_bodies
from mbsim_cli.kernels.algorithms.motion.bodies import apply_to_body
from mbsim_cli.kernels.algorithms.motion.kinematics import motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.systems.contract import evaluate_free, vary_free
from mbsim_cli.kernels.compiler.jit import entry


class At(NamedTuple):
    """The motion at an instant."""

    z: np.ndarray  # (n,)
    zd: np.ndarray
    zdd: np.ndarray


class Torque(NamedTuple):
    """Forces on coordinates, and the residual, which is what the coordinates take."""

    Q: np.ndarray  # (n,)
    G: np.ndarray


@entry
def general_torques(model, theta, at_center, motion, directions, sens, kin, comp, tw, Q, torque_out, d_torque_out):
    """torque (N, n) and its variations (N, n, d) in directions of theta and, ``sens``, of the coordinates (n, d)."""
    for row in range(motion.time.size):
        t, z, zd, zdd = motion.time[row], motion.position[row], motion.velocity[row], motion.acceleration[row]
        state = At(z, zd, zdd)
        evaluate_free(model, theta, t, at_center, state, kin, comp, Torque(Q, torque_out[row]))
        if directions.dtheta.shape[1] > 0:
            vary_free(model, theta, directions, t, state, sens, kin, comp, tw, d_torque_out[row])


@entry
def applied_torques(model, theta, at_center, motion, directions, sens, kin, comp, tw, Q, torque_out, d_torque_out):
    """``general_torques`` where all forces are applied ones: compiles in 10 s instead of 16."""
    tree = model.tree
    dtheta, touch = directions.dtheta, directions.touch
    for row in range(motion.time.size):
        t, z, zd, zdd = motion.time[row], motion.position[row], motion.velocity[row], motion.acceleration[row]
        position_kinematics(tree, theta, z, at_center, kin)
        motion_kinematics(tree, theta, z, zd, zdd, kin)
        clear_wrenches(comp.W, Q)
        for f in range(model.forces.kind.size):
            wrench, _, _ = applied_wrench(model, theta, t, kin, f)
            apply_to_body(comp.W, kin, model.pairs.b[model.forces.pair[f]], 1.0, wrench)
        residual(tree, kin, comp, Q, torque_out[row])
        if dtheta.shape[1] > 0:
            vary_kinematics(tree, theta, dtheta, touch, kin, sens.z, sens.zd, sens.zdd, tw)
            clear_forces(tw, d_torque_out[row])
            for f in range(model.forces.kind.size):
                vary_applied(model, theta, dtheta, t, f, kin, tw)
            vary_bodies(tree, theta, dtheta, touch, z, sens.z, kin, comp, tw, d_torque_out[row])
