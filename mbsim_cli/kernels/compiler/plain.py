"""Decorators that need nothing of numba but what its manual describes; with NUMBA_DISABLE_JIT they change nothing.

Groups of arrays are passed number by number, every function is optimised again in each that calls it, directions are
taken one at a time, and numba keeps what it compiles: kernels are slower, and take much longer to compile.
"""

import warnings
from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from typing import Any

import numba
from numba import extending, types

from mbsim_cli.kernels.compiler import simd, watch
from mbsim_cli.kernels.compiler.installed import tell_numba

tell_numba(numba.config)
_FLAGS = {"error_model": "numpy"}
# numba does not keep what refers to addresses of this process; then each run compiles it.
warnings.filterwarnings("ignore", message="Cannot cache compiled function")

bound = partial
merged = numba.njit(inline="always", **_FLAGS)


class _Kernel:
    """Called from compiled code, where it stands for its compiled form; it stays a Python function."""

    def __init__(self, function: Callable):
        update_wrapper(self, function)
        self.py_func, self.dispatcher = function, numba.njit(**_FLAGS)(function)

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


@extending.typeof_impl.register(_Kernel)
def _typed(kernel: _Kernel, _: Any) -> Any:
    return types.Dispatcher(kernel.dispatcher)


def kernel(function: Callable) -> Any:
    """Called from compiled code; with the compiler off the function itself."""
    return function if numba.config.DISABLE_JIT else _Kernel(function)


inlined = kernel


def derived(name: str, make: Callable[[], Callable], *, called: bool = False) -> Callable:
    """A kernel of generated source."""
    return inlined(make())


def overload(function: Callable) -> Callable:
    return extending.overload(function, jit_options=_FLAGS)


def entry(function: Callable) -> Any:
    """Called from Python, with a file of numba's own in the folder of compiled kernels."""
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, watch.STORE.path
    try:
        dispatcher = numba.njit(nogil=True, cache=bool(watch.STORE.path), **_FLAGS)(function)
    finally:
        numba.config.CACHE_DIR = before  # others who use numba in this process keep their place
    return dispatcher if numba.config.DISABLE_JIT else _Told(dispatcher)


class _Told:
    """An entry that tells when it may be compiled: before its first call."""

    def __init__(self, dispatcher: Any):
        self.py_func, self._dispatcher, self._told = dispatcher.py_func, dispatcher, False

    def __call__(self, *args: Any) -> Any:
        if not self._told:
            self._told = True
            watch.compiling(self.py_func)
        return self._dispatcher(*args)


def _teach(function: Callable) -> None:
    """Have a function compiled as it is written."""

    @wraps(function)
    def as_written(*args: Any) -> Callable:
        return function

    overload(function)(as_written)


if not numba.config.DISABLE_JIT:
    for _function in (
        *(simd.width, simd.block, simd.at, simd.put, simd.add_to, simd.add_product, simd.only),
        *(simd.squares, simd.total, simd.largest, simd.flat, simd.as_column),
        *(simd.below, simd.at_most, simd.select),
    ):
        _teach(_function)
