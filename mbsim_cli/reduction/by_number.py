"""A body by the independent integrals over it: what else a simulation reads follows from identities."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.cross_matrices import tilde
from mbsim_cli.reduction.damping import Damping
from mbsim_cli.reduction.data import Array, Node, StandardInput, Taylor


class Integrals(NamedTuple):
    """Integrals of a body with n shapes; index q of the shape that a coefficient is multiplied by first."""

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
