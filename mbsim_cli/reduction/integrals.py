"""Terms of standard input data from one Gram matrix.

All integrals over the body are entries of G = U^T m U, U (points, 4 + 3 n) = [1, R, Phi_x, Phi_y, Phi_z] and m the
scalar mass matrix of the points. The terms are linear in G with constant coefficients: one table gives them, and read
backwards their transpose.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, StandardInput, Taylor

_E = np.eye(3)
_EPS = np.cross(_E[:, None], _E[None]).transpose(2, 0, 1)  # (a x b)_i = EPS_ibc a_b b_c
_TRACE = np.einsum("ab,cd->abcd", _E, _E)
_MIXED = np.einsum("ac,bd->abcd", _E, _E)
_INERT = _TRACE - (_MIXED + _MIXED.transpose(0, 1, 3, 2)) / 2  # integral of r r^T to integral of -r~ r~
_TILDES = -2 * (_MIXED.transpose(0, 1, 3, 2) - _TRACE)  # integral of r u^T to -2 integral of r~ u~


class _Entry(NamedTuple):
    term: str
    order: int
    block: str  # of the Gram matrix: two of 1, X, F
    subscripts: str  # constant, block -> coefficient
    constant: Array


_ONE = np.array(1.0)
_TABLE = (
    _Entry("mass", 0, "11", ",->", _ONE),
    _Entry("mdCM", 0, "1X", ",a->a", _ONE),
    _Entry("mdCM", 1, "1F", ",al->la", _ONE),
    _Entry("J", 0, "XX", "abcd,cd->ab", _INERT),
    _Entry("J", 1, "XF", "abcd,cdl->lab", 2 * _INERT),
    _Entry("J", 2, "FF", "abcd,cdlk->lkab", _INERT),
    _Entry("Ct", 0, "1F", ",al->la", _ONE),
    _Entry("Cr", 0, "XF", "abc,bcl->la", _EPS),
    _Entry("Cr", 1, "FF", "abc,bcql->qla", _EPS),
    _Entry("Me", 0, "FF", "ab,ablk->lk", _E),
    _Entry("Gr", 0, "XF", "abcd,cdl->lab", _TILDES),
    _Entry("Gr", 1, "FF", "abcd,cdql->qlab", _TILDES),
    _Entry("Ge", 0, "FF", "abc,bcli->lia", 2 * _EPS),
    _Entry("Oe", 0, "XF", "abcd,cdl->lab", -_INERT),
    _Entry("Oe", 1, "FF", "abcd,cdlq->qlab", -_INERT),
)


def columns(points: Array, shapes: Array) -> Array:
    """U (m, 4 + 3 n) of points (m, 3) and of the displacements there, (m, 3, n)."""
    one = np.ones((len(points), 1))
    return np.hstack([one, points, shapes.reshape(len(points), -1)])


def terms_of(G: Array) -> dict[str, Taylor]:
    """Terms of a Gram matrix (4 + 3 n, 4 + 3 n)."""
    blocks = _blocks(G)
    found: dict[str, list[Array]] = {}
    for entry in _TABLE:
        found.setdefault(entry.term, []).append(np.einsum(entry.subscripts, entry.constant, blocks[entry.block]))
    return {name: Taylor(*coefficients) for name, coefficients in found.items()}


def pull_back(covector: StandardInput) -> Array:
    """Covector of a Gram matrix (4 + 3 n, 4 + 3 n), from one of all terms."""
    n = covector.n
    G = np.zeros((4 + 3 * n, 4 + 3 * n))
    blocks = _blocks(G)
    for entry in _TABLE:
        given = getattr(covector, entry.term)[entry.order]
        if given is not None:
            constant, block, term = entry.subscripts.replace("->", ",").split(",")
            blocks[entry.block] += np.einsum(f"{constant},{term}->{block}", entry.constant, given)
    return G


def _blocks(G: Array) -> dict[str, Array]:
    """Views of the blocks: 1 the constant, X the places (3), F the displacements (3, n), the modes behind the axes."""
    n = (len(G) - 4) // 3
    return {
        "11": G[0, 0:1].reshape(()),
        "1X": G[0, 1:4],
        "XX": G[1:4, 1:4],
        "1F": G[0, 4:].reshape(3, n),
        "XF": G[1:4, 4:].reshape(3, 3, n),
        "FF": G[4:, 4:].reshape(3, n, 3, n).transpose(0, 2, 1, 3),
    }
