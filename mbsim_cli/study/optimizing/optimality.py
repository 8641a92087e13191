"""How far a design is from satisfying the conditions of Karush, Kuhn and Tucker; multipliers of what holds it."""

from typing import NamedTuple

import numpy as np

ACTIVE = 1e-6  # distance from a limit or from the end of a range, scaled, at which it may hold a design


class Optimality(NamedTuple):
    """Largest part of the gradient that nothing holds, and multipliers of the limits (c,) and ranges (v,)."""

    residual: float
    multipliers: np.ndarray
    of_ranges: np.ndarray
    worst: int = 0  # variable of the residual


def optimality(
    u: np.ndarray, gradient: np.ndarray, excess: np.ndarray, slopes: np.ndarray, equal: np.ndarray
) -> Optimality:
    """Of a design at places ``u`` (v,) in its ranges.

    ``gradient`` (v,) is that of what becomes least; ``excess`` (c,) over limits, at most zero, or zero where ``equal``,
    has ``slopes`` (c, v). The multipliers are those of the smallest residual in the mean; but for equalities they are
    not negative, and zero away from a limit.
    """
    from scipy.optimize import nnls

    v = len(u)
    active = np.flatnonzero(equal | (excess > -ACTIVE))
    both = np.flatnonzero(equal)
    lower, upper = np.flatnonzero(u < ACTIVE), np.flatnonzero(u > 1 - ACTIVE)
    unit = np.eye(v)
    columns = np.vstack([slopes[active], -slopes[both], -unit[lower], unit[upper]]).T
    found = nnls(columns, -gradient)[0] if columns.shape[1] else np.zeros(0)
    parts = np.split(found, np.cumsum([len(active), len(both), len(lower)]))
    multipliers, of_ranges = np.zeros(len(excess)), np.zeros(v)
    multipliers[active] = parts[0]
    multipliers[both] -= parts[1]
    of_ranges[lower] -= parts[2]
    of_ranges[upper] += parts[3]
    left = gradient + (columns @ found if len(found) else 0.0)
    worst = int(np.abs(left).argmax()) if v else 0
    return Optimality(float(np.abs(left).max(initial=0.0)), multipliers, of_ranges, worst)
