"""Whole motions: order of the trapezoidal rule, energy, momentum, both formulations, redundant constraints."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbsim_cli.kernels.integrators.ali3p import CHECKED, ONCE
from mbsim_cli.model.codes import Axes, Force, Joint, Measure, Sensor
from mbsim_cli.model.layout import COM, GROUND
from tests.kernels.differentiate import simulate
from tests.kernels.mechanisms import everything, four_bar, loop
from tests.kernels.models import Builder

FEW = settings(max_examples=6)


def with_step(problem, step, **options):
    """The same problem with another step."""
    return replace(problem, options=replace(problem.options, step=step, **options))


def test_trapezoidal_rule_is_of_second_order():
    problem = loop(Joint.SPHERICAL, Joint.UNIVERSAL).problem()
    steps = (0.008, 0.004, 0.002, 0.001)
    ends = [simulate(with_step(problem, h), round(0.2 / h))["position"][-1] for h in steps]
    change = [np.abs(a - b).max() for a, b in itertools.pairwise(ends)]
    ratios = np.array(change[:-1]) / change[1:]
    assert np.all((ratios > 3.6) & (ratios < 4.4)), ratios


def test_formulations_agree():
    problem = loop(Joint.FLOATING, Joint.REVOLUTE).problem(step=1e-3)
    one, two = (simulate(with_step(problem, 1e-3, formulation=f), 200) for f in ("ali3p-rtdyn0", "ali3p-rtdyn1"))
    for name in ("position", "velocity", "acceleration"):
        assert np.abs(one[name] - two[name]).max() <= 1e-9 * np.abs(one[name]).max(), name


def test_a_first_correction_ends_a_step_only_behind_few_and_at_most_seven_times_in_a_row():
    counts = simulate(four_bar().problem(step=1e-4), 60)["iterations"]
    (ones,) = np.nonzero(counts[1:] == 1)
    assert len(ones) and (counts[ones] <= ONCE).all(), counts
    ends = "".join("1" if count == 1 else " " for count in counts).split()
    assert max(map(len, ends)) == CHECKED - 1, counts


def test_constraints_hold_to_all_orders():
    drift = simulate(everything(own=False).problem(step=1e-3), 15)["drift"]
    assert drift[:, 0].max() < 1e-12
    assert drift[:, 1].max() < 1e-9
    assert drift[:, 2].max() < 1e-7


def test_free_body_keeps_its_energy_and_momentum():
    builder = Builder(6, gravity=(0, 0, 0))
    body = builder.body(Joint.FLOATING)
    builder.sensor(Sensor.VELOCITY, body=body)
    builder.sensor(Sensor.KINETIC_ENERGY)
    o = builder.bodies[body].theta
    point = builder.sensors[0][4]
    builder.theta[point : point + 3] = builder.theta[o + COM : o + COM + 3]
    sensors = simulate(builder.problem(step=1e-3), 500)["sensors"]
    assert np.abs(sensors[:, :3] - sensors[0, :3]).max() < 1e-6
    assert np.abs(sensors[:, 3] / sensors[0, 3] - 1).max() < 1e-6


@FEW
@given(st.lists(st.sampled_from([j for j in Joint if j != Joint.FIXED]), min_size=1, max_size=4), st.integers(0, 10**6))
def test_power_balance(kinds, seed):
    """The energy changes by the power of all other forces, to the square of the step."""
    builder = Builder(seed)
    for i, joint in enumerate(kinds):
        builder.body(joint, int(builder.rng.integers(GROUND, i)))
    last = len(kinds) - 1
    builder.along(builder.geometric(Measure.DISTANCE, GROUND, last))
    builder.applied(Force.POINT_FORCE, last, Axes.BODY)
    builder.applied(Force.TORQUE, last, Axes.GLOBAL)
    problem = builder.problem()

    def defect(step):
        kinetic, potential, power = simulate(with_step(problem, step), round(0.04 / step))["energy"].T
        change = np.diff(kinetic + potential)
        return np.abs(change.sum() - np.trapezoid(power, dx=step)), np.abs(change).max() + np.ptp(kinetic)

    (coarse, size), (fine, _) = defect(2e-3), defect(1e-3)
    assert fine < 1e-3 * size
    assert fine < 0.35 * coarse + 1e-9 * size


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1"])
def test_redundant_four_bar_moves_as_the_planar_one(formulation):
    redundant, planar = four_bar(), four_bar()
    planar.equations = planar.equations[:2]
    long, short = (simulate(b.problem(step=1e-3, formulation=formulation), 300) for b in (redundant, planar))
    for name in ("position", "velocity", "acceleration"):
        assert np.abs(long[name] - short[name]).max() <= 1e-8 * np.abs(short[name]).max(), name
