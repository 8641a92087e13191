"""A model at other values of its parameters, judged as if the file had been read with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mbsim_cli.errors import ModelError, UsageError
from mbsim_cli.spec.analysis import Sensitivity
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import names as names_in
from mbsim_cli.spec.expressions.syntax import parse
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.spec.rules import OF_ITS_USE, OF_NAMES, OF_NUMBERS, RULES

Rule = Callable[[Review], None]


@dataclass(frozen=True)
class _Judged:
    """What rules have read of a model in which they found nothing wrong: they find nothing where it is the same."""

    model: ModelFile
    names: Mapping[Rule, frozenset[str]]  # that the numbers mention which a rule has read

    def holding(self, moved: ModelFile) -> frozenset[Rule]:
        """Rules that need not look at a model."""
        if not moved.has_sections_of(self.model):
            return frozenset()
        differing = moved.expressions.differing(self.model.expressions)
        return frozenset(rule for rule, names in self.names.items() if names.isdisjoint(differing))


def with_values(model: ModelFile, values: Mapping[str, float | str]) -> ModelFile:
    """The same model where parameters have these values, or expressions, as after ``load`` with overrides.

    Where every number is a parameter, paths name them too. Constants are not moved: they may say how often something
    is repeated. Checks, studies and optimisations of the file are not judged again. Raises ModelError with all issues
    that the values cause, UsageError for names that are no parameters and numbers that are not finite.
    """
    moved = model.model_copy()
    moved.__dict__.pop("expressions", None)  # cached for the values before
    by_path = {path: name for name, path in model._places.items()}
    named = {by_path.get(name, name): value for name, value in values.items()}
    moved._overrides = {**model._overrides, **{name: _number(model, name, value) for name, value in named.items()}}
    holding = frozenset() if model._judged is None else model._judged.holding(moved)
    review, read = Review(moved, moved.source, set()), dict[Rule, set[str]]()
    for rule in RULES:
        if rule not in OF_NAMES | OF_ITS_USE | holding:
            review.read = read[rule] = set()
            rule(review)
    if review.issues:
        raise ModelError(review.issues)
    if not holding:
        names = {rule: _names_in(texts) for rule, texts in read.items() if rule not in OF_NUMBERS}
        model._judged = moved._judged = _Judged(moved, names)
    return moved


def _names_in(texts: set[str]) -> frozenset[str]:
    return frozenset(name for text in texts for name in names_in(parse(text)))


def with_fields(model: ModelFile, values: Mapping[str, Any]) -> ModelFile:
    """The same model where fields have these numbers (ne)."""
    moved = model.model_copy()
    moved._field_values = {**model._field_values, **values}
    return moved


def with_adjoint_by(model: ModelFile, parameters: Sequence[str], fields: Sequence[str]) -> ModelFile:
    """The same model whose analysis takes gradients by these parameters and fields, by the adjoint."""
    sensitivity = Sensitivity(method="adjoint", parameters=list(parameters), fields=list(fields))
    return model.model_copy(update={"analysis": model.analysis.model_copy(update={"sensitivity": sensitivity})})


def _number(model: ModelFile, name: str, value: float | str) -> Number:
    if name in model.constants:
        raise UsageError(f"{name!r} is a constant, which has its value since the model was read; parameters can change")
    if name not in model.parameters:
        hint = suggest(name, model.parameters)
        raise UsageError(f"unknown parameter {name!r}" + (f"; {hint}" if hint else ""))
    if isinstance(value, str):
        return Number(value)
    number = float(value)
    if not abs(number) < float("inf"):
        raise UsageError(f"parameter {name!r} wants a finite number, not {number}")
    return Number(number)
