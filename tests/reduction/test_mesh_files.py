"""Meshes from files: cells of several kinds against beam theory, groups, and what is refused."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.errors import InputOutputError, ModelError
from mbsim_cli.reduction.mesh import CELLS, SOLID, grid, read_mesh
from tests.reduction.reduced import reduce_body
from tests.spec.example import write

meshio = pytest.importorskip("meshio")

TEXT = """\
mbsim: 1
parameters: {{s: 1e-3}}
materials: {{steel: {{youngs_modulus: 2.1e11, poisson_ratio: 0.3, density: 7850}}}}
bodies:
  crank:
    flexible:
      mesh: {{type: file, file: {file}, scale: s{thickness}}}
      material: steel
      sets: {{hub: {{group: hub}}, pin: {{x: 0.4}}}}
      frame: {{fixed: hub}}
      modes: {{count: 2}}
      nodes: {{pin: {{set: pin}}}}
"""


def reduce(tmp_path, file="crank.vtu", thickness=", thickness: 0.01"):
    return reduce_body(spec.load(write(tmp_path, TEXT.format(file=file, thickness=thickness))), "crank")


def stored(tmp_path, kind, cells, points, name="crank.inp"):
    hub = np.flatnonzero(points[:, 0] == 0)
    meshio.Mesh(points * 1000, [(kind, cells)], point_sets={"hub": hub}).write(tmp_path / name)


def test_the_same_rectangle(tmp_path):
    """A file of the generator's own mesh gives the generator's frequencies."""
    plate = grid([0, -0.04], [0.4, 0.08], [20, 4])
    stored(tmp_path, "quad", plate.cells, plate.points)
    sid = reduce(tmp_path, "crank.inp")
    assert sid.frequencies()[0] == pytest.approx(413.103396, rel=1e-8)
    assert pytest.approx(2.512) == sid.mass.M0
    assert pytest.approx(2 * 2.512 / 1e-3) == sid.design["s"].mass.M0  # the thickness is not scaled


def quadratic(mesh, kind):
    """Cells with nodes in the middles of their edges."""
    corners = len(CELLS[mesh.kind].nodes)
    reference = np.array(CELLS[kind].nodes)
    shape = CELLS[mesh.kind].shape(reference)
    points = np.einsum("ni,eia->ena", shape, mesh.points[mesh.cells])
    unique, index = np.unique(points.reshape(-1, 3).round(9), axis=0, return_inverse=True)
    assert len(reference) > corners
    return index.reshape(len(mesh.cells), -1), unique


def test_quadratic_cells_reach_beam_theory(tmp_path):
    """A slender plate: 3.516 and 22.03, less what shear takes."""
    plate = grid([0, -0.005], [0.4, 0.01], [20, 1])
    cells, points = quadratic(plate, "quad8")
    stored(tmp_path, "quad8", cells, points, "crank.vtu")
    # a .vtu file keeps no sets of points
    text = TEXT.replace("group: hub", "x: 0")
    sid = reduce_body(spec.load(write(tmp_path, text.format(file="crank.vtu", thickness=", thickness: 0.01"))), "crank")
    unit = np.sqrt(7850 * 12 * 0.4**4 / (2.1e11 * 0.01**2))
    assert 2 * np.pi * sid.frequencies() * unit == pytest.approx([3.51602, 22.0345], rel=5e-3)


def test_what_is_refused(tmp_path):
    plate = grid([0, -0.04], [0.4, 0.08], [4, 2])
    stored(tmp_path, "quad", plate.cells, plate.points)
    for options, sentence in (
        ({"thickness": ""}, "the thickness is missing"),
        ({"file": "none.inp"}, "there is no file"),
    ):
        with pytest.raises(ModelError, match=sentence):
            reduce(tmp_path, **{"file": "crank.inp"} | options)
    turned = plate.cells.copy()
    turned[3] = turned[3][::-1]
    stored(tmp_path, "quad", turned, plate.points)
    with pytest.raises(ModelError, match="cell 3 of the mesh is turned inside out"):
        reduce(tmp_path, "crank.inp")
    (tmp_path / "broken.inp").write_text("*NODE\n1, a, b")
    with pytest.raises(ModelError, match="is no mesh that meshio reads"):
        reduce(tmp_path, "broken.inp")
    stored(tmp_path, "quad", plate.cells, plate.points + [0, 0, 0.5])
    with pytest.raises(ModelError, match="leaves the plane z = 0, by 500 of its units"):
        reduce(tmp_path, "crank.inp")
    stored(tmp_path, "quad", np.vstack([plate.cells, np.roll(plate.cells[2], 1)]), plate.points)
    with pytest.raises(ModelError, match="has a cell twice, 2 and 8; remove one of them"):
        reduce(tmp_path, "crank.inp")


@pytest.mark.parametrize(("kind", "other"), [("quad", "quad9"), ("hexahedron", "wedge"), ("triangle", "pyramid")])
def test_cells_of_other_kinds_are_not_left_out(tmp_path, kind, other):
    """A body would lack their mass; cells of fewer dimensions serve as groups."""
    counts = {"quad": 4, "quad9": 9, "hexahedron": 8, "wedge": 6, "triangle": 3, "pyramid": 5}
    cells = [(name, np.arange(counts[name])[None]) for name in (kind, other)]
    meshio.Mesh(np.random.default_rng(1).random((20, 3)), cells).write(tmp_path / "two.vtu")
    with pytest.raises(InputOutputError, match=f"has cells .*{other}; one kind of triangle, "):
        read_mesh(tmp_path / "two.vtu")


def test_kinds_without_cells_do_not_count(tmp_path):
    points = "".join(f"{k + 1}, {k & 1}, {k >> 1 & 1}, {k >> 2}\n" for k in range(8))
    blocks = "*ELEMENT, TYPE=C3D6, ELSET=W\n*ELEMENT, TYPE=C3D8, ELSET=H\n1, 1, 2, 4, 3, 5, 6, 8, 7\n"
    (tmp_path / "one.inp").write_text(f"*NODE\n{points}{blocks}")
    mesh = read_mesh(tmp_path / "one.inp")
    assert mesh.kind == "hexahedron" and len(mesh.cells) == 1 and len(mesh.groups["H"]) == 8


def test_what_meshio_prints_is_the_reason(tmp_path, capfd):
    (tmp_path / "broken.vtu").write_text("<a/>")
    with pytest.raises(ModelError, match=r"broken.vtu is no mesh that meshio reads: Expected tag 'VTKFile', found a"):
        reduce(tmp_path, "broken.vtu")
    assert capfd.readouterr() == ("", "")


def test_round_off_does_not_leave_the_plane(tmp_path):
    plate = grid([0, -0.04], [0.4, 0.08], [4, 2])
    stored(tmp_path, "quad", plate.cells, plate.points + np.outer(np.arange(15) % 2, [0, 0, 1e-15]))
    assert pytest.approx(2.512) == reduce(tmp_path, "crank.inp").mass.M0


def test_every_kind_of_cell_is_one():
    assert set(SOLID) == {k for k in CELLS if not k.startswith("line")}
