"""Lines of an ASCII SID file to blocks: keys with values, coefficients, blocks in blocks, all with their lines."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from mbsim_cli.errors import InputOutputError

_ASSIGNMENT = re.compile(r"\s*(new\s+\w+|[A-Za-z]\w*)\s*(?:\(([^)]*)\))?\s*=\s*(.*?)\s*$")
_END = re.compile(r"\s*end\s+(\w+)\s*$")
_BEGIN = re.compile(r"\s*(\w+)\s*$")
MOST_DEEP = 8
LARGEST = 1e100  # products of a few numbers are to be finite


class Line(NamedTuple):
    """What stands behind an equals sign, with the indices before it."""

    number: int
    indices: tuple[int, ...]
    text: str


@dataclass
class Block:
    """A block from its name to its ``end``."""

    name: str
    line: int
    file: str
    title: str = ""
    values: dict[str, list[Line]] = field(default_factory=dict)
    blocks: list["Block"] = field(default_factory=list)
    end: int = 0

    def fail(self, message: str, line: int = 0) -> NoReturn:
        """Raise InputOutputError with the file and a line."""
        raise InputOutputError(f"{self.file}:{line or self.line}: {message}")

    def child(self, name: str, required: bool = True) -> "Block | None":
        """The block of a name in this one."""
        found = [block for block in self.blocks if block.name.lower() == name.lower()]
        if len(found) > 1:
            self.fail(f"{name} stands twice, first in line {found[0].line}", found[1].line)
        if not found and required:
            self.fail(f"{self.name} ends without {name}", self.end)
        return found[0] if found else None

    def number(self, key: str, kind: type = float) -> float:
        """The value of a key."""
        lines = self.values.get(key, [])
        if len(lines) != 1:
            self.fail(f"{self.name} has {len(lines) or 'no'} values {key}", lines[1].number if lines else 0)
        value = number(self, lines[0])
        if kind is int and value != int(value):
            self.fail(f"{key} is {lines[0].text}, which is no whole number", lines[0].number)
        return kind(value)


def number(block: Block, line: Line) -> float:
    """The number of a line; Fortran writes D before exponents."""
    try:
        value = float(line.text.upper().replace("D", "E"))
    except ValueError:
        block.fail(f"{line.text[:40]!r} is no number", line.number)
    if not math.isfinite(value):
        block.fail(f"{line.text} is no finite number", line.number)
    if abs(value) > LARGEST:
        block.fail(f"{line.text} is larger than anything in nature", line.number)
    return value


def read_blocks(text: str, file: str) -> tuple[str, Block]:
    """Return the first line and the block ``part`` of a file; raise InputOutputError with the line."""
    lines = text.splitlines()
    root = Block("the file", 1, file)
    stack = [root]
    for place, line in enumerate(lines[1:], 2):
        if line.strip():
            _take(stack, place, line)
    root.end = len(lines)
    if len(stack) > 1:
        root.fail(f"the file ends within {stack[-1].name}, which line {stack[-1].line} opens", max(len(lines), 1))
    part = root.child("part")
    assert part is not None
    return lines[0] if lines else "", part


def _take(stack: list[Block], place: int, line: str) -> None:
    block = stack[-1]
    if found := _END.match(line):
        if found[1].lower() != block.name.lower():
            block.fail(f"'end {found[1]}' stands within {block.name}, which line {block.line} opens", place)
        block.end = place
        stack.pop()
    elif found := _ASSIGNMENT.match(line):
        key = " ".join(found[1].split())
        if key.startswith("new "):
            _open(stack, Block(key[4:], place, block.file, found[3]))
        else:
            block.values.setdefault(key, []).append(Line(place, tuple(_indices(block, found[2], place)), found[3]))
    elif found := _BEGIN.match(line):
        _open(stack, Block(found[1], place, block.file))
    else:
        block.fail(f"{line.strip()[:60]!r} is neither 'key = value' nor the name of a block", place)


def _open(stack: list[Block], block: Block) -> None:
    if len(stack) > MOST_DEEP:
        block.fail(f"{block.name} is the block in more than {MOST_DEEP} others")
    stack[-1].blocks.append(block)
    stack.append(block)


def _indices(block: Block, text: str | None, place: int) -> Iterator[int]:
    for part in (text or "").split(",") if text else ():
        if not part.strip().isdecimal() or int(part) < 1:
            block.fail(f"({text}) are no indices, which count from 1", place)
        yield int(part)


def in_range(block: Block, line: Line, sizes: Sequence[int]) -> tuple[int, ...]:
    """Indices of a line, counted from 0; raise where they do not fit the sizes."""
    if len(line.indices) != len(sizes) or any(i > size for i, size in zip(line.indices, sizes, strict=True)):
        block.fail(f"indices ({', '.join(map(str, line.indices))}) exceed {' x '.join(map(str, sizes))}", line.number)
    return tuple(i - 1 for i in line.indices)
