"""Computing cases: what every way to do so is given, and gives back."""

from collections import deque
from collections.abc import Callable, Generator
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


Evaluator = Callable[[Case], Computed]


class Workers(Protocol):
    """A way to compute cases."""

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed; the caller may append to ``waiting`` meanwhile."""
