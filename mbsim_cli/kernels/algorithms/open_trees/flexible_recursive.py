"""Fully recursive dynamics of open trees with bodies that deform, in O(n) and O(p n), by articulated bodies of 6 + k.

As ``recursive``, with columns of nodes and of elastic coordinates beside those of joints; the virtual motion of the
adjoint is solved for in the same way. Derivation: docs/theory/open_trees.md, section 5.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import dot6, motion_at, store2, sub6
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import body_force, set_armatures
from mbsim_cli.kernels.algorithms.equations.signals import vary_element_forces
from mbsim_cli.kernels.algorithms.flexible.bodies import slope_bodies, vary_flexible_forces
from mbsim_cli.kernels.algorithms.flexible.node_columns import vary_columns, vary_rows
from mbsim_cli.kernels.algorithms.flexible.workspace import flexible_kinematics, flexible_twists
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import FIND_VIRTUAL
from mbsim_cli.kernels.algorithms.open_trees.articulated_body import (
    add_axis_forces,
    add_coordinate_accelerations,
    axis_forces,
    meet_armatures,
    vary_bodies_outward,
    vary_coordinate_accelerations,
)
from mbsim_cli.kernels.algorithms.open_trees.flexible_articulated import (
    Presses,
    factor,
    flexible_articulated,
    joint_forces,
    presses,
    solve,
)
from mbsim_cli.kernels.algorithms.open_trees.open_tree import (
    coefficient_offset,
    driven_acceleration,
    open_tree,
    vary_driven_acceleration,
)
from mbsim_cli.kernels.algorithms.systems.contract import place, shape
from mbsim_cli.kernels.algorithms.systems.system_of_flexible_trees import load_free
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width, zeros
from mbsim_cli.model.layout import NONE


class ColumnForces(NamedTuple):
    """What acts on columns, in the place of ``ColumnEquations``."""

    G: np.ndarray  # (nc,) rows of elastic coordinates
    Q: np.ndarray  # (nc,) forces of elements


class Loads(NamedTuple):
    """What acts on single bodies and on columns, in the place of ``FlexibleComposite``."""

    W: np.ndarray  # (nb + 1, 6)
    push: np.ndarray  # (nf, 6)
    equations: tuple  # ColumnForces


class FlexibleRecursive(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: tuple
    kin: tuple  # about the centres of mass
    loads: tuple
    art: tuple  # FlexibleArticulated
    press: tuple  # Presses of the motion
    x: np.ndarray  # (nc,) the numbers of ``press.x``
    tw: tuple
    varied: tuple  # Presses of its variations, in the arrays of ``tw``
    reaction: np.ndarray  # (m,) multipliers of drives
    driven: np.ndarray  # (n, p) variation of driven accelerations
    turned: np.ndarray  # (n, p) what coordinates take of nodes by dE


class ArticulatedElimination(NamedTuple):
    """Work of M mu = b for p columns, in the place of ``acceleration_pull_back.Elimination``."""

    kin: tuple  # kinematics at rest, about the centres of mass
    art: tuple
    press: tuple
    x: np.ndarray  # (n, p)
    driven: np.ndarray  # (n, p) mu of driven coordinates
    columns: np.ndarray  # (nc, p)
    no_rate: np.ndarray  # (nc,) zeros
    no_change: np.ndarray  # (nc, p) zeros


def flexible_recursive(model, theta, p, dtype=np.float64):
    """Allocate FlexibleRecursive for p directions and the gravity of theta."""
    tree, found = model.tree, open_tree(model)
    nb, nc, n, z = tree.parent.size, tree.column_kind.size, tree.column.size, np.zeros
    kin, tw, press = flexible_kinematics(model, dtype), flexible_twists(model, p, dtype), presses(model, 1, dtype)
    set_ground(theta, kin)
    varied = Presses(tw.F, tw.N2, zeros((nc, p), dtype), zeros((nc, p), dtype), tw.each)
    forces = ColumnForces(z(nc, dtype), z(nc, dtype))
    loads = Loads(z((nb + 1, 6), dtype), z((tree.flexible.size, 6), dtype), forces)
    return FlexibleRecursive(
        found, kin, loads, flexible_articulated(model, found, dtype), press, press.x[:, 0], tw, varied,
        z(model.constraints.measure.size, dtype), zeros((n, p), dtype), zeros((n, p), dtype),
    )  # fmt: skip


def articulated_elimination(model, theta, p, dtype=np.float64):
    """Allocate ArticulatedElimination for p columns."""
    nc, n = model.tree.column_kind.size, model.tree.column.size
    kin, art = flexible_kinematics(model, dtype), flexible_articulated(model, open_tree(model), dtype)
    set_ground(theta, kin)
    of_coordinates, of_columns = (zeros((n, p), dtype) for _ in range(2)), (zeros((nc, p), dtype) for _ in range(2))
    columns, no_change = of_columns
    return ArticulatedElimination(
        kin, art, presses(model, p, dtype), *of_coordinates, columns, np.zeros(nc, dtype), no_change
    )


@kernel
def accelerate(model, theta, t, z, zd, dyn, zdd_out, reaction_out):
    """Accelerations (n,) and multipliers of drives (m,) at (t, z, zd); False where nothing resists a coordinate."""
    tree, kin, art, motion = model.tree, dyn.kin, dyn.art, dyn.kin.motion
    for c in range(zdd_out.size):
        zdd_out[c] = 0.0
    driven_acceleration(model, theta, t, dyn.open_tree, zdd_out)
    load_free(model, theta, t, True, Motion(z, zd, zdd_out), kin, dyn.loads)
    set_armatures(model, theta, art.armature)
    if not factor(tree, theta, kin, art):
        return False
    _take_loads(tree, kin, dyn)
    solve(tree, kin, art, dyn.press)
    joint_forces(tree, kin, art, dyn.press)
    add_coordinate_accelerations(tree, art.driver, motion.z, motion.zd, dyn, motion.zdd)
    for i in range(zdd_out.size):
        zdd_out[i] = motion.zdd[tree.column[i]]
    for c in range(art.driver.size):
        if art.driver[c] != NONE:
            dyn.reaction[art.driver[c]] = -dyn.x[c] / theta[coefficient_offset(model, art.driver[c])]
    for r in range(reaction_out.size):
        reaction_out[r] = dyn.reaction[r]
    return True


@kernel
def _take_loads(tree, kin, dyn):
    """Forces of the motion without joint accelerations, on bodies and columns."""
    forces = dyn.loads.equations
    for i in range(tree.parent.size):
        store2(dyn.press.F, i, 0, sub6(body_force(kin, i), motion_at(dyn.loads.W, i)))
    axis_forces(tree, kin.motion.z, forces.Q, dyn.x)
    for c in range(tree.elastic[0], tree.elastic[tree.flexible.size]):
        dyn.x[c] = -forces.G[c]
    for c in range(tree.column_kind.size):
        if dyn.art.driver[c] != NONE:
            dyn.x[c] -= dyn.art.armature[c] * kin.motion.zdd[c]


@kernel
def vary_accelerations(model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out):
    """Variations (n, p) of the accelerations just found by ``accelerate``, and (m, p) of multipliers."""
    tree, kin, art, tw, x, driver = model.tree, dyn.kin, dyn.art, dyn.tw, dyn.varied.x, dyn.art.driver
    motion, change, forces = kin.motion, tw.change, dyn.loads.equations
    load_free(model, theta, t, True, Motion(z, zd, zdd), kin, dyn.loads)
    vary_driven_acceleration(model, theta, dtheta, t, dyn.open_tree, zdd, dyn.driven)
    vary_columns(tree, theta, kin.rows, dtheta, Motion(z, zd, zdd), Motion(dz, dzd, dyn.driven), change)
    clear(x)
    vary_bodies_outward(
        tree, theta, dtheta, touch, kin, dyn.loads.W, art, change.z, change.zd, change.zdd, tw, x
    )  # fmt: skip
    clear(tw.dG)
    vary_element_forces(
        model, theta, dtheta, touch, t, motion.z, motion.zd, change.z, change.zd, kin, tw, tw.dG
    )  # fmt: skip
    slope_bodies(model, theta, motion, kin)
    vary_flexible_forces(model, theta, dtheta, touch, motion, change, kin, tw, tw.dG)
    add_axis_forces(tree, tw.each, motion.z, change.z, forces.Q, tw.dG, x)
    meet_armatures(model, theta, dtheta, driver, motion.zdd, change.zdd, x)
    _vary_nodes(tree, theta, dtheta, z, dz, dyn, x)
    solve(tree, kin, art, dyn.varied)
    vary_coordinate_accelerations(
        tree, tw.each, driver, motion.z, motion.zd, motion.zdd, change.z, change.zd, change.zdd, x, change.zdd
    )  # fmt: skip
    _to_coordinates(tree, tw.each, change.zdd, dzdd_out)
    for c in range(driver.size):
        row = driver[c]
        if row != NONE:
            o = coefficient_offset(model, row)
            for k in range(dz.shape[1]):
                d_reaction_out[row, k] = -(x[c, k] + dyn.reaction[row] * dtheta[o, k]) / theta[o]


@kernel
def _vary_nodes(tree, theta, dtheta, z, dz, dyn, x_out):
    """Take from the rows of elastic coordinates what nodes press on them by dE."""
    art, forces = dyn.art, dyn.loads.equations
    for v in range(tree.node.size):
        c = tree.node[v]
        forces.G[c] = dot6(motion_at(art.axis, c), motion_at(art.joint_force, tree.column_body[c])) - forces.Q[c]
    # forces that do not vary
    vary_rows(tree, theta, dyn.kin.rows, dtheta, z, dz, forces.G, dyn.varied.given, dyn.turned)
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        for i in range(tree.column.size):
            add_to(x_out, tree.column[i], k, -1.0 * at(dyn.turned, i, k))


@kernel
def find_virtual(model, theta, state, work):
    """Virtual motion mu of the covectors ``work.hat``; False where nothing resists a coordinate."""
    tree, own = model.tree, work.elimination
    kin, art, press, z = own.kin, own.art, own.press, own.kin.motion.z
    place(model, theta, state.z, True, kin)
    shape(model, theta, kin)
    set_armatures(model, theta, art.armature)
    if not factor(tree, theta, kin, art):
        return False
    clear(press.F)
    clear(press.x)
    _to_columns(tree, press.each, own.driven, press.given)
    _to_columns(tree, press.each, work.hat, own.columns)
    add_axis_forces(tree, press.each, z, own.no_change, own.no_rate, own.columns, press.x)
    solve(tree, kin, art, press)
    vary_coordinate_accelerations(
        tree, press.each, art.driver, z, own.no_rate, own.no_rate, own.no_change, own.no_change, press.given, press.x,
        own.columns,
    )  # fmt: skip
    _to_coordinates(tree, press.each, own.columns, work.virtual.mu)
    return True


@inlined
def _to_columns(tree, each, found, out):
    """Numbers (n, p) of coordinates in the rows of their columns, (nc, p); zero in those of nodes."""
    clear(out)
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            put(out, tree.column[i], k, at(found, i, k))


@inlined
def _to_coordinates(tree, each, found, out):
    """Numbers (nc, p) of columns in the rows of the coordinates that they are, (n, p)."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            put(out, i, k, at(found, tree.column[i], k))


FIND_VIRTUAL[ArticulatedElimination] = find_virtual
