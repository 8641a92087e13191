"""``Number``: what stands where the file wants a number, a literal or an expression not yet evaluated."""

import math
import re
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from mbsim_cli.spec.expressions.scoped import Scoped
from mbsim_cli.spec.expressions.syntax import ExpressionError, parse

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


class Number:
    """A number of the model file: ``literal`` is its value, None where ``text`` is an expression that gives it."""

    __slots__ = ("literal", "text")

    def __init__(self, value: float | str):
        self.literal = None if isinstance(value, str) else float(value)
        self.text = value if isinstance(value, str) else repr(float(value))

    def __repr__(self) -> str:
        return f"Number({self.text!r})" if self.literal is None else f"Number({self.text})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and (self.literal, self.text) == (other.literal, other.text)

    def __hash__(self) -> int:
        return hash((self.literal, self.text))

    @property
    def plain_name(self) -> str | None:
        """The name that the number is, when it is nothing but one name."""
        return self.text if self.literal is None and _PLAIN_NAME.fullmatch(self.text) else None

    @classmethod
    def read(cls, value: Any) -> "Number":
        """Return the number that stands in the file; raises PydanticCustomError."""
        if type(value) is Scoped:
            try:
                value = value.formula()
            except ExpressionError as error:
                raise expression_error(error) from None
        if type(value) is float or type(value) is int:
            number = float(value)
            if not math.isfinite(number):
                raise PydanticCustomError("number", "must be a finite number")
            return cls(number)
        if type(value) is str:
            try:
                parse(value)
            except ExpressionError as error:
                raise expression_error(error) from None
            return cls(value)
        if isinstance(value, Number):
            return value
        raise PydanticCustomError("number", "must be a number or an expression")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(lambda n: n.text if n.literal is None else n.literal)
        return core_schema.no_info_plain_validator_function(cls.read, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": ["number", "string"]}


class _Auto:
    """Lets a number be the word ``auto``: what the initial position gives."""

    @classmethod
    def read(cls, value: Any) -> Number | str:
        return value if value == "auto" and isinstance(value, str) else Number.read(value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.read)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": ["number", "string"]}


AutoNumber = Annotated[Any, _Auto]  # Number or the text "auto"


def expression_error(error: ExpressionError) -> PydanticCustomError:
    """Return the error as pydantic collects it, with its offset and hint."""
    # braces are pydantic's placeholders; the text goes in as a value
    context = {"text": error.message, "offset": error.offset, "hint": error.hint}
    return PydanticCustomError("expression", "{text}", context)
