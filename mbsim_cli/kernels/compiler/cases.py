"""Eight cases at once: a number that stands for the same quantity of eight runs, each with parameters of its own.

Kernels that are generic in their kind of number take arrays of ``CASES`` as they take complex ones: the formulas of
all cases then compile to vector instructions, each lane with the arithmetic that the case has alone, to the last bit.
A branch needs one answer: where a comparison holds in some lanes only, compiled code raises ``Parted``. Where each lane
may have its own, ``below`` and ``at_most`` give the bits of those that a comparison holds in, and ``either`` chooses by
them. ``compiler.cases_compiled`` tells numba of them.
"""

from typing import Any

import numpy as np

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.simd import WIDTH, zeros

__all__ = ["CASES", "EVERY", "TOGETHER", "Parted", "at_most", "below", "either", "lanes_of", "widened"]

CASES = np.dtype([("lanes", np.float64, (WIDTH,))])
EVERY = 2**WIDTH - 1  # the bits of all lanes
TOGETHER = WIDTH if COMPILER == "linking" else 1  # cases that one loop takes


class Parted(Exception):
    """A comparison that does not have the same answer in all lanes."""


def below(x, y):
    """Bits of the lanes in which x < y."""
    return EVERY if x < y else 0


def at_most(x, y):
    """Bits of the lanes in which x <= y."""
    return EVERY if x <= y else 0


def either(bits, x, y):
    """x in the lanes whose bits are set, y in the others."""
    return x if bits & 1 else y


def lanes_of(array: np.ndarray) -> np.ndarray:
    """The same memory as plain numbers (..., WIDTH)."""
    return array["lanes"] if array.dtype == CASES else array


def widened(group: Any) -> Any:
    """Arrays of numbers, or named tuples of such, for eight cases that all have those given; others stay."""
    if isinstance(group, tuple):
        return type(group)(*map(widened, group))
    if not isinstance(group, np.ndarray) or group.dtype != np.float64:
        return group
    lanes = zeros((*group.shape, WIDTH), np.float64)
    lanes[...] = group[..., None]
    return lanes.view(CASES).reshape(group.shape)
