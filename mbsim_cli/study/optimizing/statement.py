"""What a model file states of an optimisation: its name, the method of gradients, limits, and fields that vary."""

from typing import Any

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.study.assembling import stated_method
from mbsim_cli.study.choice import AUTO
from mbsim_cli.study.optimizing.design import Limit
from mbsim_cli.study.plan import Plan
from mbsim_cli.study.settings import Settings

GRADIENTS = ("ddm", "adjoint", AUTO)


def stated(model_file: Any, name: str | None) -> tuple[str, Any]:
    """The optimisation of a name, or the only one; raises UsageError."""
    known = model_file.optimization
    if name is None and len(known) == 1:
        return next(iter(known.items()))
    if name not in known:
        asked = "name an optimization" if name is None else f"unknown optimization {name!r}"
        has = ", ".join(known) or "none: write one under optimization, as {calm: {minimize: OBJECTIVE}}"
        raise UsageError(f"{asked}: the model has {has}")
    return str(name), known[name]


def method_of_gradients(model_file: Any, settings: Settings, given: Any) -> str:
    """The method of gradients: the caller's, else the file's where it is exact, else auto; of fields the adjoint."""
    if given.fields and settings.method not in (None, "adjoint", AUTO):
        raise UsageError(f"the adjoint alone gives gradients by fields, not {settings.method}")
    if given.fields:
        return "adjoint"
    method = settings.method or stated_method(model_file, settings)
    if settings.method is not None and method not in GRADIENTS:
        raise UsageError(f"an optimisation follows exact gradients: {', '.join(GRADIENTS)}, not {method}")
    return method if method in GRADIENTS else AUTO


def limits_of(model_file: Any, given: Any) -> list[Limit]:
    """Limits on objectives, and on the volumes of fields, that an optimisation states."""
    number, found = model_file.expressions.value, []
    volumes = {volume_of(field): limit for field, limit in given.volume.items()}
    for name, limit in (given.constraints | volumes).items():
        kinds = ((limit.at_least, -1.0, False), (limit.at_most, 1.0, False), (limit.equals, 1.0, True))
        for value, sign, equal in kinds:
            if value is not None:
                found.append(Limit(name, float(number(value).real), sign, equal, name in volumes))
    return found


def volume_of(field: str) -> str:
    """How limits and reports name the mean of a field over the volume."""
    return f"volume of {field}"


def varied_fields(model_file: Any, base: Plan) -> dict[str, tuple[np.ndarray, float, float]]:
    """Values (ne) of the fields that vary, and their bounds."""
    number, found = model_file.expressions.value, {}
    for given in base.assembled.fields:
        low, high = (float(number(bound).real) for bound in model_file.fields[given.name].bounds)
        found[given.name] = (given.body.mesh().fields[given.name], low, high)
    return found
