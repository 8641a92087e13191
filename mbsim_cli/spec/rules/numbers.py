"""Numbers: every expression reads known names and has a value."""

from collections.abc import Iterator

from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.expressions.units import instead_of, quantity
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path


def check(review: Review) -> None:
    """Report unknown names, cycles and values that do not exist."""
    if review.lost("parameters") or review.lost("constants"):
        return
    expressions = review.model.expressions
    known = {*expressions.names, *review.names("parameters"), *review.names("constants")}
    faults: dict[str, list[ExpressionError]] = {}
    for path, number in review.model.computed:
        if path[0] in ("parameters", "constants") and path[2:] in ((), ("value",)):
            continue
        if number.text not in faults:
            faults[number.text] = list(_faults(review, number, known))
        for fault in faults[number.text]:
            review.report(path, fault.message, fault.hint, fault.offset)
    _check_definitions(review, known)


def _faults(review: Review, number: Number, known: set[str]) -> Iterator[ExpressionError]:
    unknown = [(name, offset) for name, offset in names(parse(number.text)).items() if name not in known]
    if unknown and (found := quantity(number.text)) is not None:  # 30 deg/s
        yield ExpressionError("numbers stand without units", found.offset, instead_of(found))
        return
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
