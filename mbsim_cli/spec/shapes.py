"""Shapes: uniform solids that give a body its mass, centre of mass and inertia."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from typing import Literal

from mbsim_cli.spec.base import Spec, Vector, by_type, field, fixed_list
from mbsim_cli.spec.expressions.number import Number


class _Shape(Spec):
    mass: Number | None = field("Mass [kg]; may stand in the body instead.", 1.5, default=None)
    center: Vector | None = field("Centre of the shape in the body's axes [m].", [0.5, 0, 0], default=None)


class _Long(_Shape):
    length: Number = field("Length along the axis [m]; the centre lies half way by default.", "L_12")
    axis: Literal["x", "y", "z"] = field("Axis of the body that the shape lies along.", "x", default="x")


class Rod(_Long):
    """A slender uniform rod: m L^2 / 12 across, nothing about its own axis."""

    type: Literal["rod"] = field("A slender rod.", "rod")


class Cylinder(_Long):
    """A solid circular cylinder."""

    type: Literal["cylinder"] = field("A solid cylinder.", "cylinder")
    radius: Number = field("Radius [m].", 0.1)


class Box(_Shape):
    """A solid cuboid, centred at the origin by default."""

    type: Literal["box"] = field("A solid cuboid.", "box")
    size: fixed_list(Number, 3) = field("Edge lengths along x, y and z [m].", [1.0, 0.2, 0.1])


class Sphere(_Shape):
    """A solid sphere, centred at the origin by default."""

    type: Literal["sphere"] = field("A solid sphere.", "sphere")
    radius: Number = field("Radius [m].", 0.1)


class PointMass(_Shape):
    """A mass without extension, at the origin by default."""

    type: Literal["point_mass"] = field("A point mass.", "point_mass")


Shape = by_type(Rod, Cylinder, Box, Sphere, PointMass)
