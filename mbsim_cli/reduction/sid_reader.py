"""Reads ASCII standard input data (``*.SID_FEM``) of any writer: what writers differ in is settled by identities."""

import os
import re
from collections.abc import Callable
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
MOST_MODES = 1000
_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # J: xx yy zz xy xz yz
_SIX_OF_OE = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # Oe: xx yy zz xy yz xz
_COLUMNS = {"mdCM": 1, "J": 1, "Ct": 3, "Cr": 3, "Oe": 6, "ksigma": 1}
_OPTIONAL = ("De", "ksigma", "AP")
_KEYS = ("order", "nrow", "ncol", "nq", "nqn", "structure", "m0", "m1")
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
    sid = _body(modal, refmod, n)
    require_sound(sid, modal)
    sid = replace(sid, comment=_comment(head), modes=_labels(refmod, n))
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
    """Coefficients as the file has them: m0 (row, column), m1 (mode, row, column)."""

    m0: Array
    m1: Array | None
    block: Block


def _taylor(owner: Block, name: str, n: int, rows: int, columns: int) -> _Raw:
    block = owner.child(name, required=name not in _OPTIONAL)
    if block is None:
        return _Raw(np.eye(3) if name == "AP" else np.zeros((rows, columns)), None, owner)
    for key, wanted in (("nrow", rows), ("ncol", columns), ("nq", n)):
        if (stated := block.number(key, int)) != wanted:
            block.fail(f"{key} of {name} is {stated}, not {wanted}", block.values[key][0].number)
    order, structure = block.number("order", int), block.number("structure", int)
    if order not in (0, 1):
        block.fail(f"order of {name} is {order}; 0 and 1 are known", block.values["order"][0].number)
    _require_known(block, structure)
    m0 = np.eye(rows, columns) if structure == 4 else np.zeros((rows, columns))
    for line in _once(block, "m0"):
        m0[in_range(block, line, (rows, columns))] = number(block, line)
    m1 = np.zeros((n, rows, columns)) if order == 1 or "m1" in block.values else None
    for line in _once(block, "m1"):
        assert m1 is not None
        row, mode, column = in_range(block, line, (rows, n, columns))
        m1[mode, row, column] = number(block, line)
    return _Raw(_mirrored(m0, structure), m1, block)


def _require_known(block: Block, structure: float) -> None:
    """Raise for keys that nothing is known of, and for entries of what is said to have none."""
    for key, lines in block.values.items():
        if key not in _KEYS:
            block.fail(f"{block.name} has a value {key}, which is not known", lines[0].number)
    entries = [*block.values.get("m0", ()), *block.values.get("m1", ())]
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


def _body(modal: Block, refmod: Block, n: int) -> StandardInput:
    raw = {name: _taylor(modal, name, n, n if name in ("Ct", "Cr", "Oe", "ksigma") else 3, columns)
           for name, columns in _COLUMNS.items() if name != "J"}  # fmt: skip
    raw["J"] = _taylor(modal, "J", n, *_rows_of_inertia(modal))
    raw |= {name: _taylor(modal, name, n, n, n) for name in ("Me", "Ke", "De")}
    raw |= {"Gr": _taylor(modal, "Gr", n, 3, 3 * n), "Ge": _taylor(modal, "Ge", n, n, 3 * n)}
    J = Taylor(_inertia(raw["J"].m0), None if raw["J"].m1 is None else np.array([_inertia(m) for m in raw["J"].m1]))
    Cr, Oe = Taylor(raw["Cr"].m0, raw["Cr"].m1), raw["Oe"]
    for name in _CONSTANT:
        if (first := raw[name].m1) is not None and first.any():
            raw[name].block.fail(f"{name} depends on the elastic coordinates, which no equation knows of")
    return StandardInput(
        mass=Taylor(np.array(refmod.number("mass"))),
        mdCM=Taylor(raw["mdCM"].m0[:, 0], None if raw["mdCM"].m1 is None else raw["mdCM"].m1[:, :, 0]),
        J=J,
        Ct=Taylor(raw["Ct"].m0, raw["Ct"].m1),
        Cr=Cr,
        Me=Taylor(raw["Me"].m0),
        Gr=_settled_Gr(raw["Gr"], J, n),
        Ge=_settled_Ge(raw["Ge"], Cr, raw["Me"].m0),
        Oe=Taylor(_squares(Oe.m0), None if Oe.m1 is None else np.array([_squares(m) for m in Oe.m1])),
        ksigma=Taylor(raw["ksigma"].m0[:, 0], None if raw["ksigma"].m1 is None else raw["ksigma"].m1[:, :, 0]),
        Ke=Taylor(raw["Ke"].m0),
        De=Taylor(raw["De"].m0),
        nodes=_nodes(modal, n),
    )


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


def _settled_Gr(raw: _Raw, J: Taylor, n: int) -> Taylor:
    """Gr by modes: of both orders of its columns the one whose symmetric parts are dJ/dq."""

    def by_modes(m: Array) -> Array:
        return m.reshape(3, n, 3).transpose(1, 0, 2)

    def by_axes(m: Array) -> Array:
        return m.reshape(3, 3, n).transpose(2, 0, 1)

    wanted = J.M1 if J.M1 is not None else np.zeros((n, 3, 3))

    def defect(G: Array) -> float:
        return difference((G + G.transpose(0, 2, 1)) / 2, wanted)

    order = _settled(raw, "Gr", (by_modes, by_axes), defect, "its symmetric parts are to be dJ/dq")
    return Taylor(order(raw.m0), None if raw.m1 is None else np.array([order(m) for m in raw.m1]))


def _settled_Ge(raw: _Raw, Cr: Taylor, Me: Array) -> Taylor:
    """Ge by modes: of both orders of its columns the one that is twice dCr/dq."""
    n = len(Me)

    def by_modes(m: Array) -> Array:
        return m.reshape(n, n, 3).transpose(1, 0, 2)

    def by_axes(m: Array) -> Array:
        return m.reshape(n, 3, n).transpose(2, 0, 1)

    wanted = 2 * Cr.M1 if Cr.M1 is not None else np.zeros((n, n, 3))

    def defect(G: Array) -> float:
        small = EXACT * np.abs(Me).max()
        return 0.0 if max(np.abs(G).max(), np.abs(wanted).max()) < small else difference(G, wanted)

    return Taylor(_settled(raw, "Ge", (by_modes, by_axes), defect, "it is to be 2 dCr/dq")(raw.m0))


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


def _nodes(modal: Block, n: int) -> tuple[Node, ...]:
    frame = modal.child("frame")
    assert frame is not None
    return tuple(_node(block, n) for block in frame.blocks if block.name.lower() == "node")


def _node(block: Block, n: int) -> Node:
    sizes = {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}
    raw = {name: _taylor(block, name, n, *sizes[name]) for name in OF_NODES}
    phi, psi = (Taylor(raw[k].m0.T, _by_modes(raw[k].m1)) for k in ("phi", "psi"))
    missing = block.child("AP", required=False) is None or not raw["AP"].m0.any()
    turned = Taylor(np.eye(3), tilde(psi.M0)) if missing else Taylor(raw["AP"].m0, raw["AP"].m1)
    origin = raw["origin"]
    return Node(
        name=block.title,
        origin=Taylor(origin.m0[:, 0], None if origin.m1 is None else origin.m1[:, :, 0]),
        phi=phi,
        psi=psi,
        AP=turned,
    )


def _by_modes(m1: Array | None) -> Array | None:
    return None if m1 is None or not m1.any() else m1.transpose(0, 2, 1)
