"""Integrands of objectives over time, block by block: weights of integrals, and estimated discretisation errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.solve.blocks import SHARES, WEIGHTS
from mbsim_cli.spec.expressions.program import Linearised

# Discretisation errors of objectives, from the course of what they are of along time.

# The instants of a run as objectives take them, block by block, with what integrals weigh them by.

INSTANTS = 5  # that are kept of those behind


class Instants(NamedTuple):
    """Connected instants (B,), the last of those before among them."""

    time: np.ndarray  # (B,) s
    weights: np.ndarray  # (2, B) of an integral by the trapezoidal rule, and of its error by quadrature
    by_motion: np.ndarray  # (1 + p, B) of the errors that the motion leaves in an integral and its derivatives

    def errors_by_motion(self, rows: np.ndarray) -> np.ndarray:
        """Those of the integrals of rows (1 + q, B); derivatives that were not watched go with the motion."""
        by_motion = self.by_motion if len(self.by_motion) == len(rows) else self.by_motion[:1]
        return (by_motion * rows).sum(axis=1)


class Course:
    """Joins each block to the last instant of the one before, so that no interval is lost; once for all objectives.

    Each error of an integral is a sum over intervals of a factor times the change of the integrand: for quadrature that
    by which the trapezoidal rule on pairs of intervals differs, for the motion the time by which it is ahead, which is
    another one for each derivative.
    """

    def __init__(self) -> None:
        self.last = np.zeros(0)  # times of the last instants
        self.start = 0.0
        self.intervals = 0
        self.ahead: np.ndarray | None = None  # (1 + p,) by how much time motions are ahead at the last instant
        self._latest: tuple[np.ndarray | None, Instants] = None, Instants(self.last, *np.zeros((2, 2, 0)))

    def instants(self, time: np.ndarray, shift: np.ndarray | None) -> Instants:
        """Those that the times (B,) of a block end; whoever asks for the same block again is given the same.

        ``shift`` (1 + p, B) is by how much time their motion and its derivatives are ahead, None if not known.
        """
        if self._latest[0] is not time:
            known = len(self.last[-1:])
            if not known:
                self.start = time[0]
            self.last, joined = np.append(self.last, time)[-INSTANTS:], np.append(self.last[-1:], time)
            shifts = np.zeros((1 if shift is None else len(shift), len(joined)))
            if shift is not None:
                shifts[:, known:] = shift
                if known and self.ahead is not None:
                    shifts[:, 0] = self.ahead
            self.ahead = None if shift is None else shifts[:, -1]
            by_quadrature = np.diff(joined) / -6.0
            by_quadrature[(self.intervals + 1) % 2 :: 2] *= -1.0
            self.intervals += len(joined) - 1
            weights = np.stack([trapezoidal(joined), _of_changes(by_quadrature)])
            self._latest = time, Instants(joined, weights, _of_changes(0.5 * (shifts[:, 1:] + shifts[:, :-1])))
        return self._latest[1]


def _of_changes(factors: np.ndarray) -> np.ndarray:
    """Weights (..., B) of instants in the sum of factors (..., B - 1) times the changes over intervals."""
    weights = np.zeros((*factors.shape[:-1], factors.shape[-1] + 1))
    weights[..., 1:] = factors
    weights[..., :-1] -= factors
    return weights


def trapezoidal(time: np.ndarray) -> np.ndarray:
    """Weights (B,) of the trapezoidal rule, s."""
    half, weights = 0.5 * np.diff(time), np.zeros(len(time))
    weights[:-1] = half
    weights[1:] += half
    return weights


# Estimated discretisation errors of objectives, added up beside them. Derivation: docs/theory/resolution.md.

CANCELS = 1e-2  # of what is added up: a number that cancels to less is measured by that
INSENSITIVE = (
    0.1  # of a value: a derivative that changes it by less over the range of its parameter is measured by that
)
CONSTANT = 1e-3  # variation over size below which a signal counts as constant but for errors
ROUND_OFF = 1e-12  # of what an integrand is made of: a number below is zero
AT_REST = 2e-10  # variation over the same size below which a signal is at rest
ZERO = 1e-9  # of a value over a parameter: a derivative below is round-off


class Uncertainty(NamedTuple):
    """Estimated errors of a value and of its derivatives by p parameters, and the sizes of what adds up to them.

    ``scale`` is how large the value would be if nothing cancelled in its integrand.
    """

    value: float
    gradient: np.ndarray  # (p,)
    size: float
    gradient_size: np.ndarray  # (p,)
    scale: float = 0.0

    @classmethod
    def of(cls, errors: np.ndarray, sizes: np.ndarray) -> "Uncertainty":
        """From errors (1 + p,) and sizes (1 + p,), those of the value first."""
        return cls(errors[0], errors[1:], sizes[0], sizes[1:])

    def sizes(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Sizes (1 + p,) for relative errors: value and derivatives by ``parameters`` (p,), unless they cancel."""
        return np.maximum(self._shown(value, gradient), self._zeros(value, parameters))

    def _shown(self, value: float, gradient: np.ndarray) -> np.ndarray:
        """Sizes (1 + p,) of the numbers, or of what they are left of."""
        numbers = np.append(value, gradient[: len(self.gradient)])
        return np.maximum(np.abs(numbers), CANCELS * np.append(self.size, self.gradient_size))

    def _zeros(self, value: float, parameters: np.ndarray) -> np.ndarray:
        """Below what (1 + p,) a value and derivatives are zero but for round-off."""
        of_parameters = np.where(parameters == 0.0, 1.0, np.abs(parameters))[: len(self.gradient)]
        size = max(abs(value), CANCELS * self.size)
        zeros = np.append(0.0, ZERO * max(size, ROUND_OFF * self.scale) / of_parameters)
        return np.maximum(zeros, ROUND_OFF * self.scale / np.append(1.0, of_parameters))

    def reported(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> "Uncertainty":
        """The same without an estimate of what is zero but for round-off, which none counts."""
        found = self._errors_unless(self._shown(value, gradient) < self._zeros(value, parameters))
        return self._replace(value=found[0], gradient=found[1:])

    def _errors_unless(self, zero: np.ndarray) -> np.ndarray:
        """All errors (1 + p,), NaN of what is zero but for round-off."""
        return np.where(zero, np.nan, np.append(self.value, self.gradient))

    def relative(
        self, value: float, gradient: np.ndarray, parameters: np.ndarray, ranges: np.ndarray | None = None
    ) -> np.ndarray:
        """Errors (1 + p,) relative to the value and the derivatives by ``parameters`` (p,); as ``reported``.

        A derivative by which the value hardly changes over the range of its parameter, zero where there is none, is
        measured by a part of the value over that range: at an optimum it vanishes, and its error does not.
        """
        shown, zeros = self._shown(value, gradient), self._zeros(value, parameters)
        found, size = self._errors_unless(shown < zeros), np.maximum(shown, zeros)
        if ranges is not None:
            ranges, least = ranges[: len(self.gradient)], INSENSITIVE * max(abs(value), CANCELS * self.size)
            size[1:] = np.maximum(size[1:], np.divide(least, ranges, out=np.zeros(len(ranges)), where=ranges > 0.0))
        unknown = np.isnan(found) | np.isnan(size)
        return np.divide(found, size, out=np.where(unknown, np.nan, 0.0), where=size > 0.0)

    def plus(self, errors: np.ndarray) -> "Uncertainty":
        """The same with further errors (1 + p,)."""
        return self._replace(value=self.value + errors[0], gradient=self.gradient + errors[1:])

    def with_gradient(self, errors: np.ndarray) -> "Uncertainty":
        """The same with other errors (p,) of derivatives, whose sizes are not known."""
        return self._replace(gradient=errors, gradient_size=np.zeros(len(errors)))

    def unknown(self) -> "Uncertainty":
        """The same without an estimate."""
        return self._replace(value=float("nan"), gradient=np.full(len(self.gradient), np.nan))


class Spread:
    """Variation over time of a signal and its derivatives by p parameters, as long as the signal may be constant."""

    def __init__(self, p: int):
        self._least, self._most = np.full(1 + p, np.inf), np.full(1 + p, -np.inf)
        self._scale = np.zeros(1 + p)
        self._wanders = False  # once the signal varies, it is no constant of the motion

    def add(self, rows: np.ndarray, scale: float = 0.0) -> None:
        """Take rows (1 + p, B) in; ``scale`` is how large the signal would be if nothing cancelled in it."""
        if self._wanders:
            return
        self._scale[0] = scale
        self._widen(slice(0, 1), rows.real)
        if self.of_constants[0] > 0.0 or self._least[0] == self._most[0]:  # derivatives of others are not constant
            self._widen(slice(1, None), rows.real)
        else:
            self._wanders = True

    def _widen(self, part: slice, rows: np.ndarray) -> None:
        self._least[part] = np.minimum(self._least[part], rows[part].min(axis=1))
        self._most[part] = np.maximum(self._most[part], rows[part].max(axis=1))

    @property
    def of_constants(self) -> np.ndarray:
        """Variation (1 + p,) of a signal that looks like a constant of the motion; zero for other signals."""
        with np.errstate(invalid="ignore"):  # infinite numbers are no constants
            spread = self._most - self._least
        size = np.maximum(np.abs(self._least), np.abs(self._most))
        size = np.maximum(size, np.where(spread > AT_REST * self._scale, self._scale, 0.0))  # else it is at rest
        constant = spread <= CONSTANT * size
        return np.where(constant & constant[0], spread, 0.0)


# Weights of Gauss's instants in a step, on (-1, 1), in the coefficients of the Legendre polynomials 1 to 3.
_AT = 2.0 * SHARES - 1.0
_LEGENDRE = np.stack([3.0 * _AT, 2.5 * (3.0 * _AT**2 - 1.0), 3.5 * (5.0 * _AT**3 - 3.0 * _AT)]) * WEIGHTS


def _errors_inside(length: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Errors (1 + q,) of integrals of rows (1 + q, B) by Gauss's rule, whose instants are inside whole steps.

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
    """Integrals of rows (1 + p, B) over instants, and their errors by two causes: quadrature, and the motion.

    The first row is an integrand, the others its derivatives.
    """

    def __init__(self, p: int):
        self._sums: np.ndarray = np.zeros((3, 1 + p))  # integrals, their errors by quadrature and by motion
        self._sizes = np.zeros(1 + p)
        self._length = 0.0  # of the last interval
        self._ends = np.zeros((1 + p, 0))  # rows of the last three instants
        self._inside = False  # whether instants inside steps are summed

    def add(self, instants: Instants, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Take connected instants in; what was added so far shrinks."""
        self._sums = shrink * self._sums + np.vstack([instants.weights @ rows.T, instants.errors_by_motion(rows)])
        self._sizes = shrink * self._sizes + np.abs(rows) @ instants.weights[0]
        self._length = instants.time[-1] - instants.time[-2:][0]
        self._ends = np.concatenate([shrink * self._ends[:, :-1], rows[:, -3:]], axis=1)[:, -3:]

    def add_inside(self, length: np.ndarray, rows: np.ndarray, shrink: float = 1.0) -> None:
        """Take instants inside steps in, each of which weighs a ``length``; what was added so far shrinks."""
        self._inside = True
        errors = _errors_inside(length, rows)
        self._sums = shrink * self._sums + np.vstack([rows @ length, errors, np.zeros_like(errors)])
        self._sizes = shrink * self._sizes + np.abs(rows) @ np.abs(length)

    @property
    def value(self) -> np.ndarray:
        """The integrals (1 + p,)."""
        return self._sums[0]

    def _errors(self, intervals: int) -> np.ndarray:
        """Errors (2, 1 + p) of the integrals by either cause, over so many intervals."""
        if self._inside:
            return self._sums[1:]
        if intervals == 1:  # tells nothing
            return self._sums[1:] * np.nan
        errors = self._sums[1:].copy()
        if intervals % 2:
            errors[0] += self._last_interval
        return errors

    @property
    def _last_interval(self) -> np.ndarray:
        """The share of an interval without a partner in the quadrature (1 + p,): half of the last pair's error."""
        before, middle, end = self._ends.T
        return self._length * ((end - middle) / 6.0 + (before - 2.0 * middle + end) / 12.0)

    def uncertainty(self, intervals: int) -> Uncertainty:
        """Both causes together; they may have different signs, and are not set off against each other."""
        return Uncertainty.of(np.abs(self._errors(intervals)).sum(axis=0), self._sizes)

    def uncertainty_of_maximum(self, intervals: int, sharpness: complex) -> Uncertainty:
        """That of log(integral)/sharpness and of (integral of derivatives) / integral."""
        mean = self.value[0]
        errors, slope = self._errors(intervals) / mean, self.value[1:] / mean
        value, gradient = errors[:, 0], errors[:, 1:]
        change = np.abs(gradient - np.multiply.outer(value, slope)).sum(axis=0)
        return Uncertainty(np.abs(value / sharpness).sum(), change, 0.0, self._sizes[1:] / abs(mean))

    def narrowness(self, intervals: int) -> float:
        """How far the integral is that of a single instant: 1 if it is, 0 if quadrature follows the integrand."""
        quadrature = self._errors(intervals)[0, 0]
        return float(np.minimum(1.0, 3.0 * np.abs(quadrature / self.value[0])))


# Integrands of objectives along time, as blocks of an analysis arrive.

# From the last instant to the end of an analysis: what objectives add where its duration is no whole number of
# steps.
#
# Instants are whole steps. A signal is continued by the polynomial through its last instants, over half a step at
# most. Where the duration is a whole number of steps nothing is added, but its derivatives by the duration remain:
# they are those of the continued signal, so that gradients by parameters of the duration are exact.

WHOLE = 1e-9  # of a step, that the round-off of sums of steps stays below


@dataclass(frozen=True)
class Continuation:
    """Weights (k,) of the last k instants in quantities at, or up to, the end of the analysis."""

    value: np.ndarray  # of the signal at the end
    rate: np.ndarray  # of its time derivative there, 1/s
    integral: np.ndarray  # of its integral from the last instant to the end, s


def continuation(time: np.ndarray, end: complex) -> Continuation:
    """Weights for a signal known at the instants ``time`` (k,); analytic in ``end``. They are for reading only."""
    return _continuation(np.asarray(time, dtype=float).tobytes(), end, np.iscomplexobj(end))


@lru_cache(maxsize=8)
def _continuation(instants: bytes, end: complex, is_complex: bool) -> Continuation:
    # the same for all objectives of an analysis, and for all cases of a study; equal keys may be numbers of two kinds
    time = np.frombuffer(instants)
    last, step = time[-1], (time[-1] - time[-2] if len(time) > 1 else 1.0)
    beyond = (end - last) / step
    if abs(beyond.real) <= WHOLE:
        beyond = beyond - beyond.real
    power = np.arange(len(time))
    basis = np.linalg.inv(np.vander((time - last) / step, increasing=True))  # (k, k): powers by instants
    basis[0] = power == power[-1]  # the polynomial's constant is the last value, without round-off
    powers = beyond**power
    slopes = np.append(0.0, power[1:] * powers[:-1])
    return Continuation(powers @ basis, slopes @ basis / step, step * (beyond * powers / (power + 1)) @ basis)


def weighed(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums of rows (..., k) times weights (k,); what has no weight may be undefined."""
    used = np.flatnonzero(weights)
    return rows[..., used] @ weights[used]


# The integrand of an objective at the instants of a block, and objectives moved by a complex step.

APART = 1e-12  # of the largest that a sensor shows: what its round-off is below


class Signal(NamedTuple):
    """An integrand at B instants."""

    rows: np.ndarray  # (1 + p, B) expression, and its derivatives by p parameters
    by_sensor: Mapping[str, np.ndarray]  # derivatives (w,) by each sensor at the last instant


def integrand_of(objective: Objective, block: Block) -> Signal:
    """The integrand of an objective at the instants of a block."""
    integrand, p = objective.integrand, block.d_sensors.shape[2]
    sensors = {name: block.sensors[:, objective.sensors[name]] for name in integrand.sensors}
    if not p:
        at_end = {name: shown[-1:] for name, shown in sensors.items()}
        found = integrand.linearised(at_end, block.time[-1:], objective.values)
        return Signal(integrand.value(sensors, block.time, objective.values)[None], _last(found))
    found = integrand.linearised(sensors, block.time, objective.values)
    rows = np.zeros((1 + p, len(block.time)), found.value.dtype)
    rows[0] = found.value
    for name, partial in found.by_sensor.items():
        derivatives, read = block.d_sensors[:, objective.sensors[name]], list(integrand.components[name])
        if len(read) < partial.shape[1]:  # what it does not read need not be a number
            partial, derivatives = partial[:, read], derivatives[:, read]
        rows[1:] += np.einsum("bw,bwp->bp", partial, derivatives).T
    for k, name in enumerate(objective.parameters):
        if name in found.by_parameter:
            rows[1 + k] += found.by_parameter[name]
    return Signal(rows, _last(found))


def _last(found: Linearised) -> dict[str, np.ndarray]:
    return {name: partial[-1].copy() for name, partial in found.by_sensor.items()}


def with_expressed(expressed: Sequence[Objective], block: Any) -> Any:
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
    """How large an integrand would be if nothing cancelled in it: its derivatives times the largest that sensors show.

    Derivatives are those at the last instant, and sensors of more numbers count as a whole.
    """

    def __init__(self, objective: Objective):
        self._objective = objective
        self._largest: dict[str, float] = {}
        self._by_sensor: Mapping[str, np.ndarray] = {}
        self._last: tuple[dict[str, np.ndarray], np.ndarray] = {}, np.zeros(0)  # what sensors show, and when

    def add(self, block: Block, signal: Signal) -> None:
        """Take the next instants in."""
        self._by_sensor = signal.by_sensor
        self._last = (
            {name: block.sensors[-1:, self._objective.sensors[name]] for name in signal.by_sensor},
            block.time[-1:],
        )
        for name in signal.by_sensor:
            sizes = np.abs(block.sensors[:, self._objective.sensors[name]].real)
            self._largest[name] = np.fmax.reduce(sizes, axis=None, initial=self._largest.get(name, 0.0))

    @property
    def value(self) -> float:
        """Zero where it is not known."""
        return self._of(self._by_sensor)

    @property
    def nearby(self) -> float:
        """The same a little beside what sensors show: squares have round-off and no derivative where they vanish."""
        shown, time = self._last
        moved = {name: values + APART * self._largest[name] for name, values in shown.items()}
        return max(
            self.value, self._of(_last(self._objective.integrand.linearised(moved, time, self._objective.values)))
        )

    def _of(self, by_sensor: Mapping[str, np.ndarray]) -> float:
        found = sum(np.abs(partial).sum() * self._largest[name] for name, partial in by_sensor.items())
        return float(found) if np.isfinite(found) else 0.0


# The base of all objectives along time: their signals, joined block to block, and the end of a run.


class Stream:
    """Adds blocks; a signal and its derivatives by p parameters are rows (1 + p, B), in which instants follow closely.

    Objectives of one run may share its ``course``.
    """

    sums = False  # whether it is a sum over time: of instants inside steps, where a run has them

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        self.objective, self.p = objective, p
        self.course = Course() if course is None else course
        self._tail = np.zeros((1 + p, 0))  # rows of the last instants
        self._spread = Spread(p)
        self._to_end: Continuation | None = None  # where it is known
        self._scale = Scale(objective)
        self._inside = False  # whether such instants are summed

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in, if any; ``shift`` (1 + p, B) as of ``Course.instants``."""
        inside = getattr(block, "inside", None)
        if inside is not None and len(inside.time):
            self.add_inside(inside)
        if not len(block.time):  # the next one is far
            return
        self._to_end = None
        instants = self.course.instants(block.time, shift)
        signal = integrand_of(self.objective, block)
        rows = np.concatenate([self._tail, signal.rows], axis=1)
        self._tail = rows[:, rows.shape[1] - len(self.course.last) :].copy()
        rows = rows[:, rows.shape[1] - len(instants.time) :]
        self._scale.add(block, signal)
        self._spread.add(rows, self._scale.value)
        self._inside = inside is not None
        if not (self.sums and self._inside):
            self.take(instants, rows)

    def add_inside(self, inside: Block) -> None:
        """Take instants inside steps in, in the order of steps: each of them weighs its ``length`` in an integral."""
        if self.sums:
            signal = integrand_of(self.objective, inside)
            self._scale.add(inside, signal)
            self.take_inside(inside.length, signal.rows)

    def take_inside(self, length: np.ndarray, rows: np.ndarray) -> None:
        """Take the signal at such instants in."""

    @property
    def weight_inside(self) -> Any:
        """The derivative of the value by the signal at such an instant, over its ``length`` and but for ``share``."""
        return 0.0

    def take(self, instants: Instants, rows: np.ndarray) -> None:
        """Take a connected run of instants in."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        """The objective, so far."""
        raise NotImplementedError

    @property
    def drift(self) -> np.ndarray:
        """Errors (1 + p,) of constants of a motion that has any: what is ahead of time does not change them."""
        return self._spread.of_constants if np.any(self.course.ahead) else np.zeros(1 + self.p)

    def beyond(self, of: Callable[[Continuation], np.ndarray]) -> np.ndarray:
        """Errors (1 + p,) of what signals are continued by: what one instant fewer would change."""
        if len(self.course.last) < INSTANTS:
            return np.zeros(1 + self.p)
        by_fewer = weighed(of(continuation(self.course.last[1:], self.end)), self._tail[:, 1:])
        return np.abs(weighed(of(self.to_end), self._tail) - by_fewer)

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        errors, scale = self.errors, self.extent * self._scale.value
        if max(abs(self.value), errors.size) <= ZERO * scale or not scale:
            scale = self.extent * self._scale.nearby
        return errors._replace(scale=scale)

    @property
    def errors(self) -> Uncertainty:
        """The same as far as signals tell."""
        raise NotImplementedError

    @property
    def extent(self) -> float:
        """The objective of a constant signal of one."""
        return 1.0

    @property
    def streams(self) -> list[tuple[float, "Stream"]]:
        """Objectives along time that the value is made of, and its derivatives by them."""
        return [(1.0, self)]

    def weights(self, time: np.ndarray) -> np.ndarray:
        """Derivatives (N,) of the value by the signal at all instants ``time`` (N,), but for ``share``."""
        raise NotImplementedError

    def share(self, value: np.ndarray) -> np.ndarray:
        """Factors (B,) of these where the signal has a value (B,); after the run."""
        return np.ones(len(value))

    @property
    def still(self) -> bool:
        """Whether there is but one instant."""
        return self.course.last[-1] == self.course.start

    @property
    def end(self) -> complex:
        """End of the analysis, s."""
        last = self.course.last[-1]
        return last if self.objective.end is None or self.still else self.objective.end

    @property
    def to_end(self) -> Continuation:
        """Weights of the last instants in what lies between them and the end."""
        if self._to_end is None:
            self._to_end = continuation(self.course.last, self.end)
        return self._to_end

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        by_parameter = np.asarray(self.objective.end_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() and not self.still else np.zeros(self.p)
