"""Numerical derivatives of whole analyses, by central differences extrapolated to a vanishing step (Ridders 1982)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FIRST = 1e-3  # of the argument's scale
SHRINK = 4.0
LEVELS = 4  # two analyses each
ENOUGH = 1e-8  # relative error that needs no further level
LUCKY = 10.0  # what an error may be over its estimate: where noise decides, the smallest of several is a lucky one


class Difference(NamedTuple):
    """Derivatives of k functions, an estimate of their error, and the smallest step used, in the argument's unit."""

    derivative: np.ndarray  # (k,)
    error: np.ndarray  # (k,)
    step: float


def derivative(function: Callable[[float], np.ndarray], scale: float, enough: float = ENOUGH) -> Difference:
    """Differentiate functions (k,) of one argument at zero; ``scale`` is a change of the argument that matters.

    Each level shrinks the step and extrapolates with all before it; for every function the entry of the tableau with
    the smallest estimated error is taken, so that neither the truncation of long steps nor the noise of short ones
    decides.
    """
    rows: list[list[np.ndarray]] = []
    best, error = np.zeros(0), np.zeros(0)
    step = FIRST * scale
    for level in range(LEVELS):
        step = FIRST * scale / SHRINK**level
        rows.append(_extrapolate((function(step) - function(-step)) / (2 * step), rows[-1] if rows else []))
        if level == 0:
            best, error = rows[0][0], np.full_like(rows[0][0], np.inf)
            continue
        for column in range(1, level + 1):
            candidate = rows[level][column]
            change = np.maximum(abs(candidate - rows[level][column - 1]), abs(candidate - rows[level - 1][column - 1]))
            best = np.where(change < error, candidate, best)
            error = np.minimum(change, error)
        if np.all(error <= enough * abs(best)):
            break
    return Difference(best, error, step)


def _extrapolate(value: np.ndarray, before: list[np.ndarray]) -> list[np.ndarray]:
    """Next row of the tableau: the error of central differences is a series in the square of the step."""
    row, factor = [value], 1.0
    for older in before:
        factor *= SHRINK**2
        row.append((factor * row[-1] - older) / (factor - 1))
    return row


def scale_of(value: float) -> float:
    """Size of a change of a parameter that matters: the parameter's own, or one where it is zero."""
    return abs(value) or 1.0
