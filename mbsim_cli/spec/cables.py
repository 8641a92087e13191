"""Cables through points and over pulleys."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mbsim_cli.spec.base import Spec, by_kind, description, field, require_one
from mbsim_cli.spec.expressions.number import Expression, Number

_ZERO = Number(0.0)


class Pulley(Spec):
    """A pulley of a body that a cable runs over."""

    center: str = field("Centre, body.point.", "block.origin")
    axis: str = field("Vector along its axis, of the same body.", "block.z")
    radius: Number = field("Radius of the middle of the cable [m].", 0.1)
    turn: Literal["positive", "negative"] = field(
        "How the path goes round: positive by the right hand about the axis.", "negative", default="positive"
    )
    turns: Annotated[int, Field(ge=0, le=100)] = field("Full turns beside the wrap of the path.", 1, default=0)


_PATH = ["ground.A", {"center": "block.origin", "axis": "block.z", "radius": 0.1}, "ground.B"]


class Cable(Spec):
    """A cable that pulls where it is longer than its length, and never pushes."""

    path: Annotated[list[by_kind(text=str, mapping=Pulley)], Field(min_length=2)] = field(
        "What it runs through from end to end: points, body.name, and pulleys.", _PATH
    )
    stiffness: Number = field("Stiffness of the whole cable [N/m]; that of the material, E A, over its length.", 1e5)
    damping: Number = field("Damping [N s/m].", 50, default=_ZERO)
    length: Expression = field("Length without tension [m]; an expression of the motion: a winch.", "6 - reel(t)", 4.2)
    rate: Expression | None = field(
        "Time derivative of the length [m/s], where that is an expression; the winch is at the first end.",
        "-0.2",
        default=None,
    )
    friction: Number = field("Coefficient of friction on pulleys.", 0.1, default=_ZERO)
    velocity: Number = field("Speed of sliding over which friction turns round [m/s].", 0.01, default=Number(0.01))
    onset: Number = field("Elongation over which tension sets in [m].", 1e-4, default=Number(1e-4))
    description: str | None = description()

    @model_validator(mode="after")
    def _ends(self) -> "Cable":
        ends = [end for end in (self.path[0], self.path[-1]) if isinstance(end, Pulley)]
        require_one("points as ends: a cable ends at points, and pulleys stand between them", bool(ends))
        between = any(isinstance(each, Pulley) for each in self.path)
        require_one("a pulley in the path beside friction", self.friction.literal != 0.0 and not between)
        require_one("friction beside velocity", "velocity" in self.model_fields_set and self.friction.literal == 0.0)
        return self
