"""Elastic coordinates of modes, as a file states and reads them: how they turn within their span as a body changes.

Derivatives of a body hold the span of its shapes. What is said of single coordinates (where they start, how they move)
is said of modes, whose mass is one and whose stiffness is diagonal at any values of the body's numbers. Derivation:
``docs/theory/flexible_bodies.md``, section 4.
"""

from dataclasses import replace

import numpy as np

from mbsim_cli.reduction.data import OF_NODES, SHAPES, Array, N, StandardInput, combined, tangent, turned

EQUAL = 1e-6  # relative gap of squared frequencies, below which two modes are not told from each other
STEP = 1e-30


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


def of_span(sid: StandardInput, covector: StandardInput) -> StandardInput:
    """The transpose: a covector of derivatives in the coordinates of modes as one of those that hold the span."""
    by_turn = _by_turn(sid, covector)
    Me, Ke = (
        term._replace(M0=term.M0 + weights * by_turn)
        for term, weights in zip((covector.Me, covector.Ke), _turns(sid), strict=True)
    )
    return replace(covector, Me=Me, Ke=Ke)


def _turns(sid: StandardInput) -> tuple[Array, Array]:
    """Weights (n, n) of dMe and dKe in C, where shapes become Phi (1 + C).

    dMe + C + C^T vanishes, and dKe + Ke C + C^T Ke off its diagonal; of two equal frequencies C is symmetric instead.
    """
    squares = np.diag(sid.Ke.M0)
    apart = _apart(squares)
    gap = np.where(apart, squares[:, None] - squares, 1.0)
    return np.where(apart, squares / gap, -0.5), np.where(apart, -1.0 / gap, 0.0)


def _apart(squares: Array) -> Array:
    """Which pairs of modes (n, n) have frequencies of their own."""
    return np.abs(squares[:, None] - squares) > EQUAL * np.maximum(squares[:, None], squares)


def _by_turn(sid: StandardInput, covector: StandardInput) -> Array:
    """Derivatives (n, n) of the product of all terms and a covector by the entries of C."""
    found = np.zeros((sid.n, sid.n))
    for (path, term), (_, hat) in zip(sid.items(), covector.items(), strict=True):
        shape = (SHAPES | OF_NODES)[path.rpartition(".")[2]]
        for order, (entries, by) in enumerate(zip(term, hat, strict=True)):
            if entries is not None and by is not None:
                for axis, size in enumerate((N,) * order + shape):
                    if size is N:
                        found += _rows(entries, axis) @ _rows(by, axis).T
    return found


def _rows(entries: Array, axis: int) -> Array:
    """Entries with an axis of modes first, all others as one (n, rest)."""
    return np.moveaxis(entries, axis, 0).reshape(entries.shape[axis], -1)
