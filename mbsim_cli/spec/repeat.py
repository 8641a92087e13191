"""Repetitions: blocks of a file that stand for many items, written out before validation."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from mbsim_cli.errors import Issue
from mbsim_cli.spec.expressions.named_numbers import Expressions
from mbsim_cli.spec.expressions.number import Number, Scoped, Value, Values, fixed
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.model_file import SECTIONS
from mbsim_cli.spec.reading.messages import suggest
from mbsim_cli.spec.reading.nodes import Node, resolve
from mbsim_cli.spec.reading.source import Source, join, merge
from mbsim_cli.spec.rules.names import in_expressions


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


_MARK = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
OF_CONSTANTS = "what is repeated, and how often, follows from constants alone"
_DOUBLED = {"{{": "{", "}}": "}"}

Read = Callable[[str, Values], Value]  # value of what stands in braces


class Text:
    """A text with placeholders in braces; ``scoped``: it may be a formula of names of the instance, too."""

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

    __slots__ = ("below", "fixed", "keys", "node", "size", "text")

    def __init__(self, node: Node, known: re.Pattern[str]):
        self.node, value = node, node.value
        self.text = Text(value, node, known) if type(value) is str else None
        self.keys: list[Text] = []
        self.below: list[Part] = []
        if type(value) is dict:
            for key, below in value.items():
                self.keys.append(Text(key, below, known, key=True))
                self.below.append(Part(below, known))
        elif type(value) is list:
            self.below += [Part(below, known) for below in value]
        own = self.keys if self.text is None else [self.text]
        self.fixed: bool = all(text.fixed for text in own) and all(part.fixed for part in self.below)
        self.size: int = 1 + sum(part.size for part in self.below)

    def texts(self) -> Iterator[Text]:
        """Yield all keys and texts."""
        if self.text is not None:
            yield self.text
        yield from self.keys
        for part in self.below:
            yield from part.texts()

    def make(self, values: Values, read: Read, instance: str) -> Node:
        """Return the node of one instance; parts that all instances share are not copied."""
        if self.fixed:
            return self.node
        if self.text is not None:
            return self.node.at_same_place(self.text.make(values, read), instance)
        if type(self.node.value) is list:
            return self.node.at_same_place([part.make(values, read, instance) for part in self.below], instance)
        made: dict[str, Node] = {}
        for key, below in zip(self.keys, self.below, strict=True):
            name = str(key.make(values, read))
            if name in made:
                raise RepeatError(below.node, f"key {name!r} stands twice", "names must differ", key=True)
            made[name] = below.make(values, read, instance)
            if below.fixed and not key.fixed:
                made[name] = below.node.at_same_place(below.node.value, instance)
        return self.node.at_same_place(made, instance)


# Values of an instance: what its loops count, what stands under ``with``, and what placeholders read.


def section_of(root: Node, name: str) -> dict[str, Node]:
    """A section of a file by names; empty where there is none."""
    node = root.value.get(name)
    return node.value if node is not None and type(node.value) is dict else {}


def constants_of(root: Node, overrides: Mapping[str, str]) -> Expressions:
    """The constants of a file, with those of the command line; what is wrong with others is reported later."""
    found = {}
    for name, node in section_of(root, "constants").items():
        try:
            found[name] = Number.read(resolve(overrides[name].strip()) if name in overrides else node.value)
        except PydanticCustomError:
            continue
    return Expressions({}, found)


class Reader:
    """Reads numbers of a repetition; ``parameters`` are names that it cannot depend on."""

    def __init__(self, constants: Expressions, parameters: Collection[str]):
        self._constants, self._parameters = constants, parameters

    def read(self, text: str, values: Values) -> Value:
        """Return what a placeholder gives; raises ExpressionError."""
        found = fixed(text, values)
        if isinstance(found, float):
            return _whole(found)
        if isinstance(values.get(text.strip()), str):
            return found
        for name in names(parse(found)):
            if name in self._parameters:
                raise ExpressionError(f"{name!r} is a parameter", None, OF_CONSTANTS)
            if name not in self._constants:
                raise ExpressionError(f"unknown name {name!r}", None, suggest(name, [*values, *self._constants.names]))
            if name in self._constants.errors:
                raise ExpressionError(f"constant {name!r} has no value here: {self._constants.errors[name].message}")
        return _whole(self._constants.value(Number(found)).real)

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


ENDS = ("first", "last")
_OVER = ("with", "repeat", *SECTIONS)  # what may be laid over an instance
_KEYS = ("for", *ENDS, *_OVER)
_NOTHING = re.compile("(?!)")
_SAME = "every instance gives the same values"


def wrong_with(block: Node, outer: Collection[str], taken: dict[str, str], known: Collection[str]) -> list[RepeatError]:
    """What is wrong with a block, by names of blocks around it and of the file, and ``known`` constants."""
    if type(block.value) is not dict:
        return [RepeatError(block, "must be a mapping", "a block has 'for' and sections")]
    shape = list(_shape(block))
    if shape:
        return shape
    parameters = [name for name, section in taken.items() if section == "parameters"]
    known = {*outer, *dict(_own(block)), *known}
    return list(_names_of_block(block, outer, taken)) or list(_placeholders(block, known, parameters))


def _own(block: Node) -> Iterator[tuple[str, Node]]:
    """Names that a block gives its instances, each with a node under that key."""
    for name, loop in block.value["for"].value.items():
        yield name, loop
        if type(loop.value) is dict:
            yield from _values_of(loop).items()
    if "with" in block.value:
        yield from block.value["with"].value.items()


def _values_of(loop: Node) -> dict[str, Node]:
    """Values of the first of named instances."""
    return next(iter(loop.value.values())).value or {}


def _shape(block: Node) -> Iterator[RepeatError]:
    yield from _wrong_entries(block, _KEYS)
    for end in ENDS:
        if end in block.value and type(block.value[end].value) is dict:
            yield from _end(block.value[end], block)
    if "for" not in block.value:
        yield RepeatError(block, "key 'for' is missing", "for: {i: [1, n]}", key=True)
    elif type(block.value["for"].value) is dict:
        if not block.value["for"].value:
            yield RepeatError(block.value["for"], "counts nothing", "for: {i: [1, n]}", key=True)
        for name, loop in block.value["for"].value.items():
            yield from _loop(name, loop)


def _wrong_entries(part: Node, known: tuple[str, ...]) -> Iterator[RepeatError]:
    for key, node in part.value.items():
        if key not in known:
            yield RepeatError(node, f"unknown key {key!r}", suggest(key, known), key=True)
        elif type(node.value) is not dict:
            yield RepeatError(node, "must be a mapping", key=node.value is None)


def _end(end: Node, block: Node) -> Iterator[RepeatError]:
    yield from _wrong_entries(end, _OVER)
    given = block.value["with"].value if "with" in block.value else {}
    if type(given) is dict:
        for name, node in section_of(end, "with").items():
            if name not in given:
                hint = suggest(name, given) or "give it to the other instances, too"
                yield RepeatError(node, f"{name!r} does not stand in 'with' of the block", hint, key=True)


def _loop(name: str, loop: Node) -> Iterator[RepeatError]:
    if type(loop.value) is list and len(loop.value) == 2:
        return
    if type(loop.value) is not dict or not loop.value:
        hint = f"{name}: [1, n], or {name}: {{left: {{side: 1}}, right: {{side: -1}}}}"
        yield RepeatError(loop, "must be [first, last] or a mapping of named instances", hint)
        return
    wrong = [node for node in loop.value.values() if type(node.value) is not dict and node.value is not None]
    if wrong:
        yield from (RepeatError(node, "must be a mapping of values") for node in wrong)
        return
    wanted = _values_of(loop)
    for node in loop.value.values():
        given = node.value or {}
        for key in (key for key in wanted if key not in given):
            yield RepeatError(node, f"{key!r} is missing", _SAME, key=True)
        for key in (key for key in given if key not in wanted):
            yield RepeatError(given[key], f"{key!r} is missing in the first instance", _SAME, key=True)


def _names_of_block(block: Node, outer: Collection[str], taken: dict[str, str]) -> Iterator[RepeatError]:
    before = set(outer)
    for name, node in _own(block):
        for message, hint in in_expressions(name):
            yield RepeatError(node, message, hint, key=True)
        if name in before:
            yield RepeatError(node, f"{name!r} stands twice in one repetition", "give it another name", key=True)
        elif name in taken:
            message = f"{name!r} is also one of the {taken[name]}"
            yield RepeatError(node, message, "give one of them another name", key=True)
        before.add(name)


def _placeholders(block: Node, known: Collection[str], parameters: Collection[str]) -> Iterator[RepeatError]:
    bodies = [block, *(block.value[end] for end in ENDS if end in block.value)]
    for key, node in ((key, node) for body in bodies for key, node in body.value.items()):
        if key not in ("for", "repeat", *ENDS):
            try:
                for text in Part(node, _NOTHING).texts():
                    yield from text.check(known, parameters)
            except RepeatError as error:
                yield error


MAX_MADE = 4_000_000  # entries that repetitions may add in all
Path = tuple[str, ...]


def write_out(source: Source, overrides: Mapping[str, str]) -> list[Issue]:
    """Replace the repetitions of a file, which has some, by what they stand for; return what is wrong with them."""
    root = source.root
    source.root = root.at_same_place(dict(root.value))
    blocks = source.root.value.pop("repeat")
    writer = _Writer(source.root.value, root, overrides)
    writer.write(blocks, ("repeat",), {}, "")
    issues = []
    for error in writer.wrong:
        file, line, column = error.place
        issues.append(Issue(file, line, column, join(error.path), error.message, error.hint, source.line(file, line)))
    return issues


class _Block:
    """A block as templates."""

    def __init__(self, node: Node, outer: Values):
        self.loops: list[tuple[str, Node]] = list(node.value["for"].value.items())
        body = {key: below for key, below in node.value.items() if key not in ("for", *ENDS)}
        self._body = node.at_same_place(body)
        self._ends = [node.value.get(end) for end in ENDS]
        names = "|".join(map(re.escape, [*outer, *dict(_own(node))]))
        self._own = re.compile(rf"(?<![\w.])(?:{names})(?!\w)")
        self._variants: dict[tuple[bool, bool], tuple[dict[str, Part], Node | None, int]] = {}

    def variant(self, first: bool = False, last: bool = False) -> tuple[dict[str, Part], Node | None, int]:
        """Templates by section, the blocks inside, and the number of entries that one instance has."""
        if (first, last) not in self._variants:
            body = self._body
            for end, wanted in zip(self._ends, (first, last), strict=True):
                body = merge(body, end) if wanted and end is not None else body
            parts = {key: Part(node, self._own) for key, node in body.value.items() if key != "repeat"}
            size = 1 + sum(part.size for part in parts.values())
            self._variants[first, last] = parts, body.value.get("repeat"), size
        return self._variants[first, last]


class _Writer:
    """Adds what blocks make to the sections of a file; ``wrong`` collects one error a block, or all of its form."""

    def __init__(self, sections: dict[str, Node], root: Node, overrides: Mapping[str, str]):
        self.wrong: list[RepeatError] = []
        self._sections = sections
        constants = constants_of(root, overrides)
        names = {name: section for section in ("parameters", "constants") for name in section_of(root, section)}
        self._known = names, constants.names
        self._reader = Reader(constants, section_of(root, "parameters"))
        self._blocks: dict[int, _Block | None] = {}
        self._owned: set[int] = set()  # ids of nodes made here, that may be added to
        self._made = 0

    def write(self, blocks: Node, path: Path, outer: Values, instance: str) -> None:
        """Write out all blocks of a section ``repeat``, in an instance of the block around them."""
        if blocks.value is None:
            return
        called_for = blocks.value.get("for") if type(blocks.value) is dict else None  # a block of this name, or a loop
        if type(blocks.value) is not dict or (called_for is not None and "for" not in (called_for.value or ())):
            hint = "such as row in {row: {for: {i: [1, n]}}}"
            self._report(RepeatError(blocks, "must be a mapping of blocks", hint), path)
            return
        for name, node in blocks.value.items():
            place = (*path, name)
            if id(node) not in self._blocks:
                wrong = wrong_with(node, outer, *self._known)
                for error in wrong:
                    self._report(error, place)
                self._blocks[id(node)] = None if wrong else _Block(node, outer)
            block = self._blocks[id(node)]
            if block is not None:
                try:
                    self._write(block, place, outer, instance)
                except RepeatError as error:
                    self._report(error, place)
                    self._blocks[id(node)] = None  # the first instance that fails stands for all

    def _report(self, error: RepeatError, path: Path) -> None:
        error.path = path
        self.wrong.append(error)

    def _write(self, block: _Block, path: Path, outer: Values, instance: str) -> None:
        read = self._reader.read
        for values, first, last in self._instances(block, block.loops, dict(outer)):
            counted = ", ".join(f"{name} = {values[name]}" for name, _ in block.loops)
            here = f"{instance.removesuffix(')')}, {counted})" if instance else f" (in {join(path)}, {counted})"
            parts, inside, size = block.variant(first, last)
            self._made += size
            try:
                self._give(parts.get("with"), values)
                for section, part in parts.items():
                    if section != "with":
                        self._add(self._sections, section, part.make(values, read, here))
            except RepeatError as error:
                error.message += here
                raise
            if inside is not None:
                self.write(inside, (*path, "repeat"), values, here)

    def _instances(
        self, block: _Block, loops: list[tuple[str, Node]], values: dict[str, Value]
    ) -> Iterator[tuple[dict[str, Value], bool, bool]]:
        """Yield the values of each instance, and whether it is the first or last of the innermost loop."""
        (name, loop), inside = loops[0], loops[1:]
        ways: Iterator[dict[str, Value]]
        if type(loop.value) is dict:
            count, ways = len(loop.value), self._reader.named(name, loop, values)
        else:
            first, last = self._reader.bounds(loop, values)
            count, ways = last - first + 1, ({name: number} for number in range(first, last + 1))
        if self._made + count * block.variant()[2] > MAX_MADE:
            raise RepeatError(loop, f"more than {MAX_MADE:,} entries are made".replace(",", " "), "repeat less")
        for place, way in enumerate(ways):
            if inside:
                yield from self._instances(block, inside, {**values, **way})
            else:
                yield {**values, **way}, place == 0, place + 1 == count

    def _give(self, given: Part | None, values: dict[str, Value]) -> None:
        """Add what stands under ``with``, each read with those before it."""
        for key, part in zip(given.keys, given.below, strict=True) if given is not None else ():
            made = part.node.value if part.text is None else part.text.make(values, self._reader.read)
            values[key.text] = self._reader.value(part.node, made, values)

    def _add(self, entries: dict[str, Node], key: str, made: Node) -> None:
        """Add a node to a mapping; mappings are merged key by key, anything else must not be there yet."""
        there = entries.get(key)
        if there is None or (there.value is None and type(made.value) is dict):
            entries[key] = made
            return
        if type(there.value) is not dict or type(made.value) is not dict:
            same = (there.file, there.key_line) == (made.file, made.key_line)
            twice = f"{key!r} is made twice" if same else f"{key!r} stands in line {there.key_line} already"
            raise RepeatError(made, twice, "names differ where they hold a placeholder such as {i}", key=True)
        if id(there) not in self._owned:
            # a copy, because instances and aliases share what they have in common
            there = entries[key] = there.at_same_place(dict(there.value))
            self._owned.add(id(there))
        for name, node in made.value.items():
            self._add(there.value, name, node)
