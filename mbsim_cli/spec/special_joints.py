"""Joints of several coordinates."""

from typing import ClassVar, Literal

from mbsim_cli.spec import joints
from mbsim_cli.spec.base import field, named, optional
from mbsim_cli.spec.bodies import Orientation
from mbsim_cli.spec.expressions.number import Number, Pair, Vector


class UniversalInitial(joints.Initial):
    """Start of a universal joint."""

    angles: Pair[Number] | None = optional("Angles about the two axes [rad].", ["10 deg", 0])
    angle_rates: Pair[Number] | None = optional("Rates of the two angles [rad/s].", [0, 1])


class SphericalInitial(joints.Initial):
    """Start of a spherical joint."""

    orientation: Orientation | None = optional(
        "Second body relative to the first.", {"axis": [1, 0, 0], "angle": "30 deg"}
    )
    angular_velocity: Vector | None = optional(
        "Relative angular velocity in the axes of the joint on the first body [rad/s].", [0, 0, 5]
    )


class FloatingInitial(SphericalInitial):
    """Start of a floating joint."""

    position: Vector | None = optional("Position of the second body's point from the first's [m].", [0, 0, 1])
    velocity: Vector | None = optional("Rate of that position [m/s].", [1, 0, 0])


class PlanarInitial(joints.AngleInitial):
    """Start of a planar joint."""

    position: Pair[Number] | None = optional("Displacements in the plane [m].", [0.5, 0])
    velocity: Pair[Number] | None = optional("Their rates [m/s].", [0, 1])


class _Rubbing(joints.AtPoint):
    friction: dict[named.RubbingCoordinate, joints.Friction] | None = optional(
        "Dry friction on its coordinates, by their names.", {"angle": {"loss": 0.8}}
    )


class Cylindrical(joints.AboutAxis, _Rubbing):
    """Translation along an axis and rotation about it."""

    coordinates: ClassVar[tuple[str, ...]] = ("displacement", "angle")
    across: ClassVar[str] = "xy"
    type: Literal["cylindrical"] = field("Translation along an axis and rotation about it.", "cylindrical")
    initial: joints.CylindricalInitial = field(
        "Start.", {"displacement": 0.1, "angle": 0}, default_factory=joints.CylindricalInitial
    )


class Universal(_Rubbing):
    """A cardan joint: rotation about an axis of the first body, then about one of the second."""

    coordinates: ClassVar[tuple[str, ...]] = ("angle_1", "angle_2")
    across: ClassVar[str] = "xyz"
    type: Literal["universal"] = field("A universal (cardan) joint.", "universal")
    axes: Pair[named.OwnVector] = field(
        "Vector of the first body and vector of the second; they stay perpendicular.", ["z", "x"]
    )
    reference: joints.VectorOrPair | None = optional(
        "Vectors that say where the other body's axis stands at zero angles, one of each body.", ["x", "z"]
    )
    initial: UniversalInitial = field("Start.", {"angles": ["10 deg", 0]}, default_factory=UniversalInitial)


class Spherical(joints.AtPoint):
    """Rotation about a point, by Euler parameters."""

    coordinates: ClassVar[tuple[str, ...]] = joints.EULER_NAMES
    across: ClassVar[str] = "xyz"
    type: Literal["spherical"] = field("Rotation about a point.", "spherical")
    friction: joints.Friction | None = optional(
        "Dry friction: a torque against the relative angular velocity.", {"dynamic": 0.1, "radius": 0.02}
    )
    initial: SphericalInitial = field("Start.", {"angular_velocity": [0, 0, 5]}, default_factory=SphericalInitial)


class Floating(joints.AnyJoint):
    """All six motions: a free body."""

    coordinates: ClassVar[tuple[str, ...]] = ("x", "y", "z", *joints.EULER_NAMES)
    type: Literal["floating"] = field("All six motions.", "floating")
    point: joints.PointOrPair | None = optional(
        "Points whose distance the translations are; default the origins.", ["O", "G"]
    )
    initial: FloatingInitial = field("Start.", {"position": [0, 0, 1]}, default_factory=FloatingInitial)


class Planar(joints.AboutAxis):
    """Two translations in a plane and the rotation about its normal."""

    coordinates: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    type: Literal["planar"] = field("Motion in a plane; the axis is its normal.", "planar")
    initial: PlanarInitial = field("Start.", {"position": [0.5, 0]}, default_factory=PlanarInitial)


SpecialJoint = Universal | Cylindrical | Spherical | Floating | Planar
