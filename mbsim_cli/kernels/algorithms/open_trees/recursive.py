"""Fully recursive dynamics of open trees: accelerations and their variations in O(n) and O(p n).

Articulated bodies are eliminated from the tips to the ground, so that no mass matrix is formed. Accelerations are
split, A = A_0 + a, into those without joint accelerations and the part that these add; a body then takes the force
I^A a + p^A from its joint, and its joint coordinates drop out of I^A, p^A one by one. Euler parameters act as three
rotations about fixed axes of the parent's side of the joint. Reference points are the centres of mass, so that no
digits are lost far from the origin.

Paper 001, section 4, equations (52)-(61); Featherstone (1983). Derivation: docs/theory/open_trees.md.
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
    cross_force,
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    motion_at2,
    shift_force,
    shift_motion,
    size_along,
    store,
    store2,
    store_rigid,
    sub6,
    subtract_dyad,
)
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, dot3, inner4, norm2, rate_column, scale3
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import body_force, rate_apply, rate_matrix, set_armatures
from mbsim_cli.kernels.algorithms.equations.residual_variation import own_inertia_force
from mbsim_cli.kernels.algorithms.equations.signals import element_forces, vary_element_forces
from mbsim_cli.kernels.algorithms.motion import variation
from mbsim_cli.kernels.algorithms.motion.kinematics import (
    column_kinematics,
    euler_own,
    motion_kinematics,
    offset_to_parent,
    position_kinematics,
    set_ground,
)
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, kinematics, motion_alone, twists
from mbsim_cli.kernels.algorithms.open_trees import open_tree
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, numbers, put, width, zeros
from mbsim_cli.kernels.elements.columns import is_euler, load4, load4_of
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import NONE

SINGULAR = 1e-13  # of the scale of an axis' inertia: below this nothing but round-off resists


class Articulated(NamedTuple):
    """Articulated bodies, and the axes that are eliminated; row nb belongs to the ground."""

    inertia: np.ndarray  # (nb + 1, 21) I^A as the parent's side of the joint feels it
    p: np.ndarray  # (nb + 1, 6) force that it takes without joint accelerations
    a: np.ndarray  # (nb + 1, 6) part of the body's acceleration that joint accelerations make
    joint_force: np.ndarray  # (nb + 1, 6) force across the joint, on the body, about its ref
    axis: np.ndarray  # (n, 6) S, or the axis of a rotation in place of Euler parameters
    U: np.ndarray  # (n, 6) I^A S
    D: np.ndarray  # (n,) 1 / (S . U + a), a the armature; zero where the coordinate is driven
    u: np.ndarray  # (n,) what of the coordinate's own force is left for its acceleration
    x: np.ndarray  # (n,) accelerations along the axes
    armature: np.ndarray  # (n,) inertias of the coordinates themselves


class RightHandSides(NamedTuple):
    """Right-hand sides and solutions with p columns, p 1 or ``simd.padded``."""

    F: np.ndarray  # (nb + 1, 6, p) forces that single bodies take; then those of subtrees, as their parents feel them
    a: np.ndarray  # (nb + 1, 6, p) accelerations of bodies
    x: np.ndarray  # (nc, p) forces on columns; then their accelerations, and of driven ones what the drive takes
    given: np.ndarray  # (nc, p) accelerations of driven columns
    each: np.ndarray  # (p,) ``simd.numbers`` of the columns


def articulated(nb, n, dtype=np.float64):
    """Allocate Articulated."""
    z = np.zeros
    bodies = [z((nb + 1, k), dtype) for k in (SIZE, 6, 6, 6)]
    return Articulated(*bodies, z((n, 6), dtype), z((n, 6), dtype), *(z(n, dtype) for _ in range(4)))


def right_hand_sides(model, p, dtype=np.float64):
    """Allocate RightHandSides."""
    nb, nc = model.tree.parent.size, model.tree.column_kind.size
    bodies, columns = (zeros((nb + 1, 6, p), dtype) for _ in range(2)), (zeros((nc, p), dtype) for _ in range(2))
    return RightHandSides(*bodies, *columns, numbers(p, dtype))


@inlined
def is_skipped(kind):
    """Whether the column has no axis of its own: four Euler parameters have three."""
    return kind == Column.EULER_0


@kernel
def set_axes(tree, theta, kin, art):
    """Axes of all coordinates, about ref of the bodies that they move."""
    for i in range(tree.parent.size):
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            j = tree.column_kind[c] - Column.EULER_1
            if j < 0:
                store(art.axis, c, motion_at(kin.S, c))
            else:
                unit = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
                store(art.axis, c, euler_own(tree, theta, kin, i, unit))


@kernel
def start_bodies(tree, kin, W, art):
    """Single bodies: inertia, and the force that the motion without joint accelerations takes, W (nb + 1, 6) given."""
    for i in range(tree.parent.size):
        store_rigid(art.inertia, i, inertia_at(kin.inertia, i))
        store(art.p, i, sub6(body_force(kin, i), motion_at(W, i)))


@kernel
def axis_forces(tree, z, Q, out):
    """Forces Q (n,) on coordinates as forces on their axes: those on Euler parameters give moments."""
    for c in range(z.size):
        kind = tree.column_kind[c]
        if not is_euler(kind):
            out[c] = Q[c]
        elif kind == Column.EULER_0:  # E(e) Q / 2
            e = load4(z, c)
            moment = scale3(Q[c], rate_column(e, 0))
            for j in range(1, 4):
                moment = add3(moment, scale3(Q[c + j], rate_column(e, j)))
            out[c] = 0.0 * Q[c]
            for j in range(3):
                out[c + 1 + j] = 0.5 * moment[j]


@inlined
def cross_axis(art, i, c):
    """Eliminate axis c from the inertia of body i, and keep U and D; False if nothing resists it."""
    S = motion_at(art.axis, c)
    inertia = articulated_at(art.inertia, i)
    U = articulated_apply(inertia, S)
    resistance = dot6(S, U) + art.armature[c]
    if not resistance.real > SINGULAR * size_along(inertia, S):
        return False
    art.D[c] = 1.0 / resistance
    store(art.U, c, U)
    subtract_dyad(art.inertia, i, art.D[c], U)
    return True


@kernel
def eliminate(tree, driver, kin, art):
    """Eliminate the joints from the tips to the ground; ``u`` holds the axes' forces. False if nothing resists one."""
    for i in range(tree.parent.size - 1, -1, -1):
        for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
            S = motion_at(art.axis, c)
            if driver[c] != NONE:
                store(art.U, c, articulated_apply(articulated_at(art.inertia, i), S))
            if driver[c] != NONE or is_skipped(tree.column_kind[c]):
                art.D[c] = 0.0
                continue
            u = art.u[c] - dot6(S, motion_at(art.p, i))
            if not cross_axis(art, i, c):
                return False
            art.u[c] = u
            accumulate(art.p, i, art.D[c] * u, motion_at(art.U, c))
        p = tree.parent[i]
        if p >= 0:
            d = offset_to_parent(tree, kin, i)
            add_shifted(art.inertia, p, articulated_at(art.inertia, i), d)
            accumulate(art.p, p, 1.0, shift_force(motion_at(art.p, i), scale3(-1.0, d)))
    return True


@kernel
def accelerate_axes(tree, kin, art):
    """Joint accelerations along the axes, x, and the forces across the joints, from the ground to the tips."""
    clear(art.a[tree.parent.size])
    for i in range(tree.parent.size):
        a = shift_motion(motion_at(art.a, tree.parent[i]), offset_to_parent(tree, kin, i))
        force = add6(articulated_apply(articulated_at(art.inertia, i), a), motion_at(art.p, i))
        store(art.joint_force, i, force)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            x = art.D[c] * (art.u[c] - dot6(a, motion_at(art.U, c)))
            art.x[c] = x
            a = axpy6(x, motion_at(art.axis, c), a)
        store(art.a, i, a)


@kernel
def add_coordinate_accelerations(tree, driver, z, zd, art, zdd_out):
    """Add free accelerations to zdd, which holds driven ones; e'' = E^T x / 2 - (e'.e' / e.e) e keeps e.e constant."""
    for c in range(z.size):
        kind = tree.column_kind[c]
        if is_euler(kind):
            j = kind - Column.EULER_0
            first = c - j
            e, e1 = load4(z, first), load4(zd, first)
            turn = (art.x[first + 1], art.x[first + 2], art.x[first + 3])
            zdd_out[c] = 0.5 * dot3(rate_column(e, j), turn) - norm2(e1) / norm2(e) * e[j]
        elif driver[c] == NONE:
            zdd_out[c] = art.x[c]


# Variations -----------------------------------------------------------------------------------------------------------
#
# From the ground to the tips: twists N, N', N'' of all bodies at fixed joint accelerations, the forces that the bodies
# take for them, and what they ask of each axis; from the tips to the ground: these forces through the articulated
# bodies that ``eliminate`` left; back to the tips: the joint accelerations that follow. Cost O(n p).
# Paper 001, equations (62)-(70). Derivation: docs/theory/open_trees.md.


@kernel
def vary_bodies_outward(tree, theta, directions, kin, W, art, change, tw, x_out):
    """N, N', N'' and F of all bodies, and in x (n, p) minus the change of the load on each axis, which turns.

    ``change.zdd`` holds the accelerations of drives.

    F turns the forces W (nb + 1, 6) on single bodies along, for they are varied as the bodies see them.
    """
    dtheta, touch = directions.dtheta, directions.touch
    variation.vary_ground(tree, dtheta, tw)
    for i in range(tree.parent.size):
        p, d = tree.parent[i], offset_to_parent(tree, kin, i)
        couple, momentum = rate_matrix(kin, i)
        inertia, F = inertia_at(kin.inertia, i), sub6(body_force(kin, i), motion_at(W, i))
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            N, N1, N2 = motion_at2(tw.N, p, k), motion_at2(tw.N1, p, k), motion_at2(tw.N2, p, k)
            N, N1, N2 = shift_motion(N, d), shift_motion(N1, d), shift_motion(N2, d)
            if touch.geometry[i, g]:
                V, A = shift_motion(motion_at(kin.V, p), d), shift_motion(motion_at(kin.A, p), d)
                N, N1, N2 = variation.add_fixed(
                    variation.parent_frame_twist(tree, theta, dtheta, k, kin, i), V, A, N, N1, N2
                )
            N, N1, N2 = _cross_columns(tree, i, k, kin, art, change, N, N1, N2, x_out)
            if touch.geometry[i, g]:
                own = variation.body_frame_twist(tree, theta, dtheta, k, kin, i)
                N, N1, N2 = variation.add_fixed(own, motion_at(kin.V, i), motion_at(kin.A, i), N, N1, N2)
            dF = add6(cross_force(N, F), add6(inertia_apply(inertia, N2), rate_apply(couple, momentum, N1[0])))
            if touch.inertia[i, g]:
                dF = add6(dF, own_inertia_force(tree, theta, dtheta, k, kin, i))
            store2(tw.N, i, k, N)
            store2(tw.N1, i, k, N1)
            store2(tw.N2, i, k, N2)
            store2(tw.F, i, k, dF)


@inlined
def _cross_columns(tree, i, k, kin, art, change, N, N1, N2, x_out):
    """Twist of the body from that of the joint frame on the parent's side, column by column."""
    force = motion_at(art.joint_force, i)
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        kind = tree.column_kind[c]
        if not is_euler(kind):
            put(x_out, c, k, _turned_axis(motion_at(art.axis, c), force, N))
        elif kind == Column.EULER_0:  # all three axes are fixed on the parent's side
            for j in range(1, 4):
                put(x_out, c + j, k, _turned_axis(motion_at(art.axis, c + j), force, N))
        N, N1, N2 = variation.cross_column(
            kin, c, at(change.z, c, k), at(change.zd, c, k), at(change.zdd, c, k), N, N1, N2
        )
    return N, N1, N2


@inlined
def _turned_axis(S, force, N):
    """The axis varies with the frame that it is fixed in: -(N x S) . force."""
    return -dot6(N, cross_force(S, force))  # -(N x S) . f = (S x N) . f = -N . (S x* f)


@kernel
def add_axis_forces(tree, each, z, dz, Q, dG, x_out):
    """Add -dG (n, p), the variation of forces Q (n,) on coordinates, to x; ``each`` are ``simd.numbers`` of columns."""
    for c in range(z.size):
        kind = tree.column_kind[c]
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            if not is_euler(kind):
                add_to(x_out, c, k, -at(dG, c, k))
            elif kind == Column.EULER_0:
                e, de = load4(z, c), load4_of(dz, c, k)
                moment = scale3(-at(dG, c, k), rate_column(e, 0))
                moment = axpy3(Q[c], rate_column(de, 0), moment)
                for j in range(1, 4):
                    moment = axpy3(-at(dG, c + j, k), rate_column(e, j), moment)
                    moment = axpy3(Q[c + j], rate_column(de, j), moment)
                for j in range(3):
                    add_to(x_out, c + 1 + j, k, 0.5 * moment[j])


@kernel
def meet_armatures(model, theta, dtheta, driver, zdd, driven, x_out):
    """Take from what the axes meet the variation of a z'' of armatures, at fixed z'' where nothing drives them.

    ``driven`` (n, p) are variations of driven accelerations.
    """
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            add_to(x_out, c, k, -zdd[c] * at(dtheta, o, k))
            if driver[c] != NONE:
                add_to(x_out, c, k, -theta[o] * at(driven, c, k))


@kernel
def solve_axes(tree, driver, kin, art, rhs):
    """Accelerations along all axes; needs ``eliminate``. Cost O(p n).

    From the tips to the ground forces go through the articulated bodies; x becomes the force that remains for an axis.
    """
    for i in range(tree.parent.size - 1, -1, -1):
        p, back = tree.parent[i], scale3(-1.0, offset_to_parent(tree, kin, i))
        for g in range(0, rhs.each.size, width(rhs.each)):
            k = block(rhs.each, g)
            F = axes_inward(tree, driver, art, i, k, motion_at2(rhs.F, i, k), rhs)
            store2(rhs.F, i, k, F)
            if p >= 0:
                accumulate2(rhs.F, p, k, 1.0, shift_force(F, back))
    clear(rhs.a[tree.parent.size])
    for i in range(tree.parent.size):
        p, d = tree.parent[i], offset_to_parent(tree, kin, i)
        for g in range(0, rhs.each.size, width(rhs.each)):
            k = block(rhs.each, g)
            a = shift_motion(motion_at2(rhs.a, p, k), d)
            store2(rhs.a, i, k, axes_outward(tree, driver, art, i, k, a, rhs))


@inlined
def axes_inward(tree, driver, art, i, k, F, rhs):
    """Force behind the axes of joint i."""
    for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
        if driver[c] != NONE:
            F = axpy6(at(rhs.given, c, k), motion_at(art.U, c), F)
        elif not is_skipped(tree.column_kind[c]):
            u = at(rhs.x, c, k) - dot6(motion_at(art.axis, c), F)
            put(rhs.x, c, k, u)
            F = axpy6(art.D[c] * u, motion_at(art.U, c), F)
    return F


@inlined
def axes_outward(tree, driver, art, i, k, a, rhs):
    """Acceleration behind the axes of joint i, from that before them."""
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        if driver[c] != NONE:
            force = add6(articulated_apply(articulated_at(art.inertia, i), a), motion_at2(rhs.F, i, k))
            put(rhs.x, c, k, dot6(motion_at(art.axis, c), force) - at(rhs.x, c, k))
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        if driver[c] != NONE:
            a = axpy6(at(rhs.given, c, k), motion_at(art.axis, c), a)
        elif not is_skipped(tree.column_kind[c]):
            x = art.D[c] * (at(rhs.x, c, k) - dot6(a, motion_at(art.U, c)))
            put(rhs.x, c, k, x)
            a = axpy6(x, motion_at(art.axis, c), a)
    return a


@kernel
def vary_coordinate_accelerations(tree, each, driver, motion, change, x, dzdd_out):
    """dz'' of the coordinates (n, p), from x along the axes and ``change.zdd`` of drives; ``each`` as above."""
    z, zd, zdd, dz, dzd = motion.z, motion.zd, motion.zdd, change.z, change.zd
    for c in range(z.size):
        kind = tree.column_kind[c]
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            if driver[c] != NONE:
                put(dzdd_out, c, k, at(change.zdd, c, k))
            elif not is_euler(kind):
                put(dzdd_out, c, k, at(x, c, k))
            elif kind == Column.EULER_0:
                e, e1, e2 = load4(z, c), load4(zd, c), load4(zdd, c)
                turn = (at(x, c + 1, k), at(x, c + 2, k), at(x, c + 3, k))
                # e . de'' varies the norm equation e . e'' + e' . e' = 0
                along = -(inner4(load4_of(dz, c, k), e2) + 2.0 * inner4(e1, load4_of(dzd, c, k))) / norm2(e)
                for j in range(4):
                    put(dzdd_out, c + j, k, 0.5 * dot3(rate_column(e, j), turn) + along * e[j])


class Recursive(NamedTuple):
    """Work of the fully recursive formulation."""

    open_tree: tuple
    kin: tuple
    art: tuple
    W: np.ndarray  # (nb + 1, 6) forces of elements on bodies
    Q: np.ndarray  # (n,) and on coordinates
    twists: tuple  # Twists; once forces are known, N2 holds what the joint accelerations add to N''
    varied: tuple  # RightHandSides of variations, in the arrays of ``twists``
    dG: np.ndarray  # (n, p) variation of -Q
    reaction: np.ndarray  # (m,) multipliers of drives
    driven: np.ndarray  # (n, p) variation of driven accelerations


def recursive(model, theta, p, dtype=np.float64):
    """Allocate Recursive for p directions, ``simd.padded``, and the gravity of theta."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    kin, tw = kinematics(model, dtype), twists(model, p, dtype)
    set_ground(theta, kin)
    varied = RightHandSides(tw.F, tw.N2, zeros((n, p), dtype), zeros((n, p), dtype), tw.each)
    return Recursive(
        open_tree.open_tree(model), kin, articulated(nb, n, dtype), np.zeros((nb + 1, 6), dtype), np.zeros(n, dtype),
        tw, varied, zeros((n, p), dtype), np.zeros(model.constraints.measure.size, dtype), zeros((n, p), dtype),
    )  # fmt: skip


@kernel
def accelerate(model, theta, t, motion, dyn, reaction_out):
    """Find z'' of the ``motion``, and multipliers of drives (m,); False where nothing resists an axis."""
    tree, kin, art, driver = model.tree, dyn.kin, dyn.art, dyn.open_tree.driver
    z, zd, zdd_out = motion.z, motion.zd, motion.zdd
    position_kinematics(tree, theta, z, True, kin)
    clear(zdd_out)
    open_tree.driven_acceleration(model, theta, t, dyn.open_tree, zdd_out)
    motion_kinematics(tree, theta, motion, kin)
    clear(dyn.W)
    clear(dyn.Q)
    element_forces(model, theta, t, Motion(z, zd, zd), kin, dyn.W, dyn.Q)
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
            dyn.reaction[driver[c]] = -load / theta[open_tree.coefficient_offset(model, driver[c])]
    copy_to(dyn.reaction, reaction_out)
    return True


@kernel
def vary_accelerations(model, theta, directions, t, state, sens, dyn):
    """dz'' (n, p) and dlambda (m, p) into ``sens``, from its dz, dz'; needs ``accelerate`` just before."""
    dtheta = directions.dtheta
    tree, kin, art, tw, x = model.tree, dyn.kin, dyn.art, dyn.twists, dyn.varied.x
    driver = dyn.open_tree.driver
    motion, change = motion_alone(state), Motion(sens.z, sens.zd, dyn.driven)
    motion_kinematics(tree, theta, motion, kin)
    column_kinematics(tree, theta, motion, kin)
    open_tree.vary_driven_acceleration(model, theta, dtheta, t, dyn.open_tree, state.zdd, dyn.driven)
    vary_bodies_outward(tree, theta, directions, kin, dyn.W, art, change, tw, x)
    if model.forces.kind.size > 0:
        clear(dyn.dG)
        vary_element_forces(model, theta, directions, t, motion, change, kin, tw, dyn.dG)
        add_axis_forces(tree, tw.each, state.z, sens.z, dyn.Q, dyn.dG, x)
    meet_armatures(model, theta, dtheta, driver, state.zdd, dyn.driven, x)
    solve_axes(tree, driver, kin, art, dyn.varied)
    vary_coordinate_accelerations(tree, tw.each, driver, motion, change, x, sens.zdd)
    open_tree.vary_reactions_of_drives(model, theta, dtheta, driver, dyn.reaction, x, sens.lam)
