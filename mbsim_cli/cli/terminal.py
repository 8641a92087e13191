"""A person at a terminal, as long computations see one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mbsim_cli.cli import signals
from mbsim_cli.cli.output import say
from mbsim_cli.cli.progress import bar, counter
from mbsim_cli.study.listener import Listener


class Terminal(Listener):
    """Sentences and a bar on standard error, and interruption by signals."""

    def __init__(self, quiet: bool):
        self._quiet = quiet

    def say(self, sentence: str) -> None:
        """Print a line, unless only results and errors are wanted."""
        say(sentence, self._quiet)

    def warn(self, sentence: str) -> None:
        """Print a line."""
        say(sentence)

    @contextmanager
    def progress(self, title: str, total: float) -> Iterator[Callable[[float], None]]:
        """Show a bar where a person watches."""
        with bar(title, total, self._quiet) as show:
            yield show

    @contextmanager
    def count(self, title: str) -> Iterator[Callable[[int], None]]:
        """Show a count and the time that went by, where a person watches."""
        with counter(title, self._quiet) as show:
            yield show

    def poll(self) -> None:
        """Raise ``Stopped`` where a signal came."""
        signals.poll()

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Put signals off."""
        with signals.shield():
            yield


class Hearing(Terminal):
    """The same, who notes warnings, to be told in the end."""

    def __init__(self, quiet: bool):
        super().__init__(quiet)
        self.warnings: list[str] = []

    def warn(self, sentence: str) -> None:
        """Note a sentence."""
        self.warnings.append(sentence)
