"""Forward dynamics by ALI3-P with direct sensitivities, in blocks of time points; it also starts runs of open trees."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.simd import empty
from mbsim_cli.kernels.drivers.observe import follow_rows, observe
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Progress
from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.model.codes import Status
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.layout import NONE, LoadedSignals, Model
from mbsim_cli.model.problem import WORK, Block, Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve import allocate, blocks
from mbsim_cli.solve.allocate import NO_ROWS, Evaluable, evaluable
from mbsim_cli.solve.blocks import BrokenOff, block_of, first_rows, is_balanced, other_rows, reader_of, steps_at_once
from mbsim_cli.solve.breakpoints import pieces_of, with_complex_step
from mbsim_cli.solve.faults import Diagnosis, Failed, Passage, Passages, sentence, undefined_at, why_not_converged
from mbsim_cli.solve.initial import Initial, assemble_closed
from mbsim_cli.solve.pieces import Loop, Pieces
from mbsim_cli.solve.redundancy import Consistency
from mbsim_cli.solve.sides import mean_of, sides_of

if TYPE_CHECKING:
    from mbsim_cli.solve.constraint_forces import Balance, DrivingPower
    from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation
    from mbsim_cli.solve.tape import Checkpoint, Tape

BLOCK_NUMBERS = 750_000  # numbers of sensitivities in a block, 6 MB
BLOCK_STEPS = 5_000


class Simulation:
    """A run in progress; a complex ``theta`` differentiates all of it. A ``tape`` keeps what a sweep back needs."""

    def __init__(self, problem: Problem, start: Initial, tape: "Tape | None" = None) -> None:
        self.problem, self.model, self.theta = problem, problem.model, start.theta
        self.tape = tape
        self.dtype = self.theta.dtype.type
        redundant = start.redundant.size > 0
        control = allocate.control(problem, redundant=redundant)
        self.control: Control = with_complex_step(control, problem, self.theta)
        self.state, self.rest = start.state, start.equilibrium
        independent = all_but(self.state.lam.size, start.redundant)
        self.work = allocate.work(self.model, self.theta, independent, problem.least)
        self.work.onsets.steps[0] = problem.options.onset_steps
        self.work.kin.expected[:] = start.expected
        self.work.turns.value[:] = start.expected[self.work.turns.measure]
        self.work.past.zdd[:, 0], self.work.past.multiplier[:, 0] = self.state.zdd, self.state.lam
        self.progress = Progress(int(Status.OK), 0, 0.0, 0, 0)
        self.step = 0
        self.rank, self.started = start.rank, self.state.z.copy()
        self.reached = self.started  # (n,) at the latest stored time point
        wanted = problem.options.sensitivity == "ddm"
        dtheta = start.dtheta if wanted else start.dtheta[:, :0]
        self.p = problem.theta_rho.shape[1] if problem.options.differentiates else 0
        self.sens = start.sensitivity if wanted else allocate.sensitivity(self.model, 0, self.dtype)
        self.directions = allocate.directions(self.model, dtheta, self.dtype)
        tangent = allocate.another(self.work.tangent) if wanted else self.work.tangent
        self.extra = allocate.sensitivity_work(self.model, dtheta.shape[1], tangent)
        self._loop = Loop(
            self.model, self.theta, self.control, self.directions, self.state, self.sens, self.work, self.extra
        )
        pieces = pieces_of(problem, self.theta)
        divided = pieces or self.work.onsets.force.size
        self._pieces = Pieces(problem, self._loop, pieces, keeps=tape is not None) if divided else None
        if tape is not None and self._pieces:
            tape.pieces = self._pieces.made
        self.multipliers = allocate.multiplier_sensors(self.model)
        self.balance: Balance | None = None
        self._driving: DrivingPower | None = None
        balanced = is_balanced(problem, problem.reacting is not None)
        driven = (self.model.constraints.law != NONE).any() and not np.iscomplexobj(self.theta)
        driven = driven and problem.options.projection == "identity"
        if balanced or driven:
            from mbsim_cli.solve import constraint_forces as forces

            self.balance = forces.Balance(problem, self.theta, dtheta, redundant=redundant) if balanced else None
            self._driving = forces.DrivingPower(problem, self.theta, redundant=redundant) if driven else None
        self._forceless = 0.0  # time points, all so far, at which its forces are not found
        self.reactions = reader_of(problem, self.theta, dtheta, self.balance)
        varied, natural = start.dtheta if self.p else dtheta, problem.options.natural
        at = evaluable(problem, self.theta, varied, start.expected) if self.control.redundant else None
        units = scales_of(self.model, self.theta).rows if not natural else np.ones(self.state.lam.size)  # in m
        self.consistency = Consistency(problem, at, start.held, units, start.broken[: self.p].copy())
        self._stop_varying()
        theta, dtheta = (np.ascontiguousarray(part.real) for part in (self.theta, varied))
        stand = partial(evaluable, problem, theta, dtheta, start.expected)
        self._passages = Passages(stand, problem.options.step, self.work.watch)
        self.passed: list[Passage] = []  # behind the last time point

    def first_block(self, steps: int = 0) -> Block:
        """The initial time point and the first ``steps`` steps; raise BrokenOff as ``advance`` does."""
        record, d_record = self._records(1 + steps // self.problem.options.output_interval)
        for stored, start in zip((*record[1:7], *d_record[:4]), (*self.state, *self.sens[:4]), strict=True):
            stored[0] = start
        record.reaction[0], d_record.reaction[0] = self.state.lam, self.sens.lam
        if self.work.turns.measure.size:  # nothing to compile for otherwise
            follow_rows(self.model, self.theta, self.work.kin, self.work.turns, first_rows(record, 1))
        return self._run(steps, 1, record, d_record)

    def advance(self, steps: int) -> Block:
        """The next ``steps`` steps; raise BrokenOff, with those before, where one fails."""
        interval = self.problem.options.output_interval
        return self._run(steps, 0, *self._records((self.step + steps) // interval - self.step // interval))

    def _records(self, rows: int) -> tuple[Record, SensitivityRecord]:
        d_record = allocate.sensitivity_record(self.model, rows, self.sens.z.shape[1], self.dtype, empty)
        return allocate.record(self.model, rows, self.dtype, corrections=self.tape is not None), d_record

    def _run(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> Block:
        """The block of the time points that ``steps`` steps fill, behind the ``filled`` first rows."""
        interval, begun = self.problem.options.output_interval, self.step
        if self.tape is None or self.tape.holds_all:
            self._step_on(steps, filled, record, d_record)
        else:  # fill one row a step, with checkpoints on the way
            done = 0
            while done < steps and self.progress.status == Status.OK:
                size = min(self.tape.spacing, steps - done)
                self.tape.add_checkpoint(self.checkpoint(), size)
                self._step_on(size, 0, first_rows(other_rows(record, done), size), other_rows(d_record, done))
                done += size
        rows = filled + self.step // interval - begun // interval
        contradicted = self.consistency.contradiction(first_rows(record, rows))
        if contradicted:
            rows = contradicted[0]
        record, d_record = first_rows(record, rows), first_rows(d_record, rows)
        work = np.zeros((rows, len(WORK)), np.int64)
        if self._pieces and self._pieces.divided:
            number = np.round(record.time.real / self.problem.options.step).astype(int)
            work[:, WORK.index("rejected")] = np.isin(number, list(self._pieces.divided))
        broken, free = self.consistency.broken_and_free(record, d_record)
        masks = broken, free, self._singular_multipliers(record, broken)
        if self.consistency.broken.any():
            self._stop_varying()
        lost = self.balance.lost if self.balance else None
        block = block_of(record, d_record, self.p, record.iterations, work, self.reactions, *masks, lost)
        block.rest[:filled] = self.rest
        if self.tape is not None:
            self.tape.add(record)
        if rows:
            self.reached = block.position[-1].copy()
        if contradicted:
            raise BrokenOff(contradicted[1], block)
        if self.progress.status != Status.OK:
            raise BrokenOff(self._failure(), block)
        self._forceless += len(block.lost) if all(block.lost) else -math.inf
        if self._forceless > 1:
            raise AnalysisError(f"the forces of constraints at t = {block.time[0]:g} s {block.lost[0]}")
        return block

    def _step_on(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> None:
        """Fill the rows after the ``filled`` ones, and advance."""
        self.progress = self._made(steps, filled, record, d_record)
        begun, self.step = self.step, self.step + self.progress.steps
        interval = self.problem.options.output_interval
        rows = self.step // interval - begun // interval
        made, d_made = first_rows(other_rows(record, filled), rows), first_rows(other_rows(d_record, filled), rows)
        if self.balance and (self.multipliers[0].size or isinstance(self.model.signals, LoadedSignals)):
            self._read_multipliers(made, d_made)
        if self._driving:
            self._driving.write(made)

    def _made(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> Progress:
        """Make steps that fill rows behind ``filled``; return the progress at their end."""
        made_by, interval = self._pieces or self._loop, self.problem.options.output_interval
        return made_by.run(self.step, steps, interval, self.progress, filled, record, d_record)

    def _read_multipliers(self, record: Record, d_record: SensitivityRecord) -> None:
        """Write multipliers of the motion to their sensors in the rows of a record."""
        assert self.balance
        columns, equations = self.multipliers
        *balanced, lost = self.balance.of(record, d_record)
        pairs: list[tuple[Any, Any]] = list(zip((record, d_record), balanced, strict=True))
        for part, found in pairs:
            part.reaction[:] = found.reaction
        if isinstance(self.model.signals, LoadedSignals):  # forces, too, are those of the motion
            observe(
                self.model, self.theta, self.control.at_center, self.directions, self.work.kin, self.extra.twists,
                record, d_record,
            )  # fmt: skip
        for part, found in pairs:
            part.sensors[:, columns] = found.reaction[:, equations]
            part.sensors[np.ix_(lost, columns)] = np.nan

    @property
    def _remembered(self) -> list[np.ndarray]:
        """All arrays that a step depends on, those of Newton's iteration included: repeated steps are bit-equal."""
        work = self.work
        factor = [array for array in work.tangent if isinstance(array, np.ndarray)]
        past = (*work.past[:4], work.corrections)
        turns = (work.turns.value, work.turns.rate, work.turns.time, work.kin.expected)
        return [*self.state, *past, *factor, *turns, *work.onsets[-3:]]

    def checkpoint(self) -> "Checkpoint":
        """The position in time, and copies of all arrays that the next step depends on."""
        from mbsim_cli.solve.tape import Checkpoint

        return Checkpoint(self.step, self.progress, [array.copy() for array in self._remembered])

    def replay(self, at: "Checkpoint", steps: int) -> Record:
        """Repeat ``steps`` steps from a checkpoint and return their record; the run then stands at their end."""
        self.step, self.progress = at.step, at.progress
        blocks.put_back(self._remembered, at.arrays)
        record, d_record = self._records(steps)
        self._step_on(steps, 0, record, d_record)
        return record

    def _singular_multipliers(self, record: Record, broken: np.ndarray) -> np.ndarray:
        """``Block.singular``, behind singular positions; enter in ``broken`` what has no derivative then."""
        singular = np.zeros(record.lam.shape, dtype=bool)
        self.passed += self._passages.take()
        while self.passed and record.time.size and self.passed[0].time <= record.time[-1]:
            passage = self.passed.pop(0)
            behind = int(np.searchsorted(record.time, passage.time))
            singular[behind, passage.constraints] = True
            found = np.where(passage.breaks[: self.p], -1 - passage.constraints[0], 0)
            self.consistency.broken = np.where(self.consistency.broken, self.consistency.broken, found)
            broken[behind:] = np.where(broken[behind:], broken[behind:], found)
        return singular

    def _stop_varying(self) -> None:
        """Set broken directions to zero: they are no derivatives, and could overflow or disturb others."""
        broken = np.flatnonzero(self.consistency.broken) if self.sens.z.shape[1] else NO_ROWS
        for array in (self.directions.dtheta, *self.sens):
            array[:, broken] = 0.0

    def _failure(self) -> str:
        """A sentence on the cause of the failed step."""
        problem, theta, time = self.problem, self.theta, (self.step + 1) * self.control.h
        status, found = Status(self.progress.status), None
        if self.dtype is np.float64:
            in_joints, near = not problem.options.natural, self.work.kin.expected
            if in_joints:
                found = undefined_at(problem, theta, time, self.state.z, self.state.zd)
            if found is None:
                found = self.consistency.contradiction_at(self.state.z, near, time)
            if found is None and in_joints:
                found = Diagnosis(problem, theta, time).sentence(status, self.started, self.rank, self.reached)
            if found is None and status == Status.NO_CONVERGENCE:
                work, column = self.work, self.work.column
                last, roots = (column.x[:, 0], column.mu[:, 0]), np.sqrt(work.tangent.alpha / self.control.ratio)
                gaps = roots * column.e[:, 0], roots * column.residual[:, 0]
                failed = Failed(time, self.control.h, self.state, *last, work.tangent.weight, work.past.zdd, *gaps)
                found = why_not_converged(failed, problem, theta, self._bare)
        return found or sentence(status, time, problem, self.state.zdd, self.work.eq.phi)

    def _bare(self, model: Model) -> Evaluable:
        """A time point of the ``model``, without directions, with work arrays of its own."""
        expected, none = self.work.kin.expected, np.zeros((self.theta.size, 0))
        at = evaluable(replace(self.problem, model=model), self.theta, none, expected)
        at.work.kin.expected[:] = expected
        return at


def start(
    problem: Problem, theta: np.ndarray | None = None, tape: "Tape | None" = None
) -> "Simulation | OpenTreeSimulation":
    """Assemble the start and prepare a run; raise AnalysisError where the mechanism cannot be assembled."""
    if problem.ahead is not None and theta is None and tape is None and problem.ahead.begin(problem):
        return problem.ahead
    if problem.options.integrated:
        from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation

        return OpenTreeSimulation(problem, theta, tape)
    if problem.options.natural:
        from mbsim_cli.solve.natural.start import natural_start

        problem, initial = natural_start(problem, theta)
    else:
        initial = assemble_closed(problem, theta)
    if tape is not None:
        tape.initial = initial
    return Simulation(problem, initial, tape)


def forward(problem: Problem, *, theta: np.ndarray | None = None, tape: "Tape | None" = None) -> Iterator[Block]:
    """Simulate; yield blocks of stored time points from the initial one on, empty ones between two that take long.

    ``theta`` may replace the problem's numbers, also by complex ones. Sensitivities are computed when
    ``problem.options.sensitivity`` is ``ddm``; a ``tape`` keeps what ``adjoint.whole_run`` needs. Raises AnalysisError.
    """
    sides = sides_of(problem, theta) if tape is None else ()
    if sides:
        yield from mean_of(problem, theta, sides, _forward)
    else:
        yield from _forward(problem, theta, tape)


def _forward(problem: Problem, theta: np.ndarray | None, tape: "Tape | None" = None) -> Iterator[Block]:
    """As ``forward``, by a single run."""
    simulation = start(problem, theta, tape)
    yield from in_blocks(simulation, steps_of_block(problem, 0 if tape else simulation.p), tape)


def in_blocks(simulation: "Simulation | OpenTreeSimulation", size: int, tape: "Tape | None" = None) -> Iterator[Block]:
    """All blocks of a run, ``size`` steps in each; a block that breaks off comes before the error."""
    options = simulation.problem.options
    total = round(options.duration / options.step)
    try:
        yield simulation.first_block(0 if tape else min(size, total))  # by which a tape plans
        if tape is not None:
            tape.plan(simulation, total, size)
        while simulation.step < total:
            yield simulation.advance(min(size, total - simulation.step))
    except BrokenOff as failure:
        if len(failure.block.time):
            yield failure.block
        raise


def steps_of_block(problem: Problem, p: int) -> int:
    """Steps of a block: its sensitivities stay within bounds, and it takes a tenth of a second at most."""
    _, n, m = allocate.sizes(problem.model)
    patience = steps_at_once(problem.options, n, p)
    reactions = problem.reacting.width if problem.reacting else 0
    numbers = (3 * n + m + allocate.sensor_width(problem.model) + reactions) * max(p, 1)
    interval = problem.options.output_interval
    rows = max(1, min(BLOCK_STEPS // interval, patience // interval, BLOCK_NUMBERS // max(numbers, 1)))
    return rows * interval
