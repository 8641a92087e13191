"""Compilation in this process: the stores that keep kernels, who is told of them, and a second process beside it.

Where there is a second processor, the second process compiles the same entries from the other end: it takes the calls
of each kernel from the last to the first. Both find each other's kernels in the store. The second one runs entries that
the first one is at as Python, and ends with the first one. It rests on numba's inference of types, which is no public
interface.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.store import open_parts, open_store
from mbsim_cli.system import isolated, usable

STORE = open_store(COMPILER)
PARTS_STORE = open_parts(COMPILER)
PAIRED = False  # whether another process compiles the same at the same time, so that neither waits for the other
BESIDE = False  # whether this is the other one


def _nobody(*name: str) -> None:
    pass


_watchers: list[tuple[Callable[..., None], ...]] = [(_nobody, _nobody, _nobody)]


def _called(function: Callable) -> str:
    """Name of an entry for people: ``simulate.run``."""
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"


def compiling(function: Callable) -> None:
    """Tell that an entry is compiled, with all kernels below it."""
    _watchers[-1][0](_called(function))


def waiting(function: Callable) -> None:
    """Tell that another process compiles an entry, and this one waits."""
    _watchers[-1][1](_called(function))


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


class Companion:
    """The second process; there is none until ``start`` and where it would be of no use."""

    def __init__(self, function: Callable, *arguments: Any):
        self._work, self._process = (function, arguments), None

    def start(self) -> None:
        """Have a second process call the function, unless one does already."""
        global PAIRED
        if PAIRED or COMPILER != "linking" or STORE.trouble or usable() < 2:
            return
        with suppress(OSError, pickle.PicklingError, AttributeError, TypeError):  # this one compiles alone
            # the first protocol by which read-only arrays, which are types of their own, stay read-only
            work = pickle.dumps(self._work, protocol=5)
            self._process = subprocess.Popen(
                isolated(__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interruption of the first one is its own business
            )
            PAIRED = True
            self._process.stdin.write(work)
            self._process.stdin.flush()

    def stop(self) -> None:
        """End the second process."""
        global PAIRED
        if self._process:
            PAIRED = False
            self._process.kill()
            self._process.communicate()


def main() -> None:
    """Call what the first process asks for; leave with it."""
    global PAIRED, BESIDE
    PAIRED = BESIDE = True
    function, arguments = pickle.load(sys.stdin.buffer)
    Thread(target=_leave_with_parent, daemon=True).start()
    take_calls_backwards()
    try:
        function(*arguments)
    finally:
        os._exit(0)  # the interpreter's own end would abort: a thread holds standard input


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def take_calls_backwards() -> None:
    """Have this process begin with the kernels that others come to last."""
    from numba.core.typeinfer import ConstraintNetwork

    forwards = ConstraintNetwork.propagate

    def backwards(network: Any, inference: Any) -> Any:
        network.constraints.reverse()
        try:
            return forwards(network, inference)
        finally:
            network.constraints.reverse()

    ConstraintNetwork.propagate = backwards
