"""Every kind of cell: shape functions that are one at their node, volumes, and no strain by rigid motion."""

import numpy as np
import pytest

from mbsim_cli.reduction.elements import solid
from mbsim_cli.reduction.mesh import CELLS, SOLID, Mesh, tabulated

VOLUME = {"triangle": 1 / 2, "quad": 4.0, "tetra": 1 / 6, "hexahedron": 8.0}


@pytest.mark.parametrize("kind", CELLS)
def test_shape_functions(kind):
    cell = CELLS[kind]
    nodes = np.array(cell.nodes)
    assert cell.shape(nodes) == pytest.approx(np.eye(len(nodes)), abs=1e-12)
    x = np.full((1, nodes.shape[1]), 0.2)
    complex_step = [cell.shape(x + 1e-30j * np.eye(nodes.shape[1])[a])[0].imag / 1e-30 for a in range(nodes.shape[1])]
    assert pytest.approx(np.array(complex_step)) == cell.gradient(x)[0].T


@pytest.mark.parametrize("kind", SOLID)
def test_matrices(kind):
    """A cell that is stretched and sheared: its mass, rigid motions, and the energy of a uniform strain."""
    nodes = np.array(CELLS[kind].nodes)
    d = nodes.shape[1]
    A = np.array([[2.0, 0.3, 0.1], [0.1, 1.5, 0.2], [0.0, 0.1, 1.2]])[:d, :d]
    points = np.zeros((len(nodes), 3))
    points[:, :d] = nodes @ A.T
    structure = solid(Mesh(points, np.arange(len(nodes))[None], kind), 2.0, 0.25, 3.0)
    volume = np.linalg.det(A) * VOLUME[kind.rstrip("0123456789")]
    assert structure.m.sum() == pytest.approx(3.0 * volume)
    K = structure.K.toarray()
    assert np.abs(K @ structure.rigid_motions()).max() < 1e-12 * np.abs(K).max()
    # moment of inertia by the cell's own rule for quadratics is exact where edges are straight
    stretch = np.zeros_like(points[:, :d])
    stretch[:, 0] = points[:, 0]
    u = stretch.ravel()
    lame, shear = (2 * 0.25 / (1 - 0.25**2), 0.8) if d == 2 else (2 * 0.25 / (1.25 * 0.5), 0.8)
    assert u @ K @ u == pytest.approx((lame + 2 * shear) * volume)
    assert np.linalg.matrix_rank(K) == K.shape[0] - (3 if d == 2 else 6)


@pytest.mark.parametrize("kind", SOLID)
def test_faces(kind):
    """Nodes of a face lie in a plane that has all other nodes on one side."""
    nodes = np.array(CELLS[kind].nodes)
    d = nodes.shape[1]
    for face in CELLS[kind].faces:
        assert len(face) == len(CELLS[CELLS[kind].face_kind].nodes)
        corners = nodes[list(face)]
        _, values, V = np.linalg.svd(corners - corners.mean(0))
        assert (values > 1e-9).sum() == d - 1
        sides = (np.delete(nodes, face, 0) - corners.mean(0)) @ V[-1]
        assert (sides > 1e-9).all() or (sides < -1e-9).all()


def test_gauss_points_are_inside():
    for kind in CELLS:
        shape, _, weights = tabulated(kind)
        assert shape.sum(1) == pytest.approx(1) and (weights > 0).all()
