"""Solid elements of meshes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from mbsim_cli.reduction.data import Array, Refused
from mbsim_cli.reduction.mesh import Mesh, tabulated
from mbsim_cli.reduction.structure import Structure, gathered

# Linear elements that bend too stiffly: they follow by shear, and cannot swell on one side and shrink on the other.

TOO_STIFF = 1.1  # times what bending takes, above which it is told


def too_stiff(mesh: Mesh, nu: complex) -> Iterator[str]:
    """Warn of a grid of rectangles or bricks that bends more stiffly than the body does."""
    if not mesh.alike:
        return
    d = mesh.dimension
    size, length = (np.ptp(points.real, axis=0)[:d] for points in (mesh.points, mesh.points[mesh.cells[0]]))
    bending = [(i, j) for i, j in permutations(range(d), 2) if size[i] > size[j]]
    if not bending:
        return
    factor, slender = max((_factor(size, length, i, j, float(np.real(nu))), length[i] / size[j]) for i, j in bending)
    if factor > TOO_STIFF:
        yield (
            f"elements are {slender:.2g} times as long as the body is thick, and bend {factor:.3g} times as "
            "stiffly as they should: linear ones follow by shear; take shorter ones, a beam, or a mesh of second order"
        )


def _factor(size: np.ndarray, length: np.ndarray, i: int, j: int, nu: float) -> float:
    """How many times as stiffly as it should a body along i bends across j; E is 1.

    Shear adds (G/E) (l/h)^2. Within an element eps_y is constant where bending wants -nu kappa y, which the n elements
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


# Element matrices of solids and of plates in plane stress, by Gauss points of isoparametric cells.

BLOCK = 20_000  # elements at a time


def _elasticity(E, nu, dimension: int) -> Array:
    """Stiffness tensor C (d, d, d, d): stress_ac = C_acbd du_b/dx_d; plane stress where d is 2."""
    one = np.eye(dimension)
    shear = E / (2 * (1 + nu))
    lame = E * nu / (1 - nu**2) if dimension == 2 else E * nu / ((1 + nu) * (1 - 2 * nu))
    volume = np.einsum("ac,bd->acbd", one, one)
    mixed = np.einsum("ab,cd->acbd", one, one) + np.einsum("ad,cb->acbd", one, one)
    return lame * volume + shear * mixed


def _geometry_of(mesh: Mesh) -> tuple[Array, Array]:
    """Gradients of the shape functions (ne, g, nodes, d) and volumes (ne, g) of the Gauss points; ne is 1 if alike."""
    _, by_reference, weights = tabulated(mesh.kind)
    d = mesh.dimension
    corners = mesh.points[mesh.cells[:1] if mesh.alike else mesh.cells][:, :, :d]
    jacobian = np.einsum("eia,gir->egar", corners, by_reference)
    volume = np.linalg.det(jacobian)
    if (volume.real <= 0).any():
        wrong = int(np.argmax((volume.real <= 0).any(1)))
        raise Refused(("mesh",), f"cell {wrong} of the mesh is turned inside out or has no volume")
    return np.einsum("gir,egra->egia", by_reference, np.linalg.inv(jacobian)), volume * weights


def solid(mesh: Mesh, E, nu, density, thickness=1.0) -> Structure:
    """A solid, or a plate of some thickness in the plane z = 0."""
    d = mesh.dimension
    gradients, volumes = _geometry_of(mesh)
    if d == 2:
        volumes = volumes * thickness
    shape = tabulated(mesh.kind)[0]
    k = mesh.cells.shape[1]
    C = _elasticity(E, nu, d)
    strained = np.einsum("acbd,egjd,eg->egacjb", C, gradients, volumes, optimize=True)
    stiffness = np.einsum("egic,egacjb->eiajb", gradients, strained, optimize=True).reshape(-1, d * k, d * k)
    mass = density * np.einsum("gi,gj,eg->eij", shape, shape, volumes)
    dofs = (d * mesh.cells[:, :, None] + np.arange(d)).reshape(len(mesh.cells), -1)
    return Structure(
        mesh, d, dofs, stiffness, mesh.points, mesh.cells, mass,
        planar=d == 2, geometric=ByStress(C, gradients, volumes), warnings=tuple(too_stiff(mesh, nu)),
    )  # fmt: skip


@dataclass(frozen=True)
class ByStress:
    """Integral of grad Phi_l : stress grad Phi_q, of stresses by displacements."""

    C: Array  # (d, d, d, d)
    gradients: Array  # of the shape functions (ne or 1, g, nodes, d)
    volumes: Array  # of the Gauss points (ne or 1, g)

    def stiffness(self, structure: Structure, u: Array, shapes: Array) -> Array:
        """(s, n, n) by displacements u (ndof, s)."""
        every = slice(0, len(structure.dofs))
        slopes, strained = self._sloped(structure, shapes, every), self._sloped(structure, u, every)
        stress = self._stress(_scaled(structure, self._weights(structure, every), every), strained)
        return np.stack(
            [
                np.einsum("egbcl,egcd,egbdq->lq", slopes, stress[..., s], slopes, optimize=True)
                for s in range(u.shape[1])
            ]
        )

    def pull_back(self, structure: Structure, u: Array, shapes: Array, hat: Array) -> tuple[Array, Array, Array]:
        """Covectors of the elements' factors, u and shapes."""
        by_factor, by_u, by_shapes = np.zeros(len(structure.dofs)), np.zeros(u.shape), np.zeros(shapes.shape)
        both = hat + hat.swapaxes(1, 2)
        for first in range(0, len(structure.dofs), BLOCK):
            part = slice(first, first + BLOCK)
            slopes, strained = self._sloped(structure, shapes, part), self._sloped(structure, u, part)
            weights = self._weights(structure, part)
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
        return np.einsum("egic,eibn->egbcn", self._gradients(structure, part), corners)

    def _collected(self, structure: Structure, slopes: Array, part: slice) -> Array:
        """Transpose of ``_sloped``."""
        corners = np.einsum("egic,egbcn->eibn", self._gradients(structure, part), slopes)
        return gathered(corners, structure.dofs[part], structure.size)

    def _gradients(self, structure: Structure, part: slice) -> Array:
        return np.broadcast_to(self.gradients, (len(structure.mesh.cells), *self.gradients.shape[1:]))[part]

    def _weights(self, structure: Structure, part: slice) -> Array:
        return np.broadcast_to(self.volumes, (len(structure.mesh.cells), self.volumes.shape[1]))[part]

    def _stress(self, weights: Array, strained: Array) -> Array:
        return np.einsum("acbd,egbds,eg->egacs", self.C, strained, weights, optimize=True)


def _scaled(structure: Structure, weights: Array, part: slice) -> Array:
    """Weights of elements (ne, g) times the factors of their stiffness."""
    return weights if structure.stiffness_factor is None else weights * structure.stiffness_factor[part, None]
