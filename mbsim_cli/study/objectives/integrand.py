"""The integrand of an objective at the instants of a block, and objectives moved by a complex step."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block


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
