"""Variation of G = M z'' - Q + Phi_z^T lambda in p directions, by one backward recursion.

Forces are varied as the body sees them that they act on, by dF - N x* F: the force that a body takes for its motion
by I N'' + B N' + (own inertia), an element's by its line; to cross a column inwards adds dz S x* F, and the column's
row varies by S . dF. Needs ``vary_kinematics`` and ``residual`` at the state.
Paper 000, sections 5-7 (all of M_z z'', K, C, Q_rho at once); docs/theory/variations.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import (
    accumulate,
    accumulate2,
    accumulate_shifted2,
    add6,
    axpy6,
    carry_inertia,
    cross_force,
    cross_motion,
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    motion_at2,
    scale6,
    shift_force,
    shift_motion,
    store,
    store2,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    cross3,
    dot3,
    inner4,
    is_zero3,
    load3,
    load3_of,
    norm2,
    rate_column,
    rate_product,
    rotate,
    row3,
    row9,
    scale3,
    sub3,
    symmetric_rotate,
)
from mbsim_cli.kernels.algorithms.by_type import with_elastic
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import vary_forces_of_pair, vary_multiplier_force
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_wrench, rows_of_pair
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import own_rates, rate_apply, rate_at
from mbsim_cli.kernels.algorithms.flexible.deforming_bodies import resting_force, vary_resting_force
from mbsim_cli.kernels.algorithms.motion import about_origin
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_frame, euler_moment, offset_to_parent
from mbsim_cli.kernels.algorithms.motion.variation import body_frame_twist, parent_frame_twist
from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width, zeros
from mbsim_cli.kernels.elements.columns import is_euler, load4, load4_of
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import COM, INERTIA, MASS, NONE


@kernel
def clear_forces(tw, dG_out):
    """Start a new sum of force variations."""
    clear(tw.F)
    clear(dG_out)


@kernel
def vary_bodies(tree, theta, directions, z, dz, kin, comp, tw, dG_out):
    """Add the bodies' part and sum over subtrees; dG (n, p) holds the elements' direct part on entry.

    ``tw.F`` holds the parts of elements and constraints as each body sees them.
    """
    dtheta, touch = directions.dtheta, directions.touch
    own_rates(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
        F = sub6(motion_at(comp.F, i), motion_at(comp.W, i))
        back = scale3(-1.0, offset_to_parent(tree, kin, i))
        p = tree.parent[i]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if touch.inertia[i, g]:  # in memory, as in ``vary_kinematics``
                accumulate2(tw.F, i, k, 1.0, own_inertia_force(tree, theta, dtheta, k, kin, i))
            if touch.geometry[i, g]:
                accumulate2(tw.F, i, k, 1.0, cross_force(body_frame_twist(tree, theta, dtheta, k, kin, i), F))
                own = parent_frame_twist(tree, theta, dtheta, k, kin, i)
                accumulate_shifted2(tw.F, p, k, cross_force(own, F), back)
            # read here: numbers read before the loop would be spread over lanes and kept in memory so
            inertia, (couple, momentum) = inertia_at(kin.inertia, i), rate_at(comp, i)
            dF = add6(motion_at2(tw.F, i, k), inertia_apply(inertia, motion_at2(tw.N2, i, k)))
            dF = add6(dF, rate_apply(couple, momentum, motion_at2(tw.N1, i, k)[0]))
            dF = _vary_rows(tree, theta, z, dz, kin, i, k, F, dF, dG_out)
            accumulate_shifted2(tw.F, p, k, dF, back)


@inlined
def _vary_rows(tree, theta, z, dz, kin, i, k, F, dF, dG_out):
    """Add the rows of joint i; return dF as the frame sees it that its columns start from."""
    for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
        S, kind = motion_at(kin.S, c), tree.column_kind[c]
        if kind == Column.EULER_0:
            dF = add6(dF, cross_force(euler_turn(kin, dz, c, k), F))
            vary_euler_rows(tree, theta, z, dz, kin, i, c, k, F, dF, dG_out)
        elif not is_euler(kind):
            add_to(dG_out, c, k, dot6(S, dF))
            dF = axpy6(at(dz, c, k), cross_force(S, F), dF)
    return dF


@inlined
def euler_turn(kin, dz, c, k):
    """Twist of the four columns from c on together."""
    turn = scale6(at(dz, c, k), motion_at(kin.S, c))
    for j in range(1, 4):
        turn = axpy6(at(dz, c + j, k), motion_at(kin.S, c + j), turn)
    return turn


@inlined
def vary_euler_rows(tree, theta, z, dz, kin, i, c, k, F, dF, dG_out):
    """Add the rows of four columns from c on, from dF as the frame sees it that they start from."""
    e, de = load4(z, c), load4_of(dz, c, k)
    s = 2.0 / norm2(e)
    along, moment = s * inner4(e, de), scale3(s, euler_moment(tree, theta, kin, i, F))
    for j in range(4):
        S = motion_at(kin.S, c + j)
        own = dot3(moment, rate_column(de, j)) - dot6(S, F) * along  # the columns change by themselves
        add_to(dG_out, c + j, k, dot6(S, dF) + own)


@inlined
def inertia_variation(tree, theta, dtheta, k, kin, i):
    """Variation k of the inertia (m, h, I) of body i about its ref, with mass, centre of mass and moments."""
    o = tree.theta[i]
    R = row9(kin.R, i)
    x = add3(rotate(R, load3(theta, o + COM)), sub3(row3(kin.r, i, 0), row3(kin.ref, i, 0)))
    s = rotate(R, load3_of(dtheta, o + COM, k))
    m, dm = theta[o + MASS], at(dtheta, o + MASS, k)
    a, b = load3_of(dtheta, o + INERTIA, k), load3_of(dtheta, o + INERTIA + 3, k)
    dJ = symmetric_rotate(R, (a[0], a[1], a[2], b[0], b[1], b[2]))
    trace = dm * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) + 2.0 * m * (x[0] * s[0] + x[1] * s[1] + x[2] * s[2])
    dI = (
        dJ[0] + trace - dm * x[0] * x[0] - 2.0 * m * x[0] * s[0],
        dJ[1] + trace - dm * x[1] * x[1] - 2.0 * m * x[1] * s[1],
        dJ[2] + trace - dm * x[2] * x[2] - 2.0 * m * x[2] * s[2],
        dJ[3] - dm * x[0] * x[1] - m * (x[0] * s[1] + x[1] * s[0]),
        dJ[4] - dm * x[0] * x[2] - m * (x[0] * s[2] + x[2] * s[0]),
        dJ[5] - dm * x[1] * x[2] - m * (x[1] * s[2] + x[2] * s[1]),
    )
    return dm, add3(scale3(dm, x), scale3(m, s)), dI


@inlined
def own_inertia_force(tree, theta, dtheta, k, kin, i):
    """Variation k of the force of body i with its own mass, centre of mass and moments."""
    d_inertia = inertia_variation(tree, theta, dtheta, k, kin, i)
    V = motion_at(kin.V, i)
    return add6(inertia_apply(d_inertia, motion_at(kin.A, i)), cross_force(V, inertia_apply(d_inertia, V)))


@inlined
def vary_inertia(tree, theta, dtheta, k, touched, kin, i, N):
    """dI (dm, dh, dJ) of body i, about the origin like ``kin``, for its twist N and direction k of dtheta."""
    carried = carry_inertia(inertia_at(kin.inertia, i), N)
    if not touched:
        return carried
    dm, dh, dJ = carried
    own_m, own_h, own_J = inertia_variation(tree, theta, dtheta, k, kin, i)
    return (
        dm + own_m,
        add3(dh, own_h),
        (dJ[0] + own_J[0], dJ[1] + own_J[1], dJ[2] + own_J[2], dJ[3] + own_J[3], dJ[4] + own_J[4], dJ[5] + own_J[5]),
    )


# Systems at rest: variation of M x + Phi_z^T multiplier at fixed x and multiplier, two pairs of these in one sweep ----
#
# A system at rest without gravity, under the accelerations x, has the residual M x + Phi_z^T multiplier. Its forces
# are varied as a frame sees them that moves along, by dF - N x* F: of a body that is I N'' + dI A, and to cross
# a column inwards adds dz S x* F. Both systems share N and the lines. Derivation: docs/theory/variations.md,
# section 5.


class Load(NamedTuple):
    """Accelerations and multipliers of a system at rest."""

    x: np.ndarray  # (n,) accelerations of the coordinates
    multiplier: np.ndarray  # (m,)


class Resting(NamedTuple):
    """A system at rest, and its variations in p directions; the last row of body arrays is the ground."""

    A: np.ndarray  # (nb + 1, 6) accelerations
    F: np.ndarray  # (nb + 1, 6) forces on subtrees
    N2: np.ndarray  # (nb + 1, 6, p) second derivatives of pose twists
    dF: np.ndarray  # (nb + 1, 6, p) variation of F, as the body sees it
    dG: np.ndarray  # (n, p) variation of M x + Phi_z^T multiplier
    dphi: np.ndarray  # (m, p) variation of the derivative of Phi that the multipliers hold to zero


def resting(nb, n, m, p, dtype=np.float64):
    """Allocate Resting."""
    scalars = (np.zeros((nb + 1, 6), dtype) for _ in range(2))
    directions = (zeros((nb + 1, 6, p), dtype) for _ in range(2))
    return Resting(*scalars, *directions, zeros((n, p), dtype), zeros((m, p), dtype))


@merged
def vary_resting(model, theta, directions, z, dz, lines, kin, comp, tw, loads, rests):
    """Fill dG of both systems, ``rests`` under ``loads``; needs ``vary_kinematics`` and the lines (m, LINE_SIZE)."""
    load, other_load = loads
    rest, other = rests
    resting_outwards(model.tree, theta, directions, z, dz, kin, load.x, other_load.x, rest, other)
    resting_constraint_forces(model, theta, directions, z, dz, lines, kin, tw, loads, rests)
    _resting_elastic(model, theta, directions, z, dz, kin, comp, load.x, rest)
    _resting_elastic(model, theta, directions, z, dz, kin, comp, other_load.x, other)
    resting_inwards(model.tree, theta, directions, z, dz, kin, rest, other)


@kernel
def resting_outwards(tree, theta, directions, z, dz, kin, x, y, rest, other):
    """A, N'', and forces of single bodies with their variations."""
    dtheta, touch = directions.dtheta, directions.touch
    for i in range(tree.parent.size):
        p, offset = tree.parent[i], offset_to_parent(tree, kin, i)
        shifts = not is_zero3(offset)
        base, other_base = shift_motion(motion_at(rest.A, p), offset), shift_motion(motion_at(other.A, p), offset)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            A, B = base, other_base
            start = p
            if shifts or touch.geometry[i, g]:  # in memory, as in ``vary_kinematics``
                N2, M2 = (
                    shift_motion(motion_at2(rest.N2, p, k), offset),
                    shift_motion(motion_at2(other.N2, p, k), offset),
                )
                if touch.geometry[i, g]:
                    own = parent_frame_twist(tree, theta, dtheta, k, kin, i)
                    N2, M2 = add6(N2, cross_motion(A, own)), add6(M2, cross_motion(B, own))
                store2(rest.N2, i, k, N2)
                store2(other.N2, i, k, M2)
                start = i
            N2, M2 = motion_at2(rest.N2, start, k), motion_at2(other.N2, start, k)
            for c in range(tree.first_column[i], tree.first_column[i + 1]):
                kind = tree.column_kind[c]
                if kind == Column.EULER_0:
                    turn = euler_turn(kin, dz, c, k)
                    N2 = add6(N2, add6(cross_motion(A, turn), _euler_own(tree, theta, z, x, dz, kin, i, c, k, turn)))
                    M2 = add6(M2, add6(cross_motion(B, turn), _euler_own(tree, theta, z, y, dz, kin, i, c, k, turn)))
                elif not is_euler(kind):
                    d, S = at(dz, c, k), motion_at(kin.S, c)
                    N2, M2 = axpy6(d, cross_motion(A, S), N2), axpy6(d, cross_motion(B, S), M2)
                A, B = axpy6(x[c], motion_at(kin.S, c), A), axpy6(y[c], motion_at(kin.S, c), B)
            if touch.geometry[i, g]:
                own = body_frame_twist(tree, theta, dtheta, k, kin, i)
                N2, M2 = add6(N2, cross_motion(A, own)), add6(M2, cross_motion(B, own))
            store(rest.A, i, A)
            store(other.A, i, B)
            store2(rest.N2, i, k, N2)
            store2(other.N2, i, k, M2)
            inertia = inertia_at(kin.inertia, i)
            dF, dH = inertia_apply(inertia, N2), inertia_apply(inertia, M2)
            store2(rest.dF, i, k, dF)
            store2(other.dF, i, k, dH)
            if touch.inertia[i, g]:
                d_inertia = inertia_variation(tree, theta, dtheta, k, kin, i)
                accumulate2(rest.dF, i, k, 1.0, inertia_apply(d_inertia, A))
                accumulate2(other.dF, i, k, 1.0, inertia_apply(d_inertia, B))
        inertia = inertia_at(kin.inertia, i)
        store(rest.F, i, inertia_apply(inertia, motion_at(rest.A, i)))
        store(other.F, i, inertia_apply(inertia, motion_at(other.A, i)))


@inlined
def _euler_own(tree, theta, z, x, dz, kin, i, c, k, turn):
    """Part of N'' from the change that four columns make by themselves."""
    R, arm = euler_frame(tree, theta, kin, i)
    e, rate = load4(z, c), load4(x, c)
    s = 2.0 / norm2(e)
    own = rotate(R, rate_product(rate, load4_of(dz, c, k)))
    return axpy6(-s * inner4(e, rate), turn, scale6(s, (own, cross3(arm, own))))


@kernel
def resting_constraint_forces(model, theta, directions, z, dz, lines, kin, tw, loads, rests):
    """Add the forces of the constraints; rows between the same bodies are taken together."""
    measures, rows, dtheta = model.measures, model.constraints.measure, directions.dtheta
    multiplier, others = loads[0].multiplier, loads[1].multiplier
    rest, other = rests
    _clear_ground(rest)
    _clear_ground(other)
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        if pair == NONE:
            vary_multiplier_force(measures, rows[first], theta, dtheta, z, dz, multiplier[first], rest.dG)
            vary_multiplier_force(measures, rows[first], theta, dtheta, z, dz, others[first], other.dG)
        else:
            a, b = model.pairs.a[pair], model.pairs.b[pair]
            W, U = constraint_wrench(lines, multiplier, first, last), constraint_wrench(lines, others, first, last)
            about_origin.apply_between(rest.F, kin, a, b, 1.0, W)
            about_origin.apply_between(other.F, kin, a, b, 1.0, U)
            Ra, _ = about_origin.pose_of(kin, a)
            for g in range(0, dz.shape[1], width(dz)):
                k = block(dz, g)
                N = about_origin.between2(tw.N, kin, a, b, k)
                vary_forces_of_pair(
                    model, theta, directions, lines, multiplier, first, last, g, k, kin, N, Ra, W, rest.dF
                )
                vary_forces_of_pair(model, theta, directions, lines, others, first, last, g, k, kin, N, Ra, U, other.dF)
        first = last


@inlined
def _clear_ground(rest):
    """Nothing acts on the ground yet, nor on the coordinates directly."""
    clear(rest.F[-1])
    clear(rest.dF[-1])
    clear(rest.dG)


@with_elastic(lambda model, theta, directions, z, dz, kin, comp, x, rest: None)
def _resting_elastic(model, theta, directions, z, dz, kin, comp, x, rest):
    """Add what accelerations x (n,) take of bodies that deform."""
    tree, motion = model.tree, Motion(z, comp.zero, x)
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        A = about_origin.at_origin(rest.A, kin, i)
        about_origin.apply_to_body(rest.F, kin, i, 1.0, resting_force(tree, theta, f, A, motion, kin, comp))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            dA = about_origin.at_origin2(rest.N2, kin, i, k)
            dF = vary_resting_force(tree, theta, directions, f, g, k, A, dA, motion, dz, kin, rest.dG)
            about_origin.apply_to_body2(rest.dF, kin, i, k, 1.0, dF)


@kernel
def resting_inwards(tree, theta, directions, z, dz, kin, rest, other):
    """Sums over subtrees, and rows of the coordinates."""
    dtheta, touch = directions.dtheta, directions.touch
    for i in range(tree.parent.size - 1, -1, -1):
        p, back = tree.parent[i], scale3(-1.0, offset_to_parent(tree, kin, i))
        F, H = motion_at(rest.F, i), motion_at(other.F, i)
        accumulate(rest.F, p, 1.0, shift_force(F, back))
        accumulate(other.F, p, 1.0, shift_force(H, back))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if touch.geometry[i, g]:
                own = body_frame_twist(tree, theta, dtheta, k, kin, i)
                accumulate2(rest.dF, i, k, 1.0, cross_force(own, F))
                accumulate2(other.dF, i, k, 1.0, cross_force(own, H))
            dF, dH = motion_at2(rest.dF, i, k), motion_at2(other.dF, i, k)
            for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
                kind, S = tree.column_kind[c], motion_at(kin.S, c)
                if kind == Column.EULER_0:
                    turn = euler_turn(kin, dz, c, k)
                    dF, dH = add6(dF, cross_force(turn, F)), add6(dH, cross_force(turn, H))
                    vary_euler_rows(tree, theta, z, dz, kin, i, c, k, F, dF, rest.dG)
                    vary_euler_rows(tree, theta, z, dz, kin, i, c, k, H, dH, other.dG)
                elif not is_euler(kind):
                    add_to(rest.dG, c, k, dot6(S, dF))
                    add_to(other.dG, c, k, dot6(S, dH))
                    d = at(dz, c, k)
                    dF, dH = axpy6(d, cross_force(S, F), dF), axpy6(d, cross_force(S, H), dH)
            if touch.geometry[i, g]:
                own = parent_frame_twist(tree, theta, dtheta, k, kin, i)
                accumulate_shifted2(rest.dF, p, k, cross_force(own, F), back)
                accumulate_shifted2(other.dF, p, k, cross_force(own, H), back)
            accumulate_shifted2(rest.dF, p, k, dF, back)
            accumulate_shifted2(other.dF, p, k, dH, back)
