"""Parameters: numbers with a name that gradients are taken with respect to."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Annotated, Any

from pydantic import BeforeValidator

from mbsim_cli.spec.base import Spec, description, field, fixed_list
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Unit


class Parameter(Spec):
    """A design parameter."""

    value: Number = field("Nominal value, a number or an expression of other names.", 1.0, "sqrt(2)")
    unit: Unit = field("SI unit, for tables and result files; values are SI.", "m", "kg", default="")
    bounds: fixed_list(Number, 2) | None = field("Lower and upper limit.", [0.5, 2.0], default=None)
    description: str | None = description()


def _spelled_out(value: Any) -> Any:
    return value if isinstance(value, dict | Parameter) else {"value": value}


ParameterOrValue = Annotated[Parameter, BeforeValidator(_spelled_out, json_schema_input_type=Parameter | Number)]
