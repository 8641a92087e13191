"""Tapes of expressions, compiled alone: values and slopes as in plain Python, variations and adjoints by slopes."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.elements.tape import pull_numbers_of_tape, run_tape, vary_numbers_of_tape
from mbsim_cli.model.codes import Operation

MODEL = """
mbsim: 1
parameters: {k: 3, c: 0.2, p: 1.3}
laws: {soft: {type: spline, x: [-4, -1, 0, 1, 4], values: [-2, -0.4, 0, 0.5, 2.5]}}
bodies: {a: {mass: 1}}
joints: {x: {type: prismatic, bodies: [ground, a], point: origin, axis: x}}
forces:
  all: {type: drive, coordinate: x.displacement, value: VALUE}
  soft: {type: drive, coordinate: x.displacement, value: "k*soft(c*x.displacement)*t"}
"""
X, V = "x.displacement", "x.displacement.velocity"
OF_ONE = "sqrt(2 + {0}) exp({0}) log(2 + {0}) sin({0}) cos({0}) tan({0}) asin(c*{0}) acos(c*{0}) atan({0}) sinh({0})"
OF_ONE += " cosh({0}) tanh({0}) abs({0}) sign({0})"
OF_TWO = "min({0},{1}) max({0},{1}) atan2({0},{1}) hypot({0},{1}) if({0}<{1},k,{1}) if({0}<={1},k,{1}) (2+{0})**p"
VALUE = " + ".join([*OF_ONE.format(X).split(), *OF_TWO.format(X, V).split(), f"-({X}-k)/({V}+p)"])


@entry
def run_tapes(signals, laws, theta, value, slope):
    """All tapes, one after the other."""
    for u in range(signals.theta.size):
        run_tape(signals, laws, theta, u, value, slope)


@entry
def vary_tapes(signals, laws, theta, dtheta, value, slope, out):
    """Their variations with their numbers, dtheta (size of theta, 1)."""
    for u in range(signals.theta.size):
        out[u] = vary_numbers_of_tape(signals, laws, theta, dtheta, 0, u, value, slope)


@entry
def pull_tapes(signals, laws, theta, value, slope, hat, hat_out):
    """What adjoints of all are of their numbers, hat_out (size of theta, 1)."""
    for u in range(signals.theta.size):
        pull_numbers_of_tape(signals, laws, theta, 0, u, value, slope, hat[u], hat_out)


@pytest.fixture(scope="module")
def tapes():
    """Signals, laws, numbers, and the places of the tapes, filled as far as their first steps."""
    problem = assembly.build(spec.load("m.yaml", texts={"m.yaml": MODEL.replace("VALUE", f'"{VALUE}"')})).problem
    signals, theta = problem.model.signals, problem.theta.real
    value = np.random.default_rng(4).uniform(-0.9, 0.9, int((signals.steps + np.diff(signals.first_step)).sum()))
    for o, a, b, first in zip(signals.offset, signals.numbers, signals.steps, signals.theta, strict=True):
        value[o + a : o + b] = theta[first : first + b - a]
    return signals, problem.model.laws, theta, value


def test_all_operations_are_there(tapes):
    assert set(tapes[0].code.tolist()) == set(Operation)


@pytest.mark.parametrize("kind", [float, complex])
def test_values_and_slopes(tapes, kind):
    signals, laws, theta, start = tapes
    theta, start = theta.astype(kind), start + (1e-20j * np.cos(np.arange(start.size)) if kind is complex else 0.0)
    found = []
    for run in (run_tapes, run_tapes.py_func):
        value, slope = start.copy(), np.zeros_like(start)
        run(signals, laws, theta, value, slope)
        found.append((value, slope))
    for ours, plain in zip(*found, strict=True):
        np.testing.assert_allclose(ours.real, plain.real, rtol=1e-13)
        np.testing.assert_allclose(ours.imag, plain.imag, rtol=1e-12, atol=1e-33)


def test_variations_and_adjoints(tapes):
    """By the complex step along all numbers, and the scalar products of both."""
    signals, laws, theta, start = tapes
    rng = np.random.default_rng(5)
    dtheta, hat = rng.normal(size=(theta.size, 1)), rng.normal(size=signals.theta.size)
    value, slope = start.copy(), np.zeros_like(start)
    run_tapes(signals, laws, theta, value, slope)
    varied, pulled = np.zeros(hat.size), np.zeros_like(dtheta)
    vary_tapes(signals, laws, theta, dtheta, value, slope, varied)
    pull_tapes(signals, laws, theta, value, slope, hat, pulled)
    moved, stepped = theta + 1e-30j * dtheta[:, 0], start.astype(complex)
    for o, a, b, first in zip(signals.offset, signals.numbers, signals.steps, signals.theta, strict=True):
        stepped[o + a : o + b] = moved[first : first + b - a]
    run_tapes(signals, laws, moved, stepped, np.zeros_like(stepped))
    exact = stepped[signals.offset + signals.result].imag / 1e-30
    np.testing.assert_allclose(varied, exact, rtol=1e-12)
    assert hat @ varied == pytest.approx(np.vdot(pulled, dtheta), rel=1e-12)
