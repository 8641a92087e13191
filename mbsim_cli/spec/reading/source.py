"""``Source``: where in which file every value of a model stands."""

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any

from mbsim_cli.errors import Issue
from mbsim_cli.spec.reading.nodes import Node

MAX_SHOWN = 1000
MAX_SPLIT = 5_000_000  # letters of a file of which lines are shown
Path = str | Sequence[str | int]
Keys = tuple[str | int, ...]


class Source:
    """Files of a model: the one given first, then those that it includes."""

    def __init__(self, file: str):
        self.file = file
        self.texts: dict[str, str] = {}
        self.tables: dict[FilePath, None] = {}  # files of numbers that were read for the model
        self.root: Node | None = None
        self.twice: set[str] = set()  # sections with two items of one name, of which one is not seen
        self.stands_at: dict[Keys, Keys] = {}  # of what is made from other parts of the file, where those stand
        self._lines: dict[str, list[str]] = {}

    @property
    def text(self) -> str:
        """The text of the model file itself."""
        return self.texts.get(self.file, "")

    def data(self) -> Any:
        """Return the merged files as plain lists, dicts and scalars."""
        return self.root.data() if self.root is not None else None

    def line(self, file: str, line: int) -> str:
        """Return a line of a file, counted from 1; empty where there is none, or it or the file is too long to show."""
        if file not in self._lines:
            text = self.texts.get(file, "")
            self._lines[file] = text.splitlines() if len(text) <= MAX_SPLIT else []
        lines = self._lines[file]
        return lines[line - 1] if 0 < line <= len(lines) and len(lines[line - 1]) <= MAX_SHOWN else ""

    def locate(self, path: Path, offset: int | None = None, key: bool = False) -> tuple[str, int, int]:
        """Return file, line and column of a path, or of the nearest part of it that the file holds.

        ``offset`` counts characters within a scalar; ``key`` asks for the key rather than the value.
        """
        node, complete = self._find(path)
        if node is None:
            return self.file, 1, 1
        if node.key_line > 0 and (key or isinstance(node.value, dict | list) or node.value is None):
            return node.file, node.key_line, node.key_column
        return node.file, node.line, node.column + (offset if offset and node.plain and complete else 0)

    def _find(self, path: Path) -> tuple[Node | None, bool]:
        # the deepest node along the path, and whether that is all of it
        nodes, complete = self._along(path)
        return (nodes[-1] if nodes else None), complete

    def _along(self, path: Path) -> tuple[list[Node], bool]:
        # the nodes along the path, and whether they are all of it
        nodes = [self.root] if self.root is not None else []
        keys = list(self._written(path))
        while nodes and keys:
            below, used = _step(nodes[-1].value, keys)
            if below is None:
                return nodes, False
            nodes.append(below)
            keys = keys[used:]
        return nodes, True

    def _written(self, path: Path) -> Sequence[str | int]:
        # the path in the file that a path in the model comes from
        keys = tuple(_split(path) if isinstance(path, str) else path)
        for count in range(min(len(keys), 4), 1, -1):
            if keys[:count] in self.stands_at:
                return (*self.stands_at[keys[:count]], *keys[count:])
        return keys

    def issue(
        self, path: Path, message: str, hint: str | None = None, offset: int | None = None, key: bool = False
    ) -> Issue:
        """Return an issue at a path, with file, line, column and the source line."""
        file, line, column = self.locate(path, offset, key)
        written = self._written(path)
        instance = next((node.instance for node in reversed(self._along(path)[0]) if node.instance), "")
        shown = path if isinstance(path, str) and list(written) == _split(path) else join(written)
        return Issue(file, line, column, shown, message + instance, hint, self.line(file, line), instance)


def join(path: Sequence[str | int]) -> str:
    """Return a path as shown to people: ``joints.A.bodies[1]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _split(path: str) -> list[str]:
    return [part for part in path.replace("[", ".").replace("]", "").split(".") if part]


def _step(value: Any, keys: list[Any]) -> tuple[Node | None, int]:
    if isinstance(value, list):
        index = int(keys[0]) if str(keys[0]).isdecimal() else -1
        return (value[index], 1) if 0 <= index < len(value) else (None, 0)
    if isinstance(value, dict):
        # names of checks may hold dots: the longest key that fits
        for count in range(min(len(keys), 6), 0, -1):
            key = keys[0] if count == 1 else ".".join(map(str, keys[:count]))
            if key in value:
                return value[key], count
    return None, 0
