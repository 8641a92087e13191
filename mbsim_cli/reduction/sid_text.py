"""Text files of standard input data: blocks and terms that are read, and the ASCII layout of FEMBS that is written."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.reduction.data import COLUMNS, OF_NODES, ROWS, SHAPES, Array, StandardInput, Taylor

# Lines of an ASCII SID file to blocks: keys with values, coefficients, blocks in blocks, all with their lines.

_ASSIGNMENT = re.compile(r"\s*(new\s+\w+|[A-Za-z]\w*)\s*(?:\(([^)]*)\))?\s*=\s*(.*?)\s*$")
_END = re.compile(r"\s*end\s+(\w+)\s*$")
_BEGIN = re.compile(r"\s*(\w+)\s*$")
MOST_DEEP = 8
LARGEST = 1e100  # products of a few numbers are to be finite


class Line(NamedTuple):
    """The text after an equals sign, with the indices before it."""

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

    def find(self, name: str) -> "Block | None":
        """The block of a name in this one, if there is one."""
        found = [block for block in self.blocks if block.name.lower() == name.lower()]
        if len(found) > 1:
            self.fail(f"{name} stands twice, first in line {found[0].line}", found[1].line)
        return found[0] if found else None

    def child(self, name: str) -> "Block":
        """The block of a name in this one."""
        return self.find(name) or self.fail(f"{self.name} ends without {name}", self.end)

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
    """The number of a line; Fortran writes D before exponents, and no letter before those of three digits."""
    text = re.sub(r"(?<=[\d.])([-+]\d{3})$", r"E\1", line.text.upper().replace("D", "E"))
    try:
        value = float(text)
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
    return lines[0] if lines else "", root.child("part")


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
            indices = found[2].split(",") if found[2] else []
            if not all(index.strip().isdecimal() and int(index) >= 1 for index in indices):
                block.fail(f"({found[2]}) are no indices, which count from 1", place)
            block.values.setdefault(key, []).append(Line(place, tuple(map(int, indices)), found[3]))
    elif found := _BEGIN.match(line):
        _open(stack, Block(found[1], place, block.file))
    else:
        block.fail(f"{line.strip()[:60]!r} is neither 'key = value' nor the name of a block", place)


def _open(stack: list[Block], block: Block) -> None:
    if len(stack) > MOST_DEEP:
        block.fail(f"{block.name} is the block in more than {MOST_DEEP} others")
    stack[-1].blocks.append(block)
    stack.append(block)


def in_range(block: Block, line: Line, sizes: Sequence[int]) -> tuple[int, ...]:
    """Indices of a line, counted from 0; raise where they do not fit the sizes."""
    if len(line.indices) != len(sizes) or any(i > size for i, size in zip(line.indices, sizes, strict=True)):
        block.fail(f"indices ({', '.join(map(str, line.indices))}) exceed {' x '.join(map(str, sizes))}", line.number)
    return tuple(i - 1 for i in line.indices)


MOST_DESIGNS = 10_000
_OPTIONAL = ("De", "ksigma", "AP")
_KEYS = ("order", "nrow", "ncol", "nq", "nqn", "structure", "m0", "m1", "mn", "nd", "dm0", "dm1", "dmn")
_OF_SECOND_ORDER = ("J",)  # terms that may have a part quadratic in the elastic coordinates


class RawTerm(NamedTuple):
    """Coefficients as the file has them: m0 (row, column), m1 (mode, row, column), mn (mode, mode, row, column).

    ``d0``, ``d1``, ``dn`` are their derivatives, the design variable first.
    """

    m0: Array
    m1: Array | None
    mn: Array | None
    d0: Array
    d1: Array
    dn: Array
    block: Block


def read_term(owner: Block, name: str, n: int, rows: int, columns: int) -> RawTerm:
    """The term ``name`` of a body or node with n modes; raise InputOutputError where it is no such term."""
    block = owner.find(name) if name in _OPTIONAL else owner.child(name)
    if block is None:
        return RawTerm(np.zeros((rows, columns)), None, None, *no_derivatives(n, rows, columns), owner)
    for key, wanted in (("nrow", rows), ("ncol", columns), ("nq", n)):
        if (stated := block.number(key, int)) != wanted:
            block.fail(f"{key} of {name} is {stated}, not {wanted}", block.values[key][0].number)
    order, structure = block.number("order", int), block.number("structure", int)
    known = (0, 1, 2) if name in _OF_SECOND_ORDER else (0, 1)
    if order not in known:
        text = ", ".join(map(str, known[:-1])) + f" and {known[-1]} are known"
        block.fail(f"order of {name} is {order}; {text}", block.values["order"][0].number)
    _require_known(block, structure, name)
    nd = int(block.number("nd", int)) if "nd" in block.values else 0  # design variables that there are derivatives by
    if not 0 <= nd <= MOST_DESIGNS:
        block.fail(f"nd is {nd}, not between 0 and {MOST_DESIGNS}", block.values["nd"][0].number)
    unit = np.eye(rows, columns) if structure == 4 else np.zeros((rows, columns))
    m0 = _entries(block, "m0", (rows, columns), unit)
    d0 = _entries(block, "dm0", (rows, columns, nd))
    m1, mn, d1, dn = None, None, np.zeros((nd, n, rows, columns)), np.zeros((nd, n, n, rows, columns))
    if order >= 1 or not block.values.keys().isdisjoint(("m1", "dm1")):
        m1 = _entries(block, "m1", (rows, n, columns)).transpose(1, 0, 2)
        d1 = _entries(block, "dm1", (rows, n, columns, nd)).transpose(3, 1, 0, 2)
    if order == 2 or not block.values.keys().isdisjoint(("mn", "dmn")):
        mn = _entries(block, "mn", (rows, n, n, columns)).transpose(1, 2, 0, 3)
        dn = _entries(block, "dmn", (rows, n, n, columns, nd)).transpose(4, 1, 2, 0, 3)
    d0 = np.array([_mirrored(along, structure) for along in d0.transpose(2, 0, 1)]).reshape(nd, rows, columns)
    return RawTerm(_mirrored(m0, structure), m1, mn, d0, d1, dn, block)


def no_derivatives(n: int, rows: int, columns: int) -> tuple[Array, Array, Array]:
    """Of a term that is the same for all designs."""
    return tuple(np.zeros((0, *(n,) * order, rows, columns)) for order in range(3))  # type: ignore[return-value]


def _entries(block: Block, key: str, sizes: tuple[int, ...], start: Array | None = None) -> Array:
    """Numbers of all lines of a key, by their indices in the order of the file; zero elsewhere."""
    found = np.zeros(sizes) if start is None else start
    lines, seen = block.values.get(key, ()), dict[tuple[int, ...], int]()
    for line in lines:
        if line.indices in seen:
            block.fail(f"the entry stands already in line {seen[line.indices]}", line.number)
        seen[line.indices] = line.number
    for line in lines:
        found[in_range(block, line, sizes)] = number(block, line)
    return found


def _require_known(block: Block, structure: float, name: str) -> None:
    """Raise InputOutputError for unknown keys, and for entries of a term whose structure is zero."""
    for key, lines in block.values.items():
        if key not in _KEYS or (key in ("mn", "dmn") and name not in _OF_SECOND_ORDER):
            block.fail(f"{block.name} has a value {key}, which is not known", lines[0].number)
    entries = [line for key in ("m0", "m1", "mn", "dm0", "dm1", "dmn") for line in block.values.get(key, ())]
    if structure == 0 and any(number(block, line) for line in entries):
        block.fail(f"{block.name} has entries, though its structure is 0", entries[0].number)


def _mirrored(m0: Array, structure: float) -> Array:
    """Complete a symmetric matrix of which the file has only one triangle."""
    if structure == 2 and m0.shape[0] == m0.shape[1]:
        lower, upper = np.tril(m0, -1), np.triu(m0, 1)
        if not lower.any() or not upper.any():
            return m0 + lower.T + upper.T
    return m0


_INDENT = " " * 11
_WRITTEN_KEYS = ("m0", "m1", "mn")


_IN_COLUMNS: dict[str, Callable[[Array], Array]] = {  # a coefficient as the file has it, where that is another matrix
    "mass": lambda m: np.reshape(m, (1, 1)),
    "J": lambda m: m[ROWS, COLUMNS][:, None],
    "Gr": lambda m: m.transpose(1, 2, 0).reshape(3, -1),
    "Ge": lambda m: m.transpose(1, 2, 0).reshape(len(m), -1),
    "Oe": lambda m: m[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]] * [1, 1, 1, 2, 2, 2],
    **dict.fromkeys(("mdCM", "ksigma", "origin"), lambda m: m[:, None]),
    **dict.fromkeys(("phi", "psi"), np.transpose),
}


def sid_text(sid: StandardInput) -> str:
    """Return the file's text; without design derivatives it has no place for terms of second order in q."""
    return "\n".join(_lines(sid)) + "\n"


def _lines(sid: StandardInput) -> Iterator[str]:
    terms = [dict(body.items()) for body in (sid, *sid.design.values())]

    def block(path: str, indent: str) -> Iterator[str]:
        return _block(path.rpartition(".")[2], [of[path] for of in terms], sid.n, indent)

    yield f"{len(sid.nodes):4d}{sid.n:4d}    :{sid.comment.splitlines()[0] if sid.comment else 'written by mbsim'}"
    yield "part"
    yield "      new modal = body"
    yield from _refmod(sid, block("mass", _INDENT + " " * 5))
    yield f"{_INDENT}frame"
    for i, node in enumerate(sid.nodes):
        indent = _INDENT + " " * 5
        yield f"{indent}new node = {node.name}"
        yield f"{indent}     rframe = body ref"
        for name in OF_NODES:
            yield from block(f"node[{i}].{name}", indent + " " * 5)
        yield f"{indent}end node"
    yield f"{_INDENT}end frame"
    for name in SHAPES:
        if name != "mass":
            yield from block(name, _INDENT)
    yield "      end modal"
    yield "end part"


def _refmod(sid: StandardInput, mass: Iterator[str]) -> Iterator[str]:
    indent = _INDENT + " " * 5
    yield f"{_INDENT}refmod"
    if sid.design:
        yield from mass
    else:
        yield f"{indent}mass      = {_number(sid.mass.M0)}"
    yield f"{indent}nelastq   = {sid.n}"
    modes = sid.modes or [f"Eigen Mode {i:4d} : {f:12.6g} Hz" for i, f in enumerate(sid.frequencies(), 1)]
    for i, name in enumerate(modes, 1):
        yield f"{indent}ielastq ({i:4d}) = {name}"
    for i, name in enumerate(sid.design, 1):
        yield f"{indent}idesign ({i:4d}) = {name}"
    yield f"{_INDENT}end refmod"


def _block(name: str, terms: list[Taylor], n: int, indent: str) -> Iterator[str]:
    """A term with its coefficients and their derivatives, which follow it in ``terms``."""
    nd = len(terms) - 1
    highest = 2 if nd and name in _OF_SECOND_ORDER else 1
    order = max(k for k in range(highest + 1) if any(term[k] is not None for term in terms))
    found = {
        (key, d): _in_columns(name, entries, k)
        for k, key in enumerate(_WRITTEN_KEYS[: order + 1])
        for d, term in enumerate(terms)
        if (entries := term[k]) is not None
    }
    rows, columns = found["m0", 0].shape
    yield f"{indent}{name}"
    counts: Mapping[str, int] = {
        "order": order, "nrow": rows, "ncol": columns, "nq": n, "nqn": n if order == 2 else 0,
        "structure": 3 if any(map(np.any, found.values())) else 0,
    } | ({"nd": nd} if nd else {})  # fmt: skip
    for key, value in counts.items():
        yield f"{indent}     {key:<22}= {value:4d}"
    for (key, d), entries in found.items():
        for place in zip(*np.nonzero(entries), strict=True):  # indices count from 1, that of the design is the last
            indices = ",".join(f"{i:4d}" for i in (*(int(i) + 1 for i in place), *([d] if d else [])))
            entry = f"{'d' if d else ''}{key}({indices})"
            yield f"{indent}     {entry:<19} = {_number(entries[place])}"
    yield f"{indent}end {name}"


def _in_columns(name: str, entries: Array, order: int) -> Array:
    """A coefficient (row, modes ..., column) as the file has it, from one with the modes first."""
    if order == 0:
        return _IN_COLUMNS[name](entries) if name in _IN_COLUMNS else entries
    return np.stack([_in_columns(name, of_mode, order - 1) for of_mode in entries], axis=1)


def _number(value: float) -> str:
    return f"{float(value):.17e}".replace("e", "D")
