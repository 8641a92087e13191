"""Computing cases: what every way to do so is given, and gives back."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from mbsim_cli.study.sweep.outcomes import Row


class Case(NamedTuple):
    """One case: its number, its identity and the values (v,) of the varied parameters."""

    number: int
    identity: bytes
    values: np.ndarray


class Computed(NamedTuple):
    """A row, and what else is kept of the case: the content of a frame, empty where there is none."""

    row: Row
    kept: bytes = b""


Evaluator = Callable[[Case], Computed]  # it may have ``together`` and ``several``, as ``CaseEvaluator`` does


def together_of(evaluator: Evaluator) -> int:
    """How many cases an evaluator computes in less time together than one by one."""
    return getattr(evaluator, "together", 1)


def several(evaluator: Evaluator, cases: Sequence[Case]) -> Iterator[Computed]:
    """Compute cases together, where there are some."""
    return evaluator.several(cases) if len(cases) > 1 else map(evaluator, cases)  # type: ignore[attr-defined]


class Workers(Protocol):
    """A way to compute cases."""

    @property
    def together(self) -> int:
        """How many cases were computed together."""

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed; the caller may append to ``waiting`` meanwhile."""
