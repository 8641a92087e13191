"""``Expression``: a number of a force that may also read the motion, and what such an expression reads.

It reads sensors as objectives do, coordinates as JOINT.coordinate and JOINT.coordinate.velocity, t, parameters and
constants, and calls laws by their names.
"""

import ast
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from mbsim_cli.spec.expressions.number import Number, expression_error
from mbsim_cli.spec.expressions.scoped import Scoped
from mbsim_cli.spec.expressions.syntax import CONSTANTS, ExpressionError, column, dotted, law_of, names, parse, part_of

TIME = "t"
VELOCITY = "velocity"
# names that assembly writes into expressions, and no file: of what a force acts along, its rate and its natural value
VALUE, RATE, NATURAL = "_value", "_rate", "_natural"


class Expression(Number):
    """A number, or an expression of the motion; which of the two, ``is_moving`` tells."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> "Expression":
        """Return what stands in the file; raises PydanticCustomError."""
        if type(value) is str or type(value) is Scoped:
            try:
                text = str(value.formula(vectors=True, motion=True)) if type(value) is Scoped else value
                parse(text, vectors=True, motion=True)
            except ExpressionError as error:
                raise expression_error(error) from None
            return cls(text)
        if isinstance(value, Expression):
            return value
        try:
            number = Number.read(value)
        except PydanticCustomError as error:
            raise error from None
        return cls(number.text if number.literal is None else number.literal)


class Reading(NamedTuple):
    """What an expression reads: names, with dots or without, and laws; each with the offset of its first use."""

    names: dict[str, int]
    laws: dict[str, int]


def is_moving(number: Any, known: Any) -> bool:
    """Whether a number is an expression that reads other names than those known, of parameters and constants."""
    if not isinstance(number, Expression) or number.literal is not None:
        return False
    try:
        return any(name not in known for name in names(parse(number.text)))
    except ExpressionError:
        return True


def read_by(text: str) -> Reading:
    """What an expression of the motion reads."""
    found = Reading({}, {})
    stack: list[ast.AST] = [parse(text, vectors=True, motion=True)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name | ast.Attribute) and (name := _name(node)) is not None:
            if name not in CONSTANTS:
                found.names[name] = min(column(node), found.names.get(name, column(node)))
            continue
        if isinstance(node, ast.expr) and (law := law_of(node)) is not None:
            found.laws[law] = min(column(node), found.laws.get(law, column(node)))
        stack.extend(node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node))
    return found


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else part_of(node) or dotted(node)


def sensor_in(name: str, sensors: Any) -> str | None:
    """The sensor that a name reads: the name itself, or what stands before .x, .y or .z; None where it is none."""
    if name in sensors:
        return name
    before, _, component = name.rpartition(".")
    return before if before in sensors and component in ("x", "y", "z") else None


def coordinate_in(name: str) -> tuple[str, int]:
    """JOINT.coordinate that a name with dots reads, and the order of its derivative."""
    before, _, last = name.rpartition(".")
    return (before, 1) if last == VELOCITY and "." in before else (name, 0)
