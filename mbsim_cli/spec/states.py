"""States of one's own: numbers that change at a rate, beside the motion."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import ClassVar

from mbsim_cli.spec.base import Spec, description, field
from mbsim_cli.spec.expressions.moving import Expression
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Unit
from mbsim_cli.spec.joints import Prismatic

INTEGRAL = "integral"


class State(Spec):
    """A number s with s' = rate."""

    initial: Number = field("Value at the start.", 0.5, default=Number(0.0))
    rate: Expression = field(
        "Its time derivative: an expression of sensors, coordinates, states, t, parameters and laws.", "(u - x)/T"
    )
    unit: Unit = field("SI unit, for tables and result files.", "A", default="")
    description: str | None = description()


class StateJoint(Prismatic):
    """What a state stands for: a coordinate of unit inertia, which moves no body; the state is its rate."""

    coordinates: ClassVar[tuple[str, ...]] = (INTEGRAL,)
    unit: str = field("Unit of the state.", "A", default="")
