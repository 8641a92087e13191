"""Forward dynamics as ordinary differential equations, with direct sensitivities, block by block; stiffness."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.closed_loops import ClosedLoops
from mbsim_cli.kernels.algorithms.equations.forces import Turns, turns
from mbsim_cli.kernels.algorithms.open_trees.conventional import conventional
from mbsim_cli.kernels.algorithms.open_trees.flexible_open_tree import flexible_open_tree
from mbsim_cli.kernels.algorithms.open_trees.flexible_recursive import flexible_recursive
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.algorithms.open_trees.partial_recursive import partial_recursive
from mbsim_cli.kernels.algorithms.open_trees.recursive import recursive
from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.course import Case
from mbsim_cli.kernels.drivers.observe import follow_rows, observe
from mbsim_cli.kernels.drivers.open_trees import TINY, measure_start
from mbsim_cli.kernels.drivers.record import Inside, Record, SensitivityRecord, Steps, Stretch
from mbsim_cli.kernels.drivers.stepping import BEFORE_START, DUE, SIZE, TIME, TRIED
from mbsim_cli.kernels.drivers.time_points import measure_drift
from mbsim_cli.kernels.integrators.runge_kutta import Tableau
from mbsim_cli.model.codes import Status
from mbsim_cli.model.coordinates import of_columns
from mbsim_cli.model.layout import FlexibleTree
from mbsim_cli.model.problem import WORK, Block, Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.blocks import RULE, BrokenOff, block_of, first_rows, other_rows, put_back, reader_of, steps_at_once
from mbsim_cli.solve.faults import HOPELESS, SURELY, Diagnosis, sentence, step_sentence, undefined_at
from mbsim_cli.solve.initial import Initial, assemble, assemble_closed
from mbsim_cli.solve.open_trees.integration import hardest, integration, loops_of, stages_kept
from mbsim_cli.solve.redundancy import Consistency
from mbsim_cli.solve.tape import Checkpoint, Tape, arrays_of, joined


def assemble_start(problem: Problem, theta: np.ndarray, p: int, along: bool = True) -> Initial:
    """Declared positions and velocities with their derivatives in p directions, and automatic values.

    Without ``along`` the run does not vary the motion, and directions are not copied.
    """
    if problem.options.start == "equilibrium":
        return _settled_start(problem, theta, p)
    model, dtype = problem.model, theta.dtype.type
    _, n, _ = allocate.sizes(model)
    first = model.tree.initial[0]
    dtheta = problem.theta_rho
    if along or problem.automatic:
        dtheta = allocate.padded_directions(dtheta[:, :p], dtype)
    state, sens = allocate.state(model, dtype), allocate.sensitivity(model, dtheta.shape[1], dtype)
    state.z[:], state.zd[:] = theta[first : first + n], theta[first + n : first + 2 * n]
    sens.z[:], sens.zd[:] = dtheta[first : first + n], dtheta[first + n : first + 2 * n]
    targets = set(model.constraints.theta.tolist())
    of_laws = [pair for pair in problem.automatic if pair[0] in targets]
    others = [pair for pair in problem.automatic if pair[0] not in targets]
    for wanted in filter(None, (of_laws, others)):
        indices, measures = (np.array(column) for column in zip(*wanted, strict=True))
        width = sens.z.shape[1]
        value, d_value = np.zeros(measures.size, dtype), np.zeros((measures.size, width), dtype)
        kin, directions = allocate.grounded(model, theta), allocate.directions(model, dtheta, dtype)
        tw = allocate.twists_of(model, width, dtype)
        measure_start(model, theta, open_tree(model), directions, state, sens, kin, tw, measures, value, d_value)
        if wanted is of_laws:  # a driven coordinate is where its law puts it: the target is what it lacks
            factor = model.measures.theta[measures]
            initial = first + of_columns(model.tree, model.measures.coordinate[model.measures.first[measures]])
            d_declared = dtheta[factor] * theta[initial, None] + theta[factor, None] * dtheta[initial]
            value, d_value = theta[factor] * theta[initial] - value, d_declared - d_value
        theta[indices] = value
        dtheta[indices] = d_value
    return Initial(state, sens, theta, dtheta)


def _settled_start(problem: Problem, theta: np.ndarray, p: int) -> Initial:
    """Positions at the equilibrium, declared velocities; directions beyond the parameters are zero."""
    found = assemble(problem, theta, motion_only=True)
    wanted = min(p, found.dtheta.shape[1])
    dtheta, sens = zeros((theta.size, p), theta.dtype), allocate.sensitivity(problem.model, p, theta.dtype.type)
    dtheta[:, :wanted] = found.dtheta[:, :wanted]
    sens.z[:, :wanted], sens.zd[:, :wanted] = found.sensitivity.z[:, :wanted], found.sensitivity.zd[:, :wanted]
    found.state.zdd[:], found.state.lam[:] = 0.0, 0.0
    return Initial(found.state, sens, found.theta, dtheta, equilibrium=found.equilibrium)


STEPS = 256  # that are kept at once where their number is not foreseen
INSIDE_ROWS, INSIDE_NUMBERS = 256, 200_000  # rows inside steps, and numbers in them, that are made at once
FORMULATIONS = {"recursive": recursive, "conventional": conventional, "partial_recursive": partial_recursive}
FLEXIBLE = {name: flexible_recursive if name == "recursive" else flexible_open_tree for name in FORMULATIONS}

AHEAD = 1e-3  # time after a failure to examine the mechanism, over the output interval: adaptive steps shorten before
JUDGED = 300_000  # tried steps after which the pace of a run is checked
MANY = 600  # tried steps from which a run with derivatives looks whether stability bounds its steps; then twice as many
STIFFLY = 0.25  # times max_steps that a stiff run may take at its pace


class OpenTreeSimulation:
    """A run in progress; a complex ``theta`` differentiates all of it. A ``tape`` keeps its steps for a sweep back."""

    def __init__(self, problem: Problem, theta: np.ndarray | None = None, tape: Tape | None = None) -> None:
        self.problem, self.model, self.tape = problem, problem.model, tape
        wanted = problem.theta_rho.shape[1] if problem.options.differentiates else 0
        theta = np.array(problem.theta if theta is None else theta)
        if problem.options.open_tree:
            start = assemble_start(problem, theta, padded(wanted), tape is None)
        else:
            start = assemble_closed(problem, theta, motion_only=True)
        self.theta, self.state, self.rest = start.theta, start.state, start.equilibrium
        self.started, self.rank = self.state.z.copy(), start.rank
        self.dtype = self.theta.dtype.type
        self.p = wanted if problem.options.sensitivity == "ddm" else 0
        p = padded(self.p)
        self.sens = start.sensitivity if self.p else allocate.sensitivity(self.model, 0, self.dtype)
        self.directions = allocate.directions(self.model, start.dtheta[:, :p], self.dtype)
        self.dyn: Any
        if problem.options.open_tree:
            known = FLEXIBLE if isinstance(self.model.tree, FlexibleTree) else FORMULATIONS
            self.dyn = known[problem.options.formulation](self.model, self.theta, p, self.dtype)
        else:
            loops = loops_of(problem, self.theta, p, start.expected, redundant=start.redundant.size > 0)
            self.dyn = ClosedLoops(loops, loops.kin)
        at_once = steps_at_once(problem.options, self.state.z.size, self.p)
        self.drive, self.scheme, self.work = integration(
            problem, self.theta, p, self.dyn.open_tree, varies=wanted > 0, at_once=at_once
        )
        self.reactions = reader_of(problem, self.theta, self.directions.dtheta)
        self.consistency: Consistency | None = None  # of closed loops
        if not problem.options.open_tree:
            dtheta, units = start.dtheta[:, : padded(wanted)], scales_of(self.model, self.theta).rows
            at = Instant(problem, self.theta, dtheta) if start.redundant.size else None
            self.consistency = Consistency(problem, at, start.held, units, start.broken[:wanted].copy())
            self.loops = start.work or allocate.work_at_instant(self.model, self.theta)  # at stored time points
            for array in (self.directions.dtheta, *self.sens):  # broken directions must not disturb others
                array[:, np.flatnonzero(self.consistency.broken[: array.shape[1]])] = 0.0
        self.kin = self.loops.kin if self.consistency else allocate.grounded(self.model, self.theta)  # the same
        self.twists = allocate.twists_of(self.model, p, self.dtype)
        self.turns = turns(self.model)
        if self.consistency:
            self.turns.value[:] = start.expected[self.turns.measure]
        self.rule = RULE if problem.summed and problem.options.adaptive else (np.zeros(0), np.zeros(0))
        self.nothing_inside = self._rows_inside(np.zeros(0), np.zeros(0), 0)
        self.turns_inside = turns(self.model)
        self.turns_inside.value[:] = self.turns.value
        self.inside: list[Inside] = []  # time points inside steps that no block has yet
        self.inside_taken: list[Inside] = []  # those towards the next rows
        self.step = 0
        self.unfinished: tuple[Record, SensitivityRecord, np.ndarray] | None = None
        self.fastest = 0.0  # rate of the fastest motion, 1/s, of a run that ends for it
        # derivatives that follow the steps may grow where stability bounds these
        options, differentiates = problem.options, self.p > 0 or tape is not None
        follows = options.integrator == "dop853" and options.error_control == "motion"
        self.looks = differentiates and follows and not np.iscomplexobj(self.theta)
        self.looked, self.reach = 0.0, 0.0  # tried steps at the last look, and ``Block.reach`` so far
        ends = self.work.breakpoints.time.size or self.work.onsets.force.size
        self.fixed_steps = not (problem.options.adaptive or ends)
        self.earlier = self._room(1)  # the step before those of the next rows
        self.taken: list[Steps] = []  # towards the next rows
        self.before: Checkpoint | None = None  # the next rows
        if tape is not None:
            tape.initial, tape.fixed_steps = start, self.fixed_steps

    def first_block(self, steps: int = 0) -> Block:
        """The initial time point alone; raise AnalysisError if its accelerations are not finite."""
        block = self._rows(1)
        if not np.isfinite(block.acceleration).all():
            raise AnalysisError(self._failure(Status.NOT_FINITE))
        return block._replace(rest=np.array([self.rest]))

    def advance(self, steps: int) -> Block:
        """The next ``steps`` time points; an empty block if they take long, and the next call continues.

        Raises BrokenOff, with the time points before, if one cannot be reached.
        """
        if self.tape is not None and not (self.tape.holds_all and self.fixed_steps):
            steps = min(steps, self.tape.spacing)
        begin = [array.copy() for array in self._memory] if self.looks else []
        block = self._rows(steps)
        self.step += len(block.time)
        if self.looks and self.work.clock[TRIED] >= max(MANY, 2.0 * self.looked):
            self.looked = self.work.clock[TRIED]
            reach, _ = self._fastest(PILOT_STEPS, begin)  # nothing may be left to step behind the block
            self.reach = max(self.reach, reach if reach > NEAR else 0.0)
        return block._replace(reach=self.reach)

    def _rows(self, rows: int) -> Block:
        if self.tape is not None and self.unfinished is None and not (self.tape.holds_all and self.fixed_steps):
            self.before = self.checkpoint()
        record, d_record, work = self.unfinished or self._records(rows)
        self.unfinished = None
        status = self._move_on(record, d_record, work)
        if status == Status.OK:
            block = self._with_inside(self._block(record, d_record, work))
            if self.tape is not None:
                stretch = self._stretch(record)
                if self.before is not None and not self.fixed_steps:
                    self.tape.add_with_checkpoint(self.before, stretch)
                    return block
                if self.before is not None:
                    self.tape.add_checkpoint(self.before, stretch.time.size)
                self.tape.add(stretch)
            return block
        if status == Status.PAUSED and self._exceeds_step_limit():
            status = Status.TOO_MANY_STEPS
        if status == Status.PAUSED:
            self.unfinished = record, d_record, work
        rows = 0 if self.unfinished else int(np.count_nonzero(record.time))
        block = self._with_inside(self._block(first_rows(record, rows), first_rows(d_record, rows), work[:rows]))
        if self.unfinished:
            return block
        raise BrokenOff(self._failure(Status(status), first_rows(record, rows)), block)

    def _exceeds_step_limit(self) -> bool:
        """Whether the run, at its present pace, would need far more steps than ``max_steps``.

        The factor falls from 100 to 1.2 with the number of tried steps, which make the pace more reliable. If
        the fastest motion limits the steps, the pace is reliable from the first check. A run whose steps are limited by
        stability ends when it would need a quarter of ``max_steps``: another integrator may need far fewer.
        """
        clock, options = self.work.clock, self.problem.options
        if clock[TRIED] < JUDGED:
            return False
        times = clock[TRIED] * options.duration / (options.max_steps * max(clock[TIME], TINY))
        if times > STIFFLY and not options.implicit:
            reach, rate = self._fastest(LAST)
            if reach > NEAR or (reach > FOLLOWED and times > SURELY):
                self.fastest = rate
        return bool(self.fastest or times > max(SURELY, HOPELESS * (clock[TRIED] / JUDGED) ** -2))

    @property
    def _memory(self) -> list[np.ndarray]:
        """Arrays that tell how the run goes on."""
        return [*self._remembered, *self.sens]

    def _fastest(self, count: int, begin: Sequence[np.ndarray] = ()) -> tuple[float, float]:
        """h lambda of the last of ``count`` steps over its limit of stability, and their lambda, 1/s.

        The steps are the next ones, or those behind a ``begin``, as ``_memory`` had it; the run is restored.
        """
        here = [array.copy() for array in self._memory]
        put_back(self._memory, begin or here)
        self.work.clock[DUE] = 0.0  # no output inside these steps
        steps = self.steps_ahead(count)
        put_back(self._memory, here)
        reach, size = _reach(steps, self.scheme.tableau)[-LAST:], steps.size[steps.size > 0.0][-LAST:]
        return (float(np.median(reach)) / STABLE, float(np.median(reach / size))) if reach.size else (0.0, 0.0)

    def _move_on(self, record: Record, d_record: SensitivityRecord, work: np.ndarray) -> int:
        """Integrate to the unfilled rows of a record, and keep the steps for a tape; return a Status."""
        done = int(np.count_nonzero(record.time))  # of a time point after the start the time is not zero
        steps = self._room(0 if self.tape is None else record.time.size if self.fixed_steps else STEPS)
        inside = self._room_inside()
        case = self._case(self._times(record.time.size)[done:], steps, inside, (record, d_record, work), done)
        status: int = self.drive(self.model, self.scheme, case)
        self.taken.append(first_rows(steps, steps.count[0]))
        self._take_inside(inside)
        return status

    def _case(self, times: np.ndarray, steps: Steps, inside: Inside, rows: tuple, done: int) -> Case:
        """Arguments of the driver that fills rows at ``times``, behind the ``done`` rows filled before."""
        record, d_record, work = rows
        return Case(
            self.theta, times, self.directions, self.dyn, self.state, self.sens, self.work, steps, inside,
            other_rows(record, done), work[done:], other_rows(d_record, done),
        )  # fmt: skip

    def _take_inside(self, inside: Inside) -> None:
        """Keep the time points inside steps of one call of the driver, with their sensors."""
        count = inside.count[0]
        if count:
            rows, d_rows = first_rows(inside.rows, count), first_rows(inside.d_rows, count)
            found = inside._replace(length=inside.length[:count], rows=rows, d_rows=d_rows)
            self._observe(rows, d_rows, self.turns_inside)
            self.inside.append(found)
            if self.tape is not None:
                self.inside_taken.append(found)

    def _with_inside(self, block: Block) -> Block:
        """The block with the time points inside steps since the block before, if integrals need them."""
        if not self.rule[0].size:
            return block
        parts, self.inside = self.inside or [self.nothing_inside], []
        length, rows, d_rows = joined([(part.length, part.rows, part.d_rows) for part in parts])
        inside = self._block(rows, d_rows, np.zeros((length.size, len(WORK)), np.int64), observed=True)
        return block._replace(inside=(inside._replace(length=length),))

    def _stretch(self, record: Record) -> Stretch:
        """The rows, and the steps and time points inside steps since the rows before, for the tape.

        The last step before them, if any, comes first.
        """
        parts, self.inside_taken = self.inside_taken or [self.nothing_inside], []
        length, inside = joined([(part.length, part.rows) for part in parts])
        steps = joined([first_rows(self.earlier, self.earlier.count[0]), *self.taken])
        for kept, array in zip(self.earlier, steps, strict=True):  # the last one comes before those of the next rows
            kept[:] = array[-1:]
        self.earlier.count[0], self.taken = 1, []
        return Stretch(record, steps, inside, length)

    def steps_ahead(self, count: int) -> Steps:
        """The next ``count`` steps, fewer at the end of the run; afterwards the run cannot continue."""
        steps, rows = self._room(count), self._records(1)
        status = Status.PAUSED
        while status == Status.PAUSED and steps.count[0] < count:
            case = self._case(np.array([self.scheme.end]), steps, self.nothing_inside, rows, 0)
            status = self.drive(self.model, self.scheme, case)
        return first_rows(steps, steps.count[0])

    def _times(self, rows: int) -> np.ndarray:
        """Times of the next rows."""
        begun = 0 if self.work.clock[TIME] == BEFORE_START else 1
        return (self.step + begun + np.arange(rows)) * self.problem.options.step

    def _room(self, count: int) -> Steps:
        """Allocate Steps; memory is not cleared, because most of it is never used."""
        stages, n, dtype = stages_kept(self.scheme.tableau), self.state.z.size, self.dtype
        return Steps._make((
            np.zeros(1, np.int64), *np.zeros((3, count)), np.zeros(count, np.int64), np.empty((count, n), dtype),
            *np.empty((2, count, stages, n), dtype),
        ))  # fmt: skip

    def _room_inside(self) -> Inside:
        """Allocate Inside, for whole steps; empty if integrals do not need them."""
        share, weight = self.rule
        if not share.size:
            return self.nothing_inside
        record, d_record, _ = self._records(1)
        numbers = sum(array.size for array in (*record, *d_record))
        steps = max(1, min(INSIDE_ROWS, INSIDE_NUMBERS // numbers) // share.size)
        return self._rows_inside(share, weight, steps * share.size)

    def _rows_inside(self, share: np.ndarray, weight: np.ndarray, rows: int) -> Inside:
        record, d_record, _ = self._records(rows)
        return Inside(share, weight, np.zeros(1, np.int64), np.zeros(rows), record, d_record)

    @property
    def _remembered(self) -> list[np.ndarray]:
        """All arrays that a step depends on: repeated steps are bit-equal."""
        return arrays_of((self.state, self.work, self.turns, self.turns_inside, self.earlier))

    def checkpoint(self) -> Checkpoint:
        """The position in time, and copies of all arrays that the next step depends on."""
        return Checkpoint(self.step, (), [array.copy() for array in self._remembered])

    def replay(self, at: Checkpoint, steps: int) -> Stretch:
        """Repeat ``steps`` time points from a checkpoint; the run then stands at the last of them."""
        self.step = at.step
        put_back(self._remembered, at.arrays)
        record, d_record, work = self._records(steps)
        while self._move_on(record, d_record, work) == Status.PAUSED:
            pass
        self._observe(record, d_record, self.turns)
        self.inside = []
        return self._stretch(record)

    def _records(self, rows: int) -> tuple[Record, SensitivityRecord, np.ndarray]:
        d_record = allocate.sensitivity_record(self.model, rows, self.sens.z.shape[1], self.dtype)
        return allocate.record(self.model, rows, self.dtype), d_record, np.zeros((rows, len(WORK)), np.int64)

    def _failure(self, status: Status, record: Record | None = None) -> str:
        """Why the integration could not go on behind the last time points, as a sentence."""
        clock = self.work.clock
        time = max(0.0, float(clock[TIME]))
        ahead = (AHEAD if self.problem.options.adaptive else 1.0) * self.problem.options.step
        reached = [(time, self.state.z, self.state.zd)]
        if record is not None and record.time.size:  # the state may be no number any more
            reached.append((float(record.time[-1]), record.position[-1], record.velocity[-1]))
        for (t, z, zd), late in product(reached, (0.0, ahead)):
            undefined = undefined_at(self.problem, self.theta, t + late, z + late * zd, zd)
            if undefined is not None:
                return undefined
        if status == Status.NOT_FINITE and self.dtype is np.float64:
            steep = Diagnosis(self.problem, self.theta, time).steep(self.state.z)
            if steep is not None:
                return steep
        if self.consistency and self.dtype is np.float64:
            diagnosis, later = (Diagnosis(self.problem, self.theta, t) for t in (time, time + ahead))
            found = self.consistency.contradiction_at(self.state.z, self.dyn.kin.expected, time)
            found = found or later.locked(self.state.z)
            found = found or diagnosis.sentence(status, self.started, self.rank, self.state.z)
            if found is not None:
                return found
        if status in (Status.STEP_TOO_SMALL, Status.TOO_MANY_STEPS):
            if self.dtype is np.float64:
                vanishing = Diagnosis(self.problem, self.theta, time).vanishing(self.started, self.state.z)
                if vanishing is not None:
                    return vanishing
            worst = hardest(self.scheme, self.state, self.work.stages)
            pace = float(clock[SIZE]), int(clock[TRIED]), self.fastest
            return step_sentence(status, time, self.problem, worst, *pace)
        return sentence(status, time, self.problem, self.state.zdd, np.zeros(0))

    def _block(self, record: Record, d_record: SensitivityRecord, work: np.ndarray, *, observed: bool = False) -> Block:
        """Time points with their sensors."""
        if not observed:
            self._observe(record, d_record, self.turns)
        masks = self.consistency.broken_and_free(record, d_record) if self.consistency else ()
        return block_of(record, d_record, self.p, work[:, WORK.index("evaluations")], work, self.reactions, *masks)

    def _observe(self, record: Record, d_record: SensitivityRecord, turning: Turns) -> None:
        """Fill in what sensors show; ``turning`` are the angles that are followed from row to row."""
        if turning.measure.size:
            follow_rows(self.model, self.theta, self.kin, turning, record)
        if self.consistency:
            spare = allocate.state(self.model, self.dtype)
            measure_drift(self.model, self.theta, self.kin, self.loops.eq, spare, record)
        observe(self.model, self.theta, True, self.directions, self.kin, self.twists, record, d_record)


PILOT_STEPS = 120  # steps from the start that are examined
LAST = 40  # of them decide: the first ones grow
STABLE = 6.1  # h lambda of dop853, about
FOLLOWED = 0.1  # share of it from which steps are about as long as the accuracy of the fastest motion allows
NEAR = 0.6  # the same from which they are as long as stability allows


class Pilot(NamedTuple):
    """Result of the first steps of ``dop853``, which shows whether the model is stiff."""

    end: float  # s, of the last step
    reach: float  # median h lambda over its limit of stability; NaN if no step succeeds
    breakpoints: int  # times of the run at which steps end, because laws change

    @property
    def stiff(self) -> bool:
        """Whether an implicit method may take longer steps."""
        return not self.reach < NEAR


def pilot(problem: Problem) -> Pilot:
    """Make the first steps of the motion by ``dop853`` with the tolerances of the options."""
    options = replace(problem.options, sensitivity="none", integrator="dop853", error_control="motion")
    alone = replace(problem, options=options, theta_rho=problem.theta_rho[:, :0], ahead=None)
    simulation = OpenTreeSimulation(alone)
    breakpoints = simulation.work.breakpoints.time.size
    try:
        simulation.first_block()
    except AnalysisError:  # the run itself will report it
        return Pilot(0.0, 0.0, breakpoints)
    steps = simulation.steps_ahead(PILOT_STEPS)
    taken = [k for k in range(len(steps.time)) if steps.size[k] > 0.0]
    if not taken:
        return Pilot(0.0, np.nan, breakpoints)
    reach = _reach(steps, simulation.scheme.tableau)[-LAST:]
    return Pilot(float(steps.end[taken[-1]]), float(np.median(reach)) / STABLE, breakpoints)


def _reach(steps: Steps, method: Tableau) -> np.ndarray:
    """h lambda (count,) of the steps of ``dop853`` that have a length, lambda the rate that shows at their ends.

    Source: Hairer, Wanner, Solving Ordinary Differential Equations II (1996), section IV.2, for y'' = f(y, y').
    """
    a, b = method.a, method.b
    last, weights = b.size, np.append(b, 0.0)
    weights[:-1] -= a[b.size - 1, : b.size]
    found = []
    for k in np.flatnonzero(steps.size > 0.0):
        h, zd, zdd = steps.size[k], steps.zd[k, : last + 1], steps.zdd[k, : last + 1]
        moved, bent = np.linalg.norm(h * (weights @ zd)), np.linalg.norm(zdd[last] - zdd[last - 1])
        found.append(h * np.sqrt(bent / moved) if moved > 0.0 else 0.0)
    return np.array(found)
