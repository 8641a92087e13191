"""Variation of M x + Phi_z^T multiplier at fixed x and multiplier, for two pairs of x and multiplier in one sweep.

A system at rest without gravity, under the accelerations x, has the residual M x + Phi_z^T multiplier. Its forces
are varied as a frame sees them that moves along, by dF - N x* F: of a body that is I N'' + dI A, and to cross
a column inwards adds dz S x* F. Both systems share N and the lines. Derivation: docs/theory/variations.md,
section 5.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2, rate_product
from mbsim_cli.kernels.algebra.rot3 import rotate
from mbsim_cli.kernels.algebra.spatial import (
    accumulate,
    accumulate2,
    accumulate_shifted2,
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    inertia_apply,
    motion_at,
    motion_at2,
    scale6,
    shift_force,
    shift_motion,
    store,
    store2,
)
from mbsim_cli.kernels.algebra.vec3 import cross3, is_zero3, scale3
from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.equations.constraint_variation import vary_forces_of_pair, vary_pull_on_coordinates
from mbsim_cli.kernels.algorithms.equations.constraints import pull_of, rows_of_pair
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.equations.residual_variation import euler_turn, inertia_variation, vary_euler_rows
from mbsim_cli.kernels.algorithms.flexible.bodies import resting_force, vary_resting_force
from mbsim_cli.kernels.algorithms.motion.bodies import (
    apply_to_body,
    apply_to_body2,
    at_origin,
    at_origin2,
    between2,
    pose_of,
)
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_frame, offset_to_parent
from mbsim_cli.kernels.algorithms.motion.variation import body_frame_twist, parent_frame_twist
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width, zeros
from mbsim_cli.kernels.elements.columns import is_euler, load4, load4_of
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import NONE


class Load(NamedTuple):
    """What acts on a resting system."""

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
def vary_resting(model, theta, dtheta, touch, lines, z, dz, kin, tw, load, other_load, rest, other):
    """Fill dG of both systems; needs ``vary_kinematics`` and the gradient lines (m, LINE_SIZE)."""
    rest_outwards(model.tree, theta, dtheta, touch, z, dz, kin, load.x, other_load.x, rest, other)
    rest_pull(
        model.constraints.measure, model.measures, model.pairs, theta, dtheta, touch.measure, lines, z, dz, kin, tw.N,
        load.multiplier, other_load.multiplier, rest, other,
    )  # fmt: skip
    rest_inwards(model.tree, theta, dtheta, touch, z, dz, kin, rest, other)


@kernel
def rest_outwards(tree, theta, dtheta, touch, z, dz, kin, x, y, rest, other):
    """A, N'', and forces of single bodies with their variations."""
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
def rest_pull(
    rows, measures, pairs, theta, dtheta, touched, lines, z, dz, kin, N, multiplier, other_multiplier, rest, other
):
    """Add the forces of the constraints; rows between the same bodies are taken together."""
    _clear_ground(rest)
    _clear_ground(other)
    i = 0
    while i < rows.size:
        last, pair = rows_of_pair(rows, measures, i)
        if pair == NONE:
            vary_pull_on_coordinates(measures, rows[i], theta, dtheta, z, dz, multiplier[i], rest.dG)
            vary_pull_on_coordinates(measures, rows[i], theta, dtheta, z, dz, other_multiplier[i], other.dG)
        else:
            a, b = pairs.a[pair], pairs.b[pair]
            W, U = pull_of(lines, multiplier, i, last), pull_of(lines, other_multiplier, i, last)
            _apply(rest.F, kin, a, b, W)
            _apply(other.F, kin, a, b, U)
            Ra, _ = pose_of(kin, a)
            for g in range(0, dz.shape[1], width(dz)):
                k = block(dz, g)
                turn = between2(N, kin, a, b, k)
                vary_forces_of_pair(
                    rows, measures, pairs, theta, dtheta, touched, lines, multiplier, i, last, g, k, kin, turn, Ra, W,
                    rest.dF,
                )  # fmt: skip
                vary_forces_of_pair(
                    rows, measures, pairs, theta, dtheta, touched, lines, other_multiplier, i, last, g, k, kin, turn,
                    Ra, U, other.dF,
                )  # fmt: skip
        i = last


@inlined
def _clear_ground(rest):
    """Nothing acts on the ground yet, nor on the coordinates directly."""
    clear(rest.F[-1])
    clear(rest.dF[-1])
    clear(rest.dG)


@inlined
def _apply(F_out, kin, a, b, W):
    """Add the force W between two bodies."""
    apply_to_body(F_out, kin, a, -1.0, W)
    apply_to_body(F_out, kin, b, 1.0, W)


@kernel
def rest_inwards(tree, theta, dtheta, touch, z, dz, kin, rest, other):
    """Sums over subtrees, and rows of the coordinates."""
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


# ``resting_variation`` with bodies that deform: M x + Phi_z^T multiplier of a system without velocities.


@merged
def vary_flexible_resting(
    model, theta, dtheta, touch, lines, z, dz, kin, comp, tw, load, other_load, rest, other
):  # fmt: skip
    """Fill dG of both systems; needs ``vary_kinematics`` and the gradient lines (m, LINE_SIZE)."""
    rest_outwards(model.tree, theta, dtheta, touch, z, dz, kin, load.x, other_load.x, rest, other)
    rest_pull(
        model.constraints.measure, model.measures, model.pairs, theta, dtheta, touch.measure, lines, z, dz, kin, tw.N,
        load.multiplier, other_load.multiplier, rest, other,
    )  # fmt: skip
    _flexible(model, theta, dtheta, touch, z, dz, kin, comp, load.x, rest)
    _flexible(model, theta, dtheta, touch, z, dz, kin, comp, other_load.x, other)
    rest_inwards(model.tree, theta, dtheta, touch, z, dz, kin, rest, other)


@kernel
def _flexible(model, theta, dtheta, touch, z, dz, kin, comp, x, rest):
    """Add what accelerations x (n,) take."""
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        A = at_origin(rest.A, kin, i)
        apply_to_body(rest.F, kin, i, 1.0, resting_force(tree, theta, f, A, z, x, kin, comp))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            dA = at_origin2(rest.N2, kin, i, k)
            dF = vary_resting_force(tree, theta, dtheta, touch, f, g, k, A, dA, z, x, dz, kin, comp, rest.dG)
            apply_to_body2(rest.dF, kin, i, k, 1.0, dF)
