"""Adjoint gradients of whole runs in natural coordinates against direct ones, by every kind of number.

The mechanisms are those of ``test_natural_pull_backs``, which has the pull-backs of their parts.
"""

import pytest

from mbsim_cli.model.codes import Joint, Sensor
from tests.kernels.adjoint import assert_adjoint
from tests.kernels.mechanisms import four_bar, loop, three_cranks
from tests.kernels.natural import natural_problem, sensed
from tests.kernels.plain.test_natural_pull_backs import everything
from tests.kernels.test_sensitivities import by_block


def along_all(builder, **options):
    """A builder's problem, and the directions that it is differentiated along."""
    builder.problem()  # which adds the initial motion to the numbers
    directions = by_block(builder)
    return natural_problem(builder, list(directions.values()), **options), directions


@pytest.mark.slow
def test_everything():
    problem, directions = along_all(everything(), step=2e-3)
    assert_adjoint(problem, directions, steps=2)


@pytest.mark.slow
@pytest.mark.parametrize("tree", Joint, ids=lambda joint: joint.name.lower())
def test_loops_of_all_joints(tree):
    cut = Joint((tree + 3) % len(Joint))
    options = {"projection": ("mass", "identity")[tree % 2], "step": 2e-3}
    problem, directions = along_all(sensed(loop(tree, cut)), **options)
    assert_adjoint(problem, directions, steps=2)


@pytest.mark.parametrize("build", [four_bar, three_cranks])
def test_redundant_constraints(build):
    builder = build()
    builder.sensors = [sensor for sensor in builder.sensors if sensor[0] != Sensor.MULTIPLIER]  # not determined
    builder.sensor(Sensor.ACCELERATION, body=1)
    builder.sensor(Sensor.KINETIC_ENERGY)
    builder.problem()
    unbroken = {name: d for name, d in by_block(builder).items() if name.startswith(("gravity", "force", "initial"))}
    masses = {n: d for n, d in builder.directions().items() if n.split(":")[1] in ("mass", "com.x", "inertia.zz")}
    directions = unbroken | masses
    problem = natural_problem(builder, list(directions.values()), step=1e-3, tolerance=1e-13)
    assert_adjoint(problem, directions, 5)
