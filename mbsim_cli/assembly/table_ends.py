"""Messages for motions that leave the range of a table: which table, where and when."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.forces import NATURAL_VALUE
from mbsim_cli.assembly.position.equations import of_coordinates
from mbsim_cli.assembly.tree.kinematics import measured, poses
from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import OF_COORDINATES, TYRES, Force, Operation
from mbsim_cli.model.coordinates import kinds, of_columns
from mbsim_cli.model.layout import NONE, STEP, Curves, LoadedSignals, Signals
from mbsim_cli.model.problem import Problem, instants_of
from mbsim_cli.solve.allocate import Instant
from mbsim_cli.solve.breakpoints import ends, going_on, terms_of
from mbsim_cli.solve.inverse.analysis import with_natural_values
from mbsim_cli.solve.natural.joint_motion import in_joint_coordinates


class State(NamedTuple):
    """A motion at a time point."""

    time: float
    z: np.ndarray  # (n,)
    zd: np.ndarray  # (n,)
    lam: np.ndarray | float = 0.0  # (m,) where forces read multipliers


BETWEEN = 8  # intermediate times in an output interval, for adaptive steps
Blocks = Callable[[Problem], Iterator[Any]]


def until_left(problem: Problem, last: float, blocks: Blocks, failure: AnalysisError) -> Iterator[Any]:
    """Name the table that the motion leaves in a failure after the time ``last``; yield the time points before.

    With tables that continue beyond their ends the motion is the same until it leaves one: it is computed once more.
    """
    laws, theta = problem.model.laws, problem.theta
    if all(ends(laws, theta, k) is None for k in range(len(laws.kind))):
        return
    if problem.prescribed is not None:
        problem = with_natural_values(problem)
    if failure.state is not None:
        _name(failure, _left_table(problem, State(*failure.state)))
        return
    try:
        going = blocks(replace(problem, theta=going_on(laws, theta)))
        # each block with one of the motion of the joints
        pairs: Iterator[tuple[Any, Any]] = ((block, block) for block in going)
        if problem.options.natural:
            pairs = in_joint_coordinates(problem.system, problem.theta, going)
        found_there = next((pair for pair in pairs if len(pair[0].time) and pair[0].time[-1] > last), None)
    except AnalysisError:
        _name(failure, _left_table(problem, _declared(problem)))
        return
    if found_there is None:
        return
    block, joints = found_there
    for row in range(len(block.time)):
        if block.time[row] < last:
            continue
        found = next(filter(None, (_left_table(problem, state) for state in _states(problem, joints, row))), None)
        if found is not None:
            _name(failure, found)
            here = next(_states(problem, joints, row))
            end = row + (_left_table(problem, here) is None)
            first = int(np.searchsorted(block.time, last, side="right"))
            if end > first:
                yield instants_of(block, slice(first, end))
            return


def _name(failure: AnalysisError, sentence: str | None) -> None:
    failure.args = (sentence or failure.args[0],)


def _states(problem: Problem, block: Any, row: int) -> Iterator[State]:
    """The state at an output time; for adaptive steps also states up to the next output time."""
    lam = block.lambda_[row] if isinstance(problem.model.signals, LoadedSignals) else 0.0
    t, z, zd, zdd = (array[row] for array in (block.time, block.position, block.velocity, block.acceleration))
    for s in np.linspace(0.0, problem.options.step, BETWEEN, endpoint=False) if problem.options.adaptive else (0.0,):
        yield State(t + s, z + s * (zd + 0.5 * s * zdd), zd + s * zdd, lam)


def _declared(problem: Problem) -> State:
    first, n = problem.model.tree.initial[0], kinds(problem.model.tree).size
    return State(0.0, problem.theta[first : first + n], problem.theta[first + n : first + 2 * n])


def _left_table(problem: Problem, state: State) -> str | None:
    """A sentence on the first table whose range the motion has left, or None."""
    laws, theta = problem.model.laws, problem.theta
    for law, argument, value in _uses(problem, state):
        for k in terms_of(laws, law):
            window, limits = laws.window[k], ends(laws, theta, k)
            inside = window == NONE or theta[window] <= value < theta[window + 1]
            if limits is not None and inside and not limits[0] <= value <= limits[1]:
                return (
                    f"the table of {problem.names.laws[k]} ends: it covers {limits[0]:g} to {limits[1]:g}, and "
                    f"{argument} is {value:g} at t = {state.time:.6g} s; a longer table continues, or "
                    "extrapolate: hold or linear"
                )
    return None


def _uses(problem: Problem, state: State) -> Iterator[tuple[int, str, float]]:
    """Laws of the model, with names and values of their arguments."""
    model, names = problem.model, problem.names
    timed = [*model.constraints.law, *(problem.prescribed.law if problem.prescribed is not None else ())]
    for law in timed:
        yield law, "the time", state.time
    measures = model.measures
    if isinstance(measures.curves, Curves):
        columns = measures.curves.law, measures.theta, measures.first, measures.first[1:]
        for law, offset, first, end in zip(*columns, strict=False):
            if law != NONE:
                (column,) = of_columns(model.tree, measures.coordinate[end - 1 : end])
                sign = problem.theta[offset + end - first]
                yield law, "the coordinate that it follows", sign * state.z[column]
    yield from _called(problem, state)
    for f, kind in enumerate(model.forces.kind):
        of_time, of_elongation, of_rate = model.forces.law[f, :3]
        if kind == Force.ALONG_MEASURE and (of_elongation != NONE or of_rate != NONE):
            g, rate = _measured(problem, model.forces.measure[f], state)
            yield of_elongation, f"the elongation of force '{names.forces[f]}'", g - _natural(problem, f)
            yield of_rate, f"the rate of force '{names.forces[f]}'", rate
        if kind in TYRES:
            center = tuple(problem.theta[model.forces.theta[f] : model.forces.theta[f] + 3])
            at = poses(model.tree, problem.theta.tolist(), state.z.tolist())
            x = at.point(model.pairs.b[model.forces.pair[f]], center)[0]
            yield of_time, f"x under the wheel of tyre '{names.forces[f]}'", x
        else:
            yield of_time, "the time", state.time


def _called(problem: Problem, state: State) -> Iterator[tuple[int, str, float]]:
    """Laws that expressions of forces and states call, with their arguments."""
    signals = problem.model.signals
    if not isinstance(signals, Signals) or Operation.LAW not in signals.code:
        return
    instant = Instant(problem, problem.theta, np.zeros((problem.theta.size, 0)))
    instant.state.z[:], instant.state.zd[:], instant.state.lam[:] = state.z, state.zd, state.lam
    instant.evaluate(state.time)
    work: Any = instant.work.kin.signals
    for u, offset in enumerate(signals.offset):
        for i in range(signals.first_step[u], signals.first_step[u + 1]):
            if signals.code[i] == Operation.LAW:
                argument, law, _ = signals.operand[i]
                yield law, "the value that it is called at", work.value[offset + argument]


def _natural(problem: Problem, f: int) -> float:
    """Natural value of a spring; an automatic one is that at the start."""
    index = problem.model.forces.theta[f] + NATURAL_VALUE
    if index in (automatic for automatic, _ in problem.automatic):
        return _measured(problem, problem.model.forces.measure[f], _declared(problem))[0]
    return float(problem.theta[index])


def _measured(problem: Problem, k: int, state: State) -> tuple[float, float]:
    """A measure and its rate, which is the derivative along the motion."""
    model, theta = problem.model, problem.theta.tolist()
    z = state.z + 1j * STEP * state.zd
    measures = model.measures
    if measures.kind[k] in OF_COORDINATES:
        which = of_columns(model.tree, measures.coordinate[measures.first[k] : measures.first[k + 1]])
        value, _ = of_coordinates(measures, k, theta, z[which])
    else:
        at = poses(model.tree, theta, z.tolist())
        value, _ = measured(at, model.pairs, measures.kind[k], measures.pair[k], theta, measures.theta[k])
    return value.real, value.imag / STEP
