"""The integrand of an objective at the instants of a block, and objectives moved by a complex step."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block


def integrand_of(objective: Objective, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Expression (B,) and its derivative (B, p) at the instants of a block."""
    integrand = objective.integrand
    sensors = {name: block.sensors[:, objective.sensors[name]] for name in integrand.sensors}
    p = block.d_sensors.shape[2]
    if not p:
        value = np.array(integrand.value(sensors, block.time, objective.values))  # the block is the solver's
        return value, np.zeros((len(value), 0), value.dtype)
    found = integrand.linearised(sensors, block.time, objective.values)
    value = np.array(found.value)
    derivative = np.zeros((len(value), p), value.dtype)
    for name, partial in found.by_sensor.items():
        derivatives, read = block.d_sensors[:, objective.sensors[name], :], list(integrand.components[name])
        if len(read) < partial.shape[1]:  # what it does not read need not be a number
            partial, derivatives = partial[:, read], derivatives[:, read]
        derivative += np.einsum("bw,bwp->bp", partial, derivatives)
    for k, name in enumerate(objective.parameters):
        if name in found.by_parameter:
            derivative[:, k] += found.by_parameter[name]
    return value, derivative


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
