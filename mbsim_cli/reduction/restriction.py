"""Boundary conditions of a meshed body in its frame; frames of sets of nodes; restriction to free displacements."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.model.coordinates import all_but
from mbsim_cli.reduction.data import Array, Refused, tilde
from mbsim_cli.reduction.mesh import weights_of
from mbsim_cli.reduction.structure import RANK, Sparse, Structure, System

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
    origin = centre = weights @ points
    phi = _mean(structure, nodes, weights, 0, np.arange(structure.translations))
    if structure.has_rotations:
        axes = np.array([2] if structure.planar else [0, 1, 2])
        return MeshNode(name, origin, phi, _mean(structure, nodes, weights, structure.translations, axes))
    if len(nodes) == 1:
        if not len(structure.mesh.cells):
            message = "its set has one mesh node, whose rotation is not defined"
            raise Refused(("nodes", name), message, "choose a set of several nodes that are not on one line")
        cells = structure.mesh.cells  # a rotation there is that of its surroundings
        nodes = np.unique(cells[(cells == nodes[0]).any(1)])
        points, weights = structure.mesh.points[nodes], np.full(len(nodes), 1 / len(nodes))
        centre = points.mean(0)
    return MeshNode(name, origin, phi, _fitted(structure, nodes, weights, points - centre))


def _rows(structure: Structure, values: Array, rows: Array, dofs: Array) -> Sparse:
    from scipy import sparse

    entries = (values.ravel(), (rows.ravel(), dofs.ravel()))
    return sparse.coo_matrix(entries, shape=(3, structure.size)).tocsr()


def _mean(structure: Structure, nodes: Array, weights: Array, first: int, axes: Array) -> Sparse:
    """Mean of degrees of freedom of the nodes, from the ``first`` of each on, along or about these axes."""
    dofs = structure.per_node * nodes[:, None] + first + np.arange(len(axes))
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


MOTIONS = ("shift along x", "shift along y", "shift along z", "turn about x", "turn about y", "turn about z")


class Frame(NamedTuple):
    """Attachment of the body's frame: to fixed nodes, to the chord of two nodes, or (neither) to the mean motion."""

    fixed: Array | None = None
    chord: tuple[MeshNode, MeshNode] | None = None

    @property
    def free(self) -> bool:
        """Whether the body is free: neither nodes nor a chord hold it."""
        return self.fixed is None and self.chord is None


class Restriction:
    """Displacements u = Z v of a body that is held; v (r) are free."""

    def __init__(self, size: int, kept: Array | None = None, Z: Sparse | None = None, pivots: "Pivots | None" = None):
        self._size, self._kept, self._Z, self.pivots = size, kept, Z, pivots
        self.count = Z.shape[1] if Z is not None else size if kept is None else len(kept)  # of free displacements

    def matrix(self, A: Sparse) -> Sparse:
        """Z^T A Z (r, r)."""
        if self._Z is not None:
            return (self._Z.T @ A @ self._Z).tocsc()
        return A if self._kept is None else A[self._kept][:, self._kept].tocsc()

    def load(self, F: Array) -> Array:
        """Z^T F (r, k)."""
        return self._Z.T @ F if self._Z is not None else F if self._kept is None else F[self._kept]

    @property
    def first(self) -> Array:
        """The first degree of freedom that each free displacement moves (r)."""
        if self._Z is not None:
            return self._Z.indices[self._Z.indptr[:-1]]
        return np.arange(self._size) if self._kept is None else self._kept

    def coordinates(self, U: Array) -> Array:
        """The v (r, k) of displacements that the restriction allows: Z v = u."""
        from scipy.sparse.linalg import spsolve

        if self._Z is None:
            return self.load(U)
        return spsolve((self._Z.T @ self._Z).tocsc(), self._Z.T @ U)

    def expand(self, V: Array) -> Array:
        """Z V (ndof, k)."""
        if self._Z is not None:
            return self._Z @ V
        if self._kept is None:
            return V
        full = np.zeros((self._size, V.shape[1]), V.dtype)
        full[self._kept] = V
        return full


def restriction(
    structure: Structure, frame: Frame, rigid: Sequence[tuple[Array, MeshNode]], pivots: "Pivots | None" = None
) -> Restriction:
    """How a frame and rigid sets (nodes, with the frame that each carries) restrict a structure.

    ``pivots`` are those of the same body before a change: round-off of numbers that are equal would choose others.
    Raises Refused where the frame leaves rigid motions.
    """
    from scipy import sparse

    size = structure.size
    Z = _with_rigid_sets(structure, rigid) if rigid else None
    if frame.free:
        return Restriction(size, Z=Z)
    if frame.fixed is not None:
        dofs = (structure.per_node * frame.fixed[:, None] + np.arange(structure.per_node)).ravel()
        C = sparse.csr_matrix((np.ones(len(dofs)), (np.arange(len(dofs)), dofs)), shape=(len(dofs), size))
    else:
        C = _chord(structure, *frame.chord)  # type: ignore[misc]
    _require_held(structure, C)
    if frame.fixed is not None and Z is None:
        return Restriction(size, kept=np.setdiff1d(np.arange(size), dofs))
    C = (C if Z is None else C @ Z).tocsc()
    pivots = pivots or _pivots(C)
    N = _null_space(C, pivots)
    return Restriction(size, Z=N if Z is None else Z @ N, pivots=pivots)


def _chord(structure: Structure, a: MeshNode, b: MeshNode) -> Sparse:
    """Node a does not move, b only along the chord, and a does not turn about it."""
    from scipy import sparse

    along = b.origin - a.origin
    length = np.sqrt((along**2).sum())
    if not np.abs(length) > 0:
        raise Refused(("frame", "chord"), "the nodes of the chord are at one place")
    along = along / length
    d = structure.translations
    across = np.array([[-along[1], along[0], 0.0]])
    if d == 3:
        first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        first = first / np.sqrt((first**2).sum())
        across = np.stack([first, np.cross(along, first)])
    rows = [a.phi[:d], sparse.csr_matrix(across) @ b.phi]
    if not structure.planar:
        rows.append(sparse.csr_matrix(along[None]) @ a.psi)
    return sparse.vstack(rows).tocsr()


def _require_held(structure: Structure, C: Sparse) -> None:
    """Raise where constraints leave the body rigid motions."""
    motions = structure.rigid_motions().real
    size = np.sqrt((motions**2).mean(0))
    motions, sizes, parts = np.linalg.svd(motions / np.where(size > 0, size, 1.0), full_matrices=False)
    moving = sizes > RANK * sizes.max()  # a turn about the line on which all nodes lie moves none of them
    held = np.asarray(C.real @ motions[:, moving])
    _, values, V = np.linalg.svd(held, full_matrices=True)
    values = np.pad(values, (0, len(V) - len(values)))
    free = V[values <= RANK * max(values.max(), 1e-300)] / sizes[moving] @ parts[moving]
    if len(free):
        names = [MOTIONS[i] for i in (0, 1, 5)] if structure.planar else MOTIONS
        worst = dict.fromkeys(names[int(np.argmax(np.abs(row)))] for row in free)
        count = f"{len(free)} rigid motion{'s' * (len(free) > 1)}"
        hint = "fix more nodes, or let it be free"
        raise Refused(("frame",), f"the frame leaves the body {count} ({', '.join(worst)})", hint)


def _with_rigid_sets(structure: Structure, rigid: Sequence[tuple[Array, MeshNode]]) -> Sparse:
    """Z (ndof, r) of a body whose sets move as rigid bodies about the origins of their frames."""
    from scipy import sparse

    per, size = structure.per_node, structure.size
    moved = np.zeros(size, bool)
    blocks = []
    for nodes, frame in rigid:
        dofs = (per * nodes[:, None] + np.arange(per)).ravel()
        if moved[dofs].any():
            raise Refused(("nodes", frame.name), "its set has mesh nodes in common with another rigid one")
        moved[dofs] = True
        motions = structure.rigid_motions().reshape(-1, per, 3 if structure.planar else 6)[nodes]
        motions = motions.astype(np.result_type(motions, frame.origin))
        d = structure.translations
        for column, axis in enumerate([2] if structure.planar else [0, 1, 2]):  # about the origin of the frame
            motions[:, :d, d + column] -= np.cross(np.eye(3)[axis], frame.origin)[:d]
        motions = motions.reshape(len(dofs), -1)
        count, largest = motions.shape[1], np.abs(motions.real).max(0)
        if np.linalg.matrix_rank(motions.real / np.where(largest > 0, largest, 1.0), RANK) < count:
            message = "a rigid set needs mesh nodes that are not on one line, nor at one place"
            raise Refused(("nodes", frame.name, "coupling"), message, "choose more nodes, or coupling: mean")
        index = (np.repeat(dofs, count), np.tile(np.arange(count), len(dofs)))
        blocks.append(sparse.coo_matrix((motions.ravel(), index), shape=(size, count)))
    others = np.flatnonzero(~moved)
    index = (others, np.arange(len(others)))
    alone = sparse.coo_matrix((np.ones(len(others)), index), shape=(size, len(others)))
    return sparse.hstack([alone, *blocks]).tocsc()


class Pivots(NamedTuple):
    """A choice of dependent unknowns, as many as there are independent constraints (the rows)."""

    dependent: Array
    rows: Array


def _pivots(C: Sparse) -> Pivots:
    from scipy.linalg import qr

    touched = np.flatnonzero(np.diff(C.indptr))
    dense = C[:, touched].toarray().real
    R, order = qr(dense, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    order = order[: int((diagonal > RANK * diagonal.max()).sum())]
    # of constraints that repeat each other, those count that stay independent
    return Pivots(touched[order], qr(dense[:, order].T, mode="r", pivoting=True)[1][: len(order)])


def _null_space(C: Sparse, pivots: Pivots) -> Sparse:
    """Z with C Z = 0 (C by columns): dependent unknowns by the others."""
    from scipy import sparse

    dependent, rows = pivots
    others = np.setdiff1d(np.flatnonzero(np.diff(C.indptr)), dependent)
    by_others = -np.linalg.solve(C[:, dependent].toarray()[rows], C[:, others].toarray()[rows])
    size = C.shape[1]
    free = all_but(size, dependent)
    place = np.zeros(size, int)
    place[free] = np.arange(len(free))
    i, j = np.nonzero(np.ones(by_others.shape, bool))
    entries = np.concatenate([np.ones(len(free)), by_others.ravel()])
    index = (np.concatenate([free, dependent[i]]), np.concatenate([np.arange(len(free)), place[others[j]]]))
    return sparse.coo_matrix((entries, index), shape=(size, len(free))).tocsc()


def system_of(structure: Structure, held: Restriction, free: bool) -> System:
    """The free displacements of a structure."""

    def motions() -> Array:
        return held.coordinates(structure.rigid_motions())

    rigid = motions() if free else np.zeros((held.count, 0), structure.mesh.points.dtype)
    if free:
        size = np.linalg.norm(rigid.real, axis=0)
        if np.linalg.matrix_rank(rigid.real / np.where(size > 0.0, size, 1.0), RANK) < rigid.shape[1]:
            message = "a free body turns about the line on which all its nodes lie, and moves none of them"
            raise Refused(("frame",), message, "give nodes beside the line, or hold the body there")
    node = held.first // structure.per_node
    return System(held.matrix(structure.K), held.matrix(structure.M), rigid, node, structure.mesh.points.real, motions)
