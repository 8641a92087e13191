"""Runge-Kutta methods by name, as the tableaus that the kernels take."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau
from mbsim_cli.kernels.integrators.runge_kutta import Tableau
from mbsim_cli.solve.open_trees import dop853_coefficients as dop853


@cache
def tableau(name: str) -> Tableau | ImplicitTableau:
    """The method of that name, not to be written to."""
    return {"rk4": _rk4, "dop853": _dop853, "esdirk": _esdirk}[name]()


def stages_kept(method: Tableau | ImplicitTableau) -> int:
    """Rows of stages in ``drivers.record.Steps``."""
    return method.c.size + (2 if isinstance(method, ImplicitTableau) else 0)


# Integrals over time are summed inside each step by Gauss's rule of order 8, that of ``dop853``.

_NEAR, _FAR = (float(np.sqrt(3 / 7 - sign * 2 / 7 * np.sqrt(6 / 5))) for sign in (1.0, -1.0))
SHARES = 0.5 + 0.5 * np.array([-_FAR, -_NEAR, _NEAR, _FAR])  # of a step that has passed
WEIGHTS = (18.0 + np.sqrt(30.0) * np.array([-1.0, 1.0, 1.0, -1.0])) / 72.0  # of its length


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


def _esdirk() -> ImplicitTableau:
    """ESDIRK4(3)6L[2]SA; Kennedy and Carpenter, Applied Numerical Mathematics 44 (2003), appendix D."""
    a = 0.25 * np.eye(6)
    a[0, 0] = 0.0
    a[1, 0] = 1 / 4
    a[2, :2] = 8611 / 62500, -1743 / 31250
    a[3, :3] = 5012029 / 34652500, -654441 / 2922500, 174375 / 388108
    a[4, :4] = 15267082809 / 155376265600, -71443401 / 120774400, 730878875 / 902184768, 2285395 / 8070912
    a[5, :5] = 82889 / 524892, 0, 15625 / 83664, 69875 / 102672, -2260 / 8211
    embedded = (
        4586570599 / 29645900160, 0, 178811875 / 945068544, 814220225 / 1159782912, -3700637 / 11593932, 61727 / 225920
    )  # fmt: skip
    c = np.array([0, 1 / 2, 83 / 250, 31 / 50, 17 / 20, 1])
    return ImplicitTableau(a, c, np.array([a[5] - embedded, np.zeros(6)]), _ahead(c))


def _ahead(c: np.ndarray) -> np.ndarray:
    """Weights of the parabola through the beginning of the step and the two stages before each; fewer at first."""
    weights = np.zeros((c.size, c.size))
    for i in range(1, c.size):
        known = sorted({0, max(0, i - 2), i - 1})
        for j in known:
            weights[i, j] = np.prod([(c[i] - c[k]) / (c[j] - c[k]) for k in known if k != j])
    return weights


def _dense(rows: Sequence[Mapping[int, float]], width: int) -> np.ndarray:
    """Matrix from the non-zero entries of its rows."""
    matrix = np.zeros((len(rows), width))
    for row, entries in enumerate(rows):
        for column, value in entries.items():
            matrix[row, column] = value
    return matrix
