"""A model at other values of its parameters, judged as if the file had been read with them."""

from collections.abc import Mapping, Sequence
from typing import Any

from mbsim_cli.errors import ModelError, UsageError
from mbsim_cli.spec.analysis import Sensitivity
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.number import Number
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules import OF_NAMES, RULES
from mbsim_cli.spec.suggestions import suggest


def with_values(model: ModelFile, values: Mapping[str, float | str]) -> ModelFile:
    """The same model where parameters have these values, or expressions, as after ``load`` with overrides.

    Where every number is a parameter, paths name them too. Constants are not moved: they may say how often something
    is repeated. Raises ModelError with all issues that the values cause, UsageError for names that are no parameters
    and numbers that are not finite.
    """
    moved = model.model_copy()
    moved.__dict__.pop("expressions", None)  # cached for the values before
    by_path = {path: name for name, path in model._places.items()}
    named = {by_path.get(name, name): value for name, value in values.items()}
    moved._overrides = {**model._overrides, **{name: _number(model, name, value) for name, value in named.items()}}
    review = Review(moved, moved.source, set())
    for rule in RULES:
        if rule not in OF_NAMES:
            rule(review)
    if review.issues:
        raise ModelError(review.issues)
    return moved


def with_fields(model: ModelFile, values: Mapping[str, Any]) -> ModelFile:
    """The same model where fields have these numbers (ne)."""
    moved = model.model_copy()
    moved._field_values = {**model._field_values, **values}
    return moved


def with_gradients_by(model: ModelFile, method: Any, parameters: Sequence[str], fields: Sequence[str]) -> ModelFile:
    """The same model whose analysis takes gradients by these parameters and fields."""
    sensitivity = Sensitivity(method=method, parameters=list(parameters), fields=list(fields))
    return model.model_copy(update={"analysis": model.analysis.model_copy(update={"sensitivity": sensitivity})})


def _number(model: ModelFile, name: str, value: float | str) -> Number:
    if name not in model.parameters:
        hint = suggest(name, model.parameters)
        raise UsageError(f"unknown parameter {name!r}" + (f"; {hint}" if hint else ""))
    if isinstance(value, str):
        return Number(value)
    number = float(value)
    if not abs(number) < float("inf"):
        raise UsageError(f"parameter {name!r} wants a finite number, not {number}")
    return Number(number)
