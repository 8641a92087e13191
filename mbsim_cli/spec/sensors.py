"""Sensors: quantities that a run records and that objectives are made of."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import model_validator

from mbsim_cli.spec.base import WHOLE, ByKind, ByType, Spec, description, field, named, optional, require_one
from mbsim_cli.spec.expressions.number import Formula, Several
from mbsim_cli.spec.expressions.syntax import PARTS
from mbsim_cli.spec.expressions.units import Label

UNITS = {  # of what sensors show, by their type, without a time derivative; of tyres, contacts and bushings by quantity
    **dict.fromkeys(("position", "distance", "displacement", "deflection", "penetration"), "m"),
    **dict.fromkeys(("velocity", "velocity_along", "sliding_speed"), "m/s"),
    **dict.fromkeys(("acceleration", "acceleration_along"), "m/s^2"),
    **dict.fromkeys(("angle", "roll", "pitch", "yaw", "rotation"), "rad"),
    **dict.fromkeys(("direction", "longitudinal_slip", "lateral_slip"), "1"),
    **dict.fromkeys(("kinetic_energy", "potential_energy", "strain_energy"), "J"),
    **dict.fromkeys(("force", "normal_load", "longitudinal_force", "lateral_force", "normal_force", "friction"), "N"),
    "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s^2",
    "torque": "N m",
}


class _Sensor(Spec):
    width: ClassVar[int] = 1
    parts: ClassVar[tuple[str, ...]] = ()
    description: named.Text | None = description()

    def shows(self, name: str) -> tuple[str, ...]:
        """Names of what the sensor of this name shows: the name itself, or NAME.part of each part."""
        return tuple(f"{name}.{part}" for part in self.parts) or (name,)


class _OfPoint(_Sensor):
    width: ClassVar[int] = 3
    point: named.Point = field("The point, body.name.", "bar12.P2")


class _OfBody(_Sensor):
    width: ClassVar[int] = 3
    body: named.Frame = field("The body.", "A1")


class _Differentiated(_Sensor):
    derivative: Annotated[Literal[0, 1, 2], WHOLE] = field("Time derivative: 0, 1 or 2.", 1, default=0)


class Position(_OfPoint):
    """Global position of a point [m]."""

    type: Literal["position"] = field("Position of a point.", "position")


class Velocity(_OfPoint):
    """Global velocity of a point [m/s]."""

    type: Literal["velocity"] = field("Velocity of a point.", "velocity")


class Acceleration(_OfPoint):
    """Global acceleration of a point [m/s^2]."""

    type: Literal["acceleration"] = field("Acceleration of a point.", "acceleration")


class Direction(_Sensor):
    """Global components of a vector that a body carries."""

    width: ClassVar[int] = 3
    type: Literal["direction"] = field("Global components of a vector.", "direction")
    vector: named.Vector = field("The vector, body.name.", "A1.x")


class AngularVelocity(_OfBody):
    """Global angular velocity of a body [rad/s]."""

    type: Literal["angular_velocity"] = field("Angular velocity of a body.", "angular_velocity")


class AngularAcceleration(_OfBody):
    """Global angular acceleration of a body [rad/s^2]."""

    type: Literal["angular_acceleration"] = field("Angular acceleration of a body.", "angular_acceleration")


class CoordinateSensor(_Differentiated):
    """A joint coordinate or its rate."""

    type: Literal["coordinate"] = field("A joint coordinate.", "coordinate")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")


class DistanceSensor(_Differentiated):
    """Distance of two points [m]."""

    type: Literal["distance"] = field("Distance of two points.", "distance")
    points: named.Points = field("The two points, body.name.", ["ground.B", "A1.P1"])


class AngleSensor(_Differentiated):
    """Angle from one vector to another [rad]."""

    type: Literal["angle"] = field("Angle between two vectors.", "angle")
    vectors: named.Vectors = field("From the first vector to the second, body.name.", ["ground.x", "A1.x"])
    axis: named.Vector = field("Vector that the angle is positive about, body.name.", "ground.z")


class ForceSensor(_Sensor):
    """Value of a force element [N or N m]: positive pushes points apart; at points of bodies a vector on the second."""

    type: Literal["force"] = field("Value of a force element.", "force")
    force: named.Force = field("Name of the force.", "spring1")


class Multiplier(_Sensor):
    """Lagrange multiplier of a constraint equation or of a cut joint."""

    type: Literal["multiplier"] = field("Multiplier of a constraint equation.", "multiplier")
    constraint: named.Constraint = field(
        "The constraint or cut joint, with the equation where it has several.", "rod", "P2.x"
    )


class Reaction(_Sensor):
    """Force [N] and moment [N m] that a joint or constraint exerts on a body, at its point: NAME.force, NAME.moment."""

    in_example = ("joint",)

    width: ClassVar[int] = 3
    parts: ClassVar[tuple[str, ...]] = PARTS
    type: Literal["reaction"] = field("Force and moment of a joint or constraint.", "reaction")
    joint: named.ReactingJoint | None = optional("The joint; beside a coupling the joint that it acts through.", "A")
    constraint: named.ReactingConstraint | None = optional("The constraint, instead of a joint.", "rope")
    on: named.ReactingBody | None = optional("Body that the force acts on; default the second one.", "coupler")
    axes: Literal["ground", "body", "joint"] = field(
        "Axes of the components: global, of the body that the force acts on, or of the joint on its first body.",
        "body",
        default="ground",
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> "Reaction":
        require_one("a joint or a constraint", self.joint is None and self.constraint is None)
        return self

    def bodies(self, model: Any) -> tuple[str, str] | None:
        """First and second body of the joint or constraint; None where a joint is missing."""
        spec = model.constraints[self.constraint] if self.constraint and self.joint is None else None
        if spec is not None and spec.type in _BETWEEN:
            first, second = _BETWEEN[spec.type](spec)
            return first.partition(".")[0], second.partition(".")[0]
        joint = model.joints.get(self.joint_of(model))
        return joint and tuple(joint.bodies)

    def joint_of(self, model: Any) -> str | None:
        """Joint that the reaction is one of, or whose coordinate moves."""
        if self.joint is None and self.constraint and model.constraints[self.constraint].type == "motion":
            return model.constraints[self.constraint].coordinate.partition(".")[0]
        return self.joint


_BETWEEN: dict[str, Callable[[Any], tuple[str, str]]] = {  # what names the two bodies of a constraint
    "distance": lambda spec: spec.points,
    "angle": lambda spec: spec.vectors,
    "point_on_line": lambda spec: (spec.line.point, spec.point),
    "point_on_plane": lambda spec: (spec.plane.point, spec.point),
}


class Torque(_Sensor):
    """Torque or force that a coordinate takes in inverse dynamics [N m or N]."""

    type: Literal["torque"] = field("Torque of one coordinate, in inverse dynamics.", "torque")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")


class Torques(_Sensor):
    """Torques and forces of all coordinates in inverse dynamics, or of those listed."""

    type: Literal["torques"] = field("Torques of several coordinates, in inverse dynamics.", "torques")
    coordinates: Annotated[Literal["all"] | Several[named.Coordinate], ByKind()] = field(
        "The coordinates, or all, in the order of the result file.", ["A.angle", "B.angle"], "all", default="all"
    )


class KineticEnergy(_Sensor):
    """Kinetic energy of the system [J]."""

    type: Literal["kinetic_energy"] = field("Kinetic energy.", "kinetic_energy")


class PotentialEnergy(_Sensor):
    """Potential energy [J] of all that has one: weight, springs, constant forces, tyres."""

    type: Literal["potential_energy"] = field("Potential energy.", "potential_energy")


class StrainEnergy(_Sensor):
    """Strain energy of a body that deforms [J]."""

    type: Literal["strain_energy"] = field("Strain energy of a flexible body.", "strain_energy")
    body: named.Frame = field("The body.", "crank")


class ElasticCoordinate(_Differentiated):
    """An elastic coordinate of a body that deforms, or a time derivative of it."""

    type: Literal["elastic_coordinate"] = field("An elastic coordinate.", "elastic_coordinate")
    body: named.Frame = field("The body.", "crank")
    number: int = field("Number of the coordinate, from 1.", 1, ge=1)


class Deformation(_Differentiated):
    """Displacement of a node by the deformation of its body, in the axes of the body's frame [m]."""

    width: ClassVar[int] = 3
    type: Literal["deformation"] = field("Displacement of a node by deformation.", "deformation")
    point: named.Point = field("The node, body.name.", "crank.pin")


class VelocityAlong(_Sensor):
    """Component of a point's velocity [m/s] along a vector that a body carries."""

    type: Literal["velocity_along"] = field("Velocity of a point along a vector.", "velocity_along")
    point: named.Point = field("The point, body.name.", "chassis.origin")
    vector: named.Vector = field("The direction, body.name.", "chassis.x")


class AccelerationAlong(_Sensor):
    """Component of a point's acceleration [m/s^2] along a vector that a body carries."""

    type: Literal["acceleration_along"] = field("Acceleration of a point along a vector.", "acceleration_along")
    point: named.Point = field("The point, body.name.", "chassis.P1")
    vector: named.Vector = field("The direction, body.name.", "chassis.z")


class Displacement(_Differentiated):
    """Way from one point to another along a vector of the first one's body [m]: wheel travel, for instance."""

    type: Literal["displacement"] = field("Way between two points along a vector.", "displacement")
    points: named.Points = field("From the first point to the second, body.name.", ["chassis.W", "wheel.origin"])
    direction: named.Vector = field("Vector of the first point's body, body.name.", "chassis.z")


class _Attitude(_Sensor):
    body: named.Frame = field("The body, its axes x forward, y to the left, z up.", "chassis")
    derivative: Annotated[Literal[0, 1], WHOLE] = field("Time derivative: 0 or 1.", 1, default=0)


class Roll(_Attitude):
    """Roll angle of a body [rad], or its rate."""

    type: Literal["roll"] = field("Roll of a body.", "roll")


class Pitch(_Attitude):
    """Pitch angle of a body [rad], or its rate."""

    type: Literal["pitch"] = field("Pitch of a body.", "pitch")


class Yaw(_Attitude):
    """Yaw angle of a body [rad], or its rate."""

    type: Literal["yaw"] = field("Yaw of a body.", "yaw")


class TyreSensor(_Sensor):
    """A quantity of a tyre: forces [N], slips [1] or deflection [m]."""

    type: Literal["tyre"] = field("A quantity of a tyre.", "tyre")
    tyre: named.Tyre = field("Name of the tyre under forces.", "front_left")
    quantity: Literal[
        "normal_load",
        "longitudinal_slip",
        "lateral_slip",
        "longitudinal_force",
        "lateral_force",
        "deflection",
    ] = field("The quantity.", "normal_load")


class ContactSensor(_Sensor):
    """A quantity of a contact: forces [N], sliding speed [m/s] or penetration [m]."""

    type: Literal["contact"] = field("A quantity of a contact.", "contact")
    contact: named.Contact = field("Name of the contact under forces.", "floor")
    quantity: Literal["normal_force", "friction", "sliding_speed", "penetration"] = field(
        "The quantity; a negative penetration is the gap. Forces of several points or edges are summed.", "normal_force"
    )
    part: int | None = optional("Number of a point, corner or edge, from 1, of a contact that has several.", 3, ge=1)


class BushingSensor(_Sensor):
    """A quantity of a bushing: force [N], torque [N m], displacement [m] or rotation [rad]."""

    in_example = ("quantity",)

    width: ClassVar[int] = 3
    type: Literal["bushing"] = field("A quantity of a bushing.", "bushing")
    bushing: named.Bushing = field("Name of the bushing under forces.", "mount")
    quantity: Literal["force", "torque", "displacement", "rotation"] = field(
        "The quantity, of the second body against the first, along the axes of the first frame.",
        "torque",
        default="force",
    )


class ExpressionSensor(_Sensor):
    """An expression of other sensors, t and parameters: a number, or a vector of three."""

    type: Literal["expression"] = field("An expression of other sensors.", "expression")
    value: Formula = field("The expression, as in objectives.", "norm(r) - L", "q - p")
    unit: Label = field("Unit, for tables and result files.", "m", default="")


Sensor = Annotated[
    Position
    | Velocity
    | Acceleration
    | Direction
    | AngularVelocity
    | AngularAcceleration
    | CoordinateSensor
    | DistanceSensor
    | AngleSensor
    | ForceSensor
    | Multiplier
    | Reaction
    | Torque
    | Torques
    | KineticEnergy
    | PotentialEnergy
    | StrainEnergy
    | ElasticCoordinate
    | Deformation
    | VelocityAlong
    | AccelerationAlong
    | Displacement
    | Roll
    | Pitch
    | Yaw
    | TyreSensor
    | ContactSensor
    | BushingSensor
    | ExpressionSensor,
    ByType(),
]
