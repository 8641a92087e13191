"""Runs of ALI3-P that are made beside each other, eight in one compiled loop, before anyone asks for their blocks.

Each lane goes the way that its run goes alone, to the last bit; a run that fails is made again alone, which says why.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import SPARSE, CaseColumns, Solution
from mbsim_cli.kernels.compiler.simd import TOGETHER, lanes_of, widened
from mbsim_cli.kernels.drivers.integrate_cases import Cases
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.kernels.drivers.simulate import Progress, Work
from mbsim_cli.kernels.drivers.simulate_cases import Numbers, Run, Tangent, simulate_cases
from mbsim_cli.kernels.integrators.ali3p_cases import Judgement
from mbsim_cli.model.codes import Status
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.forward import Simulation, steps_of_block
from mbsim_cli.solve.initial import assembled

__all__ = ["MadeRun", "equal", "run_constrained", "store"]


# Groups of arrays of several runs: whether they are equal, and their numbers in lanes.


def equal(a: Any, b: Any) -> bool:
    """Whether arrays, or named tuples of such, are of one shape and equal."""
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


def store(k: int, group: Any, lanes: Any) -> None:
    """Give lane k the numbers of a group of arrays."""
    if isinstance(group, tuple):
        for part, of_lanes in zip(group, lanes, strict=True):
            store(k, part, of_lanes)
    elif isinstance(group, np.ndarray) and group.dtype == np.float64:
        lanes_of(lanes)[..., k] = group


class MadeRun:
    """A run whose blocks are there, told once to whoever asks for those of its problem."""

    p = 0

    def __init__(self, problem: Problem) -> None:
        self.step = 0
        self.blocks: deque[Block] = deque()
        self._made_of: Problem | None = problem

    def begin(self, problem: Problem) -> bool:
        """Whether this is the run of a problem, and has not been asked for."""
        made_of, self._made_of = self._made_of, None
        return made_of is not None and problem.theta is made_of.theta and problem.options == made_of.options

    def first_block(self, steps: int = 0) -> Block:
        """The initial instant alone."""
        return self.blocks.popleft()

    def advance(self, steps: int) -> Block:
        """The next ``steps`` steps."""
        self.step += steps
        return self.blocks.popleft()


class _Lane(Simulation):
    """A run whose steps are made in a lane; all else it does itself."""

    rows: tuple[Record, SensitivityRecord] | None = None  # which a lane fills

    def prepared(self, steps: int) -> Run:
        """What the compiled loop is given of the run to make its next steps."""
        self.rows = None
        interval = self.problem.options.output_interval
        self.rows = self._records((self.step + steps) // interval - self.step // interval)
        return Run(
            self.theta, self.directions, self.state, self.sens, self.work, self.extra, self._probe, self._formed,
            *self.rows,
        )  # fmt: skip

    def make_room(self) -> None:
        """Allocate what a lane needs beside the run's own work."""
        self._probe = allocate.state(self.model, self.dtype)
        tangent = self.work.tangent
        formed = allocate.factor(self.state.z.size, self.state.lam.size, tangent.sparsity, self.dtype)
        self._formed = formed._replace(least=tangent.least)

    @property
    def bytes_of_row(self) -> int:
        """Memory that an instant takes."""
        records = (*allocate.record(self.model, 1, self.dtype), *self._records(1)[1])
        return sum(array.nbytes for array in records)

    def _records(self, rows: int) -> tuple[Record, SensitivityRecord]:
        return self.rows or super()._records(rows)

    def _made(self, steps: int, filled: int, record: Record, d_record: SensitivityRecord) -> Progress:
        if self.rows is None:
            return super()._made(steps, filled, record, d_record)
        return self.progress._replace(steps=steps)


def run_constrained(
    problems: Sequence[Problem], poll: Callable[[], None], room: int
) -> tuple[list[MadeRun | None], float]:
    """Make the runs of up to eight problems; None for those that have to be made alone.

    Also how large a share of their steps was made one by one. ``poll`` may raise, to interrupt; the instants of all
    must not take more than ``room`` bytes.
    """
    runs = [_begun(problem) for problem in problems]
    alike = [run for run in runs if run is not None]
    alike = [run for run in alike if _is_like(run, alike[0])]
    if len(alike) < 2:
        return [None] * len(runs), 0.0
    options = alike[0].problem.options
    rows = round(options.duration / options.step) // options.output_interval + 1
    if TOGETHER * rows * alike[0].bytes_of_row > room:
        return [None] * len(runs), 0.0
    lanes = _Lanes(alike)
    made = lanes.made(poll)
    found = {id(run): each for run, each in zip(alike, made, strict=True)}
    return [found.get(id(run)) for run in runs], float(lanes.counts[1] / max(lanes.counts[0], 1))


def _begun(problem: Problem) -> _Lane | None:
    try:
        initial = assembled(problem)
    except AnalysisError:  # which the run alone will say
        return None
    return _Lane(problem, initial)


def _is_like(run: _Lane, other: _Lane) -> bool:
    """Whether two runs differ in numbers of the model alone."""
    return (
        run.problem.options == other.problem.options
        and run.control == other.control
        and run.theta.shape == other.theta.shape
        and run.dtype == other.dtype
        and equal(run.model, other.model)
        and equal(run.work.watch.row, other.work.watch.row)
    )


class _Lanes:
    """Numbers of all lanes; those beyond the runs, or of runs that have failed, follow the first run that goes on."""

    def __init__(self, runs: Sequence[_Lane]) -> None:
        self.runs: list[_Lane | None] = list(runs)
        self.counts = np.zeros(2, np.int64)
        first = runs[0]
        self.theta, self.state, self.work = widened(first.theta), widened(first.state), _of_cases(first.work)
        self.numbers = _numbers_of(self.state, self.work)
        self.judgement = _judgement()
        self.leader = np.zeros(TOGETHER, np.int64)
        for run in runs:
            run.make_room()

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
            self._take(found, steps)
        return [each if run is not None else None for run, each in zip(self.runs, found, strict=True)]

    def _take(self, found: Sequence[MadeRun], steps: int) -> None:
        """Let each run judge the steps that were made of it; one that breaks off is left out."""
        going = self._going(found)
        for run, each in going:
            try:
                each.blocks.append(run.advance(steps))
            except AnalysisError:  # which the run alone will say
                self.runs[self.runs.index(run)] = None
        if 0 < len(self._going(found)) < len(going):
            self._follow()

    @property
    def _first(self) -> _Lane:
        return next(run for run in self.runs if run is not None)

    def _going(self, found: Sequence[MadeRun]) -> list[tuple[_Lane, MadeRun]]:
        return [(run, each) for run, each in zip(self.runs, found, strict=True) if run is not None]

    def _advance(self, steps: int, poll: Callable[[], None]) -> None:
        """Make steps of all that go on; those that fail are left out."""
        first, done, rows = self._first, 0, 0
        given = {k: run.prepared(steps) for k, run in enumerate(self.runs) if run is not None}
        statuses = np.zeros(TOGETHER, np.int64)
        while done < steps and given:
            cases = Cases(*(given.get(k, given[min(given)]) for k in range(TOGETHER)))
            more, rows = simulate_cases(
                first.model, self.theta, first.control, first.step + done, steps - done,
                first.problem.options.output_interval, self.state, self.work, cases, self.numbers, self.judgement,
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
        """Give every lane the numbers of its run, or of the first one."""
        runs = [*self.runs, *[None] * (TOGETHER - len(self.runs))]
        first = next(k for k, run in enumerate(runs) if run is not None)
        for k, run in enumerate(runs):
            self.leader[k] = first if run is None else k
            self._store(k, runs[self.leader[k]])
            for array in (self.judgement.scale, self.judgement.fresh):
                array[k] = array[self.leader[k]]

    def _store(self, k: int, run: Any) -> None:
        lanes_of(self.theta)[..., k] = run.theta
        store(k, run.state, self.state)
        for name in ("kin", "tangent", "past", "corrections", "turns"):
            store(k, getattr(run.work, name), getattr(self.work, name))


def _of_cases(work: Work) -> Work:
    """Work of all lanes; its factors have pivots of their own, and stay along their structure."""
    parts = {name: widened(getattr(work, name)) for name in ("kin", "comp", "eq", "past", "turns")}
    arrays = {name: widened(getattr(work, name)) for name in ("corrections", "expected", "reached")}
    kept = Solution(work.column.x, work.column.mu, work.column.rest)
    pivot = np.full(work.tangent.pivot.size, SPARSE)
    return work._replace(
        **parts,
        **arrays,
        column=CaseColumns(*widened(work.column), widened(kept)),
        tangent=widened(work.tangent)._replace(pivot=pivot),
        projection=widened(work.projection)._replace(pivot=pivot.copy(), J=parts["eq"].J),
    )


def _numbers_of(state: Any, work: Work) -> Numbers:
    """The plain numbers behind those of cases."""
    past, eq, turns = work.past, work.eq, work.turns
    own = (
        *state, past.zdd, past.added, past.pull, past.kappa, work.corrections, work.kin.expected, turns.value,
        turns.rate, work.reached, eq.phi, eq.phi1, eq.phi2, eq.J, work.projection.weight,
    )  # fmt: skip
    tangent = (getattr(work.tangent, name) for name in Tangent._fields)
    return Numbers(*map(lanes_of, own), Tangent(*map(lanes_of, tangent)))


def _judgement() -> Judgement:
    found = widened(np.zeros(3))
    numbers, integers = (np.zeros(TOGETHER) for _ in range(3)), (np.zeros(TOGETHER, np.int64) for _ in range(5))
    return Judgement(found, lanes_of(found), *numbers, *integers)
