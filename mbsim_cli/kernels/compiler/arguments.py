"""What a compiled entry is given, as C sees it: one structure of numbers, shapes, strides and addresses of arrays.

Named tuples lie in it one within the other, each array as numba describes one: two addresses that only owners of memory
have, number of items, bytes of each, address, shape, strides. All is aligned as in C.
"""

import ctypes
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import numpy as np

__all__ = ["address", "description", "forget", "layout", "taken_apart"]

_FLAGS = 0x503  # contiguous as in C or Fortran, aligned, writeable: what numba's types of arrays tell apart
_C, _FORTRAN = 1, 2  # arrays that are both, as all of a single row, are the former to numba
_WORDS = {float: "d", complex: "dd", bool: "?", type(None): "0qq"}
_head = (ctypes.c_ssize_t * (object.__basicsize__ // 8 + 1)).from_address


def _address_by_numpy(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _address_in_object(array: np.ndarray) -> int:
    """The field behind the head of Python's objects, by numpy's binary interface; thirty times faster to ask for."""
    return _head(id(array))[-1]


_SAMPLES = [np.arange(6.0).reshape(2, 3)[1:], np.zeros(0, bool)]
_in_object = all(_address_in_object(a) == _address_by_numpy(a) for a in _SAMPLES)
address = _address_in_object if _in_object else _address_by_numpy  # of the first number of an array


_LARGE = 16  # arrays, numbers and groups in a group that is worth remembering
_MOST = 12  # groups of the latest, and as many that were asked for before
_Group = tuple[tuple, tuple, list]  # a group, which is held so that it keeps its address, its types and numbers
_known: dict[int, _Group] = {}  # by address
_before: dict[int, _Group] = {}


def forget() -> None:
    """Let go of the groups of a run that has ended."""
    _known.clear()
    _before.clear()


def taken_apart(given: tuple) -> tuple[tuple, list]:
    """Types of all that is given, which decide on the compiled form; and the numbers of the structure.

    Large groups are remembered until ``forget``, those that are asked for longest: the calls of a run are given the
    same model and work areas, and those of many runs the same model.
    """
    kinds: list[Any] = []
    numbers: list[Any] = []
    for x in given:
        if isinstance(x, tuple):
            _, kinds_of_group, numbers_of_group = _known.get(id(x)) or _group_taken_apart(x)
            kinds.append(kinds_of_group)
            numbers += numbers_of_group
        else:
            _take_apart((x,), kinds, numbers)
    return tuple(kinds), numbers


def _group_taken_apart(x: tuple) -> _Group:
    kinds: list[Any] = []
    numbers: list[Any] = []
    found = _before.get(id(x))
    if not found:
        _take_apart((x,), kinds, numbers)
        found = x, tuple(kinds), numbers
    if len(found[1]) > _LARGE:
        if len(_known) >= _MOST:
            _before.clear()
            _before.update(_known)
            _known.clear()
        _known[id(x)] = found
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
    """The structure, in letters of the module ``struct``."""
    return "".join(["@", *_letters(given)])


def _letters(x: Any) -> Iterator[str]:
    if type(x) is np.ndarray:
        yield "0q" + "q" * (5 + 2 * x.ndim)
    elif isinstance(x, tuple):
        inside = "".join(map("".join, map(_letters, x)))
        aligned = "0q" if inside.strip("?") else ""
        yield f"{aligned}{inside}{aligned}"
    else:
        yield _letters_of_number(x)


def _letters_of_number(x: Any) -> str:
    if isinstance(x, np.generic):
        x = x.item() if x.dtype in (np.float64, np.int64, np.complex128, np.bool_) else x
    if isinstance(x, IntEnum) or type(x) is int:
        return "q"
    if type(x) not in _WORDS:
        raise TypeError(f"kernels take arrays, numbers and tuples of them, not {type(x).__name__}")
    return _WORDS[type(x)]


def description(given: tuple) -> str:
    """Types in words: the same in each process, and different for whatever is compiled differently."""
    return f"({', '.join(map(_described, given))})"


def _described(x: Any) -> str:
    kind = type(x)
    if kind is np.ndarray:
        return f"{x.dtype.str if x.dtype.names is None else x.dtype!r}[{x.ndim}, {_flags(x):x}]"
    name = f"{kind.__module__}.{kind.__qualname__}"
    if not isinstance(x, tuple):
        return name if isinstance(x, IntEnum) else _letters_of_number(x)
    names = getattr(kind, "_fields", [""] * len(x))
    return f"{name}({', '.join(f'{field}: {_described(y)}' for field, y in zip(names, x, strict=True))})"
