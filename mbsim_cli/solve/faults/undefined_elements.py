"""Which element makes the equations of motion undefined: a spring between points that coincide, a law that overflows.

Elements are evaluated one at a time, which costs nothing where all numbers are finite.
"""

from dataclasses import replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import ALONG, Measure
from mbsim_cli.model.coordinates import with_forces
from mbsim_cli.model.layout import NONE, Signals
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.instant import Instant

COINCIDE = 1e-100  # m


def require_defined(problem: Problem, instant: Instant) -> None:
    """Raise AnalysisError with the name of the element that has no finite value at the evaluated start."""
    found = _undefined_element(problem, instant, 0.0)
    if found is not None:
        raise AnalysisError(found)


def undefined_at(
    problem: Problem, theta: np.ndarray, time: float, position: np.ndarray, velocity: np.ndarray
) -> str | None:
    """A sentence on the element that has no finite value at a position (n,) and velocity (n,), or None."""
    if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
        return None
    instant = Instant(problem, theta, np.zeros((theta.size, 0)))
    instant.state.z[:], instant.state.zd[:] = position, velocity
    instant.evaluate(time)
    return _undefined_element(problem, instant, time)


def _undefined_element(problem: Problem, instant: Instant, time: float) -> str | None:
    """A sentence on the constraint or force that is not finite at an evaluated instant, or None where all are."""
    found = _constraint(problem, instant) or _force(problem, instant, time)
    return found and f"the equations of motion are undefined at t = {time:.6g} s: {found}"


def _constraint(problem: Problem, instant: Instant) -> str | None:
    eq = instant.work.eq
    wrong = ~(np.isfinite(eq.phi) & np.isfinite(eq.phi2) & np.isfinite(eq.J).all(axis=1))
    for row in np.flatnonzero(wrong):
        name = problem.names.constraints[row]
        return f"the constraint '{name}' {_reason(instant, int(problem.model.constraints.measure[row]))}"
    return None


def _force(problem: Problem, instant: Instant, time: float) -> str | None:
    if np.isfinite(instant.work.eq.G).all():
        return None
    for f, kind in enumerate(problem.model.forces.kind):
        alone = _alone(problem, instant, f, time)
        if not np.isfinite(alone.work.eq.G).all():
            k = int(problem.model.forces.measure[f]) if kind in ALONG else -1
            return f"the force of '{problem.names.forces[f]}' {_expression(problem, alone, f) or _reason(alone, k)}"
    return None


def _alone(problem: Problem, instant: Instant, f: int, time: float) -> Instant:
    """The same instant with one force element only."""
    model = with_forces(problem.model, f, f + 1)
    alone = Instant(replace(problem, model=model), instant.theta, instant.dtheta[:, :0])
    alone.state.z[:], alone.state.zd[:] = instant.state.z, instant.state.zd
    alone.work.kin.expected[:] = instant.work.kin.expected
    alone.evaluate(time)
    return alone


def _expression(problem: Problem, alone: Instant, f: int) -> str | None:
    """Which expression of the force gives no finite number, with its place in the file."""
    signals, work = problem.model.signals, alone.work.kin.signals
    for component in range(3) if isinstance(signals, Signals) else ():
        u = int(signals.of_force[f, component])
        if u != NONE and not np.isfinite(work.value[signals.offset[u] + signals.result[u]]):
            place = problem.names.expressions.get((f, component), "its expression")
            return f"is no finite number: {place} may divide by zero, overflow, or take a root or logarithm below zero"
    return None


def _reason(instant: Instant, measure: int) -> str:
    distance = measure >= 0 and instant.model.measures.kind[measure] == Measure.DISTANCE
    if distance and not abs(instant.out.measures[measure]) > COINCIDE:
        return "has no direction, for the points that it lies between coincide"
    return "is no finite number; it may divide by zero or overflow"
