"""Geometric stiffening: stiffness by the stresses that unit loads cause, as terms of first order in q.

K0 (n, n) of a load is the modes' work on its stress; loads of inertia carry a minus sign: they oppose accelerations.
"""

from collections.abc import Sequence
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

    def by_loads(loads: Array) -> Array:
        stressed = held.expand(solver.static(held.load(loads)))
        return structure.geometric(structure, stressed, shapes)

    terms: dict[str, Taylor] = {}
    if which.acceleration:
        terms["Ct"] = _added(sid.Ct, by_loads(-_of_acceleration(structure)).transpose(2, 1, 0))
        terms["Cr"] = _added(sid.Cr, by_loads(-_of_angular_acceleration(structure)).transpose(2, 1, 0))
    if which.rotation:
        terms["Oe"] = _added(sid.Oe, _by_tensor(by_loads(-_of_rotation(structure))))
    for i in which.nodes:
        for name, rows in (("phi", nodes[i].phi), ("psi", nodes[i].psi)):
            term = getattr(sid.nodes[i], name)
            terms[f"node[{i}].{name}"] = _added(term, -by_loads(rows.T.toarray()).transpose(2, 1, 0))
    return sid.with_terms(terms)


def _added(term: Taylor, first: Array) -> Taylor:
    return term._replace(M1=first if term.M1 is None else term.M1 + first)


def _of_acceleration(structure: Structure) -> Array:
    accelerations = np.broadcast_to(np.eye(3), (len(structure.carriers), 3, 3))
    return structure.inertia_loads(accelerations)


def _of_angular_acceleration(structure: Structure) -> Array:
    return structure.inertia_loads(np.stack([np.cross(axis, structure.carriers) for axis in np.eye(3)], -1))


_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def _of_rotation(structure: Structure) -> Array:
    """By products of angular velocities w_a w_b: w (w.R) - w.w R, symmetric in a and b."""
    R, one = structure.carriers, np.eye(3)
    accelerations = [(np.outer(R[:, b], one[a]) + np.outer(R[:, a], one[b])) / 2 - (a == b) * R for a, b in _PAIRS]
    return structure.inertia_loads(np.stack(accelerations, -1))


def _by_tensor(K0: Array) -> Array:
    """Of six pairs (6, n, n) to (q, n, 3, 3)."""
    n = K0.shape[1]
    found = np.zeros((n, n, 3, 3), K0.dtype)
    for pair, (a, b) in enumerate(_PAIRS):
        found[:, :, a, b] = found[:, :, b, a] = K0[pair]
    return found
