"""Densities of elements: from a design number to stiffness and mass (SIMP), filters, and gradients by every element."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction import integrals
from mbsim_cli.reduction.data import Array, Refused, StandardInput, Taylor, untilde
from mbsim_cli.reduction.mesh import Mesh
from mbsim_cli.reduction.modes import unit_loads
from mbsim_cli.reduction.reduce import Reduced
from mbsim_cli.reduction.structure import Sparse, Structure

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

    Raises Refused where a complex step moves centres across the radius: weights have a breakpoint there.
    """
    from scipy import sparse
    from scipy.spatial import cKDTree

    reach, each = np.real(radius), np.arange(len(mesh.cells))
    one, other = cKDTree(mesh.centres.real).query_pairs(reach * (1 + _NEAR), output_type="ndarray").T
    distance = np.sqrt(((mesh.centres[one] - mesh.centres[other]) ** 2).sum(1))
    # whether a distance that equals the radius does not change as the radius does
    at_radius, moving = distance[np.abs(distance.real - reach) <= _NEAR * reach].imag, np.imag(radius)
    if (np.abs(at_radius - moving) > _NEAR * np.maximum(np.abs(at_radius), np.abs(moving))).any():
        message = "it is just the distance of some elements, where their weights have no derivative"
        raise Refused(("radius",), message, "a radius between two distances has one")
    weights = np.where(distance.real < reach, radius - distance, 0.0)
    entries = np.concatenate([weights, weights, np.full(len(each), radius)])
    places = np.concatenate([one, other, each]), np.concatenate([other, one, each])
    H = sparse.csr_matrix((entries, places), shape=(len(each), len(each)))
    return (sparse.diags(1 / np.asarray(H.sum(1)).ravel()) @ H).tocsr()


# Gradients by the stiffness and mass of every element, pulled back from an adjoint of all terms.
#
# As many solves as there are shapes, whatever the number of elements; no derivative of a term is ever stored.

BLOCK = 20_000  # elements at a time


def element_gradients(found: Reduced, adjoint: StandardInput) -> tuple[Array, Array]:
    """Derivatives (ne) of an objective by factors on each element's stiffness and mass; ``adjoint`` is by the terms.

    Valid for objectives that do not depend on the basis of the kept shapes (subspace gauge).
    """
    body, structure, shapes = found.body, found.body.structure, found.shapes
    by_De = body.damping.pull_back(found.sid.Me.M0, found.sid.Ke.M0, adjoint.De.M0)
    by_Ke = adjoint.Ke.M0 + by_De[1]
    by_G = integrals.pull_back(adjoint.with_terms({"Me": Taylor(adjoint.Me.M0 + by_De[0])}))
    U = integrals.columns(structure.carriers, structure.displacements(shapes))
    by_stiffness = _contracted(structure.stiffness, structure.dofs, shapes, shapes @ by_Ke.T)
    total = _Total(structure, by_stiffness, _contracted(structure.mass, structure.carried, U, U @ by_G.T))
    by_nodes = np.zeros_like(shapes)
    for node, given in zip(body.nodes, adjoint.nodes, strict=True):
        by_phi, by_psi = given.phi.M0, given.psi.M0
        by_phi = by_phi if given.origin.M1 is None else by_phi + given.origin.M1
        by_psi = by_psi if given.AP.M1 is None else by_psi + 2 * untilde(given.AP.M1)
        by_nodes += node.phi.T @ by_phi.T + node.psi.T @ by_psi.T
    by_shapes = structure.K @ (shapes @ (by_Ke + by_Ke.T)) + by_nodes
    by_U = structure.m @ (U @ (by_G + by_G.T))
    by_shapes += structure.collected(by_U[:, 4:].reshape(len(by_U), 3, -1))
    by_shapes += _by_stresses(found, dict(adjoint.items()), total)
    total.add(_answers(found, by_shapes))
    return total.by_stiffness, total.by_mass


class _Answer(NamedTuple):
    """A term -left^T (dK - squares dM) right of a gradient; without dK unless ``strained``."""

    strained: bool
    left: Array
    right: Array
    squares: Array | float


class _Total(NamedTuple):
    """Derivatives (ne) by factors on the stiffness and on the mass of elements."""

    structure: Structure
    by_stiffness: Array
    by_mass: Array

    def add(self, answers: Iterator[_Answer]) -> None:
        """Add answers."""
        structure = self.structure
        for strained, left, right, squares in answers:
            if strained:
                self.by_stiffness[:] -= _contracted(structure.stiffness, structure.dofs, left, right)
            moved = _flat(structure, left), _flat(structure, right * squares)
            self.by_mass[:] += _contracted(structure.mass, structure.carried, *moved)


def _by_stresses(found: Reduced, given: Mapping[str, Taylor], total: _Total) -> Array:
    """Add the gradient of geometric stiffening by loads to ``total``; return adjoints of the shapes (ndof, n)."""
    body, structure, shapes, solver = found.body, found.body.structure, found.shapes, found.solver
    held, by_shapes = body.held, np.zeros_like(shapes)
    for loads in unit_loads(body.stiffening, structure, body.nodes):
        F = held.load(loads.forces)
        x = solver.static(F)
        hat = loads.pull_back(given)
        by_factor, by_u, own = structure.geometric.pull_back(structure, held.expand(x), shapes, hat)
        by_x = held.load(by_u)
        y = solver.static(by_x)
        total.by_stiffness[:] += by_factor
        by_shapes += own
        total.add(_responses(found, F, x, by_x, y))
        if loads.accelerations is not None:  # the loads are of the mass
            accelerations = loads.accelerations.reshape(len(structure.carriers), -1)
            moved = _flat(structure, held.expand(y))
            total.by_mass[:] += _contracted(structure.mass, structure.carried, moved, accelerations)
    return by_shapes


def _flat(structure: Structure, V: Array) -> Array:
    """Displacements of the carriers with all components as columns."""
    return structure.displacements(V).reshape(len(structure.carriers), -1)


def _answers(found: Reduced, by_shapes: Array) -> Iterator[_Answer]:
    """Terms from the change of the shapes."""
    held, solver = found.body.held, found.solver
    by_V = held.load(by_shapes)
    if len(found.loaded):  # changes have no part in the span
        by_V = by_V - solver.system.M @ (found.basis @ (found.basis.T @ by_V))
    basis, kept = by_V @ found.mixing.T, solver.found.kept
    count = len(kept)
    Y = solver.response.solve(basis[:, :count])
    yield _Answer(True, held.expand(Y), held.expand(solver.modes()), solver.found.squares[kept])
    if basis.shape[1] > count:
        loads, by_x = held.load(found.body.static_loads()[:, found.loaded]), basis[:, count:]
        yield from _responses(found, loads, solver.static(loads), by_x, solver.static(by_x))


def _responses(found: Reduced, loads: Array, x: Array, by_x: Array, y: Array) -> Iterator[_Answer]:
    """Terms from responses x to constant loads, with y the response to their adjoints by_x; all (r, s)."""
    expand, system = found.body.held.expand, found.solver.system
    yield _Answer(True, expand(y), expand(x), 0.0)
    if system.rigid.shape[1]:  # inertia of the rigid acceleration, and the mean motion that is taken out
        accelerated, moved = (system.rigid @ np.linalg.solve(system.gram, system.rigid.T @ F) for F in (loads, by_x))
        yield _Answer(False, expand(y), expand(accelerated), -1.0)
        yield _Answer(False, expand(moved), expand(x), -1.0)


def _contracted(matrices: Array, places: Array, left: Array, right: Array) -> Array:
    """Sum over columns of left_e^T A_e right_e (ne) by ``matrices`` A_e of elements, without their factors."""
    found = np.empty(len(places))
    for first in range(0, len(places), BLOCK):
        part = slice(first, first + BLOCK)
        matrix = matrices if len(matrices) == 1 else matrices[part]
        found[part] = np.einsum("eir,eir->e", left[places[part]], matrix @ right[places[part]])
    return found
