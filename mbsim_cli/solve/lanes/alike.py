"""Groups of arrays of several runs: whether they are equal, and their numbers in lanes."""

from typing import Any

import numpy as np

from mbsim_cli.kernels.compiler.cases import lanes_of

__all__ = ["equal", "store"]


def equal(a: Any, b: Any) -> bool:
    """Whether arrays, or named tuples of such, are of one shape and equal."""
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


def store(k: int, group: Any, lanes: Any) -> None:
    """Give lane k the numbers of a group of arrays."""
    if isinstance(group, tuple):
        for part, of_lanes in zip(group, lanes, strict=True):
            store(k, part, of_lanes)
    elif isinstance(group, np.ndarray) and group.dtype == np.float64:
        lanes_of(lanes)[..., k] = group
