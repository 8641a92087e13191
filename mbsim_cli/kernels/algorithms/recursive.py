"""Fully recursive dynamics of open trees: accelerations and their variations in O(n) and O(p n).

Reference points are the centres of mass, so that no digits are lost far from the origin. Paper 001, section 4.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel, merged
from mbsim_cli.kernels.algebra.spatial import dot6, motion_at
from mbsim_cli.kernels.algorithms.articulated_body import (
    accelerate_axes,
    add_coordinate_accelerations,
    articulated,
    axis_forces,
    eliminate,
    set_axes,
    start_bodies,
)
from mbsim_cli.kernels.algorithms.articulated_body_variation import (
    LANES,
    accelerate_lanes,
    add_axis_forces,
    body_lanes,
    column_lanes,
    eliminate_lanes,
    gather_lanes,
    scatter_lanes,
    vary_bodies_outward,
)
from mbsim_cli.kernels.algorithms.forces import clear_wrenches, element_forces
from mbsim_cli.kernels.algorithms.kinematics import motion_kinematics, position_kinematics, set_ground
from mbsim_cli.kernels.algorithms.open_tree import (
    coefficient_offset,
    driven_acceleration,
    open_tree,
    vary_driven_acceleration,
)
from mbsim_cli.kernels.algorithms.residual_variation import vary_element_forces
from mbsim_cli.kernels.algorithms.workspace import Touch, Twists, kinematics
from mbsim_cli.model.layout import MEASURE_SIZE, NONE


class Recursive(NamedTuple):
    """Work of the fully recursive formulation."""

    open_tree: tuple
    kin: tuple
    art: tuple
    W: np.ndarray  # (nb + 1, 6) forces of elements on bodies
    Q: np.ndarray  # (n,) and on coordinates
    rows: np.ndarray  # (nb + 1,) body_lanes
    columns: np.ndarray  # (n,) column_lanes
    twists: tuple  # Twists: views of the rows, as elements read and write them
    dG: np.ndarray  # (n, LANES) variation of -Q
    reaction: np.ndarray  # (m,) multipliers of drives
    driven: np.ndarray  # (n, p) variation of driven accelerations
    no_eta: np.ndarray  # (15,) zeros


def recursive(model, theta, p, dtype=np.float64):
    """Allocate Recursive for p directions, a multiple of LANES, and the gravity of theta."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    kin = kinematics(nb, n, dtype)
    set_ground(theta, kin)
    rows = np.zeros(nb + 1, body_lanes(dtype))
    N, N1, N2, F = (rows[name].transpose(0, 2, 1) for name in ("N", "N1", "N2", "F"))
    return Recursive(
        open_tree(model),
        kin,
        articulated(nb, n, dtype),
        np.zeros((nb + 1, 6), dtype),
        np.zeros(n, dtype),
        rows,
        np.zeros(n, column_lanes(dtype)),
        Twists(N, N1, N2, N, F),
        np.zeros((n, LANES), dtype),
        np.zeros(model.constraints.measure.size, dtype),
        np.zeros((n, p), dtype),
        np.zeros(MEASURE_SIZE, dtype),
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
    if not eliminate(tree, driver, kin, art):
        return False
    accelerate_axes(tree, kin, art)
    add_coordinate_accelerations(tree, driver, z, zd, art, zdd_out)
    for c in range(driver.size):
        if driver[c] != NONE:
            load = dot6(motion_at(art.axis, c), motion_at(art.joint_force, tree.column_body[c])) - dyn.Q[c]
            dyn.reaction[driver[c]] = -load / theta[coefficient_offset(model, driver[c])]
    for r in range(reaction_out.size):
        reaction_out[r] = dyn.reaction[r]
    return True


@kernel
def vary_accelerations(model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out):
    """Variations (n, p) of the accelerations just found by ``accelerate``, and (m, p) of multipliers."""
    motion_kinematics(model.tree, theta, z, zd, zdd, dyn.kin)
    vary_driven_acceleration(model, theta, dtheta, t, dyn.open_tree, zdd, dyn.driven)
    for first in range(0, dtheta.shape[0], LANES):
        last = first + LANES
        block = Touch(
            touch.geometry[:, first:last],
            touch.inertia[:, first:last],
            touch.measure[:, first:last],
            touch.force[:, first:last],
            touch.body,
        )
        _vary_lanes(
            model, theta, dtheta[first:last], block, first, t, z, zd, zdd, dz, dzd, dyn, dzdd_out,
            d_reaction_out,
        )  # fmt: skip


@merged
def _vary_lanes(
    model, theta, dtheta, touch, first, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out
):  # fmt: skip
    tree, kin, art, rows, columns, driver = model.tree, dyn.kin, dyn.art, dyn.rows, dyn.columns, dyn.open_tree.driver
    last = first + LANES
    gather_lanes(first, dz, dzd, dyn.driven, columns)
    vary_bodies_outward(tree, theta, dtheta, touch, kin, art, rows, columns)
    if model.forces.kind.size > 0:
        for c in range(z.size):
            for l in range(LANES):
                dyn.dG[c, l] = 0.0
        vary_element_forces(
            model, theta, dtheta, touch, dyn.no_eta, t, z, zd, dz[:, first:last], dzd[:, first:last], kin, dyn.twists,
            dyn.dG,
        )  # fmt: skip
        add_axis_forces(tree, z, dyn.Q, dyn.dG, columns)
    eliminate_lanes(tree, driver, kin, art, rows, columns)
    accelerate_lanes(tree, driver, kin, art, rows, columns)
    scatter_lanes(tree, driver, first, z, zd, zdd, columns, dzdd_out)
    for c in range(driver.size):
        row = driver[c]
        if row != NONE:
            o = coefficient_offset(model, row)
            for l in range(LANES):
                load = columns[c]["x"][0, l]
                d_reaction_out[row, first + l] = -(load + dyn.reaction[row] * dtheta[l, o]) / theta[o]
