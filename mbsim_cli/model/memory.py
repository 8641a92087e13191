"""Memory for several arrays in one piece: the system gives large pieces in large pages, which saves asking for each of
hundreds of small ones. A piece that nobody holds any more is kept for the next, for the system clears what it gives.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

_SMALL, _PAGE = 2**12, 2**21  # bytes of a page, and of a large one
_ASKED_FOR = 2**22  # from which on numpy asks for large pages
_LINE = 64  # bytes of a cache line
_MOST_KEPT = 2**23  # bytes of the piece that is kept
_kept: list[np.ndarray] = []  # one piece at most


def together(shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]) -> list[np.ndarray]:
    """Arrays of these shapes, each from a cache line on, not cleared."""
    sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in zip(shapes, dtypes, strict=True)]
    starts = np.cumsum([0, *(-(-size // _LINE) * _LINE for size in sizes)]).tolist()
    room = _piece(starts[-1])
    parts = zip(shapes, dtypes, sizes, starts, strict=False)
    return [room[start : start + size].view(dtype).reshape(shape) for shape, dtype, size, start in parts]


def touch(arrays: Iterable[np.ndarray]) -> None:
    """Have the system give the memory of contiguous arrays at once."""
    for array in arrays:
        array.reshape(-1).view(np.uint8)[::_SMALL] = 0


def _piece(size: int) -> np.ndarray:
    """Bytes of a new piece, or of the one that was kept."""
    if 2 * size <= _PAGE:
        return _aligned(size, _LINE)
    if size > _MOST_KEPT:
        return _aligned(size, _PAGE)
    try:
        memory = _kept.pop()
    except IndexError:
        memory = np.empty(0, np.uint8)
    if memory.size < size:
        memory = _aligned(size, _PAGE)
    return np.asarray(_Lent(memory))[:size]


class _Lent:
    """Owns a piece for all arrays that are cut out of it, and gives it back when the last of them is gone."""

    def __init__(self, memory: np.ndarray):
        self._memory, self.__array_interface__ = memory, memory.__array_interface__

    def __del__(self, kept: list[np.ndarray] = _kept) -> None:
        if not kept:
            kept.append(self._memory)


def _aligned(size: int, page: int) -> np.ndarray:
    """Bytes that begin on a page; what lies around them is never touched."""
    room = np.empty(size + page if page == _LINE else max(size + page, _ASKED_FOR), np.uint8)
    first = -room.ctypes.data % page
    return room[first : first + size]
