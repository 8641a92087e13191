"""Tables on standard output: those that rich draws, but for wrapped titles and the widths of wrapped columns."""

import io
import random
import sys

import pytest
from rich.console import Console
from rich.table import Table

from mbsim_cli.cli import output

WORDS = (
    "",
    "psi1 [m^2 s]",
    "a long text that has to be wrapped",
    "d/dL",
    "0.72687744",
    "机械 ±1",
    "x" * 25,
    "  two\nlines",
)


class Terminal(io.StringIO):
    """A stream with an encoding."""

    def __init__(self, encoding):
        super().__init__()
        self.known = encoding

    encoding = property(lambda self: self.known)


def drawn(titles, rows, right, encoding):
    table = Table()
    for k, title in enumerate(titles):
        table.add_column(title, overflow="fold", justify="right" if k in right else "left")
    for row in rows:
        table.add_row(*row) if row else table.add_section()
    file = Terminal(encoding)
    Console(file=file, width=output.WIDE, highlight=False, markup=False, emoji=False).print(table)
    return file.getvalue()


def shown(monkeypatch, encoding, *table):
    monkeypatch.setattr(output, "_pending", [])
    monkeypatch.setattr(sys, "stdout", Terminal(encoding))
    output.show_table(*table)
    return output._pending[0]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("seed", range(10))
def test_a_table_is_as_rich_draws_it(monkeypatch, seed, encoding):
    draw = random.Random(seed)
    columns = draw.randint(1, 5)
    titles, *rows = (draw.choices(WORDS, k=columns) for _ in range(draw.randint(3, 6)))
    table = [word.partition("\n")[0] for word in titles], [rows[0], None, *rows[1:]], range(columns // 2, columns)
    assert shown(monkeypatch, encoding, *table) == drawn(*table, encoding)


def test_a_narrow_table_wraps_texts_and_keeps_numbers_whole(monkeypatch):
    monkeypatch.setattr(output, "WIDE", 40)
    rows = [[WORDS[2], "x" * 25, "0.72687744"], None, ["", "d/dL", "-1"]]
    lines = shown(monkeypatch, "utf-8", ("name", "of", "value"), rows, range(2, 3)).splitlines()
    assert {len(line) for line in lines} == {40}
    columns = [[line[1:-1].split("│")[k].strip() for line in lines if line[0] == "│"] for k in range(3)]
    assert " ".join(columns[0]).split() == WORDS[2].split() and "".join(columns[1]) == "x" * 25 + "d/dL"
    assert list(filter(None, columns[2])) == ["0.72687744", "-1"]
    monkeypatch.setattr(output, "WIDE", 20)  # too narrow: no column of texts is made narrower than ten letters
    assert shown(monkeypatch, "utf-8", ("name", "of", "value"), rows, range(2, 3)).splitlines() == lines


def test_colours_are_for_terminals(monkeypatch):
    table = ("check",), [["passed"], ["open"]], (), {"passed": "32"}
    assert "\x1b" not in shown(monkeypatch, "utf-8", *table)
    monkeypatch.setattr(Terminal, "isatty", lambda self: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = shown(monkeypatch, "utf-8", *table)
    assert "│ \x1b[32mpassed\x1b[0m │" in found and "│ open   │" in found and "\x1b[1mcheck\x1b[0m " in found
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(monkeypatch, "utf-8", *table)
