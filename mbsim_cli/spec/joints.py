"""Joints, and Denavit-Hartenberg tables: chains and trees of joints, a row each."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import PrivateAttr, model_validator

from mbsim_cli.spec.base import WHOLE, ZERO, ByKind, ByType, Described, Spec, field, named, optional, require_one
from mbsim_cli.spec.bodies import Massive, Orientation
from mbsim_cli.spec.expressions.number import Many, NotNegative, Number, Pair, Positive, Vector

# Friction in joints: by a given loss, or by what the joint carries.


class Friction(Spec):
    """Dry friction on a coordinate: of a given size, or in proportion to the force that the joint carries."""

    loss: Positive | None = optional("Friction while it slides [N m or N], whatever the joint carries.", 0.8)
    dynamic: Positive | None = optional(
        "Coefficient of friction while it slides: friction is this times the force that the joint carries, and radius.",
        0.15,
    )
    static: Number | None = optional("Coefficient of the friction that holds, at most; left out: dynamic.", 0.2)
    radius: Positive | None = optional("Radius that friction of an angle acts at [m]; beside dynamic.", 0.01)
    breakaway: Number | None = optional("Friction that holds, at most [N m or N]; left out: loss.", 1.1)
    velocity: Positive = field(
        "Rate over which friction changes its sign, and falls from breakaway to loss [rad/s or m/s].",
        0.01,
        default=Number(1e-3),
    )
    viscous: NotNegative = field(
        "Further friction, in proportion to the rate [N m s/rad or N s/m].", 0.02, default=ZERO
    )
    law: Literal["brown_mcphee", "bristle"] = field(
        "brown_mcphee is a smooth function of the rate and creeps under load; bristle has a state and holds.",
        "bristle",
        default="brown_mcphee",
    )
    stiffness: Positive | None = optional(
        "Stiffness of the bristles, before they slide [N m/rad or N/m]; of law: bristle.", 1e5
    )
    damping: NotNegative | None = optional(
        "Damping of the bristles, at rates below velocity [N m s/rad or N s/m]; of law: bristle, left out: zero.", 300
    )

    @model_validator(mode="after")
    def _one_size_and_law(self) -> "Friction":
        require_one("loss, or dynamic", (self.loss is None) == (self.dynamic is None))
        by_load = self.dynamic is not None
        require_one("static instead of breakaway, beside dynamic", by_load and self.breakaway is not None)
        for key in () if by_load else ("static", "radius"):
            require_one(f"dynamic beside {key}", getattr(self, key) is not None)
        bristles = self.law == "bristle"
        require_one("stiffness, of the bristles", bristles and self.stiffness is None)
        given = self.stiffness is not None or self.damping is not None
        require_one("law: bristle, which alone has stiffness and damping", given and not bristles)
        return self


EULER_NAMES = ("e0", "e1", "e2", "e3")


class _Initial(Spec):
    independent: Annotated[bool | Many[named.OwnCoordinate], ByKind()] | None = optional(
        "true: closing the loops keeps the stated position and velocity; false: these are a guess, and may move "
        "without a warning; or a list of the coordinates that are kept.",
        True,
        ["angle"],
    )


class AngleInitial(_Initial):
    """Start of a revolute joint."""

    angle: Number | None = optional("Angle from the first body to the second [rad].", "-135 deg")
    angular_velocity: Number | None = optional("Rate of the angle [rad/s].", 2.0)


class DisplacementInitial(_Initial):
    """Start of a prismatic joint."""

    displacement: Number | None = optional("Displacement along the axis [m].", 0.1)
    velocity: Number | None = optional("Rate of the displacement [m/s].", 1.0)


class CylindricalInitial(AngleInitial, DisplacementInitial):
    """Start of a cylindrical joint."""


class UniversalInitial(_Initial):
    """Start of a universal joint."""

    angles: Pair[Number] | None = optional("Angles about the two axes [rad].", ["10 deg", 0])
    angle_rates: Pair[Number] | None = optional("Rates of the two angles [rad/s].", [0, 1])


class SphericalInitial(_Initial):
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


class PlanarInitial(AngleInitial):
    """Start of a planar joint."""

    position: Pair[Number] | None = optional("Displacements in the plane [m].", [0.5, 0])
    velocity: Pair[Number] | None = optional("Their rates [m/s].", [0, 1])


class _Joint(Described):
    coordinates: ClassVar[tuple[str, ...]] = ()
    across: ClassVar[str] = ""  # axes of its frame that forces which it carries have, but for those along coordinates
    stands_for: ClassVar[str] = ""  # state or cable, where it is made for one and stands in no file
    _held: str = PrivateAttr(default="")

    bodies: Pair[named.Body] = field("The two bodies; the order decides the sign of the coordinates.", ["ground", "A1"])
    cut: bool | None = optional(
        "true: the joint is cut and closes a loop; false: it is never cut; left out: chosen automatically.", True
    )

    @property
    def held(self) -> str:
        """Axes of its frame along which constraints hold its point, so that friction can read their multipliers."""
        return self._held

    def holding(self, axes: Iterable[str]) -> Self:
        """The same joint with constraints that hold its point along axes."""
        found = self.model_copy()
        found._held = "".join(axes)
        return found


_PointOrPair = Annotated[named.OwnPoint | Pair[named.OwnPoint], ByKind()]
_VectorOrPair = Annotated[named.OwnVector | Pair[named.OwnVector], ByKind()]


class _AtPoint(_Joint):
    point: _PointOrPair = field("One point of both bodies, or one of each.", "A", ["P1", "Q1"])


_REFERENCE = (
    "Vectors of the two bodies across the axis that coincide at zero angle; "
    "left out, zero is where the least rotation carries one axis to the other."
)


class _AboutAxis(_AtPoint):
    axis: _VectorOrPair = field("Axis: one vector of both bodies, or one of each.", "z", ["u", "w"])
    reference: _VectorOrPair | None = optional(_REFERENCE, "x", ["u", "w"])


class Fixed(_AtPoint):
    """Nothing moves; without axis the bodies stand as in the design position, or with their axes parallel."""

    type: Literal["fixed"] = field("Nothing moves.", "fixed")
    axis: _VectorOrPair | None = optional("Vectors of the two bodies that coincide.", "z", ["u", "w"])
    reference: _VectorOrPair | None = optional("Further vectors that coincide, across the axis.", "x")


class _Armed(_AboutAxis):
    armature: NotNegative | None = optional(
        "Inertia that is added to the coordinate [kg m^2 or kg]: of a rotor behind a gear, its own times the ratio "
        "squared.",
        "J_rotor*ratio^2",
    )

    friction: Friction | None = optional("Dry friction on the coordinate.", {"loss": 0.8})


class _Rubbing(_AtPoint):
    friction: dict[named.RubbingCoordinate, Friction] | None = optional(
        "Dry friction on its coordinates, by their names.", {"angle": {"loss": 0.8}}
    )


class Revolute(_Armed):
    """Rotation about an axis."""

    in_example = ("initial",)

    coordinates: ClassVar[tuple[str, ...]] = ("angle",)
    across: ClassVar[str] = "xy"
    type: Literal["revolute"] = field("Rotation about an axis.", "revolute")
    initial: AngleInitial = field("Start.", {"angle": "-135 deg"}, default_factory=AngleInitial)


class Prismatic(_Armed):
    """Translation along an axis."""

    in_example = ("initial",)

    coordinates: ClassVar[tuple[str, ...]] = ("displacement",)
    across: ClassVar[str] = "xy"
    type: Literal["prismatic"] = field("Translation along an axis.", "prismatic")
    initial: DisplacementInitial = field("Start.", {"displacement": 0.1}, default_factory=DisplacementInitial)


class Cylindrical(_AboutAxis, _Rubbing):
    """Translation along an axis and rotation about it."""

    coordinates: ClassVar[tuple[str, ...]] = ("displacement", "angle")
    across: ClassVar[str] = "xy"
    type: Literal["cylindrical"] = field("Translation along an axis and rotation about it.", "cylindrical")
    initial: CylindricalInitial = field("Start.", {"displacement": 0.1, "angle": 0}, default_factory=CylindricalInitial)


class Universal(_Rubbing):
    """A cardan joint: rotation about an axis of the first body, then about one of the second."""

    coordinates: ClassVar[tuple[str, ...]] = ("angle_1", "angle_2")
    across: ClassVar[str] = "xyz"
    type: Literal["universal"] = field("A universal (cardan) joint.", "universal")
    axes: Pair[named.OwnVector] = field(
        "Vector of the first body and vector of the second; they stay perpendicular.", ["z", "x"]
    )
    reference: _VectorOrPair | None = optional(
        "Vectors that say where the other body's axis stands at zero angles, one of each body.", ["x", "z"]
    )
    initial: UniversalInitial = field("Start.", {"angles": ["10 deg", 0]}, default_factory=UniversalInitial)


class Spherical(_AtPoint):
    """Rotation about a point, by Euler parameters."""

    coordinates: ClassVar[tuple[str, ...]] = EULER_NAMES
    across: ClassVar[str] = "xyz"
    type: Literal["spherical"] = field("Rotation about a point.", "spherical")
    friction: Friction | None = optional(
        "Dry friction: a torque against the relative angular velocity.", {"dynamic": 0.1, "radius": 0.02}
    )
    initial: SphericalInitial = field("Start.", {"angular_velocity": [0, 0, 5]}, default_factory=SphericalInitial)


class Floating(_Joint):
    """All six motions: a free body."""

    coordinates: ClassVar[tuple[str, ...]] = ("x", "y", "z", *EULER_NAMES)
    type: Literal["floating"] = field("All six motions.", "floating")
    point: _PointOrPair | None = optional(
        "Points whose distance the translations are; default the origins.", ["O", "G"]
    )
    initial: FloatingInitial = field("Start.", {"position": [0, 0, 1]}, default_factory=FloatingInitial)


class Planar(_AboutAxis):
    """Two translations in a plane and the rotation about its normal."""

    coordinates: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    type: Literal["planar"] = field("Motion in a plane; the axis is its normal.", "planar")
    initial: PlanarInitial = field("Start.", {"position": [0.5, 0]}, default_factory=PlanarInitial)


Joint = Annotated[Fixed | Revolute | Prismatic | Universal | Cylindrical | Spherical | Floating | Planar, ByType()]


# Denavit-Hartenberg tables: a row is a joint of one degree of freedom and the body behind it.


class Link(Massive):
    """Body of a row; its coordinates are those of the row's frame. Without a mass the link is virtual."""

    name: named.Text | None = optional("Name of the body; default that of the row.", "thigh")


class Row(Described):
    """One joint with the constant transform that follows it (distal) or precedes it (proximal)."""

    variable: Literal["theta", "d", "none"] = field(
        "Quantity that the joint varies: theta (revolute), d (prismatic), or none (a fixed frame).",
        "d",
        default="theta",
    )
    sign: Annotated[Literal[1, -1], WHOLE] = field("Sign of the joint coordinate in theta or d.", -1, default=1)
    theta: Number = field("Angle about z [rad], beside the coordinate where it is the variable.", "pi/2", default=ZERO)
    d: Number = field("Offset along z [m], beside the coordinate where it is the variable.", "L_4", default=ZERO)
    a: Number = field("Offset along x [m].", "L_1", default=ZERO)
    alpha: Number = field("Angle about x [rad].", "-90 deg", default=ZERO)
    parent: named.Row | None = optional(
        "Row that this one follows, or a body; default the row before, of the first the base.", "q5"
    )
    link: Link | None = optional("Body of the row; massless if left out.", {"mass": 4.5})
    initial: CylindricalInitial | None = optional(
        "Start: angle and angular_velocity, or displacement and velocity.", {"angle": "30 deg"}
    )


class Table(Described):
    """A table of rows; each yields a joint of the row's name, and a body."""

    convention: Literal["distal", "proximal"] = field(
        "distal: frame i at the far end of link i, theta and d first; proximal: at the near end, alpha and a first.",
        "distal",
        default="distal",
    )
    base: named.Row = field("Body whose axes the first row starts from.", "ground", default="ground")
    rows: dict[named.Text, Row] = field(
        "Rows by name, parents before their children.", {"q1": {"d": 0.4}}, min_length=1
    )
