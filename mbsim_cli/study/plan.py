"""The plan of a run: method of gradients, step or tolerance, timing; and analyses at other parameter values."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, UsageError, flag, option
from mbsim_cli.model.codes import AUTO_INTEGRATOR, DEFAULT_INTEGRATOR, INTEGRATORS
from mbsim_cli.model.problem import INTEGRATED, Problem
from mbsim_cli.solve.resolution import loses_energy
from mbsim_cli.spec import with_values
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.analyses import ANALYSES, Analysis
from mbsim_cli.study.assembling import AUTO, Settings, build, by_adjoint, chosen, stated_method
from mbsim_cli.study.compiling import compile_kernels, compile_objectives
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.evaluation import Gradient, by_fields, evaluate, resolution_of
from mbsim_cli.study.listener import SILENT, Listener

# Timing.


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

    def move(self, seconds: float, name: str, to: str) -> None:
        """Move seconds from the phase ``name`` to the phase ``to``."""
        setattr(self, name, getattr(self, name) - seconds)
        setattr(self, to, getattr(self, to) + seconds)


# The automatic step: halved until objectives and gradients have the requested accuracy.
#
# Errors are estimated from successive runs (Richardson): if they fall to a quarter, the error of the second run is
# a third of the difference. Derivation: docs/theory/resolution.md.

ACCURACY = 1e-4
HALVINGS = 14
TIGHTENINGS, LOOSEST = 10, 1e-3  # most tolerances that are tried, each a tenth of the last; the first tolerance
FAILURES = 6  # runs with ever shorter steps that may fail before any succeeds
BEFORE = 8.0  # error of the previous run, over the accuracy, above which agreement of two runs may be chance
SLOWEST, FASTEST = 2.0, 4.0  # bounds of the assumed ratio of errors of two runs


@dataclass(frozen=True)
class Halving:
    """An automatically chosen step or tolerance, with the errors that the runs of the search gave."""

    step: float  # s
    accuracy: float  # relative, as requested
    judged_by: str  # the numbers that have this accuracy, in words
    error: float  # largest estimated relative error
    runs: int
    compiling: float  # s, before the runs
    uncertainties: Mapping[str, Any]
    off_by_fields: Mapping[str, Mapping[str, np.ndarray]]  # errors (ne,) by objective and field
    tolerance: float | None = None  # chosen instead of a step, for adaptive integrators

    @property
    def report(self) -> dict[str, Any]:
        """The choice as ``run --json`` and results report it."""
        return {"accuracy": self.accuracy, "error": self.error, "runs": self.runs}

    def report_to(self, listener: Listener) -> None:
        """Report the choice as a message."""
        what = f"step of {self.step:g} s" if self.tolerance is None else f"tolerance of {self.tolerance:.0e}"
        listener.say(f"{what} chosen by {self.runs} runs: {self.judged_by} within {self.error:.1e}")

    def judged(self, results: Mapping[str, Gradient]) -> dict[str, Gradient]:
        """The results with the error estimates of the search instead of those of a single run."""
        return {name: replace(r, uncertainty=self.uncertainties[name]) for name, r in results.items()}


def is_automatic(model_file: ModelFile, settings: Settings) -> bool:
    """Whether the step is automatic; raises UsageError for an accuracy that neither step nor tolerance depends on."""
    automatic = _stated(model_file, settings, "step") == AUTO
    if settings.accuracy is not None and not automatic and not _is_controlled(model_file, settings):
        kept = f"{option('accuracy')} is what {option('step', 'auto')} keeps to"
        adaptive = " and ".join(name for name, each in INTEGRATORS.items() if each.adaptive)
        raise UsageError(f"{kept}, or the tolerance of {adaptive}; a step that is given has none")
    return automatic


def _is_controlled(model_file: ModelFile, settings: Settings) -> bool:
    """Whether the stated integrator, or one that may be chosen, has error control."""
    stated = _stated(model_file, settings, "integrator")
    integrated = _stated(model_file, settings, "formulation") in INTEGRATED
    return integrated and (stated in (None, AUTO_INTEGRATOR) or INTEGRATORS[stated].adaptive)


def _stated(model_file: ModelFile, settings: Settings, name: str) -> Any:
    """An option of the analysis: from the settings, else from the file, else None."""
    return getattr(settings, name) or getattr(model_file.analysis, name, None)


def settled(
    model_file: ModelFile, settings: Settings, parameters: list[str] | None, listener: Listener
) -> tuple[Settings, Halving | None]:
    """Replace an automatic step, tolerance or integrator by a chosen one; return the settings and the choice.

    The errors of gradients by ``parameters`` count, too; None takes those of the file.
    """
    automatic = is_automatic(model_file, settings)
    to_accuracy = settings.accuracy is not None and not automatic
    if to_accuracy and settings.tolerance is not None:
        raise UsageError(f"{option('accuracy')} chooses the tolerance; leave {option('tolerance')} out")
    if is_integrator_automatic(model_file, settings, to_accuracy):
        settings = _with_integrator(model_file, settings, listener)
    if to_accuracy:
        return _to_accuracy(model_file, settings, parameters, listener)
    if not automatic:
        return settings, None
    assembled = build(model_file, settings, parameters)
    stated = getattr(model_file.analysis, "accuracy", None)
    value = model_file.expressions.value
    accuracy = settings.accuracy or (ACCURACY if stated is None else float(value(stated).real))
    shortest = assembled.problem.options.step / 2**HALVINGS  # longer ones may fail
    compiling = compile_kernels(_with_step(assembled.problem, shortest), listener).seconds
    found = replace(_Search(assembled, accuracy).halve(listener), compiling=compiling)
    found.report_to(listener)
    return replace(settings, step=found.step, accuracy=None), found


def is_integrator_automatic(model_file: ModelFile, settings: Settings, to_accuracy: bool = False) -> bool:
    """Whether the integrator is to be chosen; with ``to_accuracy`` also where none is stated."""
    stated = _stated(model_file, settings, "integrator")
    integrated = _stated(model_file, settings, "formulation") in INTEGRATED
    return integrated and (stated == AUTO_INTEGRATOR or (to_accuracy and stated is None))


def _to_accuracy(
    model_file: ModelFile, settings: Settings, parameters: list[str] | None, listener: Listener
) -> tuple[Settings, Halving]:
    """Settings with a tolerance, ever smaller until objectives and gradients differ by less than the accuracy."""
    accuracy = settings.accuracy
    assert accuracy is not None
    assembled = build(model_file, replace(settings, tolerance=accuracy), parameters)
    if not assembled.objectives:
        raise UsageError(f"{option('accuracy')} needs objectives to judge by; give {option('tolerance')}")
    compiling = compile_kernels(assembled.problem, listener).seconds
    found = replace(_Tightening(assembled, accuracy).halve(listener), compiling=compiling)
    found.report_to(listener)
    return replace(settings, tolerance=found.tolerance, accuracy=None), found


def _with_integrator(model_file: ModelFile, settings: Settings, listener: Listener) -> Settings:
    """Settings with the integrator that suits the first steps of the motion."""
    from mbsim_cli.solve.open_trees.open_tree import STABLE, pilot

    tolerance = settings.tolerance or settings.accuracy  # where that is what a tolerance is chosen by
    without = replace(settings, method="none", memory=None, tolerance=tolerance)
    problem = build(model_file, without, []).problem
    compile_kernels(problem, listener)
    found = pilot(problem)
    name = "esdirk" if found.stiff else DEFAULT_INTEGRATOR
    bounded = "stability bounds the steps of dop853" if found.stiff else "accuracy bounds the steps of dop853"
    if np.isnan(found.reach):
        why = "no step of dop853 succeeds"
    else:
        why = f"{bounded} up to t = {found.end:.3g} s (h times the fastest rate {found.reach * STABLE:.1f} of {STABLE})"
    if found.breakpoints:
        why += f"; steps end at {found.breakpoints} breakpoints of laws"
    listener.say(f"integrator {name}: {why}")
    return replace(settings, integrator=name)


def _with_step(problem: Problem, step: float) -> Problem:
    return replace(problem, options=replace(problem.options, step=step))


class _Run(NamedTuple):
    results: dict[str, Gradient]
    by_fields: dict[str, dict[str, np.ndarray]]  # derivatives (ne,) by objective and field


class _Errors(NamedTuple):
    uncertainties: dict[str, Any]
    by_fields: dict[str, dict[str, np.ndarray]]  # (ne,) by objective and field


class _Search:
    """Runs with ever shorter steps."""

    _most, _divisor, _what, _title = HALVINGS, 2.0, "step", "steps of {options.step:.3g} s"

    def __init__(self, assembled: Any, accuracy: float):
        self.assembled, self.accuracy = assembled, accuracy
        self._parameters = discretisation.values_of(assembled.parameters)
        self._before: _Run | None = None
        self._differences: dict[str, np.ndarray] = {}
        self._error, self._worst = np.inf, ""
        problem = assembled.problem
        self._first = problem.options.step
        # a tolerance, or a table, decides on the motion; the step on sums over it
        self._sums_alone = problem.options.adaptive or (problem.prescribed is not None and problem.prescribed.splined)
        differentiates = problem.theta_rho.shape[1] > 0 or bool(assembled.fields)
        numbers = "objectives and gradients" if differentiates else "objectives"
        self._judged_by = f"{'quadrature of ' if self._sums_alone else ''}{numbers}"
        self._fastest = SLOWEST if loses_energy(problem) else FASTEST
        self._begun = True  # the last run got beyond its start, in which the step has no part

    def halve(self, listener: Listener) -> Halving:
        """Halve the step until the errors are below the accuracy."""
        failed = 0
        failure: AnalysisError | None = None
        for runs in range(1, self._most + 2):
            step = self._first / self._divisor ** (runs - 1)
            try:
                failure = None
                done = self._done(self._with(step), listener)
            except AnalysisError as error:
                failure, failed, self._before = error, failed + 1, None
                if failed > FAILURES or not self._begun:
                    raise
                continue
            if done is not None:
                return self._halving(step, runs, done)
        if failure:
            raise failure
        known = np.isfinite(self._error)
        why = f"the relative error of {self._worst} is still {self._error:.1e}" if known else self._worst
        least = f"{self._what} down to {step:.3g}{' s' * (self._what == 'step')}"
        raise AnalysisError(
            f"no {least} keeps to the accuracy {self.accuracy:g}: {why}; try a larger accuracy or a "
            "shorter duration, and look for an unstable motion or a number that should be zero"
        )

    def _with(self, step: float) -> Problem:
        return _with_step(self.assembled.problem, step)

    def _halving(self, step: float, runs: int, done: _Errors) -> Halving:
        return Halving(step, self.accuracy, self._judged_by, self._error, runs, 0.0, *done)

    def _done(self, problem: Problem, listener: Listener) -> _Errors | None:
        """Errors of a run, if they are small enough."""
        resolution = resolution_of(problem, self.assembled.parameters)
        results = self._run(problem, resolution, listener)
        # runs of few steps may agree by luck
        if self._what == "step" and not resolution.enough:
            self._before, self._error, self._worst = None, np.inf, resolution.reason
            return None
        if not any(map(self._counts, results.values())):
            if not np.isfinite(resolution.worst[0]):
                raise UsageError(f"an automatic step needs an integral or maximum to judge by: {resolution.reason}")
            self._judged_by = "the motion"
            self._error, self._worst = resolution.worst[0], f"the motion of {resolution.worst[1]}"
            return _Errors({}, {}) if self._error <= self.accuracy else None
        before, self._before = self._before, _Run(results, by_fields(self.assembled.fields, results))
        return None if before is None else self._compared(before, self._before)

    def _run(self, problem: Problem, resolution: Any, listener: Listener) -> dict[str, Gradient]:
        self._begun = False
        with listener.progress(self._title.format(options=problem.options), problem.options.duration) as show:

            def watch(block: Any) -> None:
                self._begun = True
                show(float(block.time[-1]))

            return evaluate(problem, self.assembled.objectives, (watch,), resolution, listener)

    def _compared(self, before: _Run, run: _Run) -> _Errors | None:
        """Errors from the differences of two runs; None where they, or those before, are too large."""
        results = run.results
        differences = {name: _numbers(result) - _numbers(before.results[name]) for name, result in results.items()}
        by_fields = {
            name: {given: numbers - before.by_fields[name][given] for given, numbers in fields.items()}
            for name, fields in run.by_fields.items()
        }
        sizes = {  # that errors are relative to (1 + p,): the numbers, unless they cancel or are round-off
            name: np.maximum(r.uncertainty.sizes(r.value, r.gradient, self._parameters), np.finfo(float).tiny)
            for name, r in results.items()
        }
        for name, fields in by_fields.items():  # measured by their norms
            norms = [[np.linalg.norm(off[given]) for given in fields] for off in (fields, run.by_fields[name])]
            differences[name], sizes[name] = np.append(differences[name], norms[0]), np.append(sizes[name], norms[1])
        largest, self._worst = self._largest(differences, sizes)
        earlier = self._largest(self._differences, sizes)[0] if self._differences else np.inf
        self._differences = differences
        share = 1.0 / (np.clip(earlier / largest, SLOWEST, self._fastest) - 1.0) if largest > 0.0 else 1.0
        self._error = share * largest
        if self._error > self.accuracy or earlier / (self._fastest - 1.0) > BEFORE * self.accuracy:
            return None
        uncertainties = {
            name: self._known(result, share * np.abs(differences[name])) for name, result in results.items()
        }
        off = {name: {g: share * np.abs(d) for g, d in fields.items()} for name, fields in by_fields.items()}
        return _Errors(uncertainties, off)

    def _counts(self, result: Gradient) -> bool:
        """Whether the step has a part in an objective."""
        return not self._sums_alone or bool(np.isfinite(result.uncertainty.value))

    def _known(self, result: Gradient, errors: np.ndarray) -> Any:
        """Uncertainty with these errors; of what steps have no part in it stays unknown."""
        found, gradient = result.uncertainty, errors[1 : 1 + len(result.gradient)]
        return found._replace(value=errors[0], gradient=gradient) if self._counts(result) else found

    def _largest(self, differences: Mapping[str, np.ndarray], sizes: Mapping[str, np.ndarray]) -> tuple[float, str]:
        """Largest relative difference and what it is of; what is not determined, and so no number, is left out."""
        relative = {name: np.nan_to_num(np.abs(differences[name]) / sizes[name]) for name in differences}
        worst = max(relative, key=lambda name: relative[name].max())
        index = int(np.argmax(relative[worst]))
        named = [*self.assembled.parameters, *dict.fromkeys(field.name for field in self.assembled.fields)]
        return float(relative[worst][index]), discretisation.name_of(worst, index, named)


class _Tightening(_Search):
    """Runs with ever smaller tolerances, at the same output times."""

    _most, _divisor, _what, _title = TIGHTENINGS, 10.0, "tolerance", "tolerance of {options.tolerance:.0e}"

    def __init__(self, assembled: Any, accuracy: float):
        super().__init__(assembled, accuracy)
        self._sums_alone, self._fastest = False, self._divisor
        self._first = min(LOOSEST, accuracy)
        self._judged_by = self._judged_by.removeprefix("quadrature of ")

    def _with(self, tolerance: float) -> Problem:
        options = self.assembled.problem.options
        stated = options.absolute_tolerance != options.tolerance  # and stays then
        absolute = options.absolute_tolerance if stated else tolerance
        changed = replace(options, tolerance=tolerance, absolute_tolerance=absolute)
        return replace(self.assembled.problem, options=changed)

    def _halving(self, tolerance: float, runs: int, done: _Errors) -> Halving:
        step = self.assembled.problem.options.step
        error = max(self._error, tolerance)  # where both runs took the longest steps that there are, they are the same
        uncertainties, by_fields = done
        return Halving(step, self.accuracy, self._judged_by, error, runs, 0.0, uncertainties, by_fields, tolerance)

    def _known(self, result: Gradient, errors: np.ndarray) -> Any:
        """The errors, and those of sums over output times, which no tolerance changes."""
        found, gradient = result.uncertainty, errors[1 : 1 + len(result.gradient)]
        of_sums = found.value if np.isfinite(found.value) else 0.0
        return found._replace(value=errors[0] + of_sums, gradient=gradient)


def _numbers(result: Gradient) -> np.ndarray:
    return np.append(result.value, result.gradient)


# The plan of a run.


@dataclass(frozen=True)
class Plan:
    """All input of a run.

    ``assembled`` is the model that is solved. ``named`` is the same model with the parameters of gradients, which
    ``assembled`` lacks for the method fd.
    """

    model_file: ModelFile
    settings: Settings  # with a step in seconds
    method: str
    named: Any
    assembled: Any
    halving: Halving | None = None  # how the step was chosen
    second_run: bool = False  # whether ``study.run`` may estimate errors by a second run

    @property
    def analysis(self) -> Analysis:
        """The kind of analysis."""
        return ANALYSES[self.assembled.problem.options.analysis]

    @property
    def stores_sensitivities(self) -> bool:
        """Whether results store histories of derivatives; not for gradients by all numbers, which are too many."""
        return not self.settings.all_numbers and self.analysis.stores_sensitivities(self.assembled.problem)

    @property
    def parameters(self) -> Sequence[Any]:
        """Parameters of gradients, with their values."""
        return self.named.parameters

    def compile(self, listener: Listener) -> None:
        """Load or compile all kernels and expressions, so that the time of solving contains no compilation."""
        compile_kernels(self.assembled.problem, listener, objectives=self.assembled.objectives)
        compile_objectives(self.assembled.objectives)


@dataclass(frozen=True)
class Draft:
    """An assembled model whose step, tolerance and integrator may still be automatic; ``plan`` chooses them."""

    model_file: ModelFile
    settings: Settings
    method: str
    named: Any
    wanted: list[str] | None  # parameters of gradients; None: those of the file
    why: str = ""  # reason for the chosen method; empty if the method was stated

    def plan(self, timing: Timing, listener: Listener) -> Plan:
        """Choose an automatic step, which takes several runs; for the method fd, assemble without parameters."""
        file, named = self.model_file, self.named
        if self.why:
            listener.say(f"gradients by {self.method}: {self.why}")
        with timing.phase("solve"):
            by = self.wanted if self.method in ("ddm", "adjoint") else []  # parameters of the solver's own derivatives
            settings, halving = settled(file, self.settings, by, listener)
        timing.move(halving.compiling if halving else 0.0, "solve", "compile")
        with timing.phase("load"):
            if halving:
                named = build(file, settings, self.wanted)
            assembled = named if self.method != "fd" else build(file, settings, [])
        return Plan(file, settings, self.method, named, assembled, halving)


def draft(
    model_file: ModelFile,
    settings: Settings,
    timing: Timing,
    by: Sequence[str] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    before: Any = None,
) -> Draft:
    """Assemble a model, and choose the method of gradients if it is auto.

    ``by`` names the parameters of gradients; None takes those of the settings, else those of the file. ``values``
    replaces parameters. ``before`` is a model assembled from the same file, whose tables are reused. Raises ModelError
    and UsageError.
    """
    if values:
        with timing.phase("load"):
            model_file, settings = moved(model_file, settings, values)
    stated = stated_method(model_file, settings)
    method = "ddm" if stated == AUTO else stated
    if settings.all_numbers and method == "none":
        every, no_method = flag("all_numbers"), option("sensitivity", "none")
        raise UsageError(f"{every} takes gradients, and {no_method} computes none; leave one of them out")
    wanted = _wanted(method, model_file, settings, settings.by if by is None else by)
    with timing.phase("load"):
        named = build(model_file, settings, wanted, before)
    if stated != AUTO:
        return Draft(model_file, settings, method, named, wanted)
    method, why = chosen(model_file, settings, named)
    if method == "adjoint":
        return Draft(model_file, replace(settings, method=method), method, by_adjoint(named), wanted, why)
    return Draft(model_file, replace(settings, method=method, memory=None), method, named, wanted, why)


def moved(model_file: ModelFile, settings: Settings, values: Mapping[str, float]) -> tuple[Any, Settings]:
    """The model at other values of its parameters, and settings whose overrides list these values."""
    texts = {name: repr(float(value)) for name, value in values.items()}
    return with_values(model_file, values), replace(settings, overrides={**settings.overrides, **texts})


def _wanted(method: str, model_file: ModelFile, settings: Settings, by: Sequence[str] | None) -> list[str] | None:
    """Parameters of gradients: [] for the method none, ``by`` if given, all for all_numbers, or None (the file's)."""
    if method == "none":
        return []
    if by is not None:
        return list(by)
    return list(model_file.parameters) if settings.all_numbers else None


# Analyses with changed parameters, for numerical derivatives.


def values_at(
    model_file: ModelFile,
    settings: Settings,
    changes: Mapping[str, float],
    listener: Listener = SILENT,
    before: Any = None,
) -> np.ndarray:
    """Objectives (k,) of a new analysis with changed parameters, which are validated and assembled again.

    A change is added to the definition of its parameter, so that dependent parameters follow. ``before`` is a model
    assembled from the same file, whose tables are reused. Raises AnalysisError if the constraints drift apart.
    """
    definitions = model_file.definitions
    values = {name: f"({definitions[name].text}) + ({float(change)!r})" for name, change in changes.items()}
    assembled = build(with_values(model_file, values), settings, [], before)
    health = ANALYSES[assembled.problem.options.analysis].diagnostics(assembled.problem, assembled.objectives)
    found = evaluate(assembled.problem, assembled.objectives, (health.add,), listener=listener)
    if health.drifts:
        raise AnalysisError(f"the mechanism does not stay assembled: constraints are violated by {health.drift:.1e}")
    return np.array([result.value for result in found.values()])
