"""How expressions of forces read time: by the sum of t and a number, zero, their first step.

A step of ALI3-P that ends later with a parameter varies this number, so that t is later with it (``solve.stops``).
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mbsim_cli.model.codes import Operation
from mbsim_cli.model.layout import NoSignals, Signals

T = 2  # place of t in a tape


def _reading(signals: Signals) -> Iterator[tuple[int, int]]:
    """Expressions that read t, and their first steps."""
    for u, (first, last) in enumerate(pairwise(signals.first_step.tolist())):
        if first < last and signals.code[first] == Operation.ADD and signals.operand[first, 0] == T:
            yield u, first


def added_to_time(signals: Signals | NoSignals) -> np.ndarray:
    """Offsets in theta of what expressions add to t."""
    if isinstance(signals, NoSignals):
        return np.zeros(0, np.int64)
    found = [signals.theta[u] + signals.operand[first, 1] - signals.numbers[u] for u, first in _reading(signals)]
    return np.array(found, dtype=np.int64)


def laws_of_time(signals: Signals | NoSignals) -> np.ndarray:
    """Laws (k,) that expressions take at t."""
    if isinstance(signals, NoSignals):
        return np.zeros(0, np.int64)
    found: list[int] = []
    for u, first in _reading(signals):
        steps = slice(first, signals.first_step[u + 1])
        of_time = (signals.code[steps] == Operation.LAW) & (signals.operand[steps, 0] == signals.steps[u])
        found += signals.operand[steps, 1][of_time].tolist()
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)
