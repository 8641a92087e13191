"""Sensors: quantities that a run records and that objectives are made of; others stand in ``special_sensors``."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from mbsim_cli.spec.base import WHOLE, ByKind, ByType, Described, field, named, needs, optional
from mbsim_cli.spec.expressions.number import Formula, Several
from mbsim_cli.spec.expressions.syntax import PARTS
from mbsim_cli.spec.expressions.units import Label
from mbsim_cli.spec.families import SpecialSensor

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


class AnySensor(Described):
    """What all sensors have."""

    width: ClassVar[int] = 1
    parts: ClassVar[tuple[str, ...]] = ()

    def shows(self, name: str) -> tuple[str, ...]:
        """Names of what the sensor of this name shows: the name itself, or NAME.part of each part."""
        return tuple(f"{name}.{part}" for part in self.parts) or (name,)


class _OfPoint(AnySensor):
    width: ClassVar[int] = 3
    point: named.Point = field("The point, body.name.", "bar12.P2")


class _OfBody(AnySensor):
    width: ClassVar[int] = 3
    body: named.Frame = field("The body.", "A1")


class Differentiated(AnySensor):
    """A quantity, or a time derivative of it."""

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


class Direction(AnySensor):
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


class CoordinateSensor(Differentiated):
    """A joint coordinate or its rate."""

    type: Literal["coordinate"] = field("A joint coordinate.", "coordinate")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")


class DistanceSensor(Differentiated):
    """Distance of two points [m]."""

    type: Literal["distance"] = field("Distance of two points.", "distance")
    points: named.Points = field("The two points, body.name.", ["ground.B", "A1.P1"])


class AngleSensor(Differentiated):
    """Angle from one vector to another [rad]."""

    type: Literal["angle"] = field("Angle between two vectors.", "angle")
    vectors: named.Vectors = field("From the first vector to the second, body.name.", ["ground.x", "A1.x"])
    axis: named.Vector = field("Vector that the angle is positive about, body.name.", "ground.z")


class ForceSensor(AnySensor):
    """Value of a force element [N or N m]: positive pushes points apart; at points of bodies a vector on the second."""

    type: Literal["force"] = field("Value of a force element.", "force")
    force: named.Force = field("Name of the force.", "spring1")


class Multiplier(AnySensor):
    """Lagrange multiplier of a constraint equation or of a cut joint."""

    type: Literal["multiplier"] = field("Multiplier of a constraint equation.", "multiplier")
    constraint: named.Constraint = field(
        "The constraint or cut joint, with the equation where it has several.", "rod", "P2.x"
    )


class Reaction(AnySensor):
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

    _one_of_them = needs("a joint or a constraint", lambda item: item.joint is None and item.constraint is None)

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


class Torque(AnySensor):
    """Torque or force that a coordinate takes in inverse dynamics [N m or N]."""

    type: Literal["torque"] = field("Torque of one coordinate, in inverse dynamics.", "torque")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")


class Torques(AnySensor):
    """Torques and forces of all coordinates in inverse dynamics, or of those listed."""

    type: Literal["torques"] = field("Torques of several coordinates, in inverse dynamics.", "torques")
    coordinates: Annotated[Literal["all"] | Several[named.Coordinate], ByKind()] = field(
        "The coordinates, or all, in the order of the result file.", ["A.angle", "B.angle"], "all", default="all"
    )


class KineticEnergy(AnySensor):
    """Kinetic energy of the system [J]."""

    type: Literal["kinetic_energy"] = field("Kinetic energy.", "kinetic_energy")


class PotentialEnergy(AnySensor):
    """Potential energy [J] of all that has one: weight, springs, constant forces, tyres."""

    type: Literal["potential_energy"] = field("Potential energy.", "potential_energy")


class ExpressionSensor(AnySensor):
    """An expression of other sensors, t and parameters: a number, or a vector of three."""

    type: Literal["expression"] = field("An expression of other sensors.", "expression")
    value: Formula = field("The expression, as in objectives.", "norm(r) - L", "q - p")
    unit: Label = field("Unit, for tables and result files.", "m", default="")


Sensor = Annotated[
    Position | Velocity | Acceleration | Direction | AngularVelocity | AngularAcceleration | CoordinateSensor
    | DistanceSensor | AngleSensor | ForceSensor | Multiplier | Reaction | Torque | Torques | KineticEnergy
    | PotentialEnergy | SpecialSensor | ExpressionSensor,
    ByType(),
]  # fmt: skip
