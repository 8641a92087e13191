"""A second process that compiles what this one does, from the other end, where there is a second processor.

Both compile the same entries, and find each other's kernels in the store. The second one takes the calls of each kernel
from the last to the first, runs entries that the first one is at as Python, and ends with the first one.
Rests on numba's inference of types, which is no public interface.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from threading import Thread
from typing import Any

import numpy as np

from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.system import isolated, usable

__all__ = ["Companion"]


class Companion:
    """The second process; there is none until ``start`` and where it would be of no use."""

    def __init__(self, function: Callable, *arguments: Any):
        self._work, self._process = (function, arguments), None

    def start(self) -> None:
        """Have a second process call the function, unless one does already."""
        if watch.PAIRED or COMPILER != "linking" or watch.STORE.trouble or usable() < 2:
            return
        with suppress(OSError, pickle.PicklingError, AttributeError, TypeError):  # this one compiles alone
            work = _pickled(self._work)
            self._process = subprocess.Popen(
                isolated(__name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interruption of the first one is its own business
            )
            watch.PAIRED = True
            self._process.stdin.write(work)
            self._process.stdin.flush()

    def stop(self) -> None:
        """End the second process."""
        if self._process:
            watch.PAIRED = False
            self._process.kill()
            self._process.communicate()


class _Pickler(pickle.Pickler):
    """Arrays that must not be written to stay so: that is part of their type."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            return _read_only, (value.copy(),)
        return NotImplemented


def _pickled(work: Any) -> bytes:
    content = BytesIO()
    _Pickler(content).dump(work)
    return content.getvalue()


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def main() -> None:
    """Call what the first process asks for; leave with it."""
    watch.PAIRED = watch.BESIDE = True
    function, arguments = pickle.load(sys.stdin.buffer)
    Thread(target=_leave_with_parent, daemon=True).start()
    _take_calls_backwards()
    try:
        function(*arguments)
    finally:
        os._exit(0)  # the interpreter's own end would abort: a thread holds standard input


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _take_calls_backwards() -> None:
    from numba.core.typeinfer import ConstraintNetwork

    forwards = ConstraintNetwork.propagate

    def backwards(network: Any, inference: Any) -> Any:
        network.constraints.reverse()
        try:
            return forwards(network, inference)
        finally:
            network.constraints.reverse()

    ConstraintNetwork.propagate = backwards
