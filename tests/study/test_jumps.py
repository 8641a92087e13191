"""Jumps of expressions that forces are made of: found in a motion that is given, without a run."""

from types import SimpleNamespace

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly.problem import build
from mbsim_cli.errors import AnalysisError
from mbsim_cli.study.diagnostics.jumps import JumpHealth

MODEL = """
mbsim: 1
parameters: {F: 2}
laws: {soft: {type: polynomial, coefficients: [0, 3]}}
bodies: {block: {mass: 1}}
joints: {s: {type: prismatic, bodies: [ground, block], point: origin, axis: x}}
sensors: {x: {type: coordinate, coordinate: s.displacement}, r: {type: position, point: block.origin}}
forces: {push: {type: drive, coordinate: s.displacement, value: "VALUE"}}
analysis: {step: 0.01, duration: 1}
"""


def warnings_of(tmp_path, value, x, v, blocks=1):
    """What is said of a motion x(t) with the rate v(t), which comes in so many blocks."""
    path = tmp_path / "model.yaml"
    path.write_text(MODEL.replace("VALUE", value))
    problem = build(spec.load(path)).problem
    health = JumpHealth(problem)
    for time in np.array_split(np.linspace(0.0, 1.0, 101), blocks):
        sensors = np.zeros((time.size, int(problem.model.sensors.first[-1])))
        for branching in problem.branchings:
            own = branching.rows[:2]
            sensors[:, own[0]], sensors[:, own[1]] = x(time), v(time)
            for row in branching.rows[2:]:
                sensors[:, row] = x(time)
        health.add(SimpleNamespace(time=time, sensors=sensors))
    return health.warnings


@pytest.mark.interpreted
@pytest.mark.parametrize("value", ["sqrt(x)", "s.displacement**0.5"])
def test_a_root_at_zero_has_no_derivative(tmp_path, value):
    path = tmp_path / "model.yaml"
    path.write_text(MODEL.replace("VALUE", value))
    told = r"'push' has no finite derivative .* forces.push.value .*model.yaml:8:"
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(AnalysisError, match=told):
        mbsim.run(path, sensitivity="none")


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive, integrator: rk4"])
def test_a_power_of_time_that_begins_on_a_step_has_no_derivative(formulation):
    """Formulations of open trees said that a number overflowed."""
    text = MODEL.replace("VALUE", "if(t < F, 0, (t - F)**0.9)").replace("F: 2", "F: 0.3")
    text = text.replace("{step", f"{{formulation: {formulation}, sensitivity: {{method: ddm}}, step")
    told = r"'push' has no finite derivative in the step to t = 0.3 s: forces.push.value .*model.yaml:8:"
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(AnalysisError, match=told):
        mbsim.loads(text.replace("\nanalysis", "\nobjectives: {e: {final: x}}\nanalysis")).run()


def swing(t):
    return np.cos(7.0 * t)


def rate(t):
    return -7.0 * np.sin(7.0 * t)


@pytest.mark.parametrize("blocks", [1, 7])
@pytest.mark.parametrize(
    ("value", "what", "size"),
    [
        ("if(x < 0.2, F, 1)", "2 times, first before t = 0.2 s", 1.0),
        ("if(r.x >= 0.2, 3*x, 3)", "2 times", 2.4),
        ("if(t > 0 and x < 0.2, F, 1)", "2 times", 1.0),
        ("if(-2 < x < 0.2 or x < -0.5, F, 1)", "2 times", 1.0),
        ("if(not x < 0.2, 3*x, 3)", "2 times", 2.4),
        ("atan2(x, -1)", "2 times, first before t = 0.23 s, by -6.283", -2 * np.pi),
        ("-sign(s.displacement.velocity)", "2 times, first before t = 0.45 s", -2.0),
        ("if(t < 0.605, 1, 1 + soft(x))", "before t = 0.61 s", 3 * np.cos(7 * 0.605)),
    ],
)
def test_jumps_are_told_with_place_and_time(tmp_path, value, what, size, blocks):
    (sentence,) = warnings_of(tmp_path, value, swing, rate, blocks)
    assert "model.yaml:8:" in sentence and "forces.push.value" in sentence
    if "0.2 s" not in what:
        assert what in sentence
    assert float(sentence.split(", by ")[1].split(":")[0]) == pytest.approx(size, rel=0.06)


@pytest.mark.parametrize(
    "value", ["if(x < 0, 0.5*x, x)", "abs(x)", "max(x, 0.1)", "if(x < 0, x**2, 0)", "impact(x, 0, 0.2, 9, 1.5, 1, 0.1)"]
)
def test_bends_are_none(tmp_path, value):
    assert warnings_of(tmp_path, value, swing, rate) == []
