"""A floating joint that leads from the body to the ground: Euler parameters first, then translations."""

import numpy as np
import pytest

from mbsim_cli.model.problem import OPEN_TREES
from mbsim_cli.solve.forward import forward
from tests.assembly.texts import assemble

MODEL = """
gravity: [0.3, -9.81, 0.5]
parameters: {{c: {{value: 0.1}}, s: {{value: 0.8}}}}
bodies:
  a: {{mass: 1.2, center_of_mass: [c, 0.2, 0.05], inertia: {{xx: 0.1, yy: 0.2, zz: 0.25}}}}
joints:
  free: {{type: floating, bodies: [{bodies}], initial: {initial}}}
sensors:
  r: {{type: position, point: a.origin}}
  a: {{type: acceleration, point: a.origin}}
  w: {{type: angular_velocity, body: a}}
"""
FORWARD = "{position: [0.4*s, -0.3, 0.7], velocity: [1, 2, -0.5], angular_velocity: [0.3, -1, 2.5*s]}"
BACKWARD = """{position: [-0.4*s, 0.3, -0.7], angular_velocity: [-0.3, 1, -2.5*s],
    velocity: [0.75*s - 1.7, s*s - 2.21, 0.4*s + 0.41]}"""  # the inverse motion: -r, -w, w x r - v


def motion(folder, formulation, bodies, initial):
    """Sensors, and their sensitivities, over a few steps."""
    chosen = {"integrator": "rk4"} if formulation in OPEN_TREES else {}
    text = MODEL.format(bodies=bodies, initial=initial)
    options = {"step": 1e-3, "duration": 2e-3, "sensitivity": "ddm", "formulation": formulation}
    blocks = list(forward(assemble(folder, text, **options, **chosen).problem))
    return [np.concatenate([getattr(block, name) for block in blocks]) for name in ("sensors", "d_sensors")]


@pytest.mark.parametrize("formulation", [*OPEN_TREES, "ali3p-rtdyn1"])
def test_the_order_of_the_bodies_does_not_matter(tmp_path, formulation):
    there = motion(tmp_path, formulation, "ground, a", FORWARD)
    back = motion(tmp_path, formulation, "a, ground", BACKWARD)
    for one, other in zip(there, back, strict=True):
        bound = 1e-12 if formulation in OPEN_TREES else 1e-6  # the discrete equations depend on the coordinates
        assert np.abs(one - other).max() <= bound * np.abs(one).max()
    assert np.abs(there[1]).max() > 0.1


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1"])
def test_gradients_of_large_steps(tmp_path, formulation):
    """Against the complex step: the exact tangent of the discrete equations enters."""
    options = {"step": 0.1, "duration": 0.2, "sensitivity": "ddm", "tolerance": 1e-13, "formulation": formulation}
    problem = assemble(tmp_path, MODEL.format(bodies="a, ground", initial=BACKWARD), **options).problem
    found = list(forward(problem))[-1].d_sensors[-1]
    for k, direction in enumerate(problem.theta_rho.T):
        exact = list(forward(problem, theta=problem.theta + 1e-30j * direction))[-1].sensors[-1].imag / 1e-30
        assert np.abs(found[:, k] - exact).max() <= 1e-9 * np.abs(exact).max()
