"""Springs that are unstressed at the start, in inverse dynamics: the start is that of the motion."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.inverse.analysis import inverse

MODEL = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {k: 40, x: 0.3, a: 0.2}
points: {P: {ground: [0, 0, 1]}}
bodies: {mass: {mass: 2}}
joints: {slide: {type: prismatic, bodies: [ground, mass], point: origin, axis: z, initial: {displacement: 0.05}}}
laws: {lift: {type: polynomial, coefficients: [x, a, 0.5]}, soft: {type: polynomial, coefficients: [0, 3]}}
forces:
  spring: {type: spring_damper, points: [ground.P, mass.origin], stiffness: k, elongation_law: soft}
sensors: {f: {type: force, force: spring}, tau: {type: torque, coordinate: slide.displacement}}
analysis:
  {type: inverse_dynamics, sampling: 0.1, duration: 0.4, motion: {all: lift}, sensitivity: {method: ddm}}
"""


def test_natural_lengths_are_those_at_the_start_of_the_motion(tmp_path):
    """The spring shortens by what the mass rises; weight and inertia are constant."""
    path = tmp_path / "model.yaml"
    path.write_text(MODEL)
    (block,) = inverse(assembly.build(spec.load(path)).problem)
    rise = 0.2 * block.time + 0.5 * block.time**2
    np.testing.assert_allclose(block.sensors[:, 0], 43.0 * rise, atol=1e-14)
    np.testing.assert_allclose(block.torque[:, 0], 2 * 9.81 + 2 * 1.0 + 43.0 * rise, rtol=1e-14)
    by_parameter = np.column_stack([rise, 0.0 * rise, 43.0 * block.time])
    np.testing.assert_allclose(block.d_sensors[:, 0], by_parameter, atol=1e-13)
    np.testing.assert_allclose(block.by_parameter[:, 0], by_parameter, atol=1e-13)


def test_a_stated_length_is_kept(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(MODEL.replace("stiffness: k,", "stiffness: k, natural_length: 0.6,"))
    (block,) = inverse(assembly.build(spec.load(path)).problem)
    assert block.sensors[0, 0] == pytest.approx(-43.0 * (0.7 - 0.6))
