"""Optimisation of a field of densities: its gradient file and all, on a few steps of a driven crank."""

import json
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.cli import outcome
from mbsim_cli.errors import ModelError, UsageError
from mbsim_cli.io.findings import fields_of
from mbsim_cli.io.results import ResultFile
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.optimizing.optimize import Request, optimize
from mbsim_cli.study.pictures.motion import RunFilm, field_of

from .test_flexible_adjoint import MODEL

VALUE = 'value: "scale*(0.7 + x/2) + bump*exp(-100*((x - 0.1)**2 + y**2))"'
EVEN = MODEL.replace(VALUE, "value: 0.5, bounds: [0.1, 1]").replace("duration: 6e-3", "duration: 4e-3")
GIVEN = """\
  softest:
    maximize: strain
    fields: [p]
    variables: {thickness: {from: 0.008, to: 0.012}}
    volume: {p: {at_most: 0.5}}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("topology") / "crank.yaml"
    path.write_text(EVEN + "optimization:\n" + GIVEN)
    return path


@pytest.fixture(scope="module")
def found(model):
    """The report of two analyses, and the result."""
    output = model.parent / "out.h5"
    request = Request(output=output, evaluations=2, algorithm="mma")
    return optimize(model, request, Settings(), Listener(), ""), output


def test_a_saved_model_has_no_room_for_the_optimum(model):
    request = Request(output=model.parent / "never.h5", save_model=model.parent / "best.yaml")
    with pytest.raises(UsageError, match=r"a field takes its optimum up by file: \S*never.h5, dataset: fields/p"):
        optimize(model, request, Settings(), Listener(), "")


@pytest.mark.slow
def test_the_volume_is_kept_and_the_objective_becomes_larger(found):
    report = found[0]["optimization"]
    assert report["value"] > 1.01 * report["start"] and report["violation"] <= 1e-6
    volume = report["constraints"][0]
    assert volume["objective"] == "volume of p" and volume["value"] <= 0.5 + 1e-6
    p = report["fields"]["p"]
    assert p["elements"] == 12 and p["start"] == 0.5 and 0.1 <= p["least"] < p["largest"] <= 1
    assert 0.008 <= report["variables"]["thickness"]["value"] <= 0.012


@pytest.mark.slow
def test_the_result_has_the_field_its_mesh_and_gradients(found, model):
    report, output = found
    with h5py.File(output) as file:
        p, gradient = file["fields/p"][()], file["objectives/strain/gradient_fields/p"][()]
        assert file["optimization/values"].shape == (2, 1) and file["optimization"].attrs["maximized"] == "strain"
        value = file["objectives/strain/value"][()]
    assert p.mean() == pytest.approx(report["optimization"]["fields"]["p"]["mean"]) and gradient.shape == (12,)
    assert set(fields_of(output)) >= {"p", "strain.p", "bending.p"}
    drawn = field_of(output, "strain.p")
    assert drawn.faces.shape == (12, 4) and drawn.values == pytest.approx(gradient)
    with pytest.raises(UsageError, match="has no field 'q'"):
        field_of(output, "q")
    # the field of the result, read back by a model, gives the same value
    text = model.read_text().replace("value: 0.5, bounds", "file: out.h5, dataset: fields/p, bounds")
    thickness = report["optimization"]["variables"]["thickness"]["value"]
    again = model.parent / "again.yaml"
    again.write_text(text.partition("optimization:")[0].replace("value: 0.01", f"value: {thickness!r}"))
    import mbsim_cli as mbsim

    assert mbsim.run(again).objectives["strain"].value == pytest.approx(value, rel=1e-12)


@pytest.mark.slow
def test_viewers_see_the_motion_with_the_field_and_its_gradients(found, tmp_path, monkeypatch, capsys):
    """Read back by meshio: the crank's deflected pin is where the rod's end is, and the cells have their numbers."""
    meshio = pytest.importorskip("meshio")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # what is our own is replaced
        assert outcome.call(["animate", str(found[1]), "-o", "m.pvd", "--fps", "100", "--speed", "0.2", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["frames"] == 3
    listed = ElementTree.parse("m.pvd").getroot().findall("Collection/DataSet")
    assert [float(item.get("timestep")) for item in listed] == [0.0, 0.002, 0.004]
    assert [item.get("file") for item in listed] == [f"m_vtu/crank-{k:05d}.vtu" for k in range(3)]
    last = meshio.read(listed[-1].get("file"))
    with h5py.File(found[1]) as file:
        rest, p = file["mesh/crank/points"][()], file["fields/p"][()]
        gradient = file["objectives/strain/gradient_fields/p"][()]
    assert last.cell_data["p"][0] == pytest.approx(p) and last.cell_data["strain.p"][0] == pytest.approx(gradient)
    filming = RunFilm(ResultFile(found[1]), speed=0.2, fps=100)
    edge = np.isclose(rest[:, 0], 0.4)
    pin = np.array([0.25, 0.5, 0.25]) @ last.points[edge]
    rod = filming.positions[-1, filming.moving.scene.names["rod.A"]]
    assert pin == pytest.approx(rod, abs=1e-12)
    moved = last.points - last.point_data["displacement"]  # the frame's motion alone
    lengths = np.linalg.norm(moved[:, None] - moved[None], axis=2)
    assert lengths == pytest.approx(np.linalg.norm(rest[:, None] - rest[None], axis=2), abs=1e-12)
    assert np.abs(last.point_data["displacement"][edge]).max() > 1e-6
    (tmp_path / "n_vtu").mkdir()
    (tmp_path / "n_vtu" / "notes.txt").write_text("mine")
    assert outcome.call(["animate", str(found[1]), "-o", "n.pvd", "--force"]) == 5
    assert "is no folder of meshes" in capsys.readouterr().err and (tmp_path / "n_vtu" / "notes.txt").exists()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("fields: [p]\n", "fields: [q]\n", "unknown field 'q'"),
        ("volume: {p", "volume: {q", "'q' is not among the fields that vary"),
        ("volume: {p: {at_most: 0.5}}", "algorithm: mma\n    volume: {p: {equals: 0.5}}", "mma keeps no equalities"),
        ("at_most: 0.5", "at_most: 0.05", "no mean comes to 0.05: 'p' lies between 0.1 and 1"),
        ("at_most: 0.5", "at_most: 1.5", "no mean comes to 1.5: 'p' lies between 0.1 and 1"),
        ("at_most: 0.5", "at_most: 50*thickness", "would not follow thickness; an objective may have it"),
        (", bounds: [0.1, 1]", "", "field 'p' has no bounds"),
        ("      density: {field: p}\n", "", "gives the densities of 0 bodies"),
    ],
)
def test_what_is_refused(model, tmp_path, old, new, sentence):
    path = tmp_path / "crank.yaml"
    assert old in model.read_text()
    path.write_text(model.read_text().replace(old, new))
    with pytest.raises(ModelError) as error:
        spec.load(path)
    assert any(sentence in str(issue) for issue in error.value.issues), error.value.issues


def test_auto_keeps_equalities_of_few_elements(model, tmp_path):
    path = tmp_path / "crank.yaml"
    path.write_text(model.read_text().replace("at_most: 0.5", "equals: 0.5"))
    assert spec.load(path).optimization["softest"].volume["p"].equals.literal == 0.5


def test_gradients_by_fields_are_those_of_the_adjoint(model):
    with pytest.raises(UsageError, match="the adjoint alone gives gradients by fields"):
        optimize(model, Request(), Settings(method="ddm"), Listener(), "")


def test_the_volume_and_its_derivatives(model):
    """Mean of the filtered field; each element's derivative by differences of the field."""
    from mbsim_cli.assembly.parameters.numbers import Numbers
    from mbsim_cli.study.reduced_bodies import standard_input

    file = spec.load(model)

    def volume(p):
        moved = file.with_fields({"p": p})
        return standard_input(moved, "crank", Numbers(moved.expressions)).share(())

    p = 0.3 + 0.5 * np.random.default_rng(0).random(12)
    mean, gradient, _ = volume(p)
    other = 0.3 + 0.5 * np.random.default_rng(1).random(12)
    assert volume(other)[0] - mean == pytest.approx(gradient @ (other - p), rel=1e-9)  # it is linear
    assert gradient.sum() == pytest.approx(1) and volume(np.full(12, 0.4))[0] == pytest.approx(0.4)


def test_derivatives_of_the_volume_by_parameters(model, tmp_path):
    """The filter shares an element's number out in other parts where a parameter moves the mesh, or is its radius."""
    from mbsim_cli.assembly.parameters.numbers import Numbers
    from mbsim_cli.study.reduced_bodies import standard_input

    path = tmp_path / "crank.yaml"
    text = model.read_text().replace("size: [0.4,", "size: [0.4*rod,").replace("pin: {x: 0.4}", "pin: {x: 0.4*rod}")
    path.write_text(text.replace("radius: 0.1", "radius: r").replace("  rod: {value: 1}", "  rod: 1\n  r: 0.11"))
    p = np.linspace(0.4, 1, 12) ** 2

    def volume(**values):
        moved = spec.load(path, {name: repr(value) for name, value in values.items()}).with_fields({"p": p})
        return standard_input(moved, "crank", Numbers(moved.expressions)).share(("r", "E", "rod"))

    by_parameters = volume()[2]
    assert by_parameters[1] == 0 and abs(by_parameters).min() == 0
    for k, name, value in ((0, "r", 0.11), (2, "rod", 1.0)):
        h = 1e-5 * value
        difference = (volume(**{name: value + h})[0] - volume(**{name: value - h})[0]) / (2 * h)
        assert by_parameters[k] == pytest.approx(difference, rel=1e-6) and abs(difference) > 1e-4


def test_gradients_by_a_field_of_two_meshes_are_refused(tmp_path):
    path = tmp_path / "crank.yaml"
    twin = MODEL[MODEL.index("  crank:\n") : MODEL.index("  rod: {shape")].replace("crank:", "twin:")
    joint = "joints:\n  float: {type: floating, bodies: [ground, twin], point: [origin, hub]}\n"
    text = MODEL.replace("  rod: {shape", twin.replace("[6, 2]", "[6, 3]") + "  rod: {shape").replace(
        "joints:\n", joint
    )
    path.write_text(text.replace("nodes: {pin", "nodes: {hub: {set: hub}, pin"))
    import mbsim_cli as mbsim

    with pytest.raises(ModelError, match=r"crank.yaml:\d+:\d+: analysis.sensitivity.fields.0: .* 12 of 'crank', 18 of"):
        mbsim.run(path)
