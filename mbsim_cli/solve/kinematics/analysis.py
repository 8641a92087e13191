"""Kinematics as an analysis: samples of a motion that laws give wholly, with multipliers, sensors and gradients.

Each sample is solved for itself: position, velocity, acceleration, then the forces that keep to the motion.
"""

from collections.abc import Iterator
from typing import Self

import numpy as np

from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Progress
from mbsim_cli.model.codes import Status
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import BrokenOff, first_rows
from mbsim_cli.solve.forward import Simulation, steps_of_block
from mbsim_cli.solve.initial import Initial, assembled
from mbsim_cli.solve.instant import Instant
from mbsim_cli.solve.kinematics.path import Lost, Path
from mbsim_cli.solve.redundancy import kept_in_range
from mbsim_cli.solve.tape import Tape

LEAST_INERTIA = 1e-8  # share of the largest one, so that massless coordinates count too


class Sampler:
    """Solves one sample after another for the motion, its forces and their derivatives; all stand in ``at``.

    ``orientation`` is that of ``path`` at the last sample.
    """

    def __init__(self, problem: Problem, start: Initial, dtheta: np.ndarray) -> None:
        still = self._instant(problem, start.theta, np.zeros((start.theta.size, 0), start.theta.dtype), None)
        still.state.z[:] = start.state.z
        still.work.kin.expected[:] = start.expected
        self.path = Path(problem, still, np.sort(all_but(still.m, start.redundant)))
        self.at = self._instant(problem, start.theta, dtheta, still) if dtheta.shape[1] else still
        self.orientation = 0.0

    @staticmethod
    def _instant(problem: Problem, theta: np.ndarray, dtheta: np.ndarray, beside: Instant | None) -> Instant:
        return Instant(problem, theta, dtheta, beside)

    def go(self, time: float) -> None:
        """Solve the sample at a time, not before the last one; raise Lost."""
        path, at, eq = self.path, self.at, self.at.work.eq
        path.go(time)
        path.rest()
        for array in at.sens:
            array[:] = 0.0
        try:
            at.evaluate(time)
            self.orientation = path.orientation
            if self.orientation == 0.0:
                raise _singular(time)
            at.state.zd[:] = -path.solve(eq.phi1)
            at.sens.z[:] = -path.solve(at.out.dphi[0])
            at.evaluate(time)
            at.state.zdd[:] = -path.solve(eq.phi2)
            at.sens.zd[:] = -path.solve(at.out.dphi[1])
            at.evaluate(time)
            at.sens.zdd[:] = -path.solve(at.out.dphi[2])
            self._balance(time)
        except np.linalg.LinAlgError:
            raise _singular(time) from None

    def _balance(self, time: float) -> None:
        """Multipliers and their derivatives; of those that give the same forces the least."""
        at, rows = self.at, self.path.rows
        for found, load in ((at.state.lam, at.work.eq.G), (at.sens.lam, at.out.dG)):
            found[rows] = -np.linalg.solve(at.work.eq.J[rows].T, load)
            if rows.size < at.m:
                found[:] = kept_in_range(at.work.eq.J, found)
            at.evaluate(time)


def _singular(time: float) -> Lost:
    return Lost(
        f"the position at t = {time:.6g} s is singular: constraints lose their rank there, so that velocities "
        "and forces are not determined; choose samples that do not meet it"
    )


class Following(Simulation):
    """Samples in progress, as a run that does not integrate."""

    def __init__(self, problem: Problem, start: Initial, tape: Tape | None = None) -> None:
        super().__init__(problem, start, tape)
        self._reason = ""
        self._sampler: Sampler | None = None
        self._start = start
        self._orientation = 0.0

    @classmethod
    def of(cls, problem: Problem, theta: np.ndarray | None = None, tape: Tape | None = None) -> Self:
        """Assemble the start, which a ``tape`` keeps; raise AnalysisError where loops stay open."""
        initial = assembled(problem, theta, motion_only=True)
        if tape is not None:
            tape.initial = initial
        return cls(problem, initial, tape)

    def blocks(self, size: int) -> Iterator[Block]:
        """All samples, ``size`` in a block; a block that breaks off comes before the error."""
        total = round(self.problem.options.duration / self.problem.options.step)
        try:
            yield self.first_block(min(size, total))
            while self.step < total:
                yield self.advance(min(size, total - self.step))
        except BrokenOff as failure:
            if len(failure.block.time):
                yield failure.block
            raise

    def _made(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> Progress:
        iterations, row = 0, 0
        first = self.step if filled else self.step + 1
        try:
            self._sampler = self._sampler or self._begun()
            for number in range(first, self.step + steps + 1):
                self._sampler.go(number * self.problem.options.step)
                iterations += self._sampler.path.iterations
                self._look(number)
                self._write(number, record, d_record, row)
                row += 1
        except Lost as lost:
            self._reason = lost.sentence
        rows, d_rows = first_rows(record, row), first_rows(d_record, row)
        work, twists = self.work, allocate.twists_of(self.model, self.directions.dtheta.shape[1], self.dtype)
        observe(
            self.model, self.theta, self.control.at_center, self.directions, work.kin, twists, rows, d_rows
        )  # fmt: skip
        status = Status.NO_CONVERGENCE if self._reason else Status.OK
        return Progress(int(status), max(0, row - filled), 0.0, False, iterations)

    def _begun(self) -> Sampler:
        return Sampler(self.problem, self._start, self.directions.dtheta)

    def _write(self, number: int, record: Record, d_record: SensitivityRecord, row: int) -> None:
        """Store a sample."""
        assert self._sampler is not None
        at, eq = self._sampler.at, self._sampler.at.work.eq
        record.time[row] = number * self.problem.options.step
        for stored, found in zip(record[1:5], at.state[:4], strict=True):
            stored[row] = found
        record.reaction[row] = at.state.lam
        record.iterations[row] = self._sampler.path.iterations
        record.drift[row] = [np.abs(phi.real).max(initial=0.0) for phi in (eq.phi, eq.phi1, eq.phi2)]
        if record.expected.shape[1]:
            record.expected[row] = at.work.kin.expected
        if at.p:
            for stored, found in zip(d_record[:4], at.sens[:4], strict=True):
                stored[row] = found[:, : stored.shape[2]]
            d_record.reaction[row] = at.sens.lam[:, : d_record.reaction.shape[2]]
            d_record.error[row] = 0.0

    def _look(self, number: int) -> None:
        """Note for ``Passages`` where the determinant has changed its sign since the sample before."""
        assert self._sampler is not None
        path, watch = self._sampler.path, self.work.watch
        inertia = np.abs(np.diag(path.at.out.M.real))
        if not inertia.any() or not np.array_equal(path.rows, watch.row):
            self._orientation = 0.0
            return
        J = path.at.work.eq.J[path.rows].real
        square = (J * J / np.maximum(inertia, LEAST_INERTIA * inertia.max())).sum(axis=1)
        np.maximum(watch.largest, square, out=watch.largest)
        found, now = watch.count[2], self._sampler.orientation
        if now * self._orientation < 0.0 and found < len(watch.step):
            watch.step[found] = number - 1, number
            for kept, rate in zip((watch.z, watch.zd, watch.zdd), path.at.state[:3], strict=True):
                kept[found] = rate.real
            watch.count[2] += 1
        self._orientation = now

    def _failure(self) -> str:
        return self._reason


def kinematics(problem: Problem, *, theta: np.ndarray | None = None, tape: Tape | None = None) -> Iterator[Block]:
    """Yield blocks of samples; ``theta`` may replace the problem's numbers, also by complex ones.

    A ``tape`` keeps what the adjoint needs. Raises AnalysisError where the mechanism cannot be assembled, or the motion
    cannot be followed.
    """
    following = Following.of(problem, theta, tape)
    yield from following.blocks(min(256, steps_of_block(problem, 0 if tape else following.p)))
