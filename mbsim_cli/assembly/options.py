"""Options of an analysis from the model file and from what a caller sets before it."""

from dataclasses import fields
from typing import Any

from mbsim_cli.assembly.numbers import Numbers
from mbsim_cli.model.problem import Options

_NUMBERS = ("step", "duration", "tolerance", "gradient_tolerance", "penalty", "weighting")


def options_of(model_file: Any, numbers: Numbers, **overrides: Any) -> Options:
    """Options; an override of None leaves what the file says."""
    analysis = model_file.analysis
    if analysis.type == "inverse_dynamics":
        given = {
            "analysis": analysis.type,
            "formulation": "recursive-newton-euler",
            "step": numbers(analysis.sampling),
            "duration": numbers(analysis.duration),
            "sensitivity": analysis.sensitivity.method,
        }
        return Options(**given | _known(overrides))
    given = {name: numbers(getattr(analysis, name)) for name in _NUMBERS}
    given |= {
        "analysis": analysis.type,
        "formulation": analysis.formulation,
        "sensitivity": analysis.sensitivity.method,
        "max_iterations": analysis.max_iterations,
        "projection": analysis.projection,
    }
    given |= _known(overrides)
    if analysis.output_interval is not None:
        given.setdefault("output_interval", max(1, round(numbers(analysis.output_interval) / given["step"])))
    return Options(**given)


def _known(overrides: dict[str, Any]) -> dict[str, Any]:
    known = {entry.name for entry in fields(Options)}
    return {name: value for name, value in overrides.items() if value is not None and name in known}
