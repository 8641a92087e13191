"""The automatic step, tolerance and integrator: runs with ever smaller ones until errors are below an accuracy."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import AnalysisError, UsageError, option
from mbsim_cli.model.codes import DEFAULT_INTEGRATOR
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.breakpoints import bends
from mbsim_cli.solve.resolution import loses_energy, resolution_of
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.assembling import Settings, automatic_of, build, stated_option
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.diagnostics.discretisation import differences_by_fields, name_of, values_of
from mbsim_cli.study.evaluation import Gradient, by_fields, evaluate
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.plan import Timing, located
from mbsim_cli.study.streams import Uncertainty

# The step is halved until objectives and gradients have the requested accuracy. Errors are estimated from successive
# runs (Richardson): if they fall to a quarter, the error of the second run is a third of the difference. Derivation:
# docs/theory/resolution.md.

ACCURACY = 1e-4
HALVINGS = 14
TIGHTENINGS, LOOSEST = 10, 1e-3  # most tolerances that are tried, each a tenth of the last; the first tolerance
FAILURES = 6  # runs with ever shorter steps that may fail before any succeeds
BEFORE = 8.0  # error of the previous run, over the accuracy, above which agreement of two runs may be chance
SLOWEST, FASTEST = 2.0, 4.0  # bounds of the assumed ratio of errors of two runs
AT_CORNERS = 4.0  # difference of the two runs before, over the least error assumed where corners lie within steps


class StepChoice(NamedTuple):
    """An automatically chosen step or tolerance, with the errors that the runs of the search gave."""

    step: float  # s
    accuracy: float  # relative, as requested
    measured: str  # the numbers that have this accuracy, in words
    error: float  # largest estimated relative error
    runs: int
    uncertainties: Mapping[str, Uncertainty]  # by objective
    errors_by_fields: Mapping[str, Mapping[str, np.ndarray]]  # (ne,) by objective and field
    tolerance: float | None = None  # chosen instead of a step, for adaptive integrators

    @property
    def report(self) -> dict[str, Any]:
        """The choice as ``run --json`` and results report it."""
        return {"accuracy": self.accuracy, "error": self.error, "runs": self.runs}


def resolve_automatic(
    model_file: ModelFile, settings: Settings, parameters: list[str] | None, timing: Timing, listener: Listener
) -> tuple[Settings, StepChoice | None]:
    """Replace an automatic step, tolerance or integrator by a chosen one; return the settings and the choice.

    The errors of gradients by ``parameters`` count, too; None takes those of the file. ``timing`` gets the time of
    compilation.
    """
    automatic = automatic_of(model_file, settings)
    to_accuracy = automatic.tolerance
    if to_accuracy and settings.tolerance is not None:
        raise UsageError(f"{option('accuracy')} chooses the tolerance; leave {option('tolerance')} out")
    if automatic.integrator or (to_accuracy and stated_option(model_file, settings, "integrator") is None):
        settings = _with_integrator(model_file, settings, listener)
    if not (automatic.step or to_accuracy):
        return settings, None
    given = replace(settings, tolerance=settings.accuracy) if to_accuracy else settings
    assembled = located(build(model_file, given, parameters), listener)
    if to_accuracy and not assembled.objectives:
        raise UsageError(f"{option('accuracy')} needs objectives, whose errors it limits; give {option('tolerance')}")
    stated, compiled = getattr(model_file.analysis, "accuracy", None), assembled.problem
    default = ACCURACY if stated is None else float(model_file.expressions.value(stated).real)
    search = _Search(assembled, settings.accuracy or default, by_tolerance=to_accuracy)
    if not to_accuracy:
        compiled = search.problem_at(compiled.options.step / 2**HALVINGS)  # longer ones may fail
    with timing.phase("compile"):
        compile_kernels(compiled, listener)
    choice = search.search(listener)
    what = f"tolerance of {choice.tolerance:.0e}" if to_accuracy else f"step of {choice.step:g} s"
    above = "; errors between output times are larger than the accuracy: try a shorter step"
    reached = "" if choice.error <= choice.accuracy else above
    listener.say(f"{what} chosen by {choice.runs} runs: {choice.measured} within {choice.error:.1e}{reached}")
    chosen = {"tolerance": choice.tolerance} if to_accuracy else {"step": choice.step}
    return replace(settings, accuracy=None, **chosen), choice


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


_ByFields = dict[str, dict[str, np.ndarray]]  # (ne,) by objective and field
_Run = tuple[dict[str, Gradient], _ByFields]  # objectives, and their derivatives by fields
_Errors = tuple[dict[str, Uncertainty], _ByFields]


class _Search:
    """Runs with ever shorter steps, or ``by_tolerance`` with ever smaller tolerances at the same output times."""

    def __init__(self, assembled: Assembled, accuracy: float, *, by_tolerance: bool):
        self.assembled, self.accuracy, self._by_tolerance = assembled, accuracy, by_tolerance
        self._parameters = values_of(assembled.parameters)
        self._last: _Run | None = None
        self._differences: dict[str, np.ndarray] = {}
        self._error, self._worst = np.inf, ""
        problem = assembled.problem
        self._first = min(LOOSEST, accuracy) if by_tolerance else problem.options.step
        self._divisor, self._most = (10.0, TIGHTENINGS) if by_tolerance else (2.0, HALVINGS)
        # the step decides on sums over time alone if a tolerance, or a table, decides on the motion
        of_sums = problem.options.adaptive or (problem.prescribed is not None and problem.prescribed.splined)
        self._sums_alone = of_sums and not by_tolerance
        differentiates = problem.theta_rho.shape[1] > 0 or bool(assembled.fields)
        numbers = "objectives and gradients" if differentiates else "objectives"
        self._measured = f"{'quadrature of ' if self._sums_alone else ''}{numbers}"
        self._fastest = self._divisor if by_tolerance else SLOWEST if loses_energy(problem) else FASTEST
        fixed = problem.options.analysis == "forward_dynamics" and not problem.options.adaptive
        self._has_corners = self._forces_bend = fixed and bends(problem)
        self._begun = True  # the last run got beyond its start, which does not depend on the step

    def search(self, listener: Listener) -> StepChoice:
        """Halve the step, or divide the tolerance by ten, until the errors are below the accuracy."""
        failed = 0
        failure: AnalysisError | None = None
        for runs in range(1, self._most + 2):
            number = self._first / self._divisor ** (runs - 1)
            try:
                failure = None
                errors = self._errors_of_run(self.problem_at(number), listener)
            except AnalysisError as error:
                failure, failed, self._last = error, failed + 1, None
                if failed > FAILURES or not self._begun:
                    raise
                continue
            if errors is not None:
                step, tolerance, off = number, None, self._error
                if self._by_tolerance:  # two runs with the longest steps allowed are the same run
                    step, tolerance, off = self.assembled.problem.options.step, number, max(off, number)
                return StepChoice(step, self.accuracy, self._measured, off, runs, *errors, tolerance)
        if failure:
            raise failure
        known = np.isfinite(self._error)
        why = f"the relative error of {self._worst} is still {self._error:.1e}" if known else self._worst
        least = f"tolerance down to {number:.3g}" if self._by_tolerance else f"step down to {number:.3g} s"
        slow = "; forces or integrands have corners, at which derivatives converge slowly" if self._has_corners else ""
        causes = f"an unstable motion or a number that should be zero{slow}"
        missed = f"no {least} keeps to the accuracy {self.accuracy:g}: {why}"
        raise AnalysisError(f"{missed}; try a larger accuracy or a shorter duration, and look for {causes}")

    def problem_at(self, number: float) -> Problem:
        """The problem with this step, s, or this tolerance."""
        problem, options = self.assembled.problem, self.assembled.problem.options
        if not self._by_tolerance:
            return replace(problem, options=replace(options, step=number))
        stated = options.absolute_tolerance != options.tolerance  # then it stays
        absolute = options.absolute_tolerance if stated else number
        return replace(problem, options=replace(options, tolerance=number, absolute_tolerance=absolute))

    def _errors_of_run(self, problem: Problem, listener: Listener) -> _Errors | None:
        """Errors of a run, if they are small enough."""
        resolution = resolution_of(problem, self._parameters)
        self._begun = False

        def watch(block: Block) -> None:
            self._begun = True

        options = problem.options
        title = f"tolerance of {options.tolerance:.0e}" if self._by_tolerance else f"steps of {options.step:.3g} s"
        results = evaluate(problem, self.assembled.objectives, (watch,), resolution, listener, title=title)
        # runs of few steps may agree by chance
        if not (self._by_tolerance or resolution.enough):
            self._last, self._error, self._worst = None, np.inf, resolution.reason
            return None
        if not any(map(self._depends_on_step, results.values())):
            if not np.isfinite(resolution.worst[0]):
                needs = "an automatic step needs an integral or maximum whose error is known"
                raise UsageError(f"{needs}: {resolution.reason}")
            self._measured = "the motion"
            self._error, self._worst = resolution.worst[0], f"the motion of {resolution.worst[1]}"
            return ({}, {}) if self._error <= self.accuracy else None
        last, self._last = self._last, (results, by_fields(self.assembled.fields, results))
        return None if last is None else self._errors_between(last, self._last)

    def _errors_between(self, last: _Run, run: _Run) -> _Errors | None:
        """Errors from the differences of two runs; None where they, or those before, are too large."""
        (results, found_by_fields), (others, others_by_fields) = run, last
        differences = {
            name: np.append(result.value - others[name].value, result.gradient - others[name].gradient)
            for name, result in results.items()
        }
        of_fields = differences_by_fields(found_by_fields, others_by_fields)
        sizes = {  # denominators of relative errors
            name: np.maximum(r.uncertainty.denominators(r.value, r.gradient, self._parameters), np.finfo(float).tiny)
            for name, r in results.items()
        }
        for name, fields in of_fields.items():  # measured by their norms
            norms = [[np.linalg.norm(off[given]) for given in fields] for off in (fields, found_by_fields[name])]
            differences[name], sizes[name] = np.append(differences[name], norms[0]), np.append(sizes[name], norms[1])
        largest, _ = self._largest(differences, sizes)
        before, self._differences = self._differences, differences
        earlier = self._largest(before, sizes)[0] if before else np.inf
        share = 1.0 / (np.clip(earlier / largest, SLOWEST, self._fastest) - 1.0) if largest > 0.0 else 1.0
        off_by = {name: share * np.abs(difference) for name, difference in differences.items()}
        bent = not self._by_tolerance and any(result.has_corners for result in results.values())
        self._has_corners = self._forces_bend or bent
        if self._has_corners and before:
            off_by = {name: np.fmax(off, np.abs(before[name]) / AT_CORNERS) for name, off in off_by.items()}
        self._error, self._worst = self._largest(off_by, sizes)
        if self._error > self.accuracy or earlier / (self._fastest - 1.0) > BEFORE * self.accuracy:
            return None
        uncertainties = {}
        for name, result in results.items():
            errors, of_run = off_by[name][: 1 + len(result.gradient)], result.uncertainty
            if self._by_tolerance:  # and the errors between output times, which no tolerance changes
                errors += np.nan_to_num(of_run.errors)
            uncertainties[name] = of_run._replace(errors=errors) if self._depends_on_step(result) else of_run
        self._error, self._worst = self._largest(off_by, sizes)
        off: _ByFields = {}
        for name, fields in of_fields.items():
            norms = off_by[name][1 + len(results[name].gradient) :]
            off[name] = {
                given: d * norm / max(float(np.linalg.norm(d)), np.finfo(float).tiny)
                for (given, d), norm in zip(fields.items(), norms, strict=True)
            }
        return uncertainties, off

    def _depends_on_step(self, result: Gradient) -> bool:
        return not self._sums_alone or bool(np.isfinite(result.uncertainty.errors[0]))

    def _largest(self, differences: Mapping[str, np.ndarray], sizes: Mapping[str, np.ndarray]) -> tuple[float, str]:
        """Largest relative difference and its number in words; NaN, of undetermined numbers, is ignored."""
        relative = {name: np.nan_to_num(np.abs(differences[name]) / sizes[name]) for name in differences}
        worst = max(relative, key=lambda name: relative[name].max())
        index = int(np.argmax(relative[worst]))
        named: list[Any] = [*self.assembled.parameters, *dict.fromkeys(field.name for field in self.assembled.fields)]
        return float(relative[worst][index]), name_of(worst, index, named)
