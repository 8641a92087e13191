"""Names and numbers: what names may look like, that none means two things, and that every number has a value."""

import unicodedata
from collections.abc import Iterator

from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import CONSTANTS, FUNCTIONS, VECTOR_FUNCTIONS, ExpressionError, names, parse
from mbsim_cli.spec.expressions.units import instead_of, quantity
from mbsim_cli.spec.judging.review import GROUND, Review
from mbsim_cli.spec.reading.messages import Path

_IN_EXPRESSIONS = ("constants", "parameters", "states", "controllers", "sensors", "objectives")
_IN_REFERENCES = (
    "points", "vectors", "materials", "fields", "bodies", "joints", "constraints", "forces", "cables", "laws", "roads",
    "dh", "study", "optimization", "measurements", "fit",
)  # fmt: skip
_RESERVED = {*CONSTANTS, *FUNCTIONS, *VECTOR_FUNCTIONS, "t"}
_KEYWORDS = {"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else"}
_KEYWORDS |= {"except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not"}
_KEYWORDS |= {"or", "pass", "raise", "return", "try", "while", "with", "yield", "True", "False", "None"}


def check(review: Review) -> None:
    """Report names that cannot be written in expressions or references, or that stand twice."""
    for section in _IN_EXPRESSIONS:
        for name in getattr(review.model, section):
            made = (section, name) in review.model._made
            for message, hint in () if made else in_expressions(name):
                review.report((section, name), message, hint, key=True)
    for section in _IN_REFERENCES:
        for name in getattr(review.model, section):
            made = section in ("points", "vectors") and (section, name) in review.model._made
            if not made and not _plain(name.replace("-", "_")):
                hint = "letters, digits, _ and -, a letter first"
                review.report((section, name), f"{name!r} cannot be a name", hint, key=True)
    if GROUND in review.model.bodies:
        review.report(("bodies", GROUND), "the ground exists already and cannot be defined", key=True)
    for section, name, other in _twice(review):
        review.report(
            (section, name), f"{name!r} is also one of the {other}", "give one of them another name", key=True
        )


def _plain(name: str) -> bool:
    return name.isidentifier() and unicodedata.is_normalized("NFKC", name)


def in_expressions(name: str) -> Iterator[tuple[str, str]]:
    """Yield why a name cannot stand in expressions, and a hint."""
    if not _plain(name) or name in _KEYWORDS:
        yield f"{name!r} cannot be used in expressions", "letters, digits and _, a letter first"
    elif name in _RESERVED:
        yield f"{name!r} has a meaning in expressions already", "choose another name"


def _twice(review: Review) -> Iterator[tuple[str, str, str]]:
    model = review.model
    for section, others in (
        ("parameters", ("constants",)),
        ("sensors", ("constants", "parameters")),
        ("objectives", ("constants", "parameters")),
        ("constraints", ("joints",)),  # multipliers are named after either
    ):
        for name in getattr(model, section):
            for other in others:
                if name in getattr(model, other):
                    yield section, name, other


# Numbers: every expression reads known names and has a value.


def check_numbers(review: Review) -> None:
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
