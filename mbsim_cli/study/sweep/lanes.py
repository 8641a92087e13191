"""Cases in lanes: where a study has no gradients, the runs of eight cases are made in one compiled loop.

Rows do not depend on it, for each lane goes the way of its case alone; only the time does. It takes some seconds to
compile such a loop, so short studies do without where it is not in the cache.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.forward_dynamics import at_every_step
from mbsim_cli.study.compiling import require_keeping
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Plan

WORTH = 20.0  # s of all cases one by one, from which on the compilation pays; the loop of ALI3-P takes twice as long
WORTH_LOADING = 2.0  # s of them, from which on a loop pays that is there already
LEAST = 3  # cases that take less time together than one by one: idle lanes take as long as others
ENOUGH = 100  # steps of an adaptive integrator, after which all that it calls was called


def without_lanes(problem: Problem) -> str:
    """What cannot be computed in lanes, in words; empty where such cases can."""
    from mbsim_cli.solve.lanes.alone import why_alone

    return why_alone(problem)


class _Missing(Exception):
    """A loop that is not in the cache."""


def lanes_for(problem: Problem, seconds: float, listener: Listener) -> int:
    """How many cases are computed together where all one by one take so long; what it takes is loaded or compiled."""
    from mbsim_cli.kernels.compiler.cases import TOGETHER

    if seconds >= (WORTH if problem.options.integrated else 2.0 * WORTH):
        _, made = _compiled(problem, listener)
    else:
        made = seconds >= WORTH_LOADING and _loaded(problem, listener)
    return TOGETHER if made else 1


def _loaded(problem: Problem, listener: Listener) -> bool:
    """Load what cases in lanes need; False where it would have to be compiled, here or by somebody who is at it."""

    def give_up(name: str) -> None:
        raise _Missing(name)

    try:
        return _first_step(problem, listener, give_up, give_up)
    except _Missing:
        return False


def compile_lanes(problem: Problem, listener: Listener) -> list[str]:
    """Load or compile what cases in lanes need, by their first step; names of what had to be compiled.

    Raises InputOutputError where that cannot be kept.
    """
    return _compiled(problem, listener, require_keeping)[0]


def _compiled(
    problem: Problem, listener: Listener, require: Callable[[], None] = lambda: None
) -> tuple[list[str], bool]:
    """The same names, and whether there was a first step; ``require`` is called before something is compiled."""
    names: list[str] = []

    def begin(name: str) -> None:
        require()
        names.append(name)
        listener.say(f"compiling {name}, for eight cases at once")

    return names, _first_step(problem, listener, begin)


def _first_step(
    problem: Problem, listener: Listener, started: Callable[[str], None], waits: Callable[[str], None] | None = None
) -> bool:
    """Call all that lanes need; ``started`` is told what has to be compiled for it, ``waits`` what others compile.

    False where no step of the model itself can be made in lanes, and nothing was called.
    """
    from mbsim_cli.kernels.compiler.watch import watch_compilation
    from mbsim_cli.solve.lanes.open_trees import run_beside

    options = problem.options
    few = replace(options, duration=options.step, max_steps=min(options.max_steps, ENOUGH))
    waiting: dict[str, Any] = {"waits": waits} if waits else {}
    with watch_compilation(started, **waiting):
        runs, _ = run_beside([at_every_step(replace(problem, options=few))] * 2, listener.poll)
    return any(run is not None for run in runs)


def in_lanes(plans: Sequence[Plan], poll: Callable[[], None]) -> tuple[list[Plan], float]:
    """Plans whose runs are made, where they can be together; and the share of it that had to be done one by one."""
    from mbsim_cli.solve.lanes.open_trees import run_beside

    if len(plans) < LEAST:
        return list(plans), 0.0
    runs, parted = run_beside([at_every_step(plan.assembled.problem) for plan in plans], poll)
    return [plan if run is None else _with(plan, run) for plan, run in zip(plans, runs, strict=True)], parted


def _with(plan: Plan, run: object) -> Plan:
    problem = replace(plan.assembled.problem, ahead=run)
    return replace(plan, assembled=replace(plan.assembled, problem=problem))
