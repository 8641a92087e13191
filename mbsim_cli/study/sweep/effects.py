"""Main effects: how much of an objective's variance each parameter explains by itself.

First-order sensitivity indices, estimated from whatever cases there are: least squares fit a sum of functions of one
parameter each, straight between some of its values. The share of one is its covariance with the results over their
variance (Li et al., J. Phys. Chem. A 114, 2010), less what chance gives a function of so many numbers: as much as the
sum leaves of each case (as in epsilon squared of Kelley, 1935). Of all combinations of some values the shares are
those of the means over all cases with one value, and no estimates.
"""

import math
from collections.abc import Sequence

import numpy as np

MOST_SEGMENTS = 24  # of a parameter
MOST_FUNCTIONS = 96  # that are fitted together
FEWEST = 16  # cases that say anything
TOGETHER = 0.9  # rank correlation of two parameters above which nobody can tell which of them it was
AT_ONCE = 4096  # cases whose functions are in memory
SMALLEST = 1e-10  # eigenvalue, relative to the largest, of functions that differ


def main_effects(values: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Shares (v,) of the variance of ``results`` (N,) by the parameters ``values`` (N, v); NaN where nobody can tell.

    What is not finite is left out.
    """
    known = np.isfinite(results)
    values, results = values[known], results[known]
    shares = np.full(values.shape[1], np.nan)
    if _why_none(values, results):
        return shares
    varies = np.ptp(values, axis=0) > 0.0
    if varies.any():
        shares[varies] = _shares(_levels(values[:, varies]), (results - results.mean()) / np.ptp(results))
    return np.where(_companions(values) < 0, shares, np.nan)


def unknown_effects(names: Sequence[str], values: np.ndarray, results: np.ndarray) -> dict[str, str]:
    """Why the main effects of some parameters are NaN."""
    known = np.isfinite(results)
    values, results = values[known], results[known]
    if none := _why_none(values, results):
        return dict.fromkeys(names, none)
    reasons = {}
    for name, column, other in zip(names, values.T, _companions(values), strict=True):
        if not np.ptp(column) > 0.0:
            reasons[name] = "it has one value"
        elif other >= 0:
            reasons[name] = f"it varies together with {names[other]}"
    return reasons


def _why_none(values: np.ndarray, results: np.ndarray) -> str:
    """Why there are no main effects at all, or nothing."""
    if len(results) < FEWEST and not _complete(_levels(values)):
        return f"fewer than {FEWEST} cases tell none"
    return "" if len(results) and np.ptp(results) > 0.0 else "all cases have the same value"


def _levels(values: np.ndarray) -> list[np.ndarray]:
    """Number of each value (N,) among those of its parameter."""
    return [np.unique(column, return_inverse=True)[1] for column in values.T]


def _companions(values: np.ndarray) -> np.ndarray:
    """Number of another parameter that varies together with each (v,), or -1."""
    order = np.array(_levels(values), float)
    order -= order.mean(axis=1, keepdims=True)
    sizes = np.linalg.norm(order, axis=1)
    order /= np.where(sizes > 0.0, sizes, 1.0)[:, None]
    alike = np.abs(order @ order.T)
    np.fill_diagonal(alike, 0.0)
    return np.where(alike.max(axis=1, initial=0.0) > TOGETHER, alike.argmax(axis=1), -1)


def _shares(levels: Sequence[np.ndarray], results: np.ndarray) -> np.ndarray:
    """Shares of parameters that all vary: together, or one by one where they are too many for that."""
    if _complete(levels):
        between = [np.sum(np.bincount(level, results) ** 2 / np.bincount(level)) for level in levels]
        return np.array(between) / np.sum(results**2)
    many = 2 * len(levels) > min(len(results), MOST_FUNCTIONS)
    together = [[level] for level in levels] if many else [levels]
    return np.concatenate([_fitted(some, results) for some in together])


def _complete(levels: Sequence[np.ndarray]) -> bool:
    """Whether the cases are all combinations of the parameters' values, each once, so that chance is in no mean."""
    cases = len(levels[0]) if levels else 0
    counts = [int(level.max()) + 1 for level in levels if cases]
    return cases > 0 and math.prod(counts) == cases and len(np.unique(np.ravel_multi_index(levels, counts))) == cases


def _fitted(levels: Sequence[np.ndarray], results: np.ndarray) -> np.ndarray:
    most = min(len(results) // 2, MOST_FUNCTIONS) // len(levels)
    places = [_place(level, most) for level in levels]
    ends = np.cumsum([int(place.max()) for place in places])
    gram, moments = _sums(places, results)
    inverse = np.linalg.pinv(gram, rcond=SMALLEST, hermitian=True)
    explained = moments * (inverse @ moments)
    taken = np.einsum("ij,ji->i", inverse, gram)  # numbers that the fit has chosen, one for each function that differs
    total = np.sum(results**2)
    chance = max(total - explained.sum(), 0.0) / (len(results) - 1.0 - taken.sum())
    shares = np.add.reduceat(explained - chance * taken, np.concatenate([[0], ends[:-1]])) / total
    return np.clip(shares, 0.0, 1.0)


def _place(level: np.ndarray, most: int) -> np.ndarray:
    """Where each case is (N,), counted in segments: from one value to the next, or of as many values each."""
    last = segments = int(level.max())
    if last > most:
        segments = max(1, min(most, MOST_SEGMENTS, round(np.sqrt(len(level) / 2))))
    return level * segments / last


def _sums(places: Sequence[np.ndarray], results: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariances, times the number of cases, of the functions with each other and with the results of mean zero."""
    size = sum(int(place.max()) for place in places)
    gram, moments, sums = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for first in range(0, len(results), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        functions = np.hstack([_tents(place[rows], int(place.max())) for place in places])
        gram += functions.T @ functions
        moments += functions.T @ results[rows]
        sums += functions.sum(axis=0)
    return gram - np.outer(sums, sums) / len(results), moments


def _tents(place: np.ndarray, segments: int) -> np.ndarray:
    """Functions (N, segments) that are 1 at the end of one segment and go straight to 0 at both its neighbours."""
    return np.maximum(1.0 - np.abs(place[:, None] - np.arange(1, segments + 1)), 0.0)
