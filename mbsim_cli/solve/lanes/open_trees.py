"""Runs that are made beside each other, eight in one compiled loop, before anyone asks for their blocks: open trees
here, ALI3-P in ``lanes.constrained``.

Each lane goes the way that its run goes alone, to the last bit; so it does not matter which runs are made together.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.simd import TOGETHER, lanes_of, widened
from mbsim_cli.kernels.drivers.integrate import EVALUATE, begin
from mbsim_cli.kernels.drivers.integrate_cases import Case, Cases, Probes, integrate_cases
from mbsim_cli.kernels.drivers.record import Inside, Record, SensitivityRecord
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import FlexibleTree, Signals
from mbsim_cli.model.problem import CLOSED_LOOPS, Problem
from mbsim_cli.solve.blocks import other_rows
from mbsim_cli.solve.forward import steps_of_block
from mbsim_cli.solve.lanes.constrained import equal, run_constrained, store
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation
from mbsim_cli.solve.tape import arrays_of

__all__ = ["RunAhead", "run_beside", "why_alone"]


ROOM = 2**28  # bytes that the instants of runs which are made together may take


class RunAhead(OpenTreeSimulation):
    """A run that is made by ``calls``, and asked for its blocks afterwards, once; then as if it was made alone."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.total = round(problem.options.duration / problem.options.step)
        self._made: deque[tuple[tuple[Record, SensitivityRecord, np.ndarray], int, Inside]] = deque()
        self._made_of: Problem | None = problem

    @property
    def bytes(self) -> int:
        """Memory that all its instants take."""
        record, d_record, work = super()._records(1)
        return (self.total + 1) * sum(array.nbytes for array in (*record, *d_record, work))

    def calls(self) -> Generator[Case, int, None]:
        """What each call of the time loop is given; the status that it ends with is sent back."""
        rows, size, room, used = 1, steps_of_block(self.problem, 0), super()._records(1), 0
        while rows:
            inside = self._room_inside()
            done = np.count_nonzero(room[0].time)
            begin(self.work)
            status = yield Case(
                self.theta, self._times(room[0].time.size)[done:], self.directions, self.dyn, self.state, self.sens,
                self.work, self._room(0), inside, other_rows(room[0], done), room[2][done:], other_rows(room[1], done),
            )  # fmt: skip
            self._made.append((room, status, inside))
            used += sum(array.nbytes for array in arrays_of(inside))
            if TOGETHER * (self.bytes + used) > ROOM:  # it is made alone
                self._made_of = None
                return
            if status == Status.PAUSED:
                continue
            if status != Status.OK or not np.isfinite(room[0].acceleration[0]).all():
                return
            self.step += rows if len(self._made) > 1 else 0
            rows = min(size, self.total - self.step)
            room = super()._records(rows)

    def begin(self, problem: Problem) -> bool:
        """Whether this is the run of a problem, and has not been asked for; it can be then."""
        made_of, self._made_of = self._made_of, None
        is_it = made_of is not None and problem.theta is made_of.theta and problem.options == made_of.options
        self.step = 0
        return is_it

    def _records(self, rows: int) -> tuple[Record, SensitivityRecord, np.ndarray]:
        return self._made[0][0]

    def _move_on(self, record: Record, d_record: SensitivityRecord, work: np.ndarray) -> int:
        _, status, inside = self._made.popleft()
        self._take_inside(inside)
        return status


def run_beside(problems: Sequence[Problem], poll: Callable[[], None]) -> tuple[list[Any], float]:
    """Make the runs of up to eight problems; None for those that have to be made alone.

    Also how large a share of their evaluations, or steps, had to be made one by one. ``poll`` may raise, to interrupt.
    """
    if not any(problem.options.integrated for problem in problems):
        return run_constrained(problems, poll, ROOM)
    runs = [_prepared(problem) for problem in problems]
    alike = [run for run in runs if run is not None]
    alike = [run for run in alike if _is_like(run, alike[0])]
    if len(alike) < 2 or TOGETHER * alike[0].bytes > ROOM:
        return [None] * len(runs), 0.0
    parted = _run(alike, poll)
    return [run if run in alike else None for run in runs], parted


def _prepared(problem: Problem) -> RunAhead | None:
    try:
        return RunAhead(problem)
    except AnalysisError:  # which the run alone will say
        return None


def _is_like(run: RunAhead, other: RunAhead) -> bool:
    """Whether two runs differ in numbers of the model alone."""
    return (
        run.problem.options == other.problem.options
        and run.theta.shape == other.theta.shape
        and equal(run.model, other.model)
        and run.dtype == other.dtype
    )


class _Lanes:
    """Numbers of all lanes, of which those beyond the runs, or of runs at their end, follow the first run."""

    def __init__(self, runs: Sequence[RunAhead]) -> None:
        first = runs[0]
        probe = first.work.probe
        self.theta, self.dyn = widened(first.theta), widened(first.dyn)
        self.probes = widened(Probes(np.zeros(1), probe.z, probe.zd, probe.zdd, probe.lam, first.work.reached))
        self.numbers = Probes(*map(lanes_of, self.probes))
        for k, run in enumerate(runs[1:], 1):
            self.follow(k, run)

    def follow(self, k: int, run: RunAhead) -> None:
        """Give lane k the numbers of a run."""
        lanes_of(self.theta)[..., k] = run.theta
        store(k, run.dyn, self.dyn)


def _run(runs: Sequence[RunAhead], poll: Callable[[], None]) -> float:
    """Make the runs; return the share of evaluations that were made one by one."""
    first, lanes, counts = runs[0], _Lanes(runs), np.zeros(2, np.int64)
    calls = dict(enumerate(run.calls() for run in runs))
    given = {k: next(call) for k, call in calls.items()}
    idle = given[0]
    while given:
        statuses = np.full(TOGETHER, int(Status.OK))
        statuses[list(given)] = EVALUATE
        cases = Cases(*(given.get(k, idle) for k in range(TOGETHER)))
        integrate_cases(
            first.model, lanes.theta, float(first.problem.options.step), first.end, first.tableau, first.control,
            lanes.dyn, cases, lanes.probes, lanes.numbers, statuses, counts,
        )  # fmt: skip
        for k in list(given):
            try:
                given[k] = calls[k].send(int(statuses[k]))
            except StopIteration:
                del given[k]
        for k in set(range(TOGETHER)) - set(given) if given else ():
            lanes.follow(k, runs[min(given)])
        poll()
    return float(counts[1] / counts[0])


# Which runs gain by being made together, and why others are made one by one.


def why_alone(problem: Problem) -> str:
    """What has no loop for eight runs, in words; empty where there is one."""
    options = problem.options
    if TOGETHER == 1:
        return f"the {COMPILER} compiler has none"
    if options.analysis != "forward_dynamics":
        return "only forward dynamics has one"
    if options.differentiates:
        return "runs with gradients have none"
    if options.natural:
        return "natural coordinates have none"
    if options.formulation in CLOSED_LOOPS:
        return f"{options.formulation} has none"
    if isinstance(problem.model.tree, FlexibleTree):
        return "bodies that deform have none"
    if isinstance(problem.model.signals, Signals):
        return "forces by expressions of the motion have none"
    if "bushing" in problem.model.elements.families:
        return "bushings have none"
    if problem.stops:
        return "steps that end where laws change, at times that parameters move, have none"
    return f"{options.integrator} has none" if options.implicit else ""
