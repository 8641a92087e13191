"""The matrices of a structure, assembled from its elements, and the ordering of its unknowns."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.system import cached_property

# A body as finite elements: stiffness on degrees of freedom, and mass on points that carry it.
#
# All that a simulation reads are integrals over points with a scalar mass matrix: the nodes of a solid, or Gauss
# points of a beam and its section. Numbers may be complex.

Sparse = Any  # a matrix of scipy.sparse


class Geometric(Protocol):
    """Stiffness of shapes (ndof, n) by the stresses that displacements u (ndof, s) cause."""

    def stiffness(self, structure: "Structure", u: Array, shapes: Array) -> Array:
        """(s, n, n), symmetric."""

    def pull_back(self, structure: "Structure", u: Array, shapes: Array, hat: Array) -> tuple[Array, Array, Array]:
        """Covectors of the elements' factors (ne), of u and of the shapes, from one of the stiffness; all real."""


@dataclass(frozen=True)
class Structure:
    """Element matrices and where they belong; one element matrix stands for all where elements are alike."""

    mesh: Mesh
    per_node: int  # degrees of freedom at a node
    dofs: Array  # (ne, nd)
    stiffness: Array  # (ne or 1, nd, nd)
    carriers: Array  # points that carry mass (m, 3)
    carried: Array  # carriers of an element (ne, nc)
    mass: Array  # scalar mass matrices (ne or 1, nc, nc)
    spread: tuple[Sparse, ...] | None = None  # displacement of the carriers, three (m, ndof); None: they are the nodes
    stiffness_factor: Array | None = None  # of each element (ne), from its density
    mass_factor: Array | None = None
    planar: bool = False  # whether the body moves in the plane z = 0 only
    has_rotations: bool = False  # whether nodes have rotations of their own
    given: tuple[Sparse, Sparse, Sparse] | None = None  # K, M and m of a body without elements
    warnings: tuple[str, ...] = ()
    geometric: Any = None  # Geometric; None: nothing tells stresses

    @property
    def size(self) -> int:
        """Number of degrees of freedom."""
        return len(self.mesh.points) * self.per_node

    @property
    def translations(self) -> int:
        """Displacements among the degrees of freedom of a node, the first ones."""
        return 2 if self.planar else 3

    @cached_property
    def K(self) -> Sparse:
        """Stiffness matrix (ndof, ndof)."""
        if self.given is not None:
            return self.given[0]
        return assembled(self.stiffness, self.dofs, self.size, self.stiffness_factor)

    @cached_property
    def m(self) -> Sparse:
        """Scalar mass matrix of the carriers (m, m)."""
        if self.given is not None:
            return self.given[2]
        return assembled(self.mass, self.carried, len(self.carriers), self.mass_factor)

    @cached_property
    def M(self) -> Sparse:
        """Mass matrix (ndof, ndof)."""
        from scipy import sparse

        if self.given is not None:
            return self.given[1]
        if self.spread is None:
            return sparse.kron(self.m, sparse.identity(self.per_node), format="csc")
        return sum(S.T @ (self.m @ S) for S in self.spread).tocsc()

    @property
    def parts(self) -> int:
        """Number of groups of nodes that no stiffness connects."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        K, count = self.K.tocoo(), len(self.mesh.points)
        ends = (K.row // self.per_node, K.col // self.per_node)
        meeting = sparse.coo_matrix((K.data != 0, ends), shape=(count, count))
        return int(connected_components(meeting, directed=False)[0])

    def displacements(self, U: Array) -> Array:
        """Displacements of the carriers (m, 3, n) by those of the degrees of freedom (ndof, n)."""
        if self.spread is not None:
            return np.stack([S @ U for S in self.spread], 1)
        found = np.zeros((len(self.carriers), 3, U.shape[1]), U.dtype)
        found[:, : self.per_node] = U.reshape(len(self.carriers), self.per_node, -1)
        return found

    def collected(self, W: Array) -> Array:
        """Transpose of ``displacements``: forces on the degrees of freedom (ndof, n) by those on carriers (m, 3, n)."""
        if self.spread is not None:
            return sum(S.T @ W[:, a] for a, S in enumerate(self.spread))
        return W[:, : self.per_node].reshape(self.size, -1)

    def inertia_loads(self, accelerations: Array) -> Array:
        """Forces of inertia (ndof, n) of the carriers' accelerations (m, 3, n), with reversed sign."""
        shape = accelerations.shape
        return self.collected((self.m @ accelerations.reshape(shape[0], -1)).reshape(shape))

    def rigid_motions(self) -> Array:
        """Rigid displacements (ndof, 3 or 6): along the axes, then about them through the origin."""
        points, N = self.mesh.points, len(self.mesh.points)
        motions = np.zeros((N, self.per_node, 6), points.dtype)
        d = self.translations
        for a in range(d):
            motions[:, a, a] = 1.0
        for a in range(3):
            about = np.cross(np.eye(3)[a], points)
            motions[:, :d, 3 + a] = about[:, :d]
        if self.has_rotations:
            axes = [5] if self.planar else [3, 4, 5]
            for place, a in enumerate(axes):
                motions[:, d + place, a] = 1.0
        kept = [0, 1, 5] if self.planar else range(6)
        return motions.reshape(self.size, 6)[:, kept]

    def with_density(self, stiffness: Array, mass: Array) -> "Structure":
        """The same with factors of each element's stiffness and mass (ne)."""
        return replace(self, stiffness_factor=stiffness, mass_factor=mass)


def assembled(matrices: Array, places: Array, size: int, factor: Array | None) -> Sparse:
    """Sum of element matrices (ne or 1, k, k) at the places (ne, k), each times its factor."""
    from scipy import sparse

    count, k = places.shape
    values = np.broadcast_to(matrices, (count, k, k))
    if factor is not None:
        values = values * factor[:, None, None]
    index = places.astype(np.int32)
    rows = np.broadcast_to(index[:, :, None], values.shape).ravel()
    columns = np.broadcast_to(index[:, None, :], values.shape).ravel()
    return sparse.coo_matrix((values.ravel(), (rows, columns)), shape=(size, size)).tocsc()


def gathered(values: Array, places: Array, size: int) -> Array:
    """Sum of what elements have (ne, k, c) at the places (ne, k): (size, c)."""
    from scipy import sparse

    entries = (np.ones(places.size), (places.ravel(), np.arange(places.size)))
    return sparse.csr_matrix(entries, shape=(size, places.size)) @ values.reshape(places.size, -1)


# Nested dissection: an order of unknowns that fills the factor of a mesh's matrix little.

LEAF = 30  # nodes that are not cut further


def dissected(A: Sparse, node: Array, points: Array) -> Array:
    """Order (r) of the unknowns of a symmetric matrix (r, r), which belong to nodes (r) at points (N, 3).

    All parts are cut at once, each across its longest side: nodes of the lower half that meet the upper half come after
    both. George, SIAM J. Numer. Anal. 10 (1973) 345.
    """
    rows, columns = _neighbours(A, node, len(points))
    key = np.zeros(len(points), np.int64)  # a digit a cut: 0 the lower half, 1 the upper, 2 between them
    active = np.unique(node)
    for _ in range(int(np.ceil(np.log2(max(len(active) / LEAF, 1))))):
        digit = np.zeros(len(points), np.int8)
        digit[active] = _upper(points[active], key[active])
        digit[rows[digit[rows] < digit[columns]]] = 2
        key = 3 * key + digit
        active = active[digit[active] < 2]
        inside = (key[rows] == key[columns]) & (digit[rows] < 2)
        rows, columns = rows[inside], columns[inside]
    return np.argsort(key[node], kind="stable")


def _neighbours(A: Sparse, node: Array, count: int) -> tuple[Array, Array]:
    """Pairs of nodes whose unknowns meet in a matrix."""
    from scipy import sparse

    pattern = sparse.csc_matrix((np.ones(A.nnz, bool), A.indices, A.indptr), shape=A.shape)
    of = sparse.csc_matrix((np.ones(len(node), bool), (np.arange(len(node)), node)), shape=(len(node), count))
    pairs = (of.T @ pattern @ of).tocoo()
    return pairs.row, pairs.col


def _upper(points: Array, part: Array) -> Array:
    """Which points lie in the upper half of their part, along its longest side."""
    order = np.argsort(part, kind="stable")
    first = np.flatnonzero(np.diff(part[order], prepend=-1))
    size = np.diff(first, append=len(part))
    sides = np.maximum.reduceat(points[order], first) - np.minimum.reduceat(points[order], first)
    own = np.repeat(np.arange(len(first)), size)
    along = points[order, sides.argmax(1)[own]]
    order = order[np.lexsort((along, own))]
    upper = np.empty(len(part), bool)
    upper[order] = np.arange(len(part)) - first[own] >= size[own] // 2
    return upper
