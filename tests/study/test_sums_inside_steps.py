"""Integrals, means and extremes by adaptive integrators are sums inside their steps, as exact as the motion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.kernels.compiler.simd import TOGETHER
from mbsim_cli.kernels.drivers import stepping
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.lanes import run_beside
from mbsim_cli.solve.resolution import resolution_of
from mbsim_cli.study.evaluation import accumulated, evaluate
from mbsim_cli.study.objectives import stepped
from tests.kernels.differentiate import EPS

FIVEBAR = Path(__file__).parents[2] / "models" / "fivebar.yaml"
SPRING = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {m: 1, f: 10.3}
bodies: {a: {mass: m}}
joints: {J: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 0.1}}}
forces: {S: {type: spring_damper, coordinate: J.displacement, stiffness: (2*pi*f)**2*m, natural_length: 0}}
sensors: {x: {type: coordinate, coordinate: J.displacement}}
objectives: {e: {integral: x**2}}
analysis: {formulation: recursive, step: 0.1, duration: 2, sensitivity: {method: ddm, parameters: [f]}}
"""
RAMPS = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {m: 1, k: 90, T: 0.2, T2: 0.2, F: 3, s: 30}
bodies: {a: {mass: m}}
joints: {J: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 0.1}}}
laws:
  rest: {type: constant, value: 0}
  one: {type: piecewise, breaks: [T], laws: [rest, {type: polynomial, coefficients: [-20*F*T, 20*F]}]}
  other: {type: piecewise, breaks: [T2], laws: [rest, {type: polynomial, coefficients: [-F*T2, F]}]}
forces:
  S: {type: spring_damper, coordinate: J.displacement, stiffness: k, natural_length: 0}
  P: {type: force, point: a.center_of_mass, value: [1, 0, 0], law: one}
  R: {type: force, point: a.center_of_mass, value: [1, 0, 0], law: other}
sensors: {x: {type: coordinate, coordinate: J.displacement}}
objectives: {e: {integral: k*x**2}, mu: {mean: x}, pk: {maximum: -x, sharpness: s}, r: {rms: x}, end: {final: x}}
analysis: {formulation: recursive, step: 0.1, duration: 0.4, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.fixture
def build(tmp_path):
    def built(text, method, **options):
        path = text
        if not isinstance(text, Path):
            path = tmp_path / "model.yaml"
            path.write_text(text)
        return assembly.build(spec.load(path, {}), sensitivity=method, **options)

    return built


def exact(f, end):
    """The integral of (0.1 cos(2 pi f t))^2, and its derivative by f."""
    w = 2.0 * np.pi * f
    sine, cosine = np.sin(2.0 * w * end), np.cos(2.0 * w * end)
    return 0.01 * (end / 2.0 + sine / (4.0 * w)), 0.02 * np.pi * (end * cosine / (2.0 * w) - sine / (4.0 * w**2))


@pytest.mark.parametrize("step", [0.1, 2.0])
def test_integrals_are_as_exact_as_the_motion_whatever_the_output_times(build, step):
    value, slope = exact(10.3, 2.0)
    for tolerance, share in ((1e-6, 1e-3), (1e-9, 1e-6)):
        assembled = build(SPRING, "ddm", step=step, tolerance=tolerance, absolute_tolerance=tolerance)
        found = evaluate(assembled.problem, assembled.objectives, resolution=resolution_of(assembled.problem, ()))["e"]
        assert found.value == pytest.approx(value, rel=share)
        assert found.gradient[0] == pytest.approx(slope, rel=10.0 * share)
        assert found.uncertainty.errors[0] <= share * value  # of the quadrature alone
    beside = build(SPRING, "adjoint", step=step, tolerance=1e-9, absolute_tolerance=1e-9, memory=3e5)
    swept = evaluate(beside.problem, beside.objectives)["e"]
    assert swept.value == pytest.approx(found.value, rel=1e-15)  # blocks of other lengths add in another order
    assert swept.gradient == pytest.approx(found.gradient, rel=1e-9)


def test_the_motion_does_not_depend_on_sums(build):
    problem = build(SPRING, "ddm").problem
    assert problem.summed
    runs = [list(forward(replace(problem, summed=summed))) for summed in (True, False)]
    assert any(len(block.inside[0].time) for block in runs[0]) and not any(block.inside for block in runs[1])
    for name in ("time", "position", "velocity", "acceleration", "sensors", "d_position", "d_sensors"):
        one, other = (np.concatenate([getattr(block, name) for block in run]) for run in runs)
        assert np.array_equal(one, other), name


@pytest.mark.slow
@pytest.mark.skipif(TOGETHER == 1, reason="needs a compiler of lanes")
def test_runs_beside_each_other_sum_what_each_sums_alone(build):
    problems = [build(SPRING.replace("10.3", f"{f}"), "none").problem for f in (10.3, 4.0, 7.0)]
    beside, _ = run_beside(problems, lambda: None)
    for problem, ahead in zip(problems, beside, strict=True):
        made, alone = (list(forward(each)) for each in (replace(problem, ahead=ahead), problem))
        for name in ("length", "sensors"):
            rows = [np.concatenate([getattr(block.inside[0], name) for block in run]) for run in (made, alone)]
            assert rows[0].size and np.array_equal(*rows), name


def assert_gradients_agree(build, text, relative=1e-9, **options):
    """Direct method, adjoint and complex step of whole runs, of all objectives."""
    direct, swept = (build(text, method, **options) for method in ("ddm", "adjoint"))
    found, other = (evaluate(each.problem, each.objectives) for each in (direct, swept))
    problem, moved = direct.problem, {name: [] for name in found}
    still = replace(problem, options=replace(problem.options, sensitivity="none"), theta_rho=problem.theta_rho[:, :0])
    for k, parameter in enumerate(direct.parameters):
        objectives = [stepped(one, k, complex(parameter.value, EPS)) for one in direct.objectives]
        run = accumulated(still, objectives, theta=problem.theta + 1j * EPS * problem.theta_rho[:, k])
        for name, each in run.items():
            moved[name].append(each.value.imag / EPS)
    for name, result in found.items():
        size = np.abs(result.gradient).max()
        assert size > 0.0 and other[name].value == pytest.approx(result.value, rel=1e-12), name
        assert np.abs(other[name].gradient - result.gradient).max() <= relative * size, name
        assert np.abs(np.array(moved[name]) - result.gradient).max() <= relative * size, name


@pytest.mark.interpreted
def test_gradients_agree_where_parameters_move_breakpoints_on_output_times(build, monkeypatch):
    monkeypatch.setattr(stepping, "LONGEST", 0.5)  # of the duration: few steps, which are interpreted
    assert_gradients_agree(build, RAMPS, tolerance=1e-4, absolute_tolerance=1e-4)


@pytest.mark.slow
def test_gradients_agree_by_an_implicit_method(build):
    assert_gradients_agree(build, RAMPS, formulation="conventional", integrator="esdirk")


@pytest.mark.slow
def test_gradients_agree_of_closed_loops(build):
    assert_gradients_agree(build, FIVEBAR, formulation="ali1p-rtdyn1", integrator="dop853", step=0.05, duration=0.1)


TURN = """\
mbsim: 1
gravity: [0, 0, 0]
bodies: {a: {shape: {type: sphere, radius: 0.1, mass: 1}}}
joints: {J: {type: revolute, bodies: [ground, a], point: origin, axis: z, initial: {angle: 0.1, angular_velocity: 60}}}
sensors: {x: {type: coordinate, coordinate: J.angle}}
objectives: {e: {integral: cos(x)**2}}
analysis: {formulation: recursive, step: 0.1, duration: 2}
"""


def test_integrands_faster_than_the_motion_are_reported_and_resolved_by_closer_output_times(build):
    """A constant speed lets steps be long, and the cosine of the angle turns many times in each."""
    value = 1.0 + (np.sin(240.2) - np.sin(0.2)) / 240.0
    for step, resolved in ((0.1, False), (2e-3, True)):
        assembled = build(TURN, "none", step=step)
        found = evaluate(assembled.problem, assembled.objectives, resolution=resolution_of(assembled.problem, ()))["e"]
        error, estimated = abs(found.value - value), found.uncertainty.errors[0]
        assert (error <= 1e-8) == (estimated <= 1e-5) == resolved, (error, estimated)
        assert error <= estimated
