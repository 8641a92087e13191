"""One term of an ASCII SID file: the coefficients of a block, with their derivatives, as arrays."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.sid_blocks import Block, Line, in_range, number

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
    block = owner.child(name, required=name not in _OPTIONAL)
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
    nd = _count_of_designs(block)
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
    for line in _once(block, key):
        found[in_range(block, line, sizes)] = number(block, line)
    return found


def _count_of_designs(block: Block) -> int:
    """How many design variables a block has derivatives by: ``nd``, none where it is not stated."""
    nd = int(block.number("nd", int)) if "nd" in block.values else 0
    if not 0 <= nd <= MOST_DESIGNS:
        block.fail(f"nd is {nd}, not between 0 and {MOST_DESIGNS}", block.values["nd"][0].number)
    return nd


def _require_known(block: Block, structure: float, name: str) -> None:
    """Raise for keys that nothing is known of, and for entries of what is said to have none."""
    for key, lines in block.values.items():
        if key not in _KEYS or (key in ("mn", "dmn") and name not in _OF_SECOND_ORDER):
            block.fail(f"{block.name} has a value {key}, which is not known", lines[0].number)
    entries = [line for key in ("m0", "m1", "mn", "dm0", "dm1", "dmn") for line in block.values.get(key, ())]
    if structure == 0 and any(number(block, line) for line in entries):
        block.fail(f"{block.name} has entries, though its structure is 0", entries[0].number)


def _once(block: Block, key: str) -> list[Line]:
    """Lines of a key, each with indices of its own."""
    seen: dict[tuple[int, ...], int] = {}
    for line in block.values.get(key, ()):
        if line.indices in seen:
            block.fail(f"the entry stands already in line {seen[line.indices]}", line.number)
        seen[line.indices] = line.number
    return block.values.get(key, [])


def _mirrored(m0: Array, structure: float) -> Array:
    """Of a symmetric matrix some writers give one triangle."""
    if structure == 2 and m0.shape[0] == m0.shape[1]:
        lower, upper = np.tril(m0, -1), np.triu(m0, 1)
        if not lower.any() or not upper.any():
            return m0 + lower.T + upper.T
    return m0
