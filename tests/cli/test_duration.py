"""A duration made of parameters: gradients by it, values between two instants; settings that have no gradient."""

import numpy as np
import pytest

from mbsim_cli.errors import ModelError
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.plan import values_at
from mbsim_cli.study.quadrature import continuation

MODEL = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {T: %s, m: 1.3, s: 0.3}
points: {P: {ground: [0, 0, 0], top: [0, 0, 0]}, tip: {top: [1, 0.2, 0]}}
bodies: {top: {mass: m, center_of_mass: [0.3, 0.1, 0.2], inertia: {xx: 0.2, yy: 0.5, zz: 0.6, xy: 0.02}}}
joints: {J: {type: revolute, bodies: [ground, top], point: P, axis: x, initial: {angle: 1}}}
laws: {w: {type: harmonic, amplitude: m, frequency: 0.7}}
forces: {f: {type: drive, coordinate: J.angle, value: m, law: w}}
sensors: {p: {type: position, point: top.tip}, a: {%s, coordinate: J.angle}}
objectives:
  last: {final: "a*p.z + t*T"}
  sum: {integral: "p.z*a + T"}
  top: {maximum: a, sharpness: s}
  all: {expression: last*sum + T*top}
analysis: {%s, sensitivity: {method: ddm, parameters: all}}
"""
ACCELERATION = "type: coordinate, derivative: 2"
ANALYSES = [
    (ACCELERATION, "step: 0.01, duration: T/2"),
    (ACCELERATION, "formulation: recursive, integrator: rk4, step: 0.01, duration: T/2"),
    ("type: torque", "type: inverse_dynamics, sampling: 0.01, duration: T/2, motion: {all: w}"),
]


def written(folder, *given):
    path = folder / "model.yaml"
    path.write_text(MODEL % given)
    return path


def gradients(path):
    """Objectives (k,) and their gradients (k, p): by the direct method, and by differences of fourth order."""
    model_file = load(path, Settings())
    assembled = build(model_file, Settings(), None)
    results = evaluate(assembled.problem, assembled.objectives).values()

    def moved(name, change):
        return values_at(model_file, Settings(), {name: change})

    h, numerical = 2e-4, []
    for name in assembled.problem.names.parameters:
        near, far = (moved(name, k * h) - moved(name, -k * h) for k in (1, 2))
        numerical.append((8.0 * near - far) / (12.0 * h))
    values = np.array([result.value for result in results])
    return values, np.array([result.gradient for result in results]), np.array(numerical).T


@pytest.mark.parametrize("duration", ["1", "1.006"])
@pytest.mark.parametrize("kind", ANALYSES, ids=["ali3p", "rk4", "inverse"])
def test_gradients_by_a_duration_are_those_of_whole_runs(tmp_path, kind, duration):
    _, direct, numerical = gradients(written(tmp_path, duration, *kind))
    scale = np.abs(numerical).max(axis=1, keepdims=True)
    assert np.abs(numerical[:, 0] / scale[:, 0]).min() > 0.01
    np.testing.assert_allclose(direct / scale, numerical / scale, atol=1e-9)


def test_between_two_instants_objectives_are_those_of_finer_steps(tmp_path):
    """At T/2 = 0.503 s a step of 0.01 s ends 0.003 s before, one of 0.001 s ends there."""
    step = "formulation: recursive, integrator: rk4, step: {}, duration: T/2"
    values = [gradients(written(tmp_path, "1.006", ACCELERATION, step.format(h)))[0] for h in (0.01, 0.001)]
    np.testing.assert_allclose(values[0][[0, 3]], values[1][[0, 3]], rtol=1e-3)
    np.testing.assert_allclose(values[0][[1, 2]], values[1][[1, 2]], rtol=3e-4)  # quadrature by trapezia


def test_a_polynomial_is_continued_exactly():
    """Also by a complex step, whose imaginary part is the derivative."""
    time = 0.3 + 0.1 * np.arange(5)
    f = np.poly1d([2, -1, 3, 1, 5])
    slope, area = f.deriv(), f.integ()
    for end in (0.7, 0.74, 0.66):
        rest = continuation(time, end)
        np.testing.assert_allclose(rest.value @ f(time), f(end), rtol=1e-13)
        np.testing.assert_allclose(rest.rate @ f(time), slope(end), rtol=1e-11)
        np.testing.assert_allclose(rest.integral @ f(time), area(end) - area(0.7), rtol=1e-12, atol=1e-16)
        stepped = continuation(time, end + 1e-30j)
        np.testing.assert_allclose((stepped.value @ f(time)).imag / 1e-30, slope(end), rtol=1e-11)
        np.testing.assert_allclose((stepped.integral @ f(time)).imag / 1e-30, f(end), rtol=1e-12)


def test_a_whole_number_of_steps_adds_nothing():
    time = np.arange(5) * 0.1
    rest = continuation(time, 0.4 * (1 + 1e-15))
    assert rest.value.tolist() == [0, 0, 0, 0, 1]
    assert rest.integral.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("step: T/100, duration: 1", "step"),
        ("step: 0.01, duration: 1, output_interval: T/10", "output_interval"),
        ("step: 0.01, duration: 1, tolerance: T*1e-10", "tolerance"),
        ("step: 0.01, duration: 1, gradient_tolerance: T*1e-10", "gradient_tolerance"),
        ("step: 0.01, duration: 1, penalty: T*1e9", "penalty"),
        ("step: 0.01, duration: 1, weighting: T", "weighting"),
        ("formulation: recursive, duration: 1, absolute_tolerance: T*1e-9", "absolute_tolerance"),
        ("type: inverse_dynamics, sampling: T/100, duration: 1, motion: {all: w}", "sampling"),
    ],
)
def test_gradients_by_settings_of_the_solver_are_refused(tmp_path, setting, name):
    path = written(tmp_path, "1", ACCELERATION, setting)
    model_file = load(path, Settings())
    with pytest.raises(ModelError) as caught:
        build(model_file, Settings(), None)
    assert [issue.path for issue in caught.value.issues] == [f"analysis.{name}"]
    assert f"{name} depends on the parameter 'T', and no gradient by {name} is computed" in str(caught.value)
    assert "mbsim.load sets too" in str(caught.value.issues[0].hint)
    assert build(model_file, Settings(), ["m", "s"]).problem.names.parameters == ("m", "s")


def test_the_command_line_replaces_a_setting_that_has_no_gradient(tmp_path):
    path = written(tmp_path, "1", ACCELERATION, "step: T/100, duration: T")
    settings = Settings(step=0.01, duration=0.5)
    assembled = build(load(path, settings), settings, None)
    assert [float(objective.end) for objective in assembled.objectives[:3]] == [0.5] * 3
    assert not np.any(assembled.objectives[0].end_rho)
