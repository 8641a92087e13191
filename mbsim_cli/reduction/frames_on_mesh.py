"""Frames on a meshed body: the place, displacement and rotation of a set of its nodes, as linear maps."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, Refused, tilde
from mbsim_cli.reduction.mesh import weights_of
from mbsim_cli.reduction.structure import Sparse, Structure

FLAT = 1e-9  # a set that turns about an axis without moving, by the size of its other moments


class MeshNode(NamedTuple):
    """A node of the body: origin (3), displacement and rotation by the degrees of freedom, both (3, ndof)."""

    name: str
    origin: Array
    phi: Sparse
    psi: Sparse


def mesh_node(structure: Structure, name: str, nodes: Array) -> MeshNode:
    """The frame that follows a set in the mean: weighted mean displacement, and the rotation that fits best."""
    weights = weights_of(structure.mesh, nodes)
    points = structure.mesh.points[nodes]
    origin = weights @ points
    phi = _mean(structure, nodes, weights, 0, structure.translations)
    if structure.has_rotations:
        return MeshNode(name, origin, phi, _mean_rotation(structure, nodes, weights))
    if len(nodes) == 1:
        if not len(structure.mesh.cells):
            message = "its set has one mesh node, whose rotation nothing tells"
            raise Refused(("nodes", name), message, "choose a set of several nodes that are not on one line")
        nodes, points = _around(structure, nodes[0])
        weights = np.full(len(nodes), 1 / len(nodes))
        centre = points.mean(0)
    else:
        centre = origin
    return MeshNode(name, origin, phi, _fitted(structure, nodes, weights, points - centre))


def _around(structure: Structure, node: int) -> tuple[Array, Array]:
    """Nodes of the cells that a node belongs to, and their places: a rotation there is that of its surroundings."""
    mesh = structure.mesh
    nodes = np.unique(mesh.cells[(mesh.cells == node).any(1)])
    return nodes, mesh.points[nodes]


def _rows(structure: Structure, values: Array, rows: Array, dofs: Array) -> Sparse:
    from scipy import sparse

    entries = (values.ravel(), (rows.ravel(), dofs.ravel()))
    return sparse.coo_matrix(entries, shape=(3, structure.size)).tocsr()


def _mean(structure: Structure, nodes: Array, weights: Array, first: int, count: int) -> Sparse:
    axes = np.arange(count)
    dofs = structure.per_node * nodes[:, None] + first + axes
    return _rows(structure, np.repeat(weights, count), np.broadcast_to(axes, dofs.shape), dofs)


def _mean_rotation(structure: Structure, nodes: Array, weights: Array) -> Sparse:
    """Mean of the nodes' own rotations."""
    axes = np.array([2] if structure.planar else [0, 1, 2])
    dofs = structure.per_node * nodes[:, None] + structure.translations + np.arange(len(axes))
    return _rows(structure, np.repeat(weights, len(axes)), np.broadcast_to(axes, dofs.shape), dofs)


def _fitted(structure: Structure, nodes: Array, weights: Array, arms: Array) -> Sparse:
    """Rotation of least squares: (sum w (a.a - a a^T)) psi = sum w a x u; about no axis that the arms lie along."""
    moments = np.einsum("i,iab->ab", weights, -tilde(arms) @ tilde(arms))
    values, axes = np.linalg.eigh(moments.real)
    turning = axes[:, values > FLAT * max(values.max(), 1e-300)]
    if structure.planar:
        turning = np.array([[0.0], [0.0], [1.0]])[:, : turning.shape[1]]
    inverse = turning @ np.linalg.solve(turning.T @ moments @ turning, turning.T)
    arm = inverse @ (weights[:, None, None] * tilde(arms))  # (nodes, 3, 3)
    d = structure.translations
    dofs = structure.per_node * nodes[:, None, None] + np.arange(d)
    shape = (len(nodes), 3, d)
    rows = np.broadcast_to(np.arange(3)[:, None], shape)
    return _rows(structure, arm[:, :, :d], rows, np.broadcast_to(dofs, shape))
