"""Runge-Kutta methods by name, as the tableaus that the kernels take."""

from collections.abc import Mapping, Sequence

import numpy as np

from mbsim_cli.kernels.integrators.runge_kutta import Tableau
from mbsim_cli.solve import dop853_coefficients as dop853

CONTROLLED = {"dop853": 8}  # order by which the error of controlled steps falls


def tableau(name: str) -> Tableau:
    """The explicit method of that name."""
    return {"rk4": _rk4, "dop853": _dop853}[name]()


def _rk4() -> Tableau:
    """The classical method of order 4; Kutta (1901)."""
    a = np.zeros((5, 5))
    a[1, 0] = a[2, 1] = 0.5
    a[3, 2] = 1.0
    b = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
    return Tableau(a, b, np.array([0.0, 0.5, 0.5, 1.0, 1.0]), np.zeros((2, 5)), np.zeros((0, 5)))


def _dop853() -> Tableau:
    """The pair 8(5,3) of Dormand and Prince, with dense output of order 7."""
    a = _dense(dop853.A, 16)
    return Tableau(a, a[12, :12].copy(), np.array(dop853.C), _dense(dop853.E, 13), _dense(dop853.D, 16))


def _dense(rows: Sequence[Mapping[int, float]], width: int) -> np.ndarray:
    """Matrix from the non-zero entries of its rows."""
    matrix = np.zeros((len(rows), width))
    for row, entries in enumerate(rows):
        for column, value in entries.items():
            matrix[row, column] = value
    return matrix
