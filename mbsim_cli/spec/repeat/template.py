"""Templates of repeated entries, and the values that they are written with."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from mbsim_cli.spec.expressions.named_numbers import Expressions
from mbsim_cli.spec.expressions.number import Number, Scoped, Value, Values, fixed
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.reading.nodes import Node, resolve
from mbsim_cli.spec.reading.suggestions import suggest

# What is wrong with a repetition, at a node of the file.


class RepeatError(Exception):
    """A repetition is wrong at a node, or at the key that it stands under; ``path`` is that of the block."""

    def __init__(self, node: Node, message: str, hint: str | None = None, offset: int | None = None, key: bool = False):
        super().__init__(message)
        self.node, self.message, self.hint, self.offset, self.key = node, message, hint, offset, key
        self.path: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, int, int]:
        """File, line and column."""
        node = self.node
        if self.key and node.key_line:
            return node.file, node.key_line, node.key_column
        return node.file, node.line, node.column + (self.offset if self.offset and node.plain else 0)


# Parts of a repetition as templates: nodes whose keys and texts hold placeholders in braces.

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


# Values of an instance: what its loops count, what stands under ``with``, and what placeholders read.


def constants_of(root: Node, overrides: Mapping[str, str]) -> Expressions:
    """The constants of a file, with those of the command line; what is wrong with others is reported later."""
    section, found = root.value.get("constants"), {}
    for name, node in section.value.items() if section is not None and type(section.value) is dict else ():
        try:
            found[name] = Number.read(resolve(overrides[name].strip()) if name in overrides else node.value)
        except PydanticCustomError:
            continue
    return Expressions({}, found)


class Reader:
    """Reads numbers of a repetition; ``parameters`` are names that it cannot depend on."""

    def __init__(self, constants: Expressions, parameters: Mapping[str, Any]):
        self._constants, self._parameters = constants, parameters

    def read(self, text: str, values: Values) -> Value:
        """Return what a placeholder gives; raises ExpressionError."""
        found = fixed(text, values)
        if isinstance(found, float):
            return _whole(found)
        if isinstance(values.get(text.strip()), str):
            return found
        self._check(found, values)
        return _whole(self._constants.value(Number(found)).real)

    def _check(self, text: str, values: Values) -> None:
        for name in names(parse(text)):
            if name in self._parameters:
                raise ExpressionError(f"{name!r} is a parameter", None, OF_CONSTANTS)
            if name not in self._constants:
                raise ExpressionError(f"unknown name {name!r}", None, suggest(name, [*values, *self._constants.names]))
            if name in self._constants.errors:
                cause = self._constants.errors[name].message
                raise ExpressionError(f"constant {name!r} has no value here: {cause}")

    def bounds(self, loop: Node, values: Values) -> tuple[int, int]:
        """Return the first and last number of a range."""
        first, last = (self._bound(node, values) for node in loop.value)
        if last < first - 1:
            hint = "[first, last], the last included; [1, 0] makes nothing"
            raise RepeatError(loop, f"the range goes from {first} to {last}", hint)
        return first, last

    def _bound(self, node: Node, values: Values) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float | str):
            raise RepeatError(node, "must be a whole number or an expression")
        try:
            number = self.read(str(node.value), values)
        except ExpressionError as error:
            raise RepeatError(node, error.message, error.hint, error.offset) from None
        if not isinstance(number, int):
            shown = f"{number:g}" if isinstance(number, float) else repr(number)
            raise RepeatError(node, f"must be a whole number, is {shown}")
        return number

    def named(self, name: str, loop: Node, values: Values) -> Iterator[dict[str, Value]]:
        """Yield the values of named instances."""
        for instance, node in loop.value.items():
            given: dict[str, Value] = {name: instance}
            for key, below in (node.value or {}).items():
                given[key] = self.value(below, below.value, values)
            yield given

    def value(self, node: Node, value: Any, values: Values) -> Value:
        """Return a number as it is, a formula of the instance's names as its value, anything else as a text."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise RepeatError(node, "must be a number or a text")
        if not isinstance(value, str):
            return value
        try:
            reads_own = any(name in values for name in names(parse(str(value), repeated=True)))
            found = fixed(str(value), values) if reads_own else str(value)
        except ExpressionError:
            return str(value)  # a text that is no formula
        return found if isinstance(found, str) else _whole(found)


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
