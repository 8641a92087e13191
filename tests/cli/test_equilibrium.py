"""Static equilibrium through the public command: results, diagnostics, failures."""

import h5py
import numpy as np
import pytest

SCALES = """\
mbsim: 1
gravity: [0, 0, -10]
parameters: {k: {value: 50, unit: N/m}, m: 2}
bodies: {pan: {mass: m}, top: {mass: 1, center_of_mass: [0, 0, 1], inertia: {xx: 0.1, yy: 0.1}}}
joints:
  slide: {type: prismatic, bodies: [ground, pan], point: origin, axis: z, initial: {velocity: 1}}
  pin: {type: revolute, bodies: [ground, top], point: origin, axis: y, initial: {angle: 170 deg}}
points: {floor: {ground: [0, 0, -2]}}
forces: {spring: {type: spring_damper, points: [ground.floor, pan.origin], stiffness: k, damping: 9, natural_length: 2}}
sensors: {z: {type: coordinate, coordinate: slide.displacement}}
objectives: {sag: {final: z, unit: m}, path: {integral: z**2}}
analysis: {type: equilibrium, sensitivity: {method: ddm}}
checks:
  sag: {objective: sag, value: -m*10/k, gradient: {k: m*10/k**2, m: -10/k}}
  sensor: {sensor: z, values: [{time: 0, value: -0.4}]}
"""


@pytest.fixture
def scales(tmp_path):
    path = tmp_path / "scales.yaml"
    path.write_text(SCALES)
    return path


def test_run(mbsim, scales, tmp_path):
    report = mbsim("run", scales, "--json", "--quiet").json
    assert (report["analysis"], report["steps"], report["sensitivity"]) == ("equilibrium", 0, "ddm")
    assert np.isclose(report["objectives"]["sag"]["value"], -0.4)
    assert report["diagnostics"]["stability"] == "stable"
    assert np.allclose(report["diagnostics"]["natural_frequencies"][1], np.sqrt(50 / 2) / (2 * np.pi))
    assert report["warnings"] == ["objective path integrates over no time, and is zero; final: reads it"]
    with h5py.File(tmp_path / "scales.h5") as file:
        assert file["time"][()].tolist() == [0.0]
        assert np.allclose(file["sensitivity/sensors/z"][0, 0], [0.008, -0.2])
        assert not file["coordinates/velocity"][()].any()


def test_check(mbsim, scales):
    outcome = mbsim("check", scales, "--json", "--quiet")
    assert outcome.code == 0
    assert {check["kind"] for check in outcome.json["checks"]} == {"benchmark", "numerical"}


def test_an_unstable_equilibrium_is_called_so(mbsim, scales):
    scales.write_text(SCALES.replace("170 deg", "0"))
    outcome = mbsim("run", scales)
    assert outcome.code == 0
    assert "the equilibrium is unstable" in outcome.err and "scales.h5: unstable equilibrium, " in outcome.out
    scales.write_text(scales.read_text().replace("type: equilibrium", "start: equilibrium, step: 0.1, duration: 0.1"))
    moving = mbsim("run", scales, "--json").json
    assert any(warning.startswith("the motion starts at an unstable equilibrium: ") for warning in moving["warnings"])


def test_what_cannot_rest_has_its_exit_code(mbsim, scales):
    scales.write_text(SCALES.replace("stiffness: k", "stiffness: 0*k"))
    for analysis in ("type: equilibrium", "start: equilibrium, step: 0.1"):
        scales.write_text(scales.read_text().replace("type: equilibrium", analysis))
        outcome = mbsim("run", scales)
        assert outcome.code == 4
        assert "slide.displacement stays unbalanced by 20 N; give it a spring or a stop, hold it" in outcome.err


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("type: equilibrium", "type: equilibrium, hold: [slide.angle]", "joint 'slide' has no coordinate 'angle'"),
        ("type: equilibrium", "type: equilibrium, hold: [side.angle]", "unknown joint 'side'; did you mean 'slide'?"),
        (
            "type: equilibrium",
            "hold: [pin.angle]",
            "only a static equilibrium holds coordinates; add start:",
        ),
        ("type: equilibrium", "type: equilibrium, step: 1", "unknown key 'step'"),
        ("time: 0", "time: 1", "an equilibrium has one time point, at time 0"),
        ("-0.4}]}", "-0.4}]}\n  other: {agreement: [recursive]}", "an equilibrium has one formulation"),
        ("sensors: {", "sensors: {tau: {type: torques}, ", "torques are results of the analysis inverse_dynamics"),
    ],
)
def test_what_does_not_fit(mbsim, scales, old, new, expected):
    assert SCALES.count(old) == 1
    scales.write_text(SCALES.replace(old, new))
    outcome = mbsim("validate", scales)
    assert outcome.code == 3
    assert expected in " ".join(outcome.err.split())
