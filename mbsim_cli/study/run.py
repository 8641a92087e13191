"""A run: solve, watch, differentiate; what it found is an ``Outcome``."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, ModelError, one_line
from mbsim_cli.model.units import quotient
from mbsim_cli.spec.judging.doubts import doubts_of
from mbsim_cli.study.changed import values_at
from mbsim_cli.study.coarse_run import Estimates, estimated
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.evaluation import Gradient, by_fields, evaluate
from mbsim_cli.study.influence import influences
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Plan
from mbsim_cli.study.timing import Timing
from mbsim_cli.study.verification.differences import derivative, scale_of
from mbsim_cli.study.watchers import Watchers
from mbsim_cli.system import cached_property


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
    def _doubts(self) -> list[str]:
        return doubts_of(self.plan.model_file)

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary, in the model and in the run."""
        off = discretisation.warnings_of_fields(self._relative_by_fields)
        return [*self._doubts, *self.watchers.warnings(self.results), *off]

    @property
    def resolved(self) -> dict[str, Any]:
        """What is known of the motion's discretisation error, and where estimates for objectives come from."""
        told = {"second_step": self.estimates.step, "gradients": self.estimates.reason}
        return self.watchers.resolved | {key: entry for key, entry in told.items() if entry is not None}

    @property
    def _relative_by_fields(self) -> dict[str, dict[str, float]]:
        """Estimated errors of derivatives by fields, relative to their norm, by objective and field."""
        return {
            name: {
                given: discretisation.relative_norm(off, self.by_fields[name][given]) for given, off in fields.items()
            }
            for name, fields in self.estimates.off_by_fields.items()
        }

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
            "integrator": options.integrator if options.open_tree else None,
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
        estimates = estimated(plan, results, watchers.resolution, listener)
    return Outcome(plan, watchers, estimates.results, timing, steps, estimates)


def _differences(
    plan: Plan, results: Mapping[str, Gradient], timing: Timing, listener: Listener
) -> tuple[dict[str, Gradient], dict[str, Any]]:
    """Gradients by central differences over whole runs; also the steps chosen and the errors estimated."""
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
