"""The instants of a run that is short enough to be written when it has ended.

Writing between its blocks would take what the solver works with out of the processor's caches, and bring nothing: what
is lost with a process that is killed has no name yet.
"""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.model.memory import together, touch

MOST = 32 * 2**20  # bytes of all columns


class Held:
    """Copies of columns (B, ...) of rows, one after the other; ``instants`` are as many rows as are expected."""

    def __init__(self, instants: int):
        self._instants = instants
        self._columns: list[np.ndarray] | None = None
        self._count = 0

    def take(self, columns: Sequence[np.ndarray]) -> bool:
        """Copy the next rows, or none of them where they are too many."""
        if self._columns is None:
            self._columns = _room(columns, self._instants)
        end = self._count + len(columns[0])
        if not self._columns or end > self._instants:
            return False
        for kept, values in zip(self._columns, columns, strict=True):
            kept[self._count : end] = values
        self._count = end
        return True

    def release(self) -> list[np.ndarray]:
        """All rows; nothing is held from then on."""
        found = [kept[: self._count] for kept in self._columns or ()]
        self._columns, self._count = [], 0
        return found

    def __len__(self) -> int:
        return self._count


def _room(columns: Sequence[np.ndarray], instants: int) -> list[np.ndarray]:
    """Arrays for so many rows, or none where they would be too large."""
    shapes = [(instants, *values.shape[1:]) for values in columns]
    if sum(int(np.prod(shape)) * values.itemsize for shape, values in zip(shapes, columns, strict=True)) > MOST:
        return []
    room = together(shapes, [values.dtype for values in columns])
    touch(room)  # at once, for pages that are cleared between blocks would empty the caches as well
    return room
