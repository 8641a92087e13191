"""Forward dynamics by ALI3-P, with direct sensitivities, one block of instants at a time."""

from collections.abc import Iterator

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.simulate import (
    Progress,
    run_motion,
    run_sensitivity,
    write_sensitivity_row,
    write_start,
)
from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.model.codes import Status
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve import work as allocate
from mbsim_cli.solve.initial import CLOSED, Initial, assemble
from mbsim_cli.solve.status import sentence

BLOCK_NUMBERS = 4_000_000  # numbers of sensitivities held at once, about 32 MB
BLOCK_STEPS = 2_000


class Simulation:
    """A run in progress; ``theta`` may be complex, which the tests use to differentiate the whole run."""

    def __init__(self, problem: Problem, start: Initial) -> None:
        self.problem, self.model, self.theta = problem, problem.model, start.theta
        self.dtype = self.theta.dtype.type
        self.control: Control = allocate.control(problem.options, redundant=start.redundant.size > 0)
        self.state = start.state
        self.work = allocate.work(self.model, self.dtype)
        self.progress = Progress(int(Status.OK), 0, 0.0, False, 0)
        self.step = 0
        self.p = start.dtheta.shape[0] if problem.options.sensitivity == "ddm" else 0
        if self.p:
            self.sens = start.sensitivity
            self.directions = allocate.directions(self.model, start.dtheta, self.dtype)
            self.extra = allocate.sensitivity_work(self.model, self.work, self.p, self.dtype)

    def first_block(self) -> Block:
        """The initial instant."""
        record = allocate.record(self.model, 1, self.dtype)
        write_start(self.model, self.theta, 0.0, self.control, self.state, self.work, record)
        d_record = allocate.sensitivity_record(self.model, 1, self.p, self.dtype)
        if self.p:
            write_sensitivity_row(
                self.model, self.theta, 0.0, 0.0, self.directions, self.state, self.sens, self.work, self.extra,
                d_record, 0,
            )  # fmt: skip
        return _block(record, d_record, 1)

    def advance(self, steps: int) -> Block:
        """The next ``steps`` steps; raise AnalysisError where one fails."""
        interval = self.problem.options.output_interval
        rows = (self.step + steps) // interval - self.step // interval
        record = allocate.record(self.model, rows, self.dtype)
        d_record = allocate.sensitivity_record(self.model, rows, self.p, self.dtype)
        common = (self.model, self.theta, self.control, self.step, steps, interval, self.progress)
        if self.p:
            progress = run_sensitivity(
                *common, self.directions, self.state, self.sens, self.work, self.extra, record, d_record
            )
        else:
            progress = run_motion(*common, self.state, self.work, record)
        self.progress = Progress(*progress)
        self.step += progress.steps
        if progress.status != Status.OK:
            self._fail(progress.status)
        return _block(record, d_record, rows)

    def _fail(self, status: int) -> None:
        time = (self.step + 1) * self.control.h
        worst = int(np.argmax(np.abs(self.work.eq.phi))) if self.work.eq.phi.size else None
        raise AnalysisError(sentence(Status(status), time, self.problem, worst, self.work.eq.phi))


def _block(record: tuple, d_record: tuple, rows: int) -> Block:
    time, position, velocity, acceleration, lam, sigma, kappa, sensors, iterations, drift, energy = record
    return Block(
        time, position, velocity, acceleration, lam, sigma, kappa, sensors, *d_record[:5], iterations, drift, energy,
        d_record[5],
    )  # fmt: skip


def start(problem: Problem, theta: np.ndarray | None = None) -> Simulation:
    """Assemble the start and prepare a run; raise AnalysisError where the mechanism cannot be assembled."""
    initial = assemble(problem, theta)
    if np.abs(initial.residual).max(initial=0.0) > CLOSED:
        worst = int(np.argmax(np.abs(initial.residual)))
        name = problem.names.constraints[worst]
        raise AnalysisError(f"the mechanism cannot be assembled: '{name}' stays open by {abs(initial.residual[worst]):.3g}")
    return Simulation(problem, initial)


def forward(problem: Problem, *, block_steps: int | None = None) -> Iterator[Block]:
    """Simulate; yield the initial instant, then blocks of stored instants.

    Sensitivities are computed when ``problem.options.sensitivity`` is ``ddm``. Raises AnalysisError.
    """
    run = start(problem)
    total = round(problem.options.duration / problem.options.step)
    yield run.first_block()
    size = block_steps or _block_steps(problem, run.p)
    while run.step < total:
        yield run.advance(min(size, total - run.step))


def _block_steps(problem: Problem, p: int) -> int:
    """Steps of a block, so that its sensitivities stay within bounds."""
    _, n, m = allocate.sizes(problem.model)
    numbers = (3 * n + m + int(problem.model.sensors.first[-1])) * max(p, 1)
    interval = problem.options.output_interval
    rows = max(1, min(BLOCK_STEPS // interval, BLOCK_NUMBERS // max(numbers, 1)))
    return rows * interval
