"""Forces and torques: along lengths and coordinates, at points; the others stand in ``contacts``."""

from typing import Annotated, ClassVar, Literal

from mbsim_cli.spec.base import ByType, Described, field, named, needs, one_of, optional
from mbsim_cli.spec.expressions.number import AutoNumber, Expression, Number, Pair, Positive, length
from mbsim_cli.spec.families import ContactForce, LawOrName

_NONE = Expression(0.0)
_POINTS = ["chassis.S", "arm.S"]


class AnyForce(Described):
    """What rules, sensors and warnings ask of a force stands here, with its fields."""

    is_vector: ClassVar[bool] = False  # a force or torque on a body, else one value
    place: ClassVar[str | None] = None  # field that names the body, which must not be the ground
    of_one_body: ClassVar[tuple[tuple[str, str], ...]] = ()  # fields that name a point and a vector of the same body
    factors: ClassVar[tuple[str, ...]] = ()  # numbers that all it exerts is multiplied by
    sources: ClassVar[tuple[str, ...]] = ()  # numbers that make up what it exerts: any will do
    added_laws: ClassVar[tuple[str, ...]] = ()  # laws that are added to these; that of a force or torque multiplies it


_ONE_LENGTH = one_of("points or coordinate", "points", "coordinate")


class SpringDamper(AnyForce):
    """A force along the line between two points, or along a translation of a joint."""

    sources = ("stiffness", "damping", "force")
    added_laws = ("elongation_law", "rate_law", "law")
    in_example = ("points", "stiffness", "damping", "natural_length")

    type: Literal["spring_damper"] = field("Spring and damper between two points, or at a joint.", "spring_damper")
    points: named.Points | None = optional("The two points; or give coordinate.", ["ground.B", "A1.P1"])
    coordinate: named.Coordinate | None = optional("A translation, JOINT.coordinate: its length.", "guide.displacement")
    stiffness: Expression = field("Stiffness [N/m]; also an expression of the motion.", 100.0, default=_NONE)
    damping: Expression = field("Damping [N s/m]; also an expression of the motion.", 5.0, default=_NONE)
    natural_length: AutoNumber = field(
        "Unstressed length, or value of the coordinate [m], or auto: that at the start.", "L_s1", "auto", default="auto"
    )
    elongation_law: LawOrName | None = optional("Further force as a law of the elongation [N].", "rubber")
    rate_law: LawOrName | None = optional("Further force as a law of the rate [N].", "damper")
    force: Expression = field(
        "Further force that lengthens it [N]; also an expression of the motion.", 10.0, default=_NONE
    )
    law: LawOrName | None = optional("Such a force as a law of time [N].", "actuator")

    _one_length = _ONE_LENGTH


class RotationalSpringDamper(AnyForce):
    """A torque on an angle of a joint."""

    sources = ("stiffness", "damping", "torque")
    added_laws = ("elongation_law", "rate_law", "law")
    in_example = ("stiffness", "damping", "natural_angle")

    type: Literal["rotational_spring_damper"] = field("Spring and damper at a joint.", "rotational_spring_damper")
    coordinate: named.Coordinate = field("The angle, JOINT.coordinate.", "A.angle")
    stiffness: Expression = field("Stiffness [N m/rad]; also an expression of the motion.", 10.0, default=_NONE)
    damping: Expression = field("Damping [N m s/rad]; also an expression of the motion.", 0.1, default=_NONE)
    natural_angle: AutoNumber = field("Unstressed angle [rad], or auto: that at the start.", 0, "auto", default="auto")
    elongation_law: LawOrName | None = optional("Further torque as a law of the twist [N m].", "rubber")
    rate_law: LawOrName | None = optional("Further torque as a law of the rate [N m].", "damper")
    torque: Expression = field(
        "Further torque that increases the angle [N m]; also an expression of the motion.", 1.0, default=_NONE
    )
    law: LawOrName | None = optional("Such a torque as a law of time [N m].", "motor")


class AppliedForce(AnyForce):
    """A force at a point."""

    is_vector, place, sources = True, "point", ("value",)

    type: Literal["force"] = field("A force at a point.", "force")
    point: named.Point = field("Where it acts.", "slider.P")
    value: Annotated[tuple[Expression, ...], length(3)] = field(
        "Components [N]; also expressions of the motion.", [0, 0, "-10*sin(t)"]
    )
    axes: Literal["global", "body"] = field("Axes of the components.", "body", default="global")
    law: LawOrName | None = optional("Law of time that multiplies it.", "ramp")


class AppliedTorque(AnyForce):
    """A torque on a body."""

    is_vector, place, sources = True, "body", ("value",)

    type: Literal["torque"] = field("A torque on a body.", "torque")
    body: named.Frame = field("The body.", "A1")
    value: Annotated[tuple[Expression, ...], length(3)] = field(
        "Components [N m]; also expressions of the motion.", [0, 0, 1]
    )
    axes: Literal["global", "body"] = field("Axes of the components.", "body", default="global")
    law: LawOrName | None = optional("Law of time that multiplies it.", "ramp")


class ViscousFriction(AnyForce):
    """Friction in a joint, proportional to the rate."""

    sources = ("damping",)

    type: Literal["viscous_friction"] = field("Viscous friction in a joint.", "viscous_friction")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")
    damping: Number = field("Coefficient [N m s/rad or N s/m].", 0.05)


class Drive(AnyForce):
    """A generalised force on a joint coordinate: a motor."""

    sources = ("value",)
    added_laws = ("law",)
    in_example = ("value",)

    type: Literal["drive"] = field("A force or torque on a coordinate.", "drive")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")
    value: Expression = field(
        "Torque or force [N m or N]; also an expression of the motion.", 2.0, "-k*A.angle", default=_NONE
    )
    law: LawOrName | None = optional("Law of time that is added [N m or N].", "motor")


class BumpStop(AnyForce):
    """A smooth one-sided spring: pushes back where a length or coordinate leaves its range."""

    in_example = ("coordinate", "minimum")

    type: Literal["bump_stop"] = field("A stop at the end of a range.", "bump_stop")
    points: named.Points | None = optional("The two points whose distance is limited; or give coordinate.", _POINTS)
    coordinate: named.Coordinate | None = optional("The coordinate that is limited, JOINT.coordinate.", "A.angle")
    minimum: Number | None = optional("Below this it pushes up [m or rad].", 0.4)
    maximum: Number | None = optional("Above this it pushes down [m or rad].", 0.6)
    stiffness: Positive = field("Stiffness beyond the onset [N/m or N m/rad].", 2e5)
    onset: Positive = field("Way over which the stiffness grows [m or rad].", 0.002, default=0.005)

    _one_length = _ONE_LENGTH

    _complete = needs("minimum, maximum or both", lambda item: item.minimum is None and item.maximum is None)


class AntiRollBar(AnyForce):
    """A spring on the weighted sum of two joint coordinates, by default their difference."""

    factors, sources = ("ratios",), ("stiffness", "damping")

    type: Literal["anti_roll_bar"] = field("A spring between two coordinates.", "anti_roll_bar")
    coordinates: Pair[named.Coordinate] = field("The two coordinates, JOINT.coordinate.", ["A.angle", "B.angle"])
    ratios: Pair[Number] = field("Their weights.", [1, 1], default=[1.0, -1.0])
    stiffness: Number = field("Stiffness [N m/rad or N/m].", 800)
    damping: Number = field("Damping [N m s/rad or N s/m].", 5, default=0.0)
    natural: AutoNumber = field("Weighted sum without force, or auto: that at the start.", 0, "auto", default="auto")


Force = Annotated[
    SpringDamper | RotationalSpringDamper | AppliedForce | AppliedTorque | ViscousFriction | Drive | BumpStop
    | AntiRollBar | ContactForce,
    ByType(),
]  # fmt: skip
