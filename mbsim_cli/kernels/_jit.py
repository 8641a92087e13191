"""The only door to numba: compile flags, and a cache that notices every change.

numba keys a cached function by the text of its own file, not by what it calls: an edited helper or a
reordered field would leave stale physics in the cache. So the cache folder carries a hash over all files
that can change a kernel's meaning, and over the compile flags.
"""

import hashlib
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba import extending, types
from numba.core.event import Event, Listener, install_listener

from mbsim_cli.kernels._linking import LinkingCompiler

__all__ = ["entry", "inlined", "kernel", "merged", "overload", "python_of", "types", "watch_compilation"]

_PACKAGE = Path(__file__).resolve().parent.parent
# Kernels own no memory: without reference counting (two atomic instructions per array and use) they run twice as fast.
_FLAGS = {"error_model": "numpy", "_nrt": False, "pipeline_class": LinkingCompiler}


def source_hash() -> str:
    """Hash of every kernel and model file, numba's version, the processor and the flags."""
    digest = hashlib.sha256()
    for folder in ("kernels", "model"):
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode())
            digest.update(path.read_bytes())
    flags = (sorted(_FLAGS.items()), numba.__version__, numba.config.BOUNDSCHECK, platform.machine())
    digest.update(repr(flags).encode())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    explicit = os.environ.get("MBSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"


def _usable_cache() -> Path:
    """Folder for compiled kernels; a temporary one where the user's cache cannot be written."""
    name = source_hash()
    for root in (_cache_root(), Path(tempfile.gettempdir()) / f"mbsim-{os.getuid() if hasattr(os, 'getuid') else 0}"):
        folder = root / "kernels" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="mbsim-"))


CACHE = _usable_cache()
numba.config.CACHE_DIR = str(CACHE)


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
def watch_compilation(started: Callable[[], None]) -> Iterator[None]:
    """Call ``started`` once if a kernel is compiled within, rather than loaded from the cache."""
    with install_listener("numba:compile", _Watch(started)):
        yield


_CALLED_FROM_COMPILED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_FLAGS}

# Called from Python: compiled with a wrapper, and cached with everything below it; other threads run meanwhile.
entry = numba.njit(cache=True, no_cfunc_wrapper=True, nogil=True, **_FLAGS)


def _called(**flags: Any) -> Callable:
    """Decorator of kernels; a constant argument is taken as any number, where numba would compile for each constant."""
    compiled = numba.njit(**_CALLED_FROM_COMPILED, **flags)

    def decorate(function: Callable) -> Callable:
        kernel = compiled(function)
        if kernel is not function:
            chosen = kernel.get_call_template
            kernel.get_call_template = lambda args, kws: chosen(
                tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
            )
        return kernel

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
