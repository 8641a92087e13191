"""Codes among a few, and numbers that are not, as numpy finds them."""

import numpy as np
import pytest

from mbsim_cli.model.codes import EULER_PARAMETERS, TRANSLATIONS, TURNING, Column, Measure
from mbsim_cli.model.coordinates import all_but, among


@pytest.mark.parametrize("few", [TRANSLATIONS, TURNING, EULER_PARAMETERS, (Measure.ANGLE,), ()])
@pytest.mark.parametrize("codes", [np.array([int(c) for c in Column]), np.arange(9)[::-2], np.zeros(0, int)])
def test_among(codes, few):
    assert np.array_equal(among(codes, few), np.isin(codes, few))


@pytest.mark.parametrize("few", [[], [0], [4, 1, 4], np.zeros(0, int), np.array([2, 3]), np.arange(5)])
def test_all_but(few):
    assert np.array_equal(all_but(5, few), np.setdiff1d(np.arange(5), few))
