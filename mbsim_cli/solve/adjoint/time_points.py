"""Gradients of analyses that solve each time point alone: equilibria, driven mechanisms, inverse dynamics."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_back import MotionAdjoints
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.problem import InverseBlock, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.readings import (
    InstantPuller,
    Pulled,
    ReactionPuller,
    Readings,
    Seen,
    added,
    each_defined,
    set_aside_undefined,
    shown_with,
)
from mbsim_cli.solve.constraint_forces import jacobians
from mbsim_cli.solve.forward import in_blocks
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.inverse.analysis import InverseAnalysis, Trajectory, inverse, with_natural_values
from mbsim_cli.solve.inverse.loops import SAMPLES, Driven, FollowingDrives, drives_of, saddle
from mbsim_cli.solve.redundancy import of_least_norm
from mbsim_cli.solve.sparse import pulled
from mbsim_cli.solve.tape import Tape


@each_defined
def pull_back_equilibrium(
    problem: Problem, tape: Tape, count: int, seen: Seen, between: Callable[[], None], reacting: bool
) -> Pulled:
    """Derivatives of ``count`` numbers that read sensors, also reactions if ``reacting``."""
    initial = tape.initial
    assert initial is not None and initial.equilibrium is not None
    found = initial.equilibrium
    ((_, record),) = tape.backwards()
    assert isinstance(record, Record)
    instant = InstantPuller(problem.model, initial.theta, padded(count))
    readings = Readings(problem, initial, count, seen, reacting)
    hat, given = readings.of(0, record)
    adj = added(given, instant.pull(record, seen=hat))
    z, multipliers = adj.z[0], adj.lam[0]
    others = all_but(len(z), found.held)
    x = np.linalg.solve(found.tangent.T, -np.concatenate([z[others], multipliers[found.rows]]))
    mu, nu = zeros((1, *z.shape), z.dtype), zeros((1, *multipliers.shape), z.dtype)
    mu[0, others], nu[0, found.rows] = x[: others.size], x[others.size :]
    held = (z + instant.pull(record, mu=mu, nu=nu).z[0])[found.held]  # adjoints of the held coordinates
    readings.add_numbers(instant.theta)
    p = problem.theta_rho.shape[1]
    gradient = pulled(initial.dtheta[:, :p], instant.theta) + initial.sensitivity.z[found.held, :p].T @ held
    gradient[:, readings.undefined] = np.nan
    return Pulled(gradient[:, :count], 0.0, readings.undefined[:count])


def _pulled_from(
    dtheta: np.ndarray, of_theta: np.ndarray, reactions: ReactionPuller | None, undefined: np.ndarray, count: int
) -> Pulled:
    """The derivatives of ``count`` numbers along dtheta, from adjoints of theta (len(theta), p) and of reactions."""
    gradient = pulled(dtheta, of_theta + reactions.theta if reactions else of_theta)
    gradient[:, undefined] = np.nan
    return Pulled(gradient[:, :count], 0.0, undefined[:count])


class MotionPuller:
    """Pulls p columns of adjoints of driven motions back, sample by sample; ``found`` sums those of theta."""

    def __init__(self, problem: Problem, initial: Initial, p: int) -> None:
        self._model, self._theta = model, theta = problem.model, initial.theta
        self.instants = InstantPuller(model, theta, p)
        self._at_center = allocate.control(problem, redundant=False).at_center
        self._work = allocate.work(model, theta)
        self._rows = all_but(allocate.sizes(model)[2], initial.redundant)
        adj = allocate.allocators(model).adjoints(model, theta.size, p, theta.dtype.type)
        self.found = adj._replace(theta=self.instants.theta)

    def jacobians(self, record: Record) -> np.ndarray:
        """Jacobians (N, m, n) of the constraints."""
        return jacobians(self._model, self._theta, self._at_center, self._work, record.time, record.position)

    def back(self, first: int, record: Record, hat: np.ndarray, given: MotionAdjoints) -> float:
        """Pull a record's adjoints back, those of multipliers by J^T lambda = -G; return the residual, which is 0."""
        adj = added(given, self.instants.pull(record, seen=hat))
        J, of_multipliers = self.jacobians(record), adj.lam
        if of_multipliers.any():
            of_multipliers = of_least_norm(J, self._rows, of_multipliers)
            mu = -np.linalg.solve(J[:, self._rows], of_multipliers[:, self._rows])
            adj = added(adj, self.instants.pull(record, mu=mu))
        self.pull_motion(record, J, adj)
        return 0.0

    def pull_motion(self, record: Record, J: np.ndarray, adj: MotionAdjoints) -> None:
        """Pull adjoints of accelerations, velocities and positions, each of which the constraints determine."""
        transposed = J[:, self._rows].swapaxes(1, 2)

        def of(hat: np.ndarray) -> np.ndarray:
            nu = np.zeros((*J.shape[:2], hat.shape[2]), hat.dtype)
            nu[:, self._rows] = -np.linalg.solve(transposed, hat)
            return nu

        for level in ("nu2", "nu1"):
            hat = adj.zdd if level == "nu2" else adj.zd
            if hat.any():
                nu = of(hat)
                self._steer(record, level, nu)
                adj = added(adj, self.instants.pull(record, **{level: nu}))
        nu = of(adj.z)
        self._steer(record, "nu", nu)
        self.instants.pull(record, mu=np.zeros_like(adj.z), nu=nu)

    def _steer(self, record: Record, level: str, nu: np.ndarray) -> None:
        """Pull back adjoints nu of constraints that a table drives; without a table this does nothing."""


class TorqueTape:
    """Keeps only the times of a run: its motion is given, and is evaluated again."""

    def __init__(self) -> None:
        self._times: list[np.ndarray] = []

    def blocks(self, problem: Problem) -> Iterator[InverseBlock]:
        """The time points of the motion, without derivatives; those of loops report which directions open them."""
        for block in inverse(_of_values(problem) if problem.drives is None else problem):
            self._times.append(block.time.copy())
            yield block

    @property
    def time(self) -> np.ndarray:
        """All time points (N,)."""
        return np.concatenate(self._times)


def _of_values(problem: Problem) -> Problem:
    """The problem without directions of differentiation."""
    return replace(problem, theta_rho=problem.theta_rho[:, :0])


@each_defined
def pull_back_inverse(
    problem: Problem, tape: TorqueTape, count: int, seen: Seen, between: Callable[[], None], reacting: bool
) -> Pulled:
    """Derivatives of ``count`` numbers that read sensors, torques behind the others, and reactions if ``reacting``."""
    problem = with_natural_values(problem)
    theta, p = problem.theta, padded(count)
    puller, trajectory = InstantPuller(problem.model, theta, p), Trajectory(problem)
    reactions = ReactionPuller(problem, theta, p) if reacting else None
    width = allocate.sensor_width(problem.model)
    torques = width + (problem.reacting.width if problem.reacting else 0)  # their first row
    of_motion, undefined = zeros((theta.size, p), theta.dtype), np.zeros(p, bool)  # adjoints of what prescribes it
    analysis = InverseAnalysis(_of_values(problem))
    for first, time in analysis.blocks_of_times():
        record, undetermined = analysis.observed(time)
        hat = seen(first, record)
        set_aside_undefined(hat, undetermined, undefined)
        of_sensors, of_reactions, of_rows = np.split(hat, [width, torques], axis=1)
        adj = puller.pull(record, seen=of_sensors, mu=torque_adjoints(problem, of_rows))
        if reactions:
            adj = added(adj, reactions.pull_back(record, np.ascontiguousarray(of_reactions)))
        trajectory.pull_back(record.time, adj, of_motion)
        between()
    return _pulled_from(problem.theta_rho, puller.theta + of_motion, reactions, undefined, count)


def torque_adjoints(problem: Problem, hat: np.ndarray) -> np.ndarray:
    """Adjoints (B, n, p) of the torques of all coordinates, from those of torque sensors, hat (B, width, p)."""
    assert problem.prescribed is not None
    out = zeros((len(hat), allocate.sizes(problem.model)[1], hat.shape[2]), hat.dtype)
    for row, (column, sign) in enumerate(problem.prescribed.torque_rows):
        out[:, column] += sign * hat[:, row]
    return out


@each_defined
def pull_back_loops(
    problem: Problem, times: TorqueTape, count: int, seen: Seen, between: Callable[[], None], reacting: bool
) -> Pulled:
    """As ``pull_back_inverse``, of a mechanism with loops."""
    tape, p = Tape(), padded(count)
    alone = replace(problem, options=replace(problem.options, sensitivity="adjoint"))
    following = FollowingDrives.of(alone, tape=tape)
    for _ in in_blocks(following, SAMPLES):
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
        shown, unknown = shown_with(reactions, record)
        missing = torques - shown.sensors.shape[1]  # reactions that nothing reads
        blank = np.zeros((len(record.time), missing))
        shown = shown._replace(sensors=np.concatenate([shown.sensors, blank, motion.shown(driven)], axis=1))
        hat = seen(first, shown)
        mask = np.zeros(hat.shape[:2], bool)
        mask[:, : unknown.shape[1]] = unknown
        set_aside_undefined(hat, mask, undefined)
        of_sensors, of_reactions, of_torques = np.split(hat, [width, torques], axis=1)
        adj = motion.instants.pull(record, seen=of_sensors)
        if reactions:
            adj = added(adj, reactions.pull_back(record, np.ascontiguousarray(of_reactions)))
        motion.pull_back_drives(record, driven, adj, of_torques)
        between()
    dtheta = tape.initial.dtheta[:, : problem.theta_rho.shape[1]]
    return _pulled_from(dtheta, motion.instants.theta, reactions, undefined, count)


class DrivePuller(MotionPuller):
    """Pulls adjoints of drives and of a given motion back to numbers."""

    def __init__(self, problem: Problem, initial: Initial, p: int) -> None:
        super().__init__(problem, initial, p)
        self._problem, self._drives = problem, drives_of(problem)
        self._loops = np.setdiff1d(self._rows, self._drives.row)
        self._weight = initial.theta[self._drives.weight]
        self._trajectory = Trajectory(problem) if self._drives.tabled.size else None

    def shown(self, driven: list[Driven]) -> np.ndarray:
        """Values of torque sensors (N, width)."""
        assert self._problem.prescribed is not None
        columns, sign = self._problem.prescribed.torque_columns
        return np.array([sign * each.torque[columns] for each in driven]).reshape(len(driven), len(columns))

    def pull_back_drives(self, record: Record, driven: list[Driven], adj: MotionAdjoints, hat: np.ndarray) -> None:
        """Pull adjoints of the motion, of multipliers, and of torque sensors (N, width, p)."""
        J, drive = self.jacobians(record), self._drives.drive
        rows, _, n = J.shape
        y = np.array([each.virtual for each in driven])
        of_torque = torque_adjoints(self._problem, hat)
        of_drives = of_torque[:, drive]
        right = np.concatenate([np.zeros_like(of_torque), adj.lam[:, self._loops]], axis=1)
        right[:, drive] = of_drives / self._weight[:, None]
        x = -np.linalg.solve(saddle(J[:, self._loops], drive, self._weight), right)
        mu, nu = np.ascontiguousarray(x[:, :n]), np.zeros((rows, J.shape[1], hat.shape[2]), hat.dtype)
        nu[:, self._loops] = x[:, n:]
        adj = added(adj, self.instants.pull(record, mu=mu))
        turned = self.instants.pull(record._replace(velocity=np.ascontiguousarray(y)), nu1=nu)
        still = self.instants.pull(record._replace(velocity=np.zeros_like(y)), nu1=-nu)
        adj = adj._replace(z=adj.z + turned.z + still.z)
        change = (y[:, drive, None] * (of_drives - mu[:, drive])).sum(axis=0)
        self.instants.theta[self._drives.weight] -= change / self._weight[:, None] ** 2
        self.pull_motion(record, J, adj)

    def _steer(self, record: Record, level: str, nu: np.ndarray) -> None:
        """Adjoints of factors on columns of the table."""
        if self._trajectory is None:
            return
        tabled, drives = self._drives.tabled, self._drives
        n = record.position.shape[1]
        hat = [zeros((len(record.time), n, nu.shape[2]), nu.dtype) for _ in range(3)]
        at = ("nu", "nu1", "nu2").index(level)
        hat[at][:, drives.column[tabled]] = -drives.sign[tabled, None] * nu[:, drives.row[tabled]]
        given = MotionAdjoints._make([*hat, nu[:, :0]])
        self._trajectory.pull_back(record.time, given, self.instants.theta)
        if level == "nu":
            begin = given._replace(z=-given.z)
            self._trajectory.pull_back(np.zeros_like(record.time), begin, self.instants.theta)
