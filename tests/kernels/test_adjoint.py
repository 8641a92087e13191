"""Adjoint gradients of whole simulations against direct ones, by every kind of number, and the complex step.

The loops run over the enumerations of ``codes``, as those of ``test_sensitivities``.
"""

import numpy as np
import pytest

from mbsim_cli.errors import UsageError
from mbsim_cli.model.codes import Joint, Sensor
from tests.kernels.adjoint import adjoint, assert_adjoint, weights_of
from tests.kernels.mechanisms import everything, four_bar, loop, three_cranks
from tests.kernels.test_sensitivities import CONFIGURATIONS, by_block, configuration

SHORTEST = 1e-3  # below it round-off of accelerations takes more than 1e-9 of them
CHOSEN = [k for k in range(len(CONFIGURATIONS)) if configuration(k)["step"] >= SHORTEST]


@pytest.mark.parametrize("cut", Joint, ids=lambda joint: joint.name.lower())
@pytest.mark.parametrize("tree", Joint, ids=lambda joint: joint.name.lower())
def test_every_tree_joint_with_every_cut_joint(tree, cut):
    builder = loop(tree, cut)
    builder.every_sensor()
    problem = builder.problem(**configuration(CHOSEN[(8 * tree + cut) % len(CHOSEN)]))
    assert_adjoint(problem, by_block(builder), steps=5)


@pytest.mark.slow  # minutes of compilation, as the next ones
@pytest.mark.parametrize("k", CHOSEN)
def test_everything_with_every_option(k):
    builder = everything()
    problem = builder.problem(**configuration(k))
    assert_adjoint(problem, by_block(builder), steps=2 if problem.options.step > SHORTEST else 10)


@pytest.mark.slow
def test_every_number_of_a_model_of_everything():
    builder = everything()
    assert_adjoint(builder.problem(**configuration(CHOSEN[0])), builder.directions(), steps=2)


@pytest.mark.parametrize("build", [four_bar, three_cranks])
def test_redundant_constraints(build):
    builder = build()
    builder.sensor(Sensor.ACCELERATION, body=1)
    builder.sensor(Sensor.KINETIC_ENERGY)
    problem = builder.problem(step=1e-3, tolerance=1e-13)
    unbroken = {name: d for name, d in by_block(builder).items() if name.startswith(("gravity", "force", "initial"))}
    masses = {n: d for n, d in builder.directions().items() if n.split(":")[1] in ("mass", "com.x", "inertia.zz")}
    assert_adjoint(problem, unbroken | masses, 10)


@pytest.mark.slow
def test_a_run_made_once_more_gives_the_same_gradient_to_the_last_bit():
    builder = everything()
    problem = builder.problem(step=1e-3)
    directions, weights = list(by_block(builder).values()), weights_of(problem, 14)
    whole = adjoint(problem, directions, 14, weights)
    again = adjoint(problem, directions, 14, weights, memory=60e3, block_steps=4)
    assert np.array_equal(whole, again)
    with pytest.raises(UsageError, match="of memory are too few for the adjoint: 14 steps take"):
        adjoint(problem, directions, 14, weights, memory=1e3, block_steps=4)
