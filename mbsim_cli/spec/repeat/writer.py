"""Repeated entries checked and written out."""

import re
from collections.abc import Collection, Iterator, Mapping

from mbsim_cli.errors import Issue
from mbsim_cli.spec.expressions.number import Value, Values
from mbsim_cli.spec.reading.include import merge
from mbsim_cli.spec.reading.nodes import Node
from mbsim_cli.spec.reading.source import Source, join
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.spec.repeat.template import Part, Reader, RepeatError, Text, constants_of, made_node
from mbsim_cli.spec.rules.naming import in_expressions
from mbsim_cli.spec.sections import SECTIONS

# What is wrong with a block whatever its instance: keys, names, and placeholders that read unknown names.

ENDS = ("first", "last")
_OVER = ("with", "repeat", *SECTIONS)  # what may be laid over an instance
_KEYS = ("for", *ENDS, *_OVER)
_NOTHING = re.compile("(?!)")
_SAME = "every instance gives the same values"


def wrong_with(
    block: Node, outer: Collection[str], taken: dict[str, str], constants: Collection[str]
) -> list[RepeatError]:
    """Return what is wrong with a block; ``outer`` are names of blocks around it, ``taken`` names of the file.

    ``constants`` are the names that placeholders may read, too.
    """
    if type(block.value) is not dict:
        return [RepeatError(block, "must be a mapping", "a block has 'for' and sections")]
    shape = list(_shape(block))
    if shape:
        return shape
    parameters = [name for name, section in taken.items() if section == "parameters"]
    known = {*outer, *own_names(block), *constants}
    return list(_names_of_block(block, outer, taken)) or list(_placeholders(block, known, parameters))


def own_names(block: Node) -> dict[str, Node]:
    """Names that a block gives its instances, each with a node under that key; the first where one stands twice."""
    return {name: node for name, node in reversed(list(_own(block)))}


def _own(block: Node) -> Iterator[tuple[str, Node]]:
    for name, loop in block.value["for"].value.items():
        yield name, loop
        if type(loop.value) is dict:
            yield from _values_of(loop).items()
    yield from _entries(block, "with").items()


def _values_of(loop: Node) -> dict[str, Node]:
    """Values of the first of named instances."""
    return next(iter(loop.value.values())).value or {}


def _entries(node: Node, key: str) -> dict[str, Node]:
    return node.value[key].value if key in node.value else {}


def _shape(block: Node) -> Iterator[RepeatError]:
    for key, node in block.value.items():
        if key not in _KEYS:
            yield RepeatError(node, f"unknown key {key!r}", suggest(key, _KEYS), key=True)
        elif type(node.value) is not dict:
            yield RepeatError(node, "must be a mapping", key=node.value is None)
        elif key in ENDS:
            yield from _end(node, block)
    if "for" not in block.value:
        yield RepeatError(block, "key 'for' is missing", "for: {i: [1, n]}", key=True)
    elif type(block.value["for"].value) is dict:
        if not block.value["for"].value:
            yield RepeatError(block.value["for"], "counts nothing", "for: {i: [1, n]}", key=True)
        for name, loop in block.value["for"].value.items():
            yield from _loop(name, loop)


def _end(end: Node, block: Node) -> Iterator[RepeatError]:
    given = block.value["with"].value if "with" in block.value else {}
    for key, node in end.value.items():
        if key not in _OVER:
            yield RepeatError(node, f"unknown key {key!r}", suggest(key, _OVER), key=True)
        elif type(node.value) is not dict:
            yield RepeatError(node, "must be a mapping", key=node.value is None)
        elif key == "with" and type(given) is dict:
            for name in (name for name in node.value if name not in given):
                hint = suggest(name, given) or "give it to the other instances, too"
                yield RepeatError(node.value[name], f"{name!r} does not stand in 'with' of the block", hint, key=True)


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
    seen = set(outer)
    for name, node in _own(block):
        for message, hint in in_expressions(name):
            yield RepeatError(node, message, hint, key=True)
        if name in seen:
            yield RepeatError(node, f"{name!r} stands twice in one repetition", "give it another name", key=True)
        elif name in taken:
            message = f"{name!r} is also one of the {taken[name]}"
            yield RepeatError(node, message, "give one of them another name", key=True)
        seen.add(name)


def _placeholders(block: Node, known: Collection[str], parameters: Collection[str]) -> Iterator[RepeatError]:
    bodies = [block, *(block.value[end] for end in ENDS if end in block.value)]
    for key, node in ((key, node) for body in bodies for key, node in body.value.items()):
        if key not in ("for", "repeat", *ENDS):
            try:
                for text in Part(node, _NOTHING).texts():
                    yield from text.check(known, parameters)
            except RepeatError as error:
                yield error


# Writing repetitions out: from blocks to ordinary items of the file's sections.

MAX_MADE = 4_000_000  # entries that repetitions may add in all
Path = tuple[str, ...]


def write_out(source: Source, overrides: Mapping[str, str]) -> list[Issue]:
    """Replace the repetitions of a file by what they stand for; return what is wrong with them."""
    root = source.root
    if root is None or "repeat" not in root.value:
        return []
    source.root = made_node(root, dict(root.value), "")
    blocks = source.root.value.pop("repeat")
    writer = _Writer(source.root.value, root, overrides)
    writer.write(blocks, ("repeat",), {}, "")
    return [_issue(source, error) for error in writer.wrong]


def _issue(source: Source, error: RepeatError) -> Issue:
    file, line, column = error.place
    return Issue(file, line, column, join(error.path), error.message, error.hint, source.line(file, line))


class _Block:
    """A block as templates."""

    def __init__(self, node: Node, outer: Values):
        self.loops: list[tuple[str, Node]] = list(node.value["for"].value.items())
        body = {key: below for key, below in node.value.items() if key not in ("for", *ENDS)}
        self._body = made_node(node, body, "")
        self._ends = [node.value.get(end) for end in ENDS]
        names = "|".join(map(re.escape, [*outer, *own_names(node)]))
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
        names = {name: section for section in ("parameters", "constants") for name in _names(root, section)}
        self._judged = names, constants.names
        self._reader = Reader(constants, dict.fromkeys(_names(root, "parameters")))
        self._blocks: dict[int, _Block | None] = {}
        self._owned: set[int] = set()  # ids of nodes made here, that may be added to
        self._made = 0

    def write(self, blocks: Node, path: Path, outer: Values, instance: str) -> None:
        """Write out all blocks of a section ``repeat``, in an instance of the block around them."""
        if type(blocks.value) is not dict:
            if blocks.value is not None:
                self._report(RepeatError(blocks, "must be a mapping of blocks"), path)
            return
        for name, node in blocks.value.items():
            place = (*path, name)
            if id(node) not in self._blocks:
                wrong = wrong_with(node, outer, *self._judged)
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
        for key, part in given.content if given is not None else ():
            content = part.content
            made = content.make(values, self._reader.read) if isinstance(content, Text) else part.node.value
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
            there = entries[key] = made_node(there, dict(there.value), "")
            self._owned.add(id(there))
        for name, node in made.value.items():
            self._add(there.value, name, node)


def _names(root: Node, section: str) -> list[str]:
    node = root.value.get(section)
    return list(node.value) if node is not None and type(node.value) is dict else []
