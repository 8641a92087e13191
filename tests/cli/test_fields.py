"""Meshes of reduced bodies in their files, for viewers and as pictures."""

import h5py
import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.sid_file import read_shaped_mesh, read_sid
from mbsim_cli.reduction.mesh import skin

MODEL = """\
mbsim: 1
materials: {steel: {youngs_modulus: 2.1e11, poisson_ratio: 0.3, density: 7850}}
fields: {rho: {value: 0.5 + x, filter: {radius: 0.1}}}
bodies:
  plate:
    flexible:
      mesh: {type: rectangle, size: [0.4, 0.08], origin: [0, -0.04], thickness: 0.01, elements: [8, 2]}
      material: steel
      density: {field: rho}
      sets: {hub: {x: 0}, pin: {x: 0.4}}
      frame: {fixed: hub}
      modes: {count: 2}
      nodes: {pin: {set: pin}}
  block:
    flexible:
      mesh: {type: brick, size: [0.4, 0.08, 0.06], elements: [3, 2, 3]}
      material: steel
      density: {field: rho}
      sets: {hub: {x: 0}}
      frame: {fixed: hub}
      modes: {count: 1}
  beam:
    flexible:
      mesh: {type: beam, length: 1, elements: 4, section: {type: rectangle, size: [0.01, 0.02]}}
      material: steel
      density: {field: rho}
      sets: {hub: {x: 0}}
      frame: {fixed: hub}
      modes: {count: 1}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(MODEL)
    return path


def test_a_body_keeps_its_mesh(mbsim, model, tmp_path):
    assert mbsim("reduce", model, "plate", "-q").code == 0
    mesh, sid = read_shaped_mesh(tmp_path / "plate.sid.h5"), read_sid(tmp_path / "plate.sid.h5")
    assert mesh.fields["rho"] == pytest.approx(0.5 + mesh.points[mesh.cells].mean(1)[:, 0])
    assert np.ptp(mesh.fields["rho_filtered"]) < np.ptp(mesh.fields["rho"])
    # the mean displacement of the pin's nodes is that of its frame, the rim counting half
    at = np.flatnonzero(mesh.points[:, 0] == 0.4)
    assert np.array([0.25, 0.5, 0.25]) @ mesh.shapes[:, at] == pytest.approx(sid.nodes[0].phi.M0, abs=1e-12)


@pytest.mark.parametrize("body", ["plate", "block", "beam"])
def test_pictures_of_fields(mbsim, model, tmp_path, body):
    pytest.importorskip("matplotlib")
    assert mbsim("reduce", model, body, "-q").code == 0
    found = mbsim("plot", f"{body}.sid.h5", "--field", "rho", "--json").json
    assert (tmp_path / found["output"]).read_bytes()[:4] == b"\x89PNG" and 0.5 < found["least"] < found["largest"] < 1.5
    wrong = mbsim("plot", f"{body}.sid.h5", "--field", "roh")
    assert wrong.code == 2 and "has no field 'roh', it has rho, rho_filtered; did you mean 'rho'?" in wrong.err
    again = mbsim("plot", f"{body}.sid.h5", "r2", "--field", "rho")
    assert again.code == 2 and "name its .sid.h5 file, or one result" in again.err


def test_the_skin_of_a_block():
    """Sides of a block of 3 x 2 x 3: 2 (6 + 9 + 6) faces, each of the cell that it bounds."""
    from mbsim_cli.reduction.mesh import grid

    mesh = grid([0, 0, 0], [3, 2, 3], [3, 2, 3])
    faces, owner = skin(mesh.cells, mesh.kind)
    assert len(faces) == 42
    middles, centres = mesh.points[faces].mean(1), mesh.centres[owner]
    assert np.abs(middles - centres).max() == 0.5 and (np.abs(middles - centres) > 0).sum(1).max() == 1


def test_meshes_for_viewers(mbsim, model, tmp_path):
    meshio = pytest.importorskip("meshio")
    done = mbsim("reduce", model, "block", "-o", "block.vtu")
    assert done.code == 0 and "nothing reads it back" in done.out
    found = meshio.read(tmp_path / "block.vtu")
    assert found.cell_data["rho"][0].shape == (18,) and found.point_data["shape 1"].shape == (48, 3)
    assert mbsim("reduce", model, "block", "-o", "block.vtu", "-q").code == 0
    (tmp_path / "notes.vtu").write_text("mine")
    assert mbsim("reduce", model, "block", "-o", "notes.vtu").code == 5


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("cells", np.full((16, 4), 99), "mesh/cells name points that do not exist"),
        ("points", np.zeros((27, 2)), r"mesh/points is \(27, 2\)"),
        ("shapes", np.full((2, 27, 3), np.nan), "mesh/shapes holds numbers that are not finite"),
        ("fields/rho", np.zeros(3), r"mesh/fields/rho is \(3,\)"),
    ],
)
def test_damaged_meshes(mbsim, model, tmp_path, name, value, sentence):
    mbsim("reduce", model, "plate", "-q")
    with h5py.File(tmp_path / "plate.sid.h5", "a") as file:
        del file["mesh"][name]
        file["mesh"][name] = value
    with pytest.raises(InputOutputError, match=sentence):
        read_sid(tmp_path / "plate.sid.h5")
