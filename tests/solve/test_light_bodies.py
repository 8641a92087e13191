"""Bodies with next to no mass that a law drives: they move heavy ones all the same, with the force that it takes."""

import warnings

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import start
from tests.assembly.texts import assemble
from tests.marks import NATURAL

LIFT = """
gravity: [0, 0, -9.81]
parameters: {m: 30, L: 0.5}
points:
  O: {design: [0, 0, 0], bodies: [ground, arm]}
  T: {design: [L, 0, 0], bodies: [arm]}
  S: {design: [L, 0, 0], bodies: [ground, jack]}
bodies:
  arm: {mass: m, center_of_mass: T, inertia: {xx: 0.1, yy: 0.3, zz: 0.3}}
  jack: {mass: LIGHT}
joints:
  pivot: {type: revolute, bodies: [ground, arm], point: O, axis: y}
  stand: {type: prismatic, bodies: [ground, jack], point: S, axis: z}
constraints:
  rest: {type: point_on_plane, point: arm.T, plane: {point: jack.S, normal: jack.z}}
  stroke: {type: motion, coordinate: stand.displacement, law: {type: harmonic, amplitude: 0.1, frequency: 0.5}}
sensors:
  push: {type: reaction, joint: stand, on: jack}
objectives: {last: {final: push.force.z}}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.5, sensitivity: {method: ddm, parameters: [m, L]}}
"""


def lifting(t, m=30.0, L=0.5):
    """Force by which a law z(t) of the tip lifts the arm: its power is what the energy of the arm grows by."""
    w = np.pi
    z, zd, zdd = 0.1 * np.sin(w * t), 0.1 * w * np.cos(w * t), -0.1 * w**2 * np.sin(w * t)
    c = np.sqrt(L**2 - z**2)  # L times the cosine of the arm's angle
    return (m * L**2 + 0.3) * (zdd / c + z * zd**2 / c**3) / c + m * 9.81


@pytest.mark.parametrize("light", ["0", "1e-6", "1e-4"])
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_light_driven_body(tmp_path, formulation, light):
    problem = assemble(tmp_path, LIFT.replace("LIGHT", light), formulation=formulation).problem
    simulation = start(problem)
    simulation.first_block()
    block = simulation.advance(500)
    of_jack = float(light) * (9.81 - 0.1 * np.pi**2 * np.sin(np.pi * block.time))
    push = block.sensors[:, 2] - of_jack
    assert push == pytest.approx(lifting(block.time), rel=1e-6)
    change = [lifting(block.time, **{name: value * (1 + 1e-6)}) for name, value in (("m", 30.0), ("L", 0.5))]
    slopes = (np.array(change) - lifting(block.time)) / ([[30e-6], [0.5e-6]])
    assert pytest.approx(slopes, rel=1e-4, abs=1e-4) == block.d_sensors[:, 2].T
    assert block.iterations.mean() < 3.5


def test_a_model_without_bodies_has_no_mean_one():
    """Numpy warned of that, on the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert assembly.build(spec.load("m.yaml", texts={"m.yaml": "mbsim: 1\n"})).problem.theta.size
