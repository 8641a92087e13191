"""Integrands of objectives along time, as blocks of an analysis arrive."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.spec.expressions.program import Linearised
from mbsim_cli.study.objectives.uncertainty import INSTANTS, NOUGHT, Course, Instants, Spread, Uncertainty

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
    def beside(self) -> float:
        """The same a little beside what sensors show: squares have round-off and no derivative where they vanish."""
        shown, time = self._last
        moved = {name: values + APART * self._largest[name] for name, values in shown.items()}
        return max(
            self.value, self._of(_last(self._objective.integrand.linearised(moved, time, self._objective.values)))
        )

    def _of(self, by_sensor: Mapping[str, np.ndarray]) -> float:
        found = sum(np.abs(partial).sum() * self._largest[name] for name, partial in by_sensor.items())
        return float(found) if np.isfinite(found) else 0.0


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
        operands=tuple(by_few(operand, chosen) for operand in objective.operands),
    )


def explicit_parameters(objective: Objective) -> set[int]:
    """Parameters, by number, that the objective depends on also at a fixed motion."""
    found = set().union(*map(explicit_parameters, objective.operands)) if objective.operands else set()
    named = set(objective.integrand.parameters)
    found |= {k for k, name in enumerate(objective.parameters) if name in named}
    for by_parameter in (objective.sharpness_rho, objective.end_rho):
        found |= set(np.flatnonzero(np.asarray(by_parameter)).tolist())
    return found


def stepped(objective: Objective, k: int, value: complex) -> Objective:
    """The objective where its parameter k has a complex value, real but for a tiny step; without derivatives."""

    def moved(number: complex, by_parameter: Sequence[float]) -> complex:
        return number + 1j * value.imag * by_parameter[k] if len(by_parameter) else number

    return replace(
        objective,
        compile=lambda: objective.integrand,
        parameters=(),
        sharpness=moved(objective.sharpness, objective.sharpness_rho),
        sharpness_rho=(),
        end=None if objective.end is None else moved(objective.end, objective.end_rho),
        end_rho=(),
        operands=tuple(stepped(operand, k, value) for operand in objective.operands),
        values={objective.parameters[k]: value},
    )


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
        self._rest: Continuation | None = None  # where it is known
        self._scale = Scale(objective)
        self._inside = False  # whether such instants are summed

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in, if any; ``shift`` (1 + p, B) as of ``Course.instants``."""
        inside = getattr(block, "inside", None)
        if inside is not None and len(inside.time):
            self.add_inside(inside)
        if not len(block.time):  # the next one is far
            return
        self._rest = None
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
        return np.abs(weighed(of(self.rest), self._tail) - by_fewer)

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        errors, scale = self.errors, self.extent * self._scale.value
        if max(abs(self.value), errors.size) <= NOUGHT * scale or not scale:
            scale = self.extent * self._scale.beside
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
    def rest(self) -> Continuation:
        """Weights of the last instants in what lies between them and the end."""
        if self._rest is None:
            self._rest = continuation(self.course.last, self.end)
        return self._rest

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        by_parameter = np.asarray(self.objective.end_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() and not self.still else np.zeros(self.p)
