"""Where Newton begins a step: accelerations and multipliers extrapolated through the steps before.

D_0 + D_1 + ... of their backward differences lies on a polynomial through as many values, and the first difference left
out is about what that misses. Of all orders the one is taken that misses least: a high one where the motion is smooth,
up to where round-off blows up, a low one behind a jump. Stiff tyres ring from step to step, for the trapezoidal rule
damps nothing: beside ringing the first difference left out changes its sign. Derivation: docs/theory/ali3p.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import at_most, below, select


class Past(NamedTuple):
    """Backward differences of what steps have ended with, those of order k in column k."""

    zdd: np.ndarray  # (n, TERMS + 1)
    added: np.ndarray  # (n, ADDED + 1) to accelerations by their projection
    multiplier: np.ndarray  # (m, TERMS + 1) multipliers of projected accelerations
    kappa: np.ndarray  # (m, ADDED + 1) those of the projection
    share: np.ndarray  # (TERMS + 1,) work, as what follows
    rung: np.ndarray  # (TERMS + 1,)
    softness: np.ndarray  # (m,)
    less: np.ndarray  # (n,)
    less_multiplier: np.ndarray  # (m,)


TERMS = 7  # of accelerations and of multipliers, at most
ADDED = 4  # of what projections add: it is small, and round-off of accelerations is most of its differences
RISK = 2.0  # by which the square of a difference counts more for each order: high ones are far off behind a jump
RINGS = 3.5  # ratio of the squares of the second and the first difference, above which values ring; pure ringing has 4
RUNG = 0.01  # of the square that polynomials miss, the most that they may miss beside ringing
NOTHING = 1e-300  # added to a divisor that may be zero


@kernel
def predict(model, h, state, added, weight, alpha, past, expected):
    """Move ``state`` on by a step, and ``past`` with it; returns how far vectors turn.

    Newton finds accelerations, and multipliers, before their projection: less is expected by what that will add, from
    what it has ``added`` (n,) to the former. The trapezoidal rule holds for whatever accelerations are ``expected``
    (n,). ``weight`` (n,) tells what coordinates count for, ``alpha`` (m,) that constraints do so the less.
    """
    for r in range(alpha.size):
        past.softness[r] = 1.0 / (alpha[r] + NOTHING)
        _shift_differences(state.lam[r] + state.kappa[r], past.multiplier, r)
        _shift_differences(state.kappa[r], past.kappa, r)
    for c in range(state.z.size):
        _shift_differences(state.zdd[c], past.zdd, c)
        _shift_differences(added[c], past.added, c)
    _extrapolate(past.zdd, weight, 1, past.share, past.rung, expected)
    turn = system.rotate_prediction(model, h, state, past.zdd, expected)
    _extrapolate(past.added, weight, 0, past.share, past.rung, past.less)
    for c in range(state.z.size):
        ahead = expected[c] - past.less[c]
        mean = 0.5 * (state.zdd[c] + ahead)
        state.zdd[c] = expected[c] = ahead
        state.z[c] += h * state.zd[c] + 0.5 * h * h * mean
        state.zd[c] += h * mean
    _extrapolate(past.multiplier, past.softness, 1, past.share, past.rung, state.lam)
    _extrapolate(past.kappa, past.softness, 0, past.share, past.rung, past.less_multiplier)
    for r in range(alpha.size):
        state.lam[r] -= past.less_multiplier[r]
    return turn


@inlined
def _shift_differences(now, differences, c):
    """Differences of the values up to ``now`` in the place of those up to the one before, in row c."""
    for order in range(differences.shape[1]):
        before = differences[c, order]
        differences[c, order] = now
        now = now - before


@kernel
def _extrapolate(differences, weight, least, share, rung, out):
    """The next values, by ``least`` terms at least."""
    _sizes(differences, weight, share)
    ringing = below(RINGS * share[1], share[2])
    best = _choose(least, differences.shape[1], share)
    if ringing:
        _sizes_beside_ringing(differences, weight, rung)
        _take_ringing(ringing, least, differences.shape[1] - 1, RUNG * best, rung, share)
    for c in range(out.size):
        total = share[0] * differences[c, 0]
        for order in range(1, differences.shape[1] - 1):
            total += share[order] * differences[c, order]
        out[c] = total


@kernel
def _sizes(differences, weight, out):
    """Squares of the differences of each order."""
    for order in range(differences.shape[1]):
        out[order] = 0.0
    for c in range(weight.size):
        for order in range(differences.shape[1]):
            x = differences[c, order].real
            out[order] += weight[c] * x * x


@kernel
def _sizes_beside_ringing(differences, weight, out):
    """Squares of what as many terms as the order miss beside ringing, 2 D_k - D_(k+1)."""
    for order in range(differences.shape[1]):
        out[order] = 0.0
    for c in range(weight.size):
        for order in range(differences.shape[1] - 1):
            x = 2.0 * differences[c, order].real - differences[c, order + 1].real
            out[order] += weight[c] * x * x


@kernel
def _take_ringing(ringing, least, count, enough, rung, share):
    """Where terms miss less than ``enough`` beside ringing take these, and the next one with the other sign."""
    ringing &= below(_choose(least, count, rung), enough)
    before = 0.0 * share[0] + 1.0
    for order in range(count):
        share[order] = select(ringing, 2.0 * rung[order] - before, share[order])
        before = rung[order]


@kernel
def _choose(least, count, share):
    """Replace ``count`` sizes by 1 for terms that are taken, others by 0, without a branch; return the least size."""
    best, risk = share[least], 1.0
    for order in range(least, count):
        share[order] *= risk
        best = select(below(share[order], best), share[order], best)
        risk *= RISK
    one, is_taken = 0.0 * best + 1.0, 0
    for order in range(count - 1, -1, -1):
        size = share[order]
        share[order] = select(is_taken, one, 0.0 * one)
        if order >= least:
            is_taken |= at_most(size, best)
    return best
