"""Numbers: every expression reads known names and has a value."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.base import Spec
from mbsim_cli.spec.messages import Path
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.number import Number
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.syntax import ExpressionError, names, parse


def check(review: Review) -> None:
    """Report unknown names, cycles and values that do not exist."""
    if review.lost("parameters") or review.lost("constants"):
        return
    expressions = review.model.expressions
    known = {*expressions.names, *review.names("parameters"), *review.names("constants")}
    faults: dict[str, list[ExpressionError]] = {}
    for path, number in expressions_of(review.model):
        if path[0] in ("parameters", "constants") and path[2:] in ((), ("value",)):
            continue
        if number.text not in faults:
            faults[number.text] = list(_faults(review, number, known))
        for fault in faults[number.text]:
            review.report(path, fault.message, fault.hint, fault.offset)
    _check_definitions(review, known)


def expressions_of(model: ModelFile) -> Iterator[tuple[Path, Number]]:
    """Yield every number that is an expression, with its path in the file."""
    for section in ModelFile.model_fields:
        entries = getattr(model, section)
        if type(entries) is dict:  # what tables stand for is not written in the file
            entries = {name: entry for name, entry in entries.items() if (section, name) not in model._made}
        yield from ((path, number) for path, number in walk(entries, (section,), Number) if number.literal is None)


def walk(value: Any, path: Path, kind: type) -> Iterator[tuple[Path, Any]]:
    """Yield what is of a kind in a part of the file, with its path."""
    if isinstance(value, kind):
        yield path, value
    elif isinstance(value, Spec):
        for name, entry in value.__dict__.items():
            if entry is not None and type(entry) is not str:
                yield from walk(entry, (*path, type(value).model_fields[name].alias or name), kind)
    elif type(value) is dict:
        for name, entry in value.items():
            yield from walk(entry, (*path, name), kind)
    elif type(value) is list:
        for index, entry in enumerate(value):
            yield from walk(entry, (*path, index), kind)


def _faults(review: Review, number: Number, known: set[str]) -> Iterator[ExpressionError]:
    unknown = [(name, offset) for name, offset in names(parse(number.text)).items() if name not in known]
    for name, offset in unknown:
        yield ExpressionError(f"unknown parameter or constant {name!r}", offset, review.suggest(name, known))
    if unknown:
        return
    try:
        review.model.expressions.value(number)
    except ExpressionError as error:
        # a name without value is reported where it is defined
        if not error.reported and not error.message.startswith("unknown"):
            yield error


def _check_definitions(review: Review, known: set[str]) -> None:
    model = review.model
    for name, error in model.expressions.errors.items():
        path: Path = ("parameters", name, "value") if name in model.parameters else ("constants", name)
        number = model.parameters[name].value if name in model.parameters else model.constants[name]
        if error.message.startswith("unknown"):
            for fault in _faults(review, number, known):
                review.report(path, fault.message, fault.hint, fault.offset)
        elif not error.reported:
            review.report(path, error.message, error.hint, error.offset)
