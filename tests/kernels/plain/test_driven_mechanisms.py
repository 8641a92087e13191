"""Kinematics of driven mechanisms: closed forms, gradients by three derivations, locking and singular positions."""

import numpy as np
import pytest

import mbsim_cli
from mbsim_cli.errors import AnalysisError
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import complex_steps

LENGTHS = {"L1": 0.3, "L2": 1.0, "L3": 0.8}
MODEL = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L1: 0.3, L2: 1, L3: 0.8, m: 2, k: 30, end: 360 deg}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [L1, 0, 0], rod: [0, 0, 0]}
  C: {rod: [L2, 0, 0], rocker: [L3, 0, 0]}
  D: {ground: [1, 0, 0], rocker: [0, 0, 0]}
bodies:
  crank: {mass: 1, center_of_mass: [L1/2, 0, 0], inertia: {zz: 0.02}}
  rod: {mass: m, center_of_mass: [L2/2, 0, 0], inertia: {zz: 0.1}}
  rocker: {mass: 1.5, center_of_mass: [L3/2, 0, 0], inertia: {zz: 0.1}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {angle: START}}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {angle: ROD, independent: false}}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: ROCKER, independent: false}}
forces:
  spring: {type: spring_damper, points: [ground.A, rocker.C], stiffness: k, natural_length: auto}
sensors:
  turn: {type: coordinate, coordinate: A.angle}
  swing: {type: coordinate, coordinate: D.angle}
  rate: {type: coordinate, coordinate: D.angle, derivative: 1}
  acceleration: {type: coordinate, coordinate: D.angle, derivative: 2}
  drive: {type: reaction, constraint: sweep_DRIVEN_angle}
  pin: {type: reaction, joint: C}
objectives:
  work: {integral: drive.moment.z**2}
  last: {final: swing}
  force: {integral: "pin.force.x**2 + pin.force.y*acceleration"}
analysis:
  type: kinematics
  sweep: {DRIVEN.angle: {from: START, to: end, count: 7}}
  sensitivity: {method: ddm, parameters: all}
"""


def text_of(driven="A", start="20 deg", rod="40 deg", rocker="100 deg"):
    return MODEL.replace("DRIVEN", driven).replace("START", start).replace("ROD", rod).replace("ROCKER", rocker)


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "model.yaml"
        path.write_text(text)
        return path

    return written


def freudenstein(turn):
    """Angle of the rocker, on the branch above."""
    a, b, c, d = LENGTHS["L1"], LENGTHS["L2"], LENGTHS["L3"], 1.0
    x, y = d - a * np.cos(turn), -a * np.sin(turn)
    length = np.hypot(x, y)
    inner = np.arccos((length**2 + c**2 - b**2) / (2 * length * c))
    return np.arctan2(y, x) + np.pi - inner


def test_positions_and_rates_of_a_four_bar(write):
    model = mbsim_cli.load(write(text_of().replace("360 deg", "380 deg")))
    result = model.run(sensitivity="none")
    turn = result["turn"].ravel()
    assert np.allclose(turn, np.radians(20 + 60 * np.arange(7)), rtol=1e-13)
    assert np.allclose(result["swing"].ravel(), freudenstein(turn), rtol=1e-13)
    rate, h = 2 * np.pi, 1e-4
    first = (freudenstein(turn + h) - freudenstein(turn - h)) / (2 * h)
    second = (freudenstein(turn + h) - 2 * freudenstein(turn) + freudenstein(turn - h)) / h**2
    assert np.allclose(result["rate"].ravel(), rate * first, rtol=1e-6)
    assert np.allclose(result["acceleration"].ravel(), rate**2 * second, atol=1e-5)


def test_gradients_by_three_derivations(write):
    file = load(write(text_of()), Settings())
    found = {}
    for method in ("ddm", "adjoint"):
        assembled = build(file, Settings(method=method), None)
        found[method] = evaluate(assembled.problem, assembled.objectives, listener=SILENT)
    stepped = complex_steps(build(file, Settings(method="ddm"), None), SILENT)
    for name, result in found["ddm"].items():
        assert np.allclose(result.gradient, stepped[name].gradient, rtol=1e-11, atol=1e-13)
        assert np.allclose(found["adjoint"][name].gradient, stepped[name].gradient, rtol=1e-11, atol=1e-13)
        assert result.gradient.any()


def test_power_of_the_drive_is_the_rate_of_energy(write):
    text = text_of().replace("count: 7", "count: 9").replace("end: 360 deg", "end: 20.2 deg")
    result = mbsim_cli.load(write(text.replace("type: kinematics", "type: kinematics\n  duration: 1e-3"))).run(
        sensitivity="none"
    )
    power = result["drive.moment"][:, 2] * np.radians(0.2) / 1e-3
    energy = result["diagnostics/kinetic_energy"] + result["diagnostics/potential_energy"]
    rate = np.gradient(energy, result["time"])
    assert np.allclose(rate[1:-1], power[1:-1], rtol=1e-6)


def test_a_mechanism_that_locks_is_named(write):
    model = mbsim_cli.load(write(text_of("D", start="100 deg").replace("360 deg", "300 deg")))
    with pytest.raises(AnalysisError, match=r"locks beyond t = 0\.\d+ s: A.angle turns back .* 'C' lose their rank"):
        model.run(sensitivity="none")


def test_few_samples_stay_on_the_branch(write):
    """Two samples, a turn apart: what lies between is followed by steps of its own."""
    few = mbsim_cli.load(write(text_of().replace("count: 7", "count: 2").replace("360 deg", "380 deg"))).run(
        sensitivity="none"
    )
    assert few["swing"].ravel() == pytest.approx(freudenstein(np.radians([20, 20])), rel=1e-12)


def test_singular_positions_that_are_passed_are_named(write):
    parallel = (
        text_of(start="30 deg", rod="-30 deg", rocker="30 deg").replace("L1: 0.3", "L1: 1").replace("L3: 0.8", "L3: 1")
    )
    result = mbsim_cli.load(write(parallel.replace("360 deg", "390 deg").replace("count: 7", "count: 12"))).run()
    assert np.allclose(result["swing"], result["turn"], rtol=1e-10)
    (warning,) = [each for each in result.report["warnings"] if "singular position" in each]
    assert "where C." in warning
    assert np.isnan(next(iter(result.report["objectives"]["last"]["gradient"].values())))
