"""Cables through points and over pulleys."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mbsim_cli.spec.base import ByKind, Described, Spec, complete, field, named, optional, require_one
from mbsim_cli.spec.expressions.number import AutoExpression, Expression, NotNegative, Number, Positive, Several
from mbsim_cli.spec.families import LawOrName
from mbsim_cli.spec.joints import Prismatic, Revolute


class Pulley(Spec):
    """A pulley of a body that a cable runs over."""

    center: named.Point = field("Centre, body.point.", "block.origin")
    axis: named.Vector = field("Vector along its axis, of the same body.", "block.z")
    radius: Positive = field("Radius of the middle of the cable [m].", 0.1)
    turn: Literal["positive", "negative"] = field(
        "How the path goes round: positive by the right hand about the axis.", "negative", default="positive"
    )
    turns: Annotated[int, Field(ge=0, le=100)] = field("Full turns beside the wrap of the path.", 1, default=0)


_PATH = ["ground.A", {"center": "block.origin", "axis": "block.z", "radius": 0.1}, "ground.B"]


class Cable(Described):
    """A cable: elastic with a stiffness, of constant length without one."""

    path: Several[Annotated[named.Point | Pulley, ByKind()]] = field(
        "Points (body.name) and pulleys, from end to end.", _PATH
    )
    stiffness: Positive | None = optional(
        "Stiffness of the whole cable [N/m]; that of the material, E A, over its length. Left out: constant length.",
        1e5,
    )
    damping: NotNegative = field("Damping [N s/m].", 50, default=0.0)
    length: AutoExpression = field(
        "Length without tension [m]; an expression of the motion: a winch. Of a constant length also auto: that of "
        "the start.",
        "6 - reel(t)",
        4.2,
    )
    law: LawOrName | None = optional("Law of time that is added to a constant length [m].", "reel")
    winds: dict[named.Coordinate, Number] = field(
        "Length [m/rad or 1] of a constant-length cable that each coordinate of a drum winds up, by JOINT.coordinate.",
        {"drum.angle": 0.1},
        default_factory=dict,
    )
    rate: Expression | None = optional(
        "Time derivative of the length [m/s], where that is an expression; the winch is at the first end.", "-0.2"
    )
    friction: NotNegative = field("Coefficient of friction on pulleys.", 0.1, default=0.0)
    velocity: Positive = field("Speed of sliding over which friction changes its sign [m/s].", 0.01, default=0.01)
    onset: Positive = field("Elongation over which tension sets in [m].", 1e-4, default=1e-4)

    @complete
    def _ends(self) -> None:
        ends = [end for end in (self.path[0], self.path[-1]) if isinstance(end, Pulley)]
        require_one("points as ends: a cable ends at points, and pulleys stand between them", bool(ends))
        between = any(isinstance(each, Pulley) for each in self.path)
        require_one("a pulley in the path beside friction", self.friction.literal != 0.0 and not between)
        require_one("friction beside velocity", "velocity" in self.model_fields_set and self.friction.literal == 0.0)
        for key in ("damping", "rate", "friction", "onset"):
            require_one(f"stiffness beside {key}", self.stiffness is None and key in self.model_fields_set)
        for key in ("law", "winds"):
            message = f"no {key} beside stiffness: the length of an elastic cable may be an expression"
            require_one(message, self.stiffness is not None and key in self.model_fields_set)


class PartJoint(Prismatic):
    """The length of a part of a cable, which moves no body; not in files."""

    coordinates: ClassVar[tuple[str, ...]] = ("length",)
    stands_for: ClassVar[str] = "cable"


class TouchJoint(Revolute):
    """Where a cable meets or leaves a pulley: an arm without mass that turns on it; not in files."""

    stands_for: ClassVar[str] = "cable"
