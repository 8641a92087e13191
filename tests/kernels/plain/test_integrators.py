"""A few steps of all integrators of open trees, in plain Python."""

import pytest

from mbsim_cli.model.problem import OPEN_TREES
from tests.kernels.test_integrators import assert_gradient_is_that_of_the_steps

CASES = [("rk4", "recursive"), ("dop853", "partial_recursive"), *(("esdirk", name) for name in OPEN_TREES)]


@pytest.mark.parametrize(("integrator", "formulation"), CASES)
def test_gradient(integrator, formulation):
    loose = {"tolerance": 1e-5, "absolute_tolerance": 1e-5}  # two or three steps, and some that are rejected
    assert_gradient_is_that_of_the_steps(integrator, 240, steps=1, formulation=formulation, duration=1.0, **loose)
