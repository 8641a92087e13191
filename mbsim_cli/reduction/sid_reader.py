"""Reads ASCII standard input data (``*.SID_FEM``) of any writer: what writers differ in is settled by identities."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.files import open_regular
from mbsim_cli.reduction.data import OF_NODES, Array, Node, StandardInput, Taylor, scaled
from mbsim_cli.reduction.identities import EXACT, difference, warnings_of
from mbsim_cli.reduction.sid_blocks import Block, Line, in_range, number, read_blocks
from mbsim_cli.reduction.signs import tilde
from mbsim_cli.reduction.soundness import require_sound

MOST_BYTES = 200_000_000
MOST_MODES, MOST_DESIGNS = 1000, 10_000
_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # J: xx yy zz xy xz yz
_SIX_OF_OE = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # Oe: xx yy zz xy yz xz
_COLUMNS = {"mdCM": 1, "J": 1, "Ct": 3, "Cr": 3, "Oe": 6, "ksigma": 1}
_OPTIONAL = ("De", "ksigma", "AP")
_KEYS = ("order", "nrow", "ncol", "nq", "nqn", "structure", "m0", "m1", "mn", "nd", "dm0", "dm1", "dmn")
_OF_SECOND_ORDER = ("J",)  # terms that may have a part quadratic in the elastic coordinates
_CONSTANT = ("Me", "Ke", "De", "Ge")
_Order = Callable[[Array], Array]


def read_sid(path: str | os.PathLike[str], length: float = 1.0) -> StandardInput:
    """Return the body of a file whose unit of length is ``length`` metres, with what is doubtful in ``warnings``.

    Raises InputOutputError with the line where the file is damaged or contradicts itself beyond repair.
    """
    head, part = read_blocks(_text_of(Path(path)), str(path))
    modal = part.child("modal")
    assert modal is not None
    refmod = modal.child("refmod")
    assert refmod is not None
    n = int(refmod.number("nelastq", int))
    if not 1 <= n <= MOST_MODES:
        refmod.fail(f"nelastq is {n}, not between 1 and {MOST_MODES}", refmod.values["nelastq"][0].number)
    raw = _read(modal, refmod, n)
    sid = _body(raw)
    design = {name: _body(_along(raw, k)) for k, name in enumerate(_designs(refmod, raw))}
    sid = replace(sid, comment=_comment(head), modes=_labels(refmod, n), design=design)
    require_sound(sid, modal)
    return scaled(replace(sid, warnings=(*_header(head, sid), *warnings_of(sid))), length)


def _text_of(path: Path) -> str:
    try:
        with open_regular(path) as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise InputOutputError(f"{path} is larger than {MOST_BYTES / 1e6:g} MB")
    return content.decode("latin-1")


def _header(head: str, sid: StandardInput) -> list[str]:
    counts = re.match(r"\s*(\d+)\s+(\d+)", head)
    if counts is None or (int(counts[1]), int(counts[2])) == (len(sid.nodes), sid.n):
        return []
    return [f"the first line speaks of {counts[1]} nodes and {counts[2]} modes; there are {len(sid.nodes)} and {sid.n}"]


def _comment(head: str) -> str:
    return re.sub(r"^[\s\d]*:?\s*(No\. nodes, No\. modes:)?", "", head).strip()


def _labels(refmod: Block, n: int) -> tuple[str, ...]:
    names = [""] * n
    for line in refmod.values.get("ielastq", ()):
        names[in_range(refmod, line, (n,))[0]] = line.text
    return tuple(names) if any(names) else ()


class _Raw(NamedTuple):
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


def _taylor(owner: Block, name: str, n: int, rows: int, columns: int) -> _Raw:
    block = owner.child(name, required=name not in _OPTIONAL)
    if block is None:
        return _Raw(np.zeros((rows, columns)), None, None, *_no_derivatives(n, rows, columns), owner)
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
    return _Raw(_mirrored(m0, structure), m1, mn, d0, d1, dn, block)


def _no_derivatives(n: int, rows: int, columns: int) -> tuple[Array, Array, Array]:
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


class _Parts(NamedTuple):
    """All terms as the file has them, those of nodes by their names, and how the columns of Gr and Ge are ordered."""

    n: int
    terms: Mapping[str, _Raw]
    nodes: Sequence[tuple[str, Mapping[str, _Raw]]]
    by_modes: Mapping[str, _Order]


def _read(modal: Block, refmod: Block, n: int) -> _Parts:
    raw = {name: _taylor(modal, name, n, n if name in ("Ct", "Cr", "Oe", "ksigma") else 3, columns)
           for name, columns in _COLUMNS.items() if name != "J"}  # fmt: skip
    raw["J"] = _taylor(modal, "J", n, *_rows_of_inertia(modal))
    raw |= {name: _taylor(modal, name, n, n, n) for name in ("Me", "Ke", "De")}
    raw |= {"Gr": _taylor(modal, "Gr", n, 3, 3 * n), "Ge": _taylor(modal, "Ge", n, n, 3 * n)}
    raw["mass"] = _mass(refmod, n)
    for name in _CONSTANT:
        if any(first is not None and first.any() for first in (raw[name].m1, raw[name].d1)):
            raw[name].block.fail(f"{name} depends on the elastic coordinates, which no equation knows of")
    by_modes = {
        "Gr": _settled_Gr(raw["Gr"], _inertia_of(raw["J"]), n),
        "Ge": _settled_Ge(raw["Ge"], Taylor(raw["Cr"].m0, raw["Cr"].m1), raw["Me"].m0),
    }
    return _Parts(n, raw, _nodes(modal, n), by_modes)


def _mass(refmod: Block, n: int) -> _Raw:
    """A number, or where it has derivatives a block as all other terms."""
    if (block := refmod.child("mass", required=False)) is None:
        m0 = np.array([[refmod.number("mass")]])
        return _Raw(m0, None, None, *_no_derivatives(n, 1, 1), refmod)
    if "mass" in refmod.values:
        block.fail(f"mass stands twice, first in line {refmod.values['mass'][0].number}")
    return _taylor(refmod, "mass", n, 1, 1)


def _designs(refmod: Block, raw: _Parts) -> list[str]:
    """Names of the design variables; raise where blocks have derivatives by different numbers of them."""
    blocks = [*raw.terms.values(), *(term for _, terms in raw.nodes for term in terms.values())]
    counts = {len(term.d0): term.block for term in blocks if len(term.d0)}
    named = refmod.values.get("idesign", ())
    nd = max(counts, default=0)
    for other, block in counts.items():
        if other != nd:
            block.fail(f"{block.name} has derivatives by {other} design variables, others by {nd}")
    names = [str(k + 1) for k in range(nd)]
    for line in named:
        names[in_range(refmod, line, (nd,))[0]] = line.text
    if doubled := [name for name in names if names.count(name) > 1]:
        refmod.fail(f"two design variables have the name {doubled[0]!r}", named[0].number if named else 0)
    return names


def _along(raw: _Parts, k: int) -> _Parts:
    """Derivatives by a design variable in place of the terms."""

    def of(term: _Raw) -> _Raw:
        if k >= len(term.d0):  # a term that states none
            m0, m1, mn = (None if m is None else np.zeros_like(m) for m in term[:3])
        else:
            m0, m1, mn = (None if m is None else d[k] for m, d in zip(term[:3], term[3:6], strict=True))
        return term._replace(m0=m0, m1=m1, mn=mn)

    nodes = [(title, {name: of(term) for name, term in terms.items()}) for title, terms in raw.nodes]
    return raw._replace(terms={name: of(term) for name, term in raw.terms.items()}, nodes=nodes)


def _body(parts: _Parts) -> StandardInput:
    raw = parts.terms
    Oe, of_Gr, of_Ge = raw["Oe"], parts.by_modes["Gr"], parts.by_modes["Ge"]
    return StandardInput(
        mass=Taylor(raw["mass"].m0[0, 0]),
        mdCM=Taylor(raw["mdCM"].m0[:, 0], None if raw["mdCM"].m1 is None else raw["mdCM"].m1[:, :, 0]),
        J=_inertia_of(raw["J"]),
        Ct=Taylor(raw["Ct"].m0, raw["Ct"].m1),
        Cr=Taylor(raw["Cr"].m0, raw["Cr"].m1),
        Me=Taylor(raw["Me"].m0),
        Gr=Taylor(of_Gr(raw["Gr"].m0), None if raw["Gr"].m1 is None else np.array([of_Gr(m) for m in raw["Gr"].m1])),
        Ge=Taylor(of_Ge(raw["Ge"].m0)),
        Oe=Taylor(_squares(Oe.m0), None if Oe.m1 is None else np.array([_squares(m) for m in Oe.m1])),
        ksigma=Taylor(raw["ksigma"].m0[:, 0], None if raw["ksigma"].m1 is None else raw["ksigma"].m1[:, :, 0]),
        Ke=Taylor(raw["Ke"].m0),
        De=Taylor(raw["De"].m0),
        nodes=tuple(_node(title, terms) for title, terms in parts.nodes),
    )


def _inertia_of(raw: _Raw) -> Taylor:
    first = None if raw.m1 is None else np.array([_inertia(m) for m in raw.m1])
    second = None if raw.mn is None else np.array([[_inertia(m) for m in row] for row in raw.mn])
    return Taylor(_inertia(raw.m0), first, second)


def _rows_of_inertia(modal: Block) -> tuple[int, int]:
    """Six rows of one column, or a matrix: writers differ."""
    block = modal.child("J")
    assert block is not None
    return (3, 3) if block.number("nrow", int) == 3 else (6, 1)


def _inertia(m: Array) -> Array:
    if m.shape == (3, 3):
        return m if m[1, 0] or m[2, 0] or m[2, 1] else m + np.triu(m, 1).T
    J = np.zeros((3, 3))
    for entry, (a, b) in zip(m[:, 0], _SIX, strict=True):
        J[a, b] = J[b, a] = entry
    return J


def _squares(m: Array) -> Array:
    """Rows (n, 6) by products of angular velocities to symmetric matrices (n, 3, 3)."""
    O = np.zeros((len(m), 3, 3))
    for column, (a, b) in enumerate(_SIX_OF_OE):
        O[:, a, b] += m[:, column] / 2
        O[:, b, a] += m[:, column] / 2
    return O


def _settled_Gr(raw: _Raw, J: Taylor, n: int) -> _Order:
    """What orders Gr by modes: of both orders of its columns the one whose symmetric parts are dJ/dq."""

    def by_modes(m: Array) -> Array:
        return m.reshape(3, n, 3).transpose(1, 0, 2)

    def by_axes(m: Array) -> Array:
        return m.reshape(3, 3, n).transpose(2, 0, 1)

    wanted = J.M1 if J.M1 is not None else np.zeros((n, 3, 3))

    def defect(G: Array) -> float:
        return difference((G + G.transpose(0, 2, 1)) / 2, wanted)

    return _settled(raw, "Gr", (by_modes, by_axes), defect, "its symmetric parts are to be dJ/dq")


def _settled_Ge(raw: _Raw, Cr: Taylor, Me: Array) -> _Order:
    """What orders Ge by modes: of both orders of its columns the one that is twice dCr/dq."""
    n = len(Me)

    def by_modes(m: Array) -> Array:
        return m.reshape(n, n, 3).transpose(1, 0, 2)

    def by_axes(m: Array) -> Array:
        return m.reshape(n, 3, n).transpose(2, 0, 1)

    wanted = 2 * Cr.M1 if Cr.M1 is not None else np.zeros((n, n, 3))

    def defect(G: Array) -> float:
        small = EXACT * np.abs(Me).max()
        return 0.0 if max(np.abs(G).max(), np.abs(wanted).max()) < small else difference(G, wanted)

    return _settled(raw, "Ge", (by_modes, by_axes), defect, "it is to be 2 dCr/dq")


def _settled(
    raw: _Raw, name: str, orders: tuple[_Order, _Order], defect: Callable[[Array], float], identity: str
) -> _Order:
    """The order of columns that an identity holds for; raise InputOutputError where it holds for none."""
    defects = [defect(order(raw.m0)) for order in orders]
    by_modes, by_axes = defects
    if min(defects) > EXACT:
        raw.block.fail(
            f"the order of the columns of {name} cannot be settled: {identity}, which fails by {by_modes:.2g} of the "
            f"largest entry by modes and by {by_axes:.2g} by axes; data of two writers may be mixed up"
        )
    return orders[int(np.argmin(defects))]


def _nodes(modal: Block, n: int) -> Sequence[tuple[str, Mapping[str, _Raw]]]:
    frame = modal.child("frame")
    assert frame is not None
    sizes = {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}
    found = []
    for block in (block for block in frame.blocks if block.name.lower() == "node"):
        raw = {name: _taylor(block, name, n, *sizes[name]) for name in OF_NODES}
        found.append((block.title, raw if raw["AP"].m0.any() else raw | {"AP": _turn_of(raw["psi"])}))
    return found


def _turn_of(psi: _Raw) -> _Raw:
    """The rotation of a node that states none: by its psi."""
    turn, along = tilde(psi.m0.T), tilde(psi.d0.transpose(0, 2, 1))
    return psi._replace(m0=np.eye(3), m1=turn, d0=np.zeros((len(along), 3, 3)), d1=along)


def _node(title: str, raw: Mapping[str, _Raw]) -> Node:
    phi, psi = (Taylor(raw[k].m0.T, _by_modes(raw[k].m1)) for k in ("phi", "psi"))
    origin, AP = raw["origin"], raw["AP"]
    return Node(
        name=title,
        origin=Taylor(origin.m0[:, 0], None if origin.m1 is None else origin.m1[:, :, 0]),
        phi=phi,
        psi=psi,
        AP=Taylor(AP.m0, AP.m1),
    )


def _by_modes(m1: Array | None) -> Array | None:
    return None if m1 is None or not m1.any() else m1.transpose(0, 2, 1)
