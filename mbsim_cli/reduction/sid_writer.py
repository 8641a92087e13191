"""Writes standard input data as an ASCII SID file, in the layout of FEMBS: columns of Gr and Ge by axes."""

from collections.abc import Iterator

import numpy as np

from mbsim_cli.reduction.data import Array, Node, StandardInput, Taylor

_INDENT = " " * 11


def sid_text(sid: StandardInput) -> str:
    """Return the file's text; terms of second order in q have no place in it."""
    return "\n".join(_lines(sid)) + "\n"


def _lines(sid: StandardInput) -> Iterator[str]:
    n = sid.n
    yield f"{len(sid.nodes):4d}{n:4d}    :{sid.comment.splitlines()[0] if sid.comment else 'written by mbsim'}"
    yield "part"
    yield "      new modal = body"
    yield f"{_INDENT}refmod"
    yield f"{_INDENT}     mass      = {_number(sid.mass.M0)}"
    yield f"{_INDENT}     nelastq   = {n}"
    for i, name in enumerate(sid.modes or _labels(sid), 1):
        yield f"{_INDENT}     ielastq ({i:4d}) = {name}"
    yield f"{_INDENT}end refmod"
    yield f"{_INDENT}frame"
    for node in sid.nodes:
        yield from _node(node, n)
    yield f"{_INDENT}end frame"
    for name, term in _modal_terms(sid).items():
        yield from _taylor(name, *term, n, _INDENT)
    yield "      end modal"
    yield "end part"


def _labels(sid: StandardInput) -> list[str]:
    return [f"Eigen Mode {i:4d} : {f:12.6g} Hz" for i, f in enumerate(sid.frequencies(), 1)]


def _node(node: Node, n: int) -> Iterator[str]:
    indent = _INDENT + " " * 5
    yield f"{indent}new node = {node.name}"
    yield f"{indent}     rframe = body ref"
    for name, term in {
        "origin": _rows(node.origin, lambda m: m[:, None]),
        "phi": _rows(node.phi, np.transpose),
        "psi": _rows(node.psi, np.transpose),
        "AP": _rows(node.AP, lambda m: m),
    }.items():
        yield from _taylor(name, *term, n, indent + " " * 5)
    yield f"{indent}end node"


def _modal_terms(sid: StandardInput) -> dict[str, tuple[Array, Array | None]]:
    n = sid.n
    return {
        "mdCM": _rows(sid.mdCM, lambda m: m[:, None]),
        "J": _rows(sid.J, lambda m: m[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]][:, None]),
        "Ct": _rows(sid.Ct, lambda m: m),
        "Cr": _rows(sid.Cr, lambda m: m),
        "Me": _rows(sid.Me, lambda m: m),
        "Gr": _rows(sid.Gr, lambda m: m.transpose(1, 2, 0).reshape(3, 3 * n)),
        "Ge": _rows(sid.Ge, lambda m: m.transpose(1, 2, 0).reshape(n, 3 * n)),
        "Oe": _rows(sid.Oe, lambda m: m[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]] * [1, 1, 1, 2, 2, 2]),
        "ksigma": _rows(sid.ksigma, lambda m: m[:, None]),
        "Ke": _rows(sid.Ke, lambda m: m),
        "De": _rows(sid.De, lambda m: m),
    }


def _rows(term: Taylor, layout) -> tuple[Array, Array | None]:
    return layout(term.M0), None if term.M1 is None else np.array([layout(m) for m in term.M1])


def _taylor(name: str, m0: Array, m1: Array | None, n: int, indent: str) -> Iterator[str]:
    yield f"{indent}{name}"
    structure = 3 if m0.any() or (m1 is not None and m1.any()) else 0
    for key, value in (
        ("order", int(m1 is not None)), ("nrow", m0.shape[0]), ("ncol", m0.shape[1]), ("nq", n), ("nqn", 0),
        ("structure", structure),
    ):  # fmt: skip
        yield f"{indent}     {key:<22}= {value:4d}"
    for row, column in zip(*np.nonzero(m0), strict=True):
        yield f"{indent}     m0({row + 1:4d},{column + 1:4d})         = {_number(m0[row, column])}"
    for row, mode, column in zip(*np.nonzero(m1.transpose(1, 0, 2)) if m1 is not None else ((),) * 3, strict=True):
        assert m1 is not None
        value = _number(m1[mode, row, column])
        yield f"{indent}     m1({row + 1:4d},{mode + 1:4d},{column + 1:4d})    = {value}"
    yield f"{indent}end {name}"


def _number(value: float) -> str:
    return f"{float(value):.17e}".replace("e", "D")
