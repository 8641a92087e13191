"""Objectives and their gradients, accumulated block by block while a simulation runs.

An integral is trapezoidal on the instants that arrive, so its gradient is that of the computed sum. Where parameters
change the duration, gradients include that: see ``continuation``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mbsim_cli.assembly.continuation import INSTANTS, Continuation, continuation, weighed
from mbsim_cli.assembly.uncertainty import IntegralErrors, Spread, Uncertainty
from mbsim_cli.model.problem import Block


@dataclass(frozen=True)
class Objective:
    """One number per simulation.

    ``compile`` makes the integrand, which gives the expression and its partial derivatives on arrays of instants; it is
    called when first needed, because that loads sympy.
    """

    name: str
    unit: str
    kind: str  # integral | final | maximum | expression
    compile: Callable[[], Any]
    parameters: tuple[str, ...] = ()  # that gradients are wanted for, p of them
    sensors: Mapping[str, slice] = field(default_factory=dict)  # rows of the record that each sensor fills
    sharpness: complex = 1.0  # of the smooth maximum
    sharpness_rho: Sequence[float] = ()  # (p,)
    end: complex | None = None  # of the analysis, s; None where it is its last instant
    end_rho: Sequence[float] = ()  # (p,)
    operands: tuple["Objective", ...] = ()  # of an expression of objectives
    values: Mapping[str, complex] | None = None  # parameter values other than those of the file
    description: str = ""

    @cached_property
    def integrand(self) -> Any:
        """The compiled expression."""
        return self.compile()


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


def integrand_of(objective: Objective, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Expression (B,) and its derivative (B, p) at the instants of a block."""
    sensors = {name: block.sensors[:, objective.sensors[name]] for name in objective.integrand.sensors}
    value = np.array(objective.integrand.value(sensors, block.time, objective.values))  # the block is the solver's
    derivative = np.zeros((len(block.time), block.d_sensors.shape[2]), dtype=value.dtype)
    if derivative.shape[1]:
        components = objective.integrand.components
        for name, partial in objective.integrand.by_sensor(sensors, block.time, objective.values).items():
            derivatives, read = block.d_sensors[:, objective.sensors[name], :], list(components[name])
            if len(read) < partial.shape[1]:  # what it does not read need not be a number
                partial, derivatives = partial[:, read], derivatives[:, read]
            derivative += np.einsum("bw,bwp->bp", partial, derivatives)
        explicit = objective.integrand.by_parameter(sensors, block.time, objective.values)
        for k, name in enumerate(objective.parameters):
            if name in explicit:
                derivative[:, k] += explicit[name]
    return value, derivative


def _weights(time: np.ndarray) -> np.ndarray:
    """Weights (B,) of the trapezoidal rule."""
    half = 0.5 * np.diff(time)
    return np.append(half, 0.0) + np.append(0.0, half)


class _Stream:
    """Adds blocks; joins each to the last instant of the one before, so that no interval is lost."""

    def __init__(self, objective: Objective, p: int):
        self.objective, self.p = objective, p
        self._tail: tuple[np.ndarray, ...] = ()  # time, value, derivative of the last instants
        self.start = 0.0
        self._ahead: float | None = None  # by how much time the motion is ahead at the last instant
        self._spread = Spread(p)

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in; ``shift`` (B,) is by how much time their motion is ahead, None if not known."""
        time = block.time
        fresh = (time, *integrand_of(self.objective, block))
        if self._tail:
            joined = tuple(map(np.concatenate, zip(self._tail, fresh, strict=True)))
            first = len(self._tail[0]) - 1
        else:
            joined, first, self.start = fresh, 0, time[0]
        self._tail = tuple(column[-INSTANTS:].copy() for column in joined)
        time, value, derivative = (column[first:] for column in joined)
        shifts = np.zeros(len(time))
        if shift is not None:
            shifts[len(time) - len(shift) :] = shift
            shifts[: len(time) - len(shift)] = self._ahead
        self._ahead = None if shift is None else float(shifts[-1])
        self._spread.add(value, derivative)
        self.take(time, value, derivative, shifts)

    def take(self, time: np.ndarray, value: np.ndarray, derivative: np.ndarray, shift: np.ndarray) -> None:
        """Take a connected run of instants in."""
        raise NotImplementedError

    @property
    def drift(self) -> np.ndarray:
        """Errors (1 + p,) of constants of a motion that has any: what is ahead of time does not change them."""
        return self._spread.of_constants if self._ahead else np.zeros(1 + self.p)

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        raise NotImplementedError

    @property
    def still(self) -> bool:
        """Whether there is but one instant."""
        return self._tail[0][-1] == self.start

    @property
    def end(self) -> complex:
        """End of the analysis, s."""
        last = self._tail[0][-1]
        return last if self.objective.end is None or self.still else self.objective.end

    @property
    def rest(self) -> Continuation:
        """Weights of the last instants in what lies between them and the end."""
        return continuation(self._tail[0], self.end)

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        by_parameter = np.asarray(self.objective.end_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() and not self.still else np.zeros(self.p)


class _Integral(_Stream):
    """Integral over time."""

    def __init__(self, objective: Objective, p: int):
        super().__init__(objective, p)
        self._value, self._gradient = 0.0, np.zeros(p)
        self._errors = IntegralErrors(p)

    def take(self, time, value, derivative, shift):
        weights = _weights(time)
        self._value = self._value + weights @ value
        self._gradient = self._gradient + weights @ derivative
        self._errors.add((time, value, derivative, shift), weights)

    @property
    def uncertainty(self):
        return self._errors.of_integral.plus(abs(self.end - self.start) * self.drift)

    @property
    def value(self):
        return self._value + weighed(self.rest.integral, self._tail[1])

    @property
    def gradient(self):
        rest, (_, value, derivative) = self.rest, self._tail
        return self._gradient + weighed(rest.integral, derivative) + self.by_end(weighed(rest.value, value))


class _Final(_Stream):
    """Value at the end."""

    def __init__(self, objective: Objective, p: int):
        super().__init__(objective, p)
        self._size, self._gradient_size = 0.0, np.zeros(p)

    def take(self, time, value, derivative, shift):
        """The last instants are kept anyway."""
        self._size = max(self._size, np.abs(value).max())
        self._gradient_size = np.maximum(self._gradient_size, np.abs(derivative).max(axis=0))

    @property
    def uncertainty(self):
        """By the motion; there is no quadrature."""
        rate, (_, value, derivative) = self.rest.rate, self._tail
        ahead = np.nan if self._ahead is None else self._ahead
        error, by_parameters = (np.abs(weighed(rate, column) * ahead) for column in (value, derivative))
        return Uncertainty(float(error), by_parameters, self._size, self._gradient_size).plus(self.drift)

    @property
    def value(self):
        return weighed(self.rest.value, self._tail[1])

    @property
    def gradient(self):
        rest, (_, value, derivative) = self.rest, self._tail
        return weighed(rest.value, derivative) + self.by_end(weighed(rest.rate, value))


class _Maximum(_Stream):
    """Smooth maximum log(mean over time of exp(s f)) / s; exponents are kept relative to the largest seen."""

    def __init__(self, objective: Objective, p: int):
        super().__init__(objective, p)
        self._top, self._sum, self._moment, self._slope = -np.inf, 0.0, 0.0, np.zeros(p)
        self._errors = IntegralErrors(p)

    def take(self, time, value, derivative, shift):
        exponent = self.objective.sharpness * value
        top = max(self._top, float(exponent.real.max()))
        shrink = np.exp(self._top - top)
        weights, share = _weights(time), np.exp(exponent - top)
        weight = weights * share
        self._errors.add((time, share, share[:, None] * derivative, shift), weights, shrink)
        self._sum = shrink * self._sum + weight.sum()
        self._moment = shrink * self._moment + weight @ value
        self._slope = shrink * self._slope + weight @ derivative
        self._top = top

    @property
    def _last_weights(self):
        """exp(s f) of the last instants, as the sums hold it."""
        return np.exp(self.objective.sharpness * self._tail[1] - self._top)

    @property
    def _total(self):
        return self._sum + weighed(self.rest.integral, self._last_weights)

    @property
    def value(self):
        if self.still:
            return self._tail[1][-1]
        return (self._top + np.log(self._total / (self.end - self.start))) / self.objective.sharpness

    @property
    def gradient(self):
        rest, (_, value, derivative) = self.rest, self._tail
        if self.still:
            return derivative[-1]
        sharpness, weight, total = self.objective.sharpness, self._last_weights, self._total
        slope = self._slope + weighed(rest.integral, weight[:, None] * derivative)
        moment = self._moment + weighed(rest.integral, weight * value)
        by_sharpness = (moment / total - self.value) / sharpness
        by_end = (weighed(rest.value, weight) / total - 1.0 / (self.end - self.start)) / sharpness
        explicit = by_sharpness * np.asarray(self.objective.sharpness_rho)[: self.p]
        return slope / total + explicit + self.by_end(by_end)

    @property
    def uncertainty(self):
        if self.still:
            return Uncertainty(0.0, np.zeros(self.p), 0.0, np.zeros(self.p))
        found = self._errors.of_smooth_maximum(self._sum, self._slope / self._sum, self.objective.sharpness)
        return found.plus(self.drift)


class _Expression:
    """Expression of other objectives."""

    def __init__(self, objective: Objective, p: int):
        self.objective, self.p = objective, p
        self.parts = {operand.name: Accumulator(operand, p) for operand in objective.operands}

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in."""
        for part in self.parts.values():
            part.add(block, shift)

    def _arguments(self):
        operands = {name: np.reshape(part.value, (1, 1)) for name, part in self.parts.items()}
        return operands, np.zeros(1), self.objective.values

    @property
    def value(self):
        return self.objective.integrand.value(*self._arguments())[0]

    @property
    def gradient(self):
        total = np.zeros(self.p)
        for name, partial in self.objective.integrand.by_sensor(*self._arguments()).items():
            total = total + partial[0, 0] * self.parts[name].gradient
        explicit = self.objective.integrand.by_parameter(*self._arguments())
        return total + [explicit[name][0] if name in explicit else 0.0 for name in self.objective.parameters[: self.p]]

    @property
    def uncertainty(self):
        """Of the operands, along the expression's derivatives; its curvature is left out."""
        total = np.zeros((2, 1 + self.p))
        for name, partial in self.objective.integrand.by_sensor(*self._arguments()).items():
            part = self.parts[name].uncertainty
            rows = np.append(part.value, part.gradient), np.append(part.size, part.gradient_size)
            total += np.abs(partial[0, 0]) * np.abs(rows)
        return Uncertainty(total[0, 0], total[0, 1:], total[1, 0], total[1, 1:])


_KINDS = {"integral": _Integral, "final": _Final, "maximum": _Maximum, "expression": _Expression}


def Accumulator(objective: Objective, p: int):
    """Accumulator of one objective: ``add(block, shift)``, then ``value``, ``gradient`` (p,) and ``uncertainty``."""
    return _KINDS[objective.kind](objective, p)
