"""The tangent of a system in natural coordinates, body by body and element by element.

What a body does by itself, carrying the forces on it along and keeping rigid, has a closed form. Elements stand on the
twists of their bodies against each other: each is varied along the six unit twists N and the six unit rates N' of its
second body, and a column of either body moves it by the twist gamma S and the rate that follows; rows of a body take
S . dW. Derivation: docs/theory/natural_coordinates.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import WIDTH, add_to, at, block, width
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, load3, row3, scale3, sub3
from mbsim_cli.kernels.algorithms.constraints import rows_of_pair
from mbsim_cli.kernels.algorithms.natural import (
    POSE,
    columns_in,
    columns_of,
    half_turn,
    held_shape,
    natural_mass,
    paired,
    rigid_rows,
    shaped,
    twist_of,
)
from mbsim_cli.kernels.algorithms.natural_variation import vary_natural_force, vary_natural_pull
from mbsim_cli.kernels.algorithms.newton_matrix import coordinate_force_part
from mbsim_cli.kernels.algorithms.residual_variation import acts_on_bodies
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import GROUND, NONE

RATES = 8  # direction of the first unit rate; unit twists come first
DIRECTIONS = 16


class Seeds(NamedTuple):
    """Work for bodies and elements one after the other.

    The columns of a body stand as in the tangent, in those blocks of WIDTH columns that hold any; all others are zero.
    """

    first: np.ndarray  # (nb + 1,) into start
    start: np.ndarray  # first columns, in the tangent, of the blocks of each body
    slot: np.ndarray  # (entries of Natural.column,) where they stand in the blocks of their body
    columns: np.ndarray  # (nb, 24, c) twists S of the columns of each body, their N', and linear maps
    dtheta: np.ndarray  # (len(theta), 16) zeros
    no_eta: np.ndarray  # (15, 16) zeros
    touch: tuple  # of no numbers
    twists: tuple  # zeros, in sixteen directions


TWIST, RATE, ORIGIN, TURN = 0, 6, 12, 15  # rows of Seeds.columns


@kernel
def natural_tangent(model, theta, t, beta, gamma, state, lines, kin, W, seeds, T_out):
    """T (n, ``padded(n)``) = M + beta C + gamma K; needs the forces W at the state."""
    tree, rows, first = model.tree, model.constraints.measure, 0
    natural_mass(tree, theta, T_out)
    for i in range(tree.theta.size):
        _columns_of_body(tree, theta, beta, gamma, i, kin, seeds.slot, seeds.columns)
        last = rigid_rows(tree, i, first)
        S, first = held_shape(model, theta, state.lam, first, last), last
        _own_part(tree, theta, gamma, S, i, kin, motion_at(W, i), seeds, T_out)
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, model.measures, first)
        if pair != NONE:
            a, b = model.pairs.a[pair], model.pairs.b[pair]
            _let_move(seeds.twists, b, 1.0)
            vary_natural_pull(model, theta, seeds.dtheta, seeds.touch, lines, state.lam, first, last, kin, seeds.twists)
            _pair_part(tree, gamma, a, b, kin, seeds, T_out)
        first = last
    for f in range(model.forces.kind.size):
        if acts_on_bodies(model, f):
            a, b = _bodies_of(model, f)
            _let_move(seeds.twists, b, 1.0)
            vary_natural_force(model, theta, seeds.dtheta, seeds.touch, seeds.no_eta, t, f, kin, seeds.twists)
            _pair_part(tree, gamma, a, b, kin, seeds, T_out)
        else:
            coordinate_force_part(model, theta, t, beta, gamma, state.z, state.zd, f, T_out)


@inlined
def _bodies_of(model, f):
    """Bodies of a force whose motion against each other changes it; one that is given acts from the ground."""
    if model.forces.kind[f] == Force.ALONG_MEASURE:
        pair = model.measures.pair[model.forces.measure[f]]
        return model.pairs.a[pair], model.pairs.b[pair]
    return GROUND, model.pairs.b[model.forces.pair[f]]


@inlined
def _let_move(tw, b, size):
    """Unit twists and rates of body b."""
    for k in range(6):
        tw.N[b, k, k] = size
        tw.N1[b, k, RATES + k] = size


@inlined
def _columns_of_body(tree, theta, beta, gamma, i, kin, slot, out):
    """Leave the columns of body i in their blocks; N' is for a coordinate that moves by gamma and its rate by beta."""
    r, R1, V, o = row3(kin.pose, i, 0), columns_of(kin.rate, i), motion_at(kin.V, i), tree.pose[i]
    for j in range(tree.first[i], tree.first[i + 1]):
        o += POSE
        L, dr, c = columns_in(theta, o), load3(theta, o), slot[j]
        S = twist_of(kin.pose, i, dr, L[0], L[1], L[2])
        store(kin.twist, j, S)
        dw = axpy3(gamma, half_turn(L, R1), scale3(beta, S[0]))
        dv = sub3(sub3(scale3(beta, dr), cross3(dw, r)), scale3(gamma, cross3(V[0], dr)))
        _store_column(out, i, TWIST, c, S)
        _store_column(out, i, RATE, c, sub6((dw, dv), scale6(gamma, cross_motion(S, V))))
        _store_column(out, i, ORIGIN, c, (dr, L[0]))
        _store_column(out, i, TURN + 3, c, (L[1], L[2]))


@inlined
def _store_column(out, i, row, c, x):
    for k in range(3):
        out[i, row + k, c] = x[0][k]
        out[i, row + 3 + k, c] = x[1][k]


@inlined
def _triple(columns, i, row, k):
    return at(columns, i, row, k), at(columns, i, row + 1, k), at(columns, i, row + 2, k)


@inlined
def _twist(columns, i, row, k):
    return _triple(columns, i, row, k), _triple(columns, i, row + 3, k)


@inlined
def _own_part(tree, theta, gamma, shape, i, kin, W, seeds, T_out):
    """Add what the forces that body i carries along, and its rigidity, do."""
    columns, start = seeds.columns, tree.pose[i] + POSE
    n, f = W
    half = scale3(0.5, sub3(n, cross3(row3(kin.pose, i, 0), f)))
    first, count = tree.first[i], tree.first[i + 1] - tree.first[i]
    for g in range(0, WIDTH * (seeds.first[i + 1] - seeds.first[i]), width(columns)):
        k, c = block(columns, g), _in_tangent(seeds, i, g, T_out)
        dr, L = _triple(columns, i, ORIGIN, k), (
            _triple(columns, i, TURN, k), _triple(columns, i, TURN + 3, k), _triple(columns, i, TURN + 6, k)
        )  # fmt: skip
        turned, pushed = cross_force(_twist(columns, i, TWIST, k), W)
        carried, by = (sub3(turned, cross3(dr, f)), pushed), shaped(shape, L)
        pull = add3(by[0], cross3(L[0], half)), add3(by[1], cross3(L[1], half)), add3(by[2], cross3(L[2], half))
        for row in range(count):
            own = paired(columns_in(theta, start + POSE * row), pull)
            change = gamma * (own - dot6(motion_at(kin.twist, first + row), carried))
            add_to(T_out, at(tree.column, first + row), c, change)


@inlined
def _in_tangent(seeds, i, g, T_out):
    """Columns of the tangent that column g of the blocks of body i, and those behind it, are."""
    return block(T_out, seeds.start[seeds.first[i] + g // WIDTH] + g % WIDTH)


@inlined
def _pair_part(tree, gamma, a, b, kin, seeds, T_out):
    """Add what an element between two bodies does as they move, and clear its work."""
    F = seeds.twists.F
    if a != GROUND:
        _rows_part(tree, -1.0, gamma, a, a, kin, seeds, T_out)
        _rows_part(tree, -1.0, gamma, b, a, kin, seeds, T_out)
        _rows_part(tree, 1.0, gamma, a, b, kin, seeds, T_out)
    _rows_part(tree, 1.0, gamma, b, b, kin, seeds, T_out)
    _let_move(seeds.twists, b, 0.0)
    for r in range(6):
        for k in range(DIRECTIONS):
            F[a, r, k] = 0.0
            F[b, r, k] = 0.0


@kernel
def _rows_part(tree, sign, gamma, i, mover, kin, seeds, T_out):
    """Add to the rows of body i what its force loses as a body of the element moves; ``sign`` is -1 of the first."""
    columns, F = seeds.columns, seeds.twists.F
    first, count = tree.first[i], tree.first[i + 1] - tree.first[i]
    for g in range(0, WIDTH * (seeds.first[mover + 1] - seeds.first[mover]), width(columns)):
        k, c = block(columns, g), _in_tangent(seeds, mover, g, T_out)
        N, N1 = scale6(gamma, _twist(columns, mover, TWIST, k)), _twist(columns, mover, RATE, k)
        change = scale6(sign, _along(F, i, N, N1))
        for row in range(count):
            add_to(T_out, at(tree.column, first + row), c, dot6(motion_at(kin.twist, first + row), change))


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
