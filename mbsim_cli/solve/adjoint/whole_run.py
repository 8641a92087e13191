"""Gradients by the adjoint of a whole run: the sweep back through its tape, by steps of ALI3-P or Runge-Kutta."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.closed_loops import ClosedLoops, PulledLoops
from mbsim_cli.kernels.algorithms.equations.constraints import LINE_SIZE
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import PulledAccelerations, elimination
from mbsim_cli.kernels.algorithms.open_trees.flexible_open_tree import dense_elimination
from mbsim_cli.kernels.algorithms.open_trees.flexible_recursive import articulated_elimination
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_back import MotionAdjoints, pull_balance
from mbsim_cli.kernels.drivers.record import Record, Steps, Stretch
from mbsim_cli.kernels.drivers.stepping import MEETS
from mbsim_cli.kernels.drivers.sweep_back import StepPulling, SweepWork, sweep_back, sweep_steps
from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.kernels.integrators.dense_output import TERMS
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau
from mbsim_cli.kernels.integrators.esdirk_adjoint import StageTangent
from mbsim_cli.kernels.integrators.runge_kutta_adjoint import StepAdjoints, StepWork
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import FlexibleTree, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.readings import Pulled, Readings, Seen, columns_of, each_defined, work_of
from mbsim_cli.solve.breakpoints import breakpoints_of, law_rates, with_complex_step
from mbsim_cli.solve.constraint_forces import require_balance
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.open_trees.integration import loops_of, stages_kept, tableau
from mbsim_cli.solve.pieces import CompletedPiece
from mbsim_cli.solve.sparse import pulled
from mbsim_cli.solve.tape import Tape

PARTS = 32  # of a run, whose contributions to gradients are summed by magnitude


def without_solution(time: float) -> AnalysisError:
    """The error for a step whose linear system is singular."""
    return AnalysisError(f"the adjoint of the step to t = {time:g} s cannot be found: its matrix is singular")


def pulled_loops(problem: Problem, theta: np.ndarray, p: int, *, redundant: bool) -> PulledLoops:
    """Allocate PulledLoops for p columns."""
    model, dtype, made = problem.model, theta.dtype.type, allocate.allocators(problem.model)
    _, n, m = allocate.sizes(model)
    loops = loops_of(problem, theta, 0, allocate.grounded(model, theta).expected, redundant=redundant)
    loops = loops._replace(d_columns=allocate.columns(n, m, p, dtype))
    kin = loops.kin
    virtual, none = (made.virtual(model, p, dtype) for _ in range(2))
    z, zd, zdd = (zeros((n, p), dtype) for _ in range(3))
    rest = made.adjoints(model, theta.size, p, dtype)._replace(z=z, zd=zd, zdd=zdd)
    return PulledLoops(
        loops, allocate.work_at_instant(model, theta).comp, ClosedLoops(loops, kin), allocate.at_rest(kin), virtual,
        none, rest, zeros((m, p), dtype), zeros((m, p), dtype), zeros((n, p), dtype),
    )  # fmt: skip


class StepSweep:
    """Pulls p columns of adjoints back through Runge-Kutta steps; ``redundant`` as in ``Loops``."""

    def __init__(self, problem: Problem, theta: np.ndarray, p: int, *, redundant: bool = False) -> None:
        model, dtype, made = problem.model, theta.dtype.type, allocate.allocators(problem.model)
        _, n, m = allocate.sizes(model)
        self._model, self._theta, self._end = model, theta, problem.options.end
        self._tableau = tableau(problem.options.integrator)
        stages, motions = stages_kept(self._tableau), [allocate.state(model, dtype) for _ in range(4)]
        adj, kin = made.adjoints(model, theta.size, p, dtype), allocate.grounded(model, theta)
        pulled: Any
        if not problem.options.open_tree:
            pulled = pulled_loops(problem, theta, p, redundant=redundant)
            pulled = pulled._replace(rest=pulled.rest._replace(theta=adj.theta))
            kin = kin._replace(expected=pulled.dyn.kin.expected)  # angles are read near those of the rows
        elif not isinstance(model.tree, FlexibleTree):
            pulled = pulled_accelerations(model, theta, elimination(model, theta, p, dtype))
        else:
            make = articulated_elimination if problem.options.formulation == "recursive" else dense_elimination
            pulled = pulled_accelerations(model, theta, make(model, theta, p, dtype))
        implicit = isinstance(self._tableau, ImplicitTableau) and problem.options.open_tree
        ns, ms = (n, m) if implicit else (0, 0)  # explicit methods and closed loops have no tangent of stages
        tangent = StageTangent(
            zeros((ns, padded(ns)), dtype), np.zeros(ns, np.int64),
            np.zeros(open_tree(model).euler.size if implicit else 0), zeros((ms, LINE_SIZE), dtype),
            np.zeros(ms, dtype),
        )  # fmt: skip
        work = StepWork._make([*motions, np.zeros(n, dtype), np.zeros((TERMS, n), dtype)])
        seen, breakpoints = np.zeros(allocate.sensor_width(model), dtype), breakpoints_of(problem, theta)
        self._work = SweepWork(kin, pulled.comp, seen, work, pulled, tangent, breakpoints)
        shapes = (*[(n,)] * 5, (m,), (n,), (stages, n), (stages, n))
        step = StepAdjoints._make(zeros((*shape, p), dtype) for shape in shapes)
        self._pulling = StepPulling(adj, step, made.virtual(model, p, dtype))

    def back(self, first: int, stretch: Stretch, hat: np.ndarray, given: MotionAdjoints) -> float:
        """Go back through a stretch with adjoints of its sensors; return the largest relative residual."""
        status, time, error = sweep_steps(
            self._model, self._theta, self._end, 1 if first == 0 else 0, self._tableau, stretch.rows, stretch.steps,
            hat, given, self._work, self._pulling,
        )  # fmt: skip
        if Status(status) != Status.OK:
            raise without_solution(time)
        return error

    @property
    def found(self) -> Adjoints:
        """Adjoints of what the run has been pulled back to, and of theta."""
        step = self._pulling.step
        return self._pulling.adj._replace(z=step.z, zd=step.zd, zdd=step.zdd, lam=step.lam)


def pulled_accelerations(model: Model, theta: np.ndarray, work: Any) -> PulledAccelerations:
    """Allocate PulledAccelerations; ``work`` solves for its columns."""
    n, p, dtype, made = allocate.sizes(model)[1], work.x.shape[1], theta.dtype.type, allocate.allocators(model)
    kin, forces = made.kinematics(model, dtype), np.zeros((2, n), dtype)
    set_ground(theta, kin)
    virtual, hat = made.virtual(model, p, dtype), zeros((n, p), dtype)
    return PulledAccelerations._make([open_tree(model), kin, made.composite(model, dtype), *forces, work, virtual, hat])


@each_defined
def pull_back(
    problem: Problem, tape: Tape, count: int, seen: Seen, between: Callable[[], None], reacting: bool
) -> Pulled:
    """Sweep back for ``count`` numbers that read sensors, or reactions if ``reacting``; raises AnalysisError."""
    initial = tape.initial
    assert initial is not None
    if problem.options.natural:
        problem = replace(problem, model=problem.system.model)
    columns = columns_of(problem, count)
    sweep: Any
    if problem.options.analysis == "kinematics":
        from mbsim_cli.solve.adjoint.time_points import MotionPuller

        sweep = MotionPuller(problem, initial, columns)
    elif problem.options.integrated:
        sweep = StepSweep(problem, initial.theta, columns, redundant=initial.redundant.size > 0)
    else:
        sweep = LoopSweep(problem, initial, columns, tape.pieces)
    readings, worst = Readings(problem, initial, count, seen, reacting), 0.0
    p = problem.theta_rho.shape[1]
    sizes, so_far = np.zeros((p, count)), np.zeros((p, count))
    for first, record in tape.backwards():
        hat, given = readings.of(first, record.rows if isinstance(record, Stretch) else record)
        if isinstance(record, Stretch) and record.length.size:
            within = readings.of(first, record.inside, record.length)
            record, hat, given = _in_order(record, (hat, given), within)
        for row, *part in _parts(problem, len(tape.time), record, hat, given):
            worst = max(worst, sweep.back(first + row, *part))
            before, so_far = so_far, pulled(initial.dtheta[:, :p], sweep.found.theta[:, :count])
            sizes += np.abs(so_far - before)
        between()
        del record, hat, given, part  # frees memory for the part that is made again
    found = sweep.found
    readings.add_numbers(found.theta)
    p, sens = problem.theta_rho.shape[1], initial.sensitivity
    gradient = pulled(initial.dtheta[:, :p], found.theta[:, :count])
    for name in ("z", "zd", "zdd", "lam"):
        gradient += getattr(sens, name)[:, :p].T @ getattr(found, name)[:, :count]
    gradient += readings.of_parameters[:, :count]
    sizes += np.abs(gradient - so_far)
    gradient[:, readings.undefined[:count]] = np.nan
    return Pulled(gradient, worst, readings.undefined[:count], sizes)


def _parts(
    problem: Problem, times: int, record: Record | Stretch, hat: np.ndarray, given: MotionAdjoints
) -> Iterator[tuple[int, Any, np.ndarray, MotionAdjoints]]:
    """The parts of a record, the last one first, each with the number of its first row; the run has ``times`` rows.

    A stretch is cut where steps end: such a step is the last of a part, and the one before all rows of the next. At a
    breakpoint this is the step of no length behind it, to which a row there belongs.
    """
    rows, end = len(record.time), problem.options.end
    if isinstance(record, Stretch):
        steps, last = record.steps, len(record.steps.end) - 1
        count = max(1, min(last, math.ceil(PARTS * (steps.end[-1] - steps.end[0]).real / end)))
        cuts = np.arange(count + 1) * last // count
        cuts[1:-1] += steps.size[cuts[1:-1] + 1] == 0.0
        at = np.searchsorted(record.time.real, steps.end[cuts].real + MEETS * end, "right")
        at[0], at[-1] = 0, rows
        for k in range(count, 0, -1):
            its = (array[cuts[k - 1] : cuts[k] + 1] for array in steps[1:])
            seen, *adjoints = _rows(at[k - 1], at[k], record.rows, hat, given)
            yield at[k - 1], record._replace(rows=seen, steps=Steps(steps.count, *its)), *adjoints
        return
    driven = problem.options.analysis == "kinematics"  # its sums run forwards within a record
    count = rows if driven else times // PARTS + 1
    for behind in range(rows, 0, -count):
        row = max(0, behind - count)
        yield row, *_rows(row, behind, record, hat, given)


def _in_order(stretch: Stretch, at_rows: Any, inside: Any) -> tuple[Stretch, np.ndarray, MotionAdjoints]:
    """A stretch whose rows are also those inside its steps, with the adjoints of both, in the order of time."""
    order = np.argsort(np.concatenate([stretch.rows.time, stretch.inside.time]).real, kind="stable")

    def joined(one: Any, other: Any) -> Any:
        if isinstance(one, tuple):
            parts = map(joined, one, other)
            return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
        return np.concatenate([one, other])[order] if len(one) + len(other) == len(order) else one

    rows, hat, given = joined((stretch.rows, *at_rows), (stretch.inside, *inside))
    return stretch._replace(rows=rows), hat, given


class LoopSweep:
    """Pulls p columns of adjoints back through steps of ALI3-P, and through steps made in pieces (``solve.pieces``)."""

    def __init__(self, problem: Problem, initial: Initial, p: int, pieces: Mapping[int, Sequence[CompletedPiece]]):
        self._model, theta = problem.model, initial.theta
        control = allocate.control(problem, redundant=initial.redundant.size > 0)
        self._whole = theta, with_complex_step(control, problem, theta)  # numbers and control of whole steps
        self._work, self._pulling = work_of(problem.model, theta, p, problem.least)
        self._pieces, self._step, self._law_rates = pieces, problem.options.step, law_rates(problem.model)
        self.found = self._pulling.adj  # adjoints of what the run has been pulled back to, and of theta

    def back(self, first: int, record: Record, hat: np.ndarray, given: MotionAdjoints) -> float:
        """Go back through a record with adjoints of its sensors; return the largest relative residual."""
        end, worst = len(record.time), 0.0
        for step in sorted((s for s in self._pieces if max(first, 1) <= s < first + end), reverse=True):
            row = step - first
            behind = self._sweep(self._whole, 0, *_rows(row + 1, end, record, hat, given))
            within = self._back_in_pieces(self._pieces[step], *_rows(row, row + 1, record, hat, given))
            end, worst = row, max(worst, behind, within)
        return max(worst, self._sweep(self._whole, 1 if first == 0 else 0, *_rows(0, end, record, hat, given)))

    def _sweep(
        self, at: tuple[np.ndarray, Control], starts: int, record: Record, hat: np.ndarray, given: MotionAdjoints
    ) -> float:
        """Go back through a record with adjoints of its sensors; ``starts`` (0 or 1) first rows end no step.

        ``at`` are the numbers and the control of its steps. Returns the largest relative residual.
        """
        status, row, error = sweep_back(self._model, *at, starts, record, hat, given, self._work, self._pulling)
        if Status(status) != Status.OK:
            raise without_solution(record.time[row])
        return error

    def _back_in_pieces(
        self, pieces: Sequence[CompletedPiece], record: Record, hat: np.ndarray, given: MotionAdjoints
    ) -> float:
        """Pull adjoints at the end of a step made in pieces back; return the largest relative residual."""
        worst, nothing = 0.0, (np.zeros_like(hat), MotionAdjoints(*(part[:0] for part in given)))
        for made in reversed(pieces):
            at_end = made is pieces[-1]
            seen = (record, hat, given) if at_end else (made.end, *nothing)
            (theta, _), adj = self._whole, self.found
            behind = adj.theta.copy()
            adj.theta[:] = 0.0
            if made.piece.is_short(self._step):
                if at_end:
                    self._sweep(self._whole, 1, *seen)
                by_length = self._heun_step_back(made, seen[0])
            else:
                worst = max(worst, self._sweep(self._at(made), 0, *seen))
                zd, zdd = made.begun
                mean = 0.5 * (zdd + seen[0].acceleration[0] - seen[0].corrections[0, 1])
                by_length = zd @ adj.z + mean @ adj.zd
            late, adjoint = made.piece.end.late(theta), adj.theta.copy()
            by_time = self._law_rates.rate(self._law_rates.at(late, theta)) @ adjoint
            adj.theta[:] = behind + self._law_rates.pulled(late, adjoint)
            for number in made.piece.end.numbers:
                adj.theta[number] += by_length + by_time
            for number in made.piece.begin.numbers:
                adj.theta[number] -= by_length
        return worst

    def _at(self, made: CompletedPiece) -> tuple[np.ndarray, Control]:
        """Numbers whose laws of time are shifted to the end of a piece, and the control of a step of its length."""
        theta, control = self._whole
        return self._law_rates.at(made.piece.end.late(theta), theta), made.piece.control(control, theta)

    def _heun_step_back(self, made: CompletedPiece, end: Record) -> np.ndarray:
        """Pull adjoints back through a piece made by Heun's method; return the adjoints (p,) of its length."""
        assert made.stage is not None
        at, adj, (_, zdd) = self._at(made), self.found, made.begun
        _, control = at
        length = control.h
        z, zd = self._unbalanced(at, end, adj.z, adj.zd, adj.zdd)
        by_mean = 0.5 * length * zd
        z, ahead = self._unbalanced(at, made.stage, z, np.zeros_like(zd), by_mean)
        adj.z[:], adj.zd[:] = z, zd + ahead + length * z
        adj.zdd[:] = by_mean + length * (ahead + 0.5 * length * z)
        mean = 0.5 * (zdd + made.stage.acceleration[0])
        return mean @ zd + zdd @ ahead + made.stage.velocity[0] @ z

    def _unbalanced(
        self, at: tuple[np.ndarray, Control], record: Record, z: np.ndarray, zd: np.ndarray, zdd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Adjoints of positions and velocities at a row that replace those of its accelerations as well."""
        out = MotionAdjoints(*(part[None].copy() for part in (z, zd, zdd, np.zeros_like(self.found.lam))))
        require_balance(pull_balance(self._model, *at, record, self._work, self._pulling, out), record)
        return out.z[0], out.zd[0]


def _rows(first: int, end: int, record: Record, hat: np.ndarray, given: MotionAdjoints) -> Any:
    """Some of the rows of all three; ``given`` may have none."""
    part = slice(first, end)
    return Record(*(array[part] for array in record)), hat[part], MotionAdjoints(*(array[part] for array in given))
