"""The tangent of a system in natural coordinates, body by body and element by element.

What a body does by itself, carrying the forces on it along and keeping rigid, has a closed form. Elements stand on the
twists of their bodies against each other: each is varied along the six unit twists N and the six unit rates N' of its
second body, and a column of either body moves it by the twist gamma S and the rate that follows. Rows of a body take
the work of dW on its origin and on the columns of R. Derivation: docs/theory/natural_coordinates.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    cross_motion,
    motion_at,
    motion_at2,
    scale6,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, put3, row3, rows3, scale3, sub3
from mbsim_cli.kernels.algorithms.by_type import only_with
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import vary_forces_between
from mbsim_cli.kernels.algorithms.equations.constraints import VALUE, coordinate_slope, has_curve, rows_of_pair
from mbsim_cli.kernels.algorithms.equations.forces import acts_on_bodies, coordinate_force_part, vary_one_force
from mbsim_cli.kernels.algorithms.equations.signals import find_slopes, set_motion, unit_force
from mbsim_cli.kernels.algorithms.motion.workspace import Directions, motion_alone
from mbsim_cli.kernels.algorithms.natural import linear_poses
from mbsim_cli.kernels.algorithms.natural.linear_poses import POSE, forces_on_axes
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, put, width
from mbsim_cli.model.layout import GROUND, NONE, LoadedSignals, Signals

RATES = 8  # direction of the first unit rate; unit twists come first
DIRECTIONS = 16


class Seeds(NamedTuple):
    """Work for bodies and elements one after the other.

    The columns of a body stand as in the tangent, in those blocks of WIDTH columns that hold any; all others are zero.
    """

    first: np.ndarray  # (nb + 1,) into start
    start: np.ndarray  # first columns, in the tangent, of the blocks of each body
    slot: np.ndarray  # (entries of Natural.column,) where they stand in the blocks of their body
    columns: np.ndarray  # (nb, 24, c) twists gamma S of the columns of each body, their N', and linear maps
    pull: np.ndarray  # (nb, 12, c) what the forces on its origin and the columns of R lose as they move
    whole_first: np.ndarray  # (n + 1,) into whole, as ``panels.Panels``
    whole: np.ndarray  # blocks of each row of the tangent that hold anything
    dtheta: np.ndarray  # (len(theta), 16) zeros
    touch: tuple  # of no numbers
    twists: tuple  # zeros, in sixteen directions


TWIST, RATE, ORIGIN, TURN = 0, 6, 12, 15  # rows of Seeds.columns


@kernel
def natural_tangent(model, theta, t, beta, gamma, state, lines, multiplier, kin, W, seeds, T_out):
    """T (n, ``padded(n)``) = M + beta C + gamma K; needs the forces W at the state, and zeros where T has none."""
    tree, rows, first = model.tree, model.constraints.measure, 0
    for i in range(T_out.shape[0]):
        for s in range(seeds.whole_first[i], seeds.whole_first[i + 1]):
            for g in range(seeds.whole[s], seeds.whole[s] + WIDTH, width(T_out)):
                put(T_out, i, block(T_out, g), 0.0)
    linear_poses.natural_mass(tree, theta, T_out)
    directions = Directions(seeds.dtheta, seeds.touch)
    for i in range(tree.theta.size):
        _place_columns(tree, theta, i, seeds.slot, seeds.columns)
        last = linear_poses.rigid_rows(tree, i, first)
        S, first = linear_poses.held_shape(model, theta, multiplier, first, last), last
        _own_part(beta, gamma, S, i, kin, motion_at(W, i), seeds)
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, model.measures, first)
        if pair != NONE:
            a, b = model.pairs.a[pair], model.pairs.b[pair]
            _let_move(seeds.twists, b, 1.0)
            vary_forces_between(model, theta, directions, lines, multiplier, first, last, kin, seeds.twists)
            _pair_part(tree, theta, a, b, kin, seeds, T_out)
        elif has_curve(model.measures, rows[first]):
            c = model.measures.coordinate[model.measures.first[rows[first] + 1] - 1]
            T_out[c, c] -= gamma * multiplier[first] * lines[first, VALUE]
        first = last
    for f in range(model.forces.kind.size):
        if acts_on_bodies(model, f):
            # the bodies whose motion against each other changes it; one that is given acts from the ground
            on_measure = model.forces.measure[f] != NONE
            pair = model.measures.pair[model.forces.measure[f]] if on_measure else model.forces.pair[f]
            a, b = model.pairs.a[pair], model.pairs.b[pair]
            _let_move(seeds.twists, b, 1.0)
            vary_one_force(model, theta, directions, t, f, kin, seeds.twists)
            _pair_part(tree, theta, a, b, kin, seeds, T_out)
        else:
            coordinate_force_part(model, theta, beta, gamma, state.z, f, kin, T_out)
    for i in range(tree.theta.size):
        _rows_of_body(tree, theta, i, seeds, T_out)
    add_natural_signal_tangent(model, theta, t, beta, gamma, state, kin, seeds, T_out)


@inlined
def _let_move(tw, b, size):
    """Unit twists and rates of body b."""
    for j in range(6):
        tw.N[b, j, j] = size
        tw.N1[b, j, RATES + j] = size


@kernel
def _place_columns(tree, theta, i, slot, out):
    """Leave the linear map of body i in its blocks; what is zero there stays so."""
    o, last = tree.pose[i] + POSE, linear_poses.trios_end(tree, i)
    for j in range(tree.first[i], last, 3):
        for axis in range(3):
            for k in range(axis, POSE, 3):
                out[i, ORIGIN + k, slot[j + axis]] = theta[o + k]
            o += POSE
    for j in range(last, tree.first[i + 1]):
        for k in range(POSE):
            out[i, ORIGIN + k, slot[j]] = theta[o + k]
        o += POSE


@inlined
def _twist(columns, i, row, k):
    return rows3(columns, i, row, k), rows3(columns, i, row + 3, k)


@inlined
def _put_twist(columns, i, row, k, x):
    put3(columns, i, row, k, x[0])
    put3(columns, i, row + 3, k, x[1])


@kernel
def _own_part(beta, gamma, shape, i, kin, W, seeds):
    """Twists of the columns of body i, and what the forces that it carries along, and its rigidity, do.

    N' is for a coordinate that moves by gamma and its rate by beta.
    """
    columns, r, R1, V = seeds.columns, row3(kin.pose, i, 0), linear_poses.columns_of(kin.rate, i), motion_at(kin.V, i)
    n, f = W
    half = scale3(0.5, sub3(n, cross3(r, f)))
    for g in range(0, WIDTH * (seeds.first[i + 1] - seeds.first[i]), width(columns)):
        k = block(columns, g)
        dr, L = rows3(columns, i, ORIGIN, k), (
            rows3(columns, i, TURN, k), rows3(columns, i, TURN + 3, k), rows3(columns, i, TURN + 6, k)
        )  # fmt: skip
        S = linear_poses.twist_of(kin.pose, i, dr, L[0], L[1], L[2])
        dw = axpy3(gamma, linear_poses.half_turn(L, R1), scale3(beta, S[0]))
        dv = sub3(sub3(scale3(beta, dr), cross3(dw, r)), scale3(gamma, cross3(V[0], dr)))
        _put_twist(columns, i, TWIST, k, scale6(gamma, S))
        _put_twist(columns, i, RATE, k, sub6((dw, dv), scale6(gamma, cross_motion(S, V))))
        turned, moved = cross_force(S, W)
        carried, by = (sub3(turned, cross3(dr, f)), moved), linear_poses.shaped(shape, L)
        back = forces_on_axes(kin.pose, i, carried)
        put3(seeds.pull, i, 0, k, scale3(-gamma, moved))
        put3(seeds.pull, i, 3, k, scale3(gamma, add3(by[0], sub3(cross3(L[0], half), back[0]))))
        put3(seeds.pull, i, 6, k, scale3(gamma, add3(by[1], sub3(cross3(L[1], half), back[1]))))
        put3(seeds.pull, i, 9, k, scale3(gamma, add3(by[2], sub3(cross3(L[2], half), back[2]))))


@inlined
def _in_tangent(seeds, i, g, T_out):
    """Columns of the tangent that column g of the blocks of body i, and those behind it, are."""
    return block(T_out, seeds.start[seeds.first[i] + g // WIDTH] + g % WIDTH)


@inlined
def _pair_part(tree, theta, a, b, kin, seeds, T_out):
    """Add what an element between two bodies does as they move, and clear its work."""
    F = seeds.twists.F
    if a != GROUND:
        _gather(-1.0, a, kin, seeds)
    if b != GROUND:
        _gather(1.0, b, kin, seeds)
    if a != GROUND and b != GROUND:
        _rows_part(tree, theta, -1.0, b, a, kin, seeds, T_out)
        _rows_part(tree, theta, 1.0, a, b, kin, seeds, T_out)
    _let_move(seeds.twists, b, 0.0)
    for r in range(6):
        for k in range(DIRECTIONS):
            F[a, r, k] = 0.0
            F[b, r, k] = 0.0


@kernel
def _gather(sign, i, kin, seeds):
    """Add to the pull on body i what the force on it loses as the body itself moves; ``sign`` is -1 of the first."""
    columns, pull = seeds.columns, seeds.pull
    for g in range(0, WIDTH * (seeds.first[i + 1] - seeds.first[i]), width(columns)):
        k = block(columns, g)
        change = scale6(sign, _along(seeds.twists.F, i, _twist(columns, i, TWIST, k), _twist(columns, i, RATE, k)))
        a, b, c = forces_on_axes(kin.pose, i, change)
        for axis in range(3):
            add_to(pull, i, axis, k, change[1][axis])
            add_to(pull, i, 3 + axis, k, a[axis])
            add_to(pull, i, 6 + axis, k, b[axis])
            add_to(pull, i, 9 + axis, k, c[axis])


@kernel
def _rows_part(tree, theta, sign, i, mover, kin, seeds, T_out):
    """Add to the rows of body i what its force loses as the other body of the element moves."""
    columns = seeds.columns
    for g in range(0, WIDTH * (seeds.first[mover + 1] - seeds.first[mover]), width(columns)):
        k = block(columns, g)
        N, N1 = _twist(columns, mover, TWIST, k), _twist(columns, mover, RATE, k)
        change = scale6(sign, _along(seeds.twists.F, i, N, N1))
        column, on_axes = _in_tangent(seeds, mover, g, T_out), forces_on_axes(kin.pose, i, change)
        linear_poses.add_power(tree, theta, i, column, change[1], on_axes, T_out)


@kernel
def _rows_of_body(tree, theta, i, seeds, T_out):
    """Add the pull on body i to its rows."""
    pull = seeds.pull
    for g in range(0, WIDTH * (seeds.first[i + 1] - seeds.first[i]), width(pull)):
        k = block(pull, g)
        turning = rows3(pull, i, 3, k), rows3(pull, i, 6, k), rows3(pull, i, 9, k)
        linear_poses.add_power(tree, theta, i, _in_tangent(seeds, i, g, T_out), rows3(pull, i, 0, k), turning, T_out)


@inlined
def _along(F, i, N, N1):
    """Variation of minus the force on body i along a twist and a rate."""
    found = add6(_share(F, i, 0, N[0]), _share(F, i, 3, N[1]))
    return add6(found, add6(_share(F, i, RATES, N1[0]), _share(F, i, RATES + 3, N1[1])))


@inlined
def _share(F, i, d, x):
    """Three directions from d on, times x."""
    found = scale6(x[0], motion_at2(F, i, d))
    return axpy6(x[2], motion_at2(F, i, d + 2), axpy6(x[1], motion_at2(F, i, d + 1), found))


# Parts of expressions in the tangent in natural coordinates; see ``equations.signals`` --------------------------------


@only_with("model.signals", Signals, LoadedSignals)(lambda model, theta, t, beta, gamma, state, kin, own, T_out: None)
def add_natural_signal_tangent(model, theta, t, beta, gamma, state, kin, own, T_out):
    """Add to T what expressions do; ``own`` are the seeds of the tangent, with the columns of all bodies."""
    signals, seeds = model.signals, kin.signals.seeds
    if signals.kind.size == 0:
        return
    for first in range(0, T_out.shape[0], width(T_out)):
        k, o, start = block(T_out, first), block(seeds.z, 0), first // WIDTH * WIDTH
        for r in range(signals.bodies.size):
            b = signals.bodies[r]
            still = 0.0 * at(seeds.z, 0, o)
            none = (still, still, still), (still, still, still)
            set_motion(seeds, kin, b, o, none, none)
            for s in range(own.first[b], own.first[b + 1]):
                if own.start[s] == start:
                    c = block(own.columns, WIDTH * (s - own.first[b]) + first - start)
                    set_motion(seeds, kin, b, o, _twist(own.columns, b, TWIST, c), _twist(own.columns, b, RATE, c))
        find_slopes(model, theta, t, beta, gamma, motion_alone(state), first, kin)
        for f in range(model.forces.kind.size):
            for j in range(3):
                u = signals.of_force[f, j]
                if u != NONE:
                    _rows(model, theta, state.z, f, j, k, at(seeds.value, u, o), kin, T_out)


@inlined
def _rows(model, theta, z, f, j, k, slope, kin, T_out):
    measures, m = model.measures, model.forces.measure[f]
    if m != NONE and measures.pair[m] == NONE:
        for i in range(measures.first[m], measures.first[m + 1]):
            add_to(T_out, measures.coordinate[i], k, -coordinate_slope(measures, theta, m, i, z) * slope)
    else:
        pair, L = unit_force(model, theta, f, j, kin)
        dW = scale6(slope, L)
        _take(model, theta, model.pairs.b[pair], k, dW, kin, T_out)
        _take(model, theta, model.pairs.a[pair], k, scale6(-1.0, dW), kin, T_out)


@inlined
def _take(model, theta, i, k, dW, kin, T_out):
    """Take the work of a wrench on body i from its rows."""
    if i != GROUND:
        less = scale6(-1.0, dW)
        linear_poses.add_power(model.tree, theta, i, k, less[1], forces_on_axes(kin.pose, i, less), T_out)
