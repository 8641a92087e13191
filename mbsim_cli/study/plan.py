"""The plan of a run: method of gradients, timing, kernels; and analyses at other parameter values."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, UsageError, flag, option
from mbsim_cli.spec import with_values
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.analyses import ANALYSES, Analysis
from mbsim_cli.study.assembling import AUTO, Settings, automatic_of, build, chosen, stated_method
from mbsim_cli.study.compiling import compile_kernels, compile_objectives
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT, Listener, PollOnly

if TYPE_CHECKING:
    from mbsim_cli.assembly.packing import ParameterValue
    from mbsim_cli.assembly.problem import Assembled
    from mbsim_cli.study.automatic_step import StepChoice


@dataclass
class Timing:
    """Seconds spent in each phase, as ``run --json`` reports them; their sum is about the time of the command."""

    load: float = 0.0
    compile: float = 0.0
    solve: float = 0.0
    estimate: float = 0.0
    write: float = 0.0

    _within = 0.0  # seconds of phases nested in the current one

    @contextmanager
    def phase(self, name: str, begun: float | None = None) -> Iterator[None]:
        """Add the time within the context to a phase, and not to the enclosing one; ``begun`` is an earlier start."""
        start = perf_counter() if begun is None else begun
        around, self._within = self._within, 0.0
        try:
            yield
        finally:
            spent = perf_counter() - start
            setattr(self, name, getattr(self, name) + spent - self._within)
            self._within = around + spent


class Plan(NamedTuple):
    """All input of a run."""

    model_file: ModelFile
    settings: Settings  # with a step in seconds
    method: str
    named: "Assembled"  # the model with the parameters of gradients
    assembled: "Assembled"  # the model that is solved, for the method fd without these parameters
    step_choice: "StepChoice | None" = None  # if the step or tolerance was automatic
    second_run: bool = False  # whether ``study.run`` may estimate errors by a second run

    @property
    def analysis(self) -> Analysis:
        """The kind of analysis."""
        return ANALYSES[self.assembled.problem.options.analysis]

    @property
    def parameters(self) -> Sequence["ParameterValue"]:
        """Parameters of gradients, with their values."""
        return self.named.parameters

    def compile(self, listener: Listener) -> None:
        """Load or compile all kernels and expressions, so that the time of solving contains no compilation."""
        compile_kernels(self.assembled.problem, listener, objectives=self.assembled.objectives)
        compile_objectives(self.assembled.objectives)


def plan_run(
    model_file: ModelFile,
    settings: Settings,
    timing: Timing,
    listener: Listener,
    by: Sequence[str] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    before: "Assembled | None" = None,
) -> Plan:
    """Assemble a model; choose the method of gradients, the integrator, and the step or tolerance if automatic.

    ``by`` names the parameters of gradients; None takes those of the settings, else those of the file. ``values``
    replaces parameters. ``before`` is a model assembled from the same file, whose tables are reused. An automatic step
    takes several runs. Raises ModelError, AnalysisError and UsageError.
    """
    with timing.phase("load"):
        model_file, settings = moved(model_file, settings, values or {})
    stated = stated_method(model_file, settings)
    method = "ddm" if stated == AUTO else stated
    if settings.all_numbers and method == "none":
        every, no_method = flag("all_numbers"), option("sensitivity", "none")
        raise UsageError(f"{every} takes gradients, and {no_method} computes none; leave one of them out")
    parameters = gradient_parameters(method, model_file, settings, by)
    with timing.phase("load"):
        named = build(model_file, settings, parameters, before)
    if stated == AUTO:
        method, reason = chosen(model_file, settings, named)
        if method == "adjoint":
            settings, options = replace(settings, method=method), replace(named.problem.options, sensitivity=method)
            problem, choices = replace(named.problem, options=options), {**named.choices, "sensitivity": method}
            named = replace(named, problem=problem, choices=choices)
        else:
            settings = replace(settings, method=method, memory=None)
        listener.say(f"gradients by {method}: {reason}")
    choice = None
    if any(automatic_of(model_file, settings)):
        from mbsim_cli.study.automatic_step import resolve_automatic

        solved_for = parameters if method in ("ddm", "adjoint") else []  # by the solver's own derivatives
        with timing.phase("solve"):
            settings, choice = resolve_automatic(model_file, settings, solved_for, timing, listener)
        with timing.phase("load"):  # with the step, tolerance or integrator that was chosen
            named = build(model_file, settings, parameters)
    with timing.phase("load"):
        assembled = named if method != "fd" else build(model_file, settings, [])
    return Plan(model_file, settings, method, named, assembled, choice)


def moved(model_file: ModelFile, settings: Settings, values: Mapping[str, float]) -> tuple[ModelFile, Settings]:
    """The model at other values of its parameters, if any, and settings whose overrides list these values."""
    if not values:
        return model_file, settings
    texts = {name: repr(float(value)) for name, value in values.items()}
    return with_values(model_file, values), replace(settings, overrides={**settings.overrides, **texts})


def gradient_parameters(
    method: str, model_file: ModelFile, settings: Settings, by: Sequence[str] | None = None
) -> list[str] | None:
    """Parameters of gradients: none for the method none, else ``by``, those of the settings, or None (the file's)."""
    if method == "none":
        return []
    by = settings.by if by is None else by
    if by is not None:
        return list(by)
    return list(model_file.parameters) if settings.all_numbers else None


def located(assembled: "Assembled", listener: Listener) -> "Assembled":
    """The model whose steps end where comparisons of the motion make its forces jump, where these can be found."""
    if not (assembled.problem.branchings and assembled.problem.options.integrated):
        return assembled
    from mbsim_cli.study.event_times import locate  # few models have any

    return locate(assembled, listener)


def added(model_file: ModelFile, changes: Mapping[str, float]) -> dict[str, str]:
    """Definitions of parameters with a change added to each, so that dependent parameters follow."""
    definitions = model_file.definitions
    return {name: f"({definitions[name].text}) + ({float(change)!r})" for name, change in changes.items()}


def values_at(
    model_file: ModelFile,
    settings: Settings,
    changes: Mapping[str, float],
    listener: Listener = SILENT,
    before: "Assembled | None" = None,
) -> np.ndarray:
    """Objectives (k,) of a new analysis with changed parameters, which are validated and assembled again.

    ``before`` is a model assembled from the same file, whose tables are reused. Raises AnalysisError if the constraints
    drift apart.
    """
    assembled = build(with_values(model_file, added(model_file, changes)), settings, [], before)
    assembled = located(assembled, PollOnly(listener))
    health = ANALYSES[assembled.problem.options.analysis].diagnostics(assembled.problem, assembled.objectives)
    found = evaluate(assembled.problem, assembled.objectives, (health.add,), listener=listener)
    if health.drifts:
        raise AnalysisError(f"the mechanism does not stay assembled: constraints are violated by {health.drift:.1e}")
    return np.array([result.value for result in found.values()])
