"""A progress bar with time to go, on standard error, where a person watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mbsim_cli.cli import signals
from mbsim_cli.cli.output import console

CLEAR = "\r\x1b[2K\x1b[?25h"  # wipes the line and shows the cursor, which a bar hides


def wanted(quiet: bool) -> bool:
    """Whether anyone sees a bar."""
    return not quiet and sys.stderr.isatty()


@contextmanager
def bar(title: str, total: float, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Show progress towards ``total``; call what this yields with the amount that is done."""
    if not wanted(quiet):
        yield lambda done: None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("to go"), TimeRemainingColumn())
    with _shown(title, columns, total) as show:
        yield show


@contextmanager
def counter(title: str, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show how much is done of an amount that is not known; call what this yields with it."""
    if not wanted(quiet):
        yield lambda done: None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.completed}"), SpinnerColumn("line"), TimeElapsedColumn())
    with _shown(title, columns, None) as show:
        yield show


@contextmanager
def _shown(title: str, columns: tuple[Any, ...], total: float | None) -> Iterator[Callable[[float], None]]:
    from rich.progress import Progress, TextColumn

    described = TextColumn("{task.description}")
    with (
        signals.terminal(CLEAR),
        Progress(described, *columns, console=console(), transient=True) as progress,
    ):
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)
