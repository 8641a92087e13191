"""Estimated discretisation errors of a run: for reports, as a line for people, and as warnings."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Context
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Options
from mbsim_cli.solve.resolution import GIVEN, ROUND_OFF

LIMIT = 1e-2  # relative error that is warned of
LOST = 1.0  # relative error beyond which the steps do not resolve the motion at all
USELESS = 1e12  # of an objective's size, and of its unit: a change that a parameter's round-off would make


def of_motion(resolution: Any) -> dict[str, Any]:
    """Relative error of the coordinate with the largest one, or the reason why there is no estimate."""
    error, coordinate = resolution.worst
    known = bool(np.isfinite(error))
    return {"motion": error, "worst": coordinate, "reason": None if known else resolution.reason}


def in_words(motion: Mapping[str, Any]) -> str:
    """The error of a motion in words."""
    if motion.get("worst"):
        return f"motion {motion['motion']:.1e} ({motion['worst']})"
    return motion.get("reason", "unknown")


def of_objective(result: Any, parameters: Sequence[Any]) -> dict[str, Any]:
    """Errors of a value and its derivatives, in their units and relative to them."""
    reported, relative = reported_errors(result, parameters), relative_of(result, parameters)
    return _entry(np.append(reported.value, reported.gradient), parameters) | {"relative": _entry(relative, parameters)}


def reported_errors(result: Any, parameters: Sequence[Any]) -> Any:
    """The errors of a value and its derivatives as they are reported, in their units."""
    return result.uncertainty.reported(result.value, result.gradient, values_of(parameters))


def relative_of(result: Any, parameters: Sequence[Any]) -> np.ndarray:
    """Errors (1 + p,) relative to a value and its derivatives."""
    bounds = (getattr(parameter, "bounds", None) or (0.0, 0.0) for parameter in parameters)
    ranges = np.array([high - low for low, high in bounds], float)
    return result.uncertainty.relative(result.value, result.gradient, values_of(parameters), ranges)


def values_of(parameters: Sequence[Any]) -> np.ndarray:
    """Values (p,) of parameters."""
    return np.array([parameter.value for parameter in parameters], float)


def name_of(objective: str, index: int, parameters: Sequence[Any]) -> str:
    """An objective, or its derivative by the parameter before ``index``."""
    if not index:
        return f"objective {objective}"
    return f"d {objective} / d {getattr(parameters[index - 1], 'name', parameters[index - 1])}"


def _entry(numbers: np.ndarray, parameters: Sequence[Any]) -> dict[str, Any]:
    """A number of the value, one of each derivative; there are none without a method, or by differences."""
    derivatives = zip(parameters, map(float, numbers[1:]), strict=False)
    return {"value": float(numbers[0]), "gradient": {parameter.name: number for parameter, number in derivatives}}


def warnings(resolution: Any, results: Mapping[str, Any], parameters: Sequence[Any], options: Options) -> list[str]:
    """Sentences on what the steps do not resolve."""
    found = []
    error, coordinate = resolution.worst
    if error > LIMIT:
        found.append(_of_motion(error, coordinate, options))
    for name, result in results.items():
        relative = np.nan_to_num(relative_of(result, parameters))
        if getattr(resolution, "still", False):
            changes = np.append(1.0, np.abs(values_of(parameters)))[: len(relative)]
            relative[np.abs(np.append(result.value, result.gradient))[: len(relative)] * changes < ROUND_OFF] = 0.0
        worst = int(np.argmax(relative))
        if relative[worst] > LIMIT:
            what = name_of(name, worst, parameters)
            advice = MORE_SAMPLES if getattr(resolution, "reason", None) == GIVEN else ADVICE
            found.append(f"{what} {_of_number(result, worst, relative[worst], advice)}")
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


def _of_useless(name: str, result: Any, parameters: Sequence[Any]) -> list[str]:
    """A warning if a derivative is so large that round-off dominates; other estimates miss errors that grew."""
    values = values_of(parameters)[: len(result.gradient)]
    changes = np.abs(result.gradient[: len(values)] * values)
    changes[np.isnan(changes)] = 0.0  # what is no number has a reason of its own
    worst = int(np.argmax(changes)) if len(changes) else 0
    if not len(changes) or changes[worst] <= USELESS * max(1.0, abs(result.value), result.uncertainty.size):
        return []
    return [
        f"{name_of(name, worst + 1, parameters)} is {result.gradient[worst]:.1e}, so that round-off alone would change "
        f"{name}: the motion is chaotic, or steps let round-off grow, as adaptive ones may where the tolerance is close"
    ]


def _of_number(result: Any, index: int, relative: float, advice: str) -> str:
    """The error of an objective or derivative in words; a number smaller than its error may be zero."""
    error, number = (
        float(np.append(*numbers)[index])
        for numbers in ((result.uncertainty.value, result.uncertainty.gradient), (result.value, result.gradient))
    )
    if relative < LOST:
        return f"has an estimated discretisation error of {_percent(relative)}; {advice}"
    return (
        f"is {number:.1e} with an estimated discretisation error of {error:.1e}, so that it may be zero; "
        f"{advice} if it should not be"
    )


ADVICE = "try a shorter step, or step: auto"
MORE_SAMPLES = "take more samples: a shorter sampling, or a larger count of the sweep"  # of a motion that is given


def _of_motion(error: float, coordinate: str | None, options: Options) -> str:
    """The rules fall with the square of the step or, in rk4, with its fourth power."""
    if error > LOST:
        return f"steps of {options.step:g} s do not follow the motion of {coordinate}; {ADVICE}"
    order = 4 if options.integrated else 2
    exact = 0.8 * options.step * (LIMIT / error) ** (1 / order)
    step = float(
        Context(prec=1, rounding=ROUND_DOWN).create_decimal_from_float(exact)
    )  # rounded up it may be no shorter
    return (
        f"steps of {options.step:g} s leave the motion of {coordinate} an estimated error of {_percent(error)}; "
        f"try a step of {step:g} s, or step: auto"
    )


def _percent(error: float) -> str:
    return f"{100 * error:.2g} %"


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
    what = "errors of quadrature over instants alone" if sums_alone else "discretisation errors"
    return "; ".join([f"estimated relative {what}: {', '.join(parts)}", *remarks])
