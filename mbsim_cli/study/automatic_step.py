"""An automatic step: halved until objectives and gradients are as accurate as asked.

Errors are those that successive runs tell (Richardson): where they fall to a quarter, the second run is off by a third
of the difference. Derivation: docs/theory/resolution.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.caller import option
from mbsim_cli.errors import AnalysisError, UsageError
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.resolution import loses_energy
from mbsim_cli.study.assembling import build
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.evaluation import Gradient, by_fields, evaluate, resolution_of
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.settings import AUTO, Settings

ACCURACY = 1e-4
HALVINGS = 14
FAILURES = 6  # runs with ever shorter steps that may fail before any succeeds
BEFORE = 8.0  # by how much the errors of the run before may exceed the accuracy: agreement by luck does not repeat
SLOWEST, FASTEST = 2.0, 4.0  # fall of errors by a halving that is reckoned with


@dataclass(frozen=True)
class Halving:
    """How a step was chosen: how accurate, in how many runs, and the errors that they tell."""

    step: float
    accuracy: float
    judged_by: str  # what keeps to it
    error: float  # largest relative error
    runs: int
    compiling: float  # s, before
    uncertainties: Mapping[str, Any]
    off_by_fields: Mapping[str, Mapping[str, np.ndarray]]  # errors (ne,) by objective and field

    @property
    def report(self) -> dict[str, Any]:
        """What ``run --json`` and results tell."""
        return {"accuracy": self.accuracy, "error": self.error, "runs": self.runs}

    def tell(self, listener: Listener) -> None:
        """Say it to people."""
        listener.say(f"step of {self.step:g} s chosen by {self.runs} runs: {self.judged_by} within {self.error:.1e}")

    def judged(self, results: Mapping[str, Gradient]) -> dict[str, Gradient]:
        """Results with the errors that halving told in place of those estimated in one run."""
        return {name: replace(r, uncertainty=self.uncertainties[name]) for name, r in results.items()}


def is_automatic(model_file: Any, settings: Settings) -> bool:
    """Whether the step is to be chosen; raises UsageError for an accuracy that nothing keeps to."""
    automatic = (settings.step or getattr(model_file.analysis, "step", None)) == AUTO
    if settings.accuracy is not None and not automatic:
        kept = f"{option('accuracy')} is what {option('step', 'auto')} keeps to"
        raise UsageError(f"{kept}; a step that is given has none")
    return automatic


def settled(
    model_file: Any, settings: Settings, parameters: list[str] | None, listener: Listener
) -> tuple[Settings, Halving | None]:
    """Settings with a step in seconds; gradients by ``parameters`` count, None for those of the file."""
    if not is_automatic(model_file, settings):
        return settings, None
    assembled = build(model_file, settings, parameters)
    stated = getattr(model_file.analysis, "accuracy", None)
    value = model_file.expressions.value
    accuracy = settings.accuracy or (ACCURACY if stated is None else float(value(stated).real))
    shortest = assembled.problem.options.step / 2**HALVINGS  # a longer one may fail
    compiling = compile_kernels(_with_step(assembled.problem, shortest), listener).seconds
    found = replace(_Search(assembled, accuracy).halve(listener), compiling=compiling)
    found.tell(listener)
    return replace(settings, step=found.step, accuracy=None), found


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

    def __init__(self, assembled: Any, accuracy: float):
        self.assembled, self.accuracy = assembled, accuracy
        self._parameters = discretisation.values_of(assembled.parameters)
        self._before: _Run | None = None
        self._differences: dict[str, np.ndarray] = {}
        self._error, self._worst = np.inf, ""
        problem = assembled.problem
        # a tolerance, or a table, decides on the motion; the step on sums over it
        self._sums_alone = problem.options.adaptive or (problem.prescribed is not None and problem.prescribed.splined)
        differentiates = problem.theta_rho.shape[1] > 0 or bool(assembled.fields)
        numbers = "objectives and gradients" if differentiates else "objectives"
        self._judged_by = f"{'quadrature of ' if self._sums_alone else ''}{numbers}"
        self._fastest = SLOWEST if loses_energy(problem) else FASTEST
        self._begun = True  # the last run got beyond its start, in which the step has no part

    def halve(self, listener: Listener) -> Halving:
        """Halve the step until the errors are below the accuracy."""
        first, failed = self.assembled.problem.options.step, 0
        failure: AnalysisError | None = None
        for runs in range(1, HALVINGS + 2):
            step = first / 2 ** (runs - 1)
            try:
                failure = None
                done = self._done(step, listener)
            except AnalysisError as error:
                failure, failed, self._before = error, failed + 1, None
                if failed > FAILURES or not self._begun:
                    raise
                continue
            if done is not None:
                return Halving(step, self.accuracy, self._judged_by, self._error, runs, 0.0, *done)
        raise failure or self._missed(step)

    def _missed(self, step: float) -> AnalysisError:
        known = np.isfinite(self._error)
        why = f"the relative error of {self._worst} is still {self._error:.1e}" if known else self._worst
        return AnalysisError(
            f"no step down to {step:.3g} s keeps to the accuracy {self.accuracy:g}: {why}; try a larger accuracy or a "
            "shorter duration, and look for an unstable motion or a number that should be zero"
        )

    def _done(self, step: float, listener: Listener) -> _Errors | None:
        """Errors of a run with this step, if they are small enough."""
        problem = _with_step(self.assembled.problem, step)
        resolution = resolution_of(problem, self.assembled.parameters)
        results = self._run(problem, resolution, listener)
        if not resolution.enough:  # sums over output times that miss the motion may agree by luck
            self._before, self._error, self._worst = None, np.inf, resolution.reason
            return None
        if not any(map(self._counts, results.values())):
            return self._followed(resolution)
        before, self._before = self._before, _Run(results, by_fields(self.assembled.fields, results))
        return None if before is None else self._compared(before, self._before)

    def _run(self, problem: Problem, resolution: Any, listener: Listener) -> dict[str, Gradient]:
        self._begun = False
        with listener.progress(f"steps of {problem.options.step:.3g} s", problem.options.duration) as show:

            def watch(block: Any) -> None:
                self._begun = True
                show(float(block.time[-1]))

            return evaluate(problem, self.assembled.objectives, (watch,), resolution, listener)

    def _followed(self, resolution: Any) -> _Errors | None:
        """Without objectives that depend on the step the motion's own estimate counts."""
        if not np.isfinite(resolution.worst[0]):
            raise UsageError(f"an automatic step needs an integral or maximum to judge by: {resolution.reason}")
        self._judged_by = "the motion"
        self._error, self._worst = resolution.worst[0], f"the motion of {resolution.worst[1]}"
        return _Errors({}, {}) if self._error <= self.accuracy else None

    def _compared(self, before: _Run, run: _Run) -> _Errors | None:
        """Errors from the differences of two runs; None where they, or those before, are too large."""
        results = run.results
        differences = {name: _numbers(result) - _numbers(before.results[name]) for name, result in results.items()}
        by_fields = {
            name: {given: numbers - before.by_fields[name][given] for given, numbers in fields.items()}
            for name, fields in run.by_fields.items()
        }
        sizes = {name: self._sizes(result) for name, result in results.items()}
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

    def _sizes(self, result: Gradient) -> np.ndarray:
        """What errors are relative to (1 + p,): the numbers, unless they cancel or are round-off."""
        sizes = result.uncertainty.sizes(result.value, result.gradient, self._parameters)
        return np.maximum(sizes, np.finfo(float).tiny)

    def _largest(self, differences: Mapping[str, np.ndarray], sizes: Mapping[str, np.ndarray]) -> tuple[float, str]:
        """Largest relative difference and what it is of; what is not determined, and so no number, is left out."""
        relative = {name: np.nan_to_num(np.abs(differences[name]) / sizes[name]) for name in differences}
        worst = max(relative, key=lambda name: relative[name].max())
        index = int(np.argmax(relative[worst]))
        named = [*self.assembled.parameters, *dict.fromkeys(field.name for field in self.assembled.fields)]
        return float(relative[worst][index]), discretisation.name_of(worst, index, named)


def _numbers(result: Gradient) -> np.ndarray:
    return np.append(result.value, result.gradient)
