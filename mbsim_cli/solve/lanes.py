"""Runs of up to eight cases in the SIMD lanes of one compiled loop; their blocks are read afterwards."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import SPARSE, CaseColumns, Solution
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.simd import TOGETHER, lanes_of, widened
from mbsim_cli.kernels.drivers.course import EVALUATE, Case, begin
from mbsim_cli.kernels.drivers.integrate_cases import Cases, Probes, integrate_cases
from mbsim_cli.kernels.drivers.record import Inside, Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Progress, Work
from mbsim_cli.kernels.drivers.simulate_cases import Numbers, Run, Tangent, simulate_cases
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_cases import Decisions
from mbsim_cli.kernels.integrators.predictor import Past
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import FlexibleTree, Signals
from mbsim_cli.model.problem import CLOSED_LOOPS, Block, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.forward import Simulation, steps_of_block
from mbsim_cli.solve.initial import assemble_closed
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation
from mbsim_cli.solve.tape import size_of


def equal(a: Any, b: Any) -> bool:
    """Whether two arrays, or named tuples of arrays, have the same shape and are equal."""
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


def store(k: int, group: Any, lanes: Any) -> None:
    """Copy the numbers of a named tuple of arrays to SIMD lane k of ``lanes``."""
    if isinstance(group, tuple):
        for part, of_lanes in zip(group, lanes, strict=True):
            store(k, part, of_lanes)
    elif isinstance(group, np.ndarray) and group.dtype == np.float64:
        lanes_of(lanes)[..., k] = group


class _MadeOnce:
    """A completed run that is read once, in place of a new run of the same problem."""

    _made_of: Problem | None
    step: int

    def begin(self, problem: Problem) -> bool:
        """Whether this is the run of ``problem``; True at the first call only."""
        made_of, self._made_of, self.step = self._made_of, None, 0
        return made_of is not None and problem.theta is made_of.theta and problem.options == made_of.options


class MadeRun(_MadeOnce):
    """A completed run, which returns its blocks."""

    p = 0

    def __init__(self, problem: Problem) -> None:
        self.blocks: deque[Block] = deque()
        self.problem = self._made_of = problem

    def first_block(self, steps: int = 0) -> Block:
        """The initial time point alone."""
        return self.blocks.popleft()

    def advance(self, steps: int) -> Block:
        """The next ``steps`` steps."""
        self.step += steps
        return self.blocks.popleft()


class _Lane(Simulation):
    """A run whose steps are made in a SIMD lane; the run itself handles sensors and blocks."""

    rows: tuple[Record, SensitivityRecord] | None = None  # which the compiled loop fills

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, assemble_closed(problem))
        self._probe, self._formed = allocate.state(self.model, self.dtype), allocate.another(self.work.tangent)

    def prepared(self, steps: int) -> Run:
        """The arrays of the run that the compiled loop reads and fills in its next steps."""
        self.rows = None
        interval = self.problem.options.output_interval
        self.rows = self._records((self.step + steps) // interval - self.step // interval)
        return Run(
            self.theta, self.directions, self.state, self.sens, self.work, self.extra, self._probe, self._formed,
            *self.rows,
        )  # fmt: skip

    def _records(self, rows: int) -> tuple[Record, SensitivityRecord]:
        return self.rows or super()._records(rows)

    def _made(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> Progress:
        if self.rows is None:
            return super()._made(steps, filled, record, d_record)
        return self.progress._replace(steps=steps)


def run_constrained(
    problems: Sequence[Problem], poll: Callable[[], None], room: int
) -> tuple[list[MadeRun | None], float]:
    """Make the runs of up to eight problems; None for those that have to run alone.

    Also returns the share of their steps that was made one case at a time. ``poll`` may raise to interrupt; all time
    points together must not take more than ``room`` bytes.
    """
    runs, alike = _begun(_Lane, problems)
    alike = [
        run for run in alike if run.control == alike[0].control and equal(run.work.watch.row, alike[0].work.watch.row)
    ]
    if len(alike) < 2:
        return [None] * len(runs), 0.0
    options = alike[0].problem.options
    rows = round(options.duration / options.step) // options.output_interval + 1
    if TOGETHER * rows * size_of(alike[0]._records(1)) > room:
        return [None] * len(runs), 0.0
    lanes = _ConstrainedLanes(alike)
    made = lanes.made(poll)
    found = {id(run): each for run, each in zip(alike, made, strict=True)}
    return [found.get(id(run)) for run in runs], float(lanes.counts[1] / max(lanes.counts[0], 1))


def _begun(begin: Callable[[Problem], Any], problems: Sequence[Problem]) -> tuple[list[Any], list[Any]]:
    """The runs that ``begin`` makes of problems, and those that differ from the first only in numbers of the model.

    A run is None where its problem cannot start; running it alone reports why.
    """
    runs: list[Any] = []
    for problem in problems:
        try:
            runs.append(begin(problem))
        except AnalysisError:
            runs.append(None)

    def compared(run: Any) -> tuple:
        return run.problem.options, run.theta.shape, run.dtype

    present = [run for run in runs if run is not None]
    first: Any = next(iter(present), None)
    return runs, [run for run in present if compared(run) == compared(first) and equal(run.model, first.model)]


class _ConstrainedLanes:
    """Numbers of all SIMD lanes; lanes without a run, or of failed runs, repeat the first run that continues."""

    def __init__(self, runs: Sequence[_Lane]) -> None:
        self.runs: list[_Lane | None] = list(runs)
        self.counts = np.zeros(2, np.int64)
        first = runs[0]
        self.theta, self.state, self.work = widened(first.theta), widened(first.state), _of_cases(first.work)
        self.numbers = _numbers_of(self.state, self.work)
        found = widened(np.zeros(3))
        numbers = (np.zeros(TOGETHER) for _ in range(3))
        integers = (np.zeros(TOGETHER, np.int64) for _ in range(5))
        self.decisions = Decisions(found, lanes_of(found), *numbers, *integers)
        self.leader = np.zeros(TOGETHER, np.int64)

    def made(self, poll: Callable[[], None]) -> list[MadeRun | None]:
        """Make the runs; None for those that fail."""
        first = self._first
        found = [MadeRun(run.problem) for run in self.runs if run is not None]
        total = round(first.problem.options.duration / first.problem.options.step)
        size = steps_of_block(first.problem, 0)
        for run, each in self._going(found):
            each.blocks.append(run.first_block())
        self._follow()
        while self._going(found) and self._first.step < total:
            steps = min(size, total - self._first.step)
            self._advance(steps, poll)
            going = self._going(found)
            for run, each in going:  # each checks its new steps and stores them as a block
                try:
                    each.blocks.append(run.advance(steps))
                except AnalysisError:  # the run alone will report it
                    self.runs[self.runs.index(run)] = None
            if 0 < len(self._going(found)) < len(going):
                self._follow()
        return [each if run is not None else None for run, each in zip(self.runs, found, strict=True)]

    @property
    def _first(self) -> _Lane:
        return next(run for run in self.runs if run is not None)

    def _going(self, found: Sequence[MadeRun]) -> list[tuple[_Lane, MadeRun]]:
        return [(run, each) for run, each in zip(self.runs, found, strict=True) if run is not None]

    def _advance(self, steps: int, poll: Callable[[], None]) -> None:
        """Make steps of all runs that continue; runs that fail are dropped."""
        first, done, rows = self._first, 0, 0
        given = {k: run.prepared(steps) for k, run in enumerate(self.runs) if run is not None}
        statuses = np.zeros(TOGETHER, np.int64)
        while done < steps and given:
            cases = Cases(*(given.get(k, given[min(given)]) for k in range(TOGETHER)))
            more, rows = simulate_cases(
                first.model, self.theta, first.control, first.step + done, steps - done,
                first.problem.options.output_interval, self.state, self.work, cases, self.numbers, self.decisions,
                self.leader, statuses, rows, self.counts,
            )  # fmt: skip
            done += more
            for k in [k for k in given if statuses[k] != Status.OK]:
                self.runs[k] = None
                del given[k]
            if given and len(given) < sum(self.leader == np.arange(TOGETHER)):
                self._follow()
            poll()

    def _follow(self) -> None:
        """Give every SIMD lane the numbers of its run, or of the first one."""
        runs = [*self.runs, *[None] * (TOGETHER - len(self.runs))]
        first = next(k for k, run in enumerate(runs) if run is not None)
        for k, run in enumerate(runs):
            self.leader[k] = first if run is None else k
            leading = runs[self.leader[k]]
            lanes_of(self.theta)[..., k] = leading.theta
            store(k, leading.state, self.state)
            for name in ("kin", "tangent", "projection", "past", "corrections", "turns"):
                store(k, getattr(leading.work, name), getattr(self.work, name))
            for array in (self.decisions.scale, self.decisions.count):
                array[k] = array[self.leader[k]]


def _of_cases(work: Work) -> Work:
    """Work arrays of all SIMD lanes; their factors have pivots of their own, and stay along their structure."""
    names = "kin", "comp", "eq", "past", "turns", "corrections", "expected", "arguments"
    parts = {name: widened(getattr(work, name)) for name in names}
    kept = Solution(work.column.x, work.column.mu, work.column.residual)
    pivot = np.full(work.tangent.pivot.size, SPARSE)
    column: Any = CaseColumns._make([*widened(work.column), widened(kept)])
    tangent = widened(work.tangent)._replace(pivot=pivot)
    projection = widened(work.projection)._replace(pivot=pivot.copy(), J=parts["eq"].J)
    return work._replace(**parts, column=column, tangent=tangent, projection=projection)


def _numbers_of(state: State, work: Work) -> Numbers:
    """The same memory as plain arrays of numbers."""
    eq = work.eq
    of_equations = eq.phi, eq.phi1, eq.phi2, eq.J, work.projection.weight
    own = work.corrections, work.kin.expected, work.arguments, *of_equations
    turns = work.turns._replace(value=lanes_of(work.turns.value), rate=lanes_of(work.turns.rate))
    tangent = Tangent._make(lanes_of(getattr(work.tangent, name)) for name in Tangent._fields)
    begun = State._make(map(lanes_of, state)), Past._make(map(lanes_of, work.past)), turns
    return Numbers._make([*begun, *map(lanes_of, own), tangent])


ROOM = 2**28  # bytes that the time points of runs made together may take


class RunAhead(_MadeOnce, OpenTreeSimulation):
    """A run that ``calls`` makes in a SIMD lane; its blocks are read once afterwards, as those of a run alone."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.total = round(problem.options.duration / problem.options.step)
        self._made: deque[tuple[tuple[Record, SensitivityRecord, np.ndarray], int, Inside]] = deque()
        self._made_of = problem

    @property
    def bytes(self) -> int:
        """Memory of all time points, bytes."""
        return (self.total + 1) * size_of(self._records(1))

    def calls(self) -> Generator[Case, int, None]:
        """Yield the arguments of each call of the time loop; the generator receives the status of the call."""
        rows, size, room, used = 1, steps_of_block(self.problem, 0), self._records(1), 0
        while rows:
            inside = self._room_inside()
            done = int(np.count_nonzero(room[0].time))
            begin(self.work)
            status = yield self._case(self._times(room[0].time.size)[done:], self._room(0), inside, room, done)
            self._made.append((room, status, inside))
            used += size_of(inside)
            hopeless = status == Status.PAUSED and self._exceeds_step_limit()
            if hopeless or TOGETHER * (self.bytes + used) > ROOM:  # it will run alone
                self._made_of = None
                return
            if status == Status.PAUSED:
                continue
            if status != Status.OK or not np.isfinite(room[0].acceleration[0]).all():
                return
            self.step += rows if len(self._made) > 1 else 0
            rows = min(size, self.total - self.step)
            room = self._records(rows)

    def _rows(self, rows: int) -> Block:
        self.unfinished = self._made[0][0]
        return super()._rows(rows)

    def _move_on(self, record: Record, d_record: SensitivityRecord, work: np.ndarray) -> int:
        _, status, inside = self._made.popleft()
        self._take_inside(inside)
        return status


def run_beside(problems: Sequence[Problem], poll: Callable[[], None]) -> tuple[list[Any], float]:
    """Make the runs of up to eight problems; None for those that have to run alone.

    Also returns the share of evaluations, or steps, that was made one case at a time. ``poll`` may raise to interrupt.
    """
    if not any(problem.options.integrated for problem in problems):
        return run_constrained(problems, poll, ROOM)
    runs, alike = _begun(RunAhead, problems)
    if len(alike) < 2 or TOGETHER * alike[0].bytes > ROOM:
        return [None] * len(runs), 0.0
    parted = _run(alike, poll)
    return [run if run in alike else None for run in runs], parted


def _run(runs: Sequence[RunAhead], poll: Callable[[], None]) -> float:
    """Make the runs; return the share of evaluations made singly. Idle lanes repeat the first run that continues."""
    first, counts, probe = runs[0], np.zeros(2, np.int64), runs[0].work.probe
    theta, dyn = widened(first.theta), widened(first.dyn)
    probes = widened(Probes(np.zeros(1), probe.z, probe.zd, probe.zdd, probe.lam, first.work.arguments))
    numbers = Probes(*map(lanes_of, probes))

    def follow(k: int, run: RunAhead) -> None:
        """Give SIMD lane k the numbers of a run."""
        lanes_of(theta)[..., k] = run.theta
        store(k, run.dyn, dyn)

    for k, run in enumerate(runs[1:], 1):
        follow(k, run)
    calls = dict(enumerate(run.calls() for run in runs))
    given = {k: next(call) for k, call in calls.items()}
    idle = given[0]
    while given:
        statuses = np.full(TOGETHER, int(Status.OK))
        statuses[list(given)] = EVALUATE
        cases = Cases(*(given.get(k, idle) for k in range(TOGETHER)))
        integrate_cases(first.model, first.scheme, theta, dyn, cases, probes, numbers, statuses, counts)
        for k in list(given):
            try:
                given[k] = calls[k].send(int(statuses[k]))
            except StopIteration:
                del given[k]
        for k in set(range(TOGETHER)) - set(given) if given else ():
            follow(k, runs[min(given)])
        poll()
    return float(counts[1] / counts[0])


def why_alone(problem: Problem) -> str:
    """The reason why a problem cannot share a compiled loop with others; empty if it can."""
    options, model = problem.options, problem.model
    reasons = (
        (TOGETHER == 1, f"the {COMPILER} compiler has none"),
        (options.analysis != "forward_dynamics", "only forward dynamics has one"),
        (options.differentiates, "runs with gradients have none"),
        (options.natural, "natural coordinates have none"),
        (options.formulation in CLOSED_LOOPS, f"{options.formulation} has none"),
        (isinstance(model.tree, FlexibleTree), "bodies that deform have none"),
        (isinstance(model.signals, Signals), "forces by expressions of the motion have none"),
        ("bushing" in model.elements.families, "bushings have none"),
        (problem.stops, "steps that end where laws change, at times that parameters move, have none"),
        (options.implicit, f"{options.integrator} has none"),
    )
    return next((reason for applies, reason in reasons if applies), "")
