"""Largest and smallest values over time: by formulas, and derivatives by every method."""

import json

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import complex_steps

THROW = """
mbsim: 1
parameters: {v: 3, g: 9.81, T: 1}
bodies: {ball: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {J: {type: floating, bodies: [ground, ball], initial: {velocity: [1, 0, v]}}}
sensors: {r: {type: position, point: ball.origin}}
objectives:
  apex: {maximum: r.z}
  low: {minimum: r.z}
  start: {minimum: "r.x + v"}
  both: {expression: "apex**2 - low"}
gravity: [0, 0, -g]
analysis: {duration: T, step: 0.1}
"""
ANALYSES = ({"formulation": "ali3p-rtdyn1"}, {"formulation": "recursive", "integrator": "rk4"})

ADAPTIVE = "formulation: recursive, sensitivity: {method: ddm, parameters: all}, error_control: "


def text(analysis):
    return THROW.replace("duration: T", "".join(f"{k}: {v}, " for k, v in analysis.items()) + "duration: T")


def model(analysis):
    return mbsim.loads(text(analysis))


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("analysis", ANALYSES)
def test_the_apex_of_a_throw(analysis, method):
    """At v / g, between time points: v^2 / (2 g); the lowest point is that of the end."""
    v, g, T = 3.0, 9.81, 1.0
    found = model(analysis).run(sensitivity=method).objectives
    apex, low = v * v / (2 * g), v * T - g * T * T / 2
    expected = {
        "apex": (apex, [v / g, -apex / g, 0.0]),
        "low": (low, [T, -T * T / 2, v - g * T]),
        "start": (v, [1.0, 0.0, 0.0]),
    }
    for name, (value, gradient) in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(found[name].gradient, gradient, rtol=1e-11, atol=1e-12)
    joined = 2 * apex * np.array(expected["apex"][1]) - expected["low"][1]
    np.testing.assert_allclose(found["both"].gradient, joined, rtol=1e-11, atol=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("control", ["motion", "sensitivities"])
def test_parabolas_across_a_corner_are_warned_of_in_runs_with_adaptive_steps(control):
    """The apex of 1 - |x - 0.53| does not depend on the speed; three samples give a derivative of 0.12."""
    slid = THROW.replace("maximum: r.z", 'maximum: "1 - abs(r.x - 0.53)"').replace("velocity: [1", "velocity: [v/3")
    told = mbsim.loads(slid.replace("duration: T, step: 0.1", "step: 0.1, duration: 0.7, " + ADAPTIVE + control)).run()
    assert told.objectives["apex"].by("v") > 0.1
    assert any(warning.startswith("d apex / d v has an estimated") for warning in told.warnings)


@pytest.mark.interpreted
def test_complex_steps_of_the_apex():
    assembled = build(spec.load("throw.yaml", texts={"throw.yaml": text(ANALYSES[1])}), Settings(), None)
    found = complex_steps(assembled, SILENT)
    np.testing.assert_allclose(found["apex"].gradient, [3 / 9.81, -4.5 / 9.81**2, 0.0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["low"].gradient, [1.0, -0.5, 3 - 9.81], rtol=1e-12)


@pytest.mark.interpreted
def test_second_derivatives_of_the_apex():
    """Through the time of the apex, which the gradient leaves out."""
    v, g = 3.0, 9.81
    by_v = model(ANALYSES[0]).hessian_vector(None, [1.0, 0.0, 0.0], "apex")
    np.testing.assert_allclose(by_v, [1 / g, -v / g**2, 0.0], rtol=1e-11, atol=1e-12)


SWITCHED = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {m: 2, k: 8, F: 3, T: 0.3137, x0: -0.1}
bodies: {cart: {mass: m}}
joints: {rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x, initial: {displacement: x0}}}
laws: {on: {type: spline, between: constant, times: [0, T, 2], values: [0, F, 0]}}
forces:
  spring: {type: spring_damper, coordinate: rail.displacement, stiffness: k, natural_length: 0}
  push: {type: drive, coordinate: rail.displacement, law: on}
sensors: {a: {type: coordinate, coordinate: rail.displacement, derivative: 2}}
objectives:
  largest: {maximum: a}
  before: {at: {time: 0.312, value: a}}
  behind: {at: {time: 0.3145, value: a}}
analysis: {formulation: recursive, integrator: dop853, step: 1e-2, duration: 0.6}
"""


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_beside_a_force_that_is_switched_on(method):
    """x = x0 cos(w t) until T, then a = F/m cos(w (t - T)) - w^2 x0 cos(w t), which is largest at T."""
    m, k, F, T, x0 = 2.0, 8.0, 3.0, 0.3137, -0.1

    def expected(m, k, F, T, x0):
        w = np.sqrt(k / m)
        behind = F / m * np.cos(w * (0.3145 - T)) - w * w * x0 * np.cos(w * 0.3145)
        largest = F / m - w * w * x0 * np.cos(w * T)
        return {"largest": largest, "before": -w * w * x0 * np.cos(w * 0.312), "behind": behind}

    found = mbsim.loads(SWITCHED.replace("duration: 0.6", "duration: 0.34")).run(sensitivity=method).objectives
    numbers = np.array([m, k, F, T, x0])
    for name, value in expected(*numbers).items():
        gradient = [expected(*(numbers + row))[name].imag / 1e-30 for row in 1e-30j * np.eye(5)]
        assert found[name].value == pytest.approx(value, rel=1e-5)
        np.testing.assert_allclose(found[name].gradient, gradient, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("duration", "is_told"), [(0.3154, True), (0.3144, True), (0.3124, False), (0.32, False)])
def test_ends_between_output_times_just_behind_a_jump_are_warned_of(duration, is_told):
    """Nothing of the jump is seen where the last output time is 0.31 s, or 0.32 s alone lies behind it."""
    found = mbsim.loads(SWITCHED.replace("duration: 0.6", f"duration: {duration}").replace("time: 0.31", "time: 0.1"))
    ends = f"and the analysis ends at {duration:g} s, between output times"
    sentence = f"accelerations jump at 0.3137 s, in the last step, {ends}: objectives are continued across the jump"
    assert any(sentence in warning for warning in found.run(sensitivity="none").warnings) == is_told


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_samples_that_are_held_for_two_steps(integrator):
    """One time point lies between two jumps: a parabola across them would exceed the largest sample."""
    samples = [0.3, -1.0, 2.0, 1.9, -0.5, 0.4]
    held = f"times: [0, 0.02, 0.04, 0.06, 0.08, 0.1], values: [{', '.join(f'{sample}*F' for sample in samples)}]"
    text = SWITCHED.replace("times: [0, T, 2], values: [0, F, 0]", held).replace("k: 8", "k: 0")
    text = text.replace("integrator: dop853", f"integrator: {integrator}").replace("duration: 0.6", "duration: 0.1")
    found = mbsim.loads(text.replace("time: 0.31", "time: 0.05")).run(sensitivity="ddm").objectives["largest"]
    assert found.value == pytest.approx(2.0 * 3.0 / 2.0, rel=1e-12)
    assert found.by("F") == pytest.approx(2.0 / 2.0, rel=1e-12)


@pytest.mark.parametrize(
    ("begin", "end", "is_told"), [(0.3137, 0.317, True), (0.3137, 0.321, False), (0.31, 0.32, False)]
)
def test_pulses_between_output_times_are_warned_of(begin, end, is_told):
    """No time point lies within a pulse that begins at 0.3137 s and ends before 0.32 s; one at a jump is behind it."""
    text = SWITCHED.replace("times: [0, T, 2], values: [0, F, 0]", f"times: [0, T, {end}, 2], values: [0, F, 0, 0]")
    found = mbsim.loads(text.replace("T: 0.3137", f"T: {begin}")).run(sensitivity="none").warnings
    sentence = "accelerations jump at 0.3137 s and laws change again before the next output time"
    assert any(sentence in warning for warning in found) == is_told


CORNERED = """
mbsim: 1
parameters: {T: 0.0537, h: 2}
bodies: {a: {mass: 1}}
joints: {x: {type: prismatic, bodies: [ground, a], point: origin, axis: x}}
laws: {u: {type: spline, between: linear, times: [0, T, 0.1], values: [0, h, 0], extrapolate: hold}}
forces: {F: {type: drive, coordinate: x.displacement, law: u}}
sensors: {acc: {type: coordinate, coordinate: x.displacement, derivative: 2}}
objectives:
  force: {maximum: u(t)}
  acceleration: {minimum: -acc}
  smooth: {maximum: "-(t - 0.0545)**2 + h*(t - 0.0545)**3"}
  impulse: {integral: acc}
analysis: {formulation: recursive, step: 1e-2, duration: 0.1}
"""


@pytest.mark.interpreted
@pytest.mark.parametrize("T", [0.0537, 0.06])  # between output times, and on one
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("analysis", [{"integrator": "rk4"}, {"integrator": "dop853"}, {"formulation": "ali3p-rtdyn1"}])
def test_signals_that_are_largest_at_a_corner_of_a_force(T, method, analysis):
    """A parabola across the corner was 6 per cent low, and the impulse seemed to depend on T."""
    stated = {"formulation": "recursive", "sensitivity": {"method": method, "parameters": "all"}, **analysis}
    cornered = CORNERED.replace("formulation: recursive", json.dumps(stated)[1:-1])
    assembled = build(spec.load("m.yaml", {"T": str(T)}, texts={"m.yaml": cornered}), Settings(), None)
    found = evaluate(assembled.problem, assembled.objectives)
    expected = {"force": (2.0, [0.0, 1.0]), "acceleration": (-2.0, [0.0, -1.0]), "impulse": (0.1, [0.0, 0.05])}
    if "formulation" in analysis:  # sums are split where steps end at corners
        del expected["impulse"]
    for name, (value, gradient) in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-11), name
        np.testing.assert_allclose(found[name].gradient, gradient, rtol=1e-10, atol=1e-10, err_msg=name)
    assert found["smooth"].value == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(found["smooth"].gradient, 0.0, atol=1e-6)
