"""Levenberg's steps where columns depend on each other."""

import numpy as np
import pytest

from mbsim_cli.solve.least_squares import least_squares

WEAK = 1e-8


def test_columns_that_depend_on_each_other():
    """Of two coordinates the sum counts, of a third hardly anything: the damping falls to round-off."""
    J = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, WEAK]])
    x = least_squares(lambda x: (J @ x - 1.0, J), np.array([2.0, 0.5, 0.0]))
    assert J @ x == pytest.approx([1.0, 1.0], abs=1e-5) and x[0] - x[1] == pytest.approx(1.5)
