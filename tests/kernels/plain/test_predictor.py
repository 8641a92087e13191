"""Where steps begin: the order that serves best is found by itself."""

import numpy as np
import pytest

from mbsim_cli.kernels.integrators.predictor import ADDED, TERMS, _extrapolate, _shift_differences


def predictions(values, least=1, most=TERMS):
    """What is expected behind each of the values (N, n)."""
    differences, out = np.zeros((values.shape[1], most + 1)), np.zeros_like(values)
    differences[:, 0] = values[0]
    for row, now in enumerate(values):
        for c, value in enumerate(now):
            _shift_differences(value, differences, c)
        _extrapolate(differences, np.array([2.0, 0.5]), least, *np.zeros((2, TERMS + 1)), out[row])
    return out


def errors(values, **terms):
    """Largest errors of predictions, (N - 1,)."""
    return np.abs(predictions(values, **terms)[:-1] - values[1:]).max(axis=1)


T = np.arange(40.0)[:, None]


@pytest.mark.parametrize("degree", range(TERMS))
def test_polynomials_are_followed(degree):
    values = (0.1 * T) ** degree * [1.0, -2.0]
    assert errors(values)[degree + TERMS :].max() <= 1e-9 * np.abs(values).max()


def test_smooth_motion_is_extrapolated_to_its_round_off():
    noise = 1e-10 * np.random.default_rng(0).normal(size=(40, 2))
    found = errors(np.cos(0.05 * T + [0.0, 1.0]) + noise)[TERMS:]
    assert np.median(found) < 2e-8, "a cubic would miss by 6e-6"


def test_behind_a_jump_the_last_value_is_expected():
    values = np.where(T < 20, np.cos(0.1 * T), 5.0 + 0.001 * T) * [1.0, 1.0]
    found = errors(values)
    assert found[20] < 0.1, "a high order would miss by multiples of the jump"
    assert found[20 + TERMS :].max() < 1e-9


def test_ringing_from_step_to_step_is_expected():
    smooth, rings = np.cos(0.05 * T + [0.0, 1.0]), [10.0, -3.0] * (-1.0) ** T
    found = errors(smooth + rings)[TERMS:]
    assert found.max() < 1e-6, "polynomials would miss by 20"


def test_nothing_is_expected_of_round_off():
    values = np.random.default_rng(0).normal(size=(40, 2))
    taken = predictions(values, least=0, most=ADDED)
    assert np.median(np.abs(taken).max(axis=1)) == 0.0
