"""Interruption: Ctrl-C and termination end a command where it is safe, with the exit code that shells expect."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_shielded = False
_pending: int | None = None


class Stopped(BaseException):
    """The user or the system asked the program to end. Not an ``Exception``: nothing may swallow it."""

    def __init__(self, number: int):
        self.word = WORDS[signal.Signals(number)]
        self.exit_code = 128 + number
        super().__init__(self.word)


def install() -> None:
    """Turn SIGINT and SIGTERM into ``Stopped``."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup or a shell's background job
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    global _pending
    if _shielded:
        _pending = number
        return
    signal.signal(number, signal.SIG_DFL)  # whoever asks twice means it
    raise Stopped(number)


@contextlib.contextmanager
def shield() -> Iterator[None]:
    """Put interruption off to the end of the block, as while a file is written."""
    global _shielded, _pending
    outer, _shielded = _shielded, True
    try:
        yield
    finally:
        _shielded = outer
    if not _shielded and _pending is not None:
        number, _pending = _pending, None
        _stop(number, None)
