"""Instants of a prescribed motion: laws and tables evaluated, with their derivatives by the parameters."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.motion.workspace import law_entries
from mbsim_cli.kernels.drivers.inverse_dynamics import prescribe, pull_prescribed, vary_prescribed
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.model.problem import Motion, Prescribed, Problem


class MotionVariation(NamedTuple):
    """Derivatives (B, n, p) of a motion by the parameters."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class Trajectory:
    """A prescribed motion; ``varies`` says which parameters change it."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._given: Prescribed = problem.prescribed
        self._laws, self._theta = problem.model.laws, problem.theta
        table = self._given.table
        self._table = with_slopes(self._given.table_time, table)
        self._dtheta = problem.theta_rho
        entries = np.concatenate(
            [law_entries(self._laws, self._given.law[self._given.law >= 0].tolist()), self._given.table_scale]
        )
        self.varies = np.flatnonzero(np.any(self._dtheta[entries] != 0.0, axis=0))
        self._distinct, self._follows = np.unique(self._given.law, return_inverse=True)

    def at(self, time: np.ndarray) -> Motion:
        """The motion at times (B,)."""
        shape, dtype = (len(time), len(self._distinct)), self._theta.dtype
        time = np.ascontiguousarray(time, dtype=float)
        of_laws = [np.zeros(shape, dtype) for _ in range(3)]
        prescribe(self._laws, self._theta, self._distinct, np.ones(shape[1]), time, *of_laws)
        motion = Motion(time, *(self._given.sign * values.take(self._follows, axis=1) for values in of_laws))
        columns, factors = self._given.table_column, self._theta[self._given.table_scale]
        if columns.size:
            for stored, values in zip(motion[1:], self._from_table(time), strict=True):
                stored[:, columns] = factors * values
        return motion

    def _from_table(self, time: np.ndarray) -> tuple[np.ndarray, ...]:
        """Columns (B, k) of the table and their rates, without the factors on them."""
        sign = self._given.sign[self._given.table_column]
        return tuple(sign * values for values in self._continued(time))

    def _continued(self, time: np.ndarray) -> tuple[np.ndarray, ...]:
        """The table and its rates (B, k); beyond its ends it holds, or goes on straight."""
        knots, extrapolate = self._given.table_time, self._given.extrapolate
        if extrapolate == "none":
            return hermite(knots, self._table, time)
        within = np.clip(time, knots[0], knots[-1])
        beyond = (time - within)[:, None]
        value, rate, second = hermite(knots, self._table, within)
        if extrapolate == "hold":
            return value, np.where(beyond, 0.0, rate), np.where(beyond, 0.0, second)
        return value + beyond * rate, rate, np.where(beyond, 0.0, second)

    def variation(self, time: np.ndarray) -> MotionVariation:
        """Derivatives (B, n, k) by the k parameters that ``varies`` lists."""
        shape = (len(time), len(self._given.law), len(self.varies))
        varied = MotionVariation(*(np.zeros(shape, self._theta.dtype) for _ in range(3)))
        dtheta = np.ascontiguousarray(self._dtheta[:, self.varies])
        prescribe_arguments = (self._given.law, self._given.sign, np.ascontiguousarray(time, dtype=float))
        vary_prescribed(self._laws, self._theta, dtheta, *prescribe_arguments, *varied)
        columns, factors = self._given.table_column, dtheta[self._given.table_scale]
        if factors.any():
            for stored, values in zip(varied, self._from_table(time), strict=True):
                stored[:, columns] = values[:, :, None] * factors
        return varied

    def pull_back(self, time: np.ndarray, hat: MotionCovectors, theta_out: np.ndarray) -> None:
        """Add to theta_out (len(theta), p), of laws and factors, what covectors of the motion (B, n, p) make."""
        if not self.varies.size:  # nothing to compile for
            return
        rates = hat.z, hat.zd, hat.zdd
        pull_prescribed(self._laws, self._theta, self._given.law, self._given.sign, time, *rates, theta_out)
        columns = self._given.table_column
        if columns.size:
            for values, covector in zip(self._from_table(time), rates, strict=True):
                products = np.einsum("bc,bcp->cp", values, covector[:, columns])
                np.add.at(theta_out, self._given.table_scale, products)


def with_slopes(time: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Positions (1, K, k) with the slopes (1, K, k) of the cubic spline through them, one column at a time.

    A table of positions, velocities and accelerations (3, K, k) stays.
    """
    if table.shape[0] == 3:
        return table
    if table.shape[2] == 0:
        return np.concatenate([table, table])
    from scipy.interpolate import CubicSpline  # slow to import, and laws need none

    slopes = np.empty_like(table[0])
    for column in range(table.shape[2]):
        slopes[:, column] = CubicSpline(time, table[0, :, column])(time, 1)
    return np.stack([table[0], slopes])


def hermite(knots: np.ndarray, table: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, first and second derivative (B, k) of the polynomials between knots that meet the table's rows.

    Cubics meet positions and slopes (2, K, k), quintics accelerations too (3, K, k).
    """
    piece = np.clip(np.searchsorted(knots, time, side="right") - 1, 0, len(knots) - 2)
    h = (knots[piece + 1] - knots[piece])[:, None]
    s = (time - knots[piece])[:, None] / h
    left, right = table[:, piece], table[:, piece + 1]
    rise = right[0] - left[0]
    if len(table) == 2:
        c = (left[0], h * left[1], 3 * rise - h * (2 * left[1] + right[1]), h * (left[1] + right[1]) - 2 * rise)
    else:
        a, b = h * h * left[2], h * h * right[2]
        u, v = h * left[1], h * right[1]
        c = (
            left[0], u, 0.5 * a,
            10 * rise - 6 * u - 4 * v - 1.5 * a + 0.5 * b,
            -15 * rise + 8 * u + 7 * v + 1.5 * a - b,
            6 * rise - 3 * u - 3 * v - 0.5 * a + 0.5 * b,
        )  # fmt: skip
    value, rate, half = np.zeros_like(rise), np.zeros_like(rise), np.zeros_like(rise)
    for coefficient in reversed(c):
        half = half * s + rate
        rate = rate * s + value
        value = value * s + coefficient
    return value, rate / h, 2 * half / (h * h)
