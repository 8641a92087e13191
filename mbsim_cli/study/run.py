"""One run: the analysis with its diagnostics, estimated errors, and derivatives by differences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.assembly.packing import ParameterValue, parameter_values
from mbsim_cli.errors import AnalysisError, ModelError, one_line
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import quotient
from mbsim_cli.solve.resolution import resolution_of
from mbsim_cli.solve.sides import jumped
from mbsim_cli.spec.warnings import warnings_of
from mbsim_cli.study.diagnostics import discretisation, steps
from mbsim_cli.study.diagnostics.discretisation import Estimates, FirstRun, values_of
from mbsim_cli.study.diagnostics.undetermined import MultiplierHealth, UnknownReactions
from mbsim_cli.study.evaluation import Gradient, by_fields, evaluate
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Plan, Timing, located, values_at
from mbsim_cli.system import cached_property


class RunDiagnostics:
    """Diagnostics of a run: convergence, flexible bodies, tyres, reactions, multipliers, resolution by the steps."""

    def __init__(self, plan: Plan):
        assembled = plan.assembled
        problem, objectives = assembled.problem, assembled.objectives
        self._plan = plan
        self.resolution = resolution_of(problem, values_of(assembled.parameters))  # ``evaluate`` passes blocks to it
        self.health = plan.analysis.diagnostics(problem, objectives)
        self.multipliers = MultiplierHealth(problem, objectives)
        self.reactions = UnknownReactions(problem, objectives, assembled.sensor_rows, assembled.overdetermined)
        self.extremes = None if objectives else steps.Extremes(problem.names, assembled.sensor_rows)
        self._all: list[Any] = [self.health, *([self.extremes] if self.extremes else [])]  # in the order of warnings
        self._bending = [steps.BendingHealth(problem)] if hasattr(problem.model.tree, "block") else []
        if self._bending:
            self._all += [*self._bending, steps.StiffeningHealth(problem)]
        if assembled.contacts:
            self._all.append(steps.ContactHealth(problem, assembled.contacts))
        if assembled.turns:
            self._all.append(steps.BushingHealth(assembled.turns))
        cables = assembled.model_file.cables.items()
        if inextensible := [name for name, cable in cables if cable.stiffness is None]:
            self._all.append(steps.CableHealth(problem.names, inextensible))
        if problem.branchings:
            from mbsim_cli.study.diagnostics.jumps import JumpHealth

            self._all.append(JumpHealth(problem))
        jumps = jumped(problem) if problem.jumps else ()
        calls = set(assembled.model_file.calls.values())
        shown = {name: rows for name, rows in assembled.sensor_rows.items() if name not in calls}
        self._all += [self.reactions, self.multipliers, steps.FiniteHealth(shown, jumps)]

    def add(self, block: Block) -> None:
        """Pass the next block to every diagnostic."""
        for each in self._all:
            each.add(block)

    @property
    def bent(self) -> list[str]:
        """Sentences on bodies that deform beyond the range of linear shapes, which may be why a run fails."""
        return [sentence for each in self._bending for sentence in each.warnings]

    def warnings(self, results: Mapping[str, Gradient]) -> list[str]:
        """Warnings of the assembly, the diagnostics, the objectives and the discretisation, in this order."""
        plan = self._plan
        return [
            *plan.assembled.warnings,
            *(sentence for each in self._all for sentence in each.warnings),
            *steps.warnings(results, plan.assembled.objectives),
            *discretisation.warnings(self.resolution, results, plan.parameters, plan.assembled.problem.options),
        ]


@dataclass
class Outcome:
    """The result of a run: objectives with gradients and errors, diagnostics and warnings."""

    plan: Plan
    diagnostics: RunDiagnostics
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
        """Warnings of the model and of the run, a sentence each."""
        off = discretisation.warnings_of_fields(self._relative_by_fields)
        return [*warnings_of(self.plan.model_file), *self.diagnostics.warnings(self.results), *off]

    @property
    def discretisation(self) -> dict[str, Any]:
        """The motion's discretisation error, as far as it is known, and the source of estimates for objectives."""
        choice = self.plan.step_choice
        sources = {"second_step": self.estimates.step, "gradients": self.estimates.reason}
        found = discretisation.of_motion(self.diagnostics.resolution) | (choice.report if choice else {})
        return found | {key: entry for key, entry in sources.items() if entry is not None}

    @property
    def _relative_by_fields(self) -> dict[str, dict[str, float]]:
        """Estimated errors of derivatives by fields, relative to their norm, by objective and field."""
        norm = discretisation.relative_norm
        return {
            name: {given: norm(off, self.by_fields[name][given]) for given, off in fields.items()}
            for name, fields in self.estimates.by_fields.items()
        }

    @property
    def report(self) -> dict[str, Any]:
        """Plain data, as ``run --json`` prints them."""
        plan, diagnostics = self.plan, self.diagnostics
        options, file = plan.assembled.problem.options, plan.assembled.model_file
        every = parameter_values(file, list(file.parameters))  # with and without gradients
        report: dict[str, Any] = {
            "status": "done",
            "analysis": options.analysis,
            "formulation": options.formulation,
            "integrator": options.integrator if options.integrated else None,
            "sensitivity": plan.method,
            "step": options.step,
            "steps": diagnostics.health.steps,
            "overrides": dict(plan.settings.overrides),
            "parameters": {p.name: {"value": p.value, "unit": p.unit, "bounds": p.bounds} for p in every},
            "objectives": {o.name: self._objective(o) for o in plan.assembled.objectives},
            "undetermined_multipliers": diagnostics.multipliers.free,
            "timing": asdict(self.timing),
            "diagnostics": diagnostics.health.report,
            "discretisation": self.discretisation,
            "warnings": self.warnings,
        }
        report |= diagnostics.health.details  # modes, or a frequency response
        if diagnostics.extremes:
            report["extremes"] = diagnostics.extremes.report
        if plan.method == "fd":
            report["difference_steps"] = self.steps
        if plan.settings.all_numbers:
            report["influence"] = influences(plan.parameters, self.results)
        return report

    def _objective(self, objective: Objective) -> dict[str, Any]:
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
            "flags": self.diagnostics.multipliers.flags(objective),
        }


def objectives_of(plan: Plan, listener: Listener) -> dict[str, Gradient]:
    """Solve a plan for its objectives and gradients alone: without diagnostics, warnings and estimated errors."""
    assembled = located(plan.assembled, listener)
    results = evaluate(assembled.problem, assembled.objectives, listener=listener, title="solving")
    return _differences(plan, results, Timing(), listener)[0] if plan.method == "fd" else results


def run(plan: Plan, timing: Timing, listener: Listener, consumer: Callable[[Block], None] | None = None) -> Outcome:
    """Solve a plan that is compiled; every block goes to the consumer."""
    with timing.phase("solve"):
        plan = plan._replace(assembled=located(plan.assembled, listener))
    diagnostics, problem = RunDiagnostics(plan), plan.assembled.problem
    # diagnostics first, while the block is in the processor's cache
    consumers = (diagnostics.add, *((consumer,) if consumer else ()))
    resolution, reactions, objectives = diagnostics.resolution, diagnostics.reactions, plan.assembled.objectives
    steps: dict[str, Any] = {}
    with discretisation.second_run(plan, resolution, listener) as second:
        with timing.phase("solve"):
            try:
                results = evaluate(problem, objectives, consumers, resolution, listener, reactions, "solving")
            except AnalysisError as error:
                error.args = ("; ".join([*error.args, *diagnostics.bent]),)
                raise
        if plan.method == "adjoint":
            diagnostics.health.gradients_solved(max((result.error for result in results.values()), default=0.0))
        if plan.method == "fd":
            results, steps = _differences(plan, results, timing, listener)
        with timing.phase("estimate"):
            order = diagnostics.health.divided_order
            estimates = FirstRun(plan, results, resolution, order, second, listener).estimates()
    return Outcome(plan, diagnostics, estimates.results, timing, steps, estimates)


def _differences(
    plan: Plan, results: Mapping[str, Gradient], timing: Timing, listener: Listener
) -> tuple[dict[str, Gradient], dict[str, Any]]:
    """Gradients by central differences over whole runs; also the steps chosen and the errors estimated."""
    from mbsim_cli.study.verification import derivative, scale_of

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
            else:
                columns.append(found.derivative)
                errors = dict(zip(results, found.error.tolist(), strict=True))
                steps[name] = {"step": found.step, "estimated_error": errors}
                listener.say(f"central differences: {name} with steps down to {found.step:.2e}")
            show(done)
    gradients = np.array(columns).reshape(len(columns), len(results)).T
    pairs = zip(results.items(), gradients, strict=True)
    return {name: result._replace(gradient=g, undefined=undefined) for (name, result), g in pairs}, steps


PERCENT = 0.01


def influences(parameters: Sequence[ParameterValue], results: Mapping[str, Gradient]) -> list[dict[str, Any]]:
    """Changes of the objectives if a number changes by one per cent of its scale; NaN if there is no derivative.

    Sorted by the largest effect relative to an objective's value; NaN comes last. The scale of a number is its
    magnitude; for a zero, the largest magnitude in its vector, or one.
    """
    largest: dict[str, float] = {}  # magnitude by vector
    for parameter in parameters:
        vector = _vector(parameter.name)
        largest[vector] = max(largest.get(vector, 0.0), abs(parameter.value))
    sizes = {name: abs(result.value) or 1.0 for name, result in results.items()}
    found = []
    for k, parameter in enumerate(parameters):
        scale = abs(parameter.value) or largest[_vector(parameter.name)] or 1.0
        effects = {name: PERCENT * scale * float(result.gradient[k]) for name, result in results.items()}
        relative = [abs(e) / sizes[name] if np.isfinite(e) else -1.0 / sizes[name] for name, e in effects.items()]
        number = {"number": parameter.name, "value": parameter.value, "unit": parameter.unit}
        found.append((max(relative, default=0.0), number | {"scale": scale, "effects": effects}))
    return [influence for _, influence in sorted(found, key=lambda entry: -entry[0])]


def _vector(name: str) -> str:
    """The vector that a component belongs to; any other number stands for itself."""
    return name[:-2] if name[-2:] in (".x", ".y", ".z") else name
