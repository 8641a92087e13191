"""One whole run: the analysis with its diagnostics, error estimates by a second run, and derivatives by differences."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, ModelError, one_line
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.units import quotient
from mbsim_cli.solve.allocate import begins_within_steps
from mbsim_cli.solve.resolution import Resolution, loses_energy
from mbsim_cli.spec.warnings import warnings_of
from mbsim_cli.study.diagnostics import discretisation, steps
from mbsim_cli.study.diagnostics.discretisation import LIMIT, values_of
from mbsim_cli.study.diagnostics.steps import (
    BendingHealth,
    CableHealth,
    ContactHealth,
    Extremes,
    FiniteHealth,
    StiffeningHealth,
)
from mbsim_cli.study.diagnostics.undetermined import JumpHealth, MultiplierHealth, UnknownReactions
from mbsim_cli.study.evaluation import Gradient, accumulated, by_fields, evaluate, resolution_of
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Plan, Timing, values_at
from mbsim_cli.system import cached_property

# Influence of each number of a model: the derivative times one per cent of the number.

PERCENT = 0.01


class Influence(NamedTuple):
    """Changes of the objectives if a number changes by one per cent of its scale; NaN if there is no derivative."""

    number: str
    value: float
    unit: str
    scale: float
    effects: dict[str, float]


def influences(parameters: Sequence[Any], results: Mapping[str, Gradient]) -> list[Influence]:
    """Influences in decreasing order of the largest effect relative to an objective's value; NaN comes last.

    The scale of a number is its magnitude; for a zero, the largest magnitude in its vector, or one.
    """
    scales = _scales(parameters)
    found = []
    for k, parameter in enumerate(parameters):
        effects = {name: PERCENT * scales[k] * float(result.gradient[k]) for name, result in results.items()}
        found.append(Influence(parameter.name, parameter.value, parameter.unit, scales[k], effects))
    sizes = {name: abs(result.value) or 1.0 for name, result in results.items()}
    return sorted(found, key=lambda entry: -max((_size(e) / sizes[o] for o, e in entry.effects.items()), default=0.0))


def _size(effect: float) -> float:
    return abs(effect) if np.isfinite(effect) else -1.0


def _scales(parameters: Sequence[Any]) -> list[float]:
    largest: dict[str, float] = {}
    for parameter in parameters:
        vector = _vector(parameter.name)
        largest[vector] = max(largest.get(vector, 0.0), abs(parameter.value))
    return [abs(parameter.value) or largest[_vector(parameter.name)] or 1.0 for parameter in parameters]


def _vector(name: str) -> str:
    """The vector that a component belongs to; any other number stands for itself."""
    return name[:-2] if name[-2:] in (".x", ".y", ".z") else name


# All diagnostics of a run, and their warnings.


class Watchers:
    """Diagnostics of a run: convergence, flexible bodies, tyres, reactions, multipliers, resolution by the steps."""

    def __init__(self, plan: Plan):
        assembled = plan.assembled
        problem, objectives = assembled.problem, assembled.objectives
        self._plan = plan
        self.resolution = resolution_of(problem, assembled.parameters)  # ``evaluate`` passes blocks to it
        self.health = plan.analysis.diagnostics(problem, objectives)
        self.multipliers = MultiplierHealth(problem, objectives)
        self.reactions = UnknownReactions(problem, objectives, assembled.sensor_rows, assembled.overdetermined)
        self.extremes = None if objectives else Extremes(problem.names, assembled.sensor_rows)
        self._all: list[Any] = [  # in the order of their warnings
            self.health, BendingHealth(problem), StiffeningHealth(problem), ContactHealth(problem, assembled.contacts),
            CableHealth(problem.names, assembled.model_file.inextensible),
            *([JumpHealth(problem)] if problem.branchings else []), self.reactions, self.multipliers,
            FiniteHealth(assembled.sensor_rows),
        ]  # fmt: skip

    def add(self, block: Any) -> None:
        """Pass the next block to every diagnostic."""
        for watcher in (*self._all, *([self.extremes] if self.extremes else [])):
            watcher.add(block)

    def warnings(self, results: Mapping[str, Gradient]) -> list[str]:
        """Warnings of the assembly, the diagnostics, the objectives and the discretisation, in this order."""
        plan = self._plan
        return [
            *plan.assembled.warnings,
            *(sentence for watcher in self._all for sentence in watcher.warnings),
            *steps.warnings(results, plan.assembled.objectives),
            *discretisation.warnings(self.resolution, results, plan.parameters, plan.assembled.problem.options),
        ]

    @property
    def resolved(self) -> dict[str, Any]:
        """The motion's discretisation error, as far as it is known."""
        halving = self._plan.halving
        return discretisation.of_motion(self.resolution) | (halving.report if halving else {})


# Errors estimated from a second run with twice the step (Richardson).
#
# One run is not enough: the adjoint gives gradients at the end only, and not all errors are shifts of time.
# Derivation: docs/theory/resolution.md, section 4.

LEAST = 8  # steps that a run needs for a comparison with half as many
WHOLE = 1e-9  # of a step
UNRESOLVED = 0.5  # relative error above which a derivative counts as unresolved
LOST = 0.1  # error of a relative derivative (parameter times derivative), over the objective, that is too large
MATTERING = 1e-3  # relative derivative, over the largest one, below which it is ignored

OffByFields = Mapping[str, Mapping[str, np.ndarray]]  # errors (ne,) by objective and field


@dataclass(frozen=True)
class Estimates:
    """Objectives with their estimated errors, errors of derivatives by fields, and why errors are missing."""

    results: dict[str, Gradient]
    off_by_fields: OffByFields = field(default_factory=dict)
    step: float | None = None  # of the second run, s
    reason: str | None = None  # why gradients have no estimate


def estimated(
    plan: Plan, results: dict[str, Gradient], resolution: Any, divided: bool, listener: Listener
) -> Estimates:
    """Results of a run with the best available error estimates; ``resolution`` has seen all blocks of the run.

    An automatic step uses the estimates of the runs that chose it. ``divided``: forces begin within steps, and all
    derivatives get the largest relative error.
    """
    unseen = _ONE_STEP_ONLY if plan.method == "fd" else None
    if plan.halving:
        return Estimates(plan.halving.judged(results), plan.halving.off_by_fields, reason=unseen)
    options = plan.assembled.problem.options
    by_motion = options.adaptive and options.analysis == "forward_dynamics" and options.error_control == "motion"
    if plan.method == "ddm" and by_motion:  # steps are chosen by the motion alone, whatever errors derivatives have
        unknown = {name: _without_gradients(result) for name, result in results.items()}
        return Estimates(unknown, reason=_STEPS_BY_MOTION)
    alarmed = resolution.worst[0] > LIMIT and plan.second_run
    if not (plan.assembled.objectives or alarmed) or options.at_once:
        return Estimates(results, reason=unseen)
    impossible = _reason_against_second_run(plan)
    if not impossible:
        try:
            return replace(_estimates_by_second_run(plan, results, resolution, divided, listener), reason=unseen)
        except AnalysisError:
            impossible = "a second run, with twice the step, fails"
    return Estimates(results, reason=impossible if plan.method == "adjoint" else unseen)


_STEPS_BY_MOTION = "steps are chosen by the motion; error_control: sensitivities keeps them within the tolerance, too"
_ONE_STEP_ONLY = "differences between runs of one step do not tell what that step leaves"


def _without_gradients(result: Gradient) -> Gradient:
    """The result with NaN as errors of its derivatives: the quadrature error alone would be far too small."""
    unknown = np.full(len(result.gradient), np.nan)
    return replace(result, uncertainty=result.uncertainty.with_gradient(unknown))


def _reason_against_second_run(plan: Plan) -> str:
    """Why a second run cannot estimate errors; empty if it can."""
    options = plan.assembled.problem.options
    if options.adaptive:
        return f"{options.integrator} chooses its steps by the motion, and the adjoint tells no error of its own"
    if not plan.second_run:
        return "runs of a search or a study are made once"
    if round(options.duration / options.step) < LEAST:
        return f"fewer than {LEAST} steps"
    return "" if plan.method == "adjoint" or options.analysis == "forward_dynamics" else "the motion is given"


def _estimates_by_second_run(
    plan: Plan, results: dict[str, Gradient], resolution: Any, divided: bool, listener: Listener
) -> Estimates:
    """Estimate errors by the difference of two runs; raises AnalysisError if the second run fails."""
    assembled, fine = plan.assembled, plan.assembled.problem
    coarse = with_twice_the_step(fine)
    watched = resolution_of(coarse, assembled.parameters, getattr(resolution, "times", None))
    with listener.progress("estimating errors", fine.options.duration) as show:

        def watch(block: Any) -> None:
            if len(block.time):
                show(float(block.time[-1]))

        others = evaluate(coarse, assembled.objectives, (watch,), watched, listener)
    share = 1.0 / (_error_ratio(fine, coarse, divided, resolution.worst[0], watched.worst[0]) - 1.0)
    if isinstance(resolution, Resolution):
        resolution.compare(watched, share)
    found = {name: _with_errors(result, others[name], share) for name, result in results.items()}
    if divided:
        found = {name: _with_worst_relative_error(result, values_of(plan.parameters)) for name, result in found.items()}
        found = {name: _without_unresolved(result, plan, fine.options.step) for name, result in found.items()}
    theirs = by_fields(assembled.fields, others)
    off = {
        name: {given: share * np.abs(numbers - theirs[name][given]) for given, numbers in entries.items()}
        for name, entries in by_fields(assembled.fields, results).items()
    }
    return Estimates(found, off, coarse.options.step)


def settle_motion(plan: Plan, resolution: Any) -> None:
    """If the estimated error of the motion exceeds ``LIMIT``, replace the estimate by a comparison with a second run.

    The estimate sums local errors: too large for damped motions, whose errors decay, and for ringing stiff modes.
    """
    fine = plan.assembled.problem
    if not resolution.worst[0] > LIMIT or round(fine.options.duration / fine.options.step) < LEAST:
        return
    coarse = with_twice_the_step(fine)
    alone = replace(coarse, theta_rho=fine.theta_rho[:, :0], options=replace(coarse.options, sensitivity="none"))
    watched = resolution_of(alone, (), resolution.times)
    with suppress(AnalysisError):
        accumulated(alone, (), resolution=watched)
        fall = _error_ratio(fine, coarse, begins_within_steps(fine), resolution.worst[0], watched.worst[0])
        resolution.compare(watched, 1.0 / (fall - 1.0))


def with_twice_the_step(problem: Problem) -> Problem:
    """The problem with half as many steps, also within onsets of forces; the last step ends at the same time."""
    options = problem.options
    steps = options.duration / options.step
    ends = abs(steps - round(steps)) < WHOLE * steps
    step = options.duration / (round(steps) // 2) if ends else 2.0 * options.step
    options = replace(options, step=step, onset_steps=0.5 * options.onset_steps)
    return replace(problem, options=options, gaps=())  # the first run has reported grazing


def _error_ratio(fine: Problem, coarse: Problem, divided: bool, error: float, other: float) -> float:
    """Error of the coarse run over that of the fine run: as observed in the motion, at most that of the method's order.

    Steps that do not resolve the motion gain less by halving than the order promises. If forces begin within steps
    (``divided``), errors are of first order.
    """
    ratio = coarse.options.step / fine.options.step
    first_order = loses_energy(fine) or divided
    most = ratio if first_order else ratio**2
    observed = other / error if error > 0.0 and np.isfinite(error) and np.isfinite(other) else most
    return float(np.clip(observed, ratio, most))


def _with_worst_relative_error(result: Gradient, values: np.ndarray) -> Gradient:
    """The result with the largest relative error of its significant derivatives as error of all derivatives.

    An error of the time of an impact affects all derivatives; agreement of two runs in one of them is chance. If the
    worst derivative is not resolved, each parameter gets the absolute error of the most influential parameter.
    """
    gradient, off = result.gradient, result.uncertainty.gradient
    sizes = np.abs(gradient * values)
    matter = (sizes >= MATTERING * np.nanmax(sizes, initial=0.0)) & (sizes > 0.0) & np.isfinite(off)
    if not matter.any():
        return result
    worst = min(1.0, float(np.max(off[matter] / np.abs(gradient[matter]))))
    least = worst * np.abs(gradient)
    if worst > UNRESOLVED:
        least = np.divide(worst * np.max(sizes[matter]), np.abs(values), out=least, where=gradient * values != 0.0)
    return replace(result, uncertainty=result.uncertainty._replace(gradient=np.maximum(off, least)))


def _without_unresolved(result: Gradient, plan: Plan, step: float) -> Gradient:
    """The result with NaN for derivatives through impacts that have too large an error.

    It is too large if it exceeds the derivative and, times the parameter, ``LOST`` of the objective.
    """
    gradient, off = result.gradient, result.uncertainty.gradient
    size = np.fmax(abs(result.value), result.uncertainty.size)
    matters = off * np.abs(values_of(plan.parameters)[: len(gradient)]) > LOST * size
    lost = np.flatnonzero((off > np.abs(gradient)) & matters)
    reasons = {
        plan.parameters[k].name: f"forces begin within steps of {step:g} s, so that its error is some {off[k]:.2g}, "
        f"larger than the derivative, {gradient[k]:.2g}; take a shorter step, or an adaptive integrator with "
        "error_control: sensitivities"
        for k in lost.tolist()
    }
    known = gradient.copy()
    known[lost] = np.nan
    return replace(result, gradient=known, undefined={**result.undefined, **reasons}) if reasons else result


def _with_errors(result: Gradient, other: Gradient, share: float) -> Gradient:
    """The result with ``share`` times its difference from another result as errors."""
    value = share * abs(result.value - other.value)
    uncertainty = result.uncertainty._replace(value=value)
    if len(other.gradient):
        uncertainty = uncertainty._replace(gradient=share * np.abs(result.gradient - other.gradient))
    return replace(result, uncertainty=uncertainty)


# The run itself: ``run`` returns an ``Outcome``.


@dataclass
class Outcome:
    """The result of a run: objectives with gradients and errors, diagnostics and warnings."""

    plan: Plan
    watchers: Watchers
    results: dict[str, Gradient]
    timing: Timing
    steps: dict[str, Any] = field(default_factory=dict)  # of differences
    estimates: Estimates = field(default_factory=lambda: Estimates({}))

    @cached_property
    def by_fields(self) -> dict[str, dict[str, np.ndarray]]:
        """Derivatives (ne,) by the elements of fields, by objective and field."""
        return by_fields(self.plan.assembled.fields, self.results)

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary, in the model and in the run."""
        off = discretisation.warnings_of_fields(self._relative_by_fields)
        return [*warnings_of(self.plan.model_file), *self.watchers.warnings(self.results), *off]

    @property
    def resolved(self) -> dict[str, Any]:
        """The motion's discretisation error, as far as it is known, and the source of estimates for objectives."""
        sources = {"second_step": self.estimates.step, "gradients": self.estimates.reason}
        return self.watchers.resolved | {key: entry for key, entry in sources.items() if entry is not None}

    @property
    def _relative_by_fields(self) -> dict[str, dict[str, float]]:
        """Estimated errors of derivatives by fields, relative to their norm, by objective and field."""
        return {
            name: {
                given: discretisation.relative_norm(off, self.by_fields[name][given]) for given, off in fields.items()
            }
            for name, fields in self.estimates.off_by_fields.items()
        }

    @property
    def modes(self) -> list[dict[str, Any]] | None:
        """Modes as plain data, of an analysis of modes."""
        return getattr(self.watchers.health, "modes", None)

    @property
    def responses(self) -> dict[str, Any] | None:
        """Frequency response as plain data, of such an analysis."""
        return getattr(self.watchers.health, "responses", None)

    def flags(self, objective: Any) -> list[str]:
        """Why the value of an objective is only one choice."""
        return self.watchers.multipliers.flags(objective)

    @property
    def report(self) -> dict[str, Any]:
        """Plain data, as ``run --json`` prints them."""
        plan, watchers = self.plan, self.watchers
        options, every = plan.assembled.problem.options, plan.assembled.every_parameter
        report = {
            "status": "done",
            "analysis": options.analysis,
            "formulation": options.formulation,
            "integrator": options.integrator if options.integrated else None,
            "sensitivity": plan.method,
            "step": options.step,
            "steps": watchers.health.steps,
            "overrides": dict(plan.settings.overrides),
            "parameters": {p.name: {"value": p.value, "unit": p.unit, "bounds": p.bounds} for p in every},
            "objectives": {o.name: self._objective(o) for o in plan.assembled.objectives},
            "undetermined_multipliers": watchers.multipliers.free,
            "timing": asdict(self.timing),
            "diagnostics": watchers.health.report,
            "discretisation": self.resolved,
            "warnings": self.warnings,
        }
        if self.modes is not None:
            report["modes"] = self.modes
        if self.responses is not None:
            report["frequency_response"] = self.responses
        if watchers.extremes:
            report["extremes"] = watchers.extremes.report
        if plan.method == "fd":
            report["difference_steps"] = self.steps
        if plan.settings.all_numbers:
            report["influence"] = [entry._asdict() for entry in influences(plan.parameters, self.results)]
        return report

    def _objective(self, objective: Any) -> dict[str, Any]:
        """Value and derivatives of an objective, with their units."""
        result, unit, parameters = self.results[objective.name], objective.unit, self.plan.parameters
        derivatives = list(zip(parameters, map(float, result.gradient), strict=False))  # none without a method
        largest = {} if result.largest is None else {"largest": result.largest}
        found = discretisation.of_objective(result, parameters)
        if fields := self._relative_by_fields.get(objective.name):
            found["relative"]["fields"] = fields
        return {
            "value": result.value,
            "unit": unit,
            **largest,
            "gradient": {parameter.name: number for parameter, number in derivatives},
            "gradient_units": {parameter.name: quotient(unit, parameter.unit) for parameter, _ in derivatives},
            "discretisation": found,
            "undefined": dict(result.undefined),
            "flags": self.flags(objective),
        }


def run(plan: Plan, timing: Timing, listener: Listener, consumer: Callable[[Any], None] | None = None) -> Outcome:
    """Solve a plan that is compiled; every block goes to the consumer."""
    watchers, problem = Watchers(plan), plan.assembled.problem
    with timing.phase("solve"), listener.progress("solving", problem.options.duration) as show:
        consumers = (
            watchers.add,  # first, while the block is in the processor's cache
            *((consumer,) if consumer else ()),
            lambda block: show(float(block.time[-1])) if len(block.time) else None,
        )
        results = evaluate(
            problem, plan.assembled.objectives, consumers, watchers.resolution, listener, watchers.reactions
        )
    if plan.method == "adjoint":
        watchers.health.gradients_solved(max((result.error for result in results.values()), default=0.0))
    steps: dict[str, Any] = {}
    if plan.method == "fd":
        results, steps = _differences(plan, results, timing, listener)
    with timing.phase("estimate"):
        divided = getattr(watchers.health, "divides", False)
        estimates = estimated(plan, results, watchers.resolution, divided, listener)
    return Outcome(plan, watchers, estimates.results, timing, steps, estimates)


def _differences(
    plan: Plan, results: Mapping[str, Gradient], timing: Timing, listener: Listener
) -> tuple[dict[str, Gradient], dict[str, Any]]:
    """Gradients by central differences over whole runs; also the steps chosen and the errors estimated."""
    from mbsim_cli.study.verification.comparison import derivative, scale_of

    columns, steps = [], {}
    undefined: dict[str, str] = {}
    with timing.phase("solve"), listener.progress("differences", len(plan.parameters)) as show:
        for done, parameter in enumerate(plan.parameters, 1):
            name = parameter.name

            def objectives(change: float, name: str = parameter.key) -> np.ndarray:
                return values_at(plan.model_file, plan.settings, {name: change}, listener, plan.named)

            try:
                found = derivative(objectives, scale_of(parameter.value))
            except (AnalysisError, ModelError) as error:
                undefined[name] = f"an analysis beside this value fails: {one_line(error)}"
                columns.append(np.full(len(results), np.nan))
                show(done)
                continue
            columns.append(found.derivative)
            steps[name] = {"step": found.step, "estimated_error": dict(zip(results, found.error.tolist(), strict=True))}
            listener.say(f"central differences: {name} with steps down to {found.step:.2e}")
            show(done)
    gradients = np.array(columns).reshape(len(columns), len(results)).T
    pairs = zip(results.items(), gradients, strict=True)
    return {name: replace(result, gradient=g, undefined=undefined) for (name, result), g in pairs}, steps
