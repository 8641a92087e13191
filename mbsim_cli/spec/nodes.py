"""YAML text to nodes that know their line and column, by the rules of YAML 1.2.

Built from parser events without recursion, so that no nesting and no alias can exhaust the machine.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

MAX_DEPTH = 64
MAX_ALIASED = 100_000  # nodes that aliases may add in all

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NAMED = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_TAG = "tag:yaml.org,2002:"


class NodeError(Exception):
    """The YAML text is wrong at a line and column, counted from 1."""

    def __init__(self, message: str, line: int, column: int, hint: str | None = None, path: str = ""):
        super().__init__(message)
        self.message, self.line, self.column, self.hint, self.path = message, line, column, hint, path


class Node:
    """A value with its place: ``value`` is a scalar, a list of nodes, or a dict of nodes by key."""

    __slots__ = ("column", "file", "key_column", "key_line", "line", "plain", "size", "value")

    def __init__(self, value: Any, file: str, line: int, column: int, plain: bool = True):
        self.value = value
        self.file = file
        self.line = line
        self.column = column
        self.plain = plain  # a scalar on one line without quotes: offsets in it are columns
        self.key_line = 0  # place of the key that the node stands under
        self.key_column = 0
        self.size = 1  # nodes in all, aliases followed

    def data(self) -> Any:
        """Return the plain lists, dicts and scalars."""
        if type(self.value) is dict:
            return {key: node.data() for key, node in self.value.items()}
        if type(self.value) is list:
            return [node.data() for node in self.value]
        return self.value

    def under(self, line: int, column: int) -> "Node":
        """Return the node as it stands under a key at this place."""
        self.key_line, self.key_column = line, column
        return self


def read_nodes(text: bytes, file: str) -> tuple[Node | None, list[NodeError]]:
    """Return the root of a document and all duplicate keys; raises NodeError where the text cannot be read."""
    builder = _Builder(file)
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise NodeError(f"YAML cannot be read: {error.problem or error.context}", line, column) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count(b"\n") + 1 if isinstance(error.position, int) else 0
        raise NodeError(f"text cannot be read: {error.reason}", line, 1) from None
    return builder.root, builder.errors


def _events(text: bytes) -> Iterator[Any]:
    loader = _Loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


class _Builder:
    """Takes events one by one; ``stack`` holds the open collections with the key each waits on."""

    def __init__(self, file: str):
        self.file = file
        self.root: Node | None = None
        self.errors: list[NodeError] = []
        self._stack: list[tuple[Node, str | None]] = []
        self._keys: list[tuple[str, int, int] | None] = []
        self._anchors: dict[str, Node | None] = {}
        self._aliased = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is ScalarEvent:
            self._scalar(event)
        elif kind is MappingStartEvent:
            self._open({}, event)
        elif kind is SequenceStartEvent:
            self._open([], event)
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._close()
        elif kind is AliasEvent:
            self._alias(event)
        elif kind is DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                raise NodeError("a second document begins", *_place(event), "one model a file")

    def _scalar(self, event: ScalarEvent) -> None:
        waiting = bool(self._stack) and self._keys[-1] is None and type(self._stack[-1][0].value) is dict
        if waiting:
            self._key(event)
            return
        line, column = _place(event)
        plain = event.style in (None, "") and event.start_mark.line == event.end_mark.line
        node = Node(_scalar_value(event), self.file, line, column, plain)
        if event.style in ("'", '"') and event.start_mark.line == event.end_mark.line:
            # offsets count from behind the quote unless the text is escaped
            node.plain = event.end_mark.column - event.start_mark.column == len(event.value) + 2
            node.column += 1 if node.plain else 0
        if event.anchor:
            self._anchors[event.anchor] = node
        self._put(node)

    def _key(self, event: ScalarEvent) -> None:
        line, column = _place(event)
        key = event.value
        if key in self._stack[-1][0].value:
            first = self._stack[-1][0].value[key]
            message = f"key {key!r} stands twice, first in line {first.key_line}"
            self.errors.append(NodeError(message, line, column, path=self._path(key)))
        if key == "<<" and event.style in (None, ""):
            self.errors.append(NodeError("merge keys are not part of YAML 1.2", line, column, "use include"))
        self._keys[-1] = (key, line, column)

    def _path(self, key: str) -> str:
        return ".".join([open_key for _, open_key in self._stack if open_key is not None] + [key])

    def _open(self, value: Any, event: Any) -> None:
        place = _place(event)
        if len(self._stack) >= MAX_DEPTH:
            raise NodeError(f"nested more than {MAX_DEPTH} deep", *place)
        if event.tag and event.tag not in (_TAG + "map", _TAG + "seq", "!"):
            raise NodeError(f"tag {event.tag!r} is not allowed", *place)
        self._refuse_as_key(place)
        node = Node(value, self.file, *place)
        if event.anchor:
            self._anchors[event.anchor] = None  # until it is closed, an alias would contain itself
        key = self._keys[-1][0] if self._keys and self._keys[-1] else None
        self._stack.append((node, key))
        self._keys.append(None)
        node.size = 1
        if event.anchor:
            node.key_line = -1
            self._open_anchors = getattr(self, "_open_anchors", {})
            self._open_anchors[id(node)] = event.anchor

    def _close(self) -> None:
        node, _ = self._stack.pop()
        self._keys.pop()
        anchor = getattr(self, "_open_anchors", {}).pop(id(node), None)
        if anchor is not None:
            self._anchors[anchor] = node
        self._put(node)

    def _alias(self, event: AliasEvent) -> None:
        place = _place(event)
        self._refuse_as_key(place)
        if event.anchor not in self._anchors:
            raise NodeError(f"alias *{event.anchor} has no anchor before it", *place)
        target = self._anchors[event.anchor]
        if target is None:
            raise NodeError(f"alias *{event.anchor} contains itself", *place)
        self._aliased += target.size
        if self._aliased > MAX_ALIASED:
            raise NodeError(f"aliases add more than {MAX_ALIASED} entries", *place)
        # a copy, so that it knows the key that it stands under
        node = Node(target.value, target.file, target.line, target.column, target.plain)
        node.size = target.size
        self._put(node)

    def _refuse_as_key(self, place: tuple[int, int]) -> None:
        if self._stack and type(self._stack[-1][0].value) is dict and self._keys[-1] is None:
            raise NodeError("a key must be a plain text", *place)

    def _put(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        parent, _ = self._stack[-1]
        parent.size += node.size
        if type(parent.value) is list:
            parent.value.append(node)
            return
        key, line, column = self._keys[-1]  # type: ignore[misc]
        parent.value[key] = node.under(line, column)
        self._keys[-1] = None


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _scalar_value(event: ScalarEvent) -> Any:
    text = event.value
    if event.tag and event.tag != "!":
        if not event.tag.startswith(_TAG) or event.tag[len(_TAG) :] not in ("str", "int", "float", "bool", "null"):
            raise NodeError(f"tag {event.tag!r} is not allowed", *_place(event))
        return text if event.tag == _TAG + "str" else resolve(text)
    return resolve(text) if event.implicit[0] and event.tag is None else text


def resolve(text: str) -> Any:
    if text in _NAMED:
        return _NAMED[text]
    if _INTEGER.fullmatch(text):
        # integers beyond 64 bits are numbers all the same, int() would refuse very long ones
        return int(text) if len(text) <= 18 else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _BASED.fullmatch(text) and len(text) <= 18:
        return int(text, 0)
    return text
