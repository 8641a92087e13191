"""Gradients of objectives by one sweep back through the run that found their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.caller import option
from mbsim_cli.errors import UsageError
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.adjoint.pulled import columns_of
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.objectives import accumulators
from mbsim_cli.study.objectives.integrand import by_few, explicit_parameters


def require_adjoint(problem: Problem) -> None:
    """Raise UsageError where an analysis has no adjoint."""
    from mbsim_cli.spec.analysis import WITH_ADJOINT, without_adjoint

    options = problem.options
    lacking = without_adjoint(options.formulation, options.integrator, options.error_control)
    if lacking:
        raise UsageError(f"{lacking} has no adjoint: {WITH_ADJOINT}; use {option('sensitivity', 'ddm')}")


def reads_reactions(problem: Problem, objectives: Sequence[Any]) -> bool:
    """Whether an objective reads a reaction."""
    width = int(problem.model.sensors.first[-1])
    reactions = range(width, width + (problem.reacting.width if problem.reacting else 0))
    streams = [stream for objective in objectives for stream in _along_time(objective)]
    return any(stream.sensors[name].start in reactions for stream in streams for name in stream.integrand.sensors)


def _along_time(objective: Any) -> list[Any]:
    if objective.operands:
        return [stream for operand in objective.operands for stream in _along_time(operand)]
    return [objective]


class Adjoint:
    """What a run keeps for its adjoint, and the derivatives that come of it.

    Few parameters change objectives at a fixed motion too, as those of integrands; ``accumulators`` know these alone.
    """

    def __init__(self, problem: Problem, objectives: Sequence[Any]):
        require_adjoint(problem)
        self._problem, self._objectives, self._analysis = problem, objectives, ANALYSES[problem.options.analysis]
        self.tape = self._analysis.tape(problem)
        self._explicit = sorted(set().union(*map(explicit_parameters, objectives)))
        few = (by_few(objective, self._explicit) for objective in objectives)
        self.accumulators = accumulators(few, len(self._explicit))
        self.error = 0.0  # relative size of what was left unsolved
        self.moved: dict[str, np.ndarray] = {}  # derivatives (w,) by the numbers that fields move

    def at_fixed_motion(self, block: Block) -> Block:
        """A block whose sensors do not depend on parameters."""
        return block._replace(d_sensors=np.broadcast_to(0.0, (*block.sensors.shape, len(self._explicit))))

    def gradients(self, accumulators: Mapping[str, Any], between: Callable[[], None]) -> dict[str, np.ndarray]:
        """Derivatives (p,) of every objective after the run; calls ``between`` now and then."""
        problem, p = _with_moved(self._problem), self._problem.theta_rho.shape[1]
        if not accumulators or not problem.theta_rho.shape[1]:
            return {name: np.zeros(0) for name in accumulators}
        reacting = reads_reactions(self._problem, self._objectives)
        columns = columns_of(self._problem, len(accumulators))
        seen = SensorCovectors(list(accumulators.values()), columns, self.tape.time)
        found = self._analysis.pull_back(problem, self.tape, len(accumulators), seen, between, reacting)
        self.error = found.error
        gradients = dict(zip(accumulators, found.gradient[:p].T.copy(), strict=True))
        self.moved = dict(zip(accumulators, found.gradient[p:].T.copy(), strict=True))
        for name, gradient in gradients.items():
            gradient[self._explicit] += accumulators[name].gradient
            if np.isnan(accumulators[name].value):  # also where covectors of nothing saw none of it
                gradient[:] = self.moved[name][:] = np.nan
        return gradients


def _with_moved(problem: Problem) -> Problem:
    """The problem with the numbers that fields move as further parameters."""
    if problem.moved is None or not problem.moved.shape[1]:
        return problem
    return replace(problem, theta_rho=np.hstack([problem.theta_rho, problem.moved]))


def rehearse(problem: Problem, objectives: Sequence[Any], tape: Any) -> None:
    """Go back through a tape with covectors of nothing, so that all is compiled."""

    count = max(1, len(objectives))

    def nothing(first: int, record: Any) -> np.ndarray:
        return np.zeros((*record.sensors.shape, columns_of(problem, count)), record.sensors.dtype)

    reacting = reads_reactions(problem, objectives)
    ANALYSES[problem.options.analysis].pull_back(problem, tape, count, nothing, lambda: None, reacting)


class SensorCovectors:
    """Covectors of the sensors: derivatives of objectives by what sensors show at each instant."""

    def __init__(self, accumulators: Sequence[Any], columns: int, time: np.ndarray):
        self._columns = columns
        self._streams = [
            (column, factor * stream.weights(time), stream)
            for column, found in enumerate(accumulators)
            for factor, stream in found.streams
        ]

    def __call__(self, first: int, record: Any) -> np.ndarray:
        """Covectors (B, width, p) at the rows of a record."""
        rows = slice(first, first + record.time.size)
        out = np.zeros((*record.sensors.shape, self._columns), record.sensors.dtype)
        for column, weights, stream in self._streams:
            used = np.flatnonzero(weights[rows])  # what has no weight may be undefined
            if used.size:
                self._add(out[:, :, column], used, weights[rows][used], stream, record)
        return out

    @staticmethod
    def _add(out: np.ndarray, used: np.ndarray, weights: np.ndarray, stream: Any, record: Any) -> None:
        objective = stream.objective
        time = record.time[used]
        sensors = {name: record.sensors[used, objective.sensors[name]] for name in objective.integrand.sensors}
        found = objective.integrand.linearised(sensors, time, objective.values)
        weights = weights * stream.share(np.asarray(found.value))
        for name, partial in found.by_sensor.items():
            out[used, objective.sensors[name]] += weights[:, None] * partial
