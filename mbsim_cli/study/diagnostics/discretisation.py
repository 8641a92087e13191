"""Discretisation errors of a run: estimates by a second run, reports, a line for people, and warnings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import ROUND_DOWN, Context
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, with_digits
from mbsim_cli.model.problem import Options, Problem
from mbsim_cli.solve.blocks import PATIENCE
from mbsim_cli.solve.resolution import GIVEN, ROUND_OFF, NoSteps, Resolution, loses_energy, resolution_of
from mbsim_cli.study.diagnostics.health import IMPACTS
from mbsim_cli.study.evaluation import Gradient, accumulated, by_fields, evaluate
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.system import helpful

if TYPE_CHECKING:
    from mbsim_cli.assembly.packing import ParameterValue
    from mbsim_cli.study.plan import Plan

    Parameters = Sequence[ParameterValue]

LIMIT = 1e-2  # relative error that is warned of
NOT_FOLLOWED = 1.0  # relative error beyond which the steps do not resolve the motion at all
USELESS = 1e12  # of an objective's size, and of its unit: a change that a parameter's round-off would make


# Errors estimated from a second run with twice the step (Richardson extrapolation), and a third through impacts.
#
# One run is not enough: the adjoint gives gradients at the end only, and not all errors are shifts of time.
# Derivation: docs/theory/resolution.md, section 4.

LEAST = 8  # steps that a run needs for a comparison with half as many
WHOLE = 1e-9  # of a step
UNRESOLVED = 0.5  # relative error above which a derivative counts as unresolved
TOO_LARGE = 0.1  # error of a relative derivative (parameter times derivative), over the objective
EXCEEDS = 1.0 + 1e-9  # error over a derivative, above which it is larger: they may be equal but for round-off
MATTERING = 1e-3  # relative derivative, over the largest one, below which it is ignored
SHORTER_STEP = "take a shorter step, or an adaptive integrator with error_control: sensitivities"  # to pass impacts


class Estimates(NamedTuple):
    """Objectives with their estimated errors, errors by objective and field, and why errors are unknown."""

    results: dict[str, Gradient]
    by_fields: Mapping[str, Mapping[str, np.ndarray]] = {}  # errors (ne,)
    step: float | None = None  # of the second run, s
    reason: str | None = None  # why gradients have no estimate


SecondRun = tuple[Problem, dict[str, Gradient], Resolution | NoSteps]  # with longer steps; its step errors


@contextmanager
def second_run(plan: "Plan", resolution: Resolution | NoSteps, listener: Listener) -> Iterator[Callable[[], SecondRun]]:
    """A function that gives the second run of a plan, or raises AnalysisError; ``resolution`` observes the first run.

    A second run that is needed in any case begins at once on a second processor. That of an adjoint waits, because its
    tape would take memory beside the first one, and so do those of runs in threads of a program.
    """

    def solve(listener: Listener, title: str = "") -> SecondRun:
        parameters, coarse = plan.assembled.parameters, with_longer_steps(plan.assembled.problem)
        watched = resolution_of(coarse, values_of(parameters), getattr(resolution, "times", None))
        found = evaluate(coarse, plan.assembled.objectives, (), watched, listener, title=title)
        return coarse, found, watched

    known = plan.step_choice or plan.assembled.problem.options.at_once
    needed = plan.assembled.objectives and not known and not _reason_against_second_run(plan)
    beside = needed and plan.method != "adjoint" and current_thread() is main_thread()
    if not beside or helpful(2) < 2:
        yield lambda: solve(listener, "estimating errors")
        return
    running = _Beside(solve)
    running.start()
    try:
        yield lambda: running.ended(listener)
    finally:
        running.is_over = True
        running.join()


class _Beside(Thread, Listener):
    """A thread that makes the second run, and is the run's listener: it ends the run once the first one is over."""

    # a pool of threads would do the same, and takes 3 ms to import

    def __init__(self, solve: Callable[[Listener], SecondRun]):
        super().__init__()
        self.is_over = False
        self._solve = solve
        self._found: SecondRun | BaseException = Interrupted()

    def run(self) -> None:
        try:
            self._found = self._solve(self)
        except BaseException as error:
            self._found = error

    def poll(self) -> None:
        if self.is_over:
            raise Interrupted

    def ended(self, listener: Listener) -> SecondRun:
        """The run, once it has ended; meanwhile the ``listener`` may end the wait."""
        while self.is_alive():
            listener.poll()
            self.join(PATIENCE)
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found


class FirstRun(NamedTuple):
    """A run that is solved, whose errors are to be estimated.

    ``resolution`` has read all its blocks. ``divided_order`` is the order of errors of derivatives if steps are divided
    where forces begin or have corners, else 0; a third run then shows errors, too, as it does where integrands have
    corners. ``second`` gives the second run.
    """

    plan: "Plan"
    results: dict[str, Gradient]
    resolution: Resolution | NoSteps
    divided_order: float
    second: Callable[[], SecondRun]
    listener: Listener

    def estimates(self) -> Estimates:
        """The results with the best available error estimates, as those of the runs that chose an automatic step."""
        plan, results, options = self.plan, self.results, self.plan.assembled.problem.options
        unseen = _ONE_STEP_ONLY if plan.method == "fd" else None
        if choice := plan.step_choice:
            searched = {name: r._replace(uncertainty=choice.uncertainties[name]) for name, r in results.items()}
            return Estimates(searched, choice.errors_by_fields, reason=unseen)
        by_motion = options.adaptive and options.analysis == "forward_dynamics" and options.error_control == "motion"
        if plan.method == "ddm" and by_motion:  # steps are chosen by the motion alone, whatever errors derivatives have
            for name, result in results.items():  # the quadrature error alone is a lower bound, often far too small
                found, values = result.uncertainty, values_of(plan.assembled.parameters)
                beyond = found.relative(result.value, result.gradient, values)[1:] > LIMIT
                errors = np.where(beyond, found.errors[1:], np.nan)
                results = {**results, name: result._replace(uncertainty=found.with_gradient(errors, found.sizes[1:]))}
            return Estimates(results, reason=_STEPS_BY_MOTION)
        alarmed = self.resolution.worst[0] > LIMIT and plan.second_run
        if not (plan.assembled.objectives or alarmed) or options.at_once:
            return Estimates(results, reason=unseen)
        impossible = _reason_against_second_run(plan)
        if not impossible:
            try:
                return self._by_second_run()._replace(reason=unseen)
            except AnalysisError:
                impossible = "a second run, with twice the step, fails"
        return Estimates(results, reason=impossible if plan.method == "adjoint" else unseen)

    def _by_second_run(self) -> Estimates:
        """Estimate errors by the difference of two runs; raises AnalysisError if the second run fails."""
        fine, (coarse, others, watched) = self.plan.assembled.problem, self.second()
        ratio = _error_ratio(fine, coarse, self.resolution.worst[0], watched.worst[0])
        share, order = 1.0 / (ratio - 1.0), self.divided_order or 2.0
        of_derivatives = 1.0 / (min(ratio, (coarse.options.step / fine.options.step) ** order) - 1.0)
        if isinstance(self.resolution, Resolution) and isinstance(watched, Resolution):
            self.resolution.compare(watched, share)
        found = {}
        for name, result in self.results.items():
            errors, other = result.uncertainty.errors.copy(), others[name]
            given = result.has_corners and fine.options.analysis != "forward_dynamics"  # all errors are of quadrature
            errors[0] = np.fmax(errors[0] if given else 0.0, share * abs(result.value - other.value))
            if len(other.gradient):
                errors = np.append(errors[0], of_derivatives * np.abs(result.gradient - other.gradient))
            found[name] = result._replace(uncertainty=result.uncertainty._replace(errors=errors))
        if unsure := {name: result for name, result in found.items() if self.divided_order or result.has_corners}:
            found |= self._by_third_run(unsure, others)
        fields = self.plan.assembled.fields
        differences = differences_by_fields(by_fields(fields, self.results), by_fields(fields, others))
        off = {name: {given: of_derivatives * d for given, d in of.items()} for name, of in differences.items()}
        return Estimates(found, off, coarse.options.step)

    def _by_third_run(self, found: dict[str, Gradient], others: Mapping[str, Gradient]) -> dict[str, Gradient]:
        """Results with larger errors where a run with three times the step shows them; ``others`` are of the second."""
        fine, impacts = self.plan.assembled.problem, self.divided_order == IMPACTS
        longest = with_longer_steps(fine, 3)
        thirds: dict[str, Gradient] = {}
        with suppress(AnalysisError):
            objectives = [each for each in self.plan.assembled.objectives if each.name in found]
            thirds = evaluate(longest, objectives, (), None, self.listener, title="estimating errors")
        longer = longest.options.step / fine.options.step
        for name, third in thirds.items():
            errors = found[name].uncertainty.errors
            errors[0] = np.fmax(errors[0], abs(found[name].value - third.value) / (longer**2 - 1.0))
        # differences between runs have errors of their own, and no derivatives along time
        if self.plan.method == "fd" or not any(len(result.gradient) for result in found.values()):
            return found
        share, values = 1.0 / (longer ** (self.divided_order or 2.0) - 1.0), values_of(self.plan.parameters)
        for name, result in found.items():
            result = _with_errors_of_parts(result, others[name], thirds.get(name), share, values, impacts)
            found[name] = _without_unresolved(result, self.plan, fine.options.step) if impacts else result
        return found


_STEPS_BY_MOTION = "steps are chosen by the motion; error_control: sensitivities keeps them within the tolerance, too"
_ONE_STEP_ONLY = "differences between runs of one step do not show the error of that step"


def _reason_against_second_run(plan: "Plan") -> str:
    """Why a second run cannot estimate errors; empty if it can."""
    options = plan.assembled.problem.options
    if options.adaptive:
        return f"{options.integrator} chooses its steps by the motion, and the adjoint has no error estimate of its own"
    if not plan.second_run:
        return "runs of a search or a study are made once"
    if round(options.duration / options.step) < LEAST:
        return f"fewer than {LEAST} steps"
    return "" if plan.method == "adjoint" or options.analysis == "forward_dynamics" else "the motion is given"


def differences_by_fields(
    these: Mapping[str, Mapping[str, np.ndarray]], others: Mapping[str, Mapping[str, np.ndarray]]
) -> dict[str, dict[str, np.ndarray]]:
    """Magnitudes (ne,) of the differences of two runs' derivatives, by objective and field."""
    return {
        name: {given: np.abs(numbers - others[name][given]) for given, numbers in fields.items()}
        for name, fields in these.items()
    }


def settle_motion(plan: "Plan", resolution: Resolution | NoSteps) -> None:
    """If the estimated error of the motion exceeds ``LIMIT``, replace the estimate by a comparison with a second run.

    The estimate sums local errors: too large for damped motions, whose errors decay, and for ringing stiff modes.
    """
    fine = plan.assembled.problem
    if not isinstance(resolution, Resolution) or not resolution.worst[0] > LIMIT:
        return
    if round(fine.options.duration / fine.options.step) < LEAST:
        return
    coarse = with_longer_steps(fine)
    alone = replace(coarse, theta_rho=fine.theta_rho[:, :0], options=replace(coarse.options, sensitivity="none"))
    watched = resolution_of(alone, (), resolution.times)
    assert isinstance(watched, Resolution)  # as that of the first run is
    with suppress(AnalysisError):
        accumulated(alone, (), resolution=watched)
        fall = _error_ratio(fine, coarse, resolution.worst[0], watched.worst[0])
        resolution.compare(watched, 1.0 / (fall - 1.0))


def with_longer_steps(problem: Problem, times: int = 2) -> Problem:
    """The problem with a half or a third of the steps, also within onsets of forces; it ends at the same time."""
    options = problem.options
    steps = options.duration / options.step
    ends = abs(steps - round(steps)) < WHOLE * steps
    step = options.duration / (round(steps) // times) if ends else times * options.step
    options = replace(options, step=step, onset_steps=options.onset_steps / times)
    return replace(problem, options=options, gaps=())  # the first run has reported grazing


def _error_ratio(fine: Problem, coarse: Problem, error: float, other: float) -> float:
    """Error of the coarse run over that of the fine run: as observed in the motion, at most that of the method's order.

    Steps that do not resolve the motion gain less by halving than the order promises.
    """
    ratio = coarse.options.step / fine.options.step
    most = ratio if loses_energy(fine) else ratio**2
    observed = other / error if error > 0.0 and np.isfinite(error) and np.isfinite(other) else most
    return float(np.clip(observed, ratio, most))


def _with_errors_of_parts(
    result: Gradient, other: Gradient, third: Gradient | None, share: float, values: np.ndarray, impacts: bool
) -> Gradient:
    """The result with larger errors of derivatives: a ``share`` of the difference from a third run, if that is larger.

    Errors vary with the parts that steps are divided into; agreement of two runs is chance. Through impacts, the
    relative difference of the worst significant derivative from the ``other`` run is the most that the third run adds,
    and what counts without it. If the worst is not resolved, each parameter gets the absolute difference of the most
    influential parameter.
    """
    gradient, off = result.gradient, result.uncertainty.errors[1:]
    least = share * np.abs(gradient - third.gradient) if third else np.full(len(gradient), np.inf if impacts else 0.0)
    sizes = np.abs(gradient * values)
    matter = (sizes >= MATTERING * np.nanmax(sizes, initial=0.0)) & (sizes > 0.0) & np.isfinite(off)
    if impacts:
        apart = np.abs(gradient - other.gradient)[matter] / np.abs(gradient[matter])
        worst = min(1.0, float(np.max(apart, initial=0.0)))
        least = np.fmin(least, worst * np.abs(gradient))
        if worst > UNRESOLVED:
            shares = np.divide(np.max(sizes[matter]), sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
            least = np.where(sizes > 0.0, worst * np.abs(gradient) * shares, least)
    errors = np.append(result.uncertainty.errors[0], np.where(np.isnan(off), off, np.fmax(off, least)))
    return result._replace(uncertainty=result.uncertainty._replace(errors=errors))


def _without_unresolved(result: Gradient, plan: "Plan", step: float) -> Gradient:
    """The result with NaN for derivatives whose errors exceed them and, times the parameter, ``TOO_LARGE``."""
    gradient, off = result.gradient, result.uncertainty.errors[1:]
    size = np.fmax(abs(result.value), result.uncertainty.sizes[0])
    matters = off * np.abs(values_of(plan.parameters)[: len(gradient)]) > TOO_LARGE * size
    lost = np.flatnonzero((off > EXCEEDS * np.abs(gradient)) & matters)
    reasons = {
        plan.parameters[k].name: f"forces begin within steps of {step:g} s, so that its error is some {off[k]:.2g}, "
        f"larger than the derivative, {gradient[k]:.2g}; {SHORTER_STEP}"
        for k in lost.tolist()
    }
    known = gradient.copy()
    known[lost] = np.nan
    return result._replace(gradient=known, undefined={**result.undefined, **reasons}) if reasons else result


def of_motion(resolution: Resolution | NoSteps) -> dict[str, Any]:
    """Relative error of the coordinate with the largest one, or the reason why there is no estimate."""
    error, coordinate = resolution.worst
    return {"motion": error, "worst": coordinate, "reason": None if np.isfinite(error) else resolution.reason}


def in_words(motion: Mapping[str, Any]) -> str:
    """The error of a motion in words."""
    if motion.get("worst"):
        return f"motion {motion['motion']:.1e} ({motion['worst']})"
    return motion.get("reason", "unknown")


def of_objective(result: Gradient, parameters: "Parameters") -> dict[str, Any]:
    """Errors of a value and its derivatives, in their units and relative to them."""
    reported = result.uncertainty.reported(result.value, result.gradient, values_of(parameters))
    return _entry(reported, parameters) | {"relative": _entry(relative_of(result, parameters), parameters)}


def relative_of(result: Gradient, parameters: "Parameters") -> np.ndarray:
    """Errors (1 + p,) relative to a value and its derivatives."""
    bounds = (getattr(parameter, "bounds", None) or (0.0, 0.0) for parameter in parameters)
    ranges = np.array([high - low for low, high in bounds], float)
    return result.uncertainty.relative(result.value, result.gradient, values_of(parameters), ranges)


def values_of(parameters: "Parameters") -> np.ndarray:
    """Values (p,) of parameters."""
    return np.array([parameter.value for parameter in parameters], float)


def name_of(objective: str, index: int, parameters: "Parameters") -> str:
    """An objective, or its derivative by the parameter before ``index``."""
    if not index:
        return f"objective {objective}"
    return f"d {objective} / d {getattr(parameters[index - 1], 'name', parameters[index - 1])}"


def _entry(numbers: np.ndarray, parameters: "Parameters") -> dict[str, Any]:
    """A number of the value, one of each derivative; there are none without a method, or by differences."""
    derivatives = zip(parameters, map(float, numbers[1:]), strict=False)
    return {"value": float(numbers[0]), "gradient": {parameter.name: number for parameter, number in derivatives}}


def warnings(
    resolution: Resolution | NoSteps, results: Mapping[str, Gradient], parameters: "Parameters", options: Options
) -> list[str]:
    """Sentences on what the steps do not resolve."""
    error, coordinate = resolution.worst
    found = [_of_motion(error, coordinate, options)] if error > LIMIT else []
    for name, result in results.items():
        relative = np.nan_to_num(relative_of(result, parameters))
        if getattr(resolution, "still", False):
            changes = np.append(1.0, np.abs(values_of(parameters)))[: len(relative)]
            relative[np.abs(np.append(result.value, result.gradient))[: len(relative)] * changes < ROUND_OFF] = 0.0
        worst = int(np.argmax(relative))
        if relative[worst] > LIMIT:
            advice = ADVICE if options.analysis == "forward_dynamics" else MORE_SAMPLES
            sentence = f"has an estimated discretisation error of {_percent(relative[worst])}; {advice}"
            if relative[worst] > EXCEEDS * NOT_FOLLOWED:  # a number smaller than its error may be zero
                number, error = np.append(result.value, result.gradient)[worst], result.uncertainty.errors[worst]
                sentence = (
                    f"is {number:.1e} with an estimated discretisation error of {error:.1e}, so that it may be zero; "
                    f"{advice} if it should not be"
                )
            found.append(f"{name_of(name, worst, parameters)} {sentence}")
        found += _of_useless(name, result, parameters)
    return found


def relative_norm(errors: np.ndarray, numbers: np.ndarray) -> float:
    """Norm of errors (ne,) relative to that of derivatives by the elements of a field; zero where these are."""
    size = float(np.linalg.norm(numbers))
    return float(np.linalg.norm(errors)) / size if size else 0.0


def warnings_of_fields(relative: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Sentences on derivatives by fields, from relative errors by objective and field."""
    return [
        f"derivatives of {name} by the field {given} have an estimated discretisation error of {_percent(error)} of "
        f"their norm; {ADVICE}"
        for name, fields in relative.items()
        for given, error in fields.items()
        if error > LIMIT
    ]


def _of_useless(name: str, result: Gradient, parameters: "Parameters") -> list[str]:
    """A warning if a derivative is so large that round-off dominates; other estimates miss errors that grew."""
    values = values_of(parameters)[: len(result.gradient)]
    changes = np.abs(result.gradient[: len(values)] * values)
    changes[np.isnan(changes)] = 0.0  # what is no number has a reason of its own
    worst = int(np.argmax(changes)) if len(changes) else 0
    if not len(changes) or changes[worst] <= USELESS * max(1.0, abs(result.value), result.uncertainty.sizes[0]):
        return []
    return [
        f"{name_of(name, worst + 1, parameters)} is {result.gradient[worst]:.1e}, so that round-off alone would change "
        f"{name}: the motion is chaotic, or steps let round-off grow, as adaptive ones may where the tolerance is close"
    ]


ADVICE = "try a shorter step, or step: auto"
MORE_SAMPLES = "take more samples: a shorter sampling, or a larger count of the sweep"  # of a motion that is given


def _of_motion(error: float, coordinate: str | None, options: Options) -> str:
    """The rules fall with the square of the step or, in rk4, with its fourth power."""
    if error > NOT_FOLLOWED:
        return f"steps of {options.step:g} s do not follow the motion of {coordinate}; {ADVICE}"
    order = 4 if options.integrated else 2
    exact = 0.8 * options.step * (LIMIT / error) ** (1 / order)
    # rounded down: rounded up it may be no shorter
    step = float(Context(prec=1, rounding=ROUND_DOWN).create_decimal_from_float(exact))
    left = f"leave the motion of {coordinate} an estimated error of {_percent(error)}"
    return f"steps of {options.step:g} s {left}; try a step of {step:g} s, or step: auto"


def _percent(error: float) -> str:
    return f"{with_digits(100 * error, 2)} %"


def line(report: Mapping[str, Any]) -> str:
    """Estimated relative errors in one line; empty without estimates, or for an analysis of one time point."""
    motion = report["discretisation"]
    if report["formulation"] in ("statics", "linear"):
        return ""
    found = {name: entry["discretisation"]["relative"] for name, entry in report["objectives"].items()}
    parts = [in_words(motion)] if motion["worst"] else []
    parts += [f"{name} {entry['value']:.1e}" for name, entry in found.items() if np.isfinite(entry["value"])]
    gradients = [
        (error, f"d {name} / d {parameter}")
        for name, entry in found.items()
        for parameter, error in entry["gradient"].items()
        if np.isfinite(error)
    ]
    if gradients:
        parts.append("gradients at most {:.1e} ({})".format(*max(gradients)))
    parts += [
        f"d {name} / d {given} {error:.1e} (norm)"
        for name, entry in found.items()
        for given, error in entry.get("fields", {}).items()
    ]
    reason = motion.get("reason")
    remarks = [] if reason in (None, GIVEN) else [reason]
    sums_alone = bool(remarks) and "second_step" not in motion
    if "second_step" in motion:
        those = "" if motion["worst"] else "those of objectives "
        remarks.append(f"{those}by a second run with steps of {motion['second_step']:.6g} s")
    if "gradients" in motion:
        remarks.append(f"errors of gradients are not estimated: {motion['gradients']}")
    if not parts:
        return remarks[-1] if "gradients" in motion else ""
    what = "errors of quadrature over time points alone" if sums_alone else "discretisation errors"
    return "; ".join([f"estimated relative {what}: {', '.join(parts)}", *remarks])
