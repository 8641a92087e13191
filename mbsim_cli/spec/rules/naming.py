"""Names: what they may look like, and that none means two things in one place."""

import unicodedata
from collections.abc import Iterator

from mbsim_cli.spec.expressions.syntax import CONSTANTS, FUNCTIONS, VECTOR_FUNCTIONS
from mbsim_cli.spec.judging.review import GROUND, Review

_IN_EXPRESSIONS = ("constants", "parameters", "states", "controllers", "sensors", "objectives")
_IN_REFERENCES = (
    "points", "vectors", "materials", "fields", "bodies", "joints", "constraints", "forces", "laws", "roads", "dh",
    "study", "optimization", "measurements", "fit",
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
