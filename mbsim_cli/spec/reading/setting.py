"""Keys of a model file replaced by the command line: ``--set analysis.step=1e-4``.

Overrides of a model are texts by name. A name that begins with a dot is the path of a key, any other is a parameter.
"""

from collections.abc import Collection, Mapping
from typing import Any

from mbsim_cli.errors import UsageError
from mbsim_cli.spec.reading.nodes import Node, NodeError, read_nodes
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.spec.reading.suggestions import suggest

MARK = "."  # that paths of keys begin with among overrides
AXES = ("x", "y", "z")
NOT_SET = {
    "include": "files are merged before keys are set",
    "repeat": "set the constants that it reads, or keys of the items that it makes",
    "x-": "sections whose names begin with x- are not read",
}


def is_key(name: str) -> bool:
    """Whether an override replaces a key of the file rather than a parameter."""
    return name.startswith(MARK)


def set_keys(source: Source, overrides: Mapping[str, str], named: Collection[str]) -> dict[str, str]:
    """Put values (YAML) in place of keys of a file, or add keys that it does not state; return the rest.

    Items of the sections ``named`` have names that users choose: there only items that exist can change. The rest are
    keys of items that repetitions have still to make. Raises UsageError.
    """
    rest: dict[str, str] = {}
    for name, text in overrides.items():
        if is_key(name) and source.root is not None:
            setting = _Setting(name, text, source.file)
            if "repeat" in source.root.value and setting.waits(source.root, named):
                rest[name] = text
            else:
                source.root = setting.put(source.root, named)
    return rest


class _Setting:
    """One key with its new value."""

    def __init__(self, name: str, text: str, file: str):
        path = name.removeprefix(MARK)
        self._option = f"--set {path}={text}"
        self._words = path.replace("[", ".").replace("]", "").split(".")
        if not all(self._words):
            self._refuse("a key is written as analysis.step, entries of lists as points.A.rod[0]")
        for section, why in NOT_SET.items():
            if self._words[0] == section or (section.endswith("-") and self._words[0].startswith(section)):
                self._refuse(f"{self._words[0]!r} cannot be set: {why}")
        self._value = self._read(text, file)

    def waits(self, root: Node, named: Collection[str]) -> bool:
        """Whether the item does not exist yet."""
        section = root.value.get(self._words[0])
        items = section.value if section is not None and isinstance(section.value, dict) else {}
        return len(self._words) > 1 and self._words[0] in named and _longest(self._words[1:], items) is None

    def put(self, root: Node, named: Collection[str]) -> Node:
        """Return the tree with the value in it; nodes along the path are copied, as aliases may share them."""
        return self._put(root, self._words, self._words[0] in named, 0)

    def _put(self, node: Node | None, words: list[str], named: bool, depth: int) -> Node:
        if not words:
            return self._value
        node = node if node is not None else self._value
        below = {} if node is self._value else node.value
        here = Node(below, node.file, node.line, node.column, plain=False)
        here.key_line, here.key_column, here.instance = node.key_line, node.key_column, node.instance
        if isinstance(below, list):
            index = self._index(words[0], below)
            entry = self._put(below[index], words[1:], False, depth + 1)
            here.value = [*below[:index], entry, *below[index + 1 :]]
            return here
        if not isinstance(below, dict):
            if below is not None and depth:
                self._refuse(f"{'.'.join(self._words[:depth])} is {below!r}, and has no key {words[0]!r}")
            below = {}
        count = _longest(words, below)
        if count is None and named and depth == 1:
            hint = suggest(words[0], below)
            self._refuse(f"{self._words[0]} has no {words[0]!r}" + (f"; {hint}" if hint else ""))
        count = count or 1
        key = ".".join(words[:count])
        here.value = below | {key: self._put(below.get(key), words[count:], named, depth + count)}
        return here

    def _index(self, word: str, entries: list[Node]) -> int:
        """Place in a list: a number, the name of an entry, or an axis of a vector."""
        if word.isdecimal() and int(word) < len(entries):
            return int(word)
        if word in AXES and len(entries) == len(AXES):
            return AXES.index(word)
        for place, entry in enumerate(entries):
            own = entry.value.get("name") if isinstance(entry.value, dict) else entry
            if own is not None and own.value == word:
                return place
        return self._refuse(f"there is no entry {word!r} in a list of {len(entries)}; entries count from 0")

    def _read(self, text: str, file: str) -> Node:
        try:
            node, wrong = read_nodes(text.encode(), file)
        except NodeError as error:
            wrong = [error]
        for first in wrong:
            self._refuse(first.message + (f"; {first.hint}" if first.hint else ""))
        node = node if node is not None else Node(None, file, 0, 0)
        for entry in _within(node):  # nothing of it stands in the file
            entry.line, entry.column, entry.key_line, entry.key_column, entry.plain = 0, 0, 0, 0, False
            entry.instance = f" (in {self._option})"
        return node

    def _refuse(self, why: str) -> Any:
        raise UsageError(f"{self._option}: {why}")


def _longest(words: list[str], entries: Mapping[str, Any]) -> int | None:
    """How many words make the longest key that exists: names of checks may hold dots."""
    return next((n for n in range(min(len(words), 6), 0, -1) if ".".join(words[:n]) in entries), None)


def _within(node: Node) -> list[Node]:
    found, at = [node], 0
    while at < len(found):
        value = found[at].value
        found += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        at += 1
    return found
