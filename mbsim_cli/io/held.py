"""The instants of a run that is short enough to be written when it has ended.

Writing between its blocks would take what the solver works with out of the processor's caches, and bring nothing: what
is lost with a process that is killed has no name yet.
"""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.model.memory import together, touch

MOST = 32 * 2**20  # bytes of all columns


class Held:
    """Copies of columns (B, ...) of rows, one after the other; ``instants`` are as many rows as are expected.

    Columns that are the same memory, as sensors that show all torques, are held once.
    """

    def __init__(self, instants: int):
        self._instants, self._count = instants, 0
        self._columns: list[np.ndarray] | None = None
        self._first_alike: list[int] = []  # for each column, the first that is the same memory

    def take(self, columns: Sequence[np.ndarray]) -> bool:
        """Copy the next rows, or none of them where they are too many."""
        alike = _first_alike(columns)
        if self._columns is None:
            self._first_alike = alike
            self._columns = _room([columns[k] for k in sorted(set(alike))], self._instants)
        end = self._count + len(columns[0])
        if not self._columns or end > self._instants or alike != self._first_alike:
            return False
        for kept, k in zip(self._columns, sorted(set(alike)), strict=True):
            kept[self._count : end] = columns[k]
        self._count = end
        return True

    def release(self) -> list[np.ndarray]:
        """All rows, of columns that are alike the same array; nothing is held from then on."""
        numbers = sorted(set(self._first_alike))
        distinct = {k: kept[: self._count] for k, kept in zip(numbers, self._columns or (), strict=True)}
        self._columns, self._count = [], 0
        return [distinct[k] for k in self._first_alike]

    def __len__(self) -> int:
        return self._count


def _first_alike(columns: Sequence[np.ndarray]) -> list[int]:
    places: dict[tuple, int] = {}
    return [
        places.setdefault((values.__array_interface__["data"][0], values.strides, values.shape, values.dtype), k)
        for k, values in enumerate(columns)
    ]


def _room(columns: Sequence[np.ndarray], instants: int) -> list[np.ndarray]:
    """Arrays for so many rows, or none where they would be too large."""
    shapes = [(instants, *values.shape[1:]) for values in columns]
    if sum(int(np.prod(shape)) * values.itemsize for shape, values in zip(shapes, columns, strict=True)) > MOST:
        return []
    room = together(shapes, [values.dtype for values in columns])
    touch(room)  # at once, for pages that are cleared between blocks would empty the caches as well
    return room
