"""Who follows a long computation, and may end it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
