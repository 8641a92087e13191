"""Histories between their rows: linear maps of rows, so that the same map of their derivatives is the exact derivative.

Coordinates and their rates go by Hermite polynomials of the rows of their rates, within one interval; all else by the
polynomial through the nearest rows. Where the motion is smooth, errors are of sixth order in the distance of rows
(velocities: fourth). Source: Burden and Faires, Numerical Analysis, sections 3.1 and 3.4.
"""

from collections.abc import Sequence
from functools import cache
from math import factorial

import numpy as np

from mbsim_cli.errors import UsageError

NEAREST = 6  # rows of a polynomial
ROUND_OFF = 1e-9  # of a run, that a time may lie outside of it
_RATES = ("position", "velocity", "acceleration")


def rows_of(path: str) -> tuple[str, ...]:
    """Paths of a history and of its rates, as far as results hold them."""
    folder, _, kind = path.rpartition("/")
    if folder == "coordinates" and kind in _RATES:
        return tuple(f"coordinates/{rate}" for rate in _RATES[_RATES.index(kind) :])
    return (path,)


def interpolated(rows: np.ndarray, wanted: np.ndarray, values: Sequence[np.ndarray]) -> np.ndarray:
    """Values (M, ...) at times ``wanted`` (M,), s, of a history with rows (N, ...) at times (N,), and of its rates.

    Raises UsageError for times outside of the rows, and for NaN.
    """
    behind = np.append(np.diff(rows) > 0.0, True)  # of rows at the same time the last holds
    rows, values = rows[behind], [part[behind] for part in values]
    margin = ROUND_OFF * (1.0 + rows[-1] - rows[0])
    if wanted.ndim != 1 or not ((wanted >= rows[0] - margin) & (wanted <= rows[-1] + margin)).all():
        raise UsageError(f"times want to be numbers (M,) from {rows[0]:g} to {rows[-1]:g} s, which the run covers")
    indices, weights = _hermite(rows, wanted, len(values)) if len(values) > 1 else _lagrange(rows, wanted)
    terms = (np.einsum("mk,mk...->m...", w, part[indices]) for w, part in zip(weights, values, strict=True))
    return sum(terms, start=np.zeros(()))


def _lagrange(rows: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest rows (M, K) of each time, and their weights (1, M, K)."""
    count = min(NEAREST, len(rows))
    first = np.clip(np.searchsorted(rows, wanted, "right") - count // 2, 0, len(rows) - count)
    indices = first[:, None] + np.arange(count)
    weights = np.ones(indices.shape)
    for j in range(count):
        for k in set(range(count)) - {j}:
            at_j, at_k = rows[first + j], rows[first + k]
            weights[:, j] *= (wanted - at_k) / (at_j - at_k)
    return indices, weights[None]


def _hermite(rows: np.ndarray, wanted: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends (M, 2) of the interval of each time, and the weights (count, M, 2) of values and rates there."""
    first = np.clip(np.searchsorted(rows, wanted, "right") - 1, 0, max(len(rows) - 2, 0))
    if len(rows) == 1:
        return first[:, None], np.array([np.ones((len(wanted), 1))] + [np.zeros((len(wanted), 1))] * (count - 1))
    length = rows[first + 1] - rows[first]
    powers = ((wanted - rows[first]) / length)[:, None] ** np.arange(2 * count)
    weights = (powers @ _basis(count)).reshape(-1, 2, count)  # of an interval of length 1
    return first[:, None] + np.arange(2), np.moveaxis(weights * length[:, None, None] ** np.arange(count), 2, 0)


@cache
def _basis(count: int) -> np.ndarray:
    """Powers (rows) of the polynomials with one value or derivative 1 at 0, then at 1, and all others 0."""
    conditions = np.zeros((2 * count, 2 * count))
    for order in range(count):
        conditions[order, order] = factorial(order)
        for power in range(order, 2 * count):
            conditions[count + order, power] = factorial(power) / factorial(power - order)
    return np.round(2.0 * np.linalg.inv(conditions)) / 2.0  # all of them are halves of whole numbers
