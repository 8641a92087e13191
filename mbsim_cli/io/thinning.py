"""Which instants of a run are kept: every so many, and the last."""

from collections.abc import Sequence

import numpy as np


class Thinning:
    """Counts the instants that go by, block by block."""

    def __init__(self, every: int):
        self._every = every
        self._seen = 0

    def of(self, count: int) -> tuple[slice, bool]:
        """Which of the next ``count`` instants are kept, and whether the last of them is one."""
        picked = slice((-self._seen) % self._every, None, self._every)
        self._seen += count
        return picked, (self._seen - 1) % self._every == 0


class KeptRows:
    """Copies of what instants have, in memory, of those that are kept."""

    def __init__(self, every: int):
        self._thinning = Thinning(every)
        self._parts: list[list[np.ndarray]] = []
        self._last: list[np.ndarray] | None = None  # of the latest instant, where it is not kept otherwise

    def add(self, columns: Sequence[np.ndarray]) -> None:
        """Take arrays (B, ...) of the next instants in."""
        if not len(columns[0]):
            return
        picked, kept = self._thinning.of(len(columns[0]))
        self._parts.append([np.array(values[picked]) for values in columns])
        self._last = None if kept else [np.array(values[-1:]) for values in columns]

    def column(self, number: int) -> np.ndarray:
        """One of the arrays (N, ...), of all instants that are kept; there is one at least."""
        parts = self._parts if self._last is None else [*self._parts, self._last]
        return np.concatenate([part[number] for part in parts])
