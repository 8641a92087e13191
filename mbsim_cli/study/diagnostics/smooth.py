"""Smooth maxima that stay far below the largest value along time."""

from collections.abc import Mapping, Sequence
from typing import Any

FAR = 0.1  # relative
SHARP = 80.0  # over the largest value: a sharpness that misses 5 % of one that stands for a fiftieth of the time
NOTHING = 1e-9  # of what the sharpness tells apart: values below are round-off of zero
MORE = 3.0  # times what there is, for peaks that are narrower


def warnings(results: Mapping[str, Any], objectives: Sequence[Any]) -> list[str]:
    """Sentences on maxima whose sharpness is too small for them to be near the largest value."""
    found = []
    for objective in objectives:
        result = results[objective.name]
        if result.largest is None:
            continue
        missed, size = result.largest - result.value, max(abs(result.largest), abs(result.value))
        sharpness = complex(objective.sharpness).real
        if not missed > max(FAR * size, NOTHING / sharpness):
            continue
        sharper = max(SHARP / size, MORE * sharpness)
        value, largest = (f"{number:.4g} {objective.unit}".rstrip() for number in (result.value, result.largest))
        found.append(
            f"objective {objective.name} is a smooth maximum, {value}, of what is {largest} at most; "
            f"a sharpness of {sharper:.1g} comes nearer"
        )
    return found
