"""Element matrices of solids and of plates in plane stress, by Gauss points of isoparametric cells."""

from functools import partial

import numpy as np

from mbsim_cli.reduction.cells import tabulated
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.refusal import Refused
from mbsim_cli.reduction.structure import Structure


def elasticity(E, nu, dimension: int) -> Array:
    """Stiffness tensor C (d, d, d, d): stress_ac = C_acbd du_b/dx_d; plane stress where d is 2."""
    one = np.eye(dimension)
    shear = E / (2 * (1 + nu))
    lame = E * nu / (1 - nu**2) if dimension == 2 else E * nu / ((1 + nu) * (1 - 2 * nu))
    volume = np.einsum("ac,bd->acbd", one, one)
    mixed = np.einsum("ab,cd->acbd", one, one) + np.einsum("ad,cb->acbd", one, one)
    return lame * volume + shear * mixed


def geometry_of(mesh: Mesh) -> tuple[Array, Array]:
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
    gradients, volumes = geometry_of(mesh)
    if d == 2:
        volumes = volumes * thickness
    shape = tabulated(mesh.kind)[0]
    k = mesh.cells.shape[1]
    C = elasticity(E, nu, d)
    strained = np.einsum("acbd,egjd,eg->egacjb", C, gradients, volumes, optimize=True)
    stiffness = np.einsum("egic,egacjb->eiajb", gradients, strained, optimize=True).reshape(-1, d * k, d * k)
    mass = density * np.einsum("gi,gj,eg->eij", shape, shape, volumes)
    dofs = (d * mesh.cells[:, :, None] + np.arange(d)).reshape(len(mesh.cells), -1)
    by_stress = partial(_geometric, C, gradients, volumes)
    return Structure(mesh, d, dofs, stiffness, mesh.points, mesh.cells, mass, planar=d == 2, geometric=by_stress)


def _geometric(C: Array, gradients: Array, volumes: Array, structure: Structure, u: Array, shapes: Array) -> Array:
    """Integral of grad Phi_l : stress(u_s) grad Phi_q, (s, n, n)."""
    d, cells = structure.mesh.dimension, structure.mesh.cells

    def sloped(U: Array) -> Array:
        corners = U.reshape(-1, d, U.shape[1])[cells]
        return np.einsum("egic,eibn->egbcn", np.broadcast_to(gradients, (len(cells), *gradients.shape[1:])), corners)

    weights = np.broadcast_to(volumes, (len(cells), volumes.shape[1]))
    if structure.stiffness_factor is not None:
        weights = weights * structure.stiffness_factor[:, None]
    slopes, strained = sloped(shapes), sloped(u)
    stress = np.einsum("acbd,egbds,eg->egacs", C, strained, weights, optimize=True)
    return np.stack(
        [np.einsum("egbcl,egcd,egbdq->lq", slopes, stress[..., s], slopes, optimize=True) for s in range(u.shape[1])]
    )
