"""Who is told how an analysis goes on, and how the keyboard interrupts it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Who follows a long computation, and may end it.


class Interrupted(BaseException):
    """A listener asks a computation to end. Not an ``Exception``: nothing may swallow it."""


class Listener:
    """Is told of a computation in sentences and as progress, and is asked whether to go on; this one keeps silent."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def say(self, sentence: str) -> None:
        """Take a sentence for people who want to follow."""

    def warn(self, sentence: str) -> None:
        """Take a sentence that nobody may miss."""

    @contextmanager
    def progress(self, title: str, total: float) -> Iterator[Callable[[float], None]]:
        """Follow progress towards ``total``; what this yields is called with the amount that is done."""
        yield lambda done: None

    @contextmanager
    def count(self, title: str) -> Iterator[Callable[[int], None]]:
        """Follow work of an amount that is not known; what this yields is called with the amount that is done."""
        yield lambda done: None

    def poll(self) -> None:
        """Raise ``Interrupted`` where the computation is to end; called between blocks, where it can be left."""

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Within, interruption waits for the next ``poll``."""
        yield


SILENT = Listener()


class Asking(Listener):
    """Asks another listener whether to go on, and tells it nothing of parts of a whole."""

    def __init__(self, other: Listener):
        self._other = other

    def poll(self) -> None:
        """Ask."""
        self._other.poll()


# Ctrl-C in Python programs, where it would raise KeyboardInterrupt anywhere, in the midst of a row too.


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
