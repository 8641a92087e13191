"""Singular positions that a mechanism passes: its constraints lose rank there, and another way of going on opens.

Every few steps the smallest singular value of the independent rows of J is followed with its vectors, sigma v = J^T u.
As the mechanism passes a singular position sigma changes its sign: u goes on, v turns round. Whether that is what
happened is found out by ``solve/faults.py``; derivation: docs/theory/singular_positions.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.linear_solve import ldl_factor, ldl_solve
from mbsim_cli.kernels.compiler.jit import kernel


class Watch(NamedTuple):
    """Singular vectors that are followed, and the steps in which v has reversed; all real."""

    row: np.ndarray  # (k,) rows of J that are independent at the start
    first: np.ndarray  # (k + 1,) into partner
    partner: np.ndarray  # of each of these rows, itself and those behind it that have coordinates in common with it
    largest: np.ndarray  # (k,) largest square of each row's size so far
    gram: np.ndarray  # (k, k) of the rows over their largest sizes
    inverse: np.ndarray  # (k,) of its factors
    u: np.ndarray  # (k, 1)
    v: np.ndarray  # (n,)
    next: np.ndarray  # (n,) work
    turns: np.ndarray  # (n,) 1 for angles that constraints depend on, else 0
    way: np.ndarray  # (1,) rad, at most, that any of those has moved since the last look
    count: np.ndarray  # (3,) looks so far, step of the last one, turns found since the caller has last cleared that
    step: np.ndarray  # (TURNS, 2) steps of the looks before and behind a turn
    z: np.ndarray  # (TURNS, n) the motion there
    zd: np.ndarray  # (TURNS, n)
    zdd: np.ndarray  # (TURNS, n)


EVERY = 16  # steps between samples, at most
FAR = 0.1  # rad, the same
TURNS = 16  # stored in a call; later ones are dropped
FIRST_ITERATIONS = 20  # for the vectors at the start; later one a sample follows them
TINY = 1e-300  # in the place of zero where it is divided by
SHIFT = 1e-14  # of the trace, added to the diagonal of the Gram matrix: dependent rows have no pivot
STIRRED = 1e-3  # share by which u is moved first: a symmetric mechanism would keep it from leaving a vector
TURNED = -0.5  # cosine between v and that of the sample before


@kernel
def is_due(step, h, state, watch):
    """Whether it is time for a look; adds up the way of the fastest angle since the last one."""
    fastest = 0.0
    for i in range(state.zd.size):
        fastest = max(fastest, watch.turns[i] * np.abs(state.zd[i].real))
    watch.way[0] += h * fastest
    return watch.row.size > 0 and (step >= watch.count[1] + EVERY or watch.way[0] >= FAR)


@kernel
def look_for_passage(step, J, sparsity, weight, state, watch):
    """Look whether v has turned round since the last look; ``weight`` (n,) makes coordinates comparable."""
    _gram(J, sparsity, weight, watch)
    if not ldl_factor(watch.gram, watch.inverse):
        return
    first = watch.count[0] == 0
    for a in range(watch.u.shape[0]):
        watch.u[a, 0] += STIRRED * (1.0 + a / watch.u.shape[0])
    for _ in range(FIRST_ITERATIONS if first else 1):
        ldl_solve(watch.gram, watch.inverse, watch.u)
        square = 0.0
        for a in range(watch.u.shape[0]):
            square += watch.u[a, 0] * watch.u[a, 0]
        for a in range(watch.u.shape[0]):
            watch.u[a, 0] /= np.sqrt(square)
    cosine = _follow(J, sparsity, weight, watch)
    found = watch.count[2]
    if not first and cosine < TURNED and found < TURNS:
        watch.step[found, 0], watch.step[found, 1] = watch.count[1], step
        for i in range(state.z.size):
            watch.z[found, i] = state.z[i].real
            watch.zd[found, i] = state.zd[i].real
            watch.zdd[found, i] = state.zdd[i].real
        watch.count[2] += 1
    watch.count[0] += 1
    watch.count[1], watch.way[0] = step, 0.0


@kernel
def _gram(J, sparsity, weight, watch):
    """Upper half of the products of rows, J D^-1 J^T, each row over its largest size so far."""
    clear(watch.gram)
    for a in range(watch.row.size):
        r = watch.row[a]
        for p in range(watch.first[a], watch.first[a + 1]):
            b, total = watch.partner[p], 0.0
            for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
                i = sparsity.row_column[s]
                other = J[watch.row[b], i].real
                if other != 0.0:  # division is slow
                    total += J[r, i].real * other / weight[i]
            watch.gram[a, b] = total
        watch.largest[a] = max(watch.largest[a], watch.gram[a, a])
    trace = 0.0
    for a in range(watch.row.size):
        for p in range(watch.first[a], watch.first[a + 1]):
            b = watch.partner[p]
            watch.gram[a, b] /= max(np.sqrt(watch.largest[a] * watch.largest[b]), TINY)
        trace += watch.gram[a, a]
    for a in range(watch.row.size):
        watch.gram[a, a] += SHIFT * trace


@kernel
def _follow(J, sparsity, weight, watch):
    """Put J^T u in the place of v; return the cosine between both."""
    clear(watch.next)
    for a in range(watch.row.size):
        r, share = watch.row[a], watch.u[a, 0] / max(np.sqrt(watch.largest[a]), TINY)
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = sparsity.row_column[s]
            watch.next[i] += J[r, i].real * share
    product, before, now = 0.0, 0.0, 0.0
    for i in range(watch.v.size):
        total = watch.next[i] / np.sqrt(weight[i])
        product += total * watch.v[i]
        before += watch.v[i] * watch.v[i]
        now += total * total
        watch.v[i] = total
    return product / np.sqrt(before * now) if before * now > 0.0 else 1.0
