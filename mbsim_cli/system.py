"""Differences between operating systems: processes, forks, locks, users, signals, flags of ``os.open``.

Windows has no locks of ``fcntl``, no users by number, no files relative to the handle of a folder and fewer signals.
There a lock excludes nobody, and the folders of a user are private by the rights that Windows gives them.
"""

import contextlib
import errno
import os
import signal
import stat
import sys
from collections.abc import Callable
from errno import EINVAL, ELOOP, EMFILE, ENAMETOOLONG, ENFILE, ENOENT, ENOTDIR, ENXIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO
from weakref import WeakSet

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

_PROGRAM = "import sys; sys.path[:] = {path!a}; from {module} import {function} as program; sys.exit(program({values}))"


def _flags(*names: str) -> int:
    """Flags of ``os.open``; one that the system lacks changes nothing."""
    return sum(getattr(os, name, 0) for name in names)


BINARY = _flags("O_CLOEXEC", "O_BINARY")
UNBLOCKED = BINARY | _flags("O_NONBLOCK")  # does not wait for the writer of a pipe
GUARDED = UNBLOCKED | _flags("O_NOFOLLOW")
FOLDER = BINARY | _flags("O_DIRECTORY")
HAS_HANDLES_OF_FOLDERS = os.open in os.supports_dir_fd
RENAMES_OPEN_FILES = os.name != "nt"
HAS_FORKS = hasattr(os, "fork") and hasattr(signal, "pthread_sigmask")


def isolated(module: str, function: str = "main", *values: int) -> list[str]:
    """Command that calls a function of this package in a Python process of its own.

    The process imports from where this one does, but never from its working directory: somebody else may have put a
    package there. Environment variables of Python have no effect on it.
    """
    package, known = str(Path(__file__).resolve().parents[1]), [path for path in sys.path if os.path.isabs(path)]
    path = known if package in known else [package, *known]
    program = _PROGRAM.format(path=path, module=module, function=function, values=", ".join(map(str, values)))
    return [sys.executable, "-I", "-c", program]


def signals(*names: str) -> tuple[signal.Signals, ...]:
    """Signals of these names that the system has."""
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


ENDING = signals("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1")  # schedulers send the last before a time limit


def user() -> int | None:
    """Number of the user that this process acts for, where users have numbers."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def lock(handle: int, *, shared: bool = False, waits: bool = False) -> bool | None:
    """Lock a file: True; False where another process has it; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))
        return True
    except BlockingIOError:
        return False
    except OSError:
        return None


def unlock(handle: int) -> None:
    """Give a lock back, also for processes that were forked meanwhile and have the same handle."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


def write_at(handle: int, content: memoryview, place: int) -> None:
    """Write all of it from a place of a file on; raises OSError."""
    os.lseek(handle, place, os.SEEK_SET)
    while len(content):
        done = os.write(handle, content)
        if done == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        content = content[done:]


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    import functools

    class cached_property(functools.cached_property):
        """As that of Python 3.12: the one of 3.11 holds a lock, which a child of a fork may find held indefinitely."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            known = instance.__dict__
            if self.attrname not in known:
                known[self.attrname] = self.func(instance)
            return known[self.attrname]


_waited_for: WeakSet[Any] = WeakSet()
_forking, _held = Lock(), list[Any]()
_PATIENCE = 10.0  # s


def waited_for(lock: Any) -> Any:
    """The lock; a fork waits for it, so that a child finds it free, and whole what it guards."""
    _waited_for.add(lock)
    return lock


def _before_fork() -> None:
    _forking.acquire()
    for lock in list(_waited_for):
        if lock.acquire(timeout=_PATIENCE):  # a thread that holds it may itself wait to fork
            _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# How many processors this process may use.

# threads of the numerical libraries, which read these when they are first imported
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_limit: int | None = None  # that a user has set


def usable() -> int:
    """Those that the system gives to this process, which a queue or a container may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit(count: int) -> None:
    """Use no more than this many from now on."""
    global _limit
    _limit = max(1, count)


def helpful(most: int) -> int:
    """How many threads share a piece of work of which ``most`` can be done beside one another."""
    return min(most, usable(), _limit or most)


# Opening what users name: a pipe would never end, and a device may do anything.

NO_HANDLES = (EMFILE, ENFILE)  # all that this process, or the machine, may have are in use
_NO_FILE = (EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, ENXIO)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read; raise OSError also where it is no regular one."""
    handle = os.open(Path(path), os.O_RDONLY | UNBLOCKED)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError(EINVAL, "it is a folder" if stat.S_ISDIR(mode) else "it is a pipe or a device, not a file")


def judged(path: Path, look: Callable[[BinaryIO], bool]) -> bool:
    """The answer of a look into a file, False where there is none; raises OSError where the system denies the look."""
    try:
        with open_regular(path) as file:
            return look(file)
    except OSError as error:
        if error.errno in _NO_FILE:
            return False
        raise
