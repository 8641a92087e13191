"""Output of commands: results, warnings, issues and progress."""

import io
import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from mbsim_cli.cli import signals, streams
from mbsim_cli.cli.streams import visible
from mbsim_cli.errors import Issue
from mbsim_cli.messages import WARNING, code_of
from mbsim_cli.plain_data import plain
from mbsim_cli.study.listener import Listener

if TYPE_CHECKING:
    from rich.console import RenderableType


# ``show``, ``tell``, ``show_table`` and ``emit`` buffer results for standard output, which ``flush`` writes at the end.
# ``say`` and ``print_warnings`` write messages to standard error at once.

WIDE = 200  # characters, where there is no terminal: lines of logs and files are not wrapped
_pending: list[str] = []


def emit(report: Any) -> None:
    """Print one JSON object on standard output; numbers that are not finite become null."""
    if isinstance(report, dict) and report.get("warnings"):
        report = report | {"warning_codes": [code_of(sentence, WARNING) for sentence in report["warnings"]]}
    show(to_json(report))


def print_report(report: Any, json: bool, in_words: Callable[..., None], *settings: Any) -> None:
    """Print a report as one JSON object, or as ``in_words`` prints it with these settings."""
    if json:
        emit(report)
    else:
        in_words(report, *settings)


def print_written(
    report: Mapping[str, Any], json: bool, sentence: str, quiet: bool = False, remarks: Iterable[str] = ()
) -> None:
    """Print the report on a file that was written: one JSON object, or a sentence, and remarks on standard error."""
    if json:
        return emit(report)
    for remark in remarks:
        say(remark, quiet)
    tell(sentence, quiet)


def show(text: str) -> None:
    """Buffer a text for standard output until the command ends, so that write errors are handled in one place."""
    _pending.append(text)


def tell(sentence: str, quiet: bool = False) -> None:
    """Buffer a line of a result for standard output, with control characters escaped."""
    if not quiet:
        show(visible(sentence) + "\n")


def show_table(titles: Iterable[str], rows: Iterable[Sequence[str]], of_numbers: bool = False) -> None:
    """Buffer a table of texts; one of numbers aligns all but the first column right, with a line below the first row.

    In files and pipes most tables need no rich, whose import takes longer than a short run.
    """
    titles, rows = list(map(visible, titles)), [list(map(visible, row)) for row in rows]
    width = _width()
    if width and _encoding().lower().startswith("utf") and (plain := _drawn(titles, rows, of_numbers, width)):
        return show(plain)
    from rich.table import Table

    table = Table()
    for number, title in enumerate(titles):
        if of_numbers:
            table.add_column(title, justify="right" if number else "left")
        else:
            table.add_column(title, overflow="fold")
    for number, row in enumerate(rows):
        table.add_row(*row, end_section=of_numbers and number == 0)
    show_rich(table)


def _drawn(titles: Sequence[str], rows: Sequence[Sequence[str]], of_numbers: bool, width: int) -> str:
    """The table as rich draws it without colours; an empty text if it is too wide, or has letters beyond ASCII."""
    lines = [titles, *rows]
    sizes = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = "".join(map("".join, lines))
    if sum(sizes) + 3 * len(sizes) + 1 > width or not (texts.isascii() and texts.isprintable()):
        return ""

    def rule(left: str, dash: str, crossing: str, right: str) -> str:
        return left + crossing.join(dash * (size + 2) for size in sizes) + right + "\n"

    def row(texts: Sequence[str], bar: str) -> str:
        sides = ("<", *(">" if of_numbers else "<" for _ in texts[1:]))
        cells = (f" {text:{side}{size}} " for text, side, size in zip(texts, sides, sizes, strict=True))
        return bar + bar.join(cells) + bar + "\n"

    drawn = [row(texts, "│") for texts in rows]
    if of_numbers and len(drawn) > 1:
        drawn.insert(1, rule("├", "─", "┼", "┤"))
    head = rule("┏", "━", "┳", "┓") + row(titles, "┃") + rule("┡", "━", "╇", "┩")
    return head + "".join(drawn) + rule("└", "─", "┴", "┘")


def _width() -> int | None:
    """Characters of a line; None for as many as the terminal has, also in a pager."""
    paged = sys.stderr.isatty() and stat.S_ISFIFO(os.fstat(1).st_mode)
    return None if sys.stdout.isatty() or paged else WIDE


def _encoding() -> str:
    """Name of the encoding of standard output."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def show_rich(table: "RenderableType") -> None:
    """Buffer what rich draws for standard output."""
    from rich.console import Console

    page, terminal = _EncodedText(), sys.stdout.isatty()
    Console(file=page, force_terminal=terminal, highlight=False, markup=False, emoji=False, width=_width()).print(table)
    show(page.getvalue())


class _EncodedText(io.StringIO):
    """A text buffer with the encoding of standard output: rich draws ASCII tables if the encoding requires it."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Name of the encoding."""
        return _encoding()


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


def digits(value: float, count: int = 8) -> str:
    """A number of a table with so many significant digits; zero has no sign."""
    return "NaN" if math.isnan(value) else f"{value:z.{count}g}"


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
        value = digits(real, 6) + (f" ± {mode['imaginary_part']:.6g}i" if mode["imaginary_part"] else "")
        numbers = (digits(mode["frequency"]), digits(ratio, 6))
        rows.append((str(mode["number"]), *numbers, value, ", ".join(shown)))
    show_rows(("mode", "frequency [Hz]", "damping ratio", "eigenvalue [1/s]", "moves"), rows)
    if neutral:
        zero = "1 eigenvalue is" if neutral == 1 else f"{neutral} eigenvalues are"
        tell(f"{zero} zero: nothing brings such a motion or state back")


def print_objectives(objectives: Mapping[str, Mapping[str, Any]], parameters: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a column for each objective, its derivatives by ``parameters``, and why numbers are NaN or not unique."""
    from mbsim_cli.model.units import derivative_by

    entries = objectives.values()
    titles = ["", *(f"{name} [{o['unit']}]" if o["unit"] else name for name, o in objectives.items())]
    rows = [["value", *(_number(entry["value"], entry.get("flags")) for entry in entries)]]
    for parameter in next(iter(entries)).get("gradient", {}):
        numbers = (_number(entry["gradient"][parameter], entry.get("flags")) for entry in entries)
        rows.append([derivative_by(parameter, parameters[parameter]["unit"]), *numbers])
    show_table(titles, rows, of_numbers=True)
    for name, why in {name: why for entry in entries for name, why in entry.get("undefined", {}).items()}.items():
        tell(f"d/d {name} is NaN: {why}")
    for name, entry in objectives.items():
        for why in entry.get("flags", ()):
            tell(f"{name}*: {why}")


def _number(value: float, flags: Sequence[str] | None) -> str:
    """A number of a table; one with flags has an asterisk."""
    return f"{digits(value)}*" if flags else digits(value)


def print_issues(issues: Iterable[Issue]) -> None:
    """Print issues on standard error, each with its source line and a mark below."""
    for issue in issues:
        print(visible(str(issue)) + faint(issue.code), file=sys.stderr)
        if issue.excerpt.strip():
            margin = f"{issue.line:5d} | "
            print(margin + visible(issue.excerpt.rstrip()), file=sys.stderr)
            indent = "".join("\t" if letter == "\t" else " " for letter in issue.excerpt[: issue.column - 1])
            print(" " * (len(margin) - 2) + "| " + indent + "^", file=sys.stderr)


CLEAR = "\r\x1b[2K\x1b[?25h"  # wipes the line and shows the cursor, which a bar hides


@contextmanager
def bar(title: str, total: float | None, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A context that shows progress towards ``total``, or a count if None; it yields a function of the amount done."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich import progress as parts
    from rich.console import Console

    columns: tuple[Any, ...] = (parts.TextColumn("{task.completed}"), parts.SpinnerColumn("line"))
    columns = columns if total is None else (parts.BarColumn(), parts.TaskProgressColumn())
    columns += (parts.TimeElapsedColumn(),)
    if total is not None:
        columns += (parts.TextColumn("to go"), parts.TimeRemainingColumn())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)  # rich honours NO_COLOR by itself
    with (
        signals.terminal(CLEAR),
        parts.Progress(parts.TextColumn("{task.description}"), *columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)


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
