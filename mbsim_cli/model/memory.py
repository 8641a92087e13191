"""Memory for several arrays in one piece: the system gives large pieces in large pages, which saves asking for each of
hundreds of small ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_PAGE = 2**21  # bytes of a large page
_ASKED_FOR = 2**22  # from which on numpy asks for large pages
_LINE = 64  # bytes of a cache line


def together(shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]) -> list[np.ndarray]:
    """Arrays of these shapes, each from a cache line on, not cleared."""
    sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in zip(shapes, dtypes, strict=True)]
    starts = np.cumsum([0, *(-(-size // _LINE) * _LINE for size in sizes)]).tolist()
    room = _aligned(starts[-1], _PAGE if 2 * starts[-1] > _PAGE else _LINE)
    parts = zip(shapes, dtypes, sizes, starts, strict=False)
    return [room[start : start + size].view(dtype).reshape(shape) for shape, dtype, size, start in parts]


def _aligned(size: int, page: int) -> np.ndarray:
    """Bytes that begin on a page; what lies around them is never touched."""
    room = np.empty(size + page if page == _LINE else max(size + page, _ASKED_FOR), np.uint8)
    first = -room.ctypes.data % page
    return room[first : first + size]
