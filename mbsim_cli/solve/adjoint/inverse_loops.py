"""Gradients of numbers that see drives, sensors and reactions of loops: the transpose of ``inverse.loops``.

Each sample is pulled back for itself: drives first, then the motion as of a driven mechanism.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.inverse_dynamics import torque_covectors
from mbsim_cli.solve.adjoint.kinematics import MotionPuller
from mbsim_cli.solve.adjoint.pulled import Pulled, Seen, each_defined
from mbsim_cli.solve.adjoint.readings import ReactionPuller
from mbsim_cli.solve.inverse.loops import SAMPLES, Driven, FollowingDrives, given_columns, saddle
from mbsim_cli.solve.inverse.motion import Trajectory
from mbsim_cli.solve.tape import Began, Tape


def pull_back_loops(
    problem: Problem, count: int, seen: Seen, between: Callable[[], None] = lambda: None, reacting: bool = False
) -> Pulled:
    """As ``inverse_dynamics.pull_back``, of a mechanism with loops."""
    return each_defined(lambda of: _pull_back(problem, count, of, between, reacting), seen)


def _pull_back(problem: Problem, count: int, seen: Seen, between: Callable[[], None], reacting: bool) -> Pulled:
    tape, p = Tape(), padded(count)
    alone = replace(problem, options=replace(problem.options, sensitivity="adjoint"))
    following = FollowingDrives.of(alone, tape=tape)
    for _ in following.blocks(SAMPLES):
        pass
    found = following.take()
    assert tape.initial is not None
    motion, undefined = DrivePuller(problem, tape.initial, p), np.zeros(p, bool)
    reactions = ReactionPuller(problem, tape.initial.theta, p) if reacting else None
    width = allocate.sensor_width(problem.model)
    torques = width + (problem.reacting.width if problem.reacting else 0)
    for first, record in tape.backwards():
        assert isinstance(record, Record)
        driven = found[first : first + len(record.time)]
        shown, unknown = reactions.show(record) if reactions else (record, np.zeros(record.sensors.shape, bool))
        missing = torques - shown.sensors.shape[1]  # reactions that nothing reads
        blank = np.zeros((len(record.time), missing))
        shown = shown._replace(sensors=np.concatenate([shown.sensors, blank, motion.shown(driven)], axis=1))
        hat = seen(first, shown)
        mask = np.zeros(hat.shape[:2], bool)
        mask[:, : unknown.shape[1]] = unknown
        undefined |= np.isnan(hat).any(axis=(0, 1)) | (hat[mask] != 0.0).any(axis=0)
        hat[:, :, undefined] = 0.0
        of_sensors, of_reactions, of_torques = np.split(hat, [width, torques], axis=1)
        cov = motion.instants.pull(record, seen=of_sensors)
        if reactions:
            given = reactions.pull_back(record, np.ascontiguousarray(of_reactions))
            cov = MotionCovectors(*map(np.add, cov, given))
        motion.pull_back_drives(record, driven, cov, of_torques)
        between()
    theta = motion.instants.theta
    if reactions:
        theta = theta + reactions.theta
    gradient = tape.initial.dtheta[:, : problem.theta_rho.shape[1]].T @ theta
    gradient[:, undefined] = np.nan
    return Pulled(gradient[:, :count], 0.0, undefined[:count])


class DrivePuller(MotionPuller):
    """Pulls covectors of drives and of a given motion back to numbers."""

    def __init__(self, problem: Problem, initial: Began, p: int) -> None:
        super().__init__(problem, initial, p)
        self._problem, self._drives = problem, given_columns(problem)
        self._loops = np.setdiff1d(self._rows, self._drives.row)
        self._weight = initial.theta[self._drives.weight]
        self._trajectory = Trajectory(problem) if self._drives.tabled.size else None

    def shown(self, driven: list[Driven]) -> np.ndarray:
        """Values of torque sensors (N, width)."""
        assert self._problem.prescribed is not None
        columns, sign = self._problem.prescribed.torque_columns
        return np.array([sign * each.torque[columns] for each in driven]).reshape(len(driven), len(columns))

    def pull_back_drives(self, record: Record, driven: list[Driven], cov: MotionCovectors, hat: np.ndarray) -> None:
        """Pull covectors of the motion, of multipliers, and of what torque sensors show (N, width, p)."""
        J, drive = self.jacobians(record), self._drives.drive
        rows, _, n = J.shape
        y = np.array([each.virtual for each in driven])
        of_torque = torque_covectors(self._problem, hat)
        of_drives = of_torque[:, drive]
        right = np.concatenate([np.zeros_like(of_torque), cov.lam[:, self._loops]], axis=1)
        right[:, drive] = of_drives / self._weight[:, None]
        x = -np.linalg.solve(saddle(J[:, self._loops], drive, self._weight), right)
        mu, nu = np.ascontiguousarray(x[:, :n]), np.zeros((rows, J.shape[1], hat.shape[2]), hat.dtype)
        nu[:, self._loops] = x[:, n:]
        cov = MotionCovectors(*map(np.add, cov, self.instants.pull(record, mu=mu)))
        turned = self.instants.pull(record._replace(velocity=np.ascontiguousarray(y)), nu1=nu)
        still = self.instants.pull(record._replace(velocity=np.zeros_like(y)), nu1=-nu)
        cov = cov._replace(z=cov.z + turned.z + still.z)
        change = (y[:, drive, None] * (of_drives - mu[:, drive])).sum(axis=0)
        self.instants.theta[self._drives.weight] -= change / self._weight[:, None] ** 2
        self.pull_motion(record, J, cov)

    def _steer(self, record: Record, level: str, nu: np.ndarray) -> None:
        """Covectors of factors on columns of the table."""
        if self._trajectory is None:
            return
        tabled, drives = self._drives.tabled, self._drives
        n = record.position.shape[1]
        hat = [zeros((len(record.time), n, nu.shape[2]), nu.dtype) for _ in range(3)]
        at = ("nu", "nu1", "nu2").index(level)
        hat[at][:, drives.column[tabled]] = -drives.sign[tabled, None] * nu[:, drives.row[tabled]]
        given = MotionCovectors(*hat, nu[:, :0])
        self._trajectory.pull_back(record.time, given, self.instants.theta)
        if level == "nu":
            begin = given._replace(z=-given.z)
            self._trajectory.pull_back(np.zeros_like(record.time), begin, self.instants.theta)
