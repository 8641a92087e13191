"""Smooth maxima that stay far below the largest value along time."""

from collections.abc import Mapping, Sequence
from typing import Any

FAR = 0.1  # relative


def warnings(results: Mapping[str, Any], objectives: Sequence[Any]) -> list[str]:
    """Sentences on maxima whose sharpness is too small for them to be near the largest value."""
    found = []
    for objective in objectives:
        result = results[objective.name]
        if result.largest is None:
            continue
        if not result.largest - result.value > FAR * max(abs(result.largest), abs(result.value)):
            continue
        value, largest = (f"{number:.4g} {objective.unit}".rstrip() for number in (result.value, result.largest))
        found.append(
            f"objective {objective.name} is a smooth maximum, {value}, of what is {largest} at most; "
            "a greater sharpness comes nearer"
        )
    return found
