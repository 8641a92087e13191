"""Gradients by the stiffness and mass of every element, pulled back from a covector of all terms.

As many solves as there are shapes, whatever the number of elements; no derivative of a term is ever stored.
"""

from collections.abc import Iterator

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.reduction.data import Array, StandardInput, Taylor
from mbsim_cli.reduction.integrals import columns
from mbsim_cli.reduction.integrals import pull_back as gram_covector
from mbsim_cli.reduction.reduce import NO_STIFFENING, Reduced
from mbsim_cli.reduction.signs import untilde
from mbsim_cli.reduction.structure import Structure

BLOCK = 20_000  # elements at a time


def element_gradients(found: Reduced, covector: StandardInput) -> tuple[Array, Array]:
    """Derivatives (ne) by factors on each element's stiffness and on its mass, of what has a covector of the terms.

    Holds for what does not change when the basis of the kept shapes is turned (subspace gauge).
    """
    body, structure, shapes = found.body, found.body.structure, found.shapes
    if body.stiffening != NO_STIFFENING:
        raise UsageError("gradients by fields of a body with geometric stiffening are not known")
    by_De = body.damping.pull_back(found.sid.Me.M0, found.sid.Ke.M0, covector.De.M0)
    by_Ke = covector.Ke.M0 + by_De[1]
    by_G = gram_covector(covector.with_terms({"Me": Taylor(covector.Me.M0 + by_De[0])}))
    U = columns(structure.carriers, structure.displacements(shapes))
    by_stiffness = _by_stiffness(structure, shapes, shapes @ by_Ke.T)
    by_mass = _by_mass(structure, U, U @ by_G.T)
    by_shapes = structure.K @ (shapes @ (by_Ke + by_Ke.T)) + _by_nodes(found, covector)
    by_U = structure.m @ (U @ (by_G + by_G.T))
    by_shapes += structure.collected(by_U[:, 4:].reshape(len(by_U), 3, -1))
    for strained, left, right, squares in _answers(found, by_shapes):
        if strained:
            by_stiffness -= _by_stiffness(structure, left, right)
        by_mass += _by_mass(structure, _flat(structure, left), _flat(structure, right * squares))
    return by_stiffness, by_mass


def _flat(structure: Structure, V: Array) -> Array:
    """Displacements of the carriers with all components as columns."""
    return structure.displacements(V).reshape(len(structure.carriers), -1)


def _by_nodes(found: Reduced, covector: StandardInput) -> Array:
    """Covector of the shapes (ndof, n) from those of the nodes' frames."""
    total = np.zeros_like(found.shapes)
    for node, given in zip(found.body.nodes, covector.nodes, strict=True):
        by_phi, by_psi = given.phi.M0, given.psi.M0
        by_phi = by_phi if given.origin.M1 is None else by_phi + given.origin.M1
        by_psi = by_psi if given.AP.M1 is None else by_psi + 2 * untilde(given.AP.M1)
        total += node.phi.T @ by_phi.T + node.psi.T @ by_psi.T
    return total


def _answers(found: Reduced, by_shapes: Array) -> Iterator[tuple[bool, Array, Array, Array | float]]:
    """What the change of the shapes adds, -left^T (dK - squares dM) right; without dK where one of both is rigid."""
    held, solver = found.body.held, found.solver
    basis = held.load(by_shapes) @ found.mixing.T
    kept = solver.found.kept
    count = len(kept)
    Y = solver.response.solve(basis[:, :count])
    yield True, held.expand(Y), held.expand(solver.modes()), solver.found.squares[kept]
    if basis.shape[1] == count:
        return
    loads = held.load(found.body.static_loads())
    x, by_x = solver.static(loads), basis[:, count:]
    yield True, held.expand(solver.static(by_x)), held.expand(x), 0.0
    system = solver.system
    if system.rigid.shape[1]:  # inertia of the rigid acceleration, and the mean motion that is taken out
        accelerated, moved = (system.rigid @ np.linalg.solve(system.gram, system.rigid.T @ F) for F in (loads, by_x))
        yield False, held.expand(solver.static(by_x)), held.expand(accelerated), -1.0
        yield False, held.expand(moved), held.expand(x), -1.0


def _by_stiffness(structure: Structure, left: Array, right: Array) -> Array:
    """Sum over columns of left_e^T K_e right_e (ne), K_e without the element's factor."""
    return _contracted(structure.stiffness, structure.dofs, left, right)


def _by_mass(structure: Structure, left: Array, right: Array) -> Array:
    return _contracted(structure.mass, structure.carried, left, right)


def _contracted(matrices: Array, places: Array, left: Array, right: Array) -> Array:
    found = np.empty(len(places))
    for first in range(0, len(places), BLOCK):
        part = slice(first, first + BLOCK)
        matrix = matrices if len(matrices) == 1 else matrices[part]
        found[part] = np.einsum("eir,eir->e", left[places[part]], matrix @ right[places[part]])
    return found
