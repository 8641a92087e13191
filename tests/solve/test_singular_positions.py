"""Singular positions: found where geometry says that they are, and derivatives end there that do not exist behind."""

import numpy as np
import pytest

from mbsim_cli.solve.forward import start
from tests.assembly.texts import assemble
from tests.marks import NATURAL

PARALLELOGRAM = """
gravity: [0, -9.81, 0]
parameters: {L: 1, l: 0, g: 2, c: 0, m: 1, }
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [L + l, 0, 0], coupler: [0, 0, 0]}
  C: {coupler: [g + c, 0, 0], rocker: [L, 0, 0]}
  D: {ground: [g, 0, 0], rocker: [0, 0, 0]}
bodies:
  crank: {mass: m, center_of_mass: [0.5, 0, 0], inertia: {zz: 0.1}}
  coupler: {mass: 1, center_of_mass: [1, 0, 0], inertia: {zz: 0.3}}
  rocker: {mass: 1, center_of_mass: [0.5, 0, 0], inertia: {zz: 0.1}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z,
      initial: {angle: 60 deg, angular_velocity: 4, independent: true}}
  B: {type: revolute, bodies: [crank, coupler], point: B, axis: z, initial: {angle: -60 deg}}
  C: {type: revolute, bodies: [coupler, rocker], point: C, axis: z, initial: {angle: 60 deg}}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 60 deg}}
sensors:
  turn: {type: angle, vectors: [ground.x, crank.x], axis: ground.z}
objectives: {psi: {integral: turn}}
analysis: {type: forward_dynamics, step: STEP, duration: 1, sensitivity: {method: ddm, parameters: [l, L, g, c, m]}}
"""
THIRD_CRANK = {
    "\nbodies:": """
  E: {ground: [g / 2, 0, 0], third: [0, 0, 0]}
  F: {coupler: [g / 2, 0, 0], third: [L, 0, 0]}
bodies:
  third: {mass: 1, inertia: {zz: 0.1}}""",
    "\nsensors:": """
  E: {type: revolute, bodies: [ground, third], point: E, axis: z, initial: {angle: 60 deg}}
  F: {type: revolute, bodies: [coupler, third], point: F, axis: z}
sensors:""",
}


def run(folder, text, step, formulation="ali3p-rtdyn1", **changed):
    """The simulation after one second, and its block."""
    for name, value in changed.items():
        text = text.replace(f"{name}: 1,", f"{name}: {value},")
    simulation = start(assemble(folder, text.replace("STEP", str(step)), formulation=formulation).problem)
    simulation.first_block()
    return simulation, simulation.advance(round(1 / step))


def passages(block):
    """Instants behind singular positions."""
    return block.time[block.singular.any(axis=1)]


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_passages_are_where_all_links_lie_on_one_line(tmp_path, step):
    _, block = run(tmp_path, PARALLELOGRAM, step)
    expected = np.interp([np.pi, 2 * np.pi], np.unwrap(block.sensors[:, 0]), block.time)
    assert list(passages(block)) == pytest.approx(expected, abs=step)


@pytest.mark.parametrize(
    ("formulation", "lost"),
    [
        ("ali3p-rtdyn1", ["C.x"]),
        pytest.param("ali3p-natural", ["crank.B", "coupler.C", "rocker.C"], marks=pytest.mark.slow),
    ],
)
def test_a_length_of_one_crank_has_no_derivative_behind_and_all_together_have(tmp_path, formulation, lost):
    simulation, block = run(tmp_path, PARALLELOGRAM, 2e-3, formulation)
    first, names = passages(block)[0], simulation.problem.names
    assert [names.constraints[row] for row in np.flatnonzero(block.singular.any(axis=0))] == lost
    behind = block.time >= first
    for k, name in enumerate(names.parameters):
        undefined = np.isnan(block.d_position[:, :, k]).all(axis=1)
        assert np.array_equal(undefined, behind & (name in ("l", "c")))


def test_a_third_crank_makes_equations_redundant_and_the_passages_stay(tmp_path):
    text = PARALLELOGRAM
    for place, addition in THIRD_CRANK.items():
        text = text.replace(place, addition)
    simulation, block = run(tmp_path, text, 2e-3)
    assert simulation.control.redundant
    assert len(passages(block)) == 2


def test_unequal_cranks_pass_no_singular_position(tmp_path):
    _, block = run(tmp_path, PARALLELOGRAM.replace("l: 0,", "l: -0.02,"), 2e-3)
    assert len(passages(block)) == 0


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", NATURAL])
def test_derivatives_by_what_moves_no_lost_combination_go_on_behind(tmp_path, formulation):
    simulation, block = run(tmp_path, PARALLELOGRAM, 2e-3, formulation)
    row = int(np.searchsorted(block.time, 0.9))  # behind the first passage: near each some digits are lost
    for name in ("L", "m"):
        more, less = (run(tmp_path, PARALLELOGRAM, 2e-3, formulation, **{name: value})[1] for value in (1.0001, 0.9999))
        differences = (more.position[row] - less.position[row]) / 2e-4
        computed = block.d_position[row, :, simulation.problem.names.parameters.index(name)]
        assert computed == pytest.approx(differences, rel=1e-5)
