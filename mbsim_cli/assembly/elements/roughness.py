"""Rows of a measured motion that scatter: their second derivatives are those of the noise."""

import numpy as np

EVEN = 1e-2  # by how much steps of time may differ, relative
FEW = 8  # rows below which nothing is said


def scatter(time: np.ndarray, values: np.ndarray) -> float:
    """Standard deviation of what values (N,) scatter by, or 0 where it does not decide their second differences.

    Scatter s of its own in every row has fourth differences of sqrt(70) s in the mean square, where a smooth motion has
    next to none, and second differences of sqrt(6) s. It decides where the former are larger than the second
    differences that there are; so they are of motions with less than 6 rows in a period.
    """
    steps = np.diff(time)
    if len(values) < FEW or np.ptp(steps) > EVEN * steps.mean():
        return 0.0
    second, fourth = (float(np.sqrt(np.mean(np.diff(values, k) ** 2))) for k in (2, 4))
    return fourth / np.sqrt(70.0) if fourth > second else 0.0
