"""Design variables: parameters, scaled so that each goes from 0 to 1."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbsim_cli.errors import UsageError

ROUND_OFF = 1e-12  # of an end of a range


@dataclass(frozen=True)
class Variables:
    """Parameters by name, then the elements of fields, with their ranges (v,); ``log``: scaled by their logarithm."""

    names: tuple[str, ...]  # of the parameters
    units: tuple[str, ...]
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log: np.ndarray
    fields: Mapping[str, slice] = field(default_factory=dict)  # elements of fields among all

    def parts(self, values: np.ndarray) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Values of the parameters and of the fields (ne) by name."""
        parameters = dict(zip(self.names, map(float, values), strict=False))
        return parameters, {name: values[place] for name, place in self.fields.items()}

    def with_fields(self, fields: Mapping[str, tuple[np.ndarray, float, float]]) -> "Variables":
        """The same and fields, each with its values (ne) and its bounds."""
        starts = [values for values, _, _ in fields.values()]
        lows = [np.full(len(values), low) for values, low, _ in fields.values()]
        highs = [np.full(len(values), high) for values, _, high in fields.values()]
        ends = np.cumsum([len(self.start), *map(len, starts)])
        places = {name: slice(a, b) for name, a, b in zip(fields, ends, ends[1:], strict=False)}
        start = np.concatenate([self.start, *starts])
        low, high = np.concatenate([self.low, *lows]), np.concatenate([self.high, *highs])
        log = np.concatenate([self.log, np.zeros(len(start) - len(self.start), bool)])
        return Variables(self.names, self.units, start, low, high, log, places)

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
    """The variables that an optimisation states: names, or ranges by name, or all parameters whose bounds differ.

    Raises UsageError where a value that replaces that of the file lies outside of its range.
    """
    parameters, number = model_file.parameters, model_file.expressions.value
    ranges = stated if isinstance(stated, Mapping) else {}
    scope = model_file.expressions.scope()

    def ends(name: str) -> tuple[float, float]:
        given = (ranges[name].from_, ranges[name].to) if name in ranges else parameters[name].bounds
        low, high = (float(number(end).real) for end in given)
        return low, high

    if stated == "all":
        bounded = [name for name, parameter in parameters.items() if parameter.bounds is not None]
        stated = [name for name in bounded if np.ptp(ends(name)) > 0.0]
    low, high = np.array([ends(name) for name in stated]).reshape(-1, 2).T
    start = np.array([float(scope[name].real) for name in stated])
    for name, value, least, most in zip(stated, start, low, high, strict=True):
        if not least - ROUND_OFF * abs(least) <= value <= most + ROUND_OFF * abs(most):
            raise UsageError(f"the search begins with {name} = {value:g}, outside of its range {least:g} to {most:g}")
    return Variables(
        tuple(stated),
        tuple(parameters[name].unit for name in stated),
        start,
        low,
        high,
        np.array([name in ranges and ranges[name].scale == "log" for name in stated], dtype=bool),
    )
