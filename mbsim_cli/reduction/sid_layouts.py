"""What writers of ASCII SID files differ in: the layout of inertia, and the order of columns, settled by identities."""

from collections.abc import Callable

import numpy as np

from mbsim_cli.reduction.data import Array, Taylor
from mbsim_cli.reduction.identities import EXACT, difference
from mbsim_cli.reduction.sid_blocks import Block
from mbsim_cli.reduction.sid_terms import RawTerm

_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # J: xx yy zz xy xz yz
_SIX_OF_OE = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # Oe: xx yy zz xy yz xz
Order = Callable[[Array], Array]  # from a matrix as it stands in the file to one of each mode


def inertia_of(raw: RawTerm) -> Taylor:
    """J as matrices (3, 3), whichever layout it has."""
    first = None if raw.m1 is None else np.array([_inertia(m) for m in raw.m1])
    second = None if raw.mn is None else np.array([[_inertia(m) for m in row] for row in raw.mn])
    return Taylor(_inertia(raw.m0), first, second)


def shape_of_inertia(modal: Block) -> tuple[int, int]:
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


def squares_of(m: Array) -> Array:
    """Rows (n, 6) by products of angular velocities to symmetric matrices (n, 3, 3)."""
    O = np.zeros((len(m), 3, 3))
    for column, (a, b) in enumerate(_SIX_OF_OE):
        O[:, a, b] += m[:, column] / 2
        O[:, b, a] += m[:, column] / 2
    return O


def order_of_Gr(raw: RawTerm, J: Taylor, n: int) -> Order:
    """What orders Gr by modes: of both orders of its columns the one whose symmetric parts are dJ/dq."""

    def by_modes(m: Array) -> Array:
        return m.reshape(3, n, 3).transpose(1, 0, 2)

    def by_axes(m: Array) -> Array:
        return m.reshape(3, 3, n).transpose(2, 0, 1)

    wanted = J.M1 if J.M1 is not None else np.zeros((n, 3, 3))

    def defect(G: Array) -> float:
        return difference((G + G.transpose(0, 2, 1)) / 2, wanted)

    return _settled(raw, "Gr", (by_modes, by_axes), defect, "its symmetric parts are to be dJ/dq")


def order_of_Ge(raw: RawTerm, Cr: Taylor, Me: Array) -> Order:
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
    raw: RawTerm, name: str, orders: tuple[Order, Order], defect: Callable[[Array], float], identity: str
) -> Order:
    """The order of columns that an identity holds for; raise InputOutputError where it holds for none."""
    defects = [defect(order(raw.m0)) for order in orders]
    by_modes, by_axes = defects
    if min(defects) > EXACT:
        raw.block.fail(
            f"the order of the columns of {name} cannot be settled: {identity}, which fails by {by_modes:.2g} of the "
            f"largest entry by modes and by {by_axes:.2g} by axes; data of two writers may be mixed up"
        )
    return orders[int(np.argmin(defects))]
