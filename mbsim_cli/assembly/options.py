"""Options of an analysis, from the model file and the caller's overrides."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import ceil
from typing import Any

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.errors import UsageError, either
from mbsim_cli.model.codes import AUTO_INTEGRATOR, DEFAULT_INTEGRATOR, MOST_STEPS
from mbsim_cli.model.problem import INTEGRATED, Options
from mbsim_cli.spec.analysis import Equilibrium, InverseDynamics, Kinematics, SmallMotions
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.model_file import ModelFile

_NUMBERS = ("step", "duration", "tolerance", "gradient_tolerance")
AUTO = "auto"
WHOLE = 1e-6  # of an interval: allowed distance from a whole number of steps
FIRST_STEPS = 64  # of the duration, that step: auto tries first
_OTHERS = ("accuracy", "sampling", "output_interval", "absolute_tolerance", "weighting", "penalty")
_NOT_DIFFERENTIATED = ("step", *_OTHERS, *_NUMBERS[2:])
_WITHOUT_TOLERANCE = {
    "none": "sensitivity takes no gradients (method: none)",
    "fd": "differences of runs (method: fd) rest on the tolerance of the motion",
}
_OF_INVERSE = ("step", "duration", "sensitivity", "output_interval")


def options_of(model_file: ModelFile, numbers: Numbers, **overrides: Any) -> Options:
    """Options; None keeps a setting of the file, and a formulation of the other family drops those that it lacks."""
    analysis, known = model_file.analysis, {entry.name for entry in fields(Options)}
    over = {name: value for name, value in overrides.items() if value is not None and name in known}
    given: dict[str, Any] = {"analysis": analysis.type, "sensitivity": analysis.sensitivity.method}
    if isinstance(analysis, Equilibrium | SmallMotions):
        given |= {"sensitivity": over.get("sensitivity", given["sensitivity"]), "duration": 0.0}
        if isinstance(analysis, Equilibrium):
            return Options(formulation="statics", **given)
        start, modes = analysis.start or "declared", getattr(analysis, "count", None)
        return Options(formulation="linear", at=analysis.at, start=start, modes=modes, **given)
    if isinstance(analysis, InverseDynamics | Kinematics):
        formulation, duration, sampling = "recursive-newton-euler", analysis.duration, analysis.sampling
        if isinstance(analysis, Kinematics):
            formulation, duration, sampling = "driven", analysis.lasts, analysis.samples
        given |= {"formulation": formulation, "duration": numbers(duration)}
        given |= {name: value for name, value in over.items() if name in _OF_INVERSE}
        return Options(**given | {"step": _step(sampling, numbers, over, given["duration"], None)})
    given |= {name: numbers(getattr(analysis, name)) for name in _NUMBERS if getattr(analysis, name) != AUTO}
    given |= {"formulation": analysis.formulation, "start": analysis.start}
    integrated = over.get("formulation", analysis.formulation) in INTEGRATED
    if integrated == (analysis.formulation in INTEGRATED):
        if integrated:
            settings = ("integrator", "error_control", "max_steps", "max_iterations")
            given |= {name: value for name in settings if (value := getattr(analysis, name)) is not None}
            if analysis.absolute_tolerance is not None:
                given["absolute_tolerance"] = numbers(analysis.absolute_tolerance)
        else:
            given |= {name: numbers(getattr(analysis, name)) for name in ("penalty", "weighting")}
            given |= {name: getattr(analysis, name) for name in ("max_iterations", "projection")}
    given |= over
    if given.get("integrator") == AUTO_INTEGRATOR:  # replaced once first steps have been made
        given["integrator"] = DEFAULT_INTEGRATOR
    if integrated:
        given.setdefault("absolute_tolerance", given["tolerance"])
    interval = None if analysis.output_interval is None else numbers(analysis.output_interval)
    given["step"] = _step(analysis.step, numbers, over, given["duration"], interval)
    if interval is not None:
        given.setdefault("output_interval", max(1, round(interval / given["step"])))
    return Options(**given)


def _step(stated: Any, numbers: Numbers, over: dict[str, Any], duration: float, interval: float | None) -> float:
    """Step in seconds; of an automatic one the longest that is tried, a whole part of the duration."""
    step = over.get("step", stated)
    automatic = step == AUTO
    if automatic:
        seconds = duration / FIRST_STEPS if interval is None else min(duration / FIRST_STEPS, interval)
    else:
        seconds = numbers(step) if isinstance(step, Number) else step
    if not duration / seconds <= MOST_STEPS:  # of an override: numbers of the file are checked before
        count = f"{duration / seconds:.3g} steps of {seconds:g} s"
        raise UsageError(f"a duration of {duration:g} s has {count}, more than {MOST_STEPS:.0e}")
    return duration / ceil(duration / seconds * (1 - 1e-9)) if automatic else seconds


def warnings_of_settings(model_file: ModelFile, options: Options, choices: Mapping[str, Any]) -> list[str]:
    """Warnings about settings of the file or the caller that are rounded or have no effect."""
    analysis, found = model_file.analysis, []
    if (stated := getattr(analysis, "output_interval", None)) is not None:
        interval, kept = model_file.expressions.value(stated).real, options.output_interval * options.step
        if abs(interval - kept) > WHOLE * interval:
            message = f"{interval:g} s are {interval / options.step:.6g} steps of {options.step:g} s"
            every = f"results are stored every {kept:g} s"
            found.append(str(model_file.issue("analysis.output_interval", message, every)))
    held, wanted = options.tolerance, options.gradient_tolerance
    if options.differentiates and not options.integrated and held > wanted:
        message = f"{held:g} keeps gradients from their tolerance of {wanted:g}: they are as accurate as the motion"
        hint = "state a smaller tolerance, or a larger gradient_tolerance"
        chosen = choices.get("tolerance") is not None
        loose = f"tolerance {message}; {hint}" if chosen else model_file.issue("analysis.tolerance", message, hint)
        found.append(str(loose))
    method, is_stated = analysis.sensitivity.method, "gradient_tolerance" in analysis.model_fields_set
    if not options.differentiates and not options.implicit and method in _WITHOUT_TOLERANCE and is_stated:
        message = f"has no effect: {_WITHOUT_TOLERANCE[method]}"
        hint = "ddm and adjoint keep to it"
        found.append(str(model_file.issue("analysis.gradient_tolerance", message, hint)))
    return found


def end_of(model_file: ModelFile, duration: float | None) -> Number | None:
    """Number for the end of the analysis; ``duration`` replaces that of the file. None for an equilibrium."""
    stated = getattr(model_file.analysis, "duration", None)
    return stated if stated is None or duration is None else Number(duration)


def check_differentiable(system: System, parameters: Sequence[str], **overrides: Any) -> None:
    """Record an issue if a setting of the solver depends on a parameter of gradients."""
    numbers, analysis = system.geometry.numbers, system.model_file.analysis
    settings = [(name, getattr(analysis, name, None)) for name in _NOT_DIFFERENTIATED]
    frequencies = getattr(analysis, "frequencies", ())
    frequencies = frequencies if isinstance(frequencies, tuple) else [frequencies.from_, frequencies.to]
    for name, setting in [*settings, *(("frequencies", frequency) for frequency in frequencies)]:
        if setting in (None, AUTO) or overrides.get("step" if name == "sampling" else name) is not None:
            continue
        for parameter in parameters:
            if numbers.depends(setting, parameter):
                message = f"{name} depends on the parameter {parameter!r}, and no gradient by {name} is computed"
                constants = f"constants, which {either('-p', 'mbsim.load')} sets too"
                hint = f"state {name} by {constants}, or leave {parameter!r} out of the sensitivity"
                system.issue(f"analysis.{name}", message, hint)
