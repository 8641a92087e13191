"""Values of an instance: what its loops count, what stands under ``with``, and what placeholders read."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from mbsim_cli.spec.expressions.named_numbers import Expressions
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.scoped import Value, Values, fixed
from mbsim_cli.spec.expressions.syntax import ExpressionError, names, parse
from mbsim_cli.spec.reading.nodes import Node
from mbsim_cli.spec.reading.scalars import resolve
from mbsim_cli.spec.reading.suggestions import suggest
from mbsim_cli.spec.repeat.error import RepeatError
from mbsim_cli.spec.repeat.template import OF_CONSTANTS


def constants_of(root: Node, overrides: Mapping[str, str]) -> Expressions:
    """The constants of a file, with those of the command line; what is wrong with others is reported later."""
    section, found = root.value.get("constants"), {}
    for name, node in section.value.items() if section is not None and type(section.value) is dict else ():
        try:
            found[name] = Number.read(resolve(overrides[name].strip()) if name in overrides else node.value)
        except PydanticCustomError:
            continue
    return Expressions({}, found)


class Reader:
    """Reads numbers of a repetition; ``parameters`` are names that it cannot depend on."""

    def __init__(self, constants: Expressions, parameters: Mapping[str, Any]):
        self._constants, self._parameters = constants, parameters

    def read(self, text: str, values: Values) -> Value:
        """Return what a placeholder gives; raises ExpressionError."""
        found = fixed(text, values)
        if isinstance(found, float):
            return _whole(found)
        if isinstance(values.get(text.strip()), str):
            return found
        self._check(found, values)
        return _whole(self._constants.value(Number(found)).real)

    def _check(self, text: str, values: Values) -> None:
        for name in names(parse(text)):
            if name in self._parameters:
                raise ExpressionError(f"{name!r} is a parameter", None, OF_CONSTANTS)
            if name not in self._constants:
                raise ExpressionError(f"unknown name {name!r}", None, suggest(name, [*values, *self._constants.names]))
            if name in self._constants.errors:
                cause = self._constants.errors[name].message
                raise ExpressionError(f"constant {name!r} has no value here: {cause}")

    def bounds(self, loop: Node, values: Values) -> tuple[int, int]:
        """Return the first and last number of a range."""
        first, last = (self._bound(node, values) for node in loop.value)
        if last < first - 1:
            hint = "[first, last], the last included; [1, 0] makes nothing"
            raise RepeatError(loop, f"the range goes from {first} to {last}", hint)
        return first, last

    def _bound(self, node: Node, values: Values) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float | str):
            raise RepeatError(node, "must be a whole number or an expression")
        try:
            number = self.read(str(node.value), values)
        except ExpressionError as error:
            raise RepeatError(node, error.message, error.hint, error.offset) from None
        if not isinstance(number, int):
            shown = f"{number:g}" if isinstance(number, float) else repr(number)
            raise RepeatError(node, f"must be a whole number, is {shown}")
        return number

    def named(self, name: str, loop: Node, values: Values) -> Iterator[dict[str, Value]]:
        """Yield the values of named instances."""
        for instance, node in loop.value.items():
            given: dict[str, Value] = {name: instance}
            for key, below in (node.value or {}).items():
                given[key] = self.value(below, below.value, values)
            yield given

    def value(self, node: Node, value: Any, values: Values) -> Value:
        """Return a number as it is, a formula of the instance's names as its value, anything else as a text."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise RepeatError(node, "must be a number or a text")
        if not isinstance(value, str):
            return value
        try:
            reads_own = any(name in values for name in names(parse(str(value), repeated=True)))
            found = fixed(str(value), values) if reads_own else str(value)
        except ExpressionError:
            return str(value)  # a text that is no formula
        return found if isinstance(found, str) else _whole(found)


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number
