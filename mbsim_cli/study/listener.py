"""Listeners: they get messages and progress of a computation, and may interrupt it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any


class Interrupted(BaseException):
    """Raised when a listener ends a computation. Not an ``Exception``, so that no handler swallows it."""


class Listener:
    """Receives messages and progress of a computation, and may end it. This base class ignores all of them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def say(self, sentence: str) -> None:
        """Receive a message that --quiet suppresses."""

    def warn(self, sentence: str) -> None:
        """Receive a warning, which is always shown."""

    def progress(self, title: str, total: float) -> AbstractContextManager[Callable[[float], None]]:
        """Show progress towards ``total``; the context yields a function to call with the amount done so far."""
        return nullcontext(lambda done: None)

    def count(self, title: str) -> AbstractContextManager[Callable[[int], None]]:
        """Show progress of unknown total; the context yields a function to call with the amount done so far."""
        return nullcontext(lambda done: None)

    def poll(self) -> None:
        """Raise ``Interrupted`` to end the computation; called between blocks, where its state is consistent."""

    def shield(self) -> AbstractContextManager[None]:
        """A context in which an interruption waits for the next ``poll``."""
        return nullcontext()


SILENT = Listener()


class PollOnly(Listener):
    """Forwards ``poll`` to another listener and drops messages; for the runs that an analysis consists of."""

    def __init__(self, other: Listener):
        self._other = other

    def poll(self) -> None:
        """Forward to the other listener."""
        self._other.poll()


class DeferredInterrupts(Listener):
    """Wraps a listener: inside its shield Ctrl-C waits for the next ``poll``, which raises KeyboardInterrupt."""

    def __init__(self, other: Listener):
        self._other, self._interrupted = other, False
        for method in ("say", "warn", "progress", "count"):
            setattr(self, method, getattr(other, method))

    def poll(self) -> None:
        """Forward to the other listener; raise KeyboardInterrupt after a Ctrl-C."""
        self._other.poll()
        if self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt

    @contextmanager
    def shield(self) -> Iterator[None]:
        """A context in which Ctrl-C is noted instead of raising at once."""
        with self._other.shield():
            in_main_thread = threading.current_thread() is threading.main_thread()
            if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                yield  # Ctrl-C raises nothing here: another thread, or a handler of the program's own
                return
            signal.signal(signal.SIGINT, self._note)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            self.poll()

    def _note(self, *_: Any) -> None:
        self._interrupted = True
