"""One whole run: the analysis, what watches it, the second run that estimates errors, and derivatives afterwards."""

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
from mbsim_cli.study.diagnostics.steps import BendingHealth, ContactHealth, Extremes, FiniteHealth, StiffeningHealth
from mbsim_cli.study.diagnostics.undetermined import JumpHealth, MultiplierHealth, UnknownReactions
from mbsim_cli.study.evaluation import Gradient, accumulated, by_fields, evaluate, resolution_of
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Plan, Timing, values_at
from mbsim_cli.system import cached_property

# Which numbers of a model matter most: derivatives, each times a change of its number that is likely.

PERCENT = 0.01


class Influence(NamedTuple):
    """Changes of objectives where a number changes by one per cent of its scale; NaN where nothing may change."""

    number: str
    value: float
    unit: str
    scale: float
    effects: dict[str, float]


def influences(parameters: Sequence[Any], results: Mapping[str, Gradient]) -> list[Influence]:
    """Numbers in the order of their largest effect, relative to the objectives' values; those without any come last.

    The scale of a number is its size; of one that is zero the largest size beside it in its vector, else one.
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


# All that watches a run go by, and what it has to say in the end.


class Watchers:
    """Health of the analysis, bodies that deform, tyres, reactions, multipliers, and how well steps resolve it."""

    def __init__(self, plan: Plan):
        assembled = plan.assembled
        problem, objectives = assembled.problem, assembled.objectives
        self._plan = plan
        self.resolution = resolution_of(problem, assembled.parameters)  # ``evaluate`` watches by it
        self.health = plan.analysis.diagnostics(problem, objectives)
        self.multipliers = MultiplierHealth(problem, objectives)
        self.reactions = UnknownReactions(problem, objectives, assembled.sensor_rows, assembled.overdetermined)
        self.extremes = None if objectives else Extremes(problem.names, assembled.sensor_rows)
        self._all: list[Any] = [  # in the order of their warnings
            self.health, BendingHealth(problem), StiffeningHealth(problem), ContactHealth(problem, assembled.contacts),
            *([JumpHealth(problem)] if problem.branchings else []), self.reactions, self.multipliers,
            FiniteHealth(assembled.sensor_rows),
        ]  # fmt: skip

    def add(self, block: Any) -> None:
        """Take the next instants in."""
        for watcher in (*self._all, *([self.extremes] if self.extremes else [])):
            watcher.add(block)

    def warnings(self, results: Mapping[str, Gradient]) -> list[str]:
        """Sentences of all."""
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


# A second run with twice the step, and the errors that the two runs tell (Richardson).
#
# The record of one run tells less: gradients by the adjoint are seen at the end alone, and not all errors are
# shifts of time. Derivation: docs/theory/resolution.md, section 4.

LEAST = 8  # steps of a run that is compared with one of half as many
WHOLE = 1e-9  # of a step
UNRESOLVED = 0.5  # relative error of a derivative that is not followed
LOST = 0.1  # of an objective's size: an error of a derivative by a parameter in parts of itself that matters
MATTERING = 1e-3  # of the largest derivative, by parameters in parts of themselves

OffByFields = Mapping[str, Mapping[str, np.ndarray]]  # errors (ne,) by objective and field


@dataclass(frozen=True)
class Estimates:
    """Objectives with their estimated errors, those of their derivatives by fields, and what is to be said of them."""

    results: dict[str, Gradient]
    off_by_fields: OffByFields = field(default_factory=dict)
    step: float | None = None  # of the second run, s
    reason: str | None = None  # why gradients have no estimate


def estimated(
    plan: Plan, results: dict[str, Gradient], resolution: Any, divided: bool, listener: Listener
) -> Estimates:
    """Results of a run, which ``resolution`` has watched, with the best estimates that there are.

    Results of an automatic step have those of the runs that chose it. Of a run with ``divided`` steps, in which forces
    begin, none is surer than another.
    """
    unseen = _BY_DIFFERENCES if plan.method == "fd" else None
    if plan.halving:
        return Estimates(plan.halving.judged(results), plan.halving.off_by_fields, reason=unseen)
    options = plan.assembled.problem.options
    by_motion = options.adaptive and options.analysis == "forward_dynamics" and options.error_control == "motion"
    if plan.method == "ddm" and by_motion:  # steps are chosen by the motion alone, whatever errors derivatives have
        return Estimates({name: _without_gradients(result) for name, result in results.items()}, reason=_FOLLOWING)
    alarmed = resolution.worst[0] > LIMIT and plan.second_run
    if not (plan.assembled.objectives or alarmed) or options.at_once:
        return Estimates(results, reason=unseen)
    impossible = _impossible(plan)
    if not impossible:
        try:
            return replace(_compared(plan, results, resolution, divided, listener), reason=unseen)
        except AnalysisError:
            impossible = "a second run, with twice the step, fails"
    return Estimates(results, reason=impossible if plan.method == "adjoint" else unseen)


_FOLLOWING = "their steps are those of the motion; error_control: sensitivities keeps them within the tolerance, too"
_BY_DIFFERENCES = "differences between runs of one step do not tell what that step leaves"


def _without_gradients(result: Gradient) -> Gradient:
    """A result whose derivatives have no estimate: that of the quadrature over instants is the least part of it."""
    unknown = np.full(len(result.gradient), np.nan)
    return replace(result, uncertainty=result.uncertainty.with_gradient(unknown))


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


def _compared(
    plan: Plan, results: dict[str, Gradient], resolution: Any, divided: bool, listener: Listener
) -> Estimates:
    """Errors by the difference of two runs; raises AnalysisError where the second fails."""
    assembled, fine = plan.assembled, plan.assembled.problem
    coarse = with_twice_the_step(fine)
    watched = resolution_of(coarse, assembled.parameters, getattr(resolution, "times", None))
    with listener.progress("estimating errors", fine.options.duration) as show:

        def watch(block: Any) -> None:
            if len(block.time):
                show(float(block.time[-1]))

        others = evaluate(coarse, assembled.objectives, (watch,), watched, listener)
    share = 1.0 / (_fall(fine, coarse, divided, resolution.worst[0], watched.worst[0]) - 1.0)
    if isinstance(resolution, Resolution):
        resolution.compare(watched, share)
    found = {name: _with_errors(result, others[name], share) for name, result in results.items()}
    if divided:
        found = {name: _alike(result, values_of(plan.parameters)) for name, result in found.items()}
        found = {name: _without_lost(result, plan, fine.options.step) for name, result in found.items()}
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
        fall = _fall(fine, coarse, begins_within_steps(fine), resolution.worst[0], watched.worst[0])
        resolution.compare(watched, 1.0 / (fall - 1.0))


def with_twice_the_step(problem: Problem) -> Problem:
    """The problem with half as many steps, also where forces begin; they end where the run does."""
    options = problem.options
    steps = options.duration / options.step
    ends = abs(steps - round(steps)) < WHOLE * steps
    step = options.duration / (round(steps) // 2) if ends else 2.0 * options.step
    options = replace(options, step=step, onset_steps=0.5 * options.onset_steps)
    return replace(problem, options=options, gaps=())  # which the run itself has been watched for


def _fall(fine: Problem, coarse: Problem, divided: bool, error: float, other: float) -> float:
    """By how much errors fall from the second run to the first: as much as those of the motion, where that is less.

    Steps that do not resolve the motion yet gain less by being halved than the order of the rules promises. Errors of
    steps that are ``divided`` where forces begin fall as their parts happen to lie.
    """
    ratio = coarse.options.step / fine.options.step
    first_order = loses_energy(fine) or divided
    most = ratio if first_order else ratio**2
    observed = other / error if error > 0.0 and np.isfinite(error) and np.isfinite(other) else most
    return float(np.clip(observed, ratio, most))


def _alike(result: Gradient, values: np.ndarray) -> Gradient:
    """A result whose derivatives are told to be off by as large a share as the worst of those that matter.

    An impact whose instant is off spoils them all; that two runs agree in one of them is chance. Where the worst is not
    resolved at all, a change of any parameter in parts of itself may do what a change of the most influential one does.
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


def _without_lost(result: Gradient, plan: Plan, step: float) -> Gradient:
    """A result without those derivatives through impacts whose error is larger than they are, and matters.

    It matters if a change of the parameter by itself would change the objective by a tenth of its size.
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
    """A result with a share of its difference from another as its errors."""
    value = share * abs(result.value - other.value)
    uncertainty = result.uncertainty._replace(value=value)
    if len(other.gradient):
        uncertainty = uncertainty._replace(gradient=share * np.abs(result.gradient - other.gradient))
    return replace(result, uncertainty=uncertainty)


# A run: solve, watch, differentiate; what it found is an ``Outcome``.


@dataclass
class Outcome:
    """Objectives with their gradients, and all that is to be said about them."""

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
            watchers.add,  # first: what is looked at only is in the processor's cache, which a consumer overwrites
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
