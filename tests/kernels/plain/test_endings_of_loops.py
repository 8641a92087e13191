"""Runs of closed loops end with a reason: a mechanism that locks, too few steps; a singular position is passed."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers import stepping
from mbsim_cli.kernels.drivers.stepping import TIME
from mbsim_cli.kernels.integrators.runge_kutta import REJECTED, STEPS
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation

FOUR_BAR = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {{a: {a}, b: {b}, d: {d}}}
vectors: {{z: {{all: [0, 0, 1]}}}}
points:
  O: {{ground: [0, 0, 0], crank: [0, 0, 0]}}
  B: {{crank: [a, 0, 0], rod: [0, 0, 0]}}
  C: {{rod: [b, 0, 0], rocker: [1, 0, 0]}}
  D: {{ground: [d, 0, 0], rocker: [0, 0, 0]}}
bodies:
  crank: {{shape: {{type: rod, length: a, mass: 1}}}}
  rod: {{shape: {{type: rod, length: b, mass: 1}}}}
  rocker: {{shape: {{type: rod, length: 1, mass: 1}}}}
joints:
  A: {{type: revolute, bodies: [ground, crank], point: O, axis: z, initial: {first}}}
  J: {{type: revolute, bodies: [crank, rod], point: B, axis: z}}
  K: {{type: revolute, bodies: [rod, rocker], point: C, axis: z}}
  E: {{type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {{angle: {other}, independent: false}}}}
analysis: {{formulation: ali1p-rtdyn1, integrator: dop853, tolerance: 1e-6, step: 0.05, duration: 1}}
"""
DRIVEN = """\
laws: {turn: {type: polynomial, coefficients: [0, 3]}}
constraints: {motor: {type: motion, coordinate: A.angle, law: turn, offset: auto}}
"""
LOCKING = FOUR_BAR.format(a=1.5, b=1, d=3, first="{angle: 20 deg, angular_velocity: 3}", other="150 deg") + DRIVEN
FOLDING = FOUR_BAR.format(a=1, b=2, d=2, first="{angle: 60 deg}", other="60 deg")


def ended(tmp_path, text, **options):
    """The run, and why it ended; empty where it came to its end."""
    (tmp_path / "a.yaml").write_text(text)
    problem = assembly.build(spec.load(tmp_path / "a.yaml", {}), sensitivity="none", **options).problem
    simulation = OpenTreeSimulation(problem)
    simulation.first_block()
    try:
        while simulation.step < round(problem.options.duration / problem.options.step):
            simulation.advance(5)
    except AnalysisError as error:
        return simulation, str(error)
    return simulation, ""


ADAPTIVE, ALL = ("dop853", "esdirk"), ("dop853", "esdirk", "rk4")


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_a_mechanism_that_is_driven_too_far_locks(tmp_path, integrator):
    """A step that fails is tried again shorter, towards the last position that the mechanism has."""
    simulation, why = ended(tmp_path, LOCKING, integrator=integrator, max_steps=60)
    assert "the mechanism locks at t = 0.001" in why and "does 'motor' drive it further than it can go?" in why
    counters = simulation.work.counters
    assert counters[REJECTED] > 0 and counters[STEPS] > 10


def test_fixed_steps_lock_too(tmp_path):
    """The step that fails ends where the mechanism has no position."""
    simulation, why = ended(tmp_path, LOCKING, integrator="rk4", step=5e-4)
    assert simulation.work.clock[TIME] == pytest.approx(1e-3)
    assert "the mechanism locks at t = 0.0015 s" in why and "does 'motor' drive it further than it can go?" in why


@pytest.mark.parametrize(("integrator", "time"), [("dop853", "0.25"), ("esdirk", "0.20642")])
def test_too_few_steps_are_named(tmp_path, monkeypatch, integrator, time):
    monkeypatch.setattr(stepping, "LONGEST", 0.05)
    _, why = ended(tmp_path, FOLDING, integrator=integrator, max_steps=5)
    assert f"all 5 steps that max_steps allows were tried before t = {time} s" in why and "more max_steps" in why


@pytest.mark.parametrize("integrator", ALL)
def test_a_folded_parallelogram_is_passed(tmp_path, integrator):
    """Its constraints lose rank where all bars lie on one line."""
    simulation, why = ended(tmp_path, FOLDING, integrator=integrator)
    assert not why and simulation.state.z[0] < 0.0


HANGING = FOUR_BAR.format(a=1, b=2, d=2.2, first="{angle: 60 deg}", other="60 deg").replace(
    "analysis: {", "analysis: {start: equilibrium, sensitivity: {method: ddm}, "
)


@pytest.mark.parametrize("integrator", ALL)
def test_a_loop_at_rest_keeps_its_derivatives(tmp_path, integrator):
    """Its coordinates stay; derivatives of its accelerations are nothing but round-off, and those of positions stay."""
    (tmp_path / "a.yaml").write_text(HANGING)
    problem = assembly.build(spec.load(tmp_path / "a.yaml", {}), integrator=integrator).problem
    simulation = OpenTreeSimulation(problem)
    simulation.first_block()
    at_start = simulation.sens.z.copy()
    simulation.advance(4)
    assert np.abs(at_start).max() > 0.1
    np.testing.assert_allclose(simulation.sens.z, at_start, rtol=1e-9, atol=1e-11)
