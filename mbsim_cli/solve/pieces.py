"""Steps of ALI3-P in pieces, which end at breakpoints of laws of time (``solve.breakpoints``) or where forces begin.

A piece is a step of another length. If it is too short to compute accelerations from changes of positions, they are
those that the equations of motion give at its beginning and at its end.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.motion.workspace import Directions
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Progress, SensitivityWork, Work, run
from mbsim_cli.kernels.integrators.ali3p import Control, State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import first_rows, other_rows, put_back
from mbsim_cli.solve.breakpoints import EventTime, LawRates, Piece, law_rates

Rows = tuple[Record, SensitivityRecord]


class Loop(NamedTuple):
    """The compiled time loop with its state and work arrays."""

    model: Model
    theta: np.ndarray
    control: Control
    directions: Directions
    state: State
    sens: Sensitivity
    work: Work
    extra: SensitivityWork

    def run(
        self, first: int, steps: int, interval: int, progress: Progress, filled: int, record: Record,
        d_record: SensitivityRecord,
    ) -> Progress:  # fmt: skip
        """Steps behind the step ``first``, see ``simulate.run``."""
        return Progress(
            *run(
                self.model, self.theta, self.control, first, steps, interval, progress, self.directions, self.state,
                self.sens, self.work, self.extra, filled, record, d_record,
            )
        )  # fmt: skip


class CompletedPiece(NamedTuple):
    """A completed piece, for the adjoint."""

    piece: Piece
    begun: tuple[np.ndarray, np.ndarray]  # velocities and accelerations
    end: Record  # one row
    stage: Record | None  # of one that is short


class Pieces:
    """Makes steps, some of them in pieces; ``made`` holds the pieces of each such step if an adjoint needs them.

    ``divided`` are the steps that are divided because forces begin in them.
    """

    def __init__(self, problem: Problem, loop: Loop, pieces: Mapping[int, Sequence[Piece]], *, keeps: bool) -> None:
        self._problem, self._loop, self._pieces, self._keeps = problem, loop, pieces, keeps
        self._law_rates: LawRates = law_rates(problem.model)
        self._p = loop.sens.z.shape[1]
        self.made: dict[int, list[CompletedPiece]] = {}
        self.divided: set[int] = set()

    def run(
        self, first: int, steps: int, interval: int, progress: Progress, filled: int, record: Record,
        d_record: SensitivityRecord,
    ) -> Progress:  # fmt: skip
        """As ``Loop.run``."""
        at, end, now, total = first, first + steps, progress, 0
        stops = sorted((step for step in self._pieces if first < step <= end), reverse=True)
        rows, new = (record, d_record), filled

        def behind(step: int) -> Rows:
            """The rows of the time points behind a step."""
            row = filled + step // interval - first // interval
            return other_rows(record, row), other_rows(d_record, row)

        while at < end and now.status == Status.OK:
            step = stops[-1] if stops else end + 1
            now = self._loop.run(at, step - 1 - at, interval, now, new, *rows)
            at, total = at + now.steps, total + now.iterations
            if now.status == Status.PASSED:
                self.divided.add(at + 1)
            if now.status == Status.PASSED or (now.status == Status.OK and step <= end):
                now = self._make(at + 1, interval, now, behind(at))
                at, total = at + now.steps, total + now.iterations
            rows, new = behind(at), 0
            if stops and stops[-1] == at:
                stops.pop()
        if not steps:
            now = self._loop.run(first, 0, interval, now, filled, record, d_record)
        return now._replace(steps=at - first, iterations=total)

    def _make(self, step: int, interval: int, progress: Progress, behind: Rows) -> Progress:
        """Make a step in pieces; its end goes to the first row ``behind`` it if it is a time point of the results.

        A piece that passes an onset is made as two; so is the step itself where no law changes within it.
        """
        h, made, now, total = self._problem.options.step, list[CompletedPiece](), progress, 0
        left = list(reversed(self._pieces.get(step) or Piece(EventTime((step - 1) * h), EventTime(step * h)).halves))
        room = self._room()
        while left:
            piece = left.pop()
            shown = not left and step % interval == 0
            rows = (first_rows(behind[0], 1), first_rows(behind[1], 1)) if shown else room
            begun, stage = (self._loop.state.zd.copy(), self._loop.state.zdd.copy()), None
            now = Progress(int(Status.OK), 1, progress.scale, 0, 0)
            if piece.is_short(self._problem.options.step):
                stage = self._heun_step(piece, *rows)
                if shown:
                    self._loop.run(step, 0, 1, now, 1, *rows)
            else:
                now = self._step(step, piece, now, rows)
                total += now.iterations
            if now.status == Status.PASSED:
                self.divided.add(step)
                left += reversed(piece.halves)
                continue
            if now.status != Status.OK:
                break
            if self._keeps:
                made.append(CompletedPiece(piece, begun, rows[0], stage))
                room = self._room()
        self._reset_predictor()
        if self._keeps:
            self.made[step] = made
        return Progress(now.status, now.steps, progress.scale, 0, total)

    def _room(self) -> Rows:
        model, dtype = self._loop.model, self._loop.theta.dtype.type
        d_record = allocate.sensitivity_record(model, 1, self._p, dtype)
        return allocate.record(model, 1, dtype, corrections=self._keeps), d_record

    def _reset_predictor(self) -> None:
        """Reset the predictor: steps of another length, or with other laws, cannot be extrapolated."""
        state, past, work = self._loop.state, self._loop.work.past, self._loop.work
        now = state.zdd, work.corrections[1], state.lam + state.kappa, state.kappa
        for differences, value in zip((past.zdd, past.added, past.multiplier, past.kappa), now, strict=True):
            differences[:], differences[:, 0] = 0.0, value

    def _at(self, piece: Piece, loop: Loop) -> Loop:
        """The loop for a piece, with its laws shifted by the variation of the time at its end."""
        late, d_late = piece.end.late(loop.theta), piece.end.varied(loop.directions.dtheta)
        theta = self._law_rates.at(late, loop.theta)
        dtheta = self._law_rates.varied(late, loop.directions.dtheta)
        if d_late.any():
            dtheta = dtheta + np.outer(self._law_rates.rate(theta), d_late)
        directions = loop.directions
        if dtheta is not directions.dtheta:
            directions = allocate.directions(loop.model, dtheta, theta.dtype.type)
        return loop._replace(theta=theta, directions=directions, control=piece.control(loop.control, loop.theta))

    def _step(self, step: int, piece: Piece, progress: Progress, rows: Rows) -> Progress:
        """A piece that is a step of its own length."""
        loop = self._loop
        self._reset_predictor()
        d_length = piece.varied(loop.directions.dtheta)
        if d_length.any():
            # derivatives by the length need the accelerations at the end: make the step without them first
            work = loop.work  # what a step of the motion passes to the next one: state, predictor and angles
            changed = [array for array in work.watch if array.flags.writeable] + [work.corrections, work.kin.expected]
            changed += [*loop.state, work.turns.value, work.turns.rate, work.turns.time]
            kept = [array.copy() for array in changed]
            dtype = loop.theta.dtype.type
            alone = loop._replace(
                directions=allocate.directions(loop.model, loop.directions.dtheta[:, :0], dtype),
                sens=allocate.sensitivity(loop.model, 0, dtype),
                extra=allocate.sensitivity_work(loop.model, 0, loop.work.tangent),
            )
            without = allocate.sensitivity_record(loop.model, 1, 0, dtype)
            made = self._at(piece, alone).run(step - 1, 1, 1, progress, 0, self._room()[0], without)
            if made.status != Status.OK:
                return made
            reached = loop.state.zdd - loop.work.corrections[1]
            put_back(changed, kept)
            loop.sens.z[:] += np.outer(loop.state.zd, d_length)
            loop.sens.zd[:] += np.outer(0.5 * (loop.state.zdd + reached), d_length)
            self._reset_predictor()
        return self._at(piece, loop).run(step - 1, 1, 1, progress, 0, *rows)

    def _heun_step(self, piece: Piece, record: Record, d_record: SensitivityRecord) -> Record:
        """Make a short piece by Heun's method: fill its row, and return the row of its first stage."""
        loop = self._at(piece, self._loop)
        state, sens = loop.state, loop.sens
        length, d_length = loop.control.h, piece.varied(self._loop.directions.dtheta)
        square, ahead = 0.5 * length * length, state.zd + length * state.zdd
        sens.z[:] += length * sens.zd + square * sens.zdd + np.outer(ahead, d_length)
        state.z[:] += length * state.zd + square * state.zdd
        zd, zdd, d_zd, d_zdd = (array.copy() for array in (state.zd, state.zdd, sens.zd, sens.zdd))
        state.zd[:], sens.zd[:] = ahead, sens.zd + length * sens.zdd + np.outer(state.zdd, d_length)
        first, d_first = self._room()
        before = np.nextafter(piece.end.time, -np.inf) if piece.end.numbers else piece.end.time
        self._accelerate(float(before), loop, first, d_first)
        mean = 0.5 * (zdd + state.zdd)
        state.zd[:] = zd + length * mean
        sens.zd[:] = d_zd + 0.5 * length * (d_zdd + sens.zdd) + np.outer(mean, d_length)
        self._accelerate(piece.end.time, loop, record, d_record)
        loop.work.corrections[:] = 0.0
        return first

    def _accelerate(self, time: float, loop: Loop, record: Record, d_record: SensitivityRecord) -> None:
        """Fill a row, and find accelerations that the equations of motion give there."""
        from mbsim_cli.solve.constraint_forces import Balance

        state, sens = loop.state, loop.sens
        record.time[0], record.iterations[0], record.drift[0], d_record.error[0] = time, 0, 0.0, 0.0
        record.sigma[0], record.kappa[0], record.corrections[0] = 0.0, 0.0, 0.0
        record.expected[0] = loop.work.kin.expected[: record.expected.shape[1]]
        pairs: list[tuple[Any, Any]] = [(state, record), (sens, d_record)]
        for part, row in pairs:
            row.position[0], row.velocity[0], row.acceleration[0] = part.z, part.zd, part.zdd
            row.reaction[0] = part.lam + part.kappa
        balance = Balance(self._problem, loop.theta, loop.directions.dtheta, redundant=loop.control.redundant)
        results: tuple[Any, ...] = balance.of(record, d_record)
        *balanced, lost = results
        if lost.any():
            raise AnalysisError(f"the accelerations at t = {time:g} s, where a law changes, {balance.lost[time]}")
        for (part, row), found in zip(pairs, balanced, strict=True):
            part.zdd[:], part.lam[:], part.sigma[:], part.kappa[:] = found.acceleration[0], found.reaction[0], 0.0, 0.0
            row.acceleration[0], row.lam[0], row.reaction[0] = part.zdd, part.lam, part.lam
