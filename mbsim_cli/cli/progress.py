"""A progress bar with time to go, on standard error, where a person watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    times = (TimeElapsedColumn(), TextColumn("to go"), TimeRemainingColumn())
    with signals.terminal(CLEAR), Progress(*columns, *times, console=console(), transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)
