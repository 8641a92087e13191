"""Dry friction and stops in a closed loop: Newton goes back where it is led astray, and what bends too much is told."""

import numpy as np
import pytest

from mbsim_cli.solve.forward import forward
from tests.assembly.texts import assemble
from tests.marks import NATURAL

BOTH = pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
FOUR_BAR = """
gravity: [0, -9.81, 0]
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [1, 0, 0], rod: [0, 0, 0]}
  C: {rod: [1, 0, 0], rocker: [1, 0, 0]}
  D: {rocker: [0, 0, 0], ground: [1.5, 0, 0]}
  E: {rod: [0.5, 0.3, 0], block: [0, 0, 0]}
bodies:
  crank: {mass: 1, inertia: {zz: 0.5}}
  rod: {mass: 0.3, center_of_mass: [0.5, 0, 0], inertia: {zz: 0.03}}
  rocker: {mass: 0.3, center_of_mass: [0.4, 0, 0], inertia: {zz: 0.03}}
  block: {mass: 0.5, inertia: {zz: 0.01}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {angle: 1, angular_velocity: 2}}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {angle: -0.5}}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.5}}
  E: {type: prismatic, bodies: [rod, block], point: E, axis: x, initial: {displacement: 0, velocity: 1}}
laws:
  dry: {type: smooth_step, from: -1, to: 1, start: -6.2e-5, end: 6.2e-5}
forces:
  rub: {type: spring_damper, coordinate: E.displacement, stiffness: 20, natural_length: 0, rate_law: dry}
  joint: {type: rotational_spring_damper, coordinate: D.angle, stiffness: 3, natural_angle: 0.3, rate_law: dry}
  stop: {type: bump_stop, coordinate: E.displacement, minimum: -0.05, maximum: 0.05, stiffness: 3.5e3, onset: 1.4e-3}
sensors: {turn: {type: coordinate, coordinate: A.angle}, slide: {type: coordinate, coordinate: E.displacement}}
objectives: {end: {final: turn}}
"""
HARD = FOUR_BAR.replace("stiffness: 3.5e3, onset: 1.4e-3", "stiffness: 1e9, onset: 1e-4")


def at_end(problem):
    return [block.sensors[-1] for block in forward(problem) if len(block.time)][-1]


@BOTH
def test_dry_friction_and_a_stop(formulation, tmp_path):
    coarse, fine = (
        at_end(assemble(tmp_path, FOUR_BAR, formulation=formulation, step=step, duration=1.5).problem)
        for step in (1e-3, 2.5e-4)
    )
    assert np.allclose(coarse, fine, atol=2e-3)


@BOTH
def test_a_stop_that_is_hit_within_far_less_than_a_step(formulation, tmp_path):
    """Steps in which Newton does not converge are divided."""
    problem = assemble(tmp_path, HARD, formulation=formulation, step=1e-2, duration=2.0).problem
    slides = np.concatenate([block.sensors[:, 1] for block in forward(problem)])
    assert 0.0499 < np.abs(slides).max() < 0.0505
