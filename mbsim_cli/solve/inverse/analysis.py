"""Inverse dynamics along a prescribed motion, one block of time points at a time; the motion from laws and tables."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.motion.workspace import Directions, Twists, law_entries
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.drivers.inverse_dynamics import prescribe, pull_prescribed, vary_prescribed
from mbsim_cli.kernels.drivers.observe import follow_rows, observe
from mbsim_cli.kernels.drivers.pull_back import MotionAdjoints
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Work
from mbsim_cli.kernels.elements.spring import NATURAL, STIFFNESS
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import InverseBlock, Motion, Prescribed, Problem, Torques
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.blocks import Reader, reader_of, side_by_side, with_reactions
from mbsim_cli.solve.inverse.torques import InverseDynamics
from mbsim_cli.system import cached_property


class Trajectory:
    """A prescribed motion; ``varies`` lists the parameters that change it."""

    def __init__(self, problem: Problem):
        assert problem.prescribed is not None
        self._given: Prescribed = problem.prescribed
        self._laws, self._theta = problem.model.laws, problem.theta
        table = self._given.table
        self._table = with_slopes(self._given.table_time, table)
        self._dtheta = problem.theta_rho
        laws = self._given.law[self._given.law >= 0].tolist()
        entries = np.concatenate([law_entries(self._laws, laws), self._given.table_scale])
        self.varies = np.flatnonzero(np.any(self._dtheta[entries] != 0.0, axis=0))
        self._distinct, self._follows = np.unique(self._given.law, return_inverse=True)

    def at(self, time: np.ndarray) -> Motion:
        """The motion at times (B,)."""
        shape, dtype = (len(time), len(self._distinct)), self._theta.dtype
        time = np.ascontiguousarray(time, dtype=float)
        of_laws = [np.zeros(shape, dtype) for _ in range(3)]
        prescribe(self._laws, self._theta, self._distinct, time, *of_laws)
        motion = Motion(time, *(self._given.sign * values.take(self._follows, axis=1) for values in of_laws))
        columns, factors = self._given.table_column, self._theta[self._given.table_scale]
        if columns.size:
            for stored, values in zip(motion[1:], self._from_table(time), strict=True):
                stored[:, columns] = factors * values
        return motion

    def _from_table(self, time: np.ndarray) -> tuple[np.ndarray, ...]:
        """Columns (B, k) of the table and their rates, without factors; beyond its ends by ``extrapolate``."""
        knots, extrapolate = self._given.table_time, self._given.extrapolate
        within = time if extrapolate == "none" else np.clip(time, knots[0], knots[-1])
        value, rate, second = hermite(knots, self._table, within)
        if extrapolate != "none":
            beyond = (time - within)[:, None]
            second = np.where(beyond, 0.0, second)
            if extrapolate == "hold":
                rate = np.where(beyond, 0.0, rate)
            else:
                value = value + beyond * rate
        sign = self._given.sign[self._given.table_column]
        return sign * value, sign * rate, sign * second

    def variation(self, time: np.ndarray) -> tuple[np.ndarray, ...]:
        """Derivatives (B, n, k) of positions, velocities, accelerations by the k parameters that ``varies`` lists."""
        shape = (len(time), len(self._distinct), len(self.varies))
        of_laws = [np.zeros(shape, self._theta.dtype) for _ in range(3)]
        dtheta = np.ascontiguousarray(self._dtheta[:, self.varies])
        time = np.ascontiguousarray(time, dtype=float)
        vary_prescribed(self._laws, self._theta, dtheta, self._distinct, time, *of_laws)
        varied = tuple(self._given.sign[:, None] * values.take(self._follows, axis=1) for values in of_laws)
        columns, factors = self._given.table_column, dtheta[self._given.table_scale]
        if factors.any():
            for stored, values in zip(varied, self._from_table(time), strict=True):
                stored[:, columns] = values[:, :, None] * factors
        return varied

    def pull_back(self, time: np.ndarray, hat: MotionAdjoints, theta_out: np.ndarray) -> None:
        """Add to theta_out (len(theta), p), of laws and factors, what adjoints of the motion (B, n, p) make."""
        if not self.varies.size:  # nothing to compile for
            return
        rates = hat[:3]
        of_laws = (self._given.sign[:, None] * each for each in rates)
        pull_prescribed(self._laws, self._theta, self._given.law, time, *of_laws, theta_out)
        columns = self._given.table_column
        if columns.size:
            for values, adjoint in zip(self._from_table(time), rates, strict=True):
                products = np.einsum("bc,bcp->cp", values, adjoint[:, columns])
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
        c = [left[0], h * left[1], 3 * rise - h * (2 * left[1] + right[1]), h * (left[1] + right[1]) - 2 * rise]
    else:
        a, b = h * h * left[2], h * h * right[2]
        u, v = h * left[1], h * right[1]
        c = [
            left[0], u, 0.5 * a,
            10 * rise - 6 * u - 4 * v - 1.5 * a + 0.5 * b,
            -15 * rise + 8 * u + 7 * v + 1.5 * a - b,
            6 * rise - 3 * u - 3 * v - 0.5 * a + 0.5 * b,
        ]  # fmt: skip
    value, rate, half = np.zeros_like(rise), np.zeros_like(rise), np.zeros_like(rise)
    for coefficient in reversed(c):
        half = half * s + rate
        rate = rate * s + value
        value = value * s + coefficient
    return value, rate / h, 2 * half / (h * h)


BLOCK_NUMBERS = 500_000  # numbers of derivatives held at once, about 4 MB: they stay in cache, and touch little memory


class InverseAnalysis:
    """Torques, sensors and their derivatives at any time points of the motion."""

    def __init__(self, problem: Problem):
        problem = with_natural_values(problem)
        self.problem, self.model = problem, problem.model
        self.wanted = problem.options.sensitivity == "ddm"
        self.p = problem.theta_rho.shape[1]
        self.trajectory = Trajectory(problem)
        # a motion that parameters change passes that on through the matrices
        self.through = self.trajectory.varies.size > 0
        self.torques = InverseDynamics(problem, matrices=self.wanted or self.through)
        self._dtype = problem.theta.dtype.type
        n = allocate.sizes(problem.model)[1]
        rows = BLOCK_NUMBERS // max(1, n * ((3 * n if self.torques.matrices else 4) + self.p))
        rows = max(1, min(4096, rows))
        self.rows = rows // LANES * LANES or rows  # time points of a block

    def blocks_of_times(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of the first time point of each block, and its times (B,)."""
        options = self.problem.options
        total = round(options.duration / options.step) + 1
        for start in range(0, total, self.rows):
            yield start, np.arange(start, min(start + self.rows, total)) * options.step

    def at(self, time: np.ndarray, room: Torques | None = None) -> InverseBlock:
        """The block of the given time points (B,), in ``room`` if given; raise AnalysisError where it is not finite."""
        motion = self.trajectory.at(time)
        found = self.torques.block(motion, room)
        if not (found.finite.all() or np.isfinite(found.torque).all()):
            row, column = np.argwhere(~np.isfinite(found.torque))[0]
            raise AnalysisError(
                f"the torque of {self.problem.names.coordinates[column]} at t = {motion.time[row]:g} s is not a finite "
                "number; the motion or a load overflows there",
                (float(motion.time[row]), motion.position[row], motion.velocity[row]),
            )
        varied = self.trajectory.variation(time) if self.through else None
        by_parameter = found.by_parameter
        if varied is not None:
            for matrix, change in zip(found[1:4], varied, strict=True):
                by_parameter[:, :, self.trajectory.varies] += matrix @ change
            found.finite[...] = False
        _, *sensed = self._sensors(motion, varied, found.torque, by_parameter)
        kept = found[:4] if self.wanted else (found.torque, *(m[:, :0, :0] for m in found[1:4]))
        return InverseBlock._make((*motion, *kept, by_parameter, *sensed, found.finite, None))

    def observed(self, time: np.ndarray) -> tuple[Record, np.ndarray]:
        """Rows of time points (B,) with all sensors, torques last; and a mask (B, width) of undetermined sensors."""
        motion = self.trajectory.at(time)
        torque = self.torques.block(motion).torque
        record, sensors, _, undetermined = self._sensors(motion, None, torque, np.zeros((*torque.shape, 0)))
        record = record or self._records(motion, None)[0]
        return record._replace(sensors=sensors), undetermined

    def _sensors(
        self, motion: Motion, varied: tuple[np.ndarray, ...] | None, torque: np.ndarray, by_parameter: np.ndarray
    ) -> tuple[Record | None, np.ndarray, np.ndarray, np.ndarray]:
        """The record that sensors need, or None; their values (B, width) and derivatives (B, width, p), torques last.

        Also a mask (B, width) of undetermined ones.
        """
        assert self.problem.prescribed is not None
        column, sign = self.problem.prescribed.torque_columns
        of_torque, d_of_torque = torque, by_parameter
        if not (np.array_equal(column, np.arange(torque.shape[1])) and (sign == 1.0).all()):
            of_torque, d_of_torque = sign * torque[:, column], sign[:, None] * by_parameter[:, column]
        determined = np.zeros(of_torque.shape, bool)
        if not self.model.sensors.kind.size and self.problem.reacting is None:  # nothing to compile for
            return None, of_torque, d_of_torque, determined
        record, d_record = self._records(motion, varied)
        directions, work, twists, reactions = self._room
        if work.turns.measure.size:
            follow_rows(self.model, self.problem.theta, work.kin, work.turns, record)
        observe(self.model, self.problem.theta, False, directions, work.kin, twists, record, d_record)
        sensors, d_sensors, undetermined = with_reactions(record, d_record, reactions)
        read = sensors, d_sensors[:, :, : self.p], undetermined
        return record, *side_by_side(read, (of_torque, d_of_torque, determined))

    def _records(self, motion: Motion, varied: tuple[np.ndarray, ...] | None) -> tuple[Record, SensitivityRecord]:
        """Rows of the motion and of its derivatives."""
        rows = len(motion.time)
        record = allocate.record(self.model, rows, self._dtype)
        for stored, given in zip(record[:4], motion, strict=True):
            stored[...] = given
        d_record = allocate.sensitivity_record(self.model, rows, padded(self.p), self._dtype)
        if varied is not None:
            for stored, change in zip(d_record[:3], varied, strict=True):
                stored[:, :, self.trajectory.varies] = change
        return record, d_record

    @cached_property
    def _room(self) -> tuple[Directions, Work, Twists, "Reader | None"]:
        """Arguments of the kernel that reads sensors, and the reader of reactions."""
        theta, dtheta = self.problem.theta, allocate.padded_directions(self.problem.theta_rho, self._dtype)
        directions = allocate.directions(self.model, dtheta, self._dtype)
        twists = allocate.twists_of(self.model, padded(self.p), self._dtype)
        return directions, allocate.work(self.model, theta), twists, reader_of(self.problem, theta, dtheta)


def with_natural_values(problem: Problem) -> Problem:
    """The problem where automatic numbers are measures at the start of the motion, with their derivatives."""
    automatic = [(index, measure) for index, measure in problem.automatic if _is_read(problem, index)]
    if not automatic:
        return problem
    trajectory, p = Trajectory(problem), problem.theta_rho.shape[1]
    time = np.zeros(1)
    dtheta = allocate.padded_directions(problem.theta_rho, problem.theta.dtype.type)
    start = Instant(problem, problem.theta.copy(), dtheta)
    start.state.z[:] = trajectory.at(time).position[0]
    if trajectory.varies.size:
        start.sens.z[:, trajectory.varies] = trajectory.variation(time)[0][0]
    start.evaluate()
    for index, measure in automatic:
        start.theta[index], start.dtheta[index] = start.out.measures[measure], start.out.d_measures[measure]
    return replace(problem, theta=start.theta, theta_rho=np.ascontiguousarray(start.dtheta[:, :p]), automatic=())


def _is_read(problem: Problem, index: int) -> bool:
    """Whether a force reads the automatic natural value at an index of theta: by a stiffness, or an elongation law."""
    forces, stiffness = problem.model.forces, index - NATURAL + STIFFNESS
    law = forces.law[np.flatnonzero(forces.theta == stiffness)[0], 1]
    return bool(law != NONE or problem.theta[stiffness] != 0.0 or problem.theta_rho[stiffness].any())


def inverse(problem: Problem) -> Iterator[InverseBlock]:
    """Follow the motion at sampling times; yield bounded blocks, valid until the next one. Raises AnalysisError."""
    if problem.drives is not None:
        from mbsim_cli.solve.inverse.loops import inverse_of_loops

        yield from inverse_of_loops(problem)
        return
    analysis = InverseAnalysis(problem)
    room = analysis.torques.room(analysis.rows)
    for _, time in analysis.blocks_of_times():
        try:
            block = analysis.at(time, room)
        except AnalysisError as failure:
            before = time[time < failure.state[0]] if failure.state else time[:0]
            if before.size:
                yield analysis.at(before, room)
            raise
        yield block
