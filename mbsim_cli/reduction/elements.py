"""Finite elements of bodies: beams of Euler and Bernoulli along x, and solids."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, Refused
from mbsim_cli.reduction.mesh import Mesh, tabulated
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


def beam(mesh: Mesh, section: Section, E: Array, nu: Array, density: Array, planar: bool) -> Structure:
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
    carriers = 2 if planar else 4
    mass = np.diag(np.repeat(WEIGHTS, carriers) * (density * section.area * h / carriers))
    size = per_node * len(mesh.points)
    spread = tuple(_placed(local[:, a, kept], dofs, size) for a in range(3))
    element = stiffness[None][:, kept][:, :, kept]
    across = np.zeros((12, 12), np.result_type(h, float))
    for places in (ACROSS_Y, ACROSS_Z):
        _put_across(across, tension(h), places)
    by_tension = ByTension(E * section.area / h, across[np.ix_(kept, kept)])
    return Structure(
        mesh, per_node, dofs, element, points, carried, mass[None], spread,
        planar=planar, has_rotations=True, geometric=by_tension,
    )  # fmt: skip


@dataclass(frozen=True)
class ByTension:
    """Lateral stiffness of beams due to the mean tension of each element, ``axial`` times its strain."""

    axial: Array
    across: Array  # of an element (nd, nd), by a unit tension

    def stiffness(self, structure: Structure, u: Array, shapes: Array) -> Array:
        """(s, n, n) by displacements u (ndof, s)."""
        local = shapes[structure.dofs]
        force = _scaled(structure, self._force(structure, u))
        return np.einsum("es,eil,ij,ejq->slq", force, local, self.across, local, optimize=True)

    def pull_back(self, structure: Structure, u: Array, shapes: Array, hat: Array) -> tuple[Array, Array, Array]:
        """Adjoints of the elements' factors, u and shapes."""
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


def _scaled(structure: Structure, values: Array, part: slice = slice(None)) -> Array:
    """Values (ne, k) of all elements, or of some, times the factors of their stiffness."""
    return values if structure.stiffness_factor is None else values * structure.stiffness_factor[part, None]


def bending(h) -> Array:
    """Stiffness of displacements and slopes at both ends (4, 4), for EI = 1."""
    return np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
    ) / h**3  # fmt: skip


def tension(h) -> Array:
    """Lateral stiffness (4, 4) due to a unit tension, by displacements and slopes."""
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


_X, _W = np.polynomial.legendre.leggauss(4)
PLACES, WEIGHTS = (_X + 1) / 2, _W / 2  # four points on (0, 1), which integrate products of cubics


def _carriers(section: Section, h, planar: bool) -> tuple[Array, Array]:
    """Places of the carriers of an element (c, 3) from its first node, and their displacements (c, 3, 12)."""
    y, z = np.sqrt(section.Iz / section.area), np.sqrt(section.Iy / section.area)
    # points of equal weight with the section's second moments
    places_in_section = [(y, 0.0), (-y, 0.0)] if planar else [(s * y, t * z) for s in (1, -1) for t in (1, -1)]
    places, rows = [], []
    for s in PLACES:
        cubic = np.array([1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, h * (s**3 - s**2)])
        slope = np.array([6 * (s**2 - s) / h, 1 - 4 * s + 3 * s**2, 6 * (s - s**2) / h, 3 * s**2 - 2 * s])
        for y, z in places_in_section:
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


def _placed(local: Array, dofs: Array, size: int):
    """Sparse matrix (m, ndof) of the same rows (c, nd) in every element."""
    from scipy import sparse

    count = len(dofs)
    values = np.broadcast_to(local, (count, *local.shape))
    rows = np.broadcast_to(np.arange(count * len(local)).reshape(count, -1, 1), values.shape)
    columns = np.broadcast_to(dofs[:, None, :], values.shape)
    shape = (count * len(local), size)
    return sparse.coo_matrix((values.ravel(), (rows.ravel(), columns.ravel())), shape=shape).tocsc()


TOO_STIFF = 1.1  # bending stiffness over the exact one, above which a warning is given


def too_stiff(mesh: Mesh, nu: complex) -> Iterator[str]:
    """Warn of a grid of linear rectangles or bricks that is too stiff in bending: it shears instead (locking)."""
    if not mesh.alike:
        return
    d = mesh.dimension
    size, length = (np.ptp(points.real, axis=0)[:d] for points in (mesh.points, mesh.points[mesh.cells[0]]))
    bending = [(i, j) for i, j in permutations(range(d), 2) if size[i] > size[j]]
    if not bending:
        return
    factor, slender = max((_factor(size, length, i, j, float(np.real(nu))), length[i] / size[j]) for i, j in bending)
    if factor > TOO_STIFF:
        long = f"elements are {slender:.2g} times as long as the body is thick"
        stiff = f"bend {factor:.3g} times as stiffly as they should: linear ones follow by shear"
        yield f"{long}, and {stiff}; take shorter ones, a beam, or a mesh of second order"


def _factor(size: np.ndarray, length: np.ndarray, i: int, j: int, nu: float) -> float:
    """Ratio of the bending stiffness of the grid to that of the body, along i and across j, for E = 1.

    Shear adds (G/E) (l/h)^2. Within an element eps_y is constant where bending needs -nu kappa y, which the n elements
    across the thickness h do in steps. Bricks leave v without its nu kappa z^2/2 within an element as well: eps_z =
    -beta kappa y, with the beta of least energy.
    """
    shear = 0.5 / (1.0 + nu)
    share, plane = (length[j] / size[j]) ** 2, 1.0 / (1.0 - nu**2)
    by_shear = shear * (length[i] / size[j]) ** 2
    if len(size) == 2:
        return 1.0 - share + plane * share + by_shear
    wide = length[3 - i - j] / size[j]
    lame = nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    A = plane * (1.0 - share) + (lame + 2.0 * shear) * share
    B = nu * plane * (1.0 - share) + lame * share
    return A - B**2 / (A + shear * wide**2) + by_shear


BLOCK = 20_000  # elements at a time


def _elasticity(E, nu, dimension: int) -> Array:
    """Stiffness tensor C (d, d, d, d): stress_ac = C_acbd du_b/dx_d; plane stress where d is 2."""
    one = np.eye(dimension)
    shear = E / (2 * (1 + nu))
    lame = E * nu / (1 - nu**2) if dimension == 2 else E * nu / ((1 + nu) * (1 - 2 * nu))
    volume = np.einsum("ac,bd->acbd", one, one)
    mixed = np.einsum("ab,cd->acbd", one, one) + np.einsum("ad,cb->acbd", one, one)
    return lame * volume + shear * mixed


def solid(mesh: Mesh, E: Array, nu: Array, density: Array, thickness: Array = 1.0) -> Structure:
    """A solid, or a plate of some thickness in the plane z = 0, by Gauss points of isoparametric cells."""
    d = mesh.dimension
    shape, by_reference, weights = tabulated(mesh.kind)
    corners = mesh.points[mesh.cells[:1] if mesh.alike else mesh.cells][:, :, :d]
    jacobian = np.einsum("eia,gir->egar", corners, by_reference)
    volume = np.linalg.det(jacobian)
    if (volume.real <= 0).any():
        wrong = int(np.argmax((volume.real <= 0).any(1)))
        raise Refused(("mesh",), f"cell {wrong} of the mesh is turned inside out or has no volume")
    gradients, volumes = np.einsum("gir,egra->egia", by_reference, np.linalg.inv(jacobian)), volume * weights
    if d == 2:
        volumes = volumes * thickness
    k = mesh.cells.shape[1]
    C = _elasticity(E, nu, d)
    strained = np.einsum("acbd,egjd,eg->egacjb", C, gradients, volumes, optimize=True)
    stiffness = np.einsum("egic,egacjb->eiajb", gradients, strained, optimize=True).reshape(-1, d * k, d * k)
    mass = density * np.einsum("gi,gj,eg->eij", shape, shape, volumes)
    dofs = (d * mesh.cells[:, :, None] + np.arange(d)).reshape(len(mesh.cells), -1)
    gradients, volumes = (np.broadcast_to(x, (len(mesh.cells), *x.shape[1:])) for x in (gradients, volumes))
    return Structure(
        mesh, d, dofs, stiffness, mesh.points, mesh.cells, mass,
        planar=d == 2, geometric=ByStress(C, gradients, volumes), warnings=tuple(too_stiff(mesh, nu)),
    )  # fmt: skip


@dataclass(frozen=True)
class ByStress:
    """Integral of grad Phi_l : stress grad Phi_q, of stresses by displacements."""

    C: Array  # (d, d, d, d)
    gradients: Array  # of the shape functions (ne, g, nodes, d)
    volumes: Array  # of the Gauss points (ne, g)

    def stiffness(self, structure: Structure, u: Array, shapes: Array) -> Array:
        """(s, n, n) by displacements u (ndof, s)."""
        slopes, strained = (self._sloped(structure, U, slice(None)) for U in (shapes, u))
        stress = self._stress(_scaled(structure, self.volumes), strained)
        each = np.moveaxis(stress, -1, 0)
        return np.stack([np.einsum("egbcl,egcd,egbdq->lq", slopes, one, slopes, optimize=True) for one in each])

    def pull_back(self, structure: Structure, u: Array, shapes: Array, hat: Array) -> tuple[Array, Array, Array]:
        """Adjoints of the elements' factors, u and shapes."""
        by_factor, by_u, by_shapes = np.zeros(len(structure.dofs)), np.zeros(u.shape), np.zeros(shapes.shape)
        both = hat + hat.swapaxes(1, 2)
        for first in range(0, len(structure.dofs), BLOCK):
            part = slice(first, first + BLOCK)
            slopes, strained = self._sloped(structure, shapes, part), self._sloped(structure, u, part)
            weights = self.volumes[part]
            scaled = _scaled(structure, weights, part)
            by_stress = np.einsum("egbcl,slq,egbdq->egcds", slopes, hat, slopes, optimize=True)
            by_factor[part] = np.einsum("egacs,egacs->e", self._stress(weights, strained), by_stress)
            by_strained = np.einsum("acbd,egacs,eg->egbds", self.C, by_stress, scaled, optimize=True)
            stress = self._stress(scaled, strained)
            by_slopes = np.einsum("slq,egcds,egbdq->egbcl", both, stress, slopes, optimize=True)
            by_u += self._collected(structure, by_strained, part)
            by_shapes += self._collected(structure, by_slopes, part)
        return by_factor, by_u, by_shapes

    def _sloped(self, structure: Structure, U: Array, part: slice) -> Array:
        """Gradients (ne, g, d, d, k) of displacements (ndof, k): the component, then the direction."""
        corners = U.reshape(-1, structure.mesh.dimension, U.shape[1])[structure.mesh.cells[part]]
        return np.einsum("egic,eibn->egbcn", self.gradients[part], corners)

    def _collected(self, structure: Structure, slopes: Array, part: slice) -> Array:
        """Transpose of ``_sloped``."""
        corners = np.einsum("egic,egbcn->eibn", self.gradients[part], slopes)
        return gathered(corners, structure.dofs[part], structure.size)

    def _stress(self, weights: Array, strained: Array) -> Array:
        return np.einsum("acbd,egbds,eg->egacs", self.C, strained, weights, optimize=True)
