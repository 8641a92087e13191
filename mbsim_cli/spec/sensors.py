"""Sensors: quantities that a run records and that objectives are made of."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mbsim_cli.spec.base import Pair, Spec, by_kind, by_type, description, field


class _Sensor(Spec):
    width: ClassVar[int] = 1
    description: str | None = description()


class _OfPoint(_Sensor):
    width: ClassVar[int] = 3
    point: str = field("The point, body.name.", "bar12.P2")


class _OfBody(_Sensor):
    width: ClassVar[int] = 3
    body: str = field("The body.", "A1")


class _Differentiated(_Sensor):
    derivative: Literal[0, 1, 2] = field("Time derivative: 0, 1 or 2.", 1, default=0)


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
    vector: str = field("The vector, body.name.", "A1.x")


class AngularVelocity(_OfBody):
    """Global angular velocity of a body [rad/s]."""

    type: Literal["angular_velocity"] = field("Angular velocity of a body.", "angular_velocity")


class AngularAcceleration(_OfBody):
    """Global angular acceleration of a body [rad/s^2]."""

    type: Literal["angular_acceleration"] = field("Angular acceleration of a body.", "angular_acceleration")


class CoordinateSensor(_Differentiated):
    """A joint coordinate or its rate."""

    type: Literal["coordinate"] = field("A joint coordinate.", "coordinate")
    coordinate: str = field("The coordinate, JOINT.coordinate.", "A.angle")


class DistanceSensor(_Differentiated):
    """Distance of two points [m]."""

    type: Literal["distance"] = field("Distance of two points.", "distance")
    points: Pair = field("The two points, body.name.", ["ground.B", "A1.P1"])


class AngleSensor(_Differentiated):
    """Angle from one vector to another [rad]."""

    type: Literal["angle"] = field("Angle between two vectors.", "angle")
    vectors: Pair = field("From the first vector to the second, body.name.", ["ground.x", "A1.x"])
    axis: str = field("Vector that the angle is positive about, body.name.", "ground.z")


class ForceSensor(_Sensor):
    """Value of a force element [N or N m]."""

    type: Literal["force"] = field("Value of a force element.", "force")
    force: str = field("Name of the force.", "spring1")


class Multiplier(_Sensor):
    """Lagrange multiplier of a constraint equation or of a cut joint."""

    type: Literal["multiplier"] = field("Multiplier of a constraint equation.", "multiplier")
    constraint: str = field("The constraint or cut joint, with the equation where it has several.", "rod", "P2.x")


class Torque(_Sensor):
    """Torque or force that a coordinate takes in inverse dynamics [N m or N]."""

    type: Literal["torque"] = field("Torque of one coordinate, in inverse dynamics.", "torque")
    coordinate: str = field("The coordinate, JOINT.coordinate.", "A.angle")


class Torques(_Sensor):
    """Torques and forces of all coordinates in inverse dynamics, or of those listed."""

    type: Literal["torques"] = field("Torques of several coordinates, in inverse dynamics.", "torques")
    coordinates: by_kind(text=Literal["all"], list=Annotated[list[str], Field(min_length=2)]) = field(
        "The coordinates, or all, in the order of the result file.", ["A.angle", "B.angle"], "all", default="all"
    )


class KineticEnergy(_Sensor):
    """Kinetic energy of the system [J]."""

    type: Literal["kinetic_energy"] = field("Kinetic energy.", "kinetic_energy")


class PotentialEnergy(_Sensor):
    """Potential energy of gravity and springs [J]."""

    type: Literal["potential_energy"] = field("Potential energy.", "potential_energy")


Sensor = by_type(
    Position,
    Velocity,
    Acceleration,
    Direction,
    AngularVelocity,
    AngularAcceleration,
    CoordinateSensor,
    DistanceSensor,
    AngleSensor,
    ForceSensor,
    Multiplier,
    Torque,
    Torques,
    KineticEnergy,
    PotentialEnergy,
)
