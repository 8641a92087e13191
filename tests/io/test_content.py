"""Everything that a result holds is found by its name."""

import h5py
import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.layout import Origin, Parameters
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.target import PICTURE, check_target, is_picture, replaced
from mbsim_cli.io.writer import Findings, ObjectiveResult, ResultWriter

from . import fakes

PROVENANCE = Provenance(
    command="mbsim run a/m.yaml",
    model_file="a/m.yaml",
    model_text="mbsim: 1\ninclude: [../b/n.yaml]\n",
    included={"b/n.yaml": "name: N\n"},
    overrides={"L_0": "1.5"},
)

PARAMETERS = Parameters([1.0, 2.0], [(0.0, 3.0)] * 2)


def write(path, names=None, p=2, **changes):
    parameters = PARAMETERS if p else Parameters()
    run = ResultWriter(path, Origin(names or fakes.names(p=p), fakes.SENSORS, parameters, PROVENANCE))
    run.append(fakes.block(0, 9, p=p)._replace(**changes))
    run.findings(Findings([ObjectiveResult("psi", 3.5, "m^2 s", np.array([1.0, -2.0])[:p], "ddm")]))
    return ResultFile(run.finish({}))


@pytest.fixture
def content(tmp_path):
    return write(tmp_path / "r.h5")


def test_names_of_every_kind(content):
    assert content.names("sensor") == ["r2", "theta"]
    assert content.names("coordinate")[:3] == ["J0.angle", "J0.angle.velocity", "J0.angle.acceleration"]
    assert content.names("multiplier")[::3] == ["cut.0.lambda", "cut.0.sigma", "cut.0.kappa"]
    assert "kinetic_energy" in content.names("diagnostic") and list(content.objectives) == ["psi"]
    assert len(content.names()) == 2 + 6 + 9 + 8


def test_histories(content):
    block = fakes.block(0, 9)
    r2 = content.history("r2")
    assert (r2.unit, r2.components) == ("m", ("x", "y", "z"))
    np.testing.assert_array_equal(r2.values, block.sensors[:, :3])
    np.testing.assert_array_equal(r2.time, block.time)
    rate = content.history("J1.angle.velocity")
    assert rate.unit == "rad/s"
    np.testing.assert_array_equal(rate.values, block.velocity[:, 1:])
    np.testing.assert_array_equal(content.history("cut.2.kappa").values, block.kappa[:, 2:])
    power = content.history("power")
    assert power.unit == "W"
    np.testing.assert_array_equal(power.values, block.energy[:, 2:])


def test_sensitivities(content):
    block = fakes.block(0, 9)
    np.testing.assert_array_equal(content.sensitivity("r2", "L_1").values, block.d_sensors[:, :3, 1])
    found = content.sensitivity("J0.angle.acceleration", "L_0")
    assert found.unit == "(rad/s^2)/m"
    np.testing.assert_array_equal(found.values[:, 0], block.d_acceleration[:, 0, 0])
    np.testing.assert_array_equal(content.sensitivity("cut.1.lambda", "L_1").values[:, 0], block.d_lambda[:, 1, 1])
    assert not content.entries["cut.0.sigma"].sensitivity and not content.entries["power"].sensitivity


def test_without_parameters_there_are_no_sensitivities(tmp_path):
    content = write(tmp_path / "r.h5", p=0)
    assert not content.gradients and not content.parameters
    assert not any(entry.sensitivity for entry in content.entries.values())


def test_a_coordinate_that_is_stored_negated_is_turned_back(tmp_path):
    names = fakes.names()
    object.__setattr__(names, "coordinates", ("J0.angle", "-J1.angle"))
    content = write(tmp_path / "r.h5", names)
    block = fakes.block(0, 9)
    np.testing.assert_array_equal(content.history("J1.angle").values, -block.position[:, 1:])
    np.testing.assert_array_equal(content.sensitivity("J1.angle", "L_1").values[:, 0], -block.d_position[:, 1, 1])
    np.testing.assert_array_equal(content.motion()[0], block.position)


def test_gradients(content):
    gradient = content.gradients["psi"]
    assert gradient.parameters == ("L_0", "L_1") and gradient.value == 3.5 and gradient.unit == "m^2 s"
    np.testing.assert_allclose(gradient.relative, [1 / 3.5, 2 / 3.5 * -2])


def test_the_model_as_it_was_read(content):
    model = content.model
    assert model.file == "a/m.yaml" and model.overrides == {"L_0": "1.5"}
    assert model.texts == {"a/m.yaml": PROVENANCE.model_text, "b/n.yaml": "name: N\n"}


def test_sensors_stand_in_the_order_of_the_model(tmp_path):
    names = fakes.names()
    object.__setattr__(names, "sensors", ("z", "a"))
    run = ResultWriter(tmp_path / "r.h5", Origin(names, {"z": slice(0, 3), "a": slice(3, 4)}, PARAMETERS, PROVENANCE))
    run.append(fakes.block(0, 2))
    assert ResultFile(run.finish({})).names("sensor") == ["z", "a"]


def test_other_files_are_refused(tmp_path):
    h5py.File(tmp_path / "f.h5", "w").close()
    for name, sentence in (("f.h5", "not an mbsim result"), ("no.h5", "there is no file")):
        with pytest.raises(InputOutputError, match=sentence):
            ResultFile(tmp_path / name)


PICTURES = {"a.png": b"\x89PNG\r\n", "a.gif": b"GIF89a", "a.pdf": b"%PDF-1.4", "a.mp4": b"\0\0\0 ftypisom"}


@pytest.mark.parametrize("name, start", [*PICTURES.items(), ("a.svg", b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC')])
def test_pictures_are_known_by_their_content(tmp_path, name, start):
    path = tmp_path / name
    path.write_bytes(start)
    assert is_picture(path) and check_target(path, PICTURE, force=False) == path


@pytest.mark.parametrize("content", [b"", b"mbsim: 1", b'<?xml version="1.0"?><html>'])
def test_other_files_are_not_overwritten(tmp_path, content):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(InputOutputError, match="not a picture; force=True"):
        check_target(path, PICTURE, force=False)
    assert check_target(path, PICTURE, force=True) == path


def test_a_picture_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "a.png"
    with replaced(target, PICTURE) as temporary:
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    "failure, told", [(KeyboardInterrupt, KeyboardInterrupt), (OSError(28, "full"), InputOutputError)]
)
def test_a_picture_that_fails_leaves_the_old_one(tmp_path, failure, told):
    target = tmp_path / "a.png"
    target.write_text("old")
    with pytest.raises(told), replaced(target, PICTURE) as temporary:
        temporary.write_text("half")
        raise failure
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
