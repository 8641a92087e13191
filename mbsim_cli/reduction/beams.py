"""Beams of Euler and Bernoulli along x, in the plane or in space, with the rotary inertia of their sections."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.structure import Structure, gathered

TERMS = 40  # of the series of the torsion constant


class Section(NamedTuple):
    """Area, second moments about y and z and torsion constant; m^2, m^4."""

    area: Array
    Iy: Array
    Iz: Array
    torsion: Array


def rectangle(b, h) -> Section:
    """A rectangle, b along y and h along z; torsion by the series of Saint-Venant."""
    n = np.arange(1, 2 * TERMS, 2)
    wide, narrow = (b, h) if np.real(b) >= np.real(h) else (h, b)
    series = (np.tanh(n * np.pi * wide / (2 * narrow)) / n**5).sum()
    torsion = wide * narrow**3 / 3 * (1 - 192 / np.pi**5 * narrow / wide * series)
    return Section(b * h, b * h**3 / 12, h * b**3 / 12, torsion)


def tube(radius, inner=0.0) -> Section:
    """A circle, or a ring."""
    moment = np.pi * (radius**4 - inner**4) / 4
    return Section(np.pi * (radius**2 - inner**2), moment, moment, 2 * moment)


def beam(mesh: Mesh, section: Section, E, nu, density, planar: bool) -> Structure:
    """A straight beam of equal elements."""
    h = mesh.points[1, 0] - mesh.points[0, 0]
    stiffness = _stiffness(section, E, E / (2 * (1 + nu)), h)
    per_node = 3 if planar else 6
    kept = np.array([0, 1, 5, 6, 7, 11] if planar else range(12))
    dofs = (per_node * mesh.cells[:, :, None] + np.arange(per_node)).reshape(len(mesh.cells), -1)
    offsets, local = _carriers(section, h, planar)
    count = len(local) * len(mesh.cells)
    carried = np.arange(count).reshape(len(mesh.cells), -1)
    starts = mesh.points[mesh.cells[:, 0]]
    points = (starts[:, None] + offsets[None]).reshape(-1, 3)
    mass = _masses(section, h, density, planar)
    size = per_node * len(mesh.points)
    spread = tuple(_placed(local[:, a, kept], dofs, size) for a in range(3))
    element = stiffness[None][:, kept][:, :, kept]
    by_tension = ByTension(E * section.area / h, _across_by_tension(h)[np.ix_(kept, kept)])
    return Structure(
        mesh, per_node, dofs, element, points, carried, mass[None], spread,
        planar=planar, has_rotations=True, geometric=by_tension,
    )  # fmt: skip


@dataclass(frozen=True)
class ByTension:
    """Stiffness across of beams by the mean tension of each element, ``axial`` times its stretch."""

    axial: Array
    across: Array  # of an element (nd, nd), by a unit tension

    def stiffness(self, structure: Structure, u: Array, shapes: Array) -> Array:
        """(s, n, n) by displacements u (ndof, s)."""
        local = shapes[structure.dofs]
        force = _scaled(structure, self._force(structure, u))
        return np.einsum("es,eil,ij,ejq->slq", force, local, self.across, local, optimize=True)

    def pull_back(self, structure: Structure, u: Array, shapes: Array, hat: Array) -> tuple[Array, Array, Array]:
        """Covectors of the elements' factors, u and shapes."""
        local, force = shapes[structure.dofs], self._force(structure, u)
        by_force = np.einsum("slq,eil,ij,ejq->es", hat, local, self.across, local, optimize=True)
        stretched = self.axial * _scaled(structure, by_force)
        by_u = gathered(np.stack([-stretched, stretched], 1), _ends(structure), structure.size)
        both, tension = hat + hat.swapaxes(1, 2), _scaled(structure, force)
        by_local = np.einsum("es,slq,ij,ejq->eil", tension, both, self.across, local, optimize=True)
        return (force * by_force).sum(1), by_u, gathered(by_local, structure.dofs, structure.size)

    def _force(self, structure: Structure, u: Array) -> Array:
        first, last = _ends(structure).T
        return self.axial * (u[last] - u[first])


def _ends(structure: Structure) -> Array:
    """Displacements along the beam of both ends of each element (ne, 2)."""
    return structure.dofs[:, [0, structure.per_node]]


def _scaled(structure: Structure, values: Array) -> Array:
    """Values of elements (ne, s) times the factors of their stiffness."""
    return values if structure.stiffness_factor is None else values * structure.stiffness_factor[:, None]


def _across_by_tension(h) -> Array:
    K = np.zeros((12, 12), np.result_type(h, float))
    for across in (ACROSS_Y, ACROSS_Z):
        _put_across(K, tension(h), across)
    return K


def bending(h) -> Array:
    """Stiffness of displacements and slopes at both ends (4, 4), for EI = 1."""
    return np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
    ) / h**3  # fmt: skip


def tension(h) -> Array:
    """Stiffness across by a unit tension (4, 4), in displacements and slopes."""
    return np.array(
        [[36, 3 * h, -36, 3 * h], [3 * h, 4 * h**2, -3 * h, -(h**2)],
         [-36, -3 * h, 36, -3 * h], [3 * h, -(h**2), -3 * h, 4 * h**2]]
    ) / (30 * h)  # fmt: skip


ALONG, ABOUT = (0, 6), (3, 9)
ACROSS_Y = ((1, 1), (5, 1), (7, 1), (11, 1))  # v and slope v' = rotation about z
ACROSS_Z = ((2, 1), (4, -1), (8, 1), (10, -1))  # w and slope w' = -rotation about y


def _put_across(matrix: Array, small: Array, across: tuple) -> None:
    """Add a matrix of displacements and slopes to one of twelve degrees of freedom."""
    places, signs = np.array(across).T
    matrix[np.ix_(places, places)] += np.outer(signs, signs) * small


def _stiffness(section: Section, E, G, h) -> Array:
    K = np.zeros((12, 12), np.result_type(*section, E, G, h, float))
    pair = np.array([[1, -1], [-1, 1]]) / h
    K[np.ix_(ALONG, ALONG)] += E * section.area * pair
    K[np.ix_(ABOUT, ABOUT)] += G * section.torsion * pair
    _put_across(K, E * section.Iz * bending(h), ACROSS_Y)
    _put_across(K, E * section.Iy * bending(h), ACROSS_Z)
    return K


def _section_points(section: Section, planar: bool) -> Array:
    """Points (s, 2) of equal weight with the section's second moments: y, z."""
    y, z = np.sqrt(section.Iz / section.area), np.sqrt(section.Iy / section.area)
    if planar:
        return np.array([[y, 0.0], [-y, 0.0]])
    return np.array([[s * y, t * z] for s in (1, -1) for t in (1, -1)])


def _gauss() -> tuple[Array, Array]:
    """Four points on (0, 1), which integrate products of cubics."""
    x, w = np.polynomial.legendre.leggauss(4)
    return (x + 1) / 2, w / 2


def _carriers(section: Section, h, planar: bool) -> tuple[Array, Array]:
    """Places of the carriers of an element (c, 3) from its first node, and their displacements (c, 3, 12)."""
    places, rows = [], []
    for s in _gauss()[0]:
        cubic = np.array([1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, h * (s**3 - s**2)])
        slope = np.array([6 * (s**2 - s) / h, 1 - 4 * s + 3 * s**2, 6 * (s - s**2) / h, 3 * s**2 - 2 * s])
        for y, z in _section_points(section, planar):
            row = np.zeros((3, 12), np.result_type(h, y, z, float))
            for places_of, offset, axis in ((ACROSS_Y, y, 1), (ACROSS_Z, z, 2)):
                for (place, sign), value, tilt in zip(places_of, cubic, slope, strict=True):
                    row[axis, place] += sign * value
                    row[0, place] -= sign * offset * tilt
            for place, value in zip(ALONG, (1 - s, s), strict=True):
                row[0, place] += value
            for place, value in zip(ABOUT, (1 - s, s), strict=True):
                row[1, place] -= z * value
                row[2, place] += y * value
            places.append([s * h, y, z])
            rows.append(row)
    return np.array(places), np.array(rows)


def _masses(section: Section, h, density, planar: bool) -> Array:
    count = 2 if planar else 4
    return np.diag(np.repeat(_gauss()[1], count) * (density * section.area * h / count))


def _placed(local: Array, dofs: Array, size: int):
    """Sparse matrix (m, ndof) of the same rows (c, nd) in every element."""
    from scipy import sparse

    count = len(dofs)
    values = np.broadcast_to(local, (count, *local.shape))
    rows = np.broadcast_to(np.arange(count * len(local)).reshape(count, -1, 1), values.shape)
    columns = np.broadcast_to(dofs[:, None, :], values.shape)
    shape = (count * len(local), size)
    return sparse.coo_matrix((values.ravel(), (rows.ravel(), columns.ravel())), shape=shape).tocsc()
