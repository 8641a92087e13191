"""Extrapolated central differences find derivatives to near round-off, and know their error."""

import numpy as np
import pytest

from mbsim_cli.study.verification import derivative, scale_of


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_smooth_functions(scale):
    found = derivative(lambda h: np.array([np.exp(h / scale), np.sin(3 * h / scale), (1 + h / scale) ** 7]), scale)
    np.testing.assert_allclose(found.derivative * scale, [1, 3, 7], rtol=1e-9)
    assert np.all(found.error <= 1e-8 * abs(found.derivative))
    assert 0 < found.step < 1e-3 * scale


def test_noise_shows_in_the_estimated_error():
    random = np.random.default_rng(1)
    found = derivative(lambda h: np.sin(h) + 1e-7 * random.standard_normal(400), 1.0)
    actual = abs(found.derivative - 1.0)
    assert np.median(actual) > 1e-5
    assert np.mean(found.error > actual / 3) > 0.8


def test_a_function_that_does_not_depend_has_derivative_zero():
    found = derivative(lambda h: np.array([3.0]), 1.0)
    assert found.derivative[0] == 0.0 == found.error[0]


def test_scale():
    assert (scale_of(-2.0), scale_of(0.0)) == (2.0, 1.0)
