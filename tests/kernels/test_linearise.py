"""One instant: the tangent and all variations against the complex step of the residual."""

import numpy as np
import pytest

from mbsim_cli.model.codes import Joint
from tests.kernels.instant import EPS, Instant, random_state
from tests.kernels.mechanisms import everything, loop

CASES = {"everything": everything, **{f"{j.name.lower()}": (lambda j=j: loop(j, j)) for j in Joint}}


@pytest.fixture(params=[pytest.param("everything", marks=pytest.mark.slow), *list(CASES)[1:]])  # a minute to compile
def case(request):
    builder = CASES[request.param]()
    problem = builder.problem()
    return builder, problem, random_state(builder, problem)


@pytest.mark.parametrize("at_center", [True, False])
@pytest.mark.parametrize(("beta", "gamma"), [(5e-4, 2.5e-7), (0.15, 0.0225), (0.2, 0.07)])
def test_tangent_is_the_derivative_of_the_residual(case, beta, gamma, at_center):
    _, problem, (z, zd, zdd, lam) = case
    T = Instant(problem, z, zd, zdd, lam, t=0.05, factors=(beta, gamma), at_center=at_center).T
    exact = np.empty_like(T)
    for c, one in enumerate(np.eye(z.size) * 1j * EPS):
        moved = z + gamma * one, zd + beta * one, zdd + one
        exact[:, c] = Instant(problem, *moved, lam, t=0.05, at_center=at_center).G.imag / EPS
    assert np.abs(T - exact).max() <= 1e-12 * np.abs(exact).max()


def test_variations_along_every_number(case):
    builder, problem, state = case
    z, _zd, _zdd, lam = state
    directions = builder.directions()
    rng = np.random.default_rng(3)
    d_state = rng.normal(size=(3, z.size, len(directions)))
    found = Instant(problem, *state, t=0.05, directions=(np.array(list(directions.values())), *d_state))
    for k, (name, direction) in enumerate(directions.items()):
        moved = [value + 1j * EPS * d[:, k] for value, d in zip(state, d_state, strict=False)]
        exact = Instant(problem, *moved, lam, t=0.05, theta=problem.theta + 1j * EPS * direction)
        for output, variation in (("G", found.dG), ("phi", found.dphi), ("measures", found.d_measures)):
            derivative = getattr(exact, output).imag / EPS
            error = np.abs(variation[..., k] - derivative).max(initial=0.0)
            assert error <= 1e-12 * max(1.0, np.abs(derivative).max(initial=0.0)), (name, output)
