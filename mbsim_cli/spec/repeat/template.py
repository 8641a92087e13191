"""Parts of a repetition as templates: nodes whose keys and texts hold placeholders in braces."""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from mbsim_cli.spec.expressions.scoped import Scoped, Value, Values
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.reading.nodes import Node
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.spec.repeat.error import RepeatError

_MARK = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
OF_CONSTANTS = "what is repeated, and how often, follows from constants alone"
_DOUBLED = {"{{": "{", "}}": "}"}

Read = Callable[[str, Values], Value]  # value of what stands in braces


class Text:
    """A text with placeholders; ``scoped``: it may be a formula of names of the instance, too."""

    __slots__ = ("fixed", "key", "node", "parts", "scoped", "text")

    def __init__(self, text: str, node: Node, known: re.Pattern[str], key: bool = False):
        self.text, self.node, self.key = text, node, key
        self.parts = list(self._split(text))
        plain = [part for part, offset in self.parts if offset is None]
        self.scoped = not key and known.search("\0".join(plain)) is not None
        self.fixed = not self.scoped and self.parts in ([], [(text, None)])

    def _split(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Yield plain parts, and placeholders with their offset."""
        behind = 0
        for mark in _MARK.finditer(text):
            if mark.start() > behind:
                yield text[behind : mark.start()], None
            behind = mark.end()
            if mark[0] in _DOUBLED:
                yield _DOUBLED[mark[0]], None
            elif mark[1] is None:
                hint = "braces hold placeholders; one brace as text is written twice"
                raise self.error(f"the brace {mark[0]!r} has no partner", hint, mark.start())
            else:
                yield mark[1], mark.start() + 1
        if behind < len(text):
            yield text[behind:], None

    def error(self, message: str, hint: str | None = None, offset: int | None = None) -> RepeatError:
        """Return an error at this text."""
        return RepeatError(self.node, message, hint, None if self.key else offset, self.key)

    def check(self, known: Collection[str], parameters: Collection[str]) -> Iterator[RepeatError]:
        """Yield what is wrong with the placeholders whatever the instance."""
        for part, offset in self.parts:
            if offset is None:
                continue
            try:
                for name, place in names(parse(part, repeated=True)).items():
                    if name in parameters:
                        yield self.error(f"{name!r} is a parameter", OF_CONSTANTS, offset + place)
                    elif name not in known:
                        yield self.error(f"unknown name {name!r} in braces", suggest(name, known), offset + place)
            except ExpressionError as error:
                yield self.error(error.message, error.hint, offset + (error.offset or 0))

    def make(self, values: Values, read: Read) -> Value:
        """Return the text of an instance; a number where one placeholder is all of it."""
        if len(self.parts) == 1 and self.parts[0][1] is not None and not self.key:
            return self._read(*self.parts[0], values, read)
        made = "".join(part if at is None else str(self._read(part, at, values, read)) for part, at in self.parts)
        return Scoped.of(made, values) if self.scoped else made

    def _read(self, part: str, offset: int | None, values: Values, read: Read) -> Value:
        try:
            value = read(part, values)
        except ExpressionError as error:
            raise self.error(error.message, error.hint, (offset or 0) + (error.offset or 0)) from None
        if self.key and isinstance(value, float):
            raise self.error(f"{{{part}}} is {value:g}, and a name takes whole numbers", None, offset)
        return value


class Part:
    """A node of a template with all below it; ``make`` gives that of one instance."""

    __slots__ = ("content", "fixed", "node", "size")

    def __init__(self, node: Node, known: re.Pattern[str]):
        self.node = node
        self.content: Any = None  # Text, or parts by key or in order
        if type(node.value) is str:
            self.content = Text(node.value, node, known)
            self.fixed, self.size = self.content.fixed, 1
        elif type(node.value) is dict:
            entries = [(Text(key, below, known, key=True), Part(below, known)) for key, below in node.value.items()]
            self.content = entries
            self.fixed = all(key.fixed and below.fixed for key, below in entries)
            self.size = 1 + sum(below.size for _, below in entries)
        elif type(node.value) is list:
            self.content = [Part(below, known) for below in node.value]
            self.fixed = all(below.fixed for below in self.content)
            self.size = 1 + sum(below.size for below in self.content)
        else:
            self.fixed, self.size = True, 1

    def texts(self) -> Iterator[Text]:
        """Yield all keys and texts."""
        if isinstance(self.content, Text):
            yield self.content
        elif type(self.node.value) is dict:
            for key, below in self.content:
                yield key
                yield from below.texts()
        else:
            for below in self.content or ():
                yield from below.texts()

    def make(self, values: Values, read: Read, instance: str) -> Node:
        """Return the node of one instance; parts that all instances share are not copied."""
        if self.fixed:
            return self.node
        if isinstance(self.content, Text):
            return made_node(self.node, self.content.make(values, read), instance)
        if type(self.node.value) is list:
            return made_node(self.node, [below.make(values, read, instance) for below in self.content], instance)
        entries: dict[str, Node] = {}
        for key, below in self.content:
            name = str(key.make(values, read))
            if name in entries:
                raise RepeatError(below.node, f"key {name!r} stands twice", "names must differ", key=True)
            entries[name] = below.make(values, read, instance)
            if below.fixed and not key.fixed:
                entries[name] = made_node(below.node, below.node.value, instance)
        return made_node(self.node, entries, instance)


def made_node(template: Node, value: Any, instance: str) -> Node:
    """Return a node that stands where its template does."""
    node = Node(value, template.file, template.line, template.column, template.plain and value is template.value)
    node.key_line, node.key_column = template.key_line, template.key_column
    node.instance = instance
    return node
