"""Errors of sums over time whose integrands have corners: two runs may agree by chance, three hardly do."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.assembly.objectives import Jump
from mbsim_cli.spec.expressions.program import compiled_formula
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.quadrature import Course, Integrals

PENDULUM = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {k: 33.15, q: 0.965, c: 0.0949, m: 1}
bodies: {bar: {mass: m, center_of_mass: [0.5, 0, 0], inertia: {zz: 0.1}}}
joints: {J: {type: revolute, bodies: [ground, bar], point: origin, axis: z, initial: {angle: q}}}
forces: {S: {type: rotational_spring_damper, coordinate: J.angle, stiffness: k, damping: c, natural_angle: 0}}
sensors:
  w: {type: coordinate, coordinate: J.angle, derivative: 1}
  v: {type: velocity, point: bar.center_of_mass}
  speed: {type: expression, value: norm(v)}
objectives: {way: {integral: "WAY"}}
analysis: {step: 0.01, duration: 2.86, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize(
    "way", ["abs(w)", "norm(v)", "speed", "if(w < 0, -w, w)", "sqrt(w**2 + 1e-9)", "(w*w + 1e-9)**0.5"]
)
def test_estimates_are_not_far_too_small(way):
    """With two runs alone the error of the derivative by k, two thirds of it, counted as 0.3 %."""
    model = mbsim.loads(PENDULUM.replace("WAY", way))
    result = model.run()
    estimated = result.report["objectives"]["way"]["discretisation"]["gradient"]
    true = np.abs(result.objectives["way"].gradient - model.run(step=5e-4).objectives["way"].gradient)
    assert (true < 6 * np.array([estimated[name] for name in model.differentiated])).all()


def test_an_automatic_step_keeps_to_the_accuracy():
    """Two runs and the two before agreed well enough with the derivative by k off by 9 % of a tenth of way/k."""
    text = (
        PENDULUM.replace("WAY", "abs(w)")
        .replace("duration: 2.86", "duration: 4.91")
        .replace("step: 0.01", "step: auto")
    )
    text = text.replace("{k: 33.15, q: 0.965, c: 0.0949, m: 1}", "{k: 46.27, q: 0.4963, c: 0.09807, m: 1}")
    model = mbsim.loads(text)
    result, fine = (model.run(**step).objectives["way"] for step in ({"accuracy": 1e-2}, {"step": 5e-4}))
    sizes = np.maximum(np.abs(fine.gradient), 0.1 * fine.value / np.abs(list(model.parameters.values())))
    assert (np.abs(result.gradient - fine.gradient) < 3e-2 * sizes).all()


WORK = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {A: 0.327715, f: 0.6700125, m: 0.5935244, L: 0.5, J: 0.1}
bodies: {bar: {mass: m, center_of_mass: [L, 0, 0], inertia: {zz: J}}}
joints: {P: {type: revolute, bodies: [ground, bar], point: origin, axis: z}}
laws: {swing: {type: harmonic, amplitude: A, frequency: f, offset: -1.4}}
sensors: {tau: {type: torque, coordinate: P.angle}, w: {type: coordinate, coordinate: P.angle, derivative: 1}}
objectives: {work: {integral: abs(tau*w)}}
analysis:
  type: inverse_dynamics
  sampling: 0.01
  duration: 3.84
  motion: {laws: {P.angle: swing}}
  sensitivity: {method: ddm, parameters: all}
"""


def test_work_along_a_given_motion():
    """Every other time point gives the derivative by J almost as all of them do: 39 % off, and estimated as 0.03 %."""
    swept = mbsim.loads(WORK.replace("ddm", "adjoint")).run()
    result = mbsim.loads(WORK).run()
    fine = mbsim.loads(WORK.replace("sampling: 0.01", "sampling: 5e-4")).run()
    estimated = result.report["objectives"]["work"]["discretisation"]["gradient"]
    true = np.abs(result.objectives["work"].gradient - fine.objectives["work"].gradient)
    assert (true < 3 * np.array(list(estimated.values()))).all()
    true = abs(result.objectives["work"].value - fine.objectives["work"].value)
    for each in (result, swept):
        assert true < 3 * each.report["objectives"]["work"]["discretisation"]["value"]


def test_an_automatic_step_along_a_given_motion():
    """With the same step as the integrand without ``abs``, where it changes no sign."""
    model = mbsim.loads(WORK)
    result, fine = (
        model.run(**step).objectives["work"] for step in ({"step": "auto", "accuracy": 1e-2}, {"step": 5e-4})
    )
    sizes = np.maximum(np.abs(fine.gradient), 0.1 * fine.value / np.abs(list(model.parameters.values())))
    assert (np.abs(result.gradient - fine.gradient) < 3e-2 * sizes).all()
    smooth, plain = (mbsim.loads(WORK.replace("abs(tau*w)", each)) for each in ("abs(tau*w + 20)", "tau*w + 20"))
    assert smooth.run(step="auto").report["step"] == plain.run(step="auto").report["step"]


RUNS = [
    ("integral: abs(w)", 1),
    ("integral: abs(w + 20)", 1),
    ("integral: w**2", 1),
    ("rms: w", 1),
    ("rms: 'max(w, 0)'", 1),
    ("minimum: w, sharpness: 10", 1),
    ("minimum: abs(w), sharpness: 10", 1),
    ("maximum: abs(w)", 1),
    ("integral: 'norm(v + [0, 0, 1])'", 1),
    ("integral: speed", 2),
]


@pytest.mark.parametrize(("objective", "runs"), RUNS)
def test_a_third_run_where_the_integrand_has_corners_in_the_run(objective, runs, monkeypatch):
    """One more run without corners, two more with them; switches are none, nor a sensor that no sum reads."""
    made, evaluate = [], discretisation.evaluate
    monkeypatch.setattr(discretisation, "evaluate", lambda *given, **more: made.append(1) or evaluate(*given, **more))
    mbsim.loads(PENDULUM.replace('integral: "WAY"', objective).replace("2.86", "0.8")).run()
    assert len(made) == runs


CORNERS = [
    ("abs(x)", [-2.0, -0.5, 0.5, 0.7], [0, 0, 0]),  # a switch
    ("sqrt(x**2)", [-1.25, -0.25, 0.75, 1.75], [1, 1, 0]),
    ("sqrt(x**2 + 9)", [-1.25, -0.25, 0.75, 1.75], [0, 0, 0]),
    ("(x*x)**1.5", [-1.25, -0.25, 0.75, 1.75], [1, 1, 0]),
    ("x**2", [-1.25, -0.25, 0.75, 1.75], [0, 0, 0]),
    ("hypot(x, 3)", [-1.25, -0.25, 0.75, 1.75], [0, 0, 0]),
    ("x**(x/4 + 1.5)", [1.0, 0.01, 1.0, 2.0], [1, 1, 0]),
]


@pytest.mark.parametrize(("formula", "values", "expected"), CORNERS)
def test_intervals_with_corners(formula, values, expected):
    program = compiled_formula(formula, (("x", 1),))
    assert program.corners([np.array(values)], 4).tolist() == [each == 1 for each in expected]


@pytest.mark.parametrize("size", [1, 5, 40])
def test_corners_beside_jumps_and_in_blocks_of_any_size(size):
    """Third differences across a jump do not count; those across the corner do, in any block."""
    time, jump = np.arange(40.0), Jump(30.5, (), (25.0, 30.0), (31.0, 36.0))
    signal = np.where(time > 30.5, 100.0, np.abs(time - 10.25))
    corners = np.concatenate([[False], (time[:-1] < 10.25) & (time[1:] > 10.25)])  # in the interval before each
    course, integrals = Course(), Integrals(0)
    course.jumps = (jump,)
    for first in range(0, len(time), size):
        block = slice(first, first + size)
        points = course.points(time[block].copy(), None)
        rows = signal[None, max(0, first - 1) : first + size]
        integrals.add(points, rows, corners[block][-len(points.lengths) :] if len(points.lengths) else corners[:0])
    bent = np.diff(signal[8:14], 3)
    assert integrals.at_corners[0] == pytest.approx(0.25 * np.sqrt((bent**2).sum()))
