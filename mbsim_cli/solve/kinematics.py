"""Kinematics: positions of a driven mechanism at the sampling times, by continuation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mbsim_cli.kernels.drivers.observe import observe
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Progress
from mbsim_cli.model.codes import Status
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.blocks import first_rows
from mbsim_cli.solve.faults import LEAST_INERTIA
from mbsim_cli.solve.forward import Simulation, in_blocks, steps_of_block
from mbsim_cli.solve.initial import Initial, assemble_closed
from mbsim_cli.solve.redundancy import of_least_norm, rank_and_pivots
from mbsim_cli.solve.tape import Tape

ITERATIONS = 12  # of Newton, in a step
CONTRACTING = 0.25  # correction over the one before it, at most
NEAR = 0.05  # rad or the mechanism's unit: a first correction up to this size is accepted
OF_WAY = 0.3  # a first correction up to this share of the predicted move is accepted
SOLVED = 1e-13  # last correction, in units of coordinates
ROUNDED = 1e-11  # correction, the same, that is accepted where the iteration ends by round-off
NOISE = 1e-9  # correction below which round-off may prevent contraction
SHORTEST = 1e-10  # shortest step over the time between two samples
SINGULAR = 1e-10  # smallest singular value over the largest, of rows of unit length, in a singular position
NEARLY = 1e-3  # smallest singular value over that at the start, below which the mechanism locks


@dataclass
class Lost(Exception):
    """The motion cannot continue; ``sentence`` holds place and reason."""

    sentence: str


class Path:
    """A position that meets all constraints, at a time; the state and the arrays are those of ``at``.

    ``at`` stands at the assembled start, where ``rows`` (n,) of the constraints are independent. Its numbers may be
    complex.
    """

    def __init__(self, problem: Problem, at: Instant, rows: np.ndarray) -> None:
        self.at, self.names, self.rows, self._span = at, problem.names, rows, problem.options.step
        self.z = at.state.z  # position (n,)
        scales = scales_of(problem.model, at.theta)
        self._units, self._columns = scales.rows, scales.columns
        self._laws = np.flatnonzero(problem.model.constraints.law != NONE)
        self._wanted = 3 if np.iscomplexobj(at.theta) else 2  # the imaginary part converges after the real one
        self.time, self.iterations = 0.0, 0
        self._newton(0.0, at.state.z.copy(), np.inf)
        self._length = self._span
        self._follow_rates()
        self._usual = self._independence()[0]

    def go(self, time: float) -> None:
        """Follow the motion to a time; raise Lost where it cannot continue."""
        self.iterations = 0
        while self.time < time:
            left = time - self.time
            step = left if self._length > 0.75 * left else self._length
            reached = time if step == left else self.time + step
            before, expected = self.z.copy(), self.at.work.kin.expected.copy()
            move = step * self.zd + 0.5 * step * step * self.zdd
            near = max(NEAR, OF_WAY * self._size(move))
            if self._newton(reached, before + move, near):
                self.time = reached
                self._follow_rates()
                self._length = 2.0 * step
                continue
            self.at.state.z[:], self.at.work.kin.expected[:] = before, expected
            self._length = 0.5 * step
            if self._length < SHORTEST * self._span:
                raise Lost(self._why())

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The x (n, ...) with J x = right (m, ...) at the last evaluation, by the independent equations."""
        return np.linalg.solve(self.at.work.eq.J[self.rows], right[self.rows])

    @property
    def orientation(self) -> float:
        """Sign of the determinant of J, which changes at singular positions; 0 in one."""
        sign = float(np.linalg.slogdet(self.at.work.eq.J[self.rows].real)[0])
        sizes = self._independence()[0]
        return sign if not sizes.size or sizes[-1] > SINGULAR * sizes[0] else 0.0

    def rest(self) -> None:
        """Set rates and multipliers of the state to zero."""
        for array in self.at.state[1:]:
            array[:] = 0.0

    def _newton(self, time: float, guess: np.ndarray, near: float) -> bool:
        """Solve for the position from a guess; return whether it converged on the same branch."""
        at, eq = self.at, self.at.work.eq
        self.rest()
        at.state.z[:] = guess
        before, settled = np.inf, 0
        for number in range(ITERATIONS):
            at.evaluate(time)
            self.iterations += 1
            try:
                step = -self.solve(eq.phi)
            except np.linalg.LinAlgError:
                return False
            size = self._size(step)
            if not np.isfinite(size) or (number == 0 and size > near):
                return False
            if number and size > max(CONTRACTING * before, NOISE):
                return False
            at.state.z[:] += step
            before = size
            settled = settled + 1 if size <= SOLVED * (1.0 + self._size(at.state.z)) else 0
            if settled == self._wanted:
                return True
        return before <= ROUNDED

    def _follow_rates(self) -> None:
        """Velocity and acceleration at the position."""
        at, eq = self.at, self.at.work.eq
        at.evaluate(self.time)
        if len(self._units) > len(self.rows):  # choose others if the chosen ones have become dependent
            J = eq.J.real / self._units[:, None]
            sizes = [np.linalg.svd(part, compute_uv=False)[-1] for part in (J[self.rows], J)]
            if sizes[0] < 0.1 * sizes[1]:
                rank, order = rank_and_pivots(J.T)
                self.rows = np.sort(order[:rank])
        try:
            at.state.zd[:] = -self.solve(eq.phi1)
            at.evaluate(self.time)
            at.state.zdd[:] = -self.solve(eq.phi2)
        except np.linalg.LinAlgError:
            at.state.zd[:] = at.state.zdd[:] = 0.0  # a singular position: the next one is tried from here
        self.zd, self.zdd = at.state.zd.copy(), at.state.zdd.copy()

    def _size(self, z: np.ndarray) -> float:
        """Largest change of a coordinate in a change z (n,), in units of coordinates."""
        return float(np.abs(z.real / self._columns).max(initial=0.0))

    def _independence(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Singular values of the independent rows, scaled to unit length, and their vectors."""
        J = self.at.work.eq.J[self.rows].real * self._columns
        lengths = np.linalg.norm(J, axis=1)
        u, sizes, v = np.linalg.svd(J / np.where(lengths > 0.0, lengths, 1.0)[:, None])
        return sizes, u, v

    def _why(self) -> str:
        """A sentence on why the motion cannot continue from here."""
        self.at.evaluate(self.time)
        sizes, u, v = self._independence()
        laws = ", ".join(repr(self.names.constraints[row]) for row in self._laws)
        where = f"beyond t = {self.time:.6g} s"
        if sizes[-1] > NEARLY * self._usual[-1]:
            return f"the motion cannot be followed {where}: is there a jump in what drives it ({laws})?"
        share = np.where(np.isin(self.rows, self._laws), 0.0, np.abs(u[:, -1]))
        joint = self.names.constraints[self.rows[int(np.argmax(share))]].partition(".")[0]
        coordinate = self.names.coordinates[int(np.argmax(np.abs(v[-1])))].lstrip("-")
        return (
            f"the mechanism locks {where}: {coordinate} turns back in a singular position there, in which the "
            f"constraints of {joint!r} lose their rank; {laws} {'drive' if len(self._laws) > 1 else 'drives'} it "
            "further than it can go"
        )


class Sampler:
    """Solves one sample after another for the motion, its forces and their derivatives; all stand in ``at``.

    ``orientation`` is that of ``path`` at the last sample; ``instant`` makes time points, as ``Instant`` does.
    """

    def __init__(self, problem: Problem, start: Initial, dtheta: np.ndarray, instant: Callable[..., Instant] = Instant):
        still = instant(problem, start.theta, np.zeros((start.theta.size, 0), start.theta.dtype), None)
        still.state.z[:] = start.state.z
        still.work.kin.expected[:] = start.expected
        self.path = Path(problem, still, all_but(still.m, start.redundant))
        self.at = instant(problem, start.theta, dtheta, still) if dtheta.shape[1] else still
        self.orientation = 0.0

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
            found[:] = of_least_norm(at.work.eq.J, rows, found)
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
        self._start, self._reason, self._orientation = start, "", 0.0
        self._sampler: Sampler | None = None

    @classmethod
    def of(cls, problem: Problem, theta: np.ndarray | None = None, tape: Tape | None = None) -> Self:
        """Assemble the start, which a ``tape`` keeps; raise AnalysisError where loops stay open."""
        initial = assemble_closed(problem, theta, motion_only=True)
        if tape is not None:
            tape.initial = initial
        return cls(problem, initial, tape)

    def _made(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> Progress:
        iterations, row = 0, 0
        first = self.step if filled else self.step + 1
        try:
            self._sampler = self._sampler or self._sampling()
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
        observe(self.model, self.theta, self.control.at_center, self.directions, work.kin, twists, rows, d_rows)
        status = Status.NO_CONVERGENCE if self._reason else Status.OK
        return Progress(int(status), max(0, row - filled), 0.0, 0, iterations)

    def _sampling(self) -> Sampler:
        """The sampler, at the first sample."""
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
        """Record for ``Passages`` that the determinant has changed its sign since the last sample."""
        assert self._sampler is not None
        path = self._sampler.path
        watch: Any = self.work.watch
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
    yield from in_blocks(following, min(256, steps_of_block(problem, 0 if tape else following.p)))
