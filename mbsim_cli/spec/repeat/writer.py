"""Writing repetitions out: from blocks to ordinary items of the file's sections."""

import re
from collections.abc import Iterator, Mapping

from mbsim_cli.errors import Issue
from mbsim_cli.spec.expressions.scoped import Value, Values
from mbsim_cli.spec.reading.include import merge
from mbsim_cli.spec.reading.nodes import Node
from mbsim_cli.spec.reading.source import Source, join
from mbsim_cli.spec.repeat.error import RepeatError
from mbsim_cli.spec.repeat.judge import ENDS, own_names, wrong_with
from mbsim_cli.spec.repeat.template import Part, Text, made_node
from mbsim_cli.spec.repeat.values import Reader, constants_of

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
