"""Memory for the rows of blocks, taken again as soon as nobody holds them: the system gives memory page by page, and
clearing the pages of a long run takes a tenth of its time."""

import sys

import numpy as np

from mbsim_cli.kernels import _simd

_LARGER = 2  # times the memory that is needed, which more is not taken for


class Rooms:
    """Arrays for one block after another; those of a block that is still held are left alone."""

    def __init__(self) -> None:
        self._rooms: list[np.ndarray] = []

    def empty(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        """An array that begins on a cache line and is not cleared."""
        count = int(np.prod(shape))
        if not count:
            return np.empty(shape, dtype)
        free = [room for room in self._rooms if _holders(room) == _ALONE]
        fitting = [room for room in free if room.dtype == dtype and count <= room.size <= _LARGER * count]
        if fitting:
            room = min(fitting, key=lambda each: each.size)
        else:
            self._rooms = [room for room in self._rooms if _holders(room) != _ALONE]
            room = _simd.empty((count,), dtype)
            self._rooms.append(room)
        return room[:count].reshape(shape)

    def zeros(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        """The same, cleared."""
        found = self.empty(shape, dtype)
        found[...] = 0
        return found


def _holders(room: np.ndarray) -> int:
    """References to the memory of an array: its own, those of all that was cut out of it, and that of asking."""
    return sys.getrefcount(room.base)


_ALONE = _holders(_simd.empty((1,), np.float64))
