"""Objectives and their gradients, accumulated block by block while a simulation runs; one class a kind.

An integral is trapezoidal on the time points that arrive, or by Gauss's rule inside adaptive steps, so its gradient is
that of the computed sum. Where parameters change the duration, gradients include that: see ``continuation``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Block, gain, phase
from mbsim_cli.study.diagnostics.health import MODE_NUMBERS
from mbsim_cli.study.quadrature import Continuation, Course, Integrals, Side, around, continuation, weighed
from mbsim_cli.study.streams import Stream, Uncertainty


def _among(count: int, where: slice, weights: np.ndarray) -> np.ndarray:
    """Weights (count,) of all time points, zero but for those of some."""
    found = np.zeros(count, weights.dtype)
    found[where] = weights
    return found


class Final(Stream):
    """Value at the end."""

    unknown = np.nan  # error by the motion, where no estimate of that is known

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._sizes = np.zeros(1 + p)

    def take(self, points, rows):
        """The last time points are saved by the base class."""
        self._sizes = np.maximum(self._sizes, np.abs(rows).max(axis=1))

    def weights(self, time):
        to_end = self.to_end.value
        return _among(len(time), slice(-len(to_end), None), to_end)

    @property
    def errors(self):
        """By the motion, and by what is continued to the end; there is no quadrature."""
        return Uncertainty(self.by_motion + (self.drift + self.beyond(lambda to_end: to_end.value)), self._sizes)

    @property
    def read(self) -> tuple[Continuation, np.ndarray]:
        """Weights of the time points that the value is read from, and their rows (1 + p, B)."""
        return self.to_end, self._tail

    @property
    def by_motion(self) -> np.ndarray:
        """Errors (1 + p,) by the time that the motion is ahead."""
        there, rows = self.read
        ahead = np.array([self.unknown]) if self.course.ahead is None else self.course.ahead
        return np.abs(weighed(there.rate, rows) * (ahead if len(ahead) == 1 + self.p else ahead[:1]))

    @property
    def value(self):
        there, rows = self.read
        return weighed(there.value, rows[0])

    @property
    def gradient(self):
        there, rows = self.read
        return weighed(there.value, rows[1:]) + self.by_end(weighed(there.rate, rows[0]))


class At(Final):
    """Value at the time ``objective.end``, of a cubic polynomial through the time points around it."""

    unknown = 0.0

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._time, self._rows = np.zeros(0), np.zeros((1 + p, 0))  # around the time, or the last ones so far

    def take(self, points, rows):
        super().take(points, rows)
        known = int(len(self._time) > 0 and points.time[0] == self._time[-1])
        if len(self._time) and not known:
            return  # the time has passed
        time = np.append(self._time, points.time[known:])
        rows = np.concatenate([self._rows, rows[:, known:]], axis=1)
        near = around(time, self.end.real)
        self._time, self._rows = time[near].copy(), rows[:, near].copy()

    @property
    def read(self) -> tuple[Continuation, np.ndarray]:
        """Weights of the time points around the time, and their rows (1 + p, B)."""
        return continuation(self._time, self.end), self._rows

    def weights(self, time):
        near = around(time, self.end.real)
        return _among(len(time), near, continuation(time[near], self.end).value)

    @property
    def errors(self):
        """By the motion, and by the polynomial: one time point fewer changes that."""
        errors = self.by_motion
        if len(self._time) > 1:
            fewer = slice(1, None) if abs(self._time[0] - self.end) > abs(self._time[-1] - self.end) else slice(-1)
            other = continuation(self._time[fewer], self.end).value
            errors = errors + np.abs(weighed(self.read[0].value, self._rows) - weighed(other, self._rows[:, fewer]))
        return Uncertainty(errors + self.drift, self._sizes)


# Integrals over time, and means.


def _from_real(side: Side) -> complex:
    """The length of a side of a jump, without its real part."""
    return side.length - np.real(side.length)


class Integral(Stream):
    """Integral over time."""

    sums = True

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._integrals = Integrals(p)

    def take(self, points, rows):
        self._integrals.add(points, rows)

    def take_inside(self, length, rows):
        self._integrals.add_inside(length, rows)

    @property
    def weight_inside(self):
        return 1.0

    def weights(self, time):
        return self.weights_of_integral(time)

    def weights_beside(self, side):
        return _from_real(side) * side.to_jump.value if self._inside else side.to_jump.integral

    def by_jump(self, side):
        return side.sign * weighed(side.to_jump.value, side.rows[0])

    @property
    def errors(self):
        others = self.extent * self.drift + self.beyond(lambda to_end: to_end.integral)
        others = others + self.errors_at_jumps(np.asarray)
        own = np.abs(self._integrals.errors(self.course.intervals)).sum(axis=0)  # by both causes, without cancelling
        return Uncertainty(own + others, self._integrals.sizes)

    @property
    def extent(self):
        return abs(self.end - self.course.start)

    @property
    def _whole(self):
        """Integrals (1 + p,) until the end."""
        return self._integrals.sums[0] + weighed(self.to_end.integral, self._tail) + self.at_jumps(np.asarray)[0]

    @property
    def value(self):
        return self._whole[0]

    @property
    def gradient(self):
        by_times = self.at_jumps(np.asarray)[1] + self.by_end(weighed(self.to_end.value, self._tail[0]))
        return self._whole[1:] + by_times


class Mean(Integral):
    """Mean over time: the integral over the duration; of one time point what there is."""

    @property
    def _duration(self):
        return self.end - self.course.start

    def weights(self, time):
        return np.ones(1) if self.still else super().weights(time) / self._duration

    @property
    def weight_inside(self):
        return 1.0 / self._duration

    @property
    def errors(self):
        if self.still:
            return Uncertainty(*np.zeros((2, 1 + self.p)))
        found, duration = super().errors, abs(self._duration)
        return Uncertainty(found.errors / duration, found.sizes / duration)

    @property
    def value(self):
        return self._tail[0, -1] if self.still else super().value / self._duration

    @property
    def gradient(self):
        if self.still:
            return self._tail[1:, -1]
        return (super().gradient - self.by_end(self.value)) / self._duration


# The largest value along time, how far the largest time point is from it, and the smooth maximum.


class Maximum(Final):
    """Largest value along time: that of the parabola through the largest time point and those beside it.

    At the start and at the end it is that through three time points, if it is largest between the first or last two.
    There is no parabola where a signal stays at its largest value, as that of ``clip`` does: it would exceed the bound.
    Where the parabola is largest its rate vanishes, so that its gradient is that at a fixed time.
    """

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        # times and rows of up to three time points before the last one
        self._before = np.zeros(0), np.zeros((1 + p, 0))
        self._time, self._rows = self._before  # of the largest time point, and of up to two on each side
        self._middle = 0  # which of these is the largest
        self._top = -np.inf

    def take(self, points, rows):
        super().take(points, rows)
        time, rows = np.append(self._before[0], points.time), np.concatenate([self._before[1], rows], axis=1)
        looked_at = 2 if len(self._before[0]) == 3 else 0  # with two time points behind them, or at the start
        largest = looked_at + int(np.argmax(rows[0, looked_at:].real))
        value, again = rows[0, largest].real, len(self._time) > 0 and time[largest] == self._time[self._middle]
        # the first of equal ones, whatever the blocks are; again: it may have time points behind it now
        if again or not len(self._time) or not (np.isnan(self._top) or value <= self._top):
            self._top = value
            near = slice(max(0, largest - 2), largest + 3)
            self._time, self._rows, self._middle = time[near].copy(), rows[:, near].copy(), largest - near.start
        self._before = time[-4:-1].copy(), rows[:, -4:-1].copy()

    @property
    def _at_end(self) -> bool:
        return self._time[self._middle] == self.course.last[-1] and self._moment is None

    @property
    def _three(self) -> slice:
        """The time points of the parabola."""
        first = max(0, min(self._middle - 1, len(self._time) - 3))
        return slice(first, first + 3)

    @property
    def _moment(self) -> complex | None:
        """Where the parabola is largest, s; analytic in its values. None where that is not beside the largest value."""
        time, values = self._time[self._three], self._rows[0, self._three]
        behind = self._rows[0, self._middle : self._middle + 3].real
        if len(time) < 3 or (len(behind) == 3 and (behind == self._top).all()):
            return None
        slopes = np.diff(values) / np.diff(time)
        bend = (slopes[1] - slopes[0]) / (time[2] - time[0])
        if not bend.real < 0.0:
            return None
        found = 0.5 * (time[0] + time[1] - slopes[0] / bend)
        return found if time[0] < found.real < max(time[2], self.end.real) else None

    @property
    def read(self):
        """Weights of the time points that the value is read from, and their rows (1 + p, B)."""
        if self._at_end:
            return super().read
        if self._moment is None:
            alone = slice(self._middle, self._middle + 1)
            return continuation(self._time[alone], self._time[self._middle]), self._rows[:, alone]
        return continuation(self._time[self._three], self._moment), self._rows[:, self._three]

    @property
    def gradient(self):
        there, rows = self.read
        return super().gradient if self._at_end else weighed(there.value, rows[1:])

    def weights(self, time):
        if self._at_end:
            return super().weights(time)
        found = self.read[0].value
        first = int(np.searchsorted(time, self._time[self._middle if len(found) == 1 else self._three.start]))
        return _among(len(time), slice(first, first + len(found)), found)

    @property
    def errors(self):
        """By the motion, and by the parabola: one time point more on either side changes that.

        At the start and at the end it is compared with the time point there.
        """
        if self._at_end:
            return super().errors
        there, rows = self.read
        value, off = weighed(there.value, rows), np.zeros(1 + self.p)
        if self._moment is not None:
            others = [slice(self._middle - 2, self._middle + 2), slice(self._middle - 1, self._middle + 3)]
            inside = 0 < self._middle < len(self._time) - 1
            for more in others if inside else [slice(self._middle, self._middle + 1)]:
                if more.start >= 0 and more.stop <= len(self._time):
                    other = continuation(self._time[more], self._moment).value
                    off = np.maximum(off, np.abs(weighed(other, self._rows[:, more]) - value))
        return Uncertainty(self.by_motion + self.drift + off, self._sizes)


class Peak:
    """Estimates how far rows (1 + p, B), a signal and its derivatives, are off where the signal is largest.

    The largest value lies up to half an interval beside the largest sample. A signal exceeds its samples there by an
    eighth of their second difference; derivatives, which have no extremum, are off by half of their change.
    A signal that is largest at an end of the run is so at that time point.
    """

    def __init__(self, p: int):
        self._before = np.zeros((1 + p, 0))  # rows of the last time point but one
        self.error = np.zeros(1 + p)

    def add(self, rows: np.ndarray, largest: int | None) -> None:
        """Add rows that begin with the last time point before; ``largest`` is None if none is above earlier ones."""
        if largest is not None:
            near = rows[:, max(0, largest - 1) : largest + 2]
            self._look(near if largest else np.concatenate([self._before, near], axis=1))
        if rows.shape[1] > 1:
            self._before = rows[:, -2:-1].copy()

    def _look(self, near: np.ndarray) -> None:
        """Estimate from rows at the largest time point and beside it, if it has two sides."""
        self.error = np.zeros(len(near))
        if near.shape[1] == 3:
            steps = np.diff(near.real)
            self.error = 0.5 * np.abs(steps).max(axis=1)
            self.error[0] = abs(steps[0, 1] - steps[0, 0]) / 8.0


STEEPEST = 600.0  # exponent, whose exponential is a number


class SmoothMaximum(Stream):
    """Smooth maximum log(mean over time of exp(s f)) / s; exponents are kept relative to the largest so far."""

    sums = True

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        assert objective.sharpness is not None
        self._sharpness = objective.sharpness
        self._top, self._moment = -np.inf, 0.0
        self._integrals = Integrals(p)  # of exp(s f), and of that times the derivatives
        self._peak = Peak(p)

    def take(self, points, rows):
        shares, shrink = self._shares(rows, points.weights[0])
        self._integrals.add(points, shares, shrink)

    def take_inside(self, length, rows):
        shares, shrink = self._shares(rows, length)
        self._integrals.add_inside(length, shares, shrink)

    def _shares(self, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, Any]:
        """exp(s f) and that times the derivatives, at time points of these weights; what was added so far shrinks."""
        exponent = self._sharpness * rows[0]
        largest = int(np.argmax(exponent.real))
        self._peak.add(rows, largest if exponent.real[largest] >= self._top else None)
        top = max(self._top, float(exponent.real[largest]))
        shrink, share = np.exp(self._top - top), np.exp(exponent - top)
        shares = np.where(share == 0.0, 0.0, share * rows)  # what has no part in it need not be a number
        self._moment = shrink * self._moment + weights @ shares[0]
        shares[0] = share
        self._top = top
        return shares, shrink

    @property
    def weight_inside(self):
        return 1.0 / self._total

    def weights(self, time):
        if self.still:
            return np.ones(1)
        return self.weights_of_integral(time) / self._total

    def share(self, value):
        return np.ones(1) if self.still else np.exp(self._sharpness * value - self._top)

    @property
    def _last_weights(self):
        """exp(s f) of the last time points, as the sums hold it."""
        return np.exp(self._sharpness * self._tail[0] - self._top)

    @property
    def _total(self):
        at_jumps = self.at_jumps(self._summands)[0][0]
        return self._integrals.sums[0, 0] + weighed(self.to_end.integral, self._last_weights) + at_jumps

    def _summands(self, rows: np.ndarray) -> np.ndarray:
        """exp(s f), that times the derivatives, and times f (2 + p, k) from rows (1 + p, k)."""
        weight = np.exp(self._sharpness * rows[0] - self._top)
        return np.vstack([weight, weight * rows[1:], weight * rows[0]])

    # The signal is extrapolated to a jump, not exp(s f), which may be steep; between the nearest time point and the
    # jump that has the trapezoidal rule. Weights are relative to exp(s f) at each time point.

    def weights_beside(self, side):
        exponent = self._sharpness * (weighed(side.to_jump.value, side.rows[0]) - side.rows[0])
        steep = np.exp(exponent - np.maximum(np.real(exponent) - STEEPEST, 0.0)) * side.to_jump.value
        if self._inside:
            return _from_real(side) * steep
        found = 0.5 * side.length * steep
        found[side.nearest] += 0.5 * side.length
        return found

    def by_jump(self, side):
        sharpness, signal = self._sharpness, weighed(side.to_jump.value, side.rows[0])
        at_jump, nearest = (np.exp(sharpness * f - self._top) for f in (signal, side.rows[0, side.nearest]))
        if self._inside:
            return side.sign * at_jump
        rate = sharpness * weighed(side.to_jump.rate, side.rows[0])
        return side.sign * 0.5 * (at_jump + nearest) + 0.5 * side.length * at_jump * rate

    @property
    def value(self):
        if self.still:
            return self._tail[0, -1]
        return (self._top + np.log(self._total / (self.end - self.course.start))) / self._sharpness

    @property
    def largest(self):
        """The largest value at a time point."""
        return self._tail[0, -1] if self.still else self._top / self._sharpness

    @property
    def gradient(self):
        to_end, value, derivative = self.to_end, self._tail[0], self._tail[1:]
        if self.still:
            return derivative[:, -1]
        sharpness, weight, total = self._sharpness, self._last_weights, self._total
        (_, *slopes, of_value), by_times = self.at_jumps(self._summands)
        slope = self._integrals.sums[0, 1:] + weighed(to_end.integral, weight * derivative) + slopes
        moment = self._moment + weighed(to_end.integral, weight * value) + of_value
        by_sharpness = (moment / total - self.value) / sharpness
        by_end = (weighed(to_end.value, weight) / total - 1.0 / (self.end - self.course.start)) / sharpness
        explicit = by_sharpness * np.asarray(self.objective.sharpness_rho)[: self.p]
        return slope / total + by_times / (sharpness * total) + explicit + self.by_end(by_end)

    @property
    def errors(self):
        if self.still:
            return Uncertainty(*np.zeros((2, 1 + self.p)))
        integral, absolute = self._integrals.sums[0], self._integrals.errors(self.course.intervals)
        relative, slope = absolute / integral[0], integral[1:] / integral[0]
        by_value = np.abs(relative[:, 0] / self._sharpness).sum()
        by_slope = np.abs(relative[:, 1:] - np.multiply.outer(relative[:, 0], slope)).sum(axis=0)
        # 1 where the integral is that of a single time point, 0 where quadrature follows the integrand
        narrowness = float(np.minimum(1.0, 3.0 * np.abs(absolute[0, 0] / integral[0])))
        at_jumps = self.errors_at_jumps(self._summands, self._sharpness) / abs(integral[0])
        at_jumps[0] /= abs(self._sharpness)
        errors = np.append(by_value, by_slope) + at_jumps + narrowness * self._peak.error + self.drift
        return Uncertainty(errors, np.append(0.0, self._integrals.sizes[1:] / abs(integral[0])))


# Expressions of other objectives.


class Expression:
    """Expression of other objectives."""

    def __init__(self, objective: Objective, p: int, parts: "Mapping[str, Accumulator]"):
        self.objective, self.p, self.parts = objective, p, parts

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Add the next time points."""
        for part in self.parts.values():
            part.add(block, shift)

    def _arguments(self):
        operands = {name: np.reshape(part.value, (1, 1)) for name, part in self.parts.items()}
        return operands, np.zeros(1), self.objective.values

    @property
    def value(self):
        return self.objective.integrand.value(*self._arguments())[0]

    @property
    def streams(self):
        """Objectives along time that the value is made of, and its derivatives by them; after the run."""
        found = []
        for name, partial in self.objective.integrand.linearised(*self._arguments()).by_sensor.items():
            found += [(partial[0, 0] * factor, stream) for factor, stream in self.parts[name].streams]
        return found

    @property
    def gradient(self):
        total = np.zeros(self.p)
        _, by_operand, explicit = self.objective.integrand.linearised(*self._arguments())
        for name, partial in by_operand.items():
            total = total + partial[0, 0] * self.parts[name].gradient
        return total + [explicit[name][0] if name in explicit else 0.0 for name in self.objective.parameters[: self.p]]

    @property
    def uncertainty(self):
        """Uncertainties of the operands times the expression's derivatives; its curvature is neglected."""
        total, scale = np.zeros((2, 1 + self.p)), 0.0
        for name, partial in self.objective.integrand.linearised(*self._arguments()).by_sensor.items():
            part = self.parts[name].uncertainty
            total += np.abs(partial[0, 0]) * np.abs((part.errors, part.sizes))
            scale += abs(partial[0, 0]) * part.scale
        return Uncertainty(total[0], total[1], scale)


class Minimum(Expression):
    """The maximum of the opposite, with its sign changed."""

    @property
    def largest(self):
        """The smallest value at a time point, which a smooth minimum approximates."""
        (part,) = self.parts.values()
        return -part.largest if isinstance(part, SmoothMaximum) else None


# Numbers of a mode.


class Modal:
    """Frequency, damping ratio, or real or imaginary part of the eigenvalue of a mode."""

    def __init__(self, objective: Objective, p: int):
        self.objective, self.p = objective, p
        self.value: Any = np.nan
        self.gradient = np.zeros(p)

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Add the one time point."""
        found, mode = block.linear[0], self.objective.mode
        if mode == "largest":
            if not found.largest:
                raise AnalysisError(f"objective {self.objective.name}: there are no modes but neutral ones")
            numbers = found.largest
        else:
            assert isinstance(mode, int)
            if mode > found.value.size:
                known = f"{found.value.size} modes" if found.value.size != 1 else "1 mode"
                raise AnalysisError(f"objective {self.objective.name}: there is no mode {mode}; there are {known}")
            numbers = (mode - 1,)
        of_all = MODE_NUMBERS[self.objective.kind](found.of_all.value, found.of_all.d_value)
        self.value, self.gradient = of_all[0][numbers[0]], of_all[1][numbers[0], : self.p]
        if len(numbers) > 1:
            self.gradient = np.full(self.p, np.nan)

    @property
    def uncertainty(self) -> Uncertainty:
        """There is no discretisation."""
        return Uncertainty(np.zeros(1 + self.p), np.abs(np.append(self.value, self.gradient)), abs(self.value))

    @property
    def streams(self) -> list[tuple[float, Stream]]:
        """No objective along time."""
        return []


# Numbers of a frequency response.


class OfResponse(Modal):
    """Gain or phase from an input to an output, at a frequency or where the gain is largest."""

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Add the one time point."""
        found, transfer = block.linear[0], self.objective.transfer
        assert transfer is not None
        o, k = found.outputs.index(transfer.output), found.inputs.index(transfer.input)
        if transfer.frequency is None:
            sizes = np.abs(found.value[:, o, k])
            at = int(np.nanargmax(sizes)) if np.isfinite(sizes).any() else 0
            value, d_value = found.value[at, o, k], found.d_value[at, o, k]
        else:
            every, d_every, by_frequency = found.at(transfer.frequency)
            value, d_value = every[o, k], d_every[o, k] + by_frequency[o, k] * np.array(transfer.frequency_rho)
        part = gain if self.objective.kind == "gain" else phase
        self.value, gradient = part(value, d_value)
        self.gradient = gradient[: self.p]


# Accumulators of one run.

_ALONG_TIME = {"integral": Integral, "mean": Mean, "maximum": Maximum, "final": Final, "at": At}
Accumulator = Stream | Expression | Modal
_OF_OTHERS = {"expression": Expression, "rms": Expression, "minimum": Minimum}


def accumulator(objective: Objective, p: int, course: Course | None = None) -> Accumulator:
    """Accumulator of one objective: ``add(block, shift)``, then ``value``, ``gradient`` (p,) and ``uncertainty``.

    Those of one run may share its ``course``.
    """
    if objective.kind in _OF_OTHERS:
        return _OF_OTHERS[objective.kind](objective, p, accumulators(objective.operands, p, course))
    if objective.mode is not None:
        return Modal(objective, p)
    if objective.transfer is not None:
        return OfResponse(objective, p)
    if objective.sharpness is not None:
        return SmoothMaximum(objective, p, course)
    return _ALONG_TIME[objective.kind](objective, p, course)


def accumulators(objectives: Iterable[Objective], p: int, course: Course | None = None) -> dict[str, Accumulator]:
    """Accumulators of objectives of one run, by name."""
    course = Course() if course is None else course
    return {objective.name: accumulator(objective, p, course) for objective in objectives}


# Objectives with other parameters.


def by_few(objective: Objective, chosen: Sequence[int]) -> Objective:
    """The objective with derivatives by the ``chosen`` ones of its parameters alone."""

    def of_chosen(by_parameter: Sequence[float]) -> Sequence[float]:
        return [by_parameter[k] for k in chosen] if len(by_parameter) else by_parameter

    return replace(
        objective,
        compile=lambda: objective.integrand,
        parameters=tuple(objective.parameters[k] for k in chosen),
        sharpness_rho=of_chosen(objective.sharpness_rho),
        end_rho=of_chosen(objective.end_rho),
        jumps=tuple(jump._replace(time_rho=of_chosen(jump.time_rho)) for jump in objective.jumps),
        operands=tuple(by_few(operand, chosen) for operand in objective.operands),
    )


def explicit_parameters(objective: Objective) -> set[int]:
    """Parameters, by number, that the objective depends on also at a fixed motion."""
    found = set().union(*map(explicit_parameters, objective.operands)) if objective.operands else set()
    named = set(objective.integrand.parameters)
    found |= {k for k, name in enumerate(objective.parameters) if name in named}
    for by_parameter in (objective.sharpness_rho, objective.end_rho, *(jump.time_rho for jump in objective.jumps)):
        found |= set(np.flatnonzero(np.asarray(by_parameter)).tolist())
    return found


def stepped(objective: Objective, k: int, value: complex) -> Objective:
    """The objective where its parameter k has a complex value, real but for a tiny step; without derivatives."""

    def moved(number: Any, by_parameter: Sequence[float]) -> Any:
        return None if number is None else number + 1j * value.imag * by_parameter[k] if len(by_parameter) else number

    return replace(
        objective,
        compile=lambda: objective.integrand,
        parameters=(),
        sharpness=moved(objective.sharpness, objective.sharpness_rho),
        sharpness_rho=(),
        end=moved(objective.end, objective.end_rho),
        end_rho=(),
        jumps=tuple(jump._replace(time=moved(jump.time, jump.time_rho), time_rho=()) for jump in objective.jumps),
        operands=tuple(stepped(operand, k, value) for operand in objective.operands),
        values={objective.parameters[k]: value},
    )
