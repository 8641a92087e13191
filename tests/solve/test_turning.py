"""Angles go on where their principal value jumps: springs, sensors and gradients of joints that the cut falls on."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.solve.equilibrium import equilibrium
from mbsim_cli.solve.forward import forward, in_blocks, start
from tests.assembly.texts import assemble
from tests.kernels.differentiate import complex_step, direct

CRANK = """
gravity: [0, 0, 0]
parameters: {k: 0.3, L: 1}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [0.3, 0, 0], rod: [0, 0, 0]}
  C: {rod: [L, 0, 0], rocker: [0.8, 0, 0]}
  D: {rocker: [0, 0, 0], ground: [1, 0, 0]}
bodies:
  crank: {mass: 1, inertia: {zz: 0.5}}
  rod: {mass: 0.3, center_of_mass: [0.5, 0, 0], inertia: {zz: 0.03}}
  rocker: {mass: 0.3, center_of_mass: [0.4, 0, 0], inertia: {zz: 0.03}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, cut: true,
      initial: {angle: START, angular_velocity: RATE, independent: true}}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {angle: -0.5}}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.5}}
forces:
  torsion: {type: rotational_spring_damper, coordinate: A.angle, stiffness: k, natural_angle: 0,
            elongation_law: {type: polynomial, coefficients: [0, 0, 0, 0.001]}}
sensors:
  turn: {type: coordinate, coordinate: A.angle}
  crank: {type: angle, vectors: [ground.x, crank.x], axis: ground.z}
  T: {type: kinetic_energy}
  V: {type: potential_energy}
"""


def crank(folder, *, start="1", rate="20", cut="A", **options):
    text = CRANK.replace("START", start).replace("RATE", rate)
    if cut != "A":
        text = text.replace(" cut: true,", "")
    assembled = assemble(folder, text + "analysis: {sensitivity: {method: ddm}}\n", **options)
    assert assembled.topology.cut == (cut,)
    return assembled


def sensors(problem):
    return np.concatenate([block.sensors for block in forward(problem)])


def test_a_torsion_spring_on_a_cut_joint_winds_up(tmp_path):
    """Several turns of the crank: the angle is the coordinate's where another joint is cut, and energy is kept."""
    found, reference = (
        sensors(crank(tmp_path, cut=cut, sensitivity="none", step=2e-3, duration=1.0).problem) for cut in "AC"
    )
    assert found[-1, 0] > 4 * np.pi
    energy = found[:, 2] + found[:, 3]
    assert np.ptp(energy) < 1e-4 * energy[0]
    assert found[:, 0] == pytest.approx(reference[:, 0], abs=1e-4)
    assert np.abs(found[:, 0] - found[:, 1]).max() < 1e-12  # an angle between vectors goes on, too


def test_angles_start_where_the_file_says_and_go_on_over_blocks(tmp_path):
    problem = crank(tmp_path, start="1 + 4*pi", sensitivity="none", step=2e-3, duration=0.5).problem
    blocks = list(in_blocks(start(problem), 7))
    found = np.concatenate([block.sensors for block in blocks])
    assert found[0, 0] == pytest.approx(1 + 4 * np.pi, abs=1e-9)  # as stated
    assert found[0, 1] == pytest.approx(1.0, abs=1e-9)  # of no joint: in (-pi, pi]
    assert np.abs(np.diff(found[:, :2], axis=0)).max() < 0.1
    whole = sensors(problem)
    assert np.array_equal(found, whole)
    thinned = np.concatenate(
        [block.sensors for block in forward(replace(problem, options=replace(problem.options, output_interval=100)))]
    )
    assert np.array_equal(thinned, whole[::100])


def test_a_step_of_more_than_half_a_turn(tmp_path):
    """What is expected goes on with the rate: 4 rad a step."""
    text = """
gravity: [0, 0, 0]
bodies: {wheel: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {axle: {type: revolute, bodies: [ground, wheel], point: origin, axis: z, initial: {angular_velocity: 4000}}}
sensors: {turn: {type: angle, vectors: [ground.x, wheel.x], axis: ground.z}}
"""
    found = sensors(assemble(tmp_path, text, step=1e-3, duration=0.1).problem)
    assert found[:, 0] == pytest.approx(4.0 * np.arange(101), abs=1e-9)


def test_derivatives_beyond_a_turn(tmp_path):
    """The spring's cubic law makes the torque depend on how often the crank has turned."""
    problem = crank(tmp_path, step=1e-2, duration=1.0).problem
    directions = problem.theta_rho.T
    found = direct(problem, directions, 60)
    assert found["sensors"][-1, 0] > 3 * np.pi
    for k, direction in enumerate(directions):
        exact = complex_step(problem, direction, 60)["sensors"][:, :2]
        assert np.abs(exact).max() > 1e-3
        assert found["d_sensors"][:, :2, k] == pytest.approx(exact, abs=1e-9 * np.abs(exact).max())


def test_an_equilibrium_more_than_half_a_turn_away(tmp_path):
    """The spring is at rest two turns from where the crank starts."""
    text = CRANK.replace("START", "1").replace("RATE", "0").replace("natural_angle: 0", "natural_angle: 4*pi")
    (block,) = equilibrium(assemble(tmp_path, text + "analysis: {type: equilibrium}\n").problem)
    assert block.sensors[0, :2] == pytest.approx(4 * np.pi, abs=1e-9)


@pytest.mark.parametrize("formulation", ["recursive", "ali3p-rtdyn1"])
def test_angles_of_open_trees_go_on(tmp_path, formulation):
    text = """
gravity: [0, 0, 0]
bodies: {wheel: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {axle: {type: revolute, bodies: [ground, wheel], point: origin, axis: z, initial: {angular_velocity: 30}}}
sensors: {turn: {type: angle, vectors: [ground.x, wheel.x], axis: ground.z}}
"""
    found = sensors(assemble(tmp_path, text, formulation=formulation, step=1e-2, duration=1.0).problem)
    assert found[:, 0] == pytest.approx(np.linspace(0.0, 30.0, 101), abs=1e-7)
