"""Gradients by the initial orientation and angular velocity of spherical and floating joints, from the file on."""

from itertools import product

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.initial import assemble

TOP = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {a: 1, b: 0.3, w: 2}
points: {P: {ground: [0, 0, 0], top: [0, 0, 0]}, tip: {top: [1, 0, 0]}}
bodies: {top: {mass: 1.3, center_of_mass: [0.3, 0.1, 0.2], inertia: {xx: 0.2, yy: 0.5, zz: 0.6, xy: 0.02}}}
joints:
  J: {type: %s, bodies: %s, point: P, initial: {orientation: %s, angular_velocity: [b, w, 0.7*a]}}
sensors: {p: {type: position, point: top.tip}, v: {type: velocity, point: top.tip}}
analysis: {formulation: %s, %s step: 0.01, duration: 0.03, sensitivity: {method: ddm}}
"""
ABOUT_Z = "{axis: [0, 0, 1], angle: a}"
TURNS = (ABOUT_Z, "{axis: [b, 1, 0.5], angle: 3*a}", "{euler_parameters: [sin(a)*cos(b), sin(a)*sin(b), 0, cos(a)]}")
WAYS = (
    ("recursive", "integrator: rk4,"),
    ("conventional", "integrator: rk4,"),
    ("partial_recursive", "integrator: rk4,"),
    ("recursive", "tolerance: 1e-12,"),
    ("recursive", "integrator: esdirk, tolerance: 1e-11,"),
    ("ali3p-rtdyn1", ""),
)
FORMED = ("conventional", "partial_recursive")  # compiled for slow tests alone
CASES = [("spherical", "[ground, top]", ABOUT_Z, *way) for way in WAYS] + [
    (kind, bodies, turn, *WAYS[0])
    for kind, bodies, turn in product(("spherical", "floating"), ("[ground, top]", "[top, ground]"), TURNS)
]
MARKED = [
    pytest.param(case, marks=[pytest.mark.interpreted] * (case[3] in FORMED), id="-".join(case)) for case in CASES
]

SPINNING = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {a: 0.4, b: 0.3, w: 2}
points: {P: {ground: [0, 0, 0], top: [0, 0, 0]}, tip: {top: [1, 0, 0]}, hook: {ground: [1.2, 0.3, 0.8]}}
bodies: {top: {mass: 1.3, center_of_mass: [0.3, 0.1, 0.2], inertia: {xx: 0.2, yy: 0.5, zz: 0.6}}}
joints:
  J:
    {type: spherical, bodies: %s, point: P,
     initial: {orientation: {axis: [b, 1, 0.5], angle: a}, angular_velocity: [b, w, 0.7*a]}}
forces:
  rope: {type: spring_damper, points: [ground.hook, top.tip], stiffness: 30, natural_length: 0.2}
  twist: {type: spring_damper, points: [ground.hook, top.center_of_mass], stiffness: 7, natural_length: 0.1}
sensors:
  p: {type: position, point: top.tip}
  v: {type: velocity, point: top.tip}
  spin: {type: angular_velocity, body: top}
analysis: {formulation: %s, start: equilibrium, step: 1e-3, duration: 2e-3, sensitivity: {method: ddm}}
"""


def sensed(path, values=None):
    """Sensors (k,) at all instants, and their derivatives (k, p)."""
    problem = assembly.build(spec.load(path, {name: repr(value) for name, value in (values or {}).items()})).problem
    blocks = list(forward(problem))
    return (np.concatenate([getattr(block, name) for block in blocks]) for name in ("sensors", "d_sensors"))


def by_differences(path, values, h=1e-3):
    """Derivatives of the same by differences of fourth order over whole runs."""
    columns = []
    for name, value in values.items():
        runs = [next(iter(sensed(path, {name: value + k * h}))) for k in (-2, -1, 1, 2)]
        columns.append((runs[0] - 8.0 * runs[1] + 8.0 * runs[2] - runs[3]) / (12.0 * h))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("case", MARKED)
def test_gradients_by_the_start_of_a_body_that_turns_freely(tmp_path, case):
    path = tmp_path / "model.yaml"
    path.write_text(TOP % case)
    _, direct = sensed(path)
    numerical = by_differences(path, {"a": 1.0, "b": 0.3, "w": 2.0})
    np.testing.assert_allclose(direct, numerical, atol=1e-9 * np.abs(numerical).max())
    if case[1:3] == ("[ground, top]", ABOUT_Z):
        np.testing.assert_allclose(direct[0, :3, 0], [-np.sin(1.0), np.cos(1.0), 0.0], atol=1e-14)  # of the tip


@pytest.mark.parametrize("formulation", ["recursive", "ali3p-rtdyn1"])
@pytest.mark.parametrize("bodies", ["[ground, top]", "[top, ground]"])
def test_a_body_keeps_its_angular_velocity_at_the_equilibrium(tmp_path, bodies, formulation):
    """Declared in the axes of the joint on the first body: those of the ground, or those of the body."""
    path, declared = tmp_path / "model.yaml", np.array([0.3, 2.0, 0.28])
    path.write_text(SPINNING % (bodies, formulation))
    values, direct = sensed(path)
    if bodies == "[ground, top]":
        np.testing.assert_allclose(values[0, 6:9], declared, rtol=1e-12)
        np.testing.assert_allclose(direct[0, 6:9], [[0, 1, 0], [0, 0, 1], [0.7, 0, 0]], atol=1e-9)
    else:
        assert np.linalg.norm(values[0, 6:9]) == pytest.approx(np.linalg.norm(declared), rel=1e-12)
    numerical = by_differences(path, {"a": 0.4, "b": 0.3, "w": 2.0})
    np.testing.assert_allclose(direct, numerical, atol=1e-8 * np.abs(numerical).max())


def test_the_start_is_declared_with_its_derivatives(tmp_path):
    """All four Euler parameters: the one that the norm gives has a derivative like the others."""
    path = tmp_path / "model.yaml"
    path.write_text(TOP % ("spherical", "[ground, top]", ABOUT_Z, "ali3p-rtdyn1", ""))
    problem = assembly.build(spec.load(path)).problem
    first = problem.model.tree.initial[0]
    np.testing.assert_allclose(problem.theta_rho[first : first + 4, 0], [-0.5 * np.sin(0.5), 0, 0, 0.5 * np.cos(0.5)])
    np.testing.assert_allclose(assemble(problem).sensitivity.z[:, 0], problem.theta_rho[first : first + 4, 0])
