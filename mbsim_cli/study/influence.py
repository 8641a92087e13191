"""The influence of each number of a model on objectives: the derivative times one per cent of the number."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.study.evaluation import Gradient

PERCENT = 0.01


class Influence(NamedTuple):
    """Changes of the objectives if a number changes by one per cent of its scale; NaN if there is no derivative."""

    number: str
    value: float
    unit: str
    scale: float
    effects: dict[str, float]


def influences(parameters: Sequence[Any], results: Mapping[str, Gradient]) -> list[Influence]:
    """Influences in decreasing order of the largest effect relative to an objective's value; NaN comes last.

    The scale of a number is its magnitude; for a zero, the largest magnitude in its vector, or one.
    """
    largest: dict[str, float] = {}  # magnitude by vector
    for parameter in parameters:
        vector = _vector(parameter.name)
        largest[vector] = max(largest.get(vector, 0.0), abs(parameter.value))
    sizes = {name: abs(result.value) or 1.0 for name, result in results.items()}
    found = []
    for k, parameter in enumerate(parameters):
        scale = abs(parameter.value) or largest[_vector(parameter.name)] or 1.0
        effects = {name: PERCENT * scale * float(result.gradient[k]) for name, result in results.items()}
        relative = [abs(e) / sizes[name] if np.isfinite(e) else -1.0 / sizes[name] for name, e in effects.items()]
        influence = Influence(parameter.name, parameter.value, parameter.unit, scale, effects)
        found.append((max(relative, default=0.0), influence))
    return [influence for _, influence in sorted(found, key=lambda entry: -entry[0])]


def _vector(name: str) -> str:
    """The vector that a component belongs to; any other number stands for itself."""
    return name[:-2] if name[-2:] in (".x", ".y", ".z") else name
