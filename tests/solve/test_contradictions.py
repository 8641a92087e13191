"""Constraints that agree at the start, and contradict each other on the way: the run ends, and says which."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.solve.blocks import BrokenOff
from mbsim_cli.solve.forward import forward, start
from mbsim_cli.solve.lanes import run_constrained, why_alone
from tests.assembly.texts import assemble

CRANKS = """
parameters: {first: FIRST, rate: RATE, mass: 2}
points:
  A: {ground: [0, 0, 0], a: [0, 0, 0]}
  B: {ground: [1, 0, 0], b: [0, 0, 0]}
  P: {a: [0.6, 0, 0], bar: [0, 0, 0]}
  Q: {b: [0.6, 0, 0], bar: [1, 0, 0]}
bodies:
  a: {shape: {type: rod, length: 0.6, mass: mass}}
  b: {shape: {type: rod, length: 0.6, mass: 2}}
  bar: {shape: {type: rod, length: 1, mass: 2}}
joints:
  A: {type: revolute, bodies: [ground, a], point: A, axis: z, initial: {angle: 1}}
  B: {type: revolute, bodies: [ground, b], point: B, axis: z, initial: {angle: 1}}
  P: {type: revolute, bodies: [a, bar], point: P, axis: z, initial: {angle: -1}}
  Q: {type: revolute, bodies: [b, bar], point: Q, axis: z}
constraints:
  one: {type: motion, coordinate: A.angle, offset: auto, law: {type: harmonic, amplitude: first, frequency: rate}}
  other: {type: motion, coordinate: B.angle, offset: auto, law: {type: harmonic, amplitude: 0.05, frequency: 2}}
"""
AGREEING, OPPOSED = ("0.05", "2"), ("0.1", "1")  # amplitude and frequency: positions and velocities agree at the start
STEP = 5e-3
FORMULATIONS = ["ali3p-rtdyn1", pytest.param("ali3p-natural", marks=pytest.mark.interpreted)]


def gap(time):
    """By how much the two laws differ."""
    return np.abs(0.1 * np.sin(2 * np.pi * time) - 0.05 * np.sin(4 * np.pi * time))


def problem_of(folder, law, **options):
    text = CRANKS.replace("FIRST", law[0]).replace("RATE", law[1])
    return assemble(folder, text, step=STEP, duration=0.3, **options).problem


def broken(problem):
    """Instants of a run that breaks off, and its sentence."""
    times = []
    with pytest.raises(BrokenOff) as caught:
        for block in forward(problem):
            times.extend(block.time)
    return times, str(caught.value)


@pytest.mark.parametrize("sensitivity", ["none", "ddm"])
def test_a_run_ends_where_its_constraints_contradict_each_other(tmp_path, sensitivity):
    times, sentence = broken(problem_of(tmp_path, OPPOSED, sensitivity=sensitivity))
    assert times == [pytest.approx(k * STEP) for k in range(len(times))]
    assert gap(times[-1]) < 3e-3 < gap(times[-1] + 4 * STEP)
    assert f"contradict each other at t = {times[-1] + STEP:.6g} s" in sentence
    assert "'one'" in sentence and "'other'" in sentence


@pytest.mark.interpreted
def test_in_natural_coordinates_as_well(tmp_path):
    with np.errstate(all="ignore"):  # numpy warns of overflows where nothing is compiled
        _, sentence = broken(problem_of(tmp_path, OPPOSED, formulation="ali3p-natural"))
    assert "contradict each other" in sentence and "'one'" in sentence and "'other'" in sentence


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_constraints_that_agree_are_left_alone(tmp_path, formulation):
    blocks = list(forward(problem_of(tmp_path, AGREEING, formulation=formulation)))
    assert blocks[-1].time[-1] == pytest.approx(0.3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("number", [np.nan, np.inf, 1e200])
def test_positions_that_ran_away_tell_nothing(tmp_path, formulation, number):
    run = start(problem_of(tmp_path, OPPOSED, formulation=formulation))
    position = np.full(run.state.z.size, number)
    with np.errstate(all="ignore"):
        assert run.consistency.contradiction_at(position, run.work.kin.expected, 0.1) is None


def test_what_stays_open_is_told_wherever_an_iteration_put_it(tmp_path):
    """Two laws of one coordinate, the first of which is met."""
    text = CRANKS.replace("FIRST", "0.1").replace("RATE", "1").replace("B.angle, offset", "A.angle, offset")
    run = start(assemble(tmp_path, text, step=STEP, duration=0.3).problem)
    turned = 0.1 * np.sin(2 * np.pi * 0.1) * np.array([1.0, -1.0, 1.0])
    sentence = run.consistency.contradiction_at(run.state.z + turned, run.work.kin.expected, 0.1)
    assert "'one', 'other' together" in sentence and f"stays open by {gap(0.1) / 2:.2g};" in sentence


@pytest.mark.slow  # compiles the loop of eight cases
def test_one_of_several_cases_breaks_off(tmp_path):
    agreeing = problem_of(tmp_path, AGREEING)
    if why_alone(agreeing):
        pytest.skip("nothing runs in lanes here")
    problems = [agreeing, problem_of(tmp_path, OPPOSED), replace(agreeing)]
    runs, _ = run_constrained(problems, lambda: None, 10**8)
    assert [run is not None for run in runs] == [True, False, True]
    alone = np.concatenate([block.position for block in forward(agreeing)])
    for run in (runs[0], runs[2]):
        np.testing.assert_array_equal(np.concatenate([block.position for block in run.blocks]), alone)
