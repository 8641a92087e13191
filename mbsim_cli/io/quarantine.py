"""Looks at a foreign file in a process of its own: HDF5 itself may crash, or never end, on a damaged one."""

import faulthandler
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 30.0  # seconds, and one more for each MB
PROCESSOR = 6  # seconds of the processor, and one more for each MB: a busy machine must not make a file hang
CRASHED = "HDF5 crashes on it"
HANGS = "HDF5 does not come to an end with it"


def fault_of(path: Path, look: Callable[[Path], object]) -> str:
    """Call ``look`` in a child process; return what its exception says, or nothing where it returns."""
    more = path.stat().st_size / 1e6
    limit = time.monotonic() + PATIENCE + more
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _look(path, look, write, PROCESSOR + int(more))
    os.close(write)
    told = b""
    try:
        while select.select([read], [], [], max(0.0, limit - time.monotonic()))[0]:
            part = os.read(read, 65536)
            if not part:
                return _death_of(child) or told.decode(errors="replace")
            told += part
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return HANGS
    finally:
        os.close(read)


def _death_of(child: int) -> str:
    """What ended it too early, or nothing."""
    status = os.waitpid(child, 0)[1]
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    return HANGS if late else CRASHED if status else ""


def _look(path: Path, look: Callable[[Path], object], write: int, seconds: int) -> None:
    """What the child does; it never returns."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hardest = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hardest == resource.RLIM_INFINITY or hardest > seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, hardest))
    faulthandler.disable()
    told = ""
    try:
        look(path)
    except BaseException as error:
        told = " ".join(str(error).split()) or type(error).__name__
    try:
        os.write(write, told[:4000].encode(errors="replace"))
    finally:
        os._exit(0)
