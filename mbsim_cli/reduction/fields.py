"""Densities of elements: laws from a design number to stiffness and mass (SIMP), and the filter over neighbours."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array, Refused
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.structure import Sparse

_NEAR = 1e-9  # difference of two lengths, relative, that round-off makes


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


def filter_of(mesh: Mesh, radius: Array) -> Sparse:
    """Averages over neighbours (ne, ne): weights fall linearly to zero at the radius; sizes may be complex.

    Raises Refused where a complex step moves centres across the radius: weights have a kink there.
    """
    from scipy import sparse
    from scipy.spatial import cKDTree

    reach, each = np.real(radius), np.arange(len(mesh.cells))
    one, other = cKDTree(mesh.centres.real).query_pairs(reach * (1 + _NEAR), output_type="ndarray").T
    distance = np.sqrt(((mesh.centres[one] - mesh.centres[other]) ** 2).sum(1))
    if _crossing(distance, radius):
        message = "it is just the distance of some elements, where their weights have no derivative"
        raise Refused(("radius",), message, "a radius between two distances has one")
    weights = np.where(distance.real < reach, radius - distance, 0.0)
    entries = np.concatenate([weights, weights, np.full(len(each), radius)])
    places = np.concatenate([one, other, each]), np.concatenate([other, one, each])
    H = sparse.csr_matrix((entries, places), shape=(len(each), len(each)))
    return (sparse.diags(1 / np.asarray(H.sum(1)).ravel()) @ H).tocsr()


def _crossing(distance: Array, radius: Array) -> bool:
    """Whether a distance that equals the radius does not change as the radius does."""
    at_radius = distance[np.abs(distance.real - np.real(radius)) <= _NEAR * np.real(radius)]
    apart = np.abs(np.imag(at_radius) - np.imag(radius))
    return bool((apart > _NEAR * np.maximum(np.abs(np.imag(at_radius)), np.abs(np.imag(radius)))).any())
