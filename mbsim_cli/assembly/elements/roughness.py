"""How well rows of a measured motion tell its second derivatives: they may scatter, lie too far apart, contradict."""

import numpy as np

EVEN = 1e-2  # by how much steps of time may differ, relative
FEW = 8  # rows below which nothing is said
ROUND_OFF = 1e-12  # of values: smaller differences are none
WHOLE = 1e-9  # by how much a row may lie behind the end, relative


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
    return fourth / np.sqrt(70.0) if fourth > max(second, ROUND_OFF * np.abs(values).max()) else 0.0


def accelerations_left(time: np.ndarray, values: np.ndarray, duration: float) -> tuple[float, float]:
    """Largest error that rows (N,) leave second derivatives of their spline until the duration; the largest of these.

    Those of cubic splines are off by the square of the rows' distance, at their ends by some ten times as much: splines
    through every other row are off by four times that.
    """
    if len(values) < FEW:
        return 0.0, 0.0
    from scipy.interpolate import CubicSpline  # slow to import, and laws need none

    met, error = (time >= 0.0) & (time <= duration * (1.0 + WHOLE)), 0.0
    second = CubicSpline(time, values)(time, 2)
    for first in {0, (len(time) - 1) % 2}:  # so that both ends are met
        coarse = CubicSpline(time[first::2], values[first::2])(time[first::2], 2)
        error = max(error, float(np.abs(coarse - second[first::2])[met[first::2]].max(initial=0.0)) / 3.0)
    at_rest = ROUND_OFF * float(np.abs(values).max()) / float(np.diff(time).min()) ** 2
    return error, max(at_rest, float(np.abs(second[met]).max(initial=0.0)))


def contradiction(time: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """By how much positions and velocities (3, N) change otherwise than velocities and accelerations say, relative.

    By Hermite's rule (h^5 q5 / 720) and, over two rows, Simpson's (h^5 q6 / 90), in the mean square.
    """
    steps = np.diff(time)
    if len(time) < FEW or np.ptp(steps) > EVEN * steps.mean():
        return 0.0, 0.0
    h, (q, v, a) = steps.mean(), rows
    ways = h * (v[:-1] + v[1:]) / 2.0 + h**2 * (a[:-1] - a[1:]) / 12.0
    gains = h * (a[:-2] + 4.0 * a[1:-1] + a[2:]) / 3.0
    return _unlike(np.diff(q), ways, np.abs(q).max()), _unlike(v[2:] - v[:-2], gains, np.abs(v).max())


def _unlike(changes: np.ndarray, told: np.ndarray, size: float) -> float:
    """Relative difference of changes from what is told of them, in the mean square; none of round-off."""
    off, whole = (float(np.sqrt(np.mean(each**2))) for each in (changes - told, changes))
    return off / max(whole, ROUND_OFF**0.5 * size, np.finfo(float).tiny)
