"""Stiffness and mass of a structure and of its free displacements, their ordering, and solving with them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.reduction.data import Array, Refused
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.system import cached_property

RANK = 1e-9

# A body as finite elements: stiffness on degrees of freedom, and mass on points that carry it.
#
# All that a simulation reads are integrals over points with a scalar mass matrix: the nodes of a solid, or Gauss
# points of a beam and its section. Numbers may be complex.

Sparse = Any  # a matrix of scipy.sparse


@dataclass(frozen=True)
class Structure:
    """Element matrices and their places; a single matrix is used for all elements if they are alike."""

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
    geometric: Any = None  # ``elements.ByTension`` or ``ByStress``; None: stresses are unknown

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

    def rigid_motions(self) -> Array:
        """Rigid displacements (ndof, 3 or 6): along the axes, then about them through the origin."""
        points, N = self.mesh.points, len(self.mesh.points)
        motions = np.zeros((N, self.per_node, 6), points.dtype)
        d = self.translations
        motions[:, range(d), range(d)] = 1.0
        for a in range(3):
            about = np.cross(np.eye(3)[a], points)
            motions[:, :d, 3 + a] = about[:, :d]
        if self.has_rotations:
            axes = [5] if self.planar else [3, 4, 5]
            motions[:, range(d, d + len(axes)), axes] = 1.0
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
    """Sum (size, c) of values of elements (ne, k, c) at the places (ne, k)."""
    from scipy import sparse

    entries = (np.ones(places.size), (places.ravel(), np.arange(places.size)))
    return sparse.csr_matrix(entries, shape=(size, places.size)) @ values.reshape(places.size, -1)


LEAF = 30  # nodes that are not cut further


def dissected(A: Sparse, node: Array, points: Array) -> Array:
    """Order (r) of unknowns of a symmetric matrix (r, r) for little fill, at nodes (r) of points (N, 3).

    All parts are cut at once, each across its longest side: nodes of the lower half that meet the upper half come after
    both. George, SIAM J. Numer. Anal. 10 (1973) 345.
    """
    from scipy import sparse

    pattern = sparse.csc_matrix((np.ones(A.nnz, bool), A.indices, A.indptr), shape=A.shape)
    of = sparse.csc_matrix((np.ones(len(node), bool), (np.arange(len(node)), node)), shape=(len(node), len(points)))
    pairs = (of.T @ pattern @ of).tocoo()  # of nodes whose unknowns meet
    rows, columns = pairs.row, pairs.col
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


LARGE = 10_000_000  # entries of a stiffness matrix above which factors take too much memory
DEGREE, LOWEST, HIGHEST = 3, 0.1, 1.1  # of the smoothing polynomials, and the part of the spectrum that they damp
COARSEST, GUESSED = 1000, 6000  # unknowns solved with a dense factor; of the guess that modes begin with
STEPS, REACHED = 500, 1e-12  # of conjugate gradients, and their relative residual
ROUNDS, SETTLED = 200, 1e-7  # of the search for modes, and their residual relative to the lowest square
GUARD = 2  # shapes of the search beyond those wanted


class Multigrid:
    """Conjugate gradients for K (r, r), with ``motions`` (r, s) that strain little and ``block`` unknowns of a node."""

    accuracy = 1e-10

    def __init__(self, K: Sparse, motions: Array, block: int):
        from pyamg import smoothed_aggregation_solver

        first = K.tobsr(blocksize=(block, block)) if block > 1 else K.tocsr()
        found = smoothed_aggregation_solver(first, B=motions, max_coarse=COARSEST, symmetry="symmetric").levels
        self._levels = [_Level(level.A.tocsr()) for level in found[:-1]]
        self._up = [level.P.tocsr() for level in found[:-1]]
        self._down = [P.T.tocsr() for P in self._up]
        self._K, self._coarsest = K, np.linalg.pinv(found[-1].A.toarray(), 1e-11, hermitian=True)

    def cycle(self, F: Array, depth: int = 0) -> Array:
        """An approximate solution (r, k), symmetric in the loads, from a level on."""
        F = np.ascontiguousarray(F)
        if depth == len(self._levels):
            return self._coarsest @ F
        level = self._levels[depth]
        X = level.smoothed(F)
        X += self._up[depth] @ self.cycle(self._down[depth] @ (F - level.A @ X), depth + 1)
        return X + level.smoothed(F - level.A @ X)

    def solve(self, F: Array) -> Array:
        """Displacements (r, k) or (r,) by loads."""
        R = F.reshape(len(F), -1).copy()
        X, first = np.zeros_like(R), np.linalg.norm(R, axis=0)
        active = np.flatnonzero(first)
        D = np.zeros_like(R)
        before = np.ones(R.shape[1])
        for _ in range(STEPS):
            if not len(active):
                return X.reshape(F.shape)
            Z = self.cycle(R[:, active])
            product = np.einsum("ij,ij->j", R[:, active], Z)
            d = D[:, active] = Z + product / before[active] * D[:, active]
            before[active] = product
            Kd = self._K @ d
            step = product / np.einsum("ij,ij->j", d, Kd)
            X[:, active] += step * d
            R[:, active] -= step * Kd
            active = active[np.linalg.norm(R[:, active], axis=0) > REACHED * first[active]]
        raise AnalysisError(f"the iterative solver did not settle in {STEPS} steps; elements may be badly shaped")

    def guess(self, M: Sparse, wanted: int) -> Array:
        """About the lowest modes (r, wanted), those of a coarse level."""
        from scipy.sparse.linalg import eigsh

        depth = next((i for i, level in enumerate(self._levels) if level.A.shape[0] <= GUESSED), len(self._levels))
        K = self._K
        for P, Q in zip(self._up[:depth], self._down[:depth], strict=True):
            K, M = Q @ K @ P, Q @ M @ P
        below = -1e-6 * float((K.diagonal() / M.diagonal()).max())  # a shift off the rigid motions
        start = np.random.default_rng(0).standard_normal(K.shape[0])
        V = eigsh(K.tocsc(), wanted, M.tocsc(), sigma=below, v0=start)[1]
        for P in reversed(self._up[:depth]):
            V = P @ V
        return V


class _Level:
    """A matrix with its smoother."""

    def __init__(self, A: Sparse):
        self.A = A
        self._inverse = 1 / A.diagonal()[:, None]
        v = np.random.default_rng(0).standard_normal((A.shape[0], 1))
        for _ in range(15):
            v = self._inverse * (A @ (v / np.linalg.norm(v)))
        self._largest = float(np.linalg.norm(v))  # eigenvalue of the matrix scaled by its diagonal

    def smoothed(self, F: Array) -> Array:
        """A Chebyshev polynomial of the scaled matrix times the loads."""
        low, high = LOWEST * self._largest, HIGHEST * self._largest
        middle, half = (high + low) / 2, (high - low) / 2
        X = self._inverse * F / middle
        D, ratio = X, half / middle
        for _ in range(DEGREE - 1):
            before, ratio = ratio, 1 / (2 * middle / half - ratio)
            D = ratio * before * D + (2 * ratio / half) * (self._inverse * (F - self.A @ X))
            X = X + D
        return X


def lowest_by_multigrid(K: Sparse, M: Sparse, rigid: Array, solver: Multigrid, wanted: int) -> Array:
    """Shapes (r, wanted) of the lowest modes with strain, by LOBPCG; Knyazev, SIAM J. Sci. Comput. 23 (2001) 517."""
    from scipy.sparse.linalg import LinearOperator, lobpcg

    count = rigid.shape[1]
    guess = solver.guess(M, wanted + GUARD + count)[:, count:]
    mass = float(M.diagonal().mean())
    square = float(np.min(np.einsum("ij,ij->j", guess, K @ guess) / np.einsum("ij,ij->j", guess, M @ guess)))
    cycle = LinearOperator(K.shape, lambda x: solver.cycle(x.reshape(-1, 1)).ravel(), matmat=solver.cycle, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, V, sizes = lobpcg(
            K / (square * mass), guess, M / mass, cycle, rigid if count else None, SETTLED, ROUNDS, False,
            retResidualNormsHistory=True,
        )  # fmt: skip
    if not np.asarray(sizes[-1])[:wanted].max() < 10 * SETTLED:
        raise AnalysisError(f"the {wanted} lowest modes did not settle in {ROUNDS} rounds of an iterative solver")
    return V[:, :wanted]


EXACT = 1e-13  # relative residual that conjugate gradients reach with a factor
SYMMETRIC = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class System(NamedTuple):
    """K and M (r, r) of the free displacements; ``rigid`` (r, 0, 3 or 6): motions without strain."""

    K: Sparse
    M: Sparse
    rigid: Array
    node: Array  # of each free displacement (r), among the points
    points: Array  # (N, 3)
    motions: Callable[[], Array]  # all rigid motions (r, 3 or 6), as far as the displacements follow them

    @property
    def gram(self) -> Array:
        """Masses of the rigid motions."""
        return self.rigid.T @ (self.M @ self.rigid)

    def balanced(self, F: Array) -> Array:
        """Loads (r, k) with the inertia of the rigid acceleration that they cause."""
        if not self.rigid.shape[1]:
            return F
        return F - self.M @ (self.rigid @ np.linalg.solve(self.gram, self.rigid.T @ F))

    def strained(self, V: Array) -> Array:
        """Displacements (r, k) without their rigid parts."""
        if not self.rigid.shape[1]:
            return V
        return V - self.rigid @ np.linalg.solve(self.gram, self.rigid.T @ (self.M @ V))


class Flexibility:
    """Static response, by a factor or by multigrid; of a free body that of balanced loads, without rigid motion."""

    def __init__(self, system: System):
        self.system = system
        K = system.K
        self.iterative = bool(K.nnz > LARGE) and find_spec("pyamg") is not None  # cycles in the place of a factor
        # relative residual that solving with other matrices of the body can reach
        self.accuracy = Multigrid.accuracy if self.iterative else EXACT
        if self.iterative:
            self._kept: Array = np.arange(K.shape[0])
            self.multigrid = Multigrid(K, system.motions(), _block(system.node))
            self._inverse: Callable[[Array], Array] = self.multigrid.solve
        else:
            self._kept, self._inverse = _factored(system)

    def solve(self, F: Array) -> Array:
        """Displacements (r, k) or (r,) by loads; for strained displacements and balanced loads."""
        return self._within(self._inverse, F)

    def approximate(self, F: Array) -> Array:
        """A preconditioner: about the same at a small price, symmetric."""
        return self._within(self.multigrid.cycle, F) if self.iterative else self.solve(F)

    def _within(self, inverse: Callable[[Array], Array], F: Array) -> Array:
        balanced = self.system.balanced(F)
        found = np.zeros_like(balanced)
        found[self._kept] = inverse(balanced[self._kept])
        return self.system.strained(found)


def _factored(system: System) -> tuple[Array, Callable[[Array], Array]]:
    """Unknowns (s) without rigid motion, in the order of a factor; and the function that solves for them."""
    from scipy.linalg import qr
    from scipy.sparse.linalg import splu

    K, rigid = system.K, system.rigid
    kept = np.arange(K.shape[0])
    if rigid.shape[1]:
        kept = np.setdiff1d(kept, qr(rigid.T, mode="r", pivoting=True)[1][: rigid.shape[1]])
        K = K[kept][:, kept]
    order = dissected(K, system.node[kept], system.points)
    try:
        factor = splu(K[order][:, order].tocsc(), **SYMMETRIC)
    except RuntimeError as error:
        hint = "look for elements without stiffness, as by a large penalty of light densities, and for loose parts"
        raise Refused((), "the stiffness matrix of the held body is singular", hint) from error
    return kept[order], lambda F: factor.solve(np.asfortranarray(F))


def _block(node: Array) -> int:
    """Unknowns of a node, where all have as many, one after the other."""
    count = int(np.argmax(node != node[0])) or len(node)
    rows = node.reshape(-1, count) if len(node) % count == 0 else node[:, None]
    return rows.shape[1] if (rows == rows[:, :1]).all() else 1
