"""Reader of standard input data: layouts of files, and the identities that hold between its matrices."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError, reason_of
from mbsim_cli.reduction.data import OF_NODES, SIX, Array, Node, StandardInput, Taylor, full, largest, scaled, tilde
from mbsim_cli.reduction.sid_text import Block, RawTerm, in_range, no_derivatives, read_blocks, read_term
from mbsim_cli.system import open_regular

EXACT = 1e-6  # relative: files have 12 digits
NOTED = 1e-3  # least defect that is reported if lumping may explain it
MOST_DAMPING = 1.0  # ratio above which damping looks like a mistake of units


def difference(a: Array, b: Array | None) -> float:
    """Largest difference of two arrays by the largest entry; None: zeros."""
    b = 0.0 if b is None else b
    size = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0) / size) if size else 0.0


def about_center(sid: StandardInput) -> Array:
    """Inertia (3, 3) about the centre of mass."""
    centre = sid.mdCM.M0 / sid.mass.M0
    return sid.J.M0 - sid.mass.M0 * (centre @ centre * np.eye(3) - np.outer(centre, centre))


def warnings_of(sid: StandardInput) -> Iterator[str]:
    """Warnings about contradictions in the data of a body."""
    yield from _linear_terms(sid)
    yield from _masses(sid)
    yield from _modes(sid)


def _linear_terms(sid: StandardInput) -> Iterator[str]:
    """Contradictions between terms and derivatives of others; at nodes, simulations use phi and psi."""
    for what, a, b in (("Ct = d mdCM/dq", sid.Ct.M0, sid.mdCM.M1), ("Oe = -dJ/dq / 2", -2 * sid.Oe.M0, sid.J.M1)):
        if (defect := difference(a, b)) > EXACT:
            yield f"{what} fails by {defect:.2g} of the largest entry"
    if sid.Ct.M1 is not None and (defect := difference(sid.Ct.M1, sid.Ct.M1.swapaxes(0, 1))) > EXACT:
        what = f"Ct of first order changes by {defect:.2g} of its largest entry where two shapes are exchanged"
        yield f"{what}, which moves no body; half of each counts"
    for node in sid.nodes:
        turned = "psi~ = d AP/dq", tilde(node.psi.M0), node.AP.M1
        for what, a, b in (("phi = d origin/dq", node.phi.M0, node.origin.M1), turned):
            if (defect := difference(a, b)) > EXACT:
                yield f"node {node.name}: {what} fails by {defect:.2g} of the largest entry"


def _masses(sid: StandardInput) -> Iterator[str]:
    """Contradictions of inertia: the skew part of Gr, principal moments, stiffening, Ct."""
    skew = (sid.Gr.M0 - sid.Gr.M0.transpose(0, 2, 1)) / 2
    most = 2 * np.sqrt(np.abs(np.trace(sid.J.M0)) * np.abs(sid.Me.M0).max())  # that a body of such inertia has
    defect = np.abs(skew + tilde(sid.Cr.M0)).max(initial=0.0) / most if most else 0.0
    if defect > NOTED:
        why = "rotary inertia, lumping, or a mistake of the writer"
        yield f"the skew part of Gr differs from -Cr~ by {defect:.2g} of what is possible ({why})"
    moments = np.linalg.eigvalsh(about_center(sid))
    if moments[0] < -NOTED * np.abs(sid.J.M0).max():
        yield f"the inertia about the centre of mass has the principal moment {moments[0]:.4g}: J and mdCM do not fit"
    if sid.Oe.M1 is not None:
        trace = np.trace(sid.Oe.M1, axis1=2, axis2=3)
        if (defect := difference(trace, -2 * sid.Me.M0)) > NOTED:
            what = f"the squares of Oe in q sum to what differs from -2 Me by {defect:.2g} of the largest entry"
            yield f"{what} (geometric stiffening, or a mistake of the writer)"
    shares = (sid.Ct.M0**2).sum(1)
    for i, (share, modal) in enumerate(zip(shares, np.diag(sid.Me.M0), strict=True)):
        if share > (1 + NOTED) * sid.mass.M0 * modal:
            yield f"mode {i + 1}: Ct^2 = {share:.4g} exceeds mass times Me = {float(sid.mass.M0) * modal:.4g}"


def _modes(sid: StandardInput) -> Iterator[str]:
    """Labels that state other frequencies, and damping beyond critical."""
    from scipy.linalg import eigh

    stated = [float(found[1]) for name in sid.modes if (found := re.search(r"([-+.\deE]+)\s*Hz", name))]
    if stated and len(stated) == len(sid.modes):
        for i, (label, found) in enumerate(zip(sorted(stated), sid.frequencies(), strict=False)):
            if abs(label - found) > NOTED * max(found, 1e-300):
                yield f"frequency {i + 1} is {found:.6g} Hz by Ke and Me; its label says {label:.6g} Hz"
    if sid.De.M0.any():
        squares, V = eigh(sid.Ke.M0, sid.Me.M0)
        ratios = np.diag(V.T @ sid.De.M0 @ V) / (2 * np.sqrt(np.maximum(squares, 1e-300)))
        if (high := float(ratios.max())) > MOST_DAMPING:
            yield f"De damps mode {int(ratios.argmax()) + 1} at {high:.3g} of the critical damping"


_SYMMETRIC = ("Me", "Ke", "De", "J")


def faults(sid: StandardInput) -> list[tuple[str, str]]:
    """Terms that no body has, with their faults; derivatives are checked if the terms are sound."""
    found = []
    if not sid.mass.M0 > 0:
        found.append(("mass", f"the mass is {float(sid.mass.M0):g}, not greater than zero"))
    for name in _SYMMETRIC:
        matrix = getattr(sid, name).M0
        if (defect := difference(matrix, matrix.T)) > EXACT:
            found.append((name, f"{name} is not symmetric, by {defect:.2g} of the largest entry"))
    for name, floor in (("Me", EXACT**2), ("Ke", -EXACT)):
        if not found and (lowest := _lowest(getattr(sid, name).M0)) <= floor:
            kind = "positive definite" if name == "Me" else "positive semi-definite"
            found.append((name, f"{name} is not {kind}: an eigenvalue is {lowest:.3g} of the largest"))
    if (lowest := _lowest(sid.J.M0)) < -EXACT:
        found.append(("J", f"the inertia is not positive semi-definite: an eigenvalue is {lowest:.3g} of the largest"))
    return found or [fault for name, along in sid.design.items() for fault in _of_derivatives(sid, name, along)]


def _of_derivatives(sid: StandardInput, design: str, along: StandardInput) -> list[tuple[str, str]]:
    """Derivatives that are not symmetric, beyond the round-off of terms that hardly change with the design."""
    pairs = {name: (getattr(sid, name).M0, getattr(along, name).M0) for name in _SYMMETRIC}
    rate = max(largest(d) / largest(m) for m, d in pairs.values() if m.any())
    wrong = {n: d for n, (m, d) in pairs.items() if largest(d - d.T) > EXACT * max(largest(d), rate * largest(m))}
    text = f"is not symmetric in its derivative by {design}, by"
    return [(name, f"{name} {text} {difference(d, d.T):.2g} of the largest entry") for name, d in wrong.items()]


def _lowest(matrix: Array) -> float:
    """The lowest eigenvalue over the largest magnitude, after scaling rows and columns to equal size."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    size = np.where(size > 0, size, 1.0)
    values = np.linalg.eigvalsh(matrix / np.outer(size, size))
    largest = np.abs(values).max()
    return float(values.min() / largest) if largest else 0.0


# Differences between writers of ASCII SID files: layout of inertia and order of columns, settled by identities.

Order = Callable[[Array], Array]  # from a matrix of the file to one of each mode
_ORDERS: tuple[Order, Order] = (
    lambda m: m.reshape(len(m), -1, 3).transpose(1, 0, 2),  # by modes
    lambda m: m.reshape(len(m), 3, -1).transpose(2, 0, 1),  # by axes
)


def inertia_of(raw: RawTerm) -> Taylor:
    """J as matrices (3, 3), whichever layout it has."""
    first = None if raw.m1 is None else np.array([_inertia(m) for m in raw.m1])
    second = None if raw.mn is None else np.array([[_inertia(m) for m in row] for row in raw.mn])
    return Taylor(_inertia(raw.m0), first, second)


def _inertia(m: Array) -> Array:
    if m.shape == (3, 3):
        return m if m[1, 0] or m[2, 0] or m[2, 1] else m + np.triu(m, 1).T
    J = np.zeros((3, 3))
    for entry, (a, b) in zip(m[:, 0], SIX, strict=True):
        J[a, b] = J[b, a] = entry
    return J


def squares_of(m: Array) -> Array:
    """Rows (n, 6) of Oe, by products of angular velocities xx yy zz xy yz xz, to symmetric matrices (n, 3, 3)."""
    return full(m[:, [0, 1, 2, 3, 5, 4]])


def order_of_Gr(raw: RawTerm, J: Taylor) -> Order:
    """The order of the columns of Gr, by modes or by axes, for which its symmetric parts are dJ/dq."""
    defects = [difference((G + G.transpose(0, 2, 1)) / 2, J.M1) for G in (order(raw.m0) for order in _ORDERS)]
    return _settled(raw, "Gr", defects, "its symmetric parts are to be dJ/dq")


def order_of_Ge(raw: RawTerm, Cr: Taylor, Me: Array) -> Order:
    """The order of the columns of Ge, by modes or by axes, for which it is twice dCr/dq."""
    wanted = 2 * Cr.M1 if Cr.M1 is not None else 0.0
    is_zero = max(np.abs(raw.m0).max(), np.abs(wanted).max()) < EXACT * np.abs(Me).max()
    defects = [0.0 if is_zero else difference(order(raw.m0), wanted) for order in _ORDERS]
    return _settled(raw, "Ge", defects, "it is to be 2 dCr/dq")


def _settled(raw: RawTerm, name: str, defects: list[float], identity: str) -> Order:
    """The order of columns that an identity holds for; raise InputOutputError where both fail by too much."""
    by_modes, by_axes = defects
    if min(defects) > EXACT:
        what = f"the order of the columns of {name} cannot be settled: {identity}"
        by = f"which fails by {by_modes:.2g} of the largest entry by modes and by {by_axes:.2g} by axes"
        raw.block.fail(f"{what}, {by}; data of two writers may be mixed up")
    return _ORDERS[int(np.argmin(defects))]


MOST_BYTES = 200_000_000
MOST_MODES = 1000
_COLUMNS = {"mdCM": 1, "J": 1, "Ct": 3, "Cr": 3, "Oe": 6, "ksigma": 1}
_CONSTANT = ("Me", "Ke", "De", "Ge")


def read_sid(path: str | os.PathLike[str], length: float = 1.0) -> StandardInput:
    """Return the body of a file whose unit of length is ``length`` metres, with contradictions in ``warnings``.

    Raises InputOutputError with the line where the file is damaged or inconsistent.
    """
    head, part = read_blocks(_text_of(Path(path)), str(path))
    modal = part.child("modal")
    refmod = modal.child("refmod")
    n = int(refmod.number("nelastq", int))
    if not 1 <= n <= MOST_MODES:
        refmod.fail(f"nelastq is {n}, not between 1 and {MOST_MODES}", refmod.values["nelastq"][0].number)
    raw = _read(modal, refmod, n)
    sid = _body(raw)
    design = {name: _body(_along(raw, k)) for k, name in enumerate(_designs(refmod, raw))}
    comment = re.sub(r"^[\s\d]*:?\s*(No\. nodes, No\. modes:)?", "", head).strip()
    labels = [""] * n
    for line in refmod.values.get("ielastq", ()):
        labels[in_range(refmod, line, (n,))[0]] = line.text
    sid = replace(sid, comment=comment, modes=tuple(labels) if any(labels) else (), design=design)
    for name, message in faults(sid):
        block = modal.find("refmod" if name == "mass" else name) or modal
        block.fail(message, block.end if block is modal else block.line)
    warnings, there = list(warnings_of(sid)), (len(sid.nodes), sid.n)
    counts = re.match(r"\s*(\d+)\s+(\d+)", head)
    if counts is not None and (int(counts[1]), int(counts[2])) != there:
        stated = f"the first line speaks of {counts[1]} nodes and {counts[2]} modes"
        warnings.insert(0, f"{stated}; there are {there[0]} and {there[1]}")
    return scaled(replace(sid, warnings=tuple(warnings)), length)


def _text_of(path: Path) -> str:
    try:
        with open_regular(path) as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {reason_of(error)}") from error
    if len(content) > MOST_BYTES:
        raise InputOutputError(f"{path} is larger than {MOST_BYTES / 1e6:g} MB")
    return content.decode("latin-1")


class _Parts(NamedTuple):
    """All terms as the file has them, those of nodes by their names, and how the columns of Gr and Ge are ordered."""

    n: int
    terms: Mapping[str, RawTerm]
    nodes: Sequence[tuple[str, Mapping[str, RawTerm]]]
    by_modes: Mapping[str, Order]


def _read(modal: Block, refmod: Block, n: int) -> _Parts:
    raw = {name: read_term(modal, name, n, n if name in ("Ct", "Cr", "Oe", "ksigma") else 3, columns)
           for name, columns in _COLUMNS.items() if name != "J"}  # fmt: skip
    whole = modal.child("J").number("nrow", int) == 3  # a matrix, or six rows of one column: writers differ
    raw["J"] = read_term(modal, "J", n, *((3, 3) if whole else (6, 1)))
    raw |= {name: read_term(modal, name, n, n, n) for name in ("Me", "Ke", "De")}
    raw |= {"Gr": read_term(modal, "Gr", n, 3, 3 * n), "Ge": read_term(modal, "Ge", n, n, 3 * n)}
    if (mass := refmod.find("mass")) is None:
        m0 = np.array([[refmod.number("mass")]])
        raw["mass"] = RawTerm(m0, None, None, *no_derivatives(n, 1, 1), refmod)
    elif "mass" in refmod.values:
        mass.fail(f"mass stands twice, first in line {refmod.values['mass'][0].number}")
    else:  # where it has derivatives it is a block as all other terms
        raw["mass"] = read_term(refmod, "mass", n, 1, 1)
    for name in _CONSTANT:
        if any(first is not None and first.any() for first in (raw[name].m1, raw[name].d1)):
            raw[name].block.fail(f"{name} depends on the elastic coordinates, which no equation knows of")
    by_modes = {
        "Gr": order_of_Gr(raw["Gr"], inertia_of(raw["J"])),
        "Ge": order_of_Ge(raw["Ge"], Taylor(raw["Cr"].m0, raw["Cr"].m1), raw["Me"].m0),
    }
    return _Parts(n, raw, _nodes(modal, n), by_modes)


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
        mdCM=_one_column(raw["mdCM"]),
        J=inertia_of(raw["J"]),
        Ct=Taylor(raw["Ct"].m0, raw["Ct"].m1),
        Cr=Taylor(raw["Cr"].m0, raw["Cr"].m1),
        Me=Taylor(raw["Me"].m0),
        Gr=Taylor(of_Gr(raw["Gr"].m0), None if raw["Gr"].m1 is None else np.array([of_Gr(m) for m in raw["Gr"].m1])),
        Ge=Taylor(of_Ge(raw["Ge"].m0)),
        Oe=Taylor(squares_of(Oe.m0), None if Oe.m1 is None else np.array([squares_of(m) for m in Oe.m1])),
        ksigma=_one_column(raw["ksigma"]),
        Ke=Taylor(raw["Ke"].m0),
        De=Taylor(raw["De"].m0),
        nodes=tuple(_node(title, terms) for title, terms in parts.nodes),
    )


def _one_column(raw: RawTerm) -> Taylor:
    return Taylor(raw.m0[:, 0], None if raw.m1 is None else raw.m1[:, :, 0])


def _nodes(modal: Block, n: int) -> Sequence[tuple[str, Mapping[str, RawTerm]]]:
    sizes = {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}
    found = []
    for block in (block for block in modal.child("frame").blocks if block.name.lower() == "node"):
        raw = {name: read_term(block, name, n, *sizes[name]) for name in OF_NODES}
        if not raw["AP"].m0.any():  # a node that states no rotation turns by its psi
            psi = raw["psi"]
            turn, along = tilde(psi.m0.T), tilde(psi.d0.transpose(0, 2, 1))
            raw["AP"] = psi._replace(m0=np.eye(3), m1=turn, d0=np.zeros((len(along), 3, 3)), d1=along)
        found.append((block.title, raw))
    return found


def _node(title: str, raw: Mapping[str, RawTerm]) -> Node:
    firsts = {k: m1.transpose(0, 2, 1) for k in ("phi", "psi") if (m1 := raw[k].m1) is not None and m1.any()}
    phi, psi = (Taylor(raw[k].m0.T, firsts.get(k)) for k in ("phi", "psi"))
    return Node(title, _one_column(raw["origin"]), phi, psi, Taylor(raw["AP"].m0, raw["AP"].m1))
