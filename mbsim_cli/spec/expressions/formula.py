"""``Formula``: an expression of sensors (vectors allowed) as it stands in an objective."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from mbsim_cli.spec.expressions.number import expression_error
from mbsim_cli.spec.expressions.scoped import Scoped
from mbsim_cli.spec.expressions.syntax import ExpressionError, parse


def _read(value: Any) -> Any:
    if type(value) in (int, float):
        value = repr(value)
    if isinstance(value, str):
        try:
            value = str(value.formula(vectors=True)) if type(value) is Scoped else value
            parse(value, vectors=True)
        except ExpressionError as error:
            raise expression_error(error) from None
    return value


Formula = Annotated[str, BeforeValidator(_read), WithJsonSchema({"type": ["number", "string"]})]


def written_out(text: str, definitions: Mapping[str, str]) -> str:
    """An expression with other expressions in the place of their names."""
    if not definitions:
        return text
    names = "|".join(sorted(map(re.escape, definitions), key=len, reverse=True))
    return re.sub(rf"(?<![\w.])({names})(?![\w(])", lambda found: f"({definitions[found[1]]})", text)
