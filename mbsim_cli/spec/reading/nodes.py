"""YAML as nodes with places: scalars, mappings, sequences, and keys with wildcards."""

import io
import math
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import yaml
from yaml import events

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


def resolve(text: str) -> Any:
    """The value of a plain text by YAML 1.2: nothing, a truth value, a number, or the text."""
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


# YAML text to nodes that know their line and column, by the rules of YAML 1.2.
#
# Built from parser events without recursion, so that no nesting and no alias can exhaust the machine.

MAX_DEPTH = 64
MAX_DUPLICATES = 100
MAX_ALIASED = 100_000  # nodes that aliases may add in all
MAX_ENTRIES = 1_000_000  # nodes in all files of a model, aliases followed; a kilobyte each until validation

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GLUED = re.compile(r"\s*([\w-]+:)[^\s:/]")
_NO_LETTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HDF5 = b"\x89HDF"
_TAG = "tag:yaml.org,2002:"
_TAGS = [_TAG + kind for kind in ("str", "int", "float", "bool", "null")]  # of scalars


class NodeError(Exception):
    """The YAML text is wrong at a line and column, counted from 1."""

    def __init__(self, message: str, line: int, column: int, hint: str | None = None, path: str = ""):
        super().__init__(message)
        self.message, self.line, self.column, self.hint, self.path = message, line, column, hint, path


class Node:
    """A value with its place: ``value`` is a scalar, a list of nodes, or a dict of nodes by key."""

    __slots__ = ("column", "file", "instance", "key_column", "key_line", "line", "plain", "size", "value")

    def __init__(self, value: Any, file: str, line: int, column: int, plain: bool = True):
        self.value = value
        self.file = file
        self.line = line
        self.column = column
        self.plain = plain  # a scalar on one line without quotes: offsets in it are columns
        self.key_line = 0  # place of the key that the node stands under
        self.key_column = 0
        self.size = 1  # nodes in all, aliases followed
        self.instance = ""  # of a repetition, that made the node

    @property
    def below(self) -> Iterable["Node"]:
        """The nodes that a mapping or list consists of."""
        return self.value.values() if type(self.value) is dict else self.value if type(self.value) is list else ()

    def at_same_place(self, value: Any, instance: str = "") -> "Node":
        """Return a node with another value where this one stands."""
        node = Node(value, self.file, self.line, self.column, self.plain and value is self.value)
        node.key_line, node.key_column, node.instance = self.key_line, self.key_column, instance
        return node

    def data(self) -> Any:
        """Return the plain lists, dicts and scalars."""
        if type(self.value) is dict:
            return {key: node.data() for key, node in self.value.items()}
        if type(self.value) is list:
            return [node.data() for node in self.value]
        return self.value


def read_nodes(text: bytes, file: str, room: int = MAX_ENTRIES) -> tuple[Node | None, list[NodeError]]:
    """Return the root of at most ``room`` nodes, and duplicate keys; raises NodeError where the text cannot be read."""
    builder = _Builder(file, room)
    try:
        loader = _Loader(text)
        try:
            while loader.check_event():
                builder.take(loader.get_event())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else b""
        column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        hint = "save the file as UTF-8" if "UTF-8" in str(error.reason) else None
        hint = "an HDF5 file is no model" if text.startswith(_HDF5) else hint
        raise NodeError(f"text cannot be read: {error.reason}", before.count(b"\n") + 1, column, hint) from None
    return builder.root, builder.errors


def _syntax_error(error: yaml.MarkedYAMLError, text: bytes) -> NodeError:
    marks: list[Any] = [mark for mark in (error.problem_mark, error.context_mark) if mark is not None]
    count, last, lines = _lines(text, {line for mark in marks for line in (mark.line - 1, mark.line)})
    inside = [(mark.line + 1, mark.column + 1) for mark in marks if mark.line in lines]
    if "cannot start any token" in (error.problem or "") and inside:
        line, column = inside[0]
        written = lines[line - 1]
        indentation = written[: _indented(written)]
        if "\t" in indentation and column <= len(indentation):
            return NodeError("a tab stands in the indentation", line, indentation.index("\t") + 1, "indent by blanks")
        return NodeError(f"{written[column - 1 : column]!r} begins no text", line, column, "put the text in quotes")
    if "could not find expected ':'" in (error.problem or "") and inside:
        line, column = inside[-1]  # where the key began
        if (glued := _GLUED.match(lines[line - 1])) is not None:
            return NodeError(f"{glued[1]!r} is not a key", line, glued.start(1) + 1, "a blank stands behind its colon")
    if "did not find expected ','" in (error.problem or "") and inside:
        line, column = inside[0]
        if re.search(r"[^\s\[{,:]$", lines[line - 1][: column - 1]) and lines[line - 1][column - 1 :].startswith("{"):
            return NodeError("a text with braces stands without quotes", line, column, 'write "P_{i}" for P_{i}')
    if "nesting depth" in (error.problem or "") and inside:  # the reader's own limit, from PyYAML 6.0.4 on
        return NodeError(f"nested more than {MAX_DEPTH} deep", *inside[0])
    hint = None
    if "mapping values are not allowed" in (error.problem or "") and inside:
        (line, column), before = inside[0], lines.get(inside[0][0] - 2, "")
        if ": " in lines[line - 1][: column - 1]:  # {description: Note: this}
            hint = "a text with ': ' in it stands in quotes"
        elif (glued := _GLUED.match(before)) is not None:
            message = f"{glued[1]!r} is not a key"
            return NodeError(message, line - 1, glued.start(1) + 1, "a blank stands behind its colon")
        elif _indented(lines[line - 1]) > _indented(before):
            hint = "keys of one mapping begin in the same column"
    what = ": ".join(part for part in (error.context, error.problem) if part)
    # at the end of the file, what is open there is the better place
    line, column = inside[0] if inside else (count, len(last) + 1)
    return NodeError(f"YAML cannot be read: {what}", line, column, hint)


def _indented(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lines(text: bytes, wanted: set[int]) -> tuple[int, str, dict[int, str]]:
    """The number of lines, the last one, and those ``wanted``, which count from 0; never all at once."""
    count, last, found = 0, "", {}
    for line in io.TextIOWrapper(io.BytesIO(text), "utf-8", errors="replace"):
        last = line.rstrip("\n")
        if count in wanted:
            found[count] = last
        count += 1
    return max(count, 1), last, found


class _Open:
    """A collection that is not closed yet; in a mapping, ``key`` waits for its value."""

    __slots__ = ("anchor", "key", "key_place", "node")

    def __init__(self, node: Node, anchor: str | None):
        self.node = node
        self.anchor = anchor
        self.key: str | None = None
        self.key_place = (0, 0)

    @property
    def wants_key(self) -> bool:
        return self.key is None and type(self.node.value) is dict


class _Builder:
    """Takes events one by one; ``_stack`` holds the open collections."""

    def __init__(self, file: str, room: int):
        self.file = file
        self._room = room
        self.root: Node | None = None
        self.errors: list[NodeError] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        self._aliased = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is events.ScalarEvent:
            if self._stack and self._stack[-1].wants_key:
                self._key(event)
            else:
                self._scalar(event)
        elif kind is events.MappingStartEvent:
            self._open({}, event)
        elif kind is events.SequenceStartEvent:
            self._open([], event)
        elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
            closed = self._stack.pop()
            if closed.anchor:
                self._anchors[closed.anchor] = closed.node
            self._put(closed.node)
        elif kind is events.AliasEvent:
            self._alias(event)
        elif kind is events.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                raise NodeError("a second document begins", *_place(event), "one model a file")

    def _scalar(self, event: Any) -> None:
        _require_letters(event)
        line, column = _place(event)
        self._count(1, (line, column))
        one_line = event.start_mark.line == event.end_mark.line
        value, tag = event.value, event.tag
        if tag and tag != "!":
            if tag not in _TAGS:
                raise NodeError(f"tag {tag!r} is not allowed", line, column)
            value = value if tag == _TAG + "str" else resolve(value)
        elif event.implicit[0] and tag is None:
            value = resolve(value)
        node = Node(value, self.file, line, column, one_line and event.style in (None, ""))
        if one_line and event.style in ("'", '"'):
            # offsets count from behind the quote, unless something is escaped
            node.plain = event.end_mark.column - event.start_mark.column == len(event.value) + 2
            node.column += node.plain
        if event.anchor:
            self._anchors[event.anchor] = node
        self._put(node)

    def _key(self, event: events.ScalarEvent) -> None:
        _require_letters(event)
        here, key, place = self._stack[-1], event.value, _place(event)
        if key in here.node.value:
            message = f"key {key!r} stands twice, first in line {here.node.value[key].key_line}"
            self.errors.append(NodeError(message, *place, path=".".join([*self._path(), key])))
            if len(self.errors) >= MAX_DUPLICATES:
                raise NodeError(f"more than {MAX_DUPLICATES} keys stand twice", *place)
        if key == "<<" and event.style in (None, ""):
            raise NodeError("merge keys are not part of YAML 1.2", *place, "use include")
        here.key, here.key_place = key, place

    def _open(self, value: Any, event: Any) -> None:
        place = _place(event)
        if len(self._stack) >= MAX_DEPTH:
            raise NodeError(f"nested more than {MAX_DEPTH} deep", *place)
        if event.tag and event.tag not in (_TAG + "map", _TAG + "seq", "!"):
            raise NodeError(f"tag {event.tag!r} is not allowed", *place)
        self._refuse_as_key(place)
        self._count(1, place)
        if event.anchor:
            self._anchors[event.anchor] = None  # until it is closed: an alias inside would contain itself
        self._stack.append(_Open(Node(value, self.file, *place), event.anchor))

    def _alias(self, event: events.AliasEvent) -> None:
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
        self._count(target.size, place)
        # a copy, so that it knows the key that it stands under
        node = Node(target.value, target.file, target.line, target.column, target.plain)
        node.size = target.size
        self._put(node)

    def _count(self, nodes: int, place: tuple[int, int]) -> None:
        self._room -= nodes
        if self._room < 0:
            message = f"there are more than {MAX_ENTRIES:,} entries".replace(",", " ")
            hint = "long tables belong into files of their own (type: table), and what repeats under repeat"
            raise NodeError(message, *place, hint, ".".join(self._path()))

    def _path(self) -> list[str]:
        """Keys that lead to where the text is read."""
        return [above.key for above in self._stack if above.key is not None]

    def _refuse_as_key(self, place: tuple[int, int]) -> None:
        if self._stack and self._stack[-1].wants_key:
            raise NodeError("a key must be a plain text", *place, "one that begins with a brace stands in quotes")

    def _put(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        above = self._stack[-1]
        above.node.size += node.size
        if above.key is None:
            above.node.value.append(node)
            return
        node.key_line, node.key_column = above.key_place
        above.node.value[above.key] = node
        above.key = None


def _require_letters(event: Any) -> None:
    """Escapes in quotes can make characters that no text has: terminals obey them, and files cannot store them."""
    if event.style == '"' and (found := _NO_LETTER.search(event.value)):
        raise NodeError(f"control character {found[0]!r} in a text", *_place(event))


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def replace_wildcards(root: Node) -> None:
    """Put the parameters that a pattern such as ``L_*`` matches in its place; one without a match stays."""
    place: Node | None = root
    for key in ("analysis", "sensitivity", "parameters"):
        place = _below(place, key)
    known = _below(root, "parameters")
    if place is None or type(place.value) is not list or known is None or type(known.value) is not dict:
        return
    listed: list[Node] = []
    taken = {node.value for node in place.value if isinstance(node.value, str)}
    for node in place.value:
        pattern = node.value if isinstance(node.value, str) and "*" in node.value else None
        matches = [name for name in known.value if pattern and fnmatchcase(name, pattern)]
        named = (Node(name, node.file, node.line, node.column, plain=False) for name in matches if name not in taken)
        listed += named if matches else [node]
        taken.update(matches)
    place.value = listed


def _below(node: Node | None, key: str) -> Node | None:
    return node.value.get(key) if node is not None and type(node.value) is dict else None
