"""Integrals of signals over time points, between steps and the end, and across jumps; and errors of quadrature."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Jump
from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.blocks import SHARES, WEIGHTS
from mbsim_cli.solve.breakpoints import WHOLE

TIMES = 5  # last time points that are saved for extrapolation


class TimePoints(NamedTuple):
    """Successive time points (B,); the first is the last one of the block before."""

    number: int  # of the first interval
    time: np.ndarray  # (B,) s
    lengths: np.ndarray  # (B - 1,) of intervals, s; zero for those in which signals jump
    weights: np.ndarray  # (2, B) of an integral by the trapezoidal rule, and of its error by quadrature
    by_motion: np.ndarray  # (1 + p, B) of the errors that the motion leaves in an integral and its derivatives


class Course:
    """Joins each block to the last time point of the one before, so that no interval is lost; once for all objectives.

    Each error of an integral is a sum over intervals of a factor times the change of the integrand. For quadrature the
    factor is the difference from the trapezoidal rule on pairs of intervals; for the motion it is the time by which
    the motion, or its derivative, is ahead.
    """

    def __init__(self) -> None:
        self.last = np.zeros(0)  # last times, s
        self.start = 0.0  # s
        self.intervals = 0
        self.jumps: Sequence[Jump] = ()  # at which integrals are split
        self.ahead: np.ndarray | None = None  # (1 + p,) time by which the motion and its derivatives are ahead, s
        none = TimePoints(0, *np.zeros((2, 0)), *np.zeros((2, 2, 0)))
        self._latest: tuple[np.ndarray | None, TimePoints] = None, none

    def points(self, time: np.ndarray, shift: np.ndarray | None) -> TimePoints:
        """Append the times (B,) of a block; a second call with the same array returns the same time points.

        ``shift`` (1 + p, B): time by which the motion and its derivatives are ahead, s; None if not known.
        """
        if self._latest[0] is not time:
            known = len(self.last[-1:])
            if not known:
                self.start = time[0]
            self.last, joined = np.append(self.last, time)[-TIMES:], np.append(self.last[-1:], time)
            shifts = np.zeros((1 if shift is None else len(shift), len(joined)))
            if shift is not None:
                shifts[:, known:] = shift
                if known and self.ahead is not None:
                    shifts[:, 0] = self.ahead
            self.ahead = None if shift is None else shifts[:, -1]
            lengths = intervals(joined, self.jumps)
            by_quadrature = lengths / -6.0
            by_quadrature[(self.intervals + 1) % 2 :: 2] *= -1.0
            # without those, by number, whose partner in a pair has a jump
            partners = ((self.intervals + np.flatnonzero(lengths == 0.0)) ^ 1) - self.intervals
            by_quadrature[partners[(partners >= 0) & (partners < len(lengths))]] = 0.0
            number, self.intervals = self.intervals, self.intervals + len(lengths)
            # factors times the changes over intervals, as weights of time points
            of_quadrature = -np.diff(by_quadrature, prepend=0.0, append=0.0)
            weights = np.stack([trapezoidal(lengths), of_quadrature])
            by_motion = np.where(lengths == 0.0, 0.0, 0.5 * (shifts[:, 1:] + shifts[:, :-1]))
            of_motion = -np.diff(by_motion, prepend=0.0, append=0.0)
            self._latest = time, TimePoints(number, joined, lengths, weights, of_motion)
        return self._latest[1]


def intervals(time: np.ndarray, jumps: Sequence[Jump]) -> np.ndarray:
    """Lengths (B - 1,) of the intervals between time points, s; zero for those in which signals jump."""
    lengths = np.diff(time)
    for jump in jumps:
        lengths[(time[1:] > jump.before[1]) & (time[:-1] < jump.behind[0])] = 0.0
    return lengths


def trapezoidal(lengths: np.ndarray) -> np.ndarray:
    """Weights (B,) of the trapezoidal rule over intervals (B - 1,), s."""
    weights = np.zeros(len(lengths) + 1)
    weights[:-1] = 0.5 * lengths
    weights[1:] += 0.5 * lengths
    return weights


# Weights of Gauss's time points in a step, on (-1, 1), in the coefficients of the Legendre polynomials 1 to 3.
_AT = 2.0 * SHARES - 1.0
_LEGENDRE = np.stack([3.0 * _AT, 2.5 * (3.0 * _AT**2 - 1.0), 3.5 * (5.0 * _AT**3 - 3.0 * _AT)]) * WEIGHTS


def _errors_inside(length: np.ndarray, rows: np.ndarray, split: Sequence[int]) -> np.ndarray:
    """Errors (1 + q,) of integrals of rows (1 + q, B) by Gauss's rule, whose time points are inside whole steps.

    The rule is exact but for what the signal has of polynomials of degree 8 and above. Coefficients fall from degree
    to degree as far as the signal is smooth: by as much from 1 to 8 as three and a half times from 1 to 3. A step
    about an extremum has little of degree 1, so it goes by its neighbours, too. Steps that are ``split``, by number, go
    by these alone.
    """
    sizes = np.abs(rows.reshape(len(rows), -1, SHARES.size) @ _LEGENDRE.T)  # (1 + q, steps, 3)
    sizes[:, split] = 0.0
    low, third = _beside(sizes[..., :2].max(axis=2)), _beside(sizes[..., 2])
    ratio = np.divide(third, low, out=np.ones_like(low), where=low > 0.0)
    lengths = np.abs(length.reshape(-1, SHARES.size).sum(axis=1))
    return np.maximum(low, third) * np.minimum(ratio, 1.0) ** 3.5 @ lengths


_TO_ENDS = np.vander([0.0, 1.0], SHARES.size, increasing=True) @ np.linalg.inv(np.vander(SHARES, increasing=True))


def _errors_between(length: np.ndarray, rows: np.ndarray, corners: Sequence[int]) -> np.ndarray:
    """Errors (1 + q,) where a signal has corners between the last time point of steps, by number, and the first behind.

    Neither step shows such a corner, but their polynomials do not meet.
    """
    before, lengths = np.asarray(corners, int), np.abs(length.reshape(-1, SHARES.size).sum(axis=1))
    begins, ends = np.moveaxis(rows.reshape(len(rows), -1, SHARES.size) @ _TO_ENDS.T, 2, 0)
    between = SHARES[0] * (lengths[before] + lengths[before + 1])
    return np.abs(begins[:, before + 1] - ends[:, before]) @ between


def _beside(sizes: np.ndarray) -> np.ndarray:
    """The largest of each step and of those beside it, (..., steps)."""
    found = sizes.copy()
    found[..., 1:] = np.maximum(found[..., 1:], sizes[..., :-1])
    found[..., :-1] = np.maximum(found[..., :-1], sizes[..., 1:])
    return found


# Where a signal jumps by J, the trapezoidal rule is off by h J / 2 at most, and by h J / sqrt(12) on average. Third
# differences are J, -2 J and J there, and of the order h^3 elsewhere.
CORNER = 0.25  # error by quadrature, over h times the root of the sum of their squares
NO_CORNERS = np.zeros(0, bool)


class Integrals:
    """Integrals over time of rows (1 + p, B), an integrand and its derivatives; errors by quadrature and by motion."""

    def __init__(self, p: int):
        self._squares = np.zeros(1 + p)  # of errors by quadrature across corners
        self._corners = NO_CORNERS  # whether each of the last two intervals has a corner
        self.is_split = False  # whether one of them is split
        self.open = np.zeros(1 + p)  # what splitting the last interval has added, if it begins a pair
        self.sums: np.ndarray = np.zeros((3, 1 + p))  # integrals, their errors by quadrature and by motion
        self.sizes = np.zeros(1 + p)  # integrals of magnitudes
        self._lengths = np.zeros(0)  # of the last two intervals
        self._ends = np.zeros((1 + p, 0))  # rows of the last three time points
        self._inside = False  # whether time points inside steps are summed

    def add(self, points: TimePoints, rows: np.ndarray, corners: np.ndarray, shrink: float = 1.0) -> None:
        """Add successive time points (B,), and whether intervals (B - 1,) have corners; ``shrink`` earlier sums."""
        if not points.lengths.all():  # a time point on a jump has one-sided derivatives, if any
            rows = np.where(points.weights[0] == 0.0, 0.0, rows)
        # derivatives whose error is not observed share that of the motion
        by_motion = points.by_motion if len(points.by_motion) == len(rows) else points.by_motion[:1]
        self.sums = shrink * self.sums + np.vstack([points.weights @ rows.T, (by_motion * rows).sum(axis=1)])
        self.sizes = shrink * self.sizes + np.abs(rows) @ points.weights[0]
        self.open *= shrink
        lengths, corners = np.append(self._lengths, points.lengths), np.append(self._corners, corners)
        self._squares *= shrink**2
        if corners.any() and len(lengths) > 2:
            in_three = np.stack([lengths[:-2], lengths[1:-1], lengths[2:]])
            across = (corners[:-2] | corners[1:-1] | corners[2:]) & (in_three != 0.0).all(axis=0)  # and no jump
            bent = np.diff(np.concatenate([shrink * self._ends[:, :-1], rows], axis=1), 3, axis=1).real[:, across]
            self._squares += ((CORNER * np.abs(in_three).max(axis=0)[across] * bent) ** 2).sum(axis=1)
        self._lengths, self._corners = lengths[-2:], corners[-2:]
        self._ends = np.concatenate([shrink * self._ends[:, :-1], rows[:, -3:]], axis=1)[:, -3:]

    def add_inside(
        self, length: np.ndarray, rows: np.ndarray, split: Sequence[int], corners: Sequence[int], shrink: float = 1.0
    ) -> None:
        """Add time points inside steps, with weights ``length`` (B,); earlier sums are multiplied by ``shrink``.

        By number: steps that are ``split``, and those before ``corners`` between time points of two steps.
        """
        self._inside = True
        errors = _errors_inside(length, rows, list(split)) + _errors_between(length, rows, corners)
        self.sums = shrink * self.sums + np.vstack([rows @ length, errors, np.zeros_like(errors)])
        self.sizes = shrink * self.sizes + np.abs(rows) @ np.abs(length)

    def add_split(self, added: np.ndarray | float, error: np.ndarray | float = 0.0) -> None:
        """Add the contribution of splits to the integrals (1 + p,), and to their errors by quadrature."""
        self.sums = self.sums + np.stack(np.broadcast_arrays(added, error, 0.0))

    def errors(self, intervals: int) -> np.ndarray:
        """Errors (2, 1 + p) of the integrals over so many intervals, by quadrature and by the motion."""
        if self._inside:
            return self.sums[1:]
        if intervals == 1:
            return self.sums[1:] * np.nan
        errors = self.sums[1:].copy()
        if intervals % 2:  # an interval without a partner: half of the last pair's error
            before, middle, end = self._ends.T
            is_smooth = self._lengths.all() and not self.is_split  # no jump is between the three
            bend = before - 2.0 * middle + end if is_smooth else 0.0
            errors[0] += self._lengths[-1] * ((end - middle) / 6.0 + bend / 12.0)
        return errors

    @property
    def at_corners(self) -> np.ndarray:
        """Least errors (1 + p,) by quadrature across corners."""
        return np.sqrt(self._squares)


# From the last time point to the end of an analysis a signal is extrapolated by the polynomial through its last time
# points, over half a step at most. If the duration is a whole number of steps nothing is added, but the derivatives of
# the extrapolated signal by the duration remain, so that gradients by parameters of the duration are exact.


class Continuation(NamedTuple):
    """Weights (k,) of the last k time points in quantities at, or up to, the end of the analysis."""

    value: np.ndarray  # of the signal at the end
    rate: np.ndarray  # of its time derivative there, 1/s
    integral: np.ndarray  # of its integral from the last time point to the end, s


def continuation(time: np.ndarray, end: complex) -> Continuation:
    """Weights for a signal known at the times ``time`` (k,); analytic in ``end``. They are cached: do not modify."""
    return _continuation(np.asarray(time, dtype=float).tobytes(), end, np.iscomplexobj(end))


@lru_cache(maxsize=64)
def _continuation(points: bytes, end: complex, is_complex: bool) -> Continuation:
    # the same for all objectives of an analysis, and for all cases of a study; equal keys may be numbers of two kinds
    time = np.frombuffer(points)
    last, step = time[-1], (time[-1] - time[-2] if len(time) > 1 else 1.0)
    beyond = (end - last) / step
    if abs(beyond.real) <= WHOLE:
        beyond = beyond - beyond.real
    power = np.arange(len(time))
    basis = np.linalg.inv(np.vander((time - last) / step, increasing=True))  # (k, k): powers by time points
    basis[0] = power == power[-1]  # the polynomial's constant is the last value, without round-off
    powers = beyond**power
    slopes = np.append(0.0, power[1:] * powers[:-1])
    return Continuation(powers @ basis, slopes @ basis / step, step * (beyond * powers / (power + 1)) @ basis)


# Signals jump at times that parameters move, as accelerations do where the law of a force jumps. The interval with the
# jump is left to the polynomials through the time points on both sides, so that an integral moves with the time of the
# jump. Steps of adaptive integrators end there: derivatives by this time are left to them, through times inside steps.

INSIDE = 2 * SHARES.size  # time points inside steps on each side


class Side(NamedTuple):
    """The time points (k,) before or behind a jump, up to ``TIMES``, in their order."""

    sign: int  # 1 before the jump, -1 behind
    nearest: int  # -1 before the jump, 0 behind
    length: complex  # between the nearest time point and the jump, s
    to_jump: Continuation  # weights of the time points; analytic in the time of the jump
    rows: np.ndarray  # (1 + p, k) the signal and its derivatives

    @property
    def late(self) -> complex:
        """The length from the real part of the time of the jump on, where steps end."""
        return self.length - np.real(self.length)


def beside(jump: Jump, time: np.ndarray, most: int = TIMES) -> tuple[slice, slice]:
    """The time points on both sides of a jump from which a signal is extrapolated, so many at most."""
    first, end = np.searchsorted(time, jump.before)
    begin, last = np.searchsorted(time, jump.behind)
    return slice(max(first, end - most), end), slice(begin, min(last, begin + most))


def piece(jumps: Sequence[Jump], time: np.ndarray, moment: float) -> slice:
    """The time points between the jumps beside a moment; behind a jump if it is the moment."""
    first, last = 0, len(time)
    for jump in jumps:
        if moment < jump.before[1]:
            last = min(last, int(np.searchsorted(time, jump.before[1], side="right")))
        else:
            first = max(first, int(np.searchsorted(time, jump.behind[0])))
    return slice(first, last)


def is_on(jump: Jump, time: float) -> bool:
    """Whether a time point is that of a jump."""
    return jump.before[1] < time < jump.behind[0]


class Beside:
    """A signal and its derivatives by p parameters at the time points beside a jump, ``most`` on each side."""

    def __init__(self, jump: Jump, p: int, most: int = TIMES):
        self.jump = jump
        self._most = most
        self._time, self._rows = np.zeros(0), np.zeros((1 + p, 0))

    @property
    def is_enough(self) -> bool:
        """Whether there are half as many time points at least."""
        return all(2 * (s.stop - s.start) >= self._most for s in beside(self.jump, self._time, self._most))

    def may_exceed(self, top: float) -> bool:
        """Whether parabolas of each side may be larger than ``top`` at the jump, which lies within an interval."""
        values = self._rows[0].real
        return values.size > 0 and not values.max() + PARABOLA * np.ptp(values) < top

    def add(self, time: np.ndarray, rows: np.ndarray) -> None:
        """Add the next time points (B,), and rows (1 + p, B)."""
        if time[-1] >= self.jump.before[0] and time[0] <= self.jump.behind[1]:
            time, rows = np.append(self._time, time), np.concatenate([self._rows, rows], axis=1)
            sides = beside(self.jump, time, self._most)
            self._time = np.concatenate([time[side] for side in sides])
            self._rows = np.concatenate([rows[:, side] for side in sides], axis=1)

    def sides(self, fewer: int = 0, switched: Sequence[float] = ()) -> tuple[Side, Side]:
        """Both sides, without the so many time points farthest away, whose weights are zero; one is left.

        So are those of time points beyond the times at which the signal is ``switched``.
        Raises AnalysisError where a side has none, as in a run with longer steps.
        """
        at, (before, behind) = self.jump.time, beside(self.jump, self._time, self._most)
        times, later = self._time[before], self._time[behind]
        if not (times.size and later.size):
            raise AnalysisError(f"there are no time points between the jump at {at.real:g} s and another change")
        since = max((t for t in switched if t < times[-1]), default=-np.inf)
        until = min((t for t in switched if t > later[0]), default=np.inf)
        first = min(fewer + int(np.searchsorted(times, since)), len(times) - 1)
        last = max(1, int(np.searchsorted(later, until)) - fewer)
        to = Continuation(*(np.pad(weights, (first, 0)) for weights in continuation(times[first:], at)))
        back = continuation(-later[:last][::-1], -at)  # time backwards
        value, rate, integral = (np.pad(weights[::-1], (0, len(later) - last)) for weights in back)
        return (
            Side(1, -1, at - times[-1], to, self._rows[:, before]),
            Side(-1, 0, later[0] - at, Continuation(value, -rate, integral), self._rows[:, behind]),
        )


PARABOLA = 3.0  # differences between time points by which one through three rises at most within the next interval
BESIDE = 2  # time points on each side of a time, that a cubic polynomial passes through


def around(time: np.ndarray, moment: float, jumps: Sequence[Jump] = ()) -> slice:
    """The time points beside a moment, up to four, on its side of all jumps; the last ones where it lies ahead.

    Where fewer than two lie on its side, those across jumps serve, too: positions and rates do not jump.
    """
    near = piece(jumps, time, moment)
    if near.stop - near.start < 2:
        near = slice(0, len(time))
    behind = int(np.searchsorted(time, moment, side="right"))
    first = max(near.start, min(behind - BESIDE, near.stop - 2 * BESIDE))
    return slice(first, min(first + 2 * BESIDE, near.stop))


def weighed(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums of rows (..., k) times weights (k,); rows without a weight may be undefined."""
    used = np.flatnonzero(weights)
    return rows[..., used] @ weights[used]
