"""Constraints at an instant, against the complex step."""

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import vary_with_velocity
from mbsim_cli.model.codes import Joint
from tests.kernels.instant import EPS, Instant, random_state
from tests.kernels.mechanisms import everything, loop


@pytest.mark.parametrize("at_center", [True, False])
@pytest.mark.parametrize("build", [everything, lambda: loop(Joint.SPHERICAL, Joint.SPHERICAL)])
def test_second_rates_vary_with_velocities_by_twice_the_rate_of_the_jacobian(build, at_center):
    builder = build()
    problem = builder.problem()
    z, zd, zdd, lam = random_state(builder, problem)
    instant = Instant(problem, z, zd, zdd, lam, t=0.05, at_center=at_center)
    dzd = np.random.default_rng(2).normal(size=(z.size, 3))
    found = np.zeros((lam.size, 3))
    vary_with_velocity(1.0, problem.model, instant.eq.lines, instant.eq.line_rates, zd, dzd, instant.kin, found)
    jacobian_rate = Instant(problem, z + 1j * EPS * zd, zd, zdd, lam, t=0.05, at_center=at_center).J.imag / EPS
    assert np.abs(jacobian_rate).max() > 0.1
    np.testing.assert_allclose(found, 2.0 * jacobian_rate @ dzd, atol=1e-12)
