"""Fully recursive dynamics of open trees: accelerations and their variations in O(n) and O(p n).

Reference points are the centres of mass, so that no digits are lost far from the origin. Paper 001, section 4.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import dot6, motion_at
from mbsim_cli.kernels.algorithms.equations.forces import clear_wrenches
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import set_armatures
from mbsim_cli.kernels.algorithms.equations.signals import element_forces, vary_element_forces
from mbsim_cli.kernels.algorithms.motion.kinematics import motion_kinematics, position_kinematics, set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import kinematics, twists
from mbsim_cli.kernels.algorithms.open_trees.articulated_body import (
    accelerate_axes,
    add_axis_forces,
    add_coordinate_accelerations,
    articulated,
    axis_forces,
    eliminate,
    eliminate_variations,
    meet_armatures,
    set_axes,
    start_bodies,
    vary_axis_accelerations,
    vary_bodies_outward,
    vary_coordinate_accelerations,
)
from mbsim_cli.kernels.algorithms.open_trees.open_tree import (
    coefficient_offset,
    driven_acceleration,
    open_tree,
    vary_driven_acceleration,
)
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.model.layout import NONE


class Recursive(NamedTuple):
    """Work of the fully recursive formulation."""

    open_tree: tuple
    kin: tuple
    art: tuple
    W: np.ndarray  # (nb + 1, 6) forces of elements on bodies
    Q: np.ndarray  # (n,) and on coordinates
    twists: tuple  # Twists; once forces are known, N2 holds what the joint accelerations add to N''
    x: np.ndarray  # (n, p) variation of the accelerations along the axes
    dG: np.ndarray  # (n, p) variation of -Q
    reaction: np.ndarray  # (m,) multipliers of drives
    driven: np.ndarray  # (n, p) variation of driven accelerations


def recursive(model, theta, p, dtype=np.float64):
    """Allocate Recursive for p directions, ``simd.padded``, and the gravity of theta."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    kin = kinematics(model, dtype)
    set_ground(theta, kin)
    return Recursive(
        open_tree(model),
        kin,
        articulated(nb, n, dtype),
        np.zeros((nb + 1, 6), dtype),
        np.zeros(n, dtype),
        twists(model, p, dtype),
        zeros((n, p), dtype),
        zeros((n, p), dtype),
        np.zeros(model.constraints.measure.size, dtype),
        zeros((n, p), dtype),
    )


@kernel
def accelerate(model, theta, t, z, zd, dyn, zdd_out, reaction_out):
    """Accelerations (n,) and multipliers of drives (m,) at (t, z, zd); False where nothing resists an axis."""
    tree, kin, art, driver = model.tree, dyn.kin, dyn.art, dyn.open_tree.driver
    position_kinematics(tree, theta, z, True, kin)
    for c in range(zdd_out.size):
        zdd_out[c] = 0.0
    driven_acceleration(model, theta, t, dyn.open_tree, zdd_out)
    motion_kinematics(tree, theta, z, zd, zdd_out, kin)
    clear_wrenches(dyn.W, dyn.Q)
    element_forces(model, theta, t, z, zd, kin, dyn.W, dyn.Q)
    set_axes(tree, theta, kin, art)
    start_bodies(tree, kin, dyn.W, art)
    axis_forces(tree, z, dyn.Q, art.u)
    set_armatures(model, theta, art.armature)
    if not eliminate(tree, driver, kin, art):
        return False
    accelerate_axes(tree, kin, art)
    add_coordinate_accelerations(tree, driver, z, zd, art, zdd_out)
    for c in range(driver.size):
        if driver[c] != NONE:
            load = dot6(motion_at(art.axis, c), motion_at(art.joint_force, tree.column_body[c])) - dyn.Q[c]
            load += art.armature[c] * zdd_out[c]
            dyn.reaction[driver[c]] = -load / theta[coefficient_offset(model, driver[c])]
    for r in range(reaction_out.size):
        reaction_out[r] = dyn.reaction[r]
    return True


@kernel
def vary_accelerations(model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out):
    """Variations (n, p) of the accelerations just found by ``accelerate``, and (m, p) of multipliers."""
    tree, kin, art, tw, driver = model.tree, dyn.kin, dyn.art, dyn.twists, dyn.open_tree.driver
    motion_kinematics(tree, theta, z, zd, zdd, kin)
    vary_driven_acceleration(model, theta, dtheta, t, dyn.open_tree, zdd, dyn.driven)
    vary_bodies_outward(tree, theta, dtheta, touch, kin, dyn.W, art, dz, dzd, dyn.driven, tw, dyn.x)
    if model.forces.kind.size > 0:
        clear(dyn.dG)
        vary_element_forces(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw, dyn.dG)
        add_axis_forces(tree, tw.each, z, dz, dyn.Q, dyn.dG, dyn.x)
    meet_armatures(model, theta, dtheta, driver, zdd, dyn.driven, dyn.x)
    eliminate_variations(tree, driver, kin, art, tw, dyn.x)
    vary_axis_accelerations(tree, driver, kin, art, tw, dyn.x)
    vary_coordinate_accelerations(tree, tw.each, driver, z, zd, zdd, dz, dzd, dyn.driven, dyn.x, dzdd_out)
    for c in range(driver.size):
        row = driver[c]
        if row != NONE:
            o = coefficient_offset(model, row)
            for k in range(dz.shape[1]):
                d_reaction_out[row, k] = -(dyn.x[c, k] + dyn.reaction[row] * dtheta[o, k]) / theta[o]
