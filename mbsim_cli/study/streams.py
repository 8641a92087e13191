"""Integrands of objectives over time, block by block: weights of integrals, and estimated discretisation errors."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Jump, Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.solve.blocks import SHARES, WEIGHTS

# The time points of a run, block by block, with their weights in integrals and in the errors of integrals.

TIMES = 5  # last time points that are saved for extrapolation


class TimePoints(NamedTuple):
    """Successive time points (B,); the first is the last one of the block before."""

    time: np.ndarray  # (B,) s
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
        self._latest: tuple[np.ndarray | None, TimePoints] = None, TimePoints(self.last, *np.zeros((2, 2, 0)))

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
            by_quadrature[_without_partner(lengths, self.intervals)] = 0.0
            self.intervals += len(joined) - 1
            weights = np.stack([trapezoidal(lengths), _of_changes(by_quadrature)])
            by_motion = np.where(lengths == 0.0, 0.0, 0.5 * (shifts[:, 1:] + shifts[:, :-1]))
            self._latest = time, TimePoints(joined, weights, _of_changes(by_motion))
        return self._latest[1]


def _without_partner(lengths: np.ndarray, first: int) -> np.ndarray:
    """Those of intervals (k,), by number, whose partner in a pair has a jump; ``first`` is how many came before."""
    partners = ((first + np.flatnonzero(lengths == 0.0)) ^ 1) - first
    return partners[(partners >= 0) & (partners < len(lengths))]


def _of_changes(factors: np.ndarray) -> np.ndarray:
    """Weights (..., B) of time points in the sum of factors (..., B - 1) times the changes over intervals."""
    weights = np.zeros((*factors.shape[:-1], factors.shape[-1] + 1))
    weights[..., 1:] = factors
    weights[..., :-1] -= factors
    return weights


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


# Estimated discretisation errors of objectives. Derivation: docs/theory/resolution.md.
#
# A number x that is a sum of terms of magnitude S has the relative error e / max(|x|, CANCELS S): where terms cancel,
# x itself would be too small a measure. A derivative that cancels and hardly changes the value, as near an optimum, has
# the larger measure INSENSITIVE min(S, value / parameter). Round-off of x is ROUND_OFF times its value without
# cancellation.

CANCELS = 1e-2
INSENSITIVE = 0.1  # change of the value over a parameter's range or size, over the value, that counts fully
CONSTANT = 1e-3  # variation over size below which a signal counts as constant but for errors
ROUND_OFF = 1e-12  # relative
AT_REST = 2e-10  # variation over the same size below which a signal is at rest
ZERO = 1e-9  # derivative, over value / parameter, below which it is round-off


class Uncertainty(NamedTuple):
    """Estimated errors (1 + p,) of a value and of its derivatives by p parameters, the value first."""

    errors: np.ndarray
    sizes: np.ndarray  # (1 + p,) magnitudes of the terms that add up to the numbers
    scale: float = 0.0  # magnitude of the value if nothing cancelled in its integrand

    def _magnitudes(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Magnitudes (1 + p,) of a value and derivatives, and of their round-off."""
        numbers, parameters = np.append(value, gradient)[: len(self.errors)], parameters[: len(self.errors) - 1]
        of_parameters = np.where(parameters == 0.0, 1.0, np.abs(parameters))
        size = max(abs(value), CANCELS * self.sizes[0])
        zeros = np.append(0.0, ZERO * max(size, ROUND_OFF * self.scale) / of_parameters)
        round_off = np.maximum(zeros, ROUND_OFF * self.scale / np.append(1.0, of_parameters))
        magnitudes = np.maximum(np.abs(numbers), CANCELS * self.sizes)
        small = INSENSITIVE * np.minimum(self.sizes[1:], np.where(parameters == 0.0, 0.0, size / of_parameters))
        magnitudes[1:] = np.maximum(magnitudes[1:], small)
        return magnitudes, round_off

    def denominators(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Magnitudes (1 + p,) that errors are relative to, for derivatives by ``parameters`` (p,)."""
        return np.maximum(*self._magnitudes(value, gradient, parameters))

    def reported(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Errors (1 + p,); NaN for numbers that are round-off."""
        magnitudes, round_off = self._magnitudes(value, gradient, parameters)
        return np.where(magnitudes < round_off, np.nan, self.errors)

    def relative(
        self, value: float, gradient: np.ndarray, parameters: np.ndarray, ranges: np.ndarray | None = None
    ) -> np.ndarray:
        """Errors (1 + p,) relative to ``denominators``; NaN for numbers that are round-off.

        ``ranges`` (p,) are those of parameters, 0 where there is none. A derivative that hardly changes the value over
        its range has a part of the value over the range as denominator: at an optimum the derivative vanishes, and its
        error does not.
        """
        magnitudes, round_off = self._magnitudes(value, gradient, parameters)
        found, size = np.where(magnitudes < round_off, np.nan, self.errors), np.maximum(magnitudes, round_off)
        if ranges is not None:
            ranges, least = ranges[: len(size) - 1], INSENSITIVE * max(abs(value), CANCELS * self.sizes[0])
            size[1:] = np.maximum(size[1:], np.divide(least, ranges, out=np.zeros(len(ranges)), where=ranges > 0.0))
        unknown = np.isnan(found) | np.isnan(size)
        return np.divide(found, size, out=np.where(unknown, np.nan, 0.0), where=size > 0.0)

    def with_gradient(self, errors: np.ndarray, sizes: np.ndarray | None = None) -> "Uncertainty":
        """Replace the errors (p,) of derivatives, and their sizes if these are known."""
        sizes = np.append(self.sizes[0], np.zeros(len(errors)) if sizes is None else sizes)
        return self._replace(errors=np.append(self.errors[0], errors), sizes=sizes)


class Spread:
    """Variation over time of a signal and its derivatives by p parameters, as long as the signal may be constant."""

    def __init__(self, p: int):
        self._least, self._most = np.full(1 + p, np.inf), np.full(1 + p, -np.inf)
        self._scale = np.zeros(1 + p)
        self._varies = False  # then it is no constant of the motion, whatever follows

    def add(self, rows: np.ndarray, scale: float = 0.0) -> None:
        """Add rows (1 + p, B); ``scale`` is the magnitude of the signal if nothing cancelled in it."""
        if self._varies:
            return
        self._scale[0] = scale
        self._least = np.minimum(self._least, rows.real.min(axis=1))
        self._most = np.maximum(self._most, rows.real.max(axis=1))
        self._varies = not (self.of_constants[0] > 0.0 or self._least[0] == self._most[0])

    @property
    def of_constants(self) -> np.ndarray:
        """Variation (1 + p,) of a signal that looks like a constant of the motion; zero for other signals."""
        with np.errstate(invalid="ignore"):  # infinite numbers are no constants
            spread = self._most - self._least
        size = np.maximum(np.abs(self._least), np.abs(self._most))
        size = np.maximum(size, np.where(spread > AT_REST * self._scale, self._scale, 0.0))  # else it is at rest
        constant = spread <= CONSTANT * size
        return np.where(constant & constant[0], spread, 0.0)


# Weights of Gauss's time points in a step, on (-1, 1), in the coefficients of the Legendre polynomials 1 to 3.
_AT = 2.0 * SHARES - 1.0
_LEGENDRE = np.stack([3.0 * _AT, 2.5 * (3.0 * _AT**2 - 1.0), 3.5 * (5.0 * _AT**3 - 3.0 * _AT)]) * WEIGHTS


def _errors_inside(length: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Errors (1 + q,) of integrals of rows (1 + q, B) by Gauss's rule, whose time points are inside whole steps.

    The rule is exact but for what the signal has of polynomials of degree 8 and above. Coefficients fall from degree
    to degree as far as the signal is smooth: by as much from 1 to 8 as three and a half times from 1 to 3. A step
    about an extremum has little of degree 1, so it goes by its neighbours, too.
    """
    sizes = np.abs(rows.reshape(len(rows), -1, SHARES.size) @ _LEGENDRE.T)  # (1 + q, steps, 3)
    low, third = _beside(sizes[..., :2].max(axis=2)), _beside(sizes[..., 2])
    ratio = np.divide(third, low, out=np.ones_like(low), where=low > 0.0)
    lengths = np.abs(length.reshape(-1, SHARES.size).sum(axis=1))
    return np.maximum(low, third) * np.minimum(ratio, 1.0) ** 3.5 @ lengths


def _beside(sizes: np.ndarray) -> np.ndarray:
    """The largest of each step and of those beside it, (..., steps)."""
    found = sizes.copy()
    found[..., 1:] = np.maximum(found[..., 1:], sizes[..., :-1])
    found[..., :-1] = np.maximum(found[..., :-1], sizes[..., 1:])
    return found


class Integrals:
    """Integrals of rows (1 + p, B) over time, and their errors by quadrature and by the motion.

    The first row is an integrand, the others its derivatives.
    """

    def __init__(self, p: int):
        self.sums: np.ndarray = np.zeros((3, 1 + p))  # integrals, their errors by quadrature and by motion
        self.sizes = np.zeros(1 + p)  # integrals of magnitudes
        self._length = 0.0  # of the last interval
        self._ends = np.zeros((1 + p, 0))  # rows of the last three time points
        self._inside = False  # whether time points inside steps are summed

    def add(self, points: TimePoints, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Add successive time points; earlier sums are multiplied by ``shrink``."""
        if not points.weights[0].all():  # a time point on a jump has one-sided derivatives, if any
            rows = np.where(points.weights[0] == 0.0, 0.0, rows)
        # derivatives whose error is not observed share that of the motion
        by_motion = points.by_motion if len(points.by_motion) == len(rows) else points.by_motion[:1]
        self.sums = shrink * self.sums + np.vstack([points.weights @ rows.T, (by_motion * rows).sum(axis=1)])
        self.sizes = shrink * self.sizes + np.abs(rows) @ points.weights[0]
        self._length = points.time[-1] - points.time[-2:][0]
        self._ends = np.concatenate([shrink * self._ends[:, :-1], rows[:, -3:]], axis=1)[:, -3:]

    def add_inside(self, length: np.ndarray, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Add time points inside steps, with weights ``length`` (B,); earlier sums are multiplied by ``shrink``."""
        self._inside = True
        errors = _errors_inside(length, rows)
        self.sums = shrink * self.sums + np.vstack([rows @ length, errors, np.zeros_like(errors)])
        self.sizes = shrink * self.sizes + np.abs(rows) @ np.abs(length)

    def errors(self, intervals: int) -> np.ndarray:
        """Errors (2, 1 + p) of the integrals over so many intervals, by quadrature and by the motion."""
        if self._inside:
            return self.sums[1:]
        if intervals == 1:
            return self.sums[1:] * np.nan
        errors = self.sums[1:].copy()
        if intervals % 2:  # an interval without a partner: half of the last pair's error
            before, middle, end = self._ends.T
            errors[0] += self._length * ((end - middle) / 6.0 + (before - 2.0 * middle + end) / 12.0)
        return errors


# From the last time point to the end of an analysis, where its duration is no whole number of steps.
#
# A signal is extrapolated by the polynomial through its last time points, over half a step at most. If the duration is
# a whole number of steps nothing is added, but the derivatives of the extrapolated signal by the duration remain, so
# that gradients by parameters of the duration are exact.

WHOLE = 1e-9  # of a step: above the round-off of sums of steps


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


# Where signals jump at a time that parameters move, as accelerations do where the law of a force jumps.
#
# The interval with the jump is left to the polynomials through the time points on both sides, so that an integral moves
# with the time of the jump. Steps of adaptive integrators end there: then derivatives by this time are left to them.


class Side(NamedTuple):
    """The time points (k,) before or behind a jump, up to ``TIMES``, in their order."""

    sign: int  # 1 before the jump, -1 behind
    nearest: int  # -1 before the jump, 0 behind
    length: complex  # between the nearest time point and the jump, s
    to_jump: Continuation  # weights of the time points; analytic in the time of the jump
    rows: np.ndarray  # (1 + p, k) the signal and its derivatives


def beside(jump: Jump, time: np.ndarray) -> tuple[slice, slice]:
    """The time points on both sides of a jump from which a signal is extrapolated."""
    first, end = np.searchsorted(time, jump.before)
    begin, last = np.searchsorted(time, jump.behind)
    return slice(max(first, end - TIMES), end), slice(begin, min(last, begin + TIMES))


class Beside:
    """A signal and its derivatives by p parameters at the time points beside a jump."""

    def __init__(self, jump: Jump, p: int):
        self.jump = jump
        self._time, self._rows = np.zeros(0), np.zeros((1 + p, 0))

    def add(self, time: np.ndarray, rows: np.ndarray) -> None:
        """Add the next time points (B,), and rows (1 + p, B)."""
        if time[-1] >= self.jump.before[0] and time[0] <= self.jump.behind[1]:
            time, rows = np.append(self._time, time), np.concatenate([self._rows, rows], axis=1)
            sides = beside(self.jump, time)
            self._time = np.concatenate([time[side] for side in sides])
            self._rows = np.concatenate([rows[:, side] for side in sides], axis=1)

    def sides(self, fewer: int = 0) -> tuple[Side, Side]:
        """Both sides, without the so many time points farthest away, whose weights are zero."""
        at, (before, behind) = self.jump.time, beside(self.jump, self._time)
        times, later = self._time[before], self._time[behind]
        to = Continuation(*(np.pad(weights, (fewer, 0)) for weights in continuation(times[fewer:], at)))
        back = continuation(-later[: len(later) - fewer][::-1], -at)  # time backwards
        value, rate, integral = (np.pad(weights[::-1], (0, fewer)) for weights in back)
        return (
            Side(1, -1, at - times[-1], to, self._rows[:, before]),
            Side(-1, 0, later[0] - at, Continuation(value, -rate, integral), self._rows[:, behind]),
        )


BESIDE = 2  # time points on each side of a time, that a cubic polynomial passes through


def around(time: np.ndarray, moment: float) -> slice:
    """The time points beside a moment, up to four; the last ones where it lies ahead."""
    behind = int(np.searchsorted(time, moment, side="right"))
    first = max(0, min(behind - BESIDE, len(time) - 2 * BESIDE))
    return slice(first, first + 2 * BESIDE)


def weighed(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums of rows (..., k) times weights (k,); rows without a weight may be undefined."""
    used = np.flatnonzero(weights)
    return rows[..., used] @ weights[used]


# The integrand of an objective at the time points of a block.

APART = 1e-12  # of the largest value of a sensor: more than its round-off


class Signal(NamedTuple):
    """An integrand at B time points."""

    rows: np.ndarray  # (1 + p, B) expression, and its derivatives by p parameters
    by_sensor: Mapping[str, np.ndarray]  # derivatives (., w) by each sensor; the last row is that of the last time


def integrand_of(objective: Objective, block: Block) -> Signal:
    """The integrand of an objective at the time points of a block."""
    integrand, p = objective.integrand, block.d_sensors.shape[2]
    sensors = {name: block.sensors[:, objective.sensors[name]] for name in integrand.sensors}
    if not p:
        at_end = {name: values[-1:] for name, values in sensors.items()}
        found = integrand.linearised(at_end, block.time[-1:], objective.values)
        return Signal(integrand.value(sensors, block.time, objective.values)[None], found.by_sensor)
    found = integrand.linearised(sensors, block.time, objective.values)
    rows = np.zeros((1 + p, len(block.time)), found.value.dtype)
    rows[0] = found.value
    for name, partial in found.by_sensor.items():
        derivatives, read = block.d_sensors[:, objective.sensors[name]], list(integrand.components[name])
        if len(read) < partial.shape[1]:  # components that are not read may be NaN
            partial, derivatives = partial[:, read], derivatives[:, read]
        rows[1:] += np.einsum("bw,bwp->bp", partial, derivatives).T
    for k, name in enumerate(objective.parameters):
        if name in found.by_parameter:
            rows[1 + k] += found.by_parameter[name]
    return Signal(rows, found.by_sensor)


def with_expressed(expressed: Sequence[Objective], block: Block) -> Any:
    """The block with the numbers of sensors that are expressions of others, behind these."""
    inside = getattr(block, "inside", None)
    if inside is not None:
        block = block._replace(inside=with_expressed(expressed, inside))
    signals = [integrand_of(objective, block).rows for objective in expressed]
    rows = np.stack(signals, axis=1)  # (1 + p, k, B)
    unknown = np.zeros((rows.shape[2], rows.shape[1]), bool)
    for k, objective in enumerate(expressed):
        for name, read in objective.integrand.components.items():
            unknown[:, k] |= block.undetermined[:, objective.sensors[name]][:, list(read)].any(axis=1)
    return block._replace(
        sensors=np.concatenate([block.sensors, rows[0].T], axis=1),
        d_sensors=np.concatenate([block.d_sensors, rows[1:].transpose(2, 1, 0)], axis=1),
        undetermined=np.concatenate([block.undetermined, unknown], axis=1),
    )


class Scale:
    """Magnitude of an integrand if nothing cancelled in it: its derivatives times the largest values of sensors.

    Derivatives are those at the last time point; a sensor of several components counts as a whole.
    """

    def __init__(self, objective: Objective):
        self.value = 0.0  # also where it is not known
        self._objective = objective
        self._largest: dict[str, float] = {}
        self._last: tuple[dict[str, np.ndarray], np.ndarray] = {}, np.zeros(0)  # last values of sensors, and their time

    def add(self, block: Block, signal: Signal) -> None:
        """Add the next time points."""
        shown = {name: block.sensors[:, self._objective.sensors[name]] for name in signal.by_sensor}
        self._last = {name: values[-1:] for name, values in shown.items()}, block.time[-1:]
        for name, values in shown.items():
            self._largest[name] = np.fmax.reduce(np.abs(values.real), axis=None, initial=self._largest.get(name, 0.0))
        self.value = self._of(signal.by_sensor)

    @property
    def nearby(self) -> float:
        """The magnitude a little beside the last state: squares have round-off and no derivative where they vanish."""
        shown, time = self._last
        moved = {name: values + APART * self._largest[name] for name, values in shown.items()}
        found = self._objective.integrand.linearised(moved, time, self._objective.values)
        return max(self.value, self._of(found.by_sensor))

    def _of(self, by_sensor: Mapping[str, np.ndarray]) -> float:
        found = sum(np.abs(partial[-1]).sum() * self._largest[name] for name, partial in by_sensor.items())
        return float(found) if np.isfinite(found) else 0.0


# The base of all objectives along time: their signals, joined block to block, and the end of a run.


class Stream:
    """Adds blocks; a signal and its derivatives by p parameters are rows (1 + p, B) at successive time points.

    Objectives of one run may share its ``course``.
    """

    sums = False  # whether it is a sum over time: of time points inside steps, where a run has them

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        self.objective, self.p = objective, p
        self.course = Course() if course is None else course
        self._tail = np.zeros((1 + p, 0))  # rows of the last time points
        self._spread = Spread(p)
        self._scale = Scale(objective)
        self._inside = False  # whether a run has time points inside steps
        self._beside = [Beside(jump, p) for jump in objective.jumps]
        self.course.jumps = self.course.jumps or objective.jumps

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Add a block of time points, which may be empty; ``shift`` (1 + p, B) as of ``Course.points``."""
        inside = getattr(block, "inside", None)
        if self.sums and inside is not None and len(inside.time):
            signal = integrand_of(self.objective, inside)
            self._scale.add(inside, signal)
            self.take_inside(inside.length, signal.rows)
        if not len(block.time):
            return
        points = self.course.points(block.time, shift)
        signal = integrand_of(self.objective, block)
        rows = np.concatenate([self._tail, signal.rows], axis=1)
        for each in self._beside:
            each.add(block.time, signal.rows)
        self._tail = rows[:, rows.shape[1] - len(self.course.last) :].copy()
        rows = rows[:, rows.shape[1] - len(points.time) :]
        self._scale.add(block, signal)
        self._spread.add(rows, self._scale.value)
        self._inside = inside is not None
        if not (self.sums and self._inside):
            self.take(points, rows)

    def take_inside(self, length: np.ndarray, rows: np.ndarray) -> None:
        """Add the signal at time points inside steps, in their order; ``length`` (B,) are its weights in integrals."""

    @property
    def weight_inside(self) -> Any:
        """The derivative of the value by the signal inside steps, over its ``length`` and without ``share``."""
        return 0.0

    def take(self, points: TimePoints, rows: np.ndarray) -> None:
        """Add the signal at successive time points."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        """The objective, so far."""
        raise NotImplementedError

    @property
    def gradient(self) -> np.ndarray:
        """Its derivatives (p,)."""
        raise NotImplementedError

    @property
    def drift(self) -> np.ndarray:
        """Errors (1 + p,) of a signal that should be constant: a motion ahead of time does not change it."""
        return self._spread.of_constants if np.any(self.course.ahead) else np.zeros(1 + self.p)

    def beyond(self, of: Callable[[Continuation], np.ndarray]) -> np.ndarray:
        """Errors (1 + p,) of the extrapolation to the end: its change with one time point fewer."""
        if len(self.course.last) < TIMES:
            return np.zeros(1 + self.p)
        return np.abs(weighed(of(self.to_end), self._tail) - weighed(of(self._continued(1)), self._tail))

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        found, scale = self.errors, self.extent * self._scale.value
        if max(abs(self.value), found.sizes[0]) <= ZERO * scale or not scale:
            scale = self.extent * self._scale.nearby
        return found._replace(scale=scale)

    @property
    def errors(self) -> Uncertainty:
        """``uncertainty`` without its scale."""
        raise NotImplementedError

    @property
    def extent(self) -> float:
        """The objective of a constant signal of one."""
        return 1.0

    @property
    def streams(self) -> list[tuple[float, "Stream"]]:
        """The objectives along time that the value depends on, and its derivatives by them."""
        return [(1.0, self)]

    def weights(self, time: np.ndarray) -> np.ndarray:
        """Derivatives (N,) of the value by the signal at all times ``time`` (N,), without ``share``."""
        raise NotImplementedError

    def share(self, value: np.ndarray) -> np.ndarray:
        """Factors (B,) of these where the signal has a value (B,); after the run."""
        return np.ones(len(value))

    def at_jumps(self, summand: Callable[[np.ndarray], np.ndarray], fewer: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """What jumps add to integrals (q,) of ``summand``, and to derivatives (p,) of the first by their times.

        ``summand`` gives what is integrated (q, k) from rows (1 + p, k) of the signal. Both sides of a jump are
        extrapolated from so many time points ``fewer``.
        """
        found, by_times = np.zeros(len(summand(self._tail))), np.zeros(self.p)
        for each in self._beside:
            for side in each.sides(fewer):
                found = found + weighed(self.weights_beside(side), summand(side.rows))
                by_times = by_times + self._through(each.jump.time_rho, self.by_jump(side))
        return found, by_times

    def weights_beside(self, side: Side) -> np.ndarray:
        """Weights (k,) of the time points beside a jump in an integral between the nearest one and the jump.

        Steps of adaptive integrators end at jumps: then it begins at the real part of the time of the jump.
        """
        raise NotImplementedError

    def by_jump(self, side: Side) -> Any:
        """Derivative of this integral by the time of the jump."""
        raise NotImplementedError

    def errors_at_jumps(self, summand: Callable[[np.ndarray], np.ndarray], per: complex = 1.0) -> np.ndarray:
        """Errors (1 + p,) of integrals of summands, less what derivatives through times are divided by ``per``."""
        (found, by_times), (other, by_other) = self.at_jumps(summand), self.at_jumps(summand, 1)
        errors = (found - other)[: 1 + self.p]
        errors[1:] += (by_times - by_other) / per
        return np.abs(errors)

    def weights_of_integral(self, time: np.ndarray) -> np.ndarray:
        """Weights (N,) of all stored time points in an integral; without those that have others inside their steps."""
        to_end = self.to_end.integral
        at_jumps = [tuple(map(self.weights_beside, each.sides())) for each in self._beside]
        found = np.zeros(len(time), np.result_type(float, to_end, *(each for pair in at_jumps for each in pair)))
        if not self._inside:
            found += trapezoidal(intervals(time, self.course.jumps))
        found[-len(to_end) :] += to_end
        for each, pair in zip(self._beside, at_jumps, strict=True):
            for side, weights in zip(beside(each.jump, time), pair, strict=True):
                found[side] += weights
        return found

    @property
    def still(self) -> bool:
        """Whether there is but one time point."""
        return self.course.last[-1] == self.course.start

    @property
    def end(self) -> complex:
        """End of the analysis, s."""
        last = self.course.last[-1]
        return last if self.objective.end is None or self.still else self.objective.end

    @property
    def to_end(self) -> Continuation:
        """Weights of the last time points in quantities between them and the end."""
        return self._continued(0)

    def _continued(self, fewer: int) -> Continuation:
        """The same, from so many time points fewer; integrals are not continued across a jump."""
        last = self.course.last
        first = fewer + max((int(np.searchsorted(last, each.jump.behind[0])) for each in self._beside), default=0)
        found = continuation(last[first:], self.end)
        return found if not first else Continuation(*(np.pad(weights, (first, 0)) for weights in found))

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        return np.zeros(self.p) if self.still else self._through(self.objective.end_rho, rate)

    def _through(self, time_rho: Sequence[float], rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through a time, from that by the time."""
        by_parameter = np.asarray(time_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() else np.zeros(self.p)
