"""The integrand of an objective at the instants of a block, and objectives moved by a complex step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.spec.expressions.integrand import Linearised

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
