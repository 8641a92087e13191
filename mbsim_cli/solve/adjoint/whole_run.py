"""Gradients of numbers by the adjoint of a whole run: the sweep back through its tape.

The formulation chooses the sweep: of ALI3-P (here), of a Runge-Kutta method (``open_tree``), or of samples that are
solved each for itself (``kinematics``). Derivation: docs/theory/adjoint.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.kernels.algorithms.motion.workspace import Covectors
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record, Stretch
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.pulled import Pulled, Seen, columns_of, each_defined, work_of
from mbsim_cli.solve.adjoint.readings import Readings
from mbsim_cli.solve.adjoint.steps import PieceSweep, StepsBack
from mbsim_cli.solve.pieces import Made
from mbsim_cli.solve.sparse import pulled
from mbsim_cli.solve.stops import stopping
from mbsim_cli.solve.tape import Began, Tape


def pull_back(
    problem: Problem,
    tape: Tape,
    count: int,
    seen: Seen,
    between: Callable[[], None] = lambda: None,
    reacting: bool = False,
) -> Pulled:
    """Sweep back through a tape for ``count`` numbers that see sensors, also reactions where they are ``reacting``.

    ``between`` is called after every record. Raises AnalysisError.
    """
    return each_defined(lambda of: _sweep(problem, tape, count, of, between, reacting), seen)


def _sweep(problem: Problem, tape: Tape, count: int, seen: Seen, between: Callable[[], None], reacting: bool) -> Pulled:
    initial = tape.initial
    assert initial is not None
    if problem.options.natural:
        problem = replace(problem, model=problem.system.model)
    sweep = _sweep_of(problem, tape, columns_of(problem, count))
    readings, worst = Readings(problem, initial, count, seen, reacting), 0.0
    for first, record in tape.backwards():
        hat, given = readings.of(first, record.rows if isinstance(record, Stretch) else record)
        if isinstance(record, Stretch) and record.length.size:
            within = readings.of(first, record.inside, record.length)
            record, hat, given = _in_order(record, (hat, given), within)
        worst = max(worst, sweep.back(first, record, hat, given))
        between()
        del record, hat, given  # room for what is made again
    found = sweep.found
    readings.add_numbers(found.theta)
    gradient = _by_parameters(problem, initial, found, count)
    gradient += readings.of_parameters[:, :count]
    gradient[:, readings.undefined[:count]] = np.nan
    return Pulled(gradient, worst, readings.undefined[:count])


def _in_order(stretch: Stretch, at_rows: Any, inside: Any) -> tuple[Stretch, np.ndarray, MotionCovectors]:
    """A stretch whose rows are also those inside its steps, with the covectors of both, in the order of time."""
    order = np.argsort(np.concatenate([stretch.rows.time, stretch.inside.time]).real, kind="stable")

    def joined(one: Any, other: Any) -> Any:
        if isinstance(one, tuple):
            parts = map(joined, one, other)
            return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
        return np.concatenate([one, other])[order] if len(one) + len(other) == len(order) else one

    rows, hat, given = joined((stretch.rows, *at_rows), (stretch.inside, *inside))
    return stretch._replace(rows=rows), hat, given


def _sweep_of(problem: Problem, tape: Tape, p: int) -> Any:
    """The sweep through a run with p columns."""
    initial = tape.initial
    assert initial is not None
    if problem.options.analysis == "kinematics":
        from mbsim_cli.solve.adjoint.kinematics import MotionSweep

        return MotionSweep(problem, initial, p)
    if problem.options.integrated:
        from mbsim_cli.solve.adjoint.open_tree import StepSweep

        return StepSweep(problem, initial.theta, p, redundant=initial.redundant.size > 0)
    return LoopSweep(problem, initial, p, tape.pieces)


class LoopSweep:
    """Covectors of p columns on their way back to the start, through steps of ALI3-P."""

    def __init__(self, problem: Problem, initial: Began, p: int, pieces: Mapping[int, Sequence[Made]]) -> None:
        theta, control = initial.theta, allocate.control(problem.options, redundant=initial.redundant.size > 0)
        work, pulling = work_of(problem.model, theta, p, problem.least)
        self._steps = StepsBack(problem.model, theta, stopping(control, problem, theta), work, pulling)
        self._pieces, self._sweep = pieces, PieceSweep(self._steps, problem.options.step)

    def back(self, first: int, record: Record, hat: np.ndarray, given: MotionCovectors) -> float:
        """Go back through a record with covectors of its sensors; return the size of what was left unsolved."""
        end, worst = len(record.time), 0.0
        for step in sorted((s for s in self._pieces if max(first, 1) <= s < first + end), reverse=True):
            row = step - first
            behind = self._steps.sweep(0, *_rows(row + 1, end, record, hat, given))
            within = self._sweep.back(self._pieces[step], *_rows(row, row + 1, record, hat, given))
            end, worst = row, max(worst, behind, within)
        return max(worst, self._steps.sweep(1 if first == 0 else 0, *_rows(0, end, record, hat, given)))

    @property
    def found(self) -> Covectors:
        """Covectors of what the run has been pulled back to, and of theta."""
        return self._steps.pulling.cov


def _rows(first: int, end: int, record: Record, hat: np.ndarray, given: MotionCovectors) -> Any:
    """Some of the rows of all three; ``given`` may have none."""
    part = slice(first, end)
    return Record(*(array[part] for array in record)), hat[part], MotionCovectors(*(array[part] for array in given))


def _by_parameters(problem: Problem, initial: Began, cov: Covectors, count: int) -> np.ndarray:
    """Derivatives (p, count): covectors of the start and of theta, along the derivatives of both."""
    p, sens = problem.theta_rho.shape[1], initial.sensitivity
    total = pulled(initial.dtheta[:, :p], cov.theta[:, :count])
    for covector, derivative in ((cov.z, sens.z), (cov.zd, sens.zd), (cov.zdd, sens.zdd), (cov.lam, sens.lam)):
        total += derivative[:, :p].T @ covector[:, :count]
    return total
