"""Stiffness and mass of the free displacements, and solving with them: a factor of the stiffness serves everything."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.reduction import multigrid
from mbsim_cli.reduction.data import Array, Refused
from mbsim_cli.reduction.restriction import RANK, Restriction
from mbsim_cli.reduction.structure import Sparse, Structure, dissected

EXACT = 1e-13  # what conjugate gradients reach with a factor
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


class Flexibility:
    """Static response, by a factor or by multigrid; of a free body that of balanced loads, without rigid motion."""

    def __init__(self, system: System):
        self.system = system
        K = system.K
        self.iterative = multigrid.chosen(K)
        if self.iterative:
            self._kept: Array = np.arange(K.shape[0])
            self.multigrid = multigrid.Multigrid(K, system.motions(), _block(system.node))
            self._inverse: Callable[[Array], Array] = self.multigrid.solve
        else:
            self._kept, self._inverse = _factored(system)

    def solve(self, F: Array) -> Array:
        """Displacements (r, k) or (r,) by loads; self-inverse on what is strained and balanced."""
        return self._within(self._inverse, F)

    def approximate(self, F: Array) -> Array:
        """A preconditioner: about the same at a small price, symmetric."""
        return self._within(self.multigrid.cycle, F) if self.iterative else self.solve(F)

    @property
    def accuracy(self) -> float:
        """Relative residual that solving with other matrices of the body can reach."""
        return multigrid.Multigrid.accuracy if self.iterative else EXACT

    def _within(self, inverse: Callable[[Array], Array], F: Array) -> Array:
        balanced = self.system.balanced(F)
        found = np.zeros_like(balanced)
        found[self._kept] = inverse(balanced[self._kept])
        return self.system.strained(found)


def _factored(system: System) -> tuple[Array, Callable[[Array], Array]]:
    """Unknowns (s) that hold no rigid motion, in the order of a factor; and what solves for them."""
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
        raise AnalysisError("the stiffness matrix of the held body is singular") from error
    return kept[order], lambda F: factor.solve(np.asfortranarray(F))


def _block(node: Array) -> int:
    """Unknowns of a node, where all have as many, one after the other."""
    count = int(np.argmax(node != node[0])) or len(node)
    rows = node.reshape(-1, count) if len(node) % count == 0 else node[:, None]
    return rows.shape[1] if (rows == rows[:, :1]).all() else 1
