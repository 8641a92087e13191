"""Reads ASCII standard input data (``*.SID_FEM``) of any writer: what writers differ in is settled by identities."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.files import open_regular
from mbsim_cli.reduction.cross_matrices import tilde
from mbsim_cli.reduction.data import OF_NODES, Array, Node, StandardInput, Taylor, scaled
from mbsim_cli.reduction.identities import warnings_of
from mbsim_cli.reduction.sid_blocks import Block, in_range, read_blocks
from mbsim_cli.reduction.sid_layouts import Order, inertia_of, order_of_Ge, order_of_Gr, shape_of_inertia, squares_of
from mbsim_cli.reduction.sid_terms import RawTerm, no_derivatives, read_term
from mbsim_cli.reduction.soundness import require_sound

MOST_BYTES = 200_000_000
MOST_MODES = 1000
_COLUMNS = {"mdCM": 1, "J": 1, "Ct": 3, "Cr": 3, "Oe": 6, "ksigma": 1}
_CONSTANT = ("Me", "Ke", "De", "Ge")


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


class _Parts(NamedTuple):
    """All terms as the file has them, those of nodes by their names, and how the columns of Gr and Ge are ordered."""

    n: int
    terms: Mapping[str, RawTerm]
    nodes: Sequence[tuple[str, Mapping[str, RawTerm]]]
    by_modes: Mapping[str, Order]


def _read(modal: Block, refmod: Block, n: int) -> _Parts:
    raw = {name: read_term(modal, name, n, n if name in ("Ct", "Cr", "Oe", "ksigma") else 3, columns)
           for name, columns in _COLUMNS.items() if name != "J"}  # fmt: skip
    raw["J"] = read_term(modal, "J", n, *shape_of_inertia(modal))
    raw |= {name: read_term(modal, name, n, n, n) for name in ("Me", "Ke", "De")}
    raw |= {"Gr": read_term(modal, "Gr", n, 3, 3 * n), "Ge": read_term(modal, "Ge", n, n, 3 * n)}
    raw["mass"] = _mass(refmod, n)
    for name in _CONSTANT:
        if any(first is not None and first.any() for first in (raw[name].m1, raw[name].d1)):
            raw[name].block.fail(f"{name} depends on the elastic coordinates, which no equation knows of")
    by_modes = {
        "Gr": order_of_Gr(raw["Gr"], inertia_of(raw["J"]), n),
        "Ge": order_of_Ge(raw["Ge"], Taylor(raw["Cr"].m0, raw["Cr"].m1), raw["Me"].m0),
    }
    return _Parts(n, raw, _nodes(modal, n), by_modes)


def _mass(refmod: Block, n: int) -> RawTerm:
    """A number, or where it has derivatives a block as all other terms."""
    if (block := refmod.child("mass", required=False)) is None:
        m0 = np.array([[refmod.number("mass")]])
        return RawTerm(m0, None, None, *no_derivatives(n, 1, 1), refmod)
    if "mass" in refmod.values:
        block.fail(f"mass stands twice, first in line {refmod.values['mass'][0].number}")
    return read_term(refmod, "mass", n, 1, 1)


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

    def of(term: RawTerm) -> RawTerm:
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
        J=inertia_of(raw["J"]),
        Ct=Taylor(raw["Ct"].m0, raw["Ct"].m1),
        Cr=Taylor(raw["Cr"].m0, raw["Cr"].m1),
        Me=Taylor(raw["Me"].m0),
        Gr=Taylor(of_Gr(raw["Gr"].m0), None if raw["Gr"].m1 is None else np.array([of_Gr(m) for m in raw["Gr"].m1])),
        Ge=Taylor(of_Ge(raw["Ge"].m0)),
        Oe=Taylor(squares_of(Oe.m0), None if Oe.m1 is None else np.array([squares_of(m) for m in Oe.m1])),
        ksigma=Taylor(raw["ksigma"].m0[:, 0], None if raw["ksigma"].m1 is None else raw["ksigma"].m1[:, :, 0]),
        Ke=Taylor(raw["Ke"].m0),
        De=Taylor(raw["De"].m0),
        nodes=tuple(_node(title, terms) for title, terms in parts.nodes),
    )


def _nodes(modal: Block, n: int) -> Sequence[tuple[str, Mapping[str, RawTerm]]]:
    frame = modal.child("frame")
    assert frame is not None
    sizes = {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}
    found = []
    for block in (block for block in frame.blocks if block.name.lower() == "node"):
        raw = {name: read_term(block, name, n, *sizes[name]) for name in OF_NODES}
        found.append((block.title, raw if raw["AP"].m0.any() else raw | {"AP": _turn_of(raw["psi"])}))
    return found


def _turn_of(psi: RawTerm) -> RawTerm:
    """The rotation of a node that states none: by its psi."""
    turn, along = tilde(psi.m0.T), tilde(psi.d0.transpose(0, 2, 1))
    return psi._replace(m0=np.eye(3), m1=turn, d0=np.zeros((len(along), 3, 3)), d1=along)


def _node(title: str, raw: Mapping[str, RawTerm]) -> Node:
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
