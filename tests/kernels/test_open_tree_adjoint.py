"""Adjoint gradients of open trees by all integrators, on trees of all joints, forces, laws and sensors."""

import numpy as np
import pytest

from mbsim_cli.errors import UsageError
from mbsim_cli.model.codes import Joint, Sensor
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation
from tests.kernels.adjoint import adjoint, weights_of
from tests.kernels.mechanisms import everything_open
from tests.kernels.open_tree_adjoint import assert_adjoint, assert_near_direct, chosen
from tests.kernels.test_open_trees import FORMULATIONS, every_joint, random_tree

LOOSE = {"tolerance": 1e-3, "absolute_tolerance": 1e-3}
# steps of several rows, so that most rows lie inside, and several steps a row
RUNS = [("rk4", 1e-3), ("dop853", 1e-4), ("dop853", 1e-2)]
IMPLICIT = pytest.param("esdirk", 1e-4, marks=pytest.mark.slow)  # compiling it takes a minute


def seen_everywhere():
    """A tree of all joints with every sensor, whose kernels random trees share."""
    builder = every_joint()
    builder.every_sensor()
    return builder


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "step"), [*RUNS, IMPLICIT])
def test_everything(integrator, step):
    options = {"integrator": integrator, "step": step, "formulation": "recursive"} | LOOSE
    assert_adjoint(everything_open(), 12, stepped=False, **options)


@pytest.mark.parametrize(("integrator", "step"), [*RUNS, IMPLICIT])
@pytest.mark.parametrize("seed", range(5))
def test_random_trees(integrator, step, seed):
    kinds = np.random.default_rng(seed).choice(list(Joint), 5)
    builder = random_tree([Joint(kind) for kind in kinds], seed)
    builder.every_sensor()
    assert_adjoint(builder, 8, stepped=False, integrator=integrator, step=step, formulation="recursive", **LOOSE)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["rk4", "dop853", "esdirk"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation(formulation, integrator):
    assert_adjoint(everything_open(), 6, integrator=integrator, step=1e-4, formulation=formulation, **LOOSE)


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "step"), RUNS)
def test_a_sum_alone_has_the_gradient_that_it_has_beside_others(integrator, step):
    """It is pulled back by itself, by other instructions."""
    builder, rows = everything_open(), 12
    problem = chosen(builder.problem(), rows, integrator=integrator, step=step, formulation="recursive", **LOOSE)
    directions, weights = list(builder.directions().values()), weights_of(problem, rows)
    both, alone = (adjoint(problem, directions, rows, some) for some in (weights, weights[:, :, :1]))
    assert np.abs(both[:, :1] - alone).max() <= 1e-12 * np.abs(alone).max()


@pytest.mark.parametrize(("integrator", "step"), RUNS[1:])
def test_rows_that_see_no_accelerations(integrator, step):
    """Inside a step there is nothing to solve for them; driven coordinates have their laws all the same."""
    builder, rows = seen_everywhere(), 12
    problem = chosen(builder.problem(), rows, integrator=integrator, step=step, formulation="recursive", **LOOSE)
    numbers, weights, seen = list(builder.directions().values()), weights_of(problem, rows), problem.model.sensors
    weights[:, ~np.repeat((seen.kind == Sensor.COORDINATE) & (seen.order < 2), np.diff(seen.first))] = 0.0
    assert_near_direct(problem, numbers, rows, weights)


@pytest.mark.parametrize(("integrator", "step", "memory"), [("rk4", 1e-3, 70e3), ("dop853", 1e-4, 180e3)])
def test_a_run_made_once_more_gives_the_same_gradient_to_the_last_bit(integrator, step, memory, monkeypatch):
    builder, rows = seen_everywhere(), 16
    problem = chosen(builder.problem(), rows, integrator=integrator, step=step, formulation="recursive", **LOOSE)
    directions, weights = list(builder.directions().values())[::20], weights_of(problem, rows)
    again, honest = [], OpenTreeSimulation.replay
    monkeypatch.setattr(OpenTreeSimulation, "replay", lambda *given: again.append(given) or honest(*given))
    whole = adjoint(problem, directions, rows, weights, block_steps=4)
    assert not again
    assert np.array_equal(whole, adjoint(problem, directions, rows, weights, memory=memory, block_steps=4)) and again
    with pytest.raises(UsageError, match="of memory are too few for the adjoint"):
        adjoint(problem, directions, rows, weights, memory=1e4, block_steps=4)
