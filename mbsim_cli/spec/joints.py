"""Joints of at most one coordinate, the base class of all joints, and friction in joints."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import PrivateAttr

from mbsim_cli.spec.base import ByKind, ByType, Described, Spec, complete, field, named, optional, require_one
from mbsim_cli.spec.expressions.number import Many, NotNegative, Number, Pair, Positive
from mbsim_cli.spec.families import SpecialJoint


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
        default=1e-3,
    )
    viscous: NotNegative = field("Further friction, in proportion to the rate [N m s/rad or N s/m].", 0.02, default=0.0)
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

    @complete
    def _one_size_and_law(self) -> None:
        require_one("loss, or dynamic", (self.loss is None) == (self.dynamic is None))
        by_load = self.dynamic is not None
        require_one("static instead of breakaway, beside dynamic", by_load and self.breakaway is not None)
        for key in () if by_load else ("static", "radius"):
            require_one(f"dynamic beside {key}", getattr(self, key) is not None)
        bristles = self.law == "bristle"
        require_one("stiffness, of the bristles", bristles and self.stiffness is None)
        given = self.stiffness is not None or self.damping is not None
        require_one("law: bristle, which alone has stiffness and damping", given and not bristles)


EULER_NAMES = ("e0", "e1", "e2", "e3")
RATE_WORDS = ("velocity", "angular_velocity", "rate", "speed")  # that readers write for the rate of a coordinate


class Initial(Spec):
    """Start of a joint."""

    independent: Annotated[bool | Many[named.OwnCoordinate], ByKind()] | None = optional(
        "true: closing the loops keeps the stated position and velocity; false: these are a guess, and may move "
        "without a warning; or a list of the coordinates that are kept.",
        True,
        ["angle"],
    )


class AngleInitial(Initial):
    """Start of a revolute joint."""

    angle: Number | None = optional("Angle from the first body to the second [rad].", "-135 deg")
    angular_velocity: Number | None = optional("Rate of the angle [rad/s].", 2.0)


class DisplacementInitial(Initial):
    """Start of a prismatic joint."""

    displacement: Number | None = optional("Displacement along the axis [m].", 0.1)
    velocity: Number | None = optional("Rate of the displacement [m/s].", 1.0)


class CylindricalInitial(AngleInitial, DisplacementInitial):
    """Start of a cylindrical joint."""


class AnyJoint(Described):
    """Keys of all joints."""

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


PointOrPair = Annotated[named.OwnPoint | Pair[named.OwnPoint], ByKind()]
VectorOrPair = Annotated[named.OwnVector | Pair[named.OwnVector], ByKind()]


class AtPoint(AnyJoint):
    """A joint at a point of both bodies."""

    point: PointOrPair = field("One point of both bodies, or one of each.", "A", ["P1", "Q1"])


_REFERENCE = (
    "Vectors of the two bodies across the axis that coincide at zero angle; "
    "left out, zero is where the least rotation carries one axis to the other."
)


class AboutAxis(AtPoint):
    """A joint with an axis."""

    axis: VectorOrPair = field("Axis: one vector of both bodies, or one of each.", "z", ["u", "w"])
    reference: VectorOrPair | None = optional(_REFERENCE, "x", ["u", "w"])


class Fixed(AtPoint):
    """Nothing moves; without axis the bodies stand as in the design position, or with their axes parallel."""

    type: Literal["fixed"] = field("Nothing moves.", "fixed")
    axis: VectorOrPair | None = optional("Vectors of the two bodies that coincide.", "z", ["u", "w"])
    reference: VectorOrPair | None = optional("Further vectors that coincide, across the axis.", "x")


class _Armed(AboutAxis):
    in_example = ("initial",)
    across: ClassVar[str] = "xy"

    armature: NotNegative | None = optional(
        "Inertia that is added to the coordinate [kg m^2 or kg]: of a rotor behind a gear, its own times the ratio "
        "squared.",
        "J_rotor*ratio^2",
    )

    friction: Friction | None = optional("Dry friction on the coordinate.", {"loss": 0.8})


class Revolute(_Armed):
    """Rotation about an axis."""

    coordinates: ClassVar[tuple[str, ...]] = ("angle",)
    type: Literal["revolute"] = field("Rotation about an axis.", "revolute")
    initial: AngleInitial = field("Start.", {"angle": "-135 deg"}, default_factory=AngleInitial)


class Prismatic(_Armed):
    """Translation along an axis."""

    coordinates: ClassVar[tuple[str, ...]] = ("displacement",)
    type: Literal["prismatic"] = field("Translation along an axis.", "prismatic")
    initial: DisplacementInitial = field("Start.", {"displacement": 0.1}, default_factory=DisplacementInitial)


Joint = Annotated[Fixed | Revolute | Prismatic | SpecialJoint, ByType()]
