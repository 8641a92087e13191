"""Looks at a foreign file in a process of its own: HDF5 itself may crash, or never end, on a damaged one."""

import faulthandler
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mbsim_cli.errors import Unjudged
from mbsim_cli.system import ENDING, HAS_FORKS, NO_HANDLES, signals

try:
    import resource
except ImportError:  # Windows, where no file is looked at in a child
    resource = None  # type: ignore[assignment]

PATIENCE = 30.0  # seconds without any work, and one more for each MB: a busy machine must not make a file hang
ASLEEP = "S?"  # states of a process that may wait forever: others wait for a processor or a disk, or were stopped
PROCESSOR = 6  # seconds of the processor, and one more for each MB
MEMORY = 400_000_000  # bytes, and so many more for each one of the file: damaged sizes ask for any number
MEMORY_EACH = 10
CRASHED = "HDF5 crashes on it"
GREEDY = "it asks for more memory than any file of its size needs"
HANGS = "HDF5 does not come to an end with it"
FATAL = (CRASHED, GREEDY, HANGS)  # whatever one looks for
_CRASHES = signals("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")


def fault_of(path: Path, look: Callable[[Path], object]) -> str:
    """Call ``look`` in a child process; return what its exception says, or nothing where it returns.

    Raises Unjudged where somebody ends the child. On a system without forks the look is this process's own.
    """
    if not HAS_FORKS:
        return _message_of(look, path)
    size = path.stat().st_size
    more = size / 1e6
    read, write = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # Ctrl-C must not raise in a child that is the caller yet
    try:
        child = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(read)
        os.close(write)
        raise
    if child == 0:
        os.close(read)  # so that there is a handle to look with, where handles are few
        _look(path, look, write, PROCESSOR + int(more), MEMORY + MEMORY_EACH * size)
    message, work = b"", None
    try:
        os.close(write)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while True:
            if not select.select([read], [], [], PATIENCE + more)[0]:
                state, spent = _state_of(child)
                before, work = work, (spent if state in ASLEEP else None)
                if work is not None and work == before:
                    return HANGS
            elif part := os.read(read, 65536):
                message += part
            else:
                return _death_of(child, path) or message.decode(errors="replace")
    finally:  # leave no child process behind, also after an interruption
        os.close(read)
        with suppress(ChildProcessError):  # it has ended, and was asked why
            if os.waitpid(child, os.WNOHANG)[0] == 0:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _state_of(child: int) -> tuple[str, list[str]]:
    """State of a process and its processor time, where the system tells."""
    stat = Path(f"/proc/{child}/stat")
    if not stat.exists():
        return "?", []
    state, *numbers = stat.read_text().rpartition(")")[2].split()
    return state, numbers[10:12]


def _death_of(child: int, path: Path) -> str:
    """The cause that ended it too early, or nothing; raise OSError where it could not look."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code in NO_HANDLES:
        raise OSError(code, os.strerror(code))
    if code == -signal.SIGXCPU:
        return HANGS
    if code < 0 and -code not in _CRASHES:
        raise Unjudged(f"cannot tell what {path} is: the process that looked at it was ended by signal {-code}")
    return CRASHED if code else ""


def _look(path: Path, look: Callable[[Path], object], write: int, seconds: int, memory: int) -> None:
    """The work of the child; it never returns."""
    status = 1
    try:
        _confine(seconds, memory)
        os.write(write, _message_of(look, path)[:4000].encode(errors="replace"))
        status = 0
    except OSError as error:
        status = error.errno or status
    finally:
        os._exit(status)


def _message_of(look: Callable[[Path], object], path: Path) -> str:
    """The message of an exception that a look raises, or nothing; OSError of the system is raised again."""
    try:
        look(path)
    except MemoryError:
        return GREEDY
    except BaseException as error:
        interrupted = not (HAS_FORKS or isinstance(error, Exception))
        if interrupted or getattr(error, "errno", None) in NO_HANDLES:
            raise
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _confine(seconds: int, memory: int) -> None:
    """Leave a process what a look may take, and nobody to save it from signals."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_CPU, seconds)
    if (statm := Path("/proc/self/statm")).exists():  # of which the sixth number is what RLIMIT_DATA counts, in pages
        used = int(statm.read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        _limit(resource.RLIMIT_DATA, used + memory)
    faulthandler.disable()


def _limit(what: int, most: int) -> None:
    """Set a limit, unless there is a lower one."""
    soft, hard = resource.getrlimit(what)
    if all(known == resource.RLIM_INFINITY or known > most for known in (soft, hard)):
        resource.setrlimit(what, (most, hard))
