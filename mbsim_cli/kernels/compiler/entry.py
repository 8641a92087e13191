"""Functions that Python calls in their compiled forms: loaded out of the store, or compiled first.

A form is machine code with the interface of C, ``int form(returned*, raised**, given*)``, and belongs to the types of
all that is given. Neither numba nor LLVM is needed to call one, so that a run whose kernels are in the store loads
neither of them. Other threads run meanwhile.
"""

import ctypes
import hashlib
import pickle
import struct
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.arguments import Group, description, layouts, taken_apart
from mbsim_cli.kernels.compiler.folder import level, prebuilt
from mbsim_cli.kernels.compiler.image import Image, Object, load
from mbsim_cli.kernels.compiler.installed import processor
from mbsim_cli.system import waited_for

__all__ = ["FORMS", "KERNELS", "Bound", "Code", "Entry", "Form"]


_Native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_NOTHING_RAISED = (0, -2)  # numba's codes of success, with something to return and without
_LETTERS = {"D": "dd"}  # complex numbers are two


class Code(NamedTuple):
    """What is kept of a form."""

    code: Image | Object
    returned: str  # letters of the module struct, D for complex numbers
    together: bool  # whether these are a tuple


class Form:
    """A compiled form that can be called."""

    def __init__(self, kept: Code, given: tuple):
        self._native = _Native(load(kept.code))
        self._packers = [struct.Struct(each).pack for each in layouts(given)]
        self._returned, self._together = kept.returned, kept.together
        letters = "".join(_LETTERS.get(letter, letter) for letter in kept.returned)
        self._unpack = struct.Struct(f"@{letters}").unpack_from
        self._room = struct.calcsize(f"@{letters}") + 8

    def pack(self, pieces: list[Group | list]) -> bytes:
        """The structure of what ``taken_apart`` made of the arguments; large groups are packed once."""
        return b"".join(map(_packed, self._packers, pieces))

    def __call__(self, given: bytes) -> Any:
        """What it returns for all that it is given, as ``pack`` makes it of numbers."""
        returned, raised = ctypes.create_string_buffer(self._room), ctypes.c_void_p()
        if self._native(returned, ctypes.addressof(raised), given) not in _NOTHING_RAISED:
            found = _Raised.from_address(raised.value)
            kind, arguments, _ = pickle.loads(ctypes.string_at(found.content, found.size))
            raise kind(*(arguments or ()))
        values = self._unpack(returned)
        if "D" in self._returned:
            values = tuple(_with_complex(self._returned, values))
        return values if self._together else values[0] if values else None


def _packed(packer: Callable[..., bytes], piece: Group | list) -> bytes:
    if isinstance(piece, list):
        return packer(*piece)
    piece.packed = piece.packed or packer(*piece.numbers)
    return piece.packed


def _with_complex(letters: str, values: tuple) -> Any:
    left = iter(values)
    for letter in letters:
        yield complex(next(left), next(left)) if letter == "D" else next(left)


class _Raised(ctypes.Structure):
    """numba's description of an exception: pickled class, arguments and place."""

    _fields_ = (("content", ctypes.c_void_p), ("size", ctypes.c_int32))


class Entry:
    """A function that Python calls in compiled forms, one for each combination of types."""

    def __init__(self, function: Callable, compile: Callable[..., Any]):
        update_wrapper(self, function)
        self.py_func, self._compile = function, compile
        self._forms: dict[tuple, Form] = {}
        self._lock = waited_for(Lock())

    def __reduce__(self) -> str:
        """Pickled by its name, as functions are."""
        return self.py_func.__qualname__

    def __call__(self, *given: Any) -> Any:
        kinds, pieces = taken_apart(given)
        form = self.form(kinds, given)
        return form(form.pack(pieces)) if form else self.py_func(*given)

    def form(self, kinds: tuple, given: tuple) -> Form | None:
        """The form for these types, loaded or compiled first; None for: call it as Python."""
        return self._forms.get(kinds) or self._load(kinds, given) or self._make(kinds, given)

    def _load(self, kinds: tuple, given: tuple) -> Form | None:
        """The compiled form, or None where it has to be made."""
        with self._lock:
            if kinds not in self._forms:
                found = _rebuilt(watch.STORE.get(self.key(given)), given) or self._brought_along(given)
                if found is None:
                    return None
                self._forms[kinds] = found
            return self._forms[kinds]

    def _brought_along(self, given: tuple) -> Form | None:
        """The form that came with the package."""
        return _rebuilt(prebuilt(self.key(given, level())), given) if level() else None

    def _make(self, kinds: tuple, given: tuple) -> Form | None:
        """Of several processes that start together one compiles, and the others wait; None for: call it as Python."""
        # beside another process that compiles the same, both go on: they share kernels, and one links the entry
        patience = 0.0 if watch.PAIRED else None
        with watch.STORE.turn(self.key(given), lambda: watch.waiting(self.py_func), patience) as mine:
            found = self._load(kinds, given)
            if found or (watch.BESIDE and not mine):
                return found
            watch.compiling(self.py_func)
            look_elsewhere = None if mine else lambda: self._awaited(kinds, given)
            made = self._compile(self.py_func, given, look_elsewhere)
            if isinstance(made, Form):
                return made
            code, is_lasting = made
            if is_lasting:
                watch.STORE.put(self.key(given), pickle.dumps(tuple(code)))
            form = self._forms[kinds] = Form(code, given)
            return form

    def _awaited(self, kinds: tuple, given: tuple) -> Form | None:
        """The form that another process is about to link; None where it does not come."""
        with watch.STORE.turn(self.key(given)):
            return self._load(kinds, given)

    def key(self, given: tuple, level: str = "") -> bytes:
        """Name in the store: function, types, and the processor that the code is for; not where the files lie."""
        function = self.py_func
        name = f"{function.__module__}.{function.__qualname__} {_hash_of(function.__code__.co_filename)}"
        return f"{name}\n{description(given)}\n{level or processor()}".encode()


class Bound:
    """An entry with what each call is given, taken apart once; real numbers that differ stand behind it."""

    def __init__(self, entry: Entry, *given: Any):
        self._entry, self._given = entry, given
        self._form: Form | None = None
        self._packed = b""

    def __call__(self, *numbers: float) -> Any:
        form = self._form or self._found(self._given + numbers, len(numbers))
        if form is None:
            return self._entry.py_func(*self._given, *numbers)
        return form(self._packed + struct.pack(f"@{len(numbers)}d", *numbers))

    def _found(self, given: tuple, further: int) -> Form | None:
        """The form for what is given, the ``further`` numbers behind it included."""
        kinds, pieces = taken_apart(given)
        self._form = self._entry.form(kinds, given)
        if self._form:
            packed = self._form.pack(pieces)
            self._packed = packed[: len(packed) - struct.calcsize(f"@{further}d")]
        return self._form


def _rebuilt(content: bytes | None, given: tuple) -> Form | None:
    """What Python calls; None for a form that is not there, or of libraries that have changed since."""
    if content is None:
        return None
    try:
        return Form(Code(*pickle.loads(content)), given)
    except Exception:
        return None


@cache
def _hash_of(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


# Kernels that numba has not heard of yet.

KERNELS: list[tuple[Any, Callable, dict[str, bool]]] = []  # what calls name, the function, numba's options
FORMS: list[tuple[Callable, Callable]] = []  # functions with what chooses their compiled forms
