"""Objectives and their gradients, accumulated block by block while a simulation runs; one class a kind.

An integral is trapezoidal on the time points that arrive, or by Gauss's rule inside adaptive steps, so its gradient is
that of the computed sum. Where parameters change the duration, gradients include that: see ``continuation``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.errors import AnalysisError, counted
from mbsim_cli.model.problem import MODE_NUMBERS, Block, gain, phase
from mbsim_cli.study.quadrature import Continuation, Course, Integrals, around, continuation, weighed
from mbsim_cli.study.streams import Stream, Uncertainty


def among(count: int, where: slice, weights: np.ndarray) -> np.ndarray:
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
        return among(len(time), slice(-len(to_end), None), to_end)

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
    """Value at the time ``objective.end``, of a cubic polynomial through the time points around it.

    These lie on one side of each time at which signals jump, that behind it if it is the time itself.
    """

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
        near = around(time, self.end.real, self.objective.jumps)
        self._time, self._rows = time[near].copy(), rows[:, near].copy()

    @property
    def read(self) -> tuple[Continuation, np.ndarray]:
        """Weights of the time points around the time, and their rows (1 + p, B)."""
        return continuation(self._time, self.end), self._rows

    def weights(self, time):
        near = around(time, self.end.real, self.objective.jumps)
        return among(len(time), near, continuation(time[near], self.end).value)

    @property
    def errors(self):
        """By the motion, and by the polynomial: one time point fewer changes that."""
        errors = self.by_motion
        if len(self._time) > 1:
            fewer = slice(1, None) if abs(self._time[0] - self.end) > abs(self._time[-1] - self.end) else slice(-1)
            other = continuation(self._time[fewer], self.end).value
            errors = errors + np.abs(weighed(self.read[0].value, self._rows) - weighed(other, self._rows[:, fewer]))
        return Uncertainty(errors + self.drift, self._sizes)


class Integral(Stream):
    """Integral over time."""

    sums = True

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self.integrals = Integrals(p)

    def take(self, points, rows):
        self.integrals.add(points, rows, self._corners)

    def take_inside(self, length, rows, split, corners):
        self.integrals.add_inside(length, rows, split, corners)

    def of_splits(self, splits, d_sensors):
        added = np.einsum("pnk,nk->np", splits.signal(d_sensors), splits.weights)
        added[:, 1:] += splits.through_shares(*self.summand(splits), d_sensors)
        return added

    def summand(self, splits):
        return splits.values, 1.0

    def weights_of_splits(self, splits):
        return splits.by_sensors(*self.summand(splits)), 0.0

    @property
    def weight_inside(self):
        return 1.0

    weights = Stream.weights_of_integral

    def weights_beside(self, side):
        return side.late * side.to_jump.value if self._inside else side.to_jump.integral

    def by_jump(self, side):
        return side.sign * weighed(side.to_jump.value, side.rows[0])

    @property
    def errors(self):
        others = self.extent * self.drift + self.beyond(lambda to_end: to_end.integral)
        others = others + self.errors_at_jumps(np.asarray)
        own = np.abs(self.integrals.errors(self.course.intervals))
        own[0] = np.fmax(own[0], self.integrals.at_corners)
        return Uncertainty(own.sum(axis=0) + others, self.integrals.sizes)  # by both causes, without cancelling

    @property
    def extent(self):
        return abs(self.end - self.course.start)

    @property
    def _whole(self):
        """Integrals (1 + p,) until the end."""
        return self.integrals.sums[0] + weighed(self.to_end.integral, self._tail) + self.at_jumps(np.asarray)[0]

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


class Expression:
    """Expression of other objectives."""

    def __init__(self, objective: Objective, p: int, parts: "Mapping[str, Accumulator]"):
        self.objective, self.p, self.parts = objective, p, parts

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Add the next time points."""
        for part in self.parts.values():
            part.add(block, shift)

    @property
    def has_corners(self) -> bool:
        """Whether one of the others has."""
        return any(part.has_corners for part in self.parts.values())

    @property
    def reason(self) -> str:
        """Why one of the others has no derivatives, if so."""
        return next(filter(None, (part.reason for part in self.parts.values())), "")

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
        total, found = np.zeros(self.p), self.objective.integrand.linearised(*self._arguments())
        for name, partial in found.by_sensor.items():
            total = total + partial[0, 0] * self.parts[name].gradient
        explicit = found.by_parameter
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
        return -part.largest if hasattr(part, "largest") else None


class Modal:
    """Frequency, damping ratio, or real or imaginary part of the eigenvalue of a mode."""

    has_corners = False
    reason = ""  # why there are no derivatives

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
            if mode > (known := found.of_all.value.size):
                sentence = f"there is no mode {mode}; the mechanism has {counted(known, 'mode')}"
                raise AnalysisError(f"objective {self.objective.name}: {sentence}")
            numbers = (mode - 1,)
        of_all = MODE_NUMBERS[self.objective.kind](found.of_all.value, found.of_all.d_value)
        self.value, self.gradient = of_all[0][numbers[0]], of_all[1][numbers[0], : self.p]
        if len(numbers) > 1:
            self.gradient = np.full(self.p, np.nan)
            self.reason = f"{len(numbers)} modes have the largest real part, which has no derivative there"
        elif found.of_all.close[numbers[0]]:
            self.reason = "the eigenvalue meets another, and has no derivative of its own"

    @property
    def uncertainty(self) -> Uncertainty:
        """There is no discretisation."""
        return Uncertainty(np.zeros(1 + self.p), np.abs(np.append(self.value, self.gradient)), abs(self.value))

    @property
    def streams(self) -> list[tuple[float, Stream]]:
        """No objective along time."""
        return []


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
            value, d_value, frequency = found.value[at, o, k], found.d_value[at, o, k], found.frequencies[at]
        else:
            every, d_every, by_frequency = found.at(transfer.frequency)
            value, d_value = every[o, k], d_every[o, k] + by_frequency[o, k] * np.array(transfer.frequency_rho)
            frequency = complex(transfer.frequency).real
        why = ""
        if np.isnan(value):
            why = f"at {frequency:g} Hz nothing damps a resonance, and there is no response"
        elif self.objective.kind == "phase" and value == 0.0:
            why = f"{transfer.output} does not answer to {transfer.input} at {frequency:g} Hz, and has no phase"
        if why:
            raise AnalysisError(f"objective {self.objective.name} is not a finite number: {why}")
        part = gain if self.objective.kind == "gain" else phase
        self.value, gradient = part(value, d_value)
        self.gradient = gradient[: self.p]


_ALONG_TIME = {"integral": Integral, "mean": Mean, "final": Final, "at": At}
Accumulator = Stream | Expression | Modal
_OF_OTHERS = {"expression": Expression, "rms": Expression, "minimum": Minimum}


def accumulator(objective: Objective, p: int, course: Course | None = None) -> Accumulator:
    """Accumulator of one objective: ``add(block, shift)``, then ``value``, ``gradient`` (p,) and ``uncertainty``."""
    if objective.kind in _OF_OTHERS:
        return _OF_OTHERS[objective.kind](objective, p, accumulators(objective.operands, p, course))
    if objective.mode is not None:
        return Modal(objective, p)
    if objective.transfer is not None:
        return OfResponse(objective, p)
    if objective.kind == "maximum":
        from mbsim_cli.study.extremes import Maximum, SmoothMaximum

        return (Maximum if objective.sharpness is None else SmoothMaximum)(objective, p, course)
    return _ALONG_TIME[objective.kind](objective, p, course)


def accumulators(objectives: Iterable[Objective], p: int, course: Course | None = None) -> dict[str, Accumulator]:
    """Accumulators of objectives of one run, by name."""
    course = Course() if course is None else course
    return {objective.name: accumulator(objective, p, course) for objective in objectives}


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
