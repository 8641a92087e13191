"""Interruption: Ctrl-C and termination end a command where it is safe, with the exit code that shells expect.

The handler never raises: Python ignores exceptions in destructors and callbacks. Outside of ``shield`` the handler ends
the process. Inside, it stores the signal, and the next ``poll`` raises ``Stopped``.
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
_last_words = ""  # control sequences that restore the terminal


class Stopped(Interrupted):
    """The user or the system asked the program to end."""

    def __init__(self, number: int):
        self.word = WORDS[signal.Signals(number)]
        self.exit_code = 128 + number
        super().__init__(self.word)


def install(as_json: bool = False) -> None:
    """Install the handler of signals; ``as_json``: an interruption prints a JSON object on standard output."""
    global _as_json
    _as_json = as_json
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup, and in background jobs of shells
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    global _pending
    if _shielded:
        _pending = number
        return
    stop = Stopped(number)
    with contextlib.suppress(OSError):  # unbuffered, for a print may be interrupted
        os.write(2, _last_words.encode(errors="backslashreplace"))
        if _as_json:
            os.write(1, ANSWER.format(code=stop.exit_code, word=stop.word).encode())
        else:
            os.write(2, f"mbsim: {stop.word}\n".encode())
    os._exit(stop.exit_code)


@contextlib.contextmanager
def shield() -> Iterator[None]:
    """A context that defers interruption to the next ``poll``, or to the end of the outermost shield."""
    global _shielded
    outer, _shielded = _shielded, True
    try:
        yield
    finally:
        _shielded = outer
    if not outer:
        poll()


def poll() -> None:
    """Raise ``Stopped`` if an interruption was deferred."""
    global _pending
    if _pending is not None:
        number, _pending = _pending, None
        raise Stopped(number)


@contextlib.contextmanager
def terminal(last_words: str) -> Iterator[None]:
    """A context in which an interruption first prints these control sequences."""
    global _last_words
    outer, _last_words = _last_words, last_words
    try:
        yield
    finally:
        _last_words = outer


def answer_begins() -> None:
    """Note that the result is being written to standard output, so that an interruption prints no JSON object."""
    global _as_json
    _as_json = False
