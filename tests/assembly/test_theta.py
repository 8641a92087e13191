"""Theta and its derivatives by the parameters."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from tests.assembly.texts import FIVEBAR, MODELS, assemble, load, repacked

EVERYTHING = """
constants: {twice: 2*s}
parameters:
  a: 0.7
  s: {value: 0.3, unit: m}
  h: {value: 1.1*a + s**2}
  k: 20
points:
  P: {design: [a, s, h], bodies: [ground, one, two]}
  Q: {one: [s, a, 0], two: [0, h, s], three: [h, 0, 0]}
  R: {three: [0, s, 0], ground: [1, 2, a]}
vectors:
  n: {design: [s, a, 1], bodies: [one, two, ground]}
  m: {one: [1, s, a], three: [a, 1, 0]}
bodies:
  one: {mass: a, center_of_mass: [s, 0, a], inertia: {xx: 2, yy: 2*h, zz: 2, xy: s/10}, inertia_about: origin,
        position: [s, 0, h], orientation: {axis: [1, s, 0], angle: a}}
  two: {shape: {type: cylinder, axis: z, length: twice, radius: s, mass: k}, position: [0, a, 0]}
  three: {shape: {type: box, size: [a, s, h], mass: h}, center_of_mass: Q, mass: k/10}
  four: {mass: 1, inertia: [[a, s/9, 0], [s/9, 1, 0], [0, 0, h]]}
joints:
  one: {type: revolute, bodies: [ground, one], point: P, axis: n}
  two: {type: cylindrical, bodies: [two, one], point: P, axis: n, initial: {velocity: s}}
  three: {type: universal, bodies: [one, three], point: Q, axes: [m, m], initial: {angles: [a, s], angle_rates: [0, h]}}
  four: {type: floating, bodies: [ground, four], initial: {position: [a, s, 0], velocity: [h, 0, 0],
         orientation: {axis: [a, 1, 0], angle: s}, angular_velocity: [0, a, k/20]}}
constraints:
  length: {type: distance, points: [one.Q, three.R], distance: auto, law: {type: polynomial, coefficients: [0, s]}}
  gear: {type: coupling, terms: {two.angle: 1, one.angle: -h}, offset: auto}
laws:
  table: {type: spline, x: [0, s, a, 2*h], values: [1, a, h, k], extrapolate: linear}
  step: {type: smooth_step, from: 0, to: a, start: s, end: h}
  sine: {type: harmonic, amplitude: a, frequency: s, phase: h}
forces:
  spring: {type: spring_damper, points: [ground.R, three.R], stiffness: k, damping: s, natural_length: h,
           rate_law: table}
  push: {type: force, point: two.Q, value: [a, s, k], axes: body, law: step}
  twist: {type: torque, body: two, value: [a, s, k], law: sine}
sensors:
  r: {type: position, point: three.R}
  u: {type: direction, vector: three.m}
  angle: {type: angle, vectors: [one.m, three.m], axis: three.z}
analysis: {sensitivity: {method: ddm, parameters: all}}
"""


def compare(assembled):
    """Exact derivatives of theta against central differences of packing anew."""
    for k, parameter in enumerate(assembled.parameters):
        h = 1e-6 * max(1.0, abs(parameter.value))
        plus, minus = (repacked(assembled, {parameter.name: parameter.value + s * h}) for s in (1, -1))
        np.testing.assert_allclose(
            assembled.problem.theta_rho[:, k], (plus - minus) / (2 * h), rtol=1e-6, atol=2e-7, err_msg=parameter.name
        )


# of a body that deforms derivatives hold the span of the shapes, and packing anew turns them: see tests/reduction
RIGID = sorted(path for path in MODELS.rglob("*.yaml") if path.parent.name != "flexible")


@pytest.mark.parametrize("path", RIGID, ids=lambda path: path.stem)
def test_derivatives_for_the_models(path):
    compare(build(spec.load(path), sensitivity="ddm"))


@pytest.mark.parametrize("cut", ["A", "P1", "P3"])
def test_independent_values_of_a_cut_joint_reach_the_tree(tmp_path, cut):
    """The start of the five-bar is the same for every cut, and so is its derivative."""
    text = FIVEBAR.read_text().replace("-135 deg, independent", "-135 deg, angular_velocity: x_G_A1, independent")
    reference = build(load(tmp_path, text.partition("mbsim: 1")[2]))
    line, braces = f"  {cut}:\n    type", f"  {cut}: {{type"
    text = text.replace(line, f"  {cut}:\n    cut: true\n    type").replace(braces, f"  {cut}: {{cut: true, type")
    assembled = build(load(tmp_path, text.partition("mbsim: 1")[2]))
    compare(assembled)
    names = [assembled.problem.names.coordinates, reference.problem.names.coordinates]
    first = [found.problem.model.tree.initial[0] for found in (assembled, reference)]
    common = [name for name in names[0] if name in ("A.angle", "P1.angle")]
    for name in common:
        here, there = (first[i] + names[i].index(name) for i in range(2))
        for shift in (0, 4):
            a, b = assembled.problem, reference.problem
            assert a.theta[here + shift] == pytest.approx(b.theta[there + shift], abs=1e-13)
            np.testing.assert_allclose(a.theta_rho[here + shift], b.theta_rho[there + shift], atol=1e-12)
    assert assembled.problem.independent.sum() == 2


def test_derivatives_through_everything_a_file_can_say(tmp_path):
    assembled = assemble(tmp_path, EVERYTHING)
    assert [parameter.name for parameter in assembled.parameters] == ["a", "s", "h", "k"]
    assert np.abs(assembled.problem.theta_rho).max(axis=0).min() > 0.0
    compare(assembled)


def test_assembling_anew_gives_the_same_numbers_and_leaves_the_first_alone(tmp_path):
    assembled = assemble(tmp_path, EVERYTHING)
    moved = assembled.at({"a": 0.8})
    assert np.abs(moved.problem.theta - assembled.problem.theta).max() > 0.05
    np.testing.assert_array_equal(assembled.at({}).problem.theta, assembled.problem.theta)


def test_only_numbers_that_depend_on_a_parameter_move():
    assembled = build(spec.load(FIVEBAR), sensitivity="ddm", sensitivity_parameters=["m_A1", "L_A1"])
    assert assembled.problem.names.parameters == ("m_A1", "L_A1")
    assert (assembled.problem.theta_rho != 0.0).sum(axis=0).tolist() == [1, 2]
    assert build(spec.load(FIVEBAR), sensitivity="none").problem.theta_rho.shape[1] == 0


def test_inertia_about_a_point_is_shifted_to_the_centre_of_mass(tmp_path):
    text = """
    bodies: {b: {mass: 2, center_of_mass: [0.5, 0, 0], inertia: {xx: 1, yy: 2, zz: 2, xy: 0.1}, inertia_about: origin}}
    joints: {j: {type: revolute, bodies: [ground, b], point: origin, axis: z}}
    """
    theta = assemble(tmp_path, text).problem.theta
    np.testing.assert_allclose(theta[3 + 24 : 3 + 34], [2, 0.5, 0, 0, 1, 1.5, 1.5, 0.1, 0, 0])
