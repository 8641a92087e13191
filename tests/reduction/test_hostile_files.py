"""Meshes and matrices that are damaged, or made to do harm: a sentence each, in bounded time and memory."""

import resource
import time

import numpy as np
import pytest
from scipy import sparse

from mbsim_cli.errors import MbsimError, ModelError
from mbsim_cli.reduction.data import Refused
from mbsim_cli.reduction.matrices import read_matrix, structure_of
from mbsim_cli.reduction.mesh import CELLS, grid, read_mesh
from mbsim_cli.reduction.reduce import Body, reduced
from mbsim_cli.reduction.restriction import Frame

meshio = pytest.importorskip("meshio")
PLATE = grid([0, 0], [1, 0.2], [4, 2])


def written(path, points=PLATE.points, cells=PLATE.cells, kind="quad"):
    meshio.Mesh(np.asarray(points, float), [(kind, np.asarray(cells))]).write(path)
    return path


def processor_time():
    """Seconds of this process and of its children that have ended: other programs do not lengthen them."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def refused(path):
    begun = processor_time()
    with pytest.raises(MbsimError) as error:
        read_mesh(path)
    assert processor_time() - begun < 30
    assert str(path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("wrong", [99, -3])
def test_cells_of_points_that_there_are_not(tmp_path, wrong):
    cells = PLATE.cells.copy()
    cells[3, 1] = wrong
    assert f"point {wrong}" in refused(written(tmp_path / "plate.vtk", cells=cells))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_points_that_are_not_finite(tmp_path, bad):
    points = PLATE.points.copy()
    points[2, 0] = bad
    assert "not finite" in refused(written(tmp_path / "plate.vtk", points=points))


def test_a_mesh_that_was_cut_off_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr("mbsim_cli.quarantine.PROCESSOR", 2)
    path = tmp_path / "ball.off"
    triangles = np.vstack([PLATE.cells[:, :3], PLATE.cells[:, [0, 2, 3]]])
    meshio.Mesh(PLATE.points, [("triangle", triangles)]).write(path)
    path.write_bytes(path.read_bytes()[:20])
    refused(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("K.mtx", "%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 1\n"),
        ("K.mtx", "%%MatrixMarket matrix coordinate real general\n9 9 2000000000\n1 1 1\n"),
        ("K.txt", "1, 2000000000, 1, 1, 5\n"),
        ("K.txt", "1, 0, 1, 1, 5\n"),
    ],
)
def test_matrices_that_claim_to_be_huge(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(MbsimError, match="K"):
        read_matrix(path, np.array([1, 2, 3]))


FORMATS = ("vtk", "vtu", "inp", "msh", "off", "ply", "stl", "bdf", "mesh", "avs", "su2", "obj", "tec", "xml")


@pytest.mark.slow
def test_a_thousand_damaged_meshes(tmp_path):
    """Bytes changed, lost or repeated, and numbers replaced: each is read, or refused with a sentence."""
    random, read, count = np.random.default_rng(5), 0, 0
    triangles = np.vstack([PLATE.cells[:, :3], PLATE.cells[:, [0, 2, 3]]])
    for number in range(1000):
        path = tmp_path / f"{number}.{FORMATS[number % len(FORMATS)]}"
        try:
            meshio.Mesh(PLATE.points, [("triangle", triangles)]).write(path)
        except Exception:
            continue
        data = bytearray(path.read_bytes())
        for _ in range(int(random.integers(1, 6))):
            place = int(random.integers(len(data)))
            match int(random.integers(4)):
                case 0:
                    data[place] = int(random.integers(256))
                case 1:
                    del data[place : place + int(random.integers(1, 40))]
                case 2:
                    data[place:place] = data[place : place + 20]
                case _:
                    data[place : place + 1] = random.choice([b"nan", b"-1", b"99999999", b"1e400", b"\0"])
        path.write_bytes(bytes(data))
        count += 1
        begun = processor_time()
        try:
            mesh = read_mesh(path)
        except (MbsimError, ModelError):
            pass
        else:
            read += 1
            assert np.isfinite(mesh.points).all()
            assert mesh.cells.shape[1] == len(CELLS[mesh.kind].nodes)
            assert 0 <= mesh.cells.min() <= mesh.cells.max() < len(mesh.points)
        assert processor_time() - begun < 60, path
    assert count > 500
    assert read > 20


def test_a_free_body_whose_nodes_lie_on_one_line():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    K = np.zeros((9, 9))
    for a, b in ((0, 1), (1, 2)):
        K[np.ix_([3 * a, 3 * b], [3 * a, 3 * b])] += [[1, -1], [-1, 1]]
    structure = structure_of(points, sparse.csc_matrix(K), sparse.identity(9, format="csc"))
    with pytest.raises(Refused, match="the line on which"):
        reduced(Body(structure, Frame(), (), modes=(0,)))
