"""Units as texts, as results and pictures show them: of rates, of forces, of derivatives. Empty: not known."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

RATES = ("", "/s", "/s^2")  # what a time derivative adds
KINETIC = {"m": "N"}  # force that does work on a quantity; on all but lengths N m


def force_on(unit: str) -> str:
    """Unit of the force or torque that does work on a coordinate, or of a multiplier of an equation, of this unit."""
    return KINETIC.get(unit, "N m")


def attributes_of(unit: str) -> dict[str, str]:
    """A unit under both names that readers look for: ours, and that of the netCDF conventions."""
    return {"unit": unit, "units": unit}


@lru_cache(maxsize=4096)
def quotient(unit: str, by: str) -> str:
    """Unit of a derivative; empty where one of the two is not known."""
    if not (unit and by) or by == "1":
        return unit if by else ""
    above = f"({unit})" if "/" in unit else unit
    below = f"({by})" if " " in by or "/" in by else by
    return f"{above}/{below}"


def derivative_by(parameter: str, unit: str) -> str:
    """How tables title derivatives by a parameter, with the unit that it counts in where it has one."""
    return f"d/d {parameter} [{unit}]" if unit not in ("", "1") else f"d/d {parameter}"


def quotients(units: Sequence[str], by: Sequence[str]) -> np.ndarray:
    """Units (k, l) of derivatives; an axis along which nothing changes has one entry."""
    rows, columns = (entries if len(set(entries)) > 1 else entries[:1] for entries in (units, by))
    return np.array([[quotient(row, column) for column in columns] for row in rows], dtype=object)


def in_words(units: np.ndarray | Sequence[str]) -> str:
    """The unit of a group of numbers, or all of its units where they differ."""
    return ", ".join(dict.fromkeys(unit for unit in np.ravel(np.asarray(units, dtype=object)) if unit))
