"""Forces. Points are written body.name, coordinates JOINT.coordinate."""

from typing import Literal

from mbsim_cli.spec.base import Pair, Spec, Vector, by_type, description, field
from mbsim_cli.spec.laws import LawOrName
from mbsim_cli.spec.number import AutoNumber, Number

_ZERO = Number(0.0)


class _Force(Spec):
    description: str | None = description()


class SpringDamper(_Force):
    """A force along the line between two points."""

    type: Literal["spring_damper"] = field("Spring and damper between two points.", "spring_damper")
    points: Pair = field("The two points.", ["ground.B", "A1.P1"])
    stiffness: Number = field("Stiffness [N/m].", 100.0, default=_ZERO)
    damping: Number = field("Damping [N s/m].", 5.0, default=_ZERO)
    natural_length: AutoNumber = field(
        "Unstressed length [m], or auto: that at the start.", "L_s1", "auto", default="auto"
    )
    elongation_law: LawOrName | None = field("Further force as a law of the elongation [N].", "rubber", default=None)
    rate_law: LawOrName | None = field("Further force as a law of the rate [N].", "damper", default=None)
    force: Number = field("Constant force that pushes the points apart [N].", 10.0, default=_ZERO)
    law: LawOrName | None = field("Such a force as a law of time [N].", "actuator", default=None)


class RotationalSpringDamper(_Force):
    """A torque on an angle of a joint."""

    type: Literal["rotational_spring_damper"] = field("Spring and damper at a joint.", "rotational_spring_damper")
    coordinate: str = field("The angle, JOINT.coordinate.", "A.angle")
    stiffness: Number = field("Stiffness [N m/rad].", 10.0, default=_ZERO)
    damping: Number = field("Damping [N m s/rad].", 0.1, default=_ZERO)
    natural_angle: AutoNumber = field("Unstressed angle [rad], or auto: that at the start.", 0, "auto", default="auto")
    elongation_law: LawOrName | None = field("Further torque as a law of the twist [N m].", "rubber", default=None)
    rate_law: LawOrName | None = field("Further torque as a law of the rate [N m].", "damper", default=None)
    torque: Number = field("Constant torque that increases the angle [N m].", 1.0, default=_ZERO)
    law: LawOrName | None = field("Such a torque as a law of time [N m].", "motor", default=None)


class AppliedForce(_Force):
    """A force at a point."""

    type: Literal["force"] = field("A force at a point.", "force")
    point: str = field("Where it acts.", "slider.P")
    value: Vector = field("Components [N].", [0, 0, -10])
    axes: Literal["global", "body"] = field("Axes of the components.", "global", default="global")
    law: LawOrName | None = field("Law of time that multiplies it.", "ramp", default=None)


class AppliedTorque(_Force):
    """A torque on a body."""

    type: Literal["torque"] = field("A torque on a body.", "torque")
    body: str = field("The body.", "A1")
    value: Vector = field("Components [N m].", [0, 0, 1])
    axes: Literal["global", "body"] = field("Axes of the components.", "body", default="global")
    law: LawOrName | None = field("Law of time that multiplies it.", "ramp", default=None)


class ViscousFriction(_Force):
    """Friction in a joint, proportional to the rate."""

    type: Literal["viscous_friction"] = field("Viscous friction in a joint.", "viscous_friction")
    coordinate: str = field("The coordinate, JOINT.coordinate.", "A.angle")
    damping: Number = field("Coefficient [N m s/rad or N s/m].", 0.05)


class Drive(_Force):
    """A generalised force on a joint coordinate: a motor."""

    type: Literal["drive"] = field("A force or torque on a coordinate.", "drive")
    coordinate: str = field("The coordinate, JOINT.coordinate.", "A.angle")
    value: Number = field("Constant part [N m or N].", 2.0, default=_ZERO)
    law: LawOrName | None = field("Law of time that is added [N m or N].", "motor", default=None)


Force = by_type(SpringDamper, RotationalSpringDamper, AppliedForce, AppliedTorque, ViscousFriction, Drive)
