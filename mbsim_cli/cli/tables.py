"""Tables of texts in a frame, folded where the terminal is narrower."""

from collections.abc import Container, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from unicodedata import combining, east_asian_width

from mbsim_cli.cli.streams import visible

FRAME = "┏━┳┓┃┡╇┩│├─┼┤└┴┘"
PLAIN = str.maketrans(FRAME, "+-++|+++|+-+++++")  # for encodings without such lines


class Table:
    """Titles, and rows of texts below them; ``right`` has the numbers of the columns that end at the right."""

    def __init__(self, titles: Sequence[str], right: Container[int] = ()):
        self._titles = _cells(titles)
        self._right = right
        self._rows: list[tuple[list[str], str]] = []  # cells, and colour of the last one
        self._sections: set[int] = set()  # rows with a line above them

    def section(self) -> None:
        """Have a line above the next row."""
        self._sections.add(len(self._rows))

    def add(self, *cells: str, colour: str = "") -> None:
        """Add a row; ``colour`` is an SGR code for its last cell."""
        self._rows.append((_cells(cells), colour))

    def text(self, width: int, coloured: bool = False) -> str:
        """The table, at most so many characters wide if its columns can be narrowed so far."""
        columns = zip(self._titles, *(cells for cells, _ in self._rows), strict=True)
        widths = [max(_width(line) for cell in column for line in cell.split("\n")) for column in columns]
        while sum(widths) + 3 * len(widths) + 1 > width and max(widths) > 1:
            widths[widths.index(max(widths))] -= 1
        lines = [_rule("┏━┳┓", widths), *self._lines(self._titles, widths, "┃"), _rule("┡━╇┩", widths)]
        for number, (cells, colour) in enumerate(self._rows):
            if number in self._sections:
                lines.append(_rule("├─┼┤", widths))
            lines += self._lines(cells, widths, "│", colour * coloured)
        return "\n".join([*lines, _rule("└─┴┘", widths), ""])

    def _lines(self, cells: Sequence[str], widths: Sequence[int], bar: str, colour: str = "") -> Iterator[str]:
        folded = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*folded, fillvalue=""):
            padded = []
            for k, (part, width) in enumerate(zip(parts, widths, strict=True)):
                blank = " " * (width - _width(part))
                padded.append(blank + part if k in self._right else part + blank)
            if colour:
                padded[-1] = f"\x1b[{colour}m{padded[-1]}\x1b[0m"
            yield f"{bar} " + f" {bar} ".join(padded) + f" {bar}"


def _cells(texts: Sequence[str]) -> list[str]:
    return [visible(text).expandtabs() for text in texts]


def _rule(frame: str, widths: Sequence[int]) -> str:
    """A line between rows; ``frame`` has its first letter, those along and between columns, and the last one."""
    return frame[0] + frame[2].join(frame[1] * (width + 2) for width in widths) + frame[3]


def _width(text: str) -> int:
    """Columns that a line takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else not combining(letter) for letter in text)


def _folded(cell: str, width: int) -> list[str]:
    """Lines of a cell: broken between words, or within one that is too long."""
    lines = cell.split("\n")
    return [part for line in lines for part in (wrap(line, width) or [""] if _width(line) > width else [line])]
