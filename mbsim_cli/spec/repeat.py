"""Repetitions: blocks of a file that stand for many items, written out before anything is judged."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mbsim_cli.errors import Issue
from mbsim_cli.spec.expressions import Expressions
from mbsim_cli.spec.include import merge
from mbsim_cli.spec.nodes import Node, resolve
from mbsim_cli.spec.number import Number
from mbsim_cli.spec.repetition import SECTIONS, Repetition
from mbsim_cli.spec.rules.naming import in_expressions
from mbsim_cli.spec.scoped import Scoped, Value, Values, fixed
from mbsim_cli.spec.source import Source, join
from mbsim_cli.spec.suggestions import suggest
from mbsim_cli.spec.syntax import ExpressionError, names, parse
from mbsim_cli.spec.template import Part, RepeatError, Text, made_node

MAX_MADE = 10_000_000  # entries that repetitions may add in all
_OWN = ("for", "with", "first", "last", "repeat")
_ENDS = ("first", "last")


def write_out(source: Source, overrides: Mapping[str, str]) -> list[Issue]:
    """Replace the repetitions of a file by what they stand for; return what is wrong with them."""
    root = source.root
    if root is None or "repeat" not in root.value:
        return []
    source.root = made_node(root, dict(root.value), "")
    blocks = source.root.value.pop("repeat")
    writer = _Writer(source, _constants(root, overrides))
    writer.blocks(blocks, ("repeat",), {}, "")
    return writer.issues


def _constants(root: Node, overrides: Mapping[str, str]) -> Expressions:
    """The constants of a file that have no errors, and those of the command line; others are reported later."""
    found: dict[str, Number] = {}
    section = root.value.get("constants")
    for name, node in section.value.items() if section is not None and type(section.value) is dict else ():
        try:
            found[name] = Number.read(resolve(overrides[name].strip()) if name in overrides else node.value)
        except Exception as error:  # noqa: BLE001
            if type(error).__name__ != "PydanticCustomError":
                raise
    return Expressions({}, found)


class _Block:
    """A block with its instances' names; ``variant`` gives the templates of an inner, first or last instance."""

    def __init__(self, node: Node, outer: Values):
        self.node = node
        self.loops: dict[str, Node] = node.value["for"].value
        self.names = [*outer, *self.loops]
        for node_of in self.loops.values():
            self.names += _given(node_of)
        body = dict(node.value)
        self._ends = {end: body.pop(end, None) for end in _ENDS}
        del body["for"]
        self._body = made_node(node, body, "")
        self.with_: Node | None = body.get("with")
        self.names += self.with_.value if self.with_ is not None else ()
        self.known = re.compile(r"(?<![\w.])(?:" + "|".join(map(re.escape, dict.fromkeys(self.names))) + r")(?!\w)")
        self._variants: dict[tuple[bool, ...], tuple[dict[str, Part], Node | None, int]] = {}

    def variant(self, *ends: bool) -> tuple[dict[str, Part], Node | None, int]:
        """Return the templates by section, nested blocks, and how many entries an instance has."""
        if ends not in self._variants:
            body = self._body
            for end, wanted in zip(_ENDS, ends, strict=True):
                over = self._ends[end]
                body = merge(body, over) if wanted and over is not None else body
            parts = {key: Part(node, self.known) for key, node in body.value.items() if key != "repeat"}
            size = sum(part.size for part in parts.values()) + 1
            self._variants[ends] = parts, body.value.get("repeat"), size
        return self._variants[ends]


def _given(loop: Node) -> list[str]:
    """Names that named instances have values under."""
    if type(loop.value) is not dict or not loop.value:
        return []
    first = next(iter(loop.value.values()))
    return list(first.value) if type(first.value) is dict else []


class _Writer:
    """Writes blocks out into the root of a source."""

    def __init__(self, source: Source, constants: Expressions):
        self.source, self.constants = source, constants
        self.issues: list[Issue] = []
        self._root: dict[str, Node] = source.root.value if source.root is not None else {}
        self._owned: set[int] = set()  # nodes made here, that may be added to
        self._made = 0

    def blocks(self, node: Node, path: tuple[str, ...], outer: Values, instance: str) -> None:
        """Write out all blocks of a section ``repeat``."""
        if node.value is None:
            return
        if type(node.value) is not dict:
            self._report(path, RepeatError(node, "must be a mapping of blocks"), instance)
            return
        for name, block in node.value.items():
            place = (*path, name)
            wrong = list(self._wrong(block, outer))
            for error in wrong:
                self._report(place, error, instance)
            if not wrong:
                try:
                    self._block(place, _Block(block, outer), outer, instance)
                except RepeatError as error:
                    self._report(place, error, instance)

    def _report(self, path: tuple[str, ...], error: RepeatError, instance: str) -> None:
        node = error.node
        line, column = (node.key_line, node.key_column) if error.key else (node.line, node.column)
        if not error.key and error.offset and node.plain:
            column += error.offset
        excerpt = self.source.line(node.file, line)
        issue = Issue(node.file, line, column, join(path), error.message + instance, error.hint, excerpt)
        if not any((line, column) == (other.line, other.column) and node.file == other.file for other in self.issues):
            self.issues.append(issue)

    def _wrong(self, block: Node, outer: Values) -> Iterator[RepeatError]:
        """Yield what is wrong with a block whatever its instance."""
        if type(block.value) is not dict:
            yield RepeatError(block, "must be a mapping", "a block has 'for' and sections")
            return
        for key, node in block.value.items():
            if key not in (*_OWN, *SECTIONS):
                yield RepeatError(node, f"unknown key {key!r}", suggest(key, (*_OWN, *SECTIONS)), key=True)
            elif key in _ENDS:
                yield from self._wrong_end(key, node, block)
            elif type(node.value) is not dict and node.value is not None:
                yield RepeatError(node, "must be a mapping")
        if "for" not in block.value:
            yield RepeatError(block, "key 'for' is missing", "for: {i: [1, n]}", key=True)
            return
        loops = block.value["for"]
        if type(loops.value) is not dict or not loops.value:
            yield RepeatError(loops, "must be a mapping of what is counted", "for: {i: [1, n]}")
            return
        for name, loop in loops.value.items():
            yield from self._wrong_loop(name, loop)
        if any(type(block.value[key].value) is not dict for key in block.value if key in ("with", *_ENDS)):
            return
        yield from self._wrong_names(block, outer)

    def _wrong_end(self, key: str, node: Node, block: Node) -> Iterator[RepeatError]:
        if type(node.value) is not dict:
            yield RepeatError(node, "must be a mapping", f"it is laid over the {key} instance")
            return
        for inner, below in node.value.items():
            if inner not in ("with", "repeat", *SECTIONS):
                hint = suggest(inner, ("with", "repeat", *SECTIONS))
                yield RepeatError(below, f"unknown key {inner!r}", hint, key=True)
            elif type(below.value) is not dict:
                yield RepeatError(below, "must be a mapping")
            elif inner == "with":
                given = block.value["with"].value if "with" in block.value else {}
                for name, value in below.value.items():
                    if type(given) is dict and name not in given:
                        yield RepeatError(value, f"{name!r} does not stand in 'with' of the block", key=True)

    def _wrong_loop(self, name: str, loop: Node) -> Iterator[RepeatError]:
        if type(loop.value) is list and len(loop.value) == 2:
            return
        if type(loop.value) is not dict:
            hint = f"{name}: [1, n], or {name}: {{left: {{side: 1}}, right: {{side: -1}}}}"
            yield RepeatError(loop, "must be [first, last] or a mapping of named instances", hint)
            return
        wanted = _given(loop)
        for instance, values in loop.value.items():
            if type(values.value) is not dict and values.value is not None:
                yield RepeatError(values, "must be a mapping of values", f"{instance}: {{side: 1}}")
                continue
            given = values.value or {}
            for missing in (key for key in wanted if key not in given):
                yield RepeatError(values, f"{missing!r} is missing", "every instance gives the same values", key=True)
            for key, value in given.items():
                if key not in wanted:
                    hint = "every instance gives the same values"
                    yield RepeatError(value, f"{key!r} is missing in the first instance", hint, key=True)

    def _wrong_names(self, block: Node, outer: Values) -> Iterator[RepeatError]:
        """Names that cannot be used, and placeholders that read unknown ones."""
        seen = set(outer)
        own = [(name, loop) for name, loop in block.value["for"].value.items()]
        for _, loop in list(own):
            if type(loop.value) is dict and loop.value:
                first = next(iter(loop.value.values()))
                own += list(first.value.items()) if type(first.value) is dict else []
        own += list(block.value["with"].value.items()) if "with" in block.value else []
        for name, node in own:
            for message, hint in in_expressions(name):
                yield RepeatError(node, message, hint, key=True)
            if name in seen:
                yield RepeatError(node, f"{name!r} stands twice in one repetition", "give it another name", key=True)
            for section in ("constants", "parameters"):
                if section in self._root and name in (self._root[section].value or {}):
                    what = f"{name!r} is also one of the {section}"
                    yield RepeatError(node, what, "give it another name", key=True)
            seen.add(name)
        known = {*seen, *self.constants.names}
        pattern = re.compile("(?!)")
        for key, node in block.value.items():
            if key in ("for", "repeat"):
                continue
            for part in node.value.values() if key in _ENDS and type(node.value) is dict else (node,):
                try:
                    for text in Part(part, pattern).texts():
                        yield from text.check(known)
                except RepeatError as error:
                    yield error

    def _block(self, path: tuple[str, ...], block: _Block, outer: Values, instance: str) -> None:
        for values, first, last in self._instances(block, list(block.loops.items()), dict(outer), True):
            parts, nested, size = block.variant(first, last)
            self._count(block.node, size)
            shown = ", ".join(f"{name} = {values[name]}" for name in block.loops)
            here = f"{instance[:-1]}, {shown})" if instance else f" (in {join(path)}, {shown})"
            try:
                self._values(parts.get("with"), values)
                for section, part in parts.items():
                    if section != "with":
                        made = part.make(values, self._read, here)
                        self._add(self._root, section, made, here)
            except RepeatError as error:
                error.message += here
                raise
            if nested is not None:
                self.blocks(nested, (*path, "repeat"), values, here)

    def _instances(
        self, block: _Block, loops: list[tuple[str, Node]], values: dict[str, Value], innermost: bool
    ) -> Iterator[tuple[dict[str, Value], bool, bool]]:
        """Yield the values of each instance, and whether it is the first or last of the innermost loop."""
        (name, loop), inner = loops[0], loops[1:]
        ways = self._named(name, loop, values) if type(loop.value) is dict else self._range(name, loop, values, block)
        count = len(loop.value) if type(loop.value) is dict else None
        for place, (way, last) in enumerate(ways):
            if inner:
                yield from self._instances(block, inner, {**values, **way}, innermost)
            else:
                yield {**values, **way}, place == 0, last or place + 1 == count

    def _named(self, name: str, loop: Node, values: Values) -> Iterator[tuple[dict[str, Value], bool]]:
        for instance, node in loop.value.items():
            given: dict[str, Value] = {name: instance}
            for key, value in (node.value or {}).items():
                given[key] = self._value(value, value.value, values)
            yield given, False

    def _range(
        self, name: str, loop: Node, values: Values, block: _Block
    ) -> Iterator[tuple[dict[str, Value], bool]]:
        first, last = (self._bound(node, values) for node in loop.value)
        if last < first - 1:
            raise RepeatError(loop, f"the range of {name!r} goes from {first} to {last}", "[first, last], both included")
        self._count(loop, last - first + 1, dry=True)
        for number in range(first, last + 1):
            yield {name: number}, number == last

    def _bound(self, node: Node, values: Values) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float | str):
            raise RepeatError(node, "must be a whole number or an expression")
        try:
            number = self._read(str(node.value), values)
        except ExpressionError as error:
            raise RepeatError(node, error.message, error.hint, error.offset) from None
        if not isinstance(number, int):
            raise RepeatError(node, f"must be a whole number, is {number:g}" if isinstance(number, float) else "must be a whole number")
        return number

    def _count(self, node: Node, entries: int, dry: bool = False) -> None:
        if self._made + entries > MAX_MADE:
            raise RepeatError(node, f"repetitions make more than {MAX_MADE:,} entries".replace(",", " "), key=True)
        self._made += 0 if dry else entries

    def _values(self, given: Part | None, values: dict[str, Value]) -> None:
        """Add what stands under ``with``, each read with those before it."""
        for key, part in given.content if given is not None else ():
            content = part.content
            made = content.make(values, self._read) if isinstance(content, Text) else part.node.value
            values[key.text] = self._value(part.node, made, values)

    def _value(self, node: Node, value: Any, values: Values) -> Value:
        """A number, a formula of the instance's names as its value, or a text."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise RepeatError(node, "must be a number or a text")
        if not isinstance(value, str):
            return value
        try:
            used = names(parse(str(value), repeated=True))
            found = fixed(str(value), values) if any(name in values for name in used) else str(value)
        except ExpressionError:
            return str(value)
        return found if isinstance(found, str) else _whole(found)

    def _read(self, text: str, values: Values) -> Value:
        """Value of a placeholder or bound; raises ExpressionError."""
        found = fixed(text, values)
        if isinstance(found, float):
            return _whole(found)
        if isinstance(values.get(text.strip()), str):
            return found
        try:
            return _whole(self.constants.value(Number(found)).real)
        except ExpressionError as error:
            hint = error.hint
            if "unknown parameter or constant" in error.message:
                name = error.message.split("'")[1]
                known = [*values, *self.constants.names]
                what = "is a parameter" if self._is_parameter(name) else "is unknown"
                hint = "ranges and placeholders are made of constants" if "par" in what else suggest(name, known)
                raise ExpressionError(f"{name!r} {what}", None, hint) from None
            raise ExpressionError(error.message, None, hint) from None

    def _is_parameter(self, name: str) -> bool:
        section = self._root.get("parameters")
        return section is not None and type(section.value) is dict and name in section.value

    def _add(self, entries: dict[str, Node], key: str, made: Node, instance: str) -> None:
        """Add a node to a mapping; mappings are merged key by key, anything else must not be there yet."""
        below = entries.get(key)
        if below is None or (below.value is None and type(made.value) is dict):
            entries[key] = made
            return
        if type(below.value) is not dict or type(made.value) is not dict:
            where = f"line {below.key_line or below.line}"
            message = f"{key!r} stands in {where} already" if not below.instance else f"{key!r} is made twice"
            raise RepeatError(made, message, "a name in braces, such as {i}, makes names differ", key=True)
        if id(below) not in self._owned:
            copied = made_node(below, dict(below.value), below.instance)
            self._owned.add(id(copied))
            entries[key] = below = copied
        for name, node in made.value.items():
            self._add(below.value, name, node, instance)


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
