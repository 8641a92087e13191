"""Largest and smallest values over time: by formulas, and derivatives by every method."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification.verify import complex_steps

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
analysis: {duration: T, step: 0.04}
"""
ANALYSES = ({"formulation": "ali3p-rtdyn1"}, {"formulation": "recursive", "integrator": "rk4"})


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
