"""Integrals of shapes over a body, and changes of its modal coordinates."""

from dataclasses import replace

import numpy as np

from mbsim_cli.model.layout import STEP
from mbsim_cli.reduction.data import OF_NODES, SHAPES, Array, N, StandardInput, Taylor, combined, tangent, turned

# Terms of standard input data from one Gram matrix.
#
# All integrals over the body are entries of G = U^T m U, U (points, 4 + 3 n) = [1, R, Phi_x, Phi_y, Phi_z] and m
# the scalar mass matrix of the points. The terms are linear in G with constant coefficients: one table gives them,
# and read backwards their transpose.

_E = np.eye(3)
_EPS = np.cross(_E[:, None], _E[None]).transpose(2, 0, 1)  # (a x b)_i = EPS_ibc a_b b_c
_TRACE = np.einsum("ab,cd->abcd", _E, _E)
_MIXED = np.einsum("ac,bd->abcd", _E, _E)
_INERT = _TRACE - (_MIXED + _MIXED.transpose(0, 1, 3, 2)) / 2  # integral of r r^T to integral of -r~ r~
_TILDES = -2 * (_MIXED.transpose(0, 1, 3, 2) - _TRACE)  # integral of r u^T to -2 integral of r~ u~


_ONE = np.array(1.0)
_TABLE = (  # term, order, block of the Gram matrix (two of 1, X, F), constant times block -> coefficient, constant
    ("mass", 0, "11", ",->", _ONE),
    ("mdCM", 0, "1X", ",a->a", _ONE),
    ("mdCM", 1, "1F", ",al->la", _ONE),
    ("J", 0, "XX", "abcd,cd->ab", _INERT),
    ("J", 1, "XF", "abcd,cdl->lab", 2 * _INERT),
    ("J", 2, "FF", "abcd,cdlk->lkab", _INERT),
    ("Ct", 0, "1F", ",al->la", _ONE),
    ("Cr", 0, "XF", "abc,bcl->la", _EPS),
    ("Cr", 1, "FF", "abc,bcql->qla", _EPS),
    ("Me", 0, "FF", "ab,ablk->lk", _E),
    ("Gr", 0, "XF", "abcd,cdl->lab", _TILDES),
    ("Gr", 1, "FF", "abcd,cdql->qlab", _TILDES),
    ("Ge", 0, "FF", "abc,bcli->lia", 2 * _EPS),
    ("Oe", 0, "XF", "abcd,cdl->lab", -_INERT),
    ("Oe", 1, "FF", "abcd,cdlq->qlab", -_INERT),
)


def columns(points: Array, shapes: Array) -> Array:
    """U (m, 4 + 3 n) of points (m, 3) and of the displacements there, (m, 3, n)."""
    one = np.ones((len(points), 1))
    return np.hstack([one, points, shapes.reshape(len(points), -1)])


def terms_of(G: Array) -> dict[str, Taylor]:
    """Terms of a Gram matrix (4 + 3 n, 4 + 3 n)."""
    blocks = _blocks(G)
    found: dict[str, list[Array]] = {}
    for term, _, block, subscripts, constant in _TABLE:
        found.setdefault(term, []).append(np.einsum(subscripts, constant, blocks[block]))
    return {name: Taylor(*coefficients) for name, coefficients in found.items()}


def pull_back(adjoint: StandardInput) -> Array:
    """Adjoint of a Gram matrix (4 + 3 n, 4 + 3 n), from one of all terms."""
    n = adjoint.n
    G = np.zeros((4 + 3 * n, 4 + 3 * n))
    blocks = _blocks(G)
    for term, order, block, subscripts, constant in _TABLE:
        given = getattr(adjoint, term)[order]
        if given is not None:
            of_constant, of_block, of_term = subscripts.replace("->", ",").split(",")
            blocks[block] += np.einsum(f"{of_constant},{of_term}->{of_block}", constant, given)
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


# Elastic coordinates of modes, as a file states and reads them: how they turn within their span as a body changes.
#
# Derivatives of a body keep the span of its shapes. Single coordinates (their start, their motion) are those of modes,
# whose mass is one and whose stiffness is diagonal at any values of the body's numbers.
# Derivation: ``docs/theory/flexible_bodies.md``, section 4.

EQUAL = 1e-6  # relative gap of squared frequencies, below which two modes count as equal


def in_modes(sid: StandardInput, along: StandardInput) -> StandardInput:
    """Derivatives of a body's terms in the coordinates of its modes, from those that hold the span of the shapes."""
    by_mass, by_stiffness = _turns(sid)
    C = by_mass * along.Me.M0 + by_stiffness * along.Ke.M0
    if not C.any():
        return along
    return combined(along, tangent(turned(replace(sid, design={}), np.eye(sid.n) + 1j * STEP * C), STEP))


def parted(sid: StandardInput, along: StandardInput) -> list[tuple[int, int]]:
    """Pairs of modes, counted from 0, whose frequencies are equal and become others along a change."""
    squares, size = np.diag(sid.Ke.M0), np.abs(along.Ke.M0).max(initial=0.0)
    moved = along.Ke.M0 - squares[:, None] * along.Me.M0
    rates = np.diag(moved)
    apart = np.maximum(np.abs(moved), np.abs(rates[:, None] - rates)) > EQUAL * size
    return [(int(i), int(j)) for i, j in np.argwhere(~_apart(squares) & apart) if i < j]


def of_span(sid: StandardInput, adjoint: StandardInput) -> StandardInput:
    """The transpose: an adjoint of derivatives in the coordinates of modes as one of those that hold the span."""
    by_turn = np.zeros((sid.n, sid.n))  # derivatives of the product of all terms and the adjoint by the entries of C
    for (path, term), (_, hat) in zip(sid.items(), adjoint.items(), strict=True):
        shape = (SHAPES | OF_NODES)[path.rpartition(".")[2]]
        for order, (entries, by) in enumerate(zip(term, hat, strict=True)):
            if entries is not None and by is not None:
                for axis, size in enumerate((N,) * order + shape):
                    if size is N:  # modes first, all others as one axis
                        rows, by_rows = (np.moveaxis(of, axis, 0).reshape(sid.n, -1) for of in (entries, by))
                        by_turn += rows @ by_rows.T
    weighted = zip((adjoint.Me, adjoint.Ke), _turns(sid), strict=True)
    Me, Ke = (term._replace(M0=term.M0 + weights * by_turn) for term, weights in weighted)
    return replace(adjoint, Me=Me, Ke=Ke)


def _turns(sid: StandardInput) -> tuple[Array, Array]:
    """Weights (n, n) of dMe and dKe in C, where shapes become Phi (1 + C).

    dMe + C + C^T vanishes, and dKe + Ke C + C^T Ke off its diagonal; of two equal frequencies C is symmetric instead.
    """
    squares = np.diag(sid.Ke.M0)
    apart = _apart(squares)
    gap = np.where(apart, squares[:, None] - squares, 1.0)
    return np.where(apart, squares / gap, -0.5), np.where(apart, -1.0 / gap, 0.0)


def _apart(squares: Array) -> Array:
    """Mask (n, n) of pairs of modes with different frequencies."""
    return np.abs(squares[:, None] - squares) > EQUAL * np.maximum(squares[:, None], squares)
