"""Decorators of the linking compiler. They only note what there is: numba is loaded when something is compiled."""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, ClassVar

from mbsim_cli.kernels.compiler.entry import FORMS, KERNELS, Entry
from mbsim_cli.kernels.compiler.entry import Bound as bound

__all__ = ["bound", "derived", "entry", "inlined", "kernel", "merged", "overload"]

INTO_CALLERS = {"forceinline": True}
# LLVM still inlines small kernels. Without the option numba inlines a kernel everywhere if its first caller is inlined.
CALLED = {"forceinline": False}


def _compiled(*given: Any) -> Any:
    from mbsim_cli.kernels.compiler.compiling import compiled

    return compiled(*given)


def entry(function: Callable) -> Entry:
    """Called from Python, and kept with everything below it; kernels may call it, too."""
    made = Entry(function, _compiled)
    KERNELS.append((made, function, CALLED))
    return made


def kernel(function: Callable) -> Callable:
    """Called from compiled code, where it stands for its compiled form; it stays a Python function."""
    KERNELS.append((function, function, CALLED))
    return function


def inlined(function: Callable) -> Callable:
    """The same, put into all callers."""
    KERNELS.append((function, function, INTO_CALLERS))
    return function


class derived:
    """A kernel whose source is generated when it is compiled or called as Python.

    It is put into all callers, or compiled once and ``called`` where it is large.
    """

    def __init__(self, name: str, make: Callable[[], Callable], *, called: bool = False):
        self.__name__, self._make = name, make
        KERNELS.append((self, self, CALLED if called else INTO_CALLERS))

    @cached_property
    def py_func(self) -> Callable:
        return self._make()

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


class merged:
    """What numba puts into the caller before it is typed; it asks functions for the two attributes."""

    targetoptions: ClassVar[dict] = {"inline": "always"}

    def __init__(self, function: Callable):
        update_wrapper(self, function)
        self.py_func = function
        KERNELS.append((self, function, CALLED))

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def overload(function: Callable) -> Callable:
    """Decorator of what chooses the compiled form of a function by types."""

    def note(chooser: Callable) -> Callable:
        FORMS.append((function, chooser))
        return chooser

    return note
