"""A model beside its parameters: derivatives by them off their values, and objectives a complex step away."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective, objectives_of
from mbsim_cli.assembly.options import end_of
from mbsim_cli.assembly.position.start import start_from


def theta_rho_beside(assembled: Any, offsets: Mapping[str, float]) -> np.ndarray:
    """d theta / d rho (size, p) of an assembled model where parameters, by their keys, are off their values."""
    environment = assembled.model_file.expressions.beside(offsets)
    wanted = [parameter.key for parameter in assembled.parameters]
    theta, theta_rho = assembled.theta.beside(environment, wanted)
    return start_from(assembled.equations, assembled.closing, theta, theta_rho)[1]


def objectives_beside(assembled: Any, offsets: Mapping[str, complex]) -> list[Objective]:
    """Objectives there, with their derivatives by the parameters."""
    file = assembled.model_file
    environment = file.expressions.beside(offsets)
    wanted = [parameter.key for parameter in assembled.parameters]
    end = end_of(file, assembled.choices.get("duration"))
    return objectives_of(file, _ComplexNumbers(environment), assembled.sensor_rows, wanted, end, environment)


class _ComplexNumbers:
    """Numbers of a file, and their derivatives, in an environment of complex values."""

    def __init__(self, environment: Any):
        self._environment = environment

    def __call__(self, number: Any) -> complex:
        return self._environment.value(number)

    def gradient(self, number: Any, parameters: Sequence[str]) -> list[complex]:
        """Derivatives of one number by the given parameters."""
        found = self._environment.gradient(number)
        return [found.get(name, 0.0) for name in parameters]
