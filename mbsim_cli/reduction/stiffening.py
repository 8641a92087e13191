"""Geometric stiffening: stiffness by the stresses that unit loads cause, as terms of first order in q.

K0 (s, n, n) of loads is the modes' work on their stresses. All terms take it with a minus sign: loads of inertia oppose
accelerations, and those at nodes stand on the other side of the equations of motion.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, StandardInput, Taylor
from mbsim_cli.reduction.frames_on_mesh import MeshNode
from mbsim_cli.reduction.restriction import Restriction
from mbsim_cli.reduction.solving import Solver
from mbsim_cli.reduction.structure import Structure


class Stiffening(NamedTuple):
    """Which loads stiffen: of rotation, of acceleration, forces and moments at nodes (counted from 0)."""

    rotation: bool = False
    acceleration: bool = False
    nodes: tuple[int, ...] = ()


class UnitLoads(NamedTuple):
    """Loads (ndof, s) that stiffen, and the path of the term that has their share."""

    path: str
    forces: Array
    accelerations: Array | None = None  # of the carriers (m, 3, s), where the forces are their mass times these

    def share(self, K0: Array) -> Array:
        """Coefficients of first order by the stiffness (s, n, n) of the loads."""
        return -(_by_tensor(K0) if self.path == "Oe" else K0.transpose(2, 1, 0))

    def pull_back(self, first: Array) -> Array:
        """Transpose of ``share``."""
        return -(_of_tensor(first) if self.path == "Oe" else first.transpose(2, 1, 0))


def stiffened(
    sid: StandardInput,
    which: Stiffening,
    structure: Structure,
    held: Restriction,
    solver: Solver,
    shapes: Array,
    nodes: Sequence[MeshNode],
) -> StandardInput:
    """The body with stiffening; ``shapes`` (ndof, n) are its modes."""
    given, terms = dict(sid.items()), {}
    for loads in unit_loads(which, structure, nodes):
        stressed = held.expand(solver.static(held.load(loads.forces)))
        share = loads.share(structure.geometric.stiffness(structure, stressed, shapes))
        terms[loads.path] = _added(given[loads.path], share)
    return sid.with_terms(terms)


def unit_loads(which: Stiffening, structure: Structure, nodes: Sequence[MeshNode]) -> Iterator[UnitLoads]:
    """All loads that stiffen a body."""
    if which.acceleration:
        yield _of_inertia("Ct", structure, np.broadcast_to(np.eye(3), (len(structure.carriers), 3, 3)))
        yield _of_inertia("Cr", structure, np.stack([np.cross(axis, structure.carriers) for axis in np.eye(3)], -1))
    if which.rotation:
        yield _of_inertia("Oe", structure, _by_rotation(structure.carriers))
    for i in which.nodes:
        yield UnitLoads(f"node[{i}].phi", nodes[i].phi.T.toarray())
        yield UnitLoads(f"node[{i}].psi", nodes[i].psi.T.toarray())


def _of_inertia(path: str, structure: Structure, accelerations: Array) -> UnitLoads:
    return UnitLoads(path, structure.inertia_loads(accelerations), accelerations)


def _added(term: Taylor, first: Array) -> Taylor:
    return term._replace(M1=first if term.M1 is None else term.M1 + first)


_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def _by_rotation(R: Array) -> Array:
    """Accelerations (m, 3, 6) by products of angular velocities w_a w_b: w (w.R) - w.w R, symmetric in a and b."""
    one = np.eye(3)
    return np.stack([(np.outer(R[:, b], one[a]) + np.outer(R[:, a], one[b])) / 2 - (a == b) * R for a, b in _PAIRS], -1)


def _by_tensor(K0: Array) -> Array:
    """Of six pairs (6, n, n) to (q, n, 3, 3)."""
    n = K0.shape[1]
    found = np.zeros((n, n, 3, 3), K0.dtype)
    for pair, (a, b) in enumerate(_PAIRS):
        found[:, :, a, b] = found[:, :, b, a] = K0[pair]
    return found


def _of_tensor(first: Array) -> Array:
    """Transpose of ``_by_tensor``."""
    return np.stack([first[:, :, a, b] + (first[:, :, b, a] if a != b else 0.0) for a, b in _PAIRS])
