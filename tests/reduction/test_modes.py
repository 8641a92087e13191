"""The lowest modes and the factor that they are found by."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse.linalg import splu

from mbsim_cli.reduction.elements import solid
from mbsim_cli.reduction.mesh import grid
from mbsim_cli.reduction.modes import DENSE, lowest_modes
from mbsim_cli.reduction.reduce import Body
from mbsim_cli.reduction.restriction import Frame, system_of
from mbsim_cli.reduction.structure import SYMMETRIC, Flexibility, dissected

from .bodies import crank, with_rigid_pin

WANTED = 12


def cube():
    """A free cube, whose modes come in threes."""
    structure = solid(grid([-0.5] * 3, [1.0] * 3, [5] * 3), 2e11, 0.3, 7800.0)
    return Body(structure, Frame(), modes=tuple(range(WANTED)))


@pytest.mark.parametrize("make", [cube, lambda: crank(30, 6), lambda: with_rigid_pin(crank(30, 6), 0.4)])
def test_lowest_modes_are_those_of_a_dense_solver(make):
    body = make()
    system = system_of(body.structure, body.held, body.frame.free)
    assert system.K.shape[0] > DENSE
    found = lowest_modes(system, Flexibility(system), range(WANTED))
    rigid = system.rigid.shape[1]
    squares = eigh(system.K.toarray(), system.M.toarray(), eigvals_only=True)[rigid : rigid + len(found.squares)]
    assert found.squares == pytest.approx(squares, rel=1e-8)
    residual = system.K @ found.shapes - (system.M @ found.shapes) * found.squares
    assert np.abs(residual).max() < 1e-8 * np.abs(system.K @ found.shapes).max()
    assert found.shapes.T @ (system.M @ found.shapes) == pytest.approx(np.eye(len(squares)), abs=1e-12)


@pytest.mark.parametrize(("elements", "most"), [((90, 60), 1.2), ((12, 12, 12), 1.02)])
def test_dissection_fills_the_factor_about_as_minimum_degree_does(elements, most):
    body = solid(grid([0.0] * len(elements), [1.0] * len(elements), elements), 1.0, 0.3, 1.0)
    nodes = np.random.default_rng(0).permutation(len(body.mesh.points))  # numbered at random, as meshes from files are
    cells = np.argsort(nodes)[body.mesh.cells]
    body = solid(replace(body.mesh, points=body.mesh.points[nodes], cells=cells), 1.0, 0.3, 1.0)
    node = np.repeat(np.arange(len(nodes)), len(elements))
    A = (body.K + body.M).tocsc()
    order = dissected(A, node, body.mesh.points)
    assert sorted(order) == list(range(len(node)))
    fill = splu(A[order][:, order].tocsc(), **SYMMETRIC).nnz
    assert fill < most * splu(A, **{**SYMMETRIC, "permc_spec": "MMD_AT_PLUS_A"}).nnz
