"""Stiffness and mass of the free displacements, and solving with them: a factor of the stiffness serves everything."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.ordering import dissected
from mbsim_cli.reduction.restriction import Restriction
from mbsim_cli.reduction.structure import Sparse, Structure

SYMMETRIC = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class System(NamedTuple):
    """K and M (r, r) of the free displacements; ``rigid`` (r, 0, 3 or 6): motions without strain."""

    K: Sparse
    M: Sparse
    rigid: Array
    node: Array  # of each free displacement (r), among the points
    points: Array  # (N, 3)

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
    motions = structure.rigid_motions()
    rigid = held.coordinates(motions) if free else np.zeros((held.count, 0), motions.dtype)
    node = held.first // structure.per_node
    return System(held.matrix(structure.K), held.matrix(structure.M), rigid, node, structure.mesh.points.real)


class Flexibility:
    """Static response by the factor of K; of a free body that of balanced loads, without rigid motion."""

    def __init__(self, system: System):
        from scipy.linalg import qr
        from scipy.sparse.linalg import splu

        self.system = system
        K, rigid = system.K, system.rigid
        kept = np.arange(K.shape[0])
        if rigid.shape[1]:
            kept = np.setdiff1d(kept, qr(rigid.T, mode="r", pivoting=True)[1][: rigid.shape[1]])
            K = K[kept][:, kept]
        order = dissected(K, system.node[kept], system.points)
        self._kept = kept[order]
        try:
            self._factor = splu(K[order][:, order].tocsc(), **SYMMETRIC)
        except RuntimeError as error:
            raise AnalysisError("the stiffness matrix of the held body is singular") from error

    def solve(self, F: Array) -> Array:
        """Displacements (r, k) or (r,) by loads; self-inverse on what is strained and balanced."""
        balanced = self.system.balanced(F)
        found = np.zeros_like(balanced)
        found[self._kept] = self._factor.solve(np.asfortranarray(balanced[self._kept]))
        return self.system.strained(found)
