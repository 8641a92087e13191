"""A body by the independent integrals over it: what else a simulation reads follows from identities."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.damping import Damping
from mbsim_cli.reduction.data import Array, Node, StandardInput, Taylor, tilde
from mbsim_cli.reduction.sid_reader import EXACT, difference


class Integrals(NamedTuple):
    """Integrals of a body with n shapes; index q of the shape that a coefficient is multiplied by first.

    J2 may be -int rho Phi_q~ Phi_l~ as it is, or what counts of it, its symmetric part.
    """

    mass: Array  # ()
    mdCM: Array  # (3)
    J0: Array  # (3, 3)
    J1: Array  # (n, 3, 3)
    J2: Array  # (n, n, 3, 3)
    Ct: Array  # (n, 3)
    Cr0: Array  # (n, 3)
    Cr1: Array  # (n, n, 3): q, row
    Me: Array  # (n, n)
    Ke: Array  # (n, n)


def body_of(given: Integrals, nodes: tuple[Node, ...], damping: Damping) -> StandardInput:
    """All terms: Gr = J1 - Cr0~ and 2 J2 - Cr1~, Ge = 2 Cr1, Oe = -J1/2 and -J2."""
    given = _counted(given)
    return StandardInput(
        mass=Taylor(given.mass),
        mdCM=Taylor(given.mdCM, given.Ct),
        J=Taylor(given.J0, given.J1, given.J2),
        Ct=Taylor(given.Ct),
        Cr=Taylor(given.Cr0, given.Cr1),
        Me=Taylor(given.Me),
        Gr=Taylor(given.J1 - tilde(given.Cr0), 2 * given.J2 - tilde(given.Cr1)),
        Ge=Taylor(2 * given.Cr1),
        Oe=Taylor(-given.J1 / 2, -given.J2),
        ksigma=Taylor(np.zeros_like(given.Ct[:, 0])),
        Ke=Taylor(given.Ke),
        De=Taylor(damping.matrix(given.Me, given.Ke)),
        nodes=nodes,
    )


def node_of(name: str, origin: Array, phi: Array, psi: Array) -> Node:
    """A frame at a place (3), displaced and turned by the shapes (n, 3)."""
    return Node(name, Taylor(origin, phi), Taylor(phi), Taylor(psi), Taylor(np.eye(3), tilde(psi)))


def impossible(given: Integrals) -> Iterator[tuple[str, str]]:
    """Terms that no shapes have, with what is wrong."""
    counted = _counted(given)
    for term, entries, expected, wrong in (
        ("J.M1", given.J1, counted.J1, "is not symmetric"),
        ("J.M2", _symmetric(given.J2), counted.J2, "is another one with the two shapes exchanged"),
        ("Cr.M1", given.Cr1, counted.Cr1, "is not the opposite with the two shapes exchanged"),
    ):
        if (defect := difference(entries, expected)) > EXACT:
            yield term, f"{term} {wrong}, by {defect:.2g} of the largest entry"


def _counted(given: Integrals) -> Integrals:
    """Those parts of products of shapes that any body has and that move it."""
    J2, Cr1 = _symmetric(given.J2), given.Cr1
    return given._replace(J1=_symmetric(given.J1), J2=(J2 + J2.swapaxes(0, 1)) / 2, Cr1=(Cr1 - Cr1.swapaxes(0, 1)) / 2)


def _symmetric(matrices: Array) -> Array:
    return (matrices + matrices.swapaxes(-1, -2)) / 2
