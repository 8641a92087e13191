"""Fully recursive dynamics of open trees with bodies that deform, in O(n) and O(p n), by articulated bodies of 6 + k.

As ``recursive``, with columns of nodes and of elastic coordinates beside those of joints. A body that deforms has 6 + k
accelerations, of its frame and of its shapes. Subtrees press on it through the columns of its nodes, which elastic
accelerations move by the rows of E; once all have been added, these are eliminated one by one, as axes are, and an
articulated body of six remains. The virtual motion of the adjoint is solved for in the same way. Spatial vectors are
about the points of reference. Derivation: docs/theory/open_trees.md, section 5.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear, copy_to
from mbsim_cli.kernels.algebra.spatial import (
    SIZE,
    accumulate,
    accumulate2,
    add6,
    add_shifted,
    articulated_apply,
    articulated_at,
    axpy6,
    dot6,
    inertia_at,
    motion_at,
    motion_at2,
    of_rigid,
    shift_force,
    shift_motion,
    store,
    store2,
    store_rigid,
    sub6,
    subtract_dyad,
)
from mbsim_cli.kernels.algebra.vectors import load3, load6, rotate, row3, rows3, scale3, sub3, symmetric_rotate
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import body_force, set_armatures
from mbsim_cli.kernels.algorithms.equations.signals import vary_element_forces
from mbsim_cli.kernels.algorithms.flexible.deforming_bodies import slope_bodies, vary_flexible_forces
from mbsim_cli.kernels.algorithms.flexible.node_columns import vary_motion_of_columns, vary_rows
from mbsim_cli.kernels.algorithms.flexible.workspace import flexible_kinematics, flexible_twists
from mbsim_cli.kernels.algorithms.motion.about_origin import pose_of
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, offset_to_parent, set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, motion_alone
from mbsim_cli.kernels.algorithms.open_trees import recursive
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import FIND_VIRTUAL
from mbsim_cli.kernels.algorithms.open_trees.open_tree import (
    coefficient_offset,
    driven_acceleration,
    open_tree,
    vary_driven_acceleration,
    vary_reactions_of_drives,
)
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.algorithms.systems.system_of_flexible_trees import load_free
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width, zeros
from mbsim_cli.kernels.elements.flexible_work import CR, CT, H, J, M, modes_of, pair_row
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.standard_data import ME


class FlexibleArticulated(NamedTuple):
    """Eliminated columns, and the articulated bodies that remain; row nb belongs to the ground.

    U of an elastic coordinate is the force on the body's frame by its acceleration.
    """

    own: np.ndarray  # (nb,) number of the body that deforms that a body is, or NONE
    moved: np.ndarray  # (nb,) number of that whose nodes all columns of a joint are, or NONE
    node: np.ndarray  # (nc,) number of a column of nodes, or NONE
    driver: np.ndarray  # (nc,) constraint whose law prescribes a column, or NONE
    inertia: np.ndarray  # (nb + 1, 21) I^A as the parent's side of the joint feels it
    axis: np.ndarray  # (nc, 6) S, or the axis of a rotation in place of Euler parameters
    U: np.ndarray  # (nc, 6)
    D: np.ndarray  # (nc,) reciprocal of what resists; zero where the column is driven
    K: np.ndarray  # (nf, N, N) lower half: inertia of elastic coordinates, row l with those eliminated after it
    across: np.ndarray  # (N, 6) work: U of elastic coordinates about a node
    along: np.ndarray  # (N,) work
    joint_force: np.ndarray  # (nb + 1, 6) force across the joint, on the body
    armature: np.ndarray  # (nc,) inertias of the coordinates themselves


def flexible_articulated(model, open_tree, dtype=np.float64):
    """Allocate FlexibleArticulated."""
    tree = model.tree
    nb, nc, nf = tree.parent.size, tree.column_kind.size, tree.flexible.size
    N = int(np.diff(tree.elastic).max(initial=0))
    own, moved, node, driver = (np.full(size, NONE, np.int64) for size in (nb, nb, nc, nc))
    own[tree.flexible] = np.arange(nf)
    moved[tree.column_body[tree.node]] = tree.node_body
    node[tree.node] = np.arange(tree.node.size)
    driver[tree.column] = open_tree.driver
    sizes = (nb + 1, SIZE), (nc, 6), (nc, 6), nc, (nf, N, N), (N, 6), N, (nb + 1, 6), nc
    return FlexibleArticulated(own, moved, node, driver, *(np.zeros(size, dtype) for size in sizes))


@kernel
def factor_columns(tree, theta, kin, art):
    """Eliminate all columns that are not driven, from the tips to the ground; False if nothing resists one.

    Needs poses, and bodies as ``shape_bodies`` or ``flexible_forces`` leaves them. Cost O(n).
    """
    recursive.set_axes(tree, theta, kin, art)
    _start_bodies(tree, theta, kin, art)
    for i in range(tree.parent.size - 1, -1, -1):
        own, moved, p = art.own[i], art.moved[i], tree.parent[i]
        if own != NONE:
            if moved == own:
                _cross_nodes(tree, kin.rows, art, i, own, art.U, tree.elastic[own])
            if not _eliminate_shapes(tree, art, i, own):
                return False
        if moved == NONE and not _eliminate_axes(tree, art, i):
            return False
        if p >= 0:
            d = offset_to_parent(tree, kin, i)
            if moved != NONE and moved != own:
                _add_to_parent(tree, kin.rows, art, i, moved, d)
            add_shifted(art.inertia, p, articulated_at(art.inertia, i), d)
    return True


@kernel
def _start_bodies(tree, theta, kin, art):
    """Single bodies with 6 + k accelerations."""
    el = kin.elastic
    for i in range(tree.parent.size):
        store_rigid(art.inertia, i, inertia_at(kin.inertia, i))
    for f in range(tree.flexible.size):
        i, frame = tree.flexible[f], el.frame[f]
        n, c, o = modes_of(tree, f)
        R, r = pose_of(kin, i)
        d = sub3(r, row3(kin.ref, i, 0))
        shaped = frame[M], rotate(R, load3(frame, H)), symmetric_rotate(R, load6(frame, J))
        add_shifted(art.inertia, i, of_rigid(shaped), d)
        for l in range(n):
            U = rotate(R, rows3(el.now, f, CR, l)), rotate(R, rows3(el.now, f, CT, l))
            store(art.U, c + l, shift_force(U, scale3(-1.0, d)))
            for m in range(n):
                art.K[f, l, m] = theta[pair_row(o, n, l, ME) + m]


@inlined
def _cross_nodes(tree, rows, art, i, f, U, first):
    """Cross the columns of joint i, nodes of body f: add to K, and to U from row ``first`` on, what is pressed on them.

    Such a column moves by L q'', L in ``rows`` of E.
    """
    n, _, _ = modes_of(tree, f)
    for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
        v, S = art.node[c], motion_at(art.axis, c)
        pressed = articulated_apply(articulated_at(art.inertia, i), S)
        half = 0.5 * dot6(S, pressed)
        for l in range(n):
            art.along[l] = dot6(S, motion_at(U, first + l)) + half * rows[v, l]
        for l in range(n):
            for m in range(l + 1):
                art.K[f, l, m] += rows[v, l] * art.along[m] + art.along[l] * rows[v, m]
        for l in range(n):
            accumulate(U, first + l, rows[v, l], pressed)


@inlined
def _add_to_parent(tree, rows, art, i, f, d):
    """Add to the elastic coordinates of the parent, number f, what body i makes of them at a node."""
    clear(art.across)
    _cross_nodes(tree, rows, art, i, f, art.across, 0)
    n, first, _ = modes_of(tree, f)
    for l in range(n):
        accumulate(art.U, first + l, 1.0, shift_force(motion_at(art.across, l), scale3(-1.0, d)))


@inlined
def _eliminate_shapes(tree, art, i, f):
    """Eliminate the elastic coordinates of body i, number f, the last one first."""
    (n, first, _), K = modes_of(tree, f), art.K[f]
    for l in range(n):
        art.D[first + l] = K[l, l]
    for l in range(n - 1, -1, -1):
        c = first + l
        if not K[l, l].real > recursive.SINGULAR * art.D[c].real:
            return False
        D, U = 1.0 / K[l, l], motion_at(art.U, c)
        art.D[c] = D
        subtract_dyad(art.inertia, i, D, U)
        for m in range(l):
            share = D * K[l, m]
            accumulate(art.U, first + m, -share, U)
            for j in range(m + 1):
                K[m, j] -= share * K[l, j]
    return True


@inlined
def _eliminate_axes(tree, art, i):
    """Eliminate the axes of joint i, the last one first."""
    for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
        if recursive.is_skipped(tree.column_kind[c]):
            art.D[c] = 0.0
        elif art.driver[c] != NONE:
            art.D[c] = 0.0
            store(art.U, c, articulated_apply(articulated_at(art.inertia, i), motion_at(art.axis, c)))
        elif not recursive.cross_axis(art, i, c):
            return False
    return True


@kernel
def solve(tree, kin, art, rhs):
    """Accelerations of all columns; needs ``factor_columns``. Cost O(p n).

    As in ``recursive.solve_axes``, x becomes the force that remains for a column on the way inwards.
    """
    for i in range(tree.parent.size - 1, -1, -1):
        own, moved, p = art.own[i], art.moved[i], tree.parent[i]
        back = scale3(-1.0, offset_to_parent(tree, kin, i))
        for g in range(0, rhs.each.size, width(rhs.each)):
            k = block(rhs.each, g)
            F = motion_at2(rhs.F, i, k)
            if moved != NONE and moved == own:
                _load_nodes(tree, kin.rows, art, i, own, k, F, rhs.x)
            if own != NONE:
                F = _shapes_inward(tree, art, own, k, F, rhs.x)
            if moved == NONE:
                F = recursive.axes_inward(tree, art.driver, art, i, k, F, rhs)
            elif moved != own:
                _load_nodes(tree, kin.rows, art, i, moved, k, F, rhs.x)
            store2(rhs.F, i, k, F)
            if p >= 0:
                accumulate2(rhs.F, p, k, 1.0, shift_force(F, back))
    clear(rhs.a[tree.parent.size])
    for i in range(tree.parent.size):
        own, moved, p, d = art.own[i], art.moved[i], tree.parent[i], offset_to_parent(tree, kin, i)
        for g in range(0, rhs.each.size, width(rhs.each)):
            k = block(rhs.each, g)
            a = shift_motion(motion_at2(rhs.a, p, k), d)
            if moved == NONE:
                a = recursive.axes_outward(tree, art.driver, art, i, k, a, rhs)
            elif moved != own:
                a = _nodes_outward(tree, kin.rows, art, i, moved, k, a, rhs.x)
            if own != NONE:
                _shapes_outward(tree, art, own, k, a, rhs.x)
                if moved == own:
                    a = _nodes_outward(tree, kin.rows, art, i, own, k, a, rhs.x)
            store2(rhs.a, i, k, a)


@inlined
def _load_nodes(tree, rows, art, i, f, k, F, x):
    """The columns of joint i, nodes of body f, load its elastic coordinates."""
    n, first, _ = modes_of(tree, f)
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        left = at(x, c, k) - dot6(motion_at(art.axis, c), F)
        for l in range(n):
            add_to(x, first + l, k, rows[art.node[c], l] * left)


@inlined
def _shapes_inward(tree, art, f, k, F, x):
    """Force behind the elastic coordinates of body f."""
    n, first, _ = modes_of(tree, f)
    for l in range(n - 1, -1, -1):
        c = first + l
        u = art.D[c] * at(x, c, k)
        F = axpy6(u, motion_at(art.U, c), F)
        for m in range(l):
            add_to(x, first + m, k, -art.K[f, l, m] * u)
    return F


@inlined
def _shapes_outward(tree, art, f, k, a, x):
    """Elastic accelerations of body f, a its frame's."""
    n, first, _ = modes_of(tree, f)
    for l in range(n):
        c = first + l
        left = at(x, c, k) - dot6(a, motion_at(art.U, c))
        for m in range(l):
            left = left - art.K[f, l, m] * at(x, first + m, k)
        put(x, c, k, art.D[c] * left)


@inlined
def _nodes_outward(tree, rows, art, i, f, k, a, x):
    """Acceleration behind the columns of joint i, nodes of body f."""
    n, first, _ = modes_of(tree, f)
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        moved = rows[art.node[c], 0] * at(x, first, k)
        for l in range(1, n):
            moved = moved + rows[art.node[c], l] * at(x, first + l, k)
        a = axpy6(moved, motion_at(art.axis, c), a)
    return a


@kernel
def joint_forces(tree, kin, art, rhs):
    """Forces across all joints, by the only column of ``rhs``."""
    for i in range(tree.parent.size):
        a = shift_motion(motion_at2(rhs.a, tree.parent[i], 0), offset_to_parent(tree, kin, i))
        if art.moved[i] != art.own[i] and art.moved[i] != NONE:  # nodes of the parent are not eliminated
            a = motion_at2(rhs.a, i, 0)
        store(art.joint_force, i, add6(articulated_apply(articulated_at(art.inertia, i), a), motion_at2(rhs.F, i, 0)))


# The formulation ------------------------------------------------------------------------------------------------------


class ColumnForces(NamedTuple):
    """Forces on columns, in the place of ``ColumnEquations``."""

    G: np.ndarray  # (nc,) rows of elastic coordinates
    Q: np.ndarray  # (nc,) forces of elements


class Loads(NamedTuple):
    """Forces on single bodies and on columns, in the place of ``FlexibleComposite``."""

    W: np.ndarray  # (nb + 1, 6)
    on_frame: np.ndarray  # (nf, 6)
    equations: tuple  # ColumnForces


class FlexibleRecursive(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: tuple
    kin: tuple  # about the centres of mass
    loads: tuple
    art: tuple  # FlexibleArticulated
    rhs: tuple  # RightHandSides of the motion
    x: np.ndarray  # (nc,) the numbers of ``rhs.x``
    tw: tuple
    varied: tuple  # RightHandSides of its variations, in the arrays of ``tw``
    reaction: np.ndarray  # (m,) multipliers of drives
    driven: np.ndarray  # (n, p) variation of driven accelerations
    turned: np.ndarray  # (n, p) what coordinates take of nodes by dE


class ArticulatedElimination(NamedTuple):
    """Work of M mu = b for p columns, in the place of ``acceleration_pull_back.Elimination``."""

    kin: tuple  # kinematics at rest, about the centres of mass
    art: tuple
    rhs: tuple
    x: np.ndarray  # (n, p)
    driven: np.ndarray  # (n, p) mu of driven coordinates
    columns: np.ndarray  # (nc, p)
    no_rate: np.ndarray  # (nc,) zeros
    no_change: np.ndarray  # (nc, p) zeros


def flexible_recursive(model, theta, p, dtype=np.float64):
    """Allocate FlexibleRecursive for p directions and the gravity of theta."""
    tree, found = model.tree, open_tree(model)
    nb, nc, n, z = tree.parent.size, tree.column_kind.size, tree.column.size, np.zeros
    kin, tw = flexible_kinematics(model, dtype), flexible_twists(model, p, dtype)
    rhs = recursive.right_hand_sides(model, 1, dtype)
    set_ground(theta, kin)
    varied = recursive.RightHandSides(tw.F, tw.N2, zeros((nc, p), dtype), zeros((nc, p), dtype), tw.each)
    forces = ColumnForces(z(nc, dtype), z(nc, dtype))
    loads = Loads(z((nb + 1, 6), dtype), z((tree.flexible.size, 6), dtype), forces)
    return FlexibleRecursive(
        found, kin, loads, flexible_articulated(model, found, dtype), rhs, rhs.x[:, 0], tw, varied,
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
        kin, art, recursive.right_hand_sides(model, p, dtype), *of_coordinates, columns, np.zeros(nc, dtype), no_change
    )


@kernel
def accelerate(model, theta, t, motion, dyn, reaction_out):
    """Find z'' of the ``motion``, and multipliers of drives (m,); False where nothing resists a coordinate."""
    tree, kin, art, columns = model.tree, dyn.kin, dyn.art, dyn.kin.motion
    clear(motion.zdd)
    driven_acceleration(model, theta, t, dyn.open_tree, motion.zdd)
    load_free(model, theta, t, True, motion, kin, dyn.loads)
    set_armatures(model, theta, art.armature)
    if not factor_columns(tree, theta, kin, art):
        return False
    _take_loads(tree, kin, dyn)
    solve(tree, kin, art, dyn.rhs)
    joint_forces(tree, kin, art, dyn.rhs)
    recursive.add_coordinate_accelerations(tree, art.driver, columns.z, columns.zd, dyn, columns.zdd)
    for i in range(motion.zdd.size):
        motion.zdd[i] = columns.zdd[tree.column[i]]
    for c in range(art.driver.size):
        if art.driver[c] != NONE:
            dyn.reaction[art.driver[c]] = -dyn.x[c] / theta[coefficient_offset(model, art.driver[c])]
    copy_to(dyn.reaction, reaction_out)
    return True


@kernel
def _take_loads(tree, kin, dyn):
    """Forces of the motion without joint accelerations, on bodies and columns."""
    forces = dyn.loads.equations
    for i in range(tree.parent.size):
        store2(dyn.rhs.F, i, 0, sub6(body_force(kin, i), motion_at(dyn.loads.W, i)))
    recursive.axis_forces(tree, kin.motion.z, forces.Q, dyn.x)
    for c in range(tree.elastic[0], tree.elastic[tree.flexible.size]):
        dyn.x[c] = -forces.G[c]
    for c in range(tree.column_kind.size):
        if dyn.art.driver[c] != NONE:
            dyn.x[c] -= dyn.art.armature[c] * kin.motion.zdd[c]


@kernel
def vary_accelerations(model, theta, directions, t, state, sens, dyn):
    """dz'' (n, p) and dlambda (m, p) into ``sens``, from its dz, dz'; needs ``accelerate`` just before."""
    dtheta = directions.dtheta
    tree, kin, art, tw, x, driver = model.tree, dyn.kin, dyn.art, dyn.tw, dyn.varied.x, dyn.art.driver
    motion, change, forces = motion_alone(kin.motion), motion_alone(tw.change), dyn.loads.equations
    load_free(model, theta, t, True, motion_alone(state), kin, dyn.loads)
    column_kinematics(tree, theta, motion, kin)
    vary_driven_acceleration(model, theta, dtheta, t, dyn.open_tree, state.zdd, dyn.driven)
    vary_motion_of_columns(tree, theta, dtheta, motion_alone(state), Motion(sens.z, sens.zd, dyn.driven), change)
    clear(x)
    recursive.vary_bodies_outward(tree, theta, directions, kin, dyn.loads.W, art, change, tw, x)
    clear(tw.dG)
    vary_element_forces(model, theta, directions, t, motion, change, kin, tw, tw.dG)
    slope_bodies(model, theta, motion, kin)
    vary_flexible_forces(model, theta, directions, motion, change, kin, tw, tw.dG)
    recursive.add_axis_forces(tree, tw.each, motion.z, change.z, forces.Q, tw.dG, x)
    recursive.meet_armatures(model, theta, dtheta, driver, motion.zdd, change.zdd, x)
    _vary_nodes(tree, theta, dtheta, state.z, sens.z, dyn, x)
    solve(tree, kin, art, dyn.varied)
    recursive.vary_coordinate_accelerations(tree, tw.each, driver, motion, change, x, change.zdd)
    _to_coordinates(tree, tw.each, change.zdd, sens.zdd)
    vary_reactions_of_drives(model, theta, dtheta, driver, dyn.reaction, x, sens.lam)


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
    """Virtual motion mu of the adjoints ``work.hat``; False where nothing resists a coordinate."""
    tree, own = model.tree, work.elimination
    kin, art, rhs, z = own.kin, own.art, own.rhs, own.kin.motion.z
    system.place(model, theta, state.z, True, kin)
    system.shape(model, theta, kin)
    set_armatures(model, theta, art.armature)
    if not factor_columns(tree, theta, kin, art):
        return False
    clear(rhs.F)
    clear(rhs.x)
    _to_columns(tree, rhs.each, own.driven, rhs.given)
    _to_columns(tree, rhs.each, work.hat, own.columns)
    recursive.add_axis_forces(tree, rhs.each, z, own.no_change, own.no_rate, own.columns, rhs.x)
    solve(tree, kin, art, rhs)
    still, change = Motion(z, own.no_rate, own.no_rate), Motion(own.no_change, own.no_change, rhs.given)
    recursive.vary_coordinate_accelerations(tree, rhs.each, art.driver, still, change, rhs.x, own.columns)
    _to_coordinates(tree, rhs.each, own.columns, work.virtual.mu)
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
