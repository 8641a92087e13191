"""Motions that laws of time give, how they vary with the coefficients of the laws, and the transpose of that."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear, is_finite
from mbsim_cli.kernels.algorithms.equations.forces import add_force_on_bodies, vary_force_on_bodies
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import residual
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces, vary_bodies
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, motion_alone
from mbsim_cli.kernels.algorithms.systems.contract import evaluate_free, vary_free
from mbsim_cli.kernels.algorithms.torques.derivatives import ENTRY, VARY, form_row, vary_parameter, write_entries
from mbsim_cli.kernels.algorithms.torques.lanes import BODY, COLUMN, LANES, LOAD, SUM, sweep
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.compiler.simd import at, block, width
from mbsim_cli.kernels.elements.laws import law_value, law_variation, pull_law


@entry
def prescribe(laws, theta, law, time, position_out, velocity_out, acceleration_out):
    """Values (N, n) and two derivatives of laws; columns without a law are left as they are."""
    for row in range(time.size):
        for c in range(law.size):
            if law[c] >= 0:
                value, rate, second = law_value(laws, theta, law[c], time[row])
                position_out[row, c] = value
                velocity_out[row, c] = rate
                acceleration_out[row, c] = second


@entry
def vary_prescribed(laws, theta, dtheta, law, time, position_out, velocity_out, acceleration_out):
    """Derivatives (N, n, p) of the same in the directions dtheta (len(theta), p)."""
    for row in range(time.size):
        for c in range(law.size):
            if law[c] >= 0:
                for d in range(dtheta.shape[1]):
                    value, rate, second = law_variation(laws, theta, dtheta, d, law[c], time[row])
                    position_out[row, c, d] = value
                    velocity_out[row, c, d] = rate
                    acceleration_out[row, c, d] = second


@entry
def pull_prescribed(laws, theta, law, time, position, velocity, acceleration, theta_out):
    """Add to theta_out (len(theta), p) what adjoints (N, n, p) of the same make of the coefficients."""
    for row in range(time.size):
        for c in range(law.size):
            for g in range(0, theta_out.shape[1], width(theta_out)):
                k = block(theta_out, g)
                value, rate, second = at(position[row], c, k), at(velocity[row], c, k), at(acceleration[row], c, k)
                pull_law(laws, theta, law[c], time[row], k, value, rate, second, theta_out)


# Torques along a motion (``model.problem.Motion``) and their derivatives, ``LANES`` time points at a time.


class LaneWork(NamedTuple):
    """Work at ``LANES`` time points; everything is written before it is read."""

    body: np.ndarray  # (n + 1,)
    column: np.ndarray  # (n,)
    total: np.ndarray  # (n,)
    load: np.ndarray  # (n,)
    row: np.ndarray  # (n,)
    vary: np.ndarray  # (n + 1,)


def lane_work(n):
    """Allocate LaneWork."""
    rows = ((n + 1, BODY), (n, COLUMN), (n, SUM), (n, LOAD), (n, ENTRY), (n + 1, VARY))
    return LaneWork(*(np.zeros(count, kind) for count, kind in rows))


@entry
def lane_torques(system, motion, wrench, work, torque_out):
    """torque (N, n)."""
    total, n = torque_out.shape
    for first in range(0, total, LANES):
        sweep(system, motion, wrench, first, False, work)
        for i in range(n):
            for l in range(min(LANES, total - first)):
                torque_out[first + l, i] = work.column[i]["torque"][0, l]


@entry
def lane_derivatives(
    system, motion, wrench, change, d_wrench, work, torque_out, by_q_out, by_v_out, by_a_out, by_parameter_out
):
    """torque (N, n) and d torque / d position, velocity, acceleration (N, n, n), and by p parameters (N, n, p).

    Return whether all of them are finite: to look at numbers that have left the caches takes longer.
    """
    total, n = torque_out.shape
    related, load_rows = system.related, system.load_rows
    finite = True
    for first in range(0, total, LANES):
        count = min(LANES, total - first)
        sweep(system, motion, wrench, first, True, work)
        clear(by_q_out[first : first + count])
        clear(by_v_out[first : first + count])
        clear(by_a_out[first : first + count])
        clear(by_parameter_out[first : first + count])
        for k in range(by_parameter_out.shape[2]):
            vary_parameter(system, change, wrench, d_wrench, first, k, work, by_parameter_out)
        for i in range(n):
            form_row(related, load_rows[i] >= 0, i, work.column, work.row)
            write_entries(related, i, first, count, work.row, by_q_out, by_v_out, by_a_out)
            for l in range(count):
                torque_out[first + l, i] = work.column[i]["torque"][0, l]
        finite &= is_finite(torque_out[first : first + count]) & is_finite(by_parameter_out[first : first + count])
        finite &= is_finite(by_q_out[first : first + count]) & is_finite(by_v_out[first : first + count])
        finite &= is_finite(by_a_out[first : first + count])
    return finite


# Inverse dynamics of any tree, one time point after another: Euler parameters, springs, and all parameter derivatives.


class Torque(NamedTuple):
    """Forces on coordinates, and the residual, which is what the coordinates take."""

    Q: np.ndarray  # (n,)
    G: np.ndarray


@entry
def general_torques(model, theta, motion, directions, sens, kin, comp, tw, Q, torque_out, d_torque_out):
    """torque (N, n) and its variations (N, n, d) in directions of theta and, ``sens``, of the coordinates (n, d)."""
    for row in range(motion.time.size):
        t, state = motion.time[row], Motion(motion.position[row], motion.velocity[row], motion.acceleration[row])
        evaluate_free(model, theta, t, False, state, kin, comp, Torque(Q, torque_out[row]))
        if directions.dtheta.shape[1] > 0:
            vary_free(model, theta, directions, t, state, sens, kin, comp, tw, d_torque_out[row])


@entry
def applied_torques(model, theta, motion, directions, sens, kin, comp, tw, Q, torque_out, d_torque_out):
    """``general_torques`` where all forces are applied ones, which compiles faster."""
    tree = model.tree
    for row in range(motion.time.size):
        t, z = motion.time[row], motion.position[row]
        given = Motion(z, motion.velocity[row], motion.acceleration[row])
        position_kinematics(tree, theta, z, False, kin)
        motion_kinematics(tree, theta, given, kin)
        clear(comp.W)
        clear(Q)
        for f in range(model.forces.kind.size):
            add_force_on_bodies(model, theta, t, f, kin, comp.W)
        residual(tree, kin, comp, Q, torque_out[row])
        if directions.dtheta.shape[1] > 0:
            column_kinematics(tree, theta, given, kin)
            vary_kinematics(tree, theta, directions, kin, motion_alone(sens), tw)
            clear_forces(tw, d_torque_out[row])
            for f in range(model.forces.kind.size):
                vary_force_on_bodies(model, theta, directions, t, f, kin, tw)
            vary_bodies(tree, theta, directions, z, sens.z, kin, comp, tw, d_torque_out[row])
