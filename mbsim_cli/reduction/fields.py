"""Densities of elements: laws from a design number to stiffness and mass (SIMP), and the filter over neighbours."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.structure import Sparse


class Simp(NamedTuple):
    """Solid isotropic material with penalization: E = p^s E0; rho = p rho0, below a threshold c p^q rho0.

    The defaults are those of Held (2021), equation (78): light elements lose their mass faster than their stiffness, so
    that no modes of their own appear.
    """

    penalty: float = 3.0
    factor: float = 1e5
    exponent: float = 6.0
    threshold: float = 0.1

    def stiffness(self, p: Array) -> Array:
        """Factor on Young's modulus."""
        return p**self.penalty

    def mass(self, p: Array) -> Array:
        """Factor on the density."""
        return np.where(np.real(p) < self.threshold, self.factor * p**self.exponent, p)

    def pull_back(self, p: Array, by_stiffness: Array, by_mass: Array) -> Array:
        """Gradient by p from those by both factors."""
        light = self.factor * self.exponent * p ** (self.exponent - 1)
        slope = np.where(p < self.threshold, light, 1.0)
        return by_stiffness * self.penalty * p ** (self.penalty - 1) + by_mass * slope


def filter_of(mesh: Mesh, radius: float) -> Sparse:
    """Averages over neighbours (ne, ne): weights fall linearly to zero at the radius."""
    from scipy import sparse
    from scipy.spatial import cKDTree

    tree = cKDTree(mesh.centres.real)
    near = tree.sparse_distance_matrix(tree, radius, output_type="coo_matrix")
    weights = sparse.coo_matrix((radius - near.data, (near.row, near.col)), shape=near.shape).tocsr()
    alone = sparse.identity(len(mesh.cells)) * (radius if radius > 0 else 1.0)
    weights = weights.multiply(weights > 0).tocsr() if weights.nnz else weights
    weights.setdiag(0)
    weights = weights + alone
    return (sparse.diags(1 / np.asarray(weights.sum(1)).ravel()) @ weights).tocsr()
