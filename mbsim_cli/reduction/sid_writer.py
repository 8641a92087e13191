"""Writes standard input data as an ASCII SID file, in the layout of FEMBS: columns of Gr and Ge by axes.

A body with design derivatives has them beside the coefficients: ``nd`` design variables, whose names stand as
``idesign``, and ``dm0(row, column, design)``, ``dm1(row, mode, column, design)``; ``mass`` is a block then, as all
other terms, and the inertia has its second order, ``mn(row, mode, mode, column)`` with ``dmn``. Source: A. Held, On
design sensitivities in the structural analysis and optimization of flexible multibody systems, 2021, tables 2 to 5.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, StandardInput, Taylor

_INDENT = " " * 11
_KEYS = ("m0", "m1", "mn")


class _Layout(NamedTuple):
    """How the file has a term: its columns from a coefficient, and its highest order in q."""

    columns: Callable[[Array], Array]
    order: int = 1


_TERMS = {
    "mdCM": _Layout(lambda m: m[:, None]),
    "J": _Layout(lambda m: m[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]][:, None], 2),
    "Ct": _Layout(lambda m: m),
    "Cr": _Layout(lambda m: m),
    "Me": _Layout(lambda m: m),
    "Gr": _Layout(lambda m: m.transpose(1, 2, 0).reshape(3, -1)),
    "Ge": _Layout(lambda m: m.transpose(1, 2, 0).reshape(len(m), -1)),
    "Oe": _Layout(lambda m: m[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]] * [1, 1, 1, 2, 2, 2]),
    "ksigma": _Layout(lambda m: m[:, None]),
    "Ke": _Layout(lambda m: m),
    "De": _Layout(lambda m: m),
}
_NODE = {
    "origin": _Layout(lambda m: m[:, None]),
    "phi": _Layout(np.transpose),
    "psi": _Layout(np.transpose),
    "AP": _Layout(lambda m: m),
}
_MASS = _Layout(lambda m: np.reshape(m, (1, 1)))


def sid_text(sid: StandardInput) -> str:
    """Return the file's text; without design derivatives it has no place for terms of second order in q."""
    return "\n".join(_lines(sid)) + "\n"


def _lines(sid: StandardInput) -> Iterator[str]:
    terms = [dict(body.items()) for body in (sid, *sid.design.values())]

    def block(name: str, path: str, layout: _Layout, indent: str) -> Iterator[str]:
        return _block(name, [of[path] for of in terms], sid.n, layout, indent)

    yield f"{len(sid.nodes):4d}{sid.n:4d}    :{sid.comment.splitlines()[0] if sid.comment else 'written by mbsim'}"
    yield "part"
    yield "      new modal = body"
    yield from _refmod(sid, block("mass", "mass", _MASS, _INDENT + " " * 5))
    yield f"{_INDENT}frame"
    for i, node in enumerate(sid.nodes):
        indent = _INDENT + " " * 5
        yield f"{indent}new node = {node.name}"
        yield f"{indent}     rframe = body ref"
        for name, layout in _NODE.items():
            yield from block(name, f"node[{i}].{name}", layout, indent + " " * 5)
        yield f"{indent}end node"
    yield f"{_INDENT}end frame"
    for name, layout in _TERMS.items():
        yield from block(name, name, layout, _INDENT)
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
    for i, name in enumerate(sid.modes or _labels(sid), 1):
        yield f"{indent}ielastq ({i:4d}) = {name}"
    for i, name in enumerate(sid.design, 1):
        yield f"{indent}idesign ({i:4d}) = {name}"
    yield f"{_INDENT}end refmod"


def _labels(sid: StandardInput) -> list[str]:
    return [f"Eigen Mode {i:4d} : {f:12.6g} Hz" for i, f in enumerate(sid.frequencies(), 1)]


def _block(name: str, terms: list[Taylor], n: int, layout: _Layout, indent: str) -> Iterator[str]:
    """A term with its coefficients and their derivatives, which stand behind it in ``terms``."""
    nd = len(terms) - 1
    highest = layout.order if nd else min(layout.order, 1)
    order = max(k for k in range(highest + 1) if any(term[k] is not None for term in terms))
    found = {
        (key, d): _in_columns(layout, entries, k)
        for k, key in enumerate(_KEYS[: order + 1])
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
        yield from _values(indent, f"d{key}" if d else key, entries, (d,) if d else ())
    yield f"{indent}end {name}"


def _in_columns(layout: _Layout, entries: Array, order: int) -> Array:
    """A coefficient (row, modes ..., column) as the file has it, from one with the modes first."""
    if order == 0:
        return layout.columns(entries)
    return np.stack([_in_columns(layout, of_mode, order - 1) for of_mode in entries], axis=1)


def _values(indent: str, key: str, entries: Array, behind: tuple[int, ...] = ()) -> Iterator[str]:
    """Lines of all entries that are not zero; indices count from 1."""
    for place in zip(*np.nonzero(entries), strict=True):
        indices = ",".join(f"{i:4d}" for i in (*(int(i) + 1 for i in place), *behind))
        yield f"{indent}     {f'{key}({indices})':<19} = {_number(entries[place])}"


def _number(value: float) -> str:
    return f"{float(value):.17e}".replace("e", "D")
