"""Interruption: Ctrl-C and termination end a command where it is safe, with the exit code that shells expect.

The handler never raises: an exception out of nowhere may strike in a destructor or a callback, where Python prints
and forgets it. While nothing is half-written it ends the process at once; inside ``shield`` it leaves a note, which
``poll`` turns into ``Stopped`` where a command can be left.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from mbsim_cli.study.listener import Interrupted
from mbsim_cli.system import ENDING

_SAID = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up", "SIGQUIT": "quit"}
WORDS = {number: _SAID.get(number.name, f"asked to end by {number.name}") for number in ENDING}
ANSWER = '{{\n  "status": "failed",\n  "exit_code": {code},\n  "message": "{word}",\n  "errors": []\n}}\n'
_shielded = False
_pending: int | None = None
_as_json = False
_last_words = ""  # what the terminal needs first


class Stopped(Interrupted):
    """The user or the system asked the program to end."""

    def __init__(self, number: int):
        self.word = WORDS[signal.Signals(number)]
        self.exit_code = 128 + number
        super().__init__(self.word)


def install(as_json: bool = False) -> None:
    """Take the signals that end programs over; ``as_json`` has an interruption answer on standard output."""
    global _as_json
    _as_json = as_json
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup or a shell's background job
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    global _pending
    if _shielded:
        _pending = number
        return
    stop = Stopped(number)
    with contextlib.suppress(OSError):  # straight to the file: what was interrupted may be a print
        os.write(2, _last_words.encode(errors="backslashreplace"))
        if _as_json:
            os.write(1, ANSWER.format(code=stop.exit_code, word=stop.word).encode())
        else:
            os.write(2, f"mbsim: {stop.word}\n".encode())
    os._exit(stop.exit_code)


@contextlib.contextmanager
def shield() -> Iterator[None]:
    """Put interruption off to the next ``poll``, or to the end of the outermost shield."""
    global _shielded
    outer, _shielded = _shielded, True
    try:
        yield
    finally:
        _shielded = outer
    if not outer:
        poll()


def poll() -> None:
    """Raise ``Stopped`` where an interruption was put off."""
    global _pending
    if _pending is not None:
        number, _pending = _pending, None
        raise Stopped(number)


@contextlib.contextmanager
def terminal(last_words: str) -> Iterator[None]:
    """Within, an interruption sends these control sequences first."""
    global _last_words
    outer, _last_words = _last_words, last_words
    try:
        yield
    finally:
        _last_words = outer


def answer_begins() -> None:
    """Standard output gets a command's answer from now on: an interruption must not add another."""
    global _as_json
    _as_json = False
