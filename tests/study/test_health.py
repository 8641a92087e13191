"""Warnings are given where the diagnostics are bad, and only there."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli import loads
from mbsim_cli.model.problem import Options
from mbsim_cli.model.standard_data import OE1, OWN_MODE_ROWS
from mbsim_cli.study.analyses import keeps_energy
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.diagnostics.health import Health
from tests.io import fakes
from tests.models.command import ROOT


def blocks(sizes=(6, 5), **changed):
    first = 0
    for size in sizes:
        block = fakes.block(first, size)
        time = block.time
        calm = {
            "drift": np.full((size, 3), 1e-12),
            # kinetic energy 1 - cos t, gained by the power sin t of a motor
            "energy": np.stack([1 - np.cos(time), 0 * time, np.sin(time)], axis=1),
            "gradient_error": np.full(size, 1e-12),
        }
        yield block._replace(**calm | {name: function(block) for name, function in changed.items()})
        first += size


def watch(options=Options(), **changed):
    health = Health(options, fakes.names())
    for block in blocks(**changed):
        health.add(block)
    return health


def test_a_calm_run_has_no_warnings():
    health = watch()
    assert health.warnings == [] and health.steps == 10
    assert health.report["energy_imbalance"] < 1e-3 and health.report["iterations"]["most"] == 3


def test_each_trouble_is_said():
    troubles = {
        "drift": (lambda b: np.full((len(b.time), 3), 1e-3), "constraints drift by up to 1.0e-03"),
        "energy": (lambda b: np.stack([1 - np.cos(b.time), b.time, b.time], axis=1), "energy and work differ"),
        "iterations": (lambda b: np.full(len(b.time), 15), "iterations on average"),
        "gradient_error": (lambda b: np.full(len(b.time), 1e-3), "gradients are converged to 1.0e-03 only"),
    }
    for field, (values, sentence) in troubles.items():
        assert [sentence in warning for warning in watch(**{field: values}).warnings] == [True], field


@pytest.mark.parametrize(("speed", "told"), [(1e-24, False), (1e-11, False), (1e-6, True)])
def test_energies_of_a_mechanism_at_rest_are_not_compared(speed, told):
    """1e-48 J are round-off where nothing moves, and those of a small mechanism where it does."""
    still = {
        "energy": lambda b: speed**2 * np.stack([1 - np.cos(b.time), b.time, b.time], axis=1),
        "velocity": lambda b: np.full_like(b.velocity, speed),
    }
    health = watch(**still)
    assert bool(health.warnings) is told and (health.report["energy_imbalance"] > 0.0) is told


@pytest.mark.parametrize(("integrator", "told"), [("dop853", False), ("rk4", True)])
def test_power_that_passes_between_output_times_is_no_lost_energy(integrator, told):
    """An adaptive integrator resolves the impact of a damper in steps that the sum over output times does not see."""
    options = Options(formulation="recursive", integrator=integrator)

    def impact(block):  # takes 1 of 2 J; the power at one output time tells of 1.2 J
        return np.stack([2.0 - (block.time > 0.045), 0 * block.time, -120.0 * (abs(block.time - 0.05) < 1e-3)], axis=1)

    assert bool(watch(options, energy=impact).warnings) is told


@pytest.mark.parametrize(("jump", "told"), [(0.04, True), (0.05, False), (0.052, False), (0.06, False), (0.08, True)])
@pytest.mark.parametrize("sizes", [(11,), (6, 5)])
def test_work_in_an_interval_with_a_jump_of_power_is_not_compared(jump, told, sizes):
    """Power of 2 W ends at 0.052 s, between time points at 0.05 and 0.06 s; jumps may lie on either."""

    def pulse(block):
        return np.stack([2.0 * np.minimum(block.time, 0.052), 0.0 * block.time, 2.0 * (block.time < 0.055)], axis=1)

    options = Options(step=0.01, formulation="recursive", integrator="rk4")
    health = Health(options, fakes.names(), jumps=np.array([jump, 1.0]))
    for block in blocks(sizes, energy=pulse):
        health.add(block)
    assert bool(health.warnings) is told


JUMPING = """
mbsim: 1
parameters: {T: 0.15, F: 300}
bodies: {cart: {mass: 2}}
joints:
  rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x, initial: {displacement: 0, velocity: 1}}
laws: {pulse: {type: spline, between: constant, times: [0, T, 2], values: [0, F, 0]}}
forces: {push: {type: drive, coordinate: rail.displacement, value: 1, law: pulse}}
analysis: {formulation: recursive, integrator: rk4, step: 0.01, duration: 0.2}
"""


@pytest.mark.interpreted
def test_energy_is_kept_beside_a_force_that_jumps():
    """Steps of Runge-Kutta methods end at the jump, which the sum over output times does not see."""
    assert loads(JUMPING).run(sensitivity="none").warnings == []


def test_energy_lost_by_an_adaptive_integrator_is_told():
    options = Options(formulation="recursive", integrator="dop853")
    (warning,) = watch(options, energy=lambda b: np.stack([1 - b.time, 0 * b.time, 0 * b.time], axis=1)).warnings
    assert "energy and work differ" in warning and "tighter tolerance" in warning


def test_energy_that_equations_do_not_keep_is_not_blamed_on_the_step():
    health = Health(Options(), fakes.names(), conserves=False)
    for block in blocks(energy=lambda b: np.stack([1 - np.cos(b.time), b.time, b.time], axis=1)):
        health.add(block)
    (warning,) = health.warnings
    assert "to the second order" in warning and "shorter step" not in warning


@pytest.mark.parametrize("stiffening", ["[rotation, acceleration]", "[]"])
def test_equations_of_bodies_that_inertia_stiffens_keep_energy(tmp_path, stiffening):
    text = (ROOT / "models/flexible/spin_up.yaml").read_text().replace("[rotation, acceleration]", stiffening)
    path = tmp_path / "spin_up.yaml"
    path.write_text(text)
    problem = build(load(path, Settings()), Settings(), None).problem
    assert keeps_energy(problem)
    if stiffening != "[]":
        n = int(problem.model.tree.elastic[1] - problem.model.tree.elastic[0])
        theta = problem.theta.copy()
        theta[problem.model.tree.deviation[0] + n * OWN_MODE_ROWS + n * OE1] += 1.0
        assert not keeps_energy(replace(problem, theta=theta))


def test_constraints_that_contradict_each_other_are_said_with_the_time():
    (warning,) = watch(drift=lambda b: np.where(b.time[:, None] > b.time[3], 5e-2, 1e-9) * np.ones(3)).warnings
    since = next(blocks()).time[4]
    assert f"constraints are violated by up to 5.0e-02, first at t = {since:.6g} s: do they contradict" in warning


def test_an_integrator_of_an_open_tree_counts_its_work():
    health = watch(Options(formulation="recursive", integrator="esdirk", max_iterations=1))
    counts = {"steps": 22, "rejected": 11, "evaluations": 330, "jacobians": 44, "factorisations": 55}
    assert health.report["work"] == health.work == counts and health.steps == 22
    assert "iterations" not in health.report and health.warnings == []
    assert watch().work == {} and "work" not in watch().report


def test_singular_positions_are_said_with_time_and_constraints():
    health = Health(Options(), fakes.names())
    for block in blocks():
        singular = np.zeros(block.lambda_.shape, bool)
        singular[1] = True, False, True
        health.add(block._replace(singular=singular))
    (warning,) = health.warnings
    assert "before t = 0.01 s, where cut.0, cut.2 lose their rank, and 1 more" in warning
