"""The only door to numba.

``entry`` is called from Python, compiled with everything below it, and kept; ``bound`` is one with its arrays, for many
calls that differ in a few real numbers, which stand last. ``kernel`` is called from compiled code
only; ``inlined`` in inner loops with whole groups of arrays, which it would cost more to pass than the work; ``merged``
is a few lines that only pass arguments on, put into the caller so that LLVM sees their content once. ``overload`` gives
a plain function its compiled form, chosen by the types of its arguments. ``derived`` is a kernel of generated source,
made when it is compiled. With the compiler off all are plain Python.
"""

from collections.abc import Callable
from typing import Any

from mbsim_cli.kernels.compiler.choice import COMPILER

if COMPILER == "linking":
    from mbsim_cli.kernels.compiler.entry import bound, derived, entry, inlined, kernel, merged, overload
else:
    from mbsim_cli.kernels.compiler.plain import bound, derived, entry, inlined, kernel, merged, overload

__all__ = ["bound", "derived", "entry", "inlined", "kernel", "merged", "overload", "python_of", "types"]


class _Types:
    """numba's types, by their names; asked for only where something is compiled."""

    def __getattr__(self, name: str) -> Any:
        from numba import types as known

        return getattr(known, name)


types = _Types()


def python_of(compiled: Any) -> Callable:
    """The plain function behind a kernel, for ``overload`` to compile in place."""
    return getattr(compiled, "py_func", compiled)
