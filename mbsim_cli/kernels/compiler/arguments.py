"""Arguments of a compiled entry, as C sees them: one structure of numbers, shapes, strides and addresses of arrays.

Named tuples lie in it one within the other, each array as numba describes one: two addresses that only owners of memory
have, number of items, bytes of each, address, shape, strides. All is aligned as in C.
"""

import ctypes
from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from itertools import count, groupby
from typing import Any

import numpy as np

_FLAGS = 0x503  # contiguous as in C or Fortran, aligned, writeable: what numba's types of arrays tell apart
_C, _FORTRAN = 1, 2  # arrays that are both, as all of a single row, are the former to numba
_NUMBERS = {float: "d", int: "q", complex: "dd", bool: "?", type(None): "0qq"}
_NUMBERS |= {np.float64: "d", np.int64: "q", np.complex128: "dd", np.bool_: "?"}
_head = (ctypes.c_ssize_t * (object.__basicsize__ // 8 + 1)).from_address


def address(array: np.ndarray) -> int:
    """Of the first number of an array: behind the head of Python's objects, thirty times faster than numpy's answer."""
    return _head(id(array))[-1]


def _asked_for(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


if any(address(a) != _asked_for(a) for a in (np.arange(6.0).reshape(2, 3)[1:], np.zeros(0, bool))):
    address = _asked_for  # objects are not those of numpy's binary interface today

_MOST = 48  # groups that are remembered: those that were asked for last


class Piece:
    """Arguments taken apart; they are held, so that they keep their addresses."""

    __slots__ = ("given", "kind", "numbers", "packed")

    def __init__(self, given: tuple):
        kinds: list[Any] = []
        self.given, self.numbers = given, list[Any]()
        _take_apart(given, kinds, self.numbers)
        self.kind = _numbers_of_kinds.setdefault(tuple(kinds), next(_next_number))
        self.packed: bytes | None = None  # once it was


_known: dict[int, Piece] = {}  # groups by address, the latest last
_next_number = count()  # threads get different ones
_numbers_of_kinds: dict[tuple, int] = {}  # a number has its hash at once, a group of a thousand types each time


def forget() -> None:
    """Let go of the groups of a run, or of a block, that has ended."""
    _known.clear()


def taken_apart(given: tuple) -> tuple[tuple, list[Piece]]:
    """Types of all arguments, which decide on the compiled form; and each group, with what stands between them.

    Groups are remembered until ``forget``, the latest: the calls of a run are given the same model and work areas, and
    those of many runs the same model.
    """
    pieces = list(map(_piece_of, _split(given)))
    return tuple(piece.kind for piece in pieces), pieces


def _split(given: tuple) -> list[tuple]:
    """Groups that hold arrays, each by itself, and all that stands between two of them."""
    found: list[tuple] = []
    for is_group, run in groupby(given, _holds_arrays):
        arguments = tuple(run)
        found += zip(arguments) if is_group else [arguments]
    return found


def _holds_arrays(x: Any) -> bool:
    """Whether it is a group with an array in it, so that it is aligned."""
    return isinstance(x, tuple) and any(isinstance(y, np.ndarray) or _holds_arrays(y) for y in x)


def _piece_of(arguments: tuple) -> Piece:
    group = arguments[0]
    if not _holds_arrays(group):
        return Piece(arguments)
    found = _known[id(group)] = _known.pop(id(group), None) or Piece(arguments)
    for oldest in [*_known][:-_MOST]:
        _known.pop(oldest, None)
    return found


def _take_apart(given: tuple, kinds: list, numbers: list) -> None:
    for x in given:
        kind = type(x)
        if kind is np.ndarray:
            kinds.append((x.dtype, x.ndim, _flags(x)))
            numbers += (0, 0, x.size, x.itemsize, address(x), *x.shape, *x.strides)
        elif isinstance(x, tuple):
            kinds += kind, len(x)
            _take_apart(x, kinds, numbers)
        else:
            kinds.append(kind)
            numbers += (x,) if kind not in _SPLIT else _SPLIT[kind](x)


def _flags(array: np.ndarray) -> int:
    flags = array.flags.num & _FLAGS
    return flags & ~_FORTRAN if flags & _C else flags


_SPLIT = dict.fromkeys((complex, np.complex128), lambda x: (x.real, x.imag)) | {type(None): lambda x: (0,)}


def layout(given: tuple) -> str:
    """The structure, in letters of the module ``struct``; it ends where a group may follow."""
    return "".join(["@", *map("".join, map(_letters, given)), "0q"])


def layouts(given: tuple) -> list[str]:
    """The structures of the pieces that ``taken_apart`` makes: one behind the other, they are that of all."""
    return list(map(layout, _split(given)))


def _letters(x: Any) -> Iterator[str]:
    if type(x) is np.ndarray:
        yield "0q" + "q" * (5 + 2 * x.ndim)
    elif isinstance(x, tuple):
        inside = "".join(map("".join, map(_letters, x)))
        aligned = "0q" if inside.strip("?") else ""
        yield f"{aligned}{inside}{aligned}"
    else:
        yield _letters_of_number(type(x))


def _letters_of_number(kind: type) -> str:
    if issubclass(kind, IntEnum):
        return "q"
    if kind not in _NUMBERS:
        raise TypeError(f"kernels take arrays, numbers and tuples of them, not {kind.__name__}")
    return _NUMBERS[kind]


def description(given: tuple) -> str:
    """Types in words: the same in each process, and different for whatever is compiled differently."""
    kinds: list[Any] = []
    _take_apart(given, kinds, [])
    return ", ".join(map(_described, kinds))


@cache
def _described(kind: Any) -> str:
    if isinstance(kind, tuple):
        dtype, ndim, flags = kind
        return f"{dtype.str if dtype.names is None else dtype!r}[{ndim}, {flags:x}]"
    if isinstance(kind, int):  # length of the tuple before it
        return str(kind)
    if issubclass(kind, (tuple, IntEnum)):
        return f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', '')}"
    return _letters_of_number(kind)
