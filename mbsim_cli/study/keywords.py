"""Keyword arguments of the library: options of the analysis and values of parameters, judged as those of commands."""

from collections.abc import Collection, Mapping
from math import inf
from typing import Any

from mbsim_cli.errors import UsageError
from mbsim_cli.model.integrators import INTEGRATORS
from mbsim_cli.spec.analysis import FORMULATIONS, METHODS
from mbsim_cli.spec.reading.suggestions import nearest, suggest
from mbsim_cli.study.settings import AUTO

_CHOICES = {"sensitivity": METHODS, "formulation": FORMULATIONS, "integrator": tuple(INTEGRATORS)}
_SIZES = {"tolerance": "", "step": " of seconds", "duration": " of seconds", "memory": " of bytes", "accuracy": ""}
OPTIONS = (*_CHOICES, *_SIZES)
PARAMETERS = "parameters"  # the keyword that takes values by name, whatever the names are


def require_distinct(replaced: Mapping[str, Any], names: Collection[str]) -> None:
    """Raise UsageError for an option among keyword arguments that is one of the ``names`` of parameters, too.

    With ``parameters`` beside it, it is the option.
    """
    if PARAMETERS in replaced:
        return
    for name in OPTIONS:
        if replaced.get(name) is not None and name in names:
            raise UsageError(
                f"{name!r} is an option and a parameter of the file; parameters={{{name!r}: ...}} sets the parameter, "
                f"and {name}=... beside parameters={{}} is the option"
            )


def options_in(replaced: Mapping[str, Any]) -> dict[str, Any]:
    """Options among keyword arguments, by the names of ``Settings``; raise UsageError for what they cannot be."""
    found = {name: _option(name, replaced[name]) for name in OPTIONS if replaced.get(name) is not None}
    return {"method" if name == "sensitivity" else name: value for name, value in found.items()}


def values_in(replaced: Mapping[str, Any]) -> dict[str, float]:
    """Values of parameters among keyword arguments; raise UsageError for what is no number."""
    stated = {} if replaced.get(PARAMETERS) is None else replaced[PARAMETERS]
    if not isinstance(stated, Mapping):
        raise UsageError(f"parameters wants a mapping of names to numbers, not {stated!r}")
    others = {name: value for name, value in replaced.items() if name not in (*OPTIONS, PARAMETERS)}
    if twice := sorted(map(str, others.keys() & stated.keys())):
        raise UsageError(f"the value of {', '.join(twice)} is given twice, in parameters and as a keyword argument")
    return numbers_of({**others, **stated})


def numbers_of(values: Mapping[str, Any]) -> dict[str, float]:
    """Values of parameters by name; raise UsageError for what is no number."""
    for name in values:
        if not isinstance(name, str):
            raise UsageError(f"parameters go by their names, not by {name!r}")
    return {name: _value(name, value) for name, value in values.items()}


def _option(name: str, value: Any) -> Any:
    if name in _CHOICES:
        return _choice(name, value, _CHOICES[name])
    if name == "step" and value == AUTO:
        return value
    number = _number(value)
    if number is None or not 0.0 < number < (1.0 if name == "accuracy" else inf):
        wanted = "a number between 0 and 1" if name == "accuracy" else f"a positive number{_SIZES[name]}"
        raise UsageError(f"{name} wants {wanted}{', or auto' * (name == 'step')}, not {value!r}")
    return number


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value not in choices:
        hint = suggest(str(value), choices) or f"known: {', '.join(choices)}"
        raise UsageError(f"{name} {value!r} is unknown; {hint}")
    return value


def _value(name: str, value: Any) -> float:
    number = _number(value)
    if number is None:
        option = nearest(name, OPTIONS)
        hint = f"; did you mean the option {option!r}?" if option else ""
        raise UsageError(f"parameter {name!r} wants a finite number, not {value!r}{hint}")
    return number


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError):
        return None
