"""The only door to numba: compile flags, and a cache that notices every change.

numba keys a cached function by the text of its own file, not by what it calls: an edited helper or a
reordered field would leave stale physics in the cache. So the cache folder carries a hash over all files
that can change a kernel's meaning, and over the compile flags. numba also trusts whatever it finds in its
files; here they stand in a ``Store``.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import extending, types
from numba.core.event import Event, Listener, install_listener

from mbsim_cli.kernels._kept import Kept
from mbsim_cli.kernels._linking import LinkingCompiler
from mbsim_cli.kernels._store import Store

__all__ = ["STORE", "entry", "inlined", "kernel", "merged", "overload", "python_of", "types", "watch_compilation"]

_PACKAGE = Path(__file__).resolve().parent.parent
# Kernels own no memory: without reference counting (two atomic instructions per array and use) they run twice as fast.
_FLAGS = {"error_model": "numpy", "_nrt": False, "pipeline_class": LinkingCompiler}


# What numba takes from the environment and puts into machine code.
_ENVIRONMENT = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX")
_VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag)


def source_hash(package: Path = _PACKAGE) -> str:
    """Hash of every kernel and model file, of versions, the processor and the flags; places and times do not count."""
    digest = hashlib.sha256()
    for folder in ("kernels", "model"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(path.read_bytes())
    environment = {name: getattr(numba.config, name, None) for name in _ENVIRONMENT}
    flags = (sorted(_FLAGS.items()), sorted(environment.items()), _VERSIONS, platform.machine())
    digest.update(repr(flags).encode())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    explicit = os.environ.get("MBSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"


# The user's number is part of the name: several users may share a root.
STORE = Store(_cache_root, f"kernels-{os.geteuid()}", source_hash())


class _Watch(Listener):
    """Calls a function when the first kernel is compiled."""

    def __init__(self, started: Callable[[], None]):
        self._started: Callable[[], None] | None = started

    def on_start(self, event: Event) -> None:
        if self._started is not None:
            started, self._started = self._started, None
            started()

    def on_end(self, event: Event) -> None:
        pass


@contextmanager
def watch_compilation(started: Callable[[], None], waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call ``started`` once if a kernel is compiled within, rather than loaded from the cache.

    ``waiting`` is called where another process is compiling it.
    """
    STORE.waiting = waiting
    with install_listener("numba:compile", _Watch(started)):
        yield


_CALLED_FROM_COMPILED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_FLAGS}

_compiled_entry = numba.njit(no_cfunc_wrapper=True, nogil=True, **_FLAGS)


def entry(function: Callable) -> Any:
    """Called from Python: compiled with a wrapper, and cached with everything below it; other threads run meanwhile."""
    dispatcher = _compiled_entry(function)
    if dispatcher is not function:
        Kept(dispatcher, lambda: STORE, _introduce)
    return dispatcher


# Kernels that numba has not heard of yet, with how it is to compile them; and those that it knows.
_unknown: list[tuple[Callable, Callable]] = []
_dispatchers: dict[Callable, Any] = {}


def _introduce() -> None:
    """Make kernels known to numba; entries that are loaded can do without, and that takes time for hundreds of them."""
    while _unknown:
        function, compiled = _unknown.pop()
        dispatcher = _dispatchers[function] = compiled(function)
        dispatcher.get_call_template = partial(_unliteral_template, dispatcher.get_call_template)
        dispatcher.typingctx.insert_global(function, types.Dispatcher(dispatcher))


def _unliteral_template(chosen: Callable, args: tuple, kws: dict) -> Any:
    """A constant argument is taken as any number, where numba would compile for each constant."""
    return chosen(tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()})


def _called(**flags: Any) -> Callable:
    """Decorator of kernels, which stay Python functions; in compiled code they stand for their compiled forms."""
    compiled = numba.njit(**_CALLED_FROM_COMPILED, **flags)

    def decorate(function: Callable) -> Callable:
        if not numba.config.DISABLE_JIT:
            _unknown.append((function, compiled))
        return function

    return decorate


# Called from compiled code only. With JIT off both are plain Python.
kernel = _called()
# Called in inner loops with whole groups of arrays: passing those would cost more than the work.
inlined = _called(forceinline=True)
# A few lines that only pass arguments on: merged into the caller, so that LLVM sees their content once.
merged = numba.njit(inline="always", **_CALLED_FROM_COMPILED)


def overload(function: Callable) -> Callable:
    """Give a plain function its compiled form, chosen by the types of its arguments."""
    return extending.overload(function, jit_options=_CALLED_FROM_COMPILED)


def python_of(compiled: Any) -> Callable:
    """The plain function behind a kernel, for ``overload`` to compile in place."""
    return getattr(compiled, "py_func", compiled)
