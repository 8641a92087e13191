"""Codes among a few, as numpy finds them."""

import numpy as np
import pytest

from mbsim_cli.model.among import among
from mbsim_cli.model.codes import EULER_PARAMETERS, TRANSLATIONS, TURNING, Column, Measure


@pytest.mark.parametrize("few", [TRANSLATIONS, TURNING, EULER_PARAMETERS, (Measure.ANGLE,), ()])
@pytest.mark.parametrize("codes", [np.array([int(c) for c in Column]), np.arange(9)[::-2], np.zeros(0, int)])
def test_among(codes, few):
    assert np.array_equal(among(codes, few), np.isin(codes, few))
