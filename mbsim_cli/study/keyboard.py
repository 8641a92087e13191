"""Ctrl-C in Python programs, where it would raise KeyboardInterrupt anywhere, in the midst of a row too."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mbsim_cli.study.listener import Listener


class Patient(Listener):
    """Another listener, behind whose shield Ctrl-C waits for the next ``poll``, which raises KeyboardInterrupt."""

    def __init__(self, other: Listener):
        self._other, self._came = other, False

    def say(self, sentence: str) -> None:
        """Pass it on."""
        self._other.say(sentence)

    def warn(self, sentence: str) -> None:
        """Pass it on."""
        self._other.warn(sentence)

    @contextmanager
    def progress(self, title: str, total: float) -> Iterator[Callable[[float], None]]:
        """Pass it on."""
        with self._other.progress(title, total) as show:
            yield show

    def poll(self) -> None:
        """Raise what the other one does, or KeyboardInterrupt."""
        self._other.poll()
        if self._came:
            self._came = False
            raise KeyboardInterrupt

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Note Ctrl-C meanwhile, where Python would raise at once."""
        with self._other.shield():
            if not _raises_at_once():
                yield
                return
            signal.signal(signal.SIGINT, self._note)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            self.poll()

    def _note(self, *_: Any) -> None:
        self._came = True


def _raises_at_once() -> bool:
    """Whether Ctrl-C raises in this thread: others never hear of it, and programs may have handlers of their own."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
