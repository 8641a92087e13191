"""The store of this process, and who wants to know of kernels that are compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.folder import open_parts, open_store

__all__ = ["BESIDE", "PAIRED", "PARTS_STORE", "STORE", "called", "compiling", "ready", "waiting", "watch_compilation"]

STORE = open_store(COMPILER)
PAIRED = False  # whether another process compiles the same at the same time, so that neither waits for the other
BESIDE = False  # whether this is the other one
PARTS_STORE = open_parts(COMPILER)


def _nobody(*name: str) -> None:
    pass


_watchers: list[tuple[Callable[..., None], ...]] = [(_nobody, _nobody, _nobody)]


def called(function: Callable) -> str:
    """Name of an entry for people: ``simulate.run``."""
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"


def compiling(function: Callable) -> None:
    """Tell that an entry is compiled, with all kernels below it."""
    _watchers[-1][0](called(function))


def waiting(function: Callable) -> None:
    """Tell that another process compiles an entry, and this one waits."""
    _watchers[-1][1](called(function))


def ready() -> None:
    """Tell that one more kernel below an entry is compiled, or found."""
    _watchers[-1][2]()


@contextmanager
def watch_compilation(
    started: Callable[[str], None], waits: Callable[[str], None] = _nobody, counts: Callable[[], None] = _nobody
) -> Iterator[None]:
    """Call ``started`` with the name of each entry that is compiled within, rather than loaded from the cache.

    ``waits`` is called where another process is compiling it, ``counts`` for each kernel below that is ready.
    """
    _watchers.append((started, waits, counts))
    try:
        yield
    finally:
        _watchers.pop()
