"""``mbsim reduce``, and that no analysis runs a body that nothing joins to the ground."""

import numpy as np
import pytest

from mbsim_cli.study.reduced_bodies import read_body

CRANK = """\
mbsim: 1
description: a plate
parameters: {E: 2.1e11, other: 2, rho: 7850}
materials: {steel: {youngs_modulus: E, poisson_ratio: 0.3, density: rho}}
bodies:
  crank:
    flexible:
      mesh: {type: rectangle, size: [0.4, 0.08], origin: [0, -0.04], thickness: 0.01, elements: [20, 4]}
      material: steel
      sets: {hub: {x: 0}, pin: {x: 0.4}}
      frame: {fixed: hub}
      modes: {count: 6}
      nodes: {pin: {set: pin}}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "crank.yaml"
    path.write_text(CRANK)
    return path


def test_a_body_with_its_derivatives(mbsim, model, tmp_path):
    found = mbsim("reduce", model, "--json").json
    assert found["modes"][0]["frequency"] == pytest.approx(413.103396, rel=1e-8)
    assert (found["body"], found["file"], found["descriptions"]) == ("crank", "crank.sid.h5", {"": "a plate"})
    assert found["design"] == ["E", "rho"]  # what changes nothing has no derivative
    body = read_body(tmp_path / "crank.sid.h5")
    # frequencies go with the root of E: Ke' of a mass-normalised, held span is Ke / E
    assert pytest.approx(body.Ke.M0 / 2.1e11, rel=1e-9, abs=1e-9 * body.Ke.M0[0, 0] / 2.1e11) == body.design["E"].Ke.M0
    assert pytest.approx(2.512 / 7850) == body.design["rho"].mass.M0
    assert pytest.approx(np.eye(6) / 7850, abs=1e-9) == body.design["rho"].Me.M0
    assert mbsim("inspect", "crank.sid.h5", "--json").json["design"] == ["E", "rho"]


def test_other_values_and_an_ascii_file(mbsim, model, tmp_path):
    done = mbsim("reduce", model, "crank", "-p", "E=8.4e11", "-o", "crank.SID_FEM")
    assert done.code == 0 and "826.20679" in done.out and "few programs read derivatives" in done.out
    again = read_body(tmp_path / "crank.SID_FEM")
    assert again.frequencies()[0] == pytest.approx(2 * 413.103396, rel=1e-8) and again.warnings == ()
    assert list(again.design) == ["E", "rho"]
    model.write_text(CRANK + "  more:\n    flexible: {sid: crank.SID_FEM, modes: [1, 2]}\n")
    several = mbsim("reduce", model)
    own = mbsim("reduce", model, "more", "-o", "crank.SID_FEM", "--force")
    assert own.code == 5 and "crank.SID_FEM is a file that the model reads" in own.err
    assert several.code == 2 and "name a flexible body: the model has crank, more" in several.err
    assert len(mbsim("reduce", model, "more", "--json").json["modes"]) == 2
    assert mbsim("reduce", model, "crank", "--no-derivatives", "--json").json["design"] == []
    mesh = mbsim("reduce", model, "crank", "--no-derivatives", "-o", "crank.vtu")  # which has none to leave out
    assert mesh.code == 2 and "leave out --no-derivatives" in mesh.err and not (tmp_path / "crank.vtu").exists()
    plain = mbsim("reduce", model, "crank", "--no-derivatives", "-o", "plain.SID_FEM")
    assert "without derivatives has no place for inertia of second order" in plain.out
    assert "dm0" not in (tmp_path / "plain.SID_FEM").read_text()


def test_what_is_not_overwritten(mbsim, model, tmp_path):
    (tmp_path / "notes.sid.h5").write_text("notes")
    assert "--force overwrites it" in mbsim("reduce", model, "-o", "notes.sid.h5").err
    assert mbsim("reduce", model, "-o", "notes.sid.h5", "--force").code == 0
    assert mbsim("reduce", model, "-o", "notes.sid.h5", "--quiet").code == 0  # its own kind
    wrong = mbsim("reduce", model, "-o", "body.h5")
    assert wrong.code == 2 and "standard input data end in .sid.h5 or .SID_FEM" in wrong.err


@pytest.mark.parametrize("command", ["run", "check", "validate", "info"])
def test_a_body_alone_is_reduced_only(mbsim, model, command):
    done = mbsim(command, model)
    assert done.code == 3
    if command == "check":  # in a table, whose cells wrap
        assert "crank.yaml:6:3" in done.out
    else:
        assert f"{model}:6:3: bodies.crank: body 'crank' is not connected to the ground by joints" in done.err
