"""Decorators of the linking compiler."""

from collections.abc import Callable
from functools import partial, update_wrapper
from inspect import signature
from typing import Any

import numba
from numba import extending, types

from mbsim_cli.kernels import _simd_compiled, _views_compiled  # noqa: F401 (they tell numba of their functions)
from mbsim_cli.kernels._kept import Kept
from mbsim_cli.kernels._linking import LinkingCompiler
from mbsim_cli.kernels._parts import KeptKernel

__all__ = ["entry", "inlined", "kernel", "merged", "overload"]

# Kernels own no memory: without reference counting (two atomic instructions per array and use) they run twice as fast.
_FLAGS = {"error_model": "numpy", "_nrt": False, "pipeline_class": LinkingCompiler}
_CALLED_FROM_COMPILED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_FLAGS}

_compiled_entry = numba.njit(no_cfunc_wrapper=True, nogil=True, **_FLAGS)


def entry(function: Callable) -> Any:
    """Called from Python: compiled with a wrapper, and cached with everything below it; other threads run meanwhile."""
    dispatcher = _compiled_entry(_passing_on(function))
    Kept(dispatcher, _introduce)
    return dispatcher


def _passing_on(function: Callable) -> Callable:
    """What only calls the kernel: a body beside the thousands of numbers that Python's arrays are would take long."""
    names = ", ".join(signature(function).parameters)
    text = f"def {function.__name__}({names}):\n    return called({names})\n"
    namespace: dict[str, Any] = {"called": kernel(function)}
    exec(compile(text, function.__code__.co_filename, "exec"), namespace)
    return update_wrapper(namespace[function.__name__], function)


# Kernels that numba has not heard of yet, with how it is to compile them; and those that it knows.
_unknown: list[tuple[Callable, Callable]] = []
_dispatchers: dict[Callable, Any] = {}


def _introduce() -> None:
    """Make kernels known to numba; entries that are loaded can do without, and that takes time for hundreds of them."""
    while _unknown:
        function, compiled = _unknown.pop()
        if function in _dispatchers:  # two entries may call one kernel
            continue
        dispatcher = _dispatchers[function] = compiled(function)
        dispatcher._cache = KeptKernel(dispatcher)
        dispatcher.get_call_template = partial(_unliteral_template, dispatcher.get_call_template)
        dispatcher.typingctx.insert_global(function, types.Dispatcher(dispatcher))


def _unliteral_template(chosen: Callable, args: tuple, kws: dict) -> Any:
    """A constant argument is taken as any number, where numba would compile for each constant."""
    return chosen(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})


def _called(**flags: Any) -> Callable:
    """Decorator of kernels, which stay Python functions; in compiled code they stand for their compiled forms."""
    compiled = numba.njit(**_CALLED_FROM_COMPILED, **flags)

    def decorate(function: Callable) -> Callable:
        _unknown.append((function, compiled))
        return function

    return decorate


kernel = _called()
inlined = _called(forceinline=True)
merged = numba.njit(inline="always", **_CALLED_FROM_COMPILED)


def overload(function: Callable) -> Callable:
    return extending.overload(function, jit_options=_CALLED_FROM_COMPILED)
