"""Sensors of flexible bodies, of vehicles, and of tyres, contacts and bushings."""

from typing import Annotated, ClassVar, Literal

from mbsim_cli.spec.base import WHOLE, field, named, optional
from mbsim_cli.spec.sensors import AnySensor, Differentiated


class StrainEnergy(AnySensor):
    """Strain energy of a body that deforms [J]."""

    type: Literal["strain_energy"] = field("Strain energy of a flexible body.", "strain_energy")
    body: named.Frame = field("The body.", "crank")


class ElasticCoordinate(Differentiated):
    """An elastic coordinate of a body that deforms, or a time derivative of it."""

    type: Literal["elastic_coordinate"] = field("An elastic coordinate.", "elastic_coordinate")
    body: named.Frame = field("The body.", "crank")
    number: int = field("Number of the coordinate, from 1.", 1, ge=1)


class Deformation(Differentiated):
    """Displacement of a node by the deformation of its body, in the axes of the body's frame [m]."""

    width: ClassVar[int] = 3
    type: Literal["deformation"] = field("Displacement of a node by deformation.", "deformation")
    point: named.Point = field("The node, body.name.", "crank.pin")


class VelocityAlong(AnySensor):
    """Component of a point's velocity [m/s] along a vector that a body carries."""

    type: Literal["velocity_along"] = field("Velocity of a point along a vector.", "velocity_along")
    point: named.Point = field("The point, body.name.", "chassis.origin")
    vector: named.Vector = field("The direction, body.name.", "chassis.x")


class AccelerationAlong(AnySensor):
    """Component of a point's acceleration [m/s^2] along a vector that a body carries."""

    type: Literal["acceleration_along"] = field("Acceleration of a point along a vector.", "acceleration_along")
    point: named.Point = field("The point, body.name.", "chassis.P1")
    vector: named.Vector = field("The direction, body.name.", "chassis.z")


class Displacement(Differentiated):
    """Way from one point to another along a vector of the first one's body [m]: wheel travel, for instance."""

    type: Literal["displacement"] = field("Way between two points along a vector.", "displacement")
    points: named.Points = field("From the first point to the second, body.name.", ["chassis.W", "wheel.origin"])
    direction: named.Vector = field("Vector of the first point's body, body.name.", "chassis.z")


class _Attitude(AnySensor):
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


class TyreSensor(AnySensor):
    """A quantity of a tyre: forces [N], slips [1] or deflection [m]."""

    type: Literal["tyre"] = field("A quantity of a tyre.", "tyre")
    tyre: named.Tyre = field("Name of the tyre under forces.", "front_left")
    quantity: Literal[
        "normal_load", "longitudinal_slip", "lateral_slip", "longitudinal_force", "lateral_force", "deflection"
    ] = field("The quantity.", "normal_load")


class ContactSensor(AnySensor):
    """A quantity of a contact: forces [N], sliding speed [m/s] or penetration [m]."""

    type: Literal["contact"] = field("A quantity of a contact.", "contact")
    contact: named.Contact = field("Name of the contact under forces.", "floor")
    quantity: Literal["normal_force", "friction", "sliding_speed", "penetration"] = field(
        "The quantity; a negative penetration is the gap. Forces of several points or edges are summed.", "normal_force"
    )
    part: int | None = optional("Number of a point, corner or edge, from 1, of a contact that has several.", 3, ge=1)


class BushingSensor(AnySensor):
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


SpecialSensor = (
    StrainEnergy | ElasticCoordinate | Deformation | VelocityAlong | AccelerationAlong | Displacement | Roll | Pitch
    | Yaw | TyreSensor | ContactSensor | BushingSensor
)  # fmt: skip
