"""Options of an analysis from the model file and from what a caller sets before it."""

from dataclasses import fields
from typing import Any

from mbsim_cli.assembly.numbers import Numbers
from mbsim_cli.model.problem import Options

_NUMBERS = ("step", "duration", "tolerance", "gradient_tolerance", "penalty", "weighting")


def options_of(model_file: Any, numbers: Numbers, **overrides: Any) -> Options:
    """Options; an override of None leaves what the file says."""
    analysis = model_file.analysis
    given = {name: numbers(getattr(analysis, name)) for name in _NUMBERS}
    given |= {
        "analysis": analysis.type,
        "formulation": analysis.formulation,
        "sensitivity": analysis.sensitivity.method,
        "max_iterations": analysis.max_iterations,
        "projection": analysis.projection,
    }
    known = {entry.name for entry in fields(Options)}
    given |= {name: value for name, value in overrides.items() if value is not None and name in known}
    if analysis.output_interval is not None:
        given.setdefault("output_interval", max(1, round(numbers(analysis.output_interval) / given["step"])))
    return Options(**given)
