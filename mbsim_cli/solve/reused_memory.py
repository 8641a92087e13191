"""Memory for the rows of blocks, taken again as soon as nobody holds them: the system gives memory page by page, and
clearing the pages of a long run takes a tenth of its time."""

import math
import sys

import numpy as np

from mbsim_cli.kernels.compiler import simd

_LARGER = 2  # times the memory that is needed, which more is not taken for


class ReusedMemory:
    """Arrays for one block after another; those of a block that is still held are left alone."""

    def __init__(self) -> None:
        self._pieces: list[np.ndarray] = []

    def empty(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        """An array that begins on a cache line and is not cleared."""
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype)
        free = [piece for piece in self._pieces if _holders(piece) == _ALONE]
        fitting = [piece for piece in free if piece.dtype == dtype and count <= piece.size <= _LARGER * count]
        if fitting:
            piece = min(fitting, key=lambda each: each.size)
        else:
            self._pieces = [piece for piece in self._pieces if _holders(piece) != _ALONE]
            piece = simd.empty((count,), dtype)
            self._pieces.append(piece)
        return piece[:count].reshape(shape)

    def zeros(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        """The same, cleared."""
        found = self.empty(shape, dtype)
        found[...] = 0
        return found


def _holders(piece: np.ndarray) -> int:
    """References to the memory of an array: its own, those of all that was cut out of it, and that of asking."""
    return sys.getrefcount(piece.base)


_ALONE = _holders(simd.empty((1,), np.float64))
