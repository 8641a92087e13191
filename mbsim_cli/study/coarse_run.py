"""A second run with twice the step, and the errors that the two runs tell (Richardson).

The record of one run tells less: gradients by the adjoint are seen at the end alone, and not all errors are shifts of
time. Derivation: docs/theory/resolution.md, section 4.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.onsets import begins_within_steps
from mbsim_cli.solve.resolution import Resolution, loses_energy
from mbsim_cli.study.diagnostics.discretisation import LIMIT
from mbsim_cli.study.evaluation import Gradient, accumulated, by_fields, evaluate, resolution_of
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Plan

LEAST = 8  # steps of a run that is compared with one of half as many
WHOLE = 1e-9  # of a step

OffByFields = Mapping[str, Mapping[str, np.ndarray]]  # errors (ne,) by objective and field


@dataclass(frozen=True)
class Estimates:
    """Objectives with their estimated errors, those of their derivatives by fields, and what is to be said of them."""

    results: dict[str, Gradient]
    off_by_fields: OffByFields = field(default_factory=dict)
    step: float | None = None  # of the second run, s
    reason: str | None = None  # why gradients have no estimate


def estimated(plan: Plan, results: dict[str, Gradient], resolution: Any, listener: Listener) -> Estimates:
    """Results of a run, which ``resolution`` has watched, with the best estimates that there are.

    Results of an automatic step have those of the runs that chose it.
    """
    unseen = _BY_DIFFERENCES if plan.method == "fd" else None
    if plan.halving:
        return Estimates(plan.halving.judged(results), plan.halving.off_by_fields, reason=unseen)
    alarmed = resolution.worst[0] > LIMIT and plan.second_run
    if not (plan.assembled.objectives or alarmed) or plan.assembled.problem.options.analysis == "equilibrium":
        return Estimates(results, reason=unseen)
    impossible = _impossible(plan)
    if not impossible:
        try:
            return replace(_compared(plan, results, resolution, listener), reason=unseen)
        except AnalysisError:
            impossible = "a second run, with twice the step, fails"
    return Estimates(results, reason=impossible if plan.method == "adjoint" else unseen)


_BY_DIFFERENCES = "differences between runs of one step do not tell what that step leaves"


def _impossible(plan: Plan) -> str:
    """Why there is no second run; empty where there is one."""
    options = plan.assembled.problem.options
    if options.adaptive:
        return f"{options.integrator} chooses its steps by the motion, and the adjoint tells no error of its own"
    if not plan.second_run:
        return "runs of a search or a study are made once"
    if round(options.duration / options.step) < LEAST:
        return f"fewer than {LEAST} steps"
    return "" if plan.method == "adjoint" or options.analysis == "forward_dynamics" else "the motion is given"


def _compared(plan: Plan, results: dict[str, Gradient], resolution: Any, listener: Listener) -> Estimates:
    """Errors by the difference of two runs; raises AnalysisError where the second fails."""
    assembled, fine = plan.assembled, plan.assembled.problem
    coarse = with_twice_the_step(fine)
    watched = resolution_of(coarse, assembled.parameters, getattr(resolution, "times", None))
    with listener.progress("estimating errors", fine.options.duration) as show:

        def watch(block: Any) -> None:
            if len(block.time):
                show(float(block.time[-1]))

        others = evaluate(coarse, assembled.objectives, (watch,), watched, listener)
    share = 1.0 / (_fall(fine, coarse, resolution.worst[0], watched.worst[0]) - 1.0)
    if isinstance(resolution, Resolution):
        resolution.compare(watched, share)
    found = {name: _with_errors(result, others[name], share) for name, result in results.items()}
    theirs = by_fields(assembled.fields, others)
    off = {
        name: {given: share * np.abs(numbers - theirs[name][given]) for given, numbers in entries.items()}
        for name, entries in by_fields(assembled.fields, results).items()
    }
    return Estimates(found, off, coarse.options.step)


def settle_motion(plan: Plan, resolution: Any) -> None:
    """Where the errors of a motion add up to an alarm, compare it with a second run, of the motion alone.

    In a damped motion errors are forgotten, and in a stiff one small modes ring: their sum knows of neither.
    """
    fine = plan.assembled.problem
    if not resolution.worst[0] > LIMIT or round(fine.options.duration / fine.options.step) < LEAST:
        return
    coarse = with_twice_the_step(fine)
    alone = replace(coarse, theta_rho=fine.theta_rho[:, :0], options=replace(coarse.options, sensitivity="none"))
    watched = resolution_of(alone, (), resolution.times)
    with suppress(AnalysisError):
        accumulated(alone, (), resolution=watched)
        resolution.compare(watched, 1.0 / (_fall(fine, coarse, resolution.worst[0], watched.worst[0]) - 1.0))


def with_twice_the_step(problem: Problem) -> Problem:
    """The problem with half as many steps, also where forces begin; they end where the run does."""
    options = problem.options
    steps = options.duration / options.step
    ends = abs(steps - round(steps)) < WHOLE * steps
    step = options.duration / (round(steps) // 2) if ends else 2.0 * options.step
    return replace(problem, options=replace(options, step=step, onset_steps=0.5 * options.onset_steps))


def _fall(fine: Problem, coarse: Problem, error: float, other: float) -> float:
    """By how much errors fall from the second run to the first: as much as those of the motion, where that is less.

    Steps that do not resolve the motion yet gain less by being halved than the order of the rules promises. Errors of
    steps that are divided where forces begin fall as their parts happen to lie.
    """
    ratio = coarse.options.step / fine.options.step
    first_order = loses_energy(fine) or begins_within_steps(fine)
    most = ratio if first_order else ratio**2
    observed = other / error if error > 0.0 and np.isfinite(error) and np.isfinite(other) else most
    return float(np.clip(observed, ratio, most))


def _with_errors(result: Gradient, other: Gradient, share: float) -> Gradient:
    """A result with a share of its difference from another as its errors."""
    value = share * abs(result.value - other.value)
    uncertainty = result.uncertainty._replace(value=value)
    if len(other.gradient):
        uncertainty = uncertainty._replace(gradient=share * np.abs(result.gradient - other.gradient))
    return replace(result, uncertainty=uncertainty)
