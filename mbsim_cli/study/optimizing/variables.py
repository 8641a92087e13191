"""Design variables: parameters, scaled so that each goes from 0 to 1."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Variables:
    """Parameters by name with their ranges (v,); ``log``: which are scaled by their logarithm."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log: np.ndarray

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Places in the ranges (v,), from 0 to 1, of values (v,)."""
        low, high = self._inner(self.low), self._inner(self.high)
        return np.clip((self._inner(values) - low) / (high - low), 0.0, 1.0)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Values (v,) at places in the ranges; never beyond their ends."""
        low, high = self._inner(self.low), self._inner(self.high)
        inner = low + np.clip(u, 0.0, 1.0) * (high - low)
        return np.clip(np.where(self.log, np.exp(np.where(self.log, inner, 0.0)), inner), self.low, self.high)

    def slopes(self, values: np.ndarray) -> np.ndarray:
        """Derivatives (v,) of the values by the places."""
        low, high = self._inner(self.low), self._inner(self.high)
        return (high - low) * np.where(self.log, values, 1.0)

    def _inner(self, values: np.ndarray) -> np.ndarray:
        return np.where(self.log, np.log(np.where(self.log, values, 1.0)), values)


def variables_of(model_file: Any, stated: Any) -> Variables:
    """The variables that an optimisation states: names, or ranges by name, or all parameters that have bounds."""
    parameters, number = model_file.parameters, model_file.expressions.value
    if stated == "all":
        stated = [name for name, parameter in parameters.items() if parameter.bounds is not None]
    ranges = stated if isinstance(stated, Mapping) else {}
    scope = model_file.expressions.scope()

    def ends(name: str) -> tuple[float, float]:
        given = (ranges[name].from_, ranges[name].to) if name in ranges else parameters[name].bounds
        low, high = (float(number(end).real) for end in given)
        return low, high

    low, high = np.array([ends(name) for name in stated]).T
    return Variables(
        tuple(stated),
        tuple(parameters[name].unit for name in stated),
        np.array([float(scope[name].real) for name in stated]),
        low,
        high,
        np.array([name in ranges and ranges[name].scale == "log" for name in stated]),
    )
