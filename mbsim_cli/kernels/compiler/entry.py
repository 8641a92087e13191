"""Decorators of the linking compiler, and functions that Python calls in their compiled forms.

The decorators only note what there is: numba is loaded when something is compiled. A form is machine code with the
interface of C, ``int form(returned*, raised**, given*)``, and belongs to the types of all that is given. It is loaded
out of the store, or compiled first. Neither numba nor LLVM is needed to call one, so that a run whose kernels are in
the store loads neither of them. Other threads run meanwhile.
"""

import ctypes
import hashlib
import pickle
import struct
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.arguments import Piece, description, layouts, taken_apart
from mbsim_cli.kernels.compiler.image import Image, Object, load
from mbsim_cli.kernels.compiler.installed import processor
from mbsim_cli.kernels.compiler.store import prebuilt, prebuilt_level
from mbsim_cli.system import waited_for

KERNELS: list[tuple[Any, Callable, dict[str, bool]]] = []  # numba has not heard of: name, function, numba's options
FORMS: list[tuple[Callable, Callable]] = []  # functions with what chooses their compiled forms, the same
_INTO_CALLERS = {"forceinline": True}
# LLVM still inlines small kernels. Without the option numba inlines a kernel everywhere if its first caller is inlined.
_CALLED = {"forceinline": False}
_Native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_NOTHING_RAISED = (0, -2)  # numba's codes of success, with something to return and without


class Form:
    """A compiled form; kept are its code, its results in letters of ``struct`` (D complex), and if they are a tuple."""

    def __init__(self, kept: tuple[Image | Object, str, bool], given: tuple):
        code, self._returned, self._together = kept
        self._native = _Native(load(code))
        self._packers = [struct.Struct(each).pack for each in layouts(given)]
        letters = self._returned.replace("D", "dd")  # complex numbers are two
        self._unpack = struct.Struct(f"@{letters}").unpack_from
        self._room = struct.calcsize(f"@{letters}") + 8

    def pack(self, pieces: list[Piece]) -> bytes:
        """The structure of what ``taken_apart`` made of the arguments; groups that are remembered are packed once."""
        for packer, piece in zip(self._packers, pieces, strict=True):
            piece.packed = piece.packed or packer(*piece.numbers)
        return b"".join(piece.packed for piece in pieces)

    def __call__(self, given: bytes) -> Any:
        """Result of a call for all that it is given, as ``pack`` makes it of numbers."""
        returned, raised = ctypes.create_string_buffer(self._room), ctypes.c_void_p()
        if self._native(returned, ctypes.addressof(raised), given) not in _NOTHING_RAISED:
            found = _Raised.from_address(raised.value)
            kind, arguments, _ = pickle.loads(ctypes.string_at(found.content, found.size))
            raise kind(*(arguments or ()))
        values = self._unpack(returned)
        if "D" in self._returned:
            left = iter(values)
            values = tuple(complex(next(left), next(left)) if x == "D" else next(left) for x in self._returned)
        return values if self._together else values[0] if values else None


class _Raised(ctypes.Structure):
    """numba's description of an exception: pickled class, arguments and place."""

    _fields_ = (("content", ctypes.c_void_p), ("size", ctypes.c_int32))


class entry:
    """A function that Python calls in compiled forms, one for each combination of types; kernels may call it, too."""

    def __init__(self, function: Callable):
        update_wrapper(self, function)
        self.py_func = function
        self._forms: dict[tuple, Form] = {}
        self._lock = waited_for(Lock())
        KERNELS.append((self, function, _CALLED))

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
        """The form that is kept, or that came with the package; None where it has to be made."""
        with self._lock:
            if kinds not in self._forms:
                found = _rebuilt(watch.STORE.get(self.key(given)), given)
                if not found and (level := prebuilt_level()):
                    found = _rebuilt(prebuilt(self.key(given, level)), given)
                if not found:
                    return None
                self._forms[kinds] = found
            return self._forms[kinds]

    def _make(self, kinds: tuple, given: tuple) -> Form | None:
        """Of several processes that start together one compiles, and the others wait; None for: call it as Python."""

        def awaited() -> Form | None:
            """The form that another process is about to link; None where it does not come."""
            with watch.STORE.turn(self.key(given)):
                return self._load(kinds, given)

        # beside another process that compiles the same, both go on: they share kernels, and one links the entry
        patience = 0.0 if watch.PAIRED else None
        with watch.STORE.turn(self.key(given), lambda: watch.waiting(self.py_func), patience) as mine:
            found = self._load(kinds, given)
            if found or (watch.BESIDE and not mine):
                return found
            watch.compiling(self.py_func)
            from mbsim_cli.kernels.compiler import compiling  # with numba

            compiling.introduce(KERNELS, FORMS)
            try:
                code, is_lasting = compiling.compiled(self.py_func, given, None if mine else awaited)
            except compiling.MadeElsewhere as made:
                return made.form
            if is_lasting:
                watch.STORE.put(self.key(given), pickle.dumps(code))
            form = self._forms[kinds] = Form(code, given)
            return form

    def key(self, given: tuple, level: str = "") -> bytes:
        """Name in the store: function, types, and the processor that the code is for; not where the files lie."""
        function = self.py_func
        name = f"{function.__module__}.{function.__qualname__} {_hash_of(function.__code__.co_filename)}"
        return f"{name}\n{description(given)}\n{level or processor()}".encode()


class bound:
    """An entry with what each call is given, taken apart once; real numbers that differ stand behind it."""

    def __init__(self, function: entry, *given: Any):
        self._entry, self._given = function, given
        self._form: Form | None = None
        self._packed = b""

    def __call__(self, *numbers: float) -> Any:
        further = struct.pack(f"@{len(numbers)}d", *numbers)
        if self._form is None:
            kinds, pieces = taken_apart(self._given + numbers)
            self._form = self._entry.form(kinds, self._given + numbers)
            if self._form is None:
                return self._entry.py_func(*self._given, *numbers)
            self._packed = self._form.pack(pieces)[: -len(further) or None]
        return self._form(self._packed + further)


def _rebuilt(content: bytes | None, given: tuple) -> Form | None:
    """The function that Python calls; None for a form that is not there, or of libraries that have changed since."""
    if content is None:
        return None
    try:
        return Form(pickle.loads(content), given)
    except Exception:
        return None


@cache
def _hash_of(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def kernel(function: Callable) -> Callable:
    """Called from compiled code, where it stands for its compiled form; it stays a Python function."""
    KERNELS.append((function, function, _CALLED))
    return function


def inlined(function: Callable) -> Callable:
    """A kernel that the compiler puts into all its callers."""
    KERNELS.append((function, function, _INTO_CALLERS))
    return function


class derived:
    """A kernel whose source is made on first need; put into callers, or, if large, compiled once and ``called``."""

    def __init__(self, name: str, make: Callable[[], Callable], *, called: bool = False):
        self.__name__, self._make = name, make
        KERNELS.append((self, self, _CALLED if called else _INTO_CALLERS))

    @cached_property
    def py_func(self) -> Callable:
        return self._make()

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


class merged:
    """A function that numba puts into its caller before the caller is typed; numba reads the two attributes."""

    targetoptions: ClassVar[dict] = {"inline": "always"}

    def __init__(self, function: Callable):
        update_wrapper(self, function)
        self.py_func = function
        KERNELS.append((self, function, _CALLED))

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def overload(function: Callable) -> Callable:
    """Decorator of what chooses the compiled form of a function by types."""

    def note(chooser: Callable) -> Callable:
        FORMS.append((function, chooser))
        return chooser

    return note
