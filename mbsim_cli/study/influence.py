"""Which numbers of a model matter most: derivatives, each times a change of its number that is likely."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.study.evaluation import Gradient

PERCENT = 0.01


class Influence(NamedTuple):
    """What a change of a number by one per cent of its scale changes, by objective; NaN where nothing may change."""

    number: str
    value: float
    unit: str
    scale: float
    effects: dict[str, float]


def influences(parameters: Sequence[Any], results: Mapping[str, Gradient]) -> list[Influence]:
    """Numbers in the order of their largest effect, relative to the objectives' values; those without any come last.

    The scale of a number is its size; of one that is zero the largest size beside it in its vector, else one.
    """
    scales = _scales(parameters)
    found = []
    for k, parameter in enumerate(parameters):
        effects = {name: PERCENT * scales[k] * float(result.gradient[k]) for name, result in results.items()}
        found.append(Influence(parameter.name, parameter.value, parameter.unit, scales[k], effects))
    sizes = {name: abs(result.value) or 1.0 for name, result in results.items()}
    return sorted(found, key=lambda entry: -max((_size(e) / sizes[o] for o, e in entry.effects.items()), default=0.0))


def _size(effect: float) -> float:
    return abs(effect) if np.isfinite(effect) else -1.0


def _scales(parameters: Sequence[Any]) -> list[float]:
    largest: dict[str, float] = {}
    for parameter in parameters:
        vector = _vector(parameter.name)
        largest[vector] = max(largest.get(vector, 0.0), abs(parameter.value))
    return [abs(parameter.value) or largest[_vector(parameter.name)] or 1.0 for parameter in parameters]


def _vector(name: str) -> str:
    """What a component belongs to; a number that is none stands for itself."""
    return name[:-2] if name[-2:] in (".x", ".y", ".z") else name
