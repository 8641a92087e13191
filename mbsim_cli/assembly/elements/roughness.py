"""How well rows of a measured motion tell its second derivatives: they may scatter, lie too far apart, contradict."""

import numpy as np

EVEN = 1e-2  # by how much steps of time may differ, relative
AT_ONCE = 100_000  # numbers whose splines are found together
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
    if not _judged(steps):
        return 0.0
    second, fourth = (float(np.sqrt(np.mean(np.diff(values, k) ** 2))) for k in (2, 4))
    return fourth / np.sqrt(70.0) if fourth > max(second, ROUND_OFF * np.abs(values).max()) else 0.0


def accelerations_left(time: np.ndarray, columns: np.ndarray, duration: float) -> np.ndarray:
    """Errors of second derivatives that rows (N, k) leave until the duration, and sizes of these: the largest (2, k).

    Those of cubic splines are off by the square of the rows' distance, at their ends by some ten times as much: splines
    through every other row are off by four times that.
    """
    if len(columns) < FEW:
        return np.zeros((2, columns.shape[1]))
    many = max(1, AT_ONCE // len(columns))
    found = [_left(time, columns[:, first : first + many], duration) for first in range(0, columns.shape[1], many)]
    return np.concatenate([np.zeros((2, 0)), *found], axis=1)


def _left(time: np.ndarray, columns: np.ndarray, duration: float) -> np.ndarray:
    from scipy.interpolate import CubicSpline  # slow to import, and laws need none

    met, error = (time >= 0.0) & (time <= duration * (1.0 + WHOLE)), np.zeros(columns.shape[1])
    second = CubicSpline(time, columns)(time, 2)
    for first in {0, (len(time) - 1) % 2}:  # so that both ends are met
        coarse = CubicSpline(time[first::2], columns[first::2])(time[first::2], 2)
        error = np.maximum(error, np.abs(coarse - second[first::2])[met[first::2]].max(axis=0, initial=0.0) / 3.0)
    at_rest = ROUND_OFF * np.abs(columns).max(axis=0) / np.diff(time).min() ** 2
    return np.stack([error, np.maximum(at_rest, np.abs(second[met]).max(axis=0, initial=0.0))])


def contradiction(time: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """By how much positions and velocities (3, N) change otherwise than velocities and accelerations say, relative.

    By Hermite's rule (h^5 q5 / 720) and, over two rows, Simpson's (h^5 q6 / 90), in the mean square.
    """
    steps = np.diff(time)
    if not _judged(steps):
        return 0.0, 0.0
    h, (q, v, a) = steps.mean(), rows
    ways = h * (v[:-1] + v[1:]) / 2.0 + h**2 * (a[:-1] - a[1:]) / 12.0
    gains = h * (a[:-2] + 4.0 * a[1:-1] + a[2:]) / 3.0
    return _unlike(np.diff(q), ways, np.abs(q).max()), _unlike(v[2:] - v[:-2], gains, np.abs(v).max())


def _judged(steps: np.ndarray) -> bool:
    """Whether there are rows enough, at even steps (N - 1,), for differences that tell derivatives."""
    return len(steps) + 1 >= FEW and not np.ptp(steps) > EVEN * steps.mean()


def _unlike(changes: np.ndarray, told: np.ndarray, size: float) -> float:
    """Relative difference of changes from what is told of them, in the mean square; none of round-off."""
    off, whole = (float(np.sqrt(np.mean(each**2))) for each in (changes - told, changes))
    return off / max(whole, ROUND_OFF**0.5 * size, np.finfo(float).tiny)
