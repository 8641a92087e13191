"""Geometric stiffening: stiffness by the stresses that unit loads cause, as terms of first order in q.

K0 (s, n, n) of loads is the modes' work on their stresses, and less the work of the loads along what points move by
products of coordinates. Terms take it with a minus sign: loads of inertia oppose accelerations, and those at nodes
stand on the other side of the equations of motion. J and Gr follow the points (docs/theory/flexible_bodies.md, 5).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, StandardInput, Taylor, tilde, untilde
from mbsim_cli.reduction.frames_on_mesh import MeshNode
from mbsim_cli.reduction.modes import Solver
from mbsim_cli.reduction.restriction import Restriction
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

    def shares(self, K0: Array) -> dict[str, Taylor]:
        """What terms have from the stiffness (s, n, n) of the loads, by their paths."""
        if self.path == "Oe":
            J2 = _by_tensor(K0)
            return {"Oe": Taylor(None, -J2), "J": Taylor(None, None, J2), "Gr": Taylor(None, 2 * J2)}
        first = -K0.transpose(2, 1, 0)
        if self.path == "Cr":
            return {"Cr": Taylor(None, first), "Gr": Taylor(None, -tilde(first))}
        return {self.path: Taylor(None, first)}

    def pull_back(self, given: Mapping[str, Taylor]) -> Array:
        """Transpose of ``shares``."""
        hat: Array = given[self.path].M1
        by_rate: Array = given["Gr"].M1
        if self.path == "Oe":
            return _of_tensor(given["J"].M2 + 2 * by_rate - hat)
        if self.path == "Cr":
            hat = hat - 2 * untilde(by_rate)
        return -hat.transpose(2, 1, 0)


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
    terms = dict(sid.items())
    for loads in unit_loads(which, structure, nodes):
        stressed = held.expand(solver.static(held.load(loads.forces)))
        for path, share in loads.shares(structure.geometric.stiffness(structure, stressed, shapes)).items():
            terms[path] = _added(terms[path], share)
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


def _added(term: Taylor, share: Taylor) -> Taylor:
    return Taylor(*(a if b is None else b if a is None else a + b for a, b in zip(term, share, strict=True)))


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
