"""Output of commands: results, warnings, issues and progress."""

import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import zip_longest
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from mbsim_cli.cli import signals, streams
from mbsim_cli.cli.streams import visible
from mbsim_cli.errors import Issue
from mbsim_cli.messages import WARNING, code_of
from mbsim_cli.plain_data import plain
from mbsim_cli.study.listener import Listener

# ``show``, ``tell``, ``show_table`` and ``emit`` buffer results for standard output, which ``flush`` writes at the end.
# ``say`` and ``print_warnings`` write messages to standard error at once.

WIDE = 200  # characters, where there is no terminal: lines of logs and files are not wrapped
LEAST = 10  # characters of a column of texts that is wrapped
# lines of tables: at the top, between titles, below them, between entries, across, and at the bottom
_LINES = ("┏━┳┓", "┃", "┡━╇┩", "│", "├─┼┤", "└─┴┘")
_ASCII_LINES = ("+--+", "|", "|-+|", "|", "|-+|", "+--+")
_pending: list[str] = []


def emit(report: Any) -> None:
    """Print one JSON object on standard output; numbers that are not finite become null."""
    if isinstance(report, dict) and report.get("warnings"):
        report = report | {"warning_codes": [code_of(sentence, WARNING) for sentence in report["warnings"]]}
    show(to_json(report))


def show(text: str) -> None:
    """Buffer a text for standard output until the command ends, so that write errors are handled in one place."""
    _pending.append(text)


def tell(sentence: str, quiet: bool = False) -> None:
    """Buffer a line of a result for standard output, with control characters escaped."""
    if not quiet:
        show(visible(sentence) + "\n")


def show_table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str] | None],
    right: Container[int] = (),
    colours: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Buffer a table for standard output, as wide as the terminal, also in a pager.

    A row None is a line across. Columns ``right`` are numbers: aligned at the right, and never wrapped. ``colours`` are
    the codes of a terminal for entries of rows.
    """
    head, *table = ([visible(cell).expandtabs() for cell in row] if row else None for row in (titles, *rows))
    assert head is not None  # there are titles
    listed = [head, *filter(None, table)]
    widths = [max(_width(line) for cell in cells for line in cell.split("\n")) for cells in zip(*listed, strict=True)]
    flexible = [k for k in range(len(widths)) if k not in right]
    while flexible and sum(widths) + 3 * len(widths) + 1 > _room():
        widest = max(flexible, key=widths.__getitem__)
        if widths[widest] <= LEAST:
            break
        widths[widest] -= 1
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    top, above, below, beside, across, bottom = _LINES if encoding.lower().startswith("utf") else _ASCII_LINES

    def ruled(line: str) -> str:
        return line[0] + line[2].join(line[1] * (width + 2) for width in widths) + line[3]

    def written(cells: Sequence[str], bar: str, known: Mapping[str, str]) -> Iterator[str]:
        for parts in zip_longest(*map(_wrapped, cells, widths), fillvalue=""):
            padded = []
            for k, (part, width) in enumerate(zip(parts, widths, strict=True)):
                blanks, code = " " * (width - _width(part)), known.get(cells[k]) if coloured else None
                text = f"\x1b[{code}m{part}\x1b[0m" if code and part else part
                padded.append(f" {blanks}{text} " if k in right else f" {text}{blanks} ")
            yield bar + bar.join(padded) + bar

    lines = [ruled(top), *written(head, above, dict.fromkeys(head, "1")), ruled(below)]
    for row in table:
        lines += written(row, beside, colours) if row else [ruled(across)]
    show("\n".join([*lines, ruled(bottom), ""]))


def _room() -> int:
    """Columns of the terminal that a table is shown on, at once or by a pager."""
    paged = sys.stderr.isatty() and stat.S_ISFIFO(os.fstat(1).st_mode)
    if not (paged or sys.stdout.isatty()):
        return WIDE
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(2 if paged else 1).columns)
    except (OSError, ValueError):
        return 80


def _width(line: str) -> int:
    """Columns of a terminal that a line of text takes."""
    if line.isascii():
        return len(line)
    from unicodedata import combining, east_asian_width

    return sum(1 + (east_asian_width(letter) in "FW") for letter in line if not combining(letter))


def _wrapped(cell: str, width: int) -> list[str]:
    """The lines of an entry of a table, in a column of this width."""
    lines = []
    for line in cell.split("\n"):
        lines += [line] if _width(line) <= width else wrap(line, width, break_on_hyphens=False)
    return lines


def flush() -> None:
    """Write the buffered text to standard output; raises OSError."""
    signals.answer_begins()
    texts = "".join(_pending)
    _pending.clear()
    streams.answer(texts)


def to_json(report: Any) -> str:
    """Return a report as JSON text with a final newline."""
    text = json.dumps(plain(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return re.sub(r"[\x7f-\x9f\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def say(sentence: str, quiet: bool = False) -> None:
    """Print a line on standard error: progress, or a warning with its code."""
    if not quiet:
        code = code_of(sentence, WARNING) if sentence.startswith("warning: ") else ""
        print(visible(sentence) + faint(code), file=sys.stderr)


def print_warnings(warnings: Iterable[str], quiet: bool = False) -> None:
    """Print warnings on standard error, one per line."""
    for warning in warnings:
        say(f"warning: {warning}", quiet)


def faint(code: str) -> str:
    """The code of a message in brackets, to append to the message; dim on a terminal with colours."""
    if not code:
        return ""
    dim = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f" \x1b[2m[{code}]\x1b[0m" if dim else f" [{code}]"


MOST_ROWS = 30  # of each table
ROUND_OFF = 1e-14  # damping ratio of an undamped mode
MOST_MOVING, MOVES = 3, 0.1  # coordinates listed for a mode: their number, their least amplitude over the largest


def show_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the first rows of a table, and the number of the others."""
    if rows:
        show_table(titles, rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        tell(f"and {len(rows) - MOST_ROWS} more; --json lists all")


def print_modes(modes: Sequence[Mapping[str, Any]], neutral: int) -> None:
    """Print frequency, damping and eigenvalue of each mode, and the coordinates that move most."""
    rows = []
    for mode in modes:
        moving = sorted(mode["shape"], key=lambda name: -abs(complex(*mode["shape"][name])))
        shown = [name for name in moving if abs(complex(*mode["shape"][name])) >= MOVES][:MOST_MOVING]
        damped = abs(mode["damping_ratio"]) > ROUND_OFF or not mode["imaginary_part"]
        ratio, real = (mode[key] if damped else 0.0 for key in ("damping_ratio", "real_part"))
        value = f"{real:.6g}" + (f" ± {mode['imaginary_part']:.6g}i" if mode["imaginary_part"] else "")
        numbers = (f"{mode['frequency']:.8g}", f"{ratio:.6g}")
        rows.append((str(mode["number"]), *numbers, value, ", ".join(shown)))
    show_rows(("mode", "frequency [Hz]", "damping ratio", "eigenvalue [1/s]", "moves"), rows)
    if neutral:
        zero = "1 eigenvalue is" if neutral == 1 else f"{neutral} eigenvalues are"
        tell(f"{zero} zero: nothing brings such a motion or state back")


def print_objectives(objectives: Mapping[str, Mapping[str, Any]], parameters: Mapping[str, Mapping[str, Any]]) -> None:
    """Print objectives, a column each with its value and derivatives, and why numbers are NaN or not unique.

    ``parameters`` state the units of the parameters.
    """
    from mbsim_cli.model.units import derivative_by
    from mbsim_cli.study.diagnostics.undetermined import footnotes

    titles = [f"{name} [{entry['unit']}]" if entry["unit"] else name for name, entry in objectives.items()]
    entries = objectives.values()
    rows: list[list[str] | None] = [["value", *(_number(entry["value"], entry.get("flags")) for entry in entries)]]
    for number, parameter in enumerate(next(iter(entries)).get("gradient", {})):
        rows += [None] * (number == 0)
        numbers = (_number(entry["gradient"][parameter], entry.get("flags")) for entry in entries)
        rows.append([derivative_by(parameter, parameters[parameter]["unit"]), *numbers])
    show_table(["", *titles], rows, right=range(1, len(titles) + 1))
    for line in footnotes(objectives):
        tell(line)


def _number(value: float, flags: Sequence[str] | None) -> str:
    """A number of a table; one with flags has an asterisk."""
    shown = "NaN" if math.isnan(value) else f"{value:.8g}"
    return f"{shown}*" if flags else shown


# Issues of a model file as text: place, message, hint, and the source line with a mark below.


def print_issues(issues: Iterable[Issue]) -> None:
    """Print issues on standard error."""
    for issue in issues:
        print(visible(str(issue)) + faint(issue.code), file=sys.stderr)
        if issue.excerpt.strip():
            margin = f"{issue.line:5d} | "
            print(margin + visible(issue.excerpt.rstrip()), file=sys.stderr)
            indent = "".join("\t" if letter == "\t" else " " for letter in issue.excerpt[: issue.column - 1])
            print(" " * (len(margin) - 2) + "| " + indent + "^", file=sys.stderr)


# A progress bar with the remaining time, if standard error is a terminal.

CLEAR = "\r\x1b[2K\x1b[?25h"  # wipes the line and shows the cursor, which a bar hides


@contextmanager
def bar(title: str, total: float | None, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A context that shows progress towards ``total``, or a count if None; it yields a function of the amount done."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: tuple[Any, ...] = (TextColumn("{task.completed}"), SpinnerColumn("line"), TimeElapsedColumn())
    if total is not None:
        columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("to go"), TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)  # rich honours NO_COLOR by itself
    with (
        signals.terminal(CLEAR),
        Progress(TextColumn("{task.description}"), *columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)


# Listeners: how the analysis reports to a command.


class Terminal(Listener):
    """Messages and a progress bar on standard error, and interruption by signals."""

    def __init__(self, quiet: bool):
        self._quiet = quiet

    def say(self, sentence: str) -> None:
        """Print a line, unless --quiet is given."""
        say(sentence, self._quiet)

    def warn(self, sentence: str) -> None:
        """Print a line."""
        say(sentence)

    def progress(self, title: str, total: float) -> AbstractContextManager[Callable[[float], None]]:
        """Show a progress bar if standard error is a terminal."""
        return bar(title, total, self._quiet)

    def count(self, title: str) -> AbstractContextManager[Callable[[int], None]]:
        """Show a count and the elapsed time if standard error is a terminal."""
        return bar(title, None, self._quiet)

    def poll(self) -> None:
        """Raise ``Stopped`` after a signal."""
        signals.poll()

    def shield(self) -> AbstractContextManager[None]:
        """A context that defers signals."""
        return signals.shield()


class WarningRecorder(Terminal):
    """A ``Terminal`` that collects warnings, for printing at the end."""

    def __init__(self, quiet: bool):
        super().__init__(quiet)
        self.warnings: list[str] = []

    def warn(self, sentence: str) -> None:
        """Collect a warning."""
        self.warnings.append(sentence)
