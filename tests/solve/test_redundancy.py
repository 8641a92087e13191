"""Determined and free multipliers of Jacobians with dependent rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.solve.equilibrium import equilibrium
from mbsim_cli.solve.initial import close_position
from mbsim_cli.solve.redundancy import free_multipliers, is_determined, kept_in_range, preimage, undetermined_rows
from tests.kernels.mechanisms import three_cranks
from tests.kernels.test_redundancy import lengths


@pytest.mark.parametrize("seed", range(5))
def test_determined_combinations_give_the_same_for_all_multipliers_of_one_force(seed):
    """Rows in any units: three independent ones, and two that follow from two of them."""
    rng = np.random.default_rng(seed)
    J = np.diag(10.0 ** rng.uniform(-3, 3, 5)) @ np.vstack(
        [rows := rng.normal(size=(3, 6)), rng.normal(size=(2, 2)) @ rows[:2]]
    )
    lam = rng.normal(size=5)
    nu = free_multipliers(J)
    assert nu.shape == (5, 2)
    other = lam + nu @ rng.normal(size=2)
    np.testing.assert_allclose(J.T @ other, J.T @ lam, atol=1e-9 * np.abs(J.T * lam).max())
    combinations = np.vstack([rng.normal(size=(4, 6)) @ J.T, rng.normal(size=(4, 5)), np.eye(5)[2]])
    expected = [True] * 4 + [False] * 4 + [True]
    assert is_determined(J, combinations).tolist() == expected
    values = np.abs(combinations @ (other - lam)) / np.abs(combinations * lam).max(axis=1)
    assert ((values < 1e-7) == expected).all()
    assert undetermined_rows(J).tolist() == [0, 1, 3, 4]


def test_nothing_is_free_where_no_row_depends_on_others():
    J = np.random.default_rng(0).normal(size=(3, 5))
    assert free_multipliers(J).shape == (3, 0)
    assert undetermined_rows(J).size == 0
    assert undetermined_rows(np.zeros((0, 4))).size == 0
    assert undetermined_rows(np.zeros((1, 4))).tolist() == [0]  # an equation that reads nothing


def test_an_equation_that_reads_nothing_has_no_multiplier():
    J, multipliers = np.zeros((1, 4)), np.ones((1, 2))
    assert not kept_in_range(J, multipliers).any() and not preimage(J, multipliers).any()
    assert preimage(J, multipliers).shape == (4, 2) and kept_in_range(J, multipliers[:, 0]).shape == (1,)
    assert free_multipliers(np.zeros((1, 0))).shape == (1, 1)


@pytest.mark.parametrize("held", [(), (0,)])
def test_multipliers_of_an_equilibrium_turn_with_the_jacobian(held):
    """Three cranks on springs; the third equation follows from the others. Against the complex step."""
    builder = three_cranks()
    problem = replace(builder.problem(sensitivity="ddm"), hold=held)
    mass, length = builder.direction(builder.names.index("tree revolute 1:mass")), lengths(builder)["cranks"]
    block = next(equilibrium(replace(problem, theta_rho=np.array([mass, length]).T)))
    assert block.free.all() and not block.broken.any()
    for k, direction in enumerate((mass, length)):
        stepped = next(equilibrium(problem, theta=problem.theta + 1e-30j * direction))
        for found, exact in ((block.d_position, stepped.position), (block.d_lambda, stepped.lambda_)):
            exact = exact[0].imag / 1e-30
            assert np.abs(found[0, :, k] - exact).max() < 1e-9 * np.abs(exact).max() + 1e-12


def test_an_equilibrium_forgets_directions_that_break_the_declared_position():
    """Other positions may be regular; automatic numbers are those of the declared one."""
    builder = three_cranks()
    problem = replace(builder.problem(sensitivity="ddm"), theta_rho=np.zeros((len(builder.theta), 1)))
    closed = close_position(problem)._replace(broken=np.array([3]))
    nothing, dependent = (
        SimpleNamespace(held=held, leaves=np.zeros(8, bool))
        for held in (np.zeros(0, int), closed.partition.columns[:1])
    )
    assert closed.at_equilibrium(problem, nothing).broken.tolist() == [0]
    assert closed.at_equilibrium(replace(problem, broken=((0, 5),)), nothing).broken.tolist() == [5]
    assert closed.at_equilibrium(replace(problem, automatic=((0, 0),)), nothing).broken.tolist() == [3]
    assert closed.at_equilibrium(problem, dependent).broken.tolist() == [3]


def test_many_instants_at_once_are_each_alone():
    """One of them without any equation that moves."""
    rng = np.random.default_rng(5)
    J = rng.normal(size=(4, 5, 2)) @ rng.normal(size=(4, 2, 3))
    J[2] = 0.0
    multipliers = rng.normal(size=(4, 5, 2))
    found, kept = preimage(J, multipliers), kept_in_range(J, multipliers)
    for row in range(4):
        np.testing.assert_allclose(found[row], preimage(J[row], multipliers[row]), atol=1e-9)
        np.testing.assert_allclose(kept[row], kept_in_range(J[row], multipliers[row]), atol=1e-9)
    assert not found[2].any()
