"""Random mechanisms with bodies that deform: gradients by three ways, and what a motion keeps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mbsim_cli.errors import AnalysisError
from tests.campaign.flexible import FAMILIES, flexible_flier, flexible_tree, problem_of
from tests.campaign.momentum import histories
from tests.campaign.rich_flexible import RICH_FAMILIES
from tests.kernels.adjoint import adjoint, summed, weights_of
from tests.kernels.differentiate import EPS, assert_agree, complex_step, direct
from tests.kernels.open_tree_adjoint import sensors

STEPS = 3


def check_gradients(family, seed, file):
    """Compare all derivatives that exist; whether there is one."""
    problem = problem_of((FAMILIES | RICH_FAMILIES)[family](seed, file), steps=STEPS, sensitivity="ddm")
    # projections are solved to a share of their correction, which the complex step sees and a penalty makes smaller
    problem = replace(problem, options=replace(problem.options, penalty=1e11))
    directions = dict(zip(problem.names.parameters, problem.theta_rho.T, strict=True))
    try:
        found = direct(problem, list(directions.values()), STEPS)["d_sensors"]
    except AnalysisError:  # steps that are too long for what starts violently
        return False
    # at a singular position there is no derivative along some; runs say so
    known = {name: d for k, (name, d) in enumerate(directions.items()) if d.any() and np.isfinite(found[..., k]).all()}
    if not known:
        return False
    assert_agree(problem, known, STEPS, ("position", "velocity", "acceleration", "sensors"))
    weights = weights_of(problem, STEPS)
    exact = np.stack([complex_step(problem, d, STEPS)["sensors"] for d in known.values()], axis=-1)
    sums = summed(exact, weights)
    pulled = adjoint(problem, list(known.values()), STEPS, weights)
    assert (np.abs(pulled - sums) <= 1e-9 * np.abs(sums).max(axis=0)).all(), (pulled, sums)
    return True


@pytest.mark.slow
@settings(max_examples=30)
@given(family=st.sampled_from(list(FAMILIES)), seed=st.integers(0, 10**9))
def test_direct_adjoint_and_complex_step(file, family, seed):
    assume(check_gradients(family, seed, file))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", RICH_FAMILIES)
def test_gradients_under_forces_of_all_kinds(file, family, seed):
    assert check_gradients(family, seed, file)


def check_balances(seed, file, step=2e-4, steps=25):
    """What is kept drifts by the square of the step."""
    data = flexible_flier(seed, file)
    coarse, fine = (histories(data, step / part, steps * part) for part in (1, 2))
    for what, one, other in zip(("momentum", "angular momentum", "energy"), coarse, fine, strict=True):
        size = np.abs(one).max()
        drifts = [np.abs(found - found[0]).max() for found in (one, other)]
        assert drifts[0] < 0.1 * size, (what, drifts, size)
        assert drifts[1] < 0.3 * drifts[0] + 1e-9 * size, (what, drifts, size)


@pytest.mark.slow
@settings(max_examples=30)
@given(seed=st.integers(0, 10**9))
def test_momentum_and_energy_are_kept(file, seed):
    check_balances(seed, file)


def check_open_tree(seed, file):
    """By articulated bodies: the motion that dense matrices give, and gradients by three ways."""
    problem = problem_of(
        flexible_tree(seed, file), steps=1, sensitivity="ddm", formulation="recursive", integrator="rk4"
    )
    problem = replace(problem, theta_rho=problem.theta_rho[:, problem.theta_rho.any(axis=0)])
    plain, dense = (
        replace(problem, options=replace(problem.options, sensitivity="none", formulation=name))
        for name in ("recursive", "partial_recursive")
    )
    found, expected = sensors(plain), sensors(dense)
    assert (np.abs(found - expected) <= 1e-10 * np.abs(expected).max()).all()
    directions, weights = list(problem.theta_rho.T), weights_of(problem, 1)
    steps = (problem.theta + 1j * EPS * direction for direction in directions)
    exact = np.array([summed(sensors(plain, moved).imag / EPS, weights) for moved in steps])
    size = np.abs(exact).max(axis=0)
    for gradient in (summed(sensors(problem, field="d_sensors"), weights), adjoint(problem, directions, 1, weights)):
        assert (np.abs(gradient - exact) <= 1e-9 * size).all(), (gradient, exact)


@pytest.mark.slow
@settings(max_examples=30)
@given(seed=st.integers(0, 10**9))
def test_open_trees_by_articulated_bodies(file, seed):
    check_open_tree(seed, file)
