"""Inverse dynamics of mechanisms with loops: forces of drives along a motion given by as many coordinates as freedoms.

The motion is that of a driven mechanism (``solve.kinematics``) whose laws take no force. With y a virtual motion,

    M z'' - Q + J^T lambda = B tau,   J y = 0,   W tau = B^T y,

J of the constraints but for the laws: with more drives than freedoms tau is the least sum of weighted squares, with as
many the only one. Derivation: docs/theory/inverse_dynamics.md, section 7.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Block, Drives, InverseBlock, Problem
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.blocks import side_by_side
from mbsim_cli.solve.forward import in_blocks
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.inverse.analysis import Trajectory
from mbsim_cli.solve.kinematics import Following, Lost, Sampler

SAMPLES = 128  # in a block
IDLE = 1e-9  # singular value of the motions of drives, relative, below which the mechanism moves without them


class Driven(NamedTuple):
    """Forces of the drives at a sample."""

    torque: np.ndarray  # (n,) zero where nothing drives
    virtual: np.ndarray  # (n,) y
    by: np.ndarray  # (n, p + 3 f) by parameters, then by positions, velocities and accelerations of the motion


def drives_of(problem: Problem) -> Drives:
    """The drives of a problem with loops."""
    assert problem.drives is not None
    return problem.drives


class Steered(Instant):
    """A time point of which a table gives coordinates; along directions from ``units`` on its motion changes by one."""

    def __init__(
        self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray, beside: Instant | None, units: int | None
    ) -> None:
        drives = self._drives = drives_of(problem)
        self._units = units if dtheta.shape[1] else None
        self._start: tuple[np.ndarray, np.ndarray] | None = None
        self._trajectory = Trajectory(problem) if drives.tabled.size else None
        self._row, self._column = drives.row[drives.tabled], drives.column[drives.tabled]
        self._sign = drives.sign[drives.tabled]
        super().__init__(problem, theta, dtheta, beside)

    def evaluate(self, t: float = 0.0) -> None:
        """Evaluate the current state with the constraints of the motion at the time."""
        super().evaluate(t)
        if self._trajectory is not None:
            self._follow(self._trajectory, t)
        if self._units is not None:
            f = self._drives.row.size
            for level in range(3):
                first = self._units + level * f
                self.out.dphi[level, self._drives.row, np.arange(first, first + f)] -= 1.0

    def _follow(self, trajectory: Trajectory, t: float) -> None:
        """Add the change of the tabled coordinates since the start to the constraints' right-hand sides."""
        varies = trajectory.varies
        if self._start is None:
            begin = np.zeros(1)
            self._start = trajectory.at(begin).position[0], trajectory.variation(begin)[0][0]
        now, change = trajectory.at(np.array([t])), trajectory.variation(np.array([t]))
        eq, (start, d_start) = self.work.eq, self._start
        for level, phi in enumerate((eq.phi, eq.phi1, eq.phi2)):
            value, variation = now[level + 1][0], change[level][0]
            if level == 0:
                value, variation = value - start, variation - d_start
            phi[self._row] -= self._sign * value[self._column]
            if self.p:
                rows = np.ix_(self._row, varies)
                self.out.dphi[level][rows] -= self._sign[:, None] * variation[self._column]


class DriveSampler(Sampler):
    """Samples of a motion, and the forces of the drives there."""

    def __init__(self, problem: Problem, start: Initial, dtheta: np.ndarray, *, matrices: bool) -> None:
        self.drives = drives_of(problem)
        self.p, f = problem.theta_rho.shape[1] if dtheta.shape[1] else 0, self.drives.row.size
        if matrices:
            width = self.p + 3 * f
            wide = np.zeros((dtheta.shape[0], padded(width)), dtheta.dtype)
            wide[:, : self.p] = dtheta[:, : self.p]
            dtheta = wide
        super().__init__(problem, start, dtheta, partial(Steered, units=self.p if matrices else None))
        self.weight = start.theta[self.drives.weight]
        self.found: list[Driven] = []  # of the samples that no block has yet

    def _balance(self, time: float) -> None:
        at, n, drive = self.at, self.at.n, self.drives.drive
        self.loops = np.setdiff1d(self.path.rows, self.drives.row)
        self._require_drives(time)
        J, k = at.work.eq.J[self.loops], self.loops.size
        matrix = saddle(J, drive, self.weight)
        x = np.linalg.solve(matrix, np.concatenate([-at.work.eq.G, np.zeros(k)]))
        y = x[:n]
        at.state.lam[self.loops] = x[n:]
        torque = np.zeros(n, at.dtype)
        torque[drive] = y[drive] / self.weight
        by = np.zeros((n, at.p), at.dtype)
        if at.p:
            turned = self._turned(time, y)
            at.evaluate(time)
            d_inverse = -at.dtheta[self.drives.weight] / self.weight[:, None] ** 2  # of 1/w
            right = np.concatenate([-at.out.dG, -turned])
            right[drive] += d_inverse * y[drive, None]
            dx = np.linalg.solve(matrix, right)
            at.sens.lam[self.loops] = dx[n:]
            by[drive] = dx[drive] / self.weight[:, None] + d_inverse * y[drive, None]
        at.evaluate(time)
        self.found.append(Driven(torque, y, by))

    def _turned(self, time: float, y: np.ndarray) -> np.ndarray:
        """How J y (k, p) changes along the directions while y stays: by Phi' with velocities y, less that at rest."""
        at = self.at
        velocity, rates = at.state.zd.copy(), at.sens.zd.copy()
        at.sens.zd[:] = 0.0
        found = []
        for moving in (y, np.zeros_like(y)):
            at.state.zd[:] = moving
            at.evaluate(time)
            found.append(at.out.dphi[1][self.loops].copy())
        at.state.zd[:], at.sens.zd[:] = velocity, rates
        return found[0] - found[1]

    def _require_drives(self, time: float) -> None:
        """Raise Lost if the mechanism can move while the drives stand still."""
        J = self.at.work.eq.J[self.path.rows].real
        unit = np.zeros((self.path.rows.size, self.drives.row.size))
        unit[np.searchsorted(self.path.rows, self.drives.row), np.arange(self.drives.row.size)] = 1.0
        motions = np.linalg.solve(J, unit)
        of_drives = motions[self.drives.drive] / np.abs(motions).max(axis=0)
        lengths = np.linalg.norm(of_drives, axis=1)
        sizes = np.linalg.svd(of_drives / np.where(lengths > 0.0, lengths, 1.0)[:, None], compute_uv=False)
        if sizes.size and sizes[-1] <= IDLE * max(sizes[0], IDLE):
            names = self.path.names.coordinates
            drives = ", ".join(names[c].lstrip("-") for c in self.drives.drive)
            raise Lost(f"at t = {time:.6g} s the mechanism can move while its drives stand still: {drives}")


def saddle(J: np.ndarray, drive: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The matrix of y and lambda: [[-B W^-1 B^T, J^T], [J, 0]] of J (..., k, n)."""
    k, n = J.shape[-2:]
    out = np.zeros((*J.shape[:-2], n + k, n + k), J.dtype)
    out[..., drive, drive] = -1.0 / weight
    out[..., :n, n:] = J.swapaxes(-1, -2)
    out[..., n:, :n] = J
    return out


class FollowingDrives(Following):
    """Samples in progress, with the forces of the drives."""

    def _sampling(self) -> DriveSampler:
        matrices = self.problem.options.sensitivity == "ddm"
        return DriveSampler(self.problem, self._start, self.directions.dtheta, matrices=matrices)

    def take(self) -> list[Driven]:
        """The forces of the drives since the last call."""
        assert isinstance(self._sampler, DriveSampler)
        found, self._sampler.found = self._sampler.found, []
        return found


def inverse_of_loops(problem: Problem) -> Iterator[InverseBlock]:
    """Follow the motion at the sampling times; yield blocks of bounded size. Raises AnalysisError."""
    following = FollowingDrives.of(problem)
    for block in in_blocks(following, SAMPLES):
        yield _inverse_block(problem, block, following.take())


def _inverse_block(problem: Problem, block: Block, found: list[Driven]) -> InverseBlock:
    """A block of samples with the forces of the drives, ``found``, behind the other sensors."""
    rows, p = len(block.time), problem.theta_rho.shape[1]
    found, n, drives = found[:rows], block.position.shape[1], drives_of(problem)
    torque = np.array([each.torque for each in found]).reshape(rows, n)
    by = np.array([each.by for each in found]).reshape(rows, n, -1)
    wanted = problem.options.sensitivity == "ddm"
    by_parameter = np.ascontiguousarray(by[:, :, : p if wanted else 0])
    by_parameter[np.broadcast_to(block.broken[:, None, : by_parameter.shape[2]] != 0, by_parameter.shape)] = np.nan
    finite = np.isfinite(torque).all(axis=1)
    matrices = [np.zeros((rows, n, n) if wanted else (rows, 0, 0)) for _ in range(3)]
    known = np.flatnonzero(drives.column != NONE)
    for level, matrix in enumerate(matrices if wanted else ()):
        first = p + level * drives.row.size
        matrix[:, :, drives.column[known]] = by[:, :, first + known] * drives.sign[known]
    assert problem.prescribed is not None
    columns, sign = problem.prescribed.torque_columns
    read = block.sensors, block.d_sensors[:, :, : by_parameter.shape[2]], block.undetermined
    determined = np.zeros((rows, columns.size), bool)
    sensed = side_by_side(read, (sign * torque[:, columns], sign[:, None] * by_parameter[:, columns], determined))
    return InverseBlock._make((*block[:4], torque, *matrices, by_parameter, *sensed, finite, block.broken))
