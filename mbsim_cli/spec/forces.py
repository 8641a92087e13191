"""Forces and torques; cables through points and over pulleys."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mbsim_cli.spec.base import ZERO, ByKind, ByType, Spec, description, field, named, one_of, optional, require_one
from mbsim_cli.spec.expressions.number import (
    AutoExpression,
    AutoNumber,
    Expression,
    NotNegative,
    Number,
    Pair,
    Positive,
    Several,
    Sign,
    Some,
    Vector,
    length,
)
from mbsim_cli.spec.families import LawOrName, RoadOrName

_NONE = Expression(0.0)
_POINTS = ["chassis.S", "arm.S"]
PLANE = {"point": "ground.origin", "normal": "ground.z"}


class _Force(Spec):
    """What rules, sensors and warnings ask of a force stands here, with its fields."""

    is_vector: ClassVar[bool] = False  # a force or torque on a body, else one value
    place: ClassVar[str | None] = None  # field that names the body, which must not be the ground
    of_one_body: ClassVar[tuple[tuple[str, str], ...]] = ()  # fields that name a point and a vector of the same body
    factors: ClassVar[tuple[str, ...]] = ()  # numbers that all it exerts is multiplied by
    sources: ClassVar[tuple[str, ...]] = ()  # numbers that make up what it exerts: any will do
    added_laws: ClassVar[tuple[str, ...]] = ()  # laws that are added to these; that of a force or torque multiplies it

    description: named.Text | None = description()


_ONE_LENGTH = one_of("points or coordinate", "points", "coordinate")


class SpringDamper(_Force):
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


class RotationalSpringDamper(_Force):
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


class AppliedForce(_Force):
    """A force at a point."""

    is_vector, place = True, "point"
    sources = ("value",)

    type: Literal["force"] = field("A force at a point.", "force")
    point: named.Point = field("Where it acts.", "slider.P")
    value: Annotated[tuple[Expression, ...], length(3)] = field(
        "Components [N]; also expressions of the motion.", [0, 0, "-10*sin(t)"]
    )
    axes: Literal["global", "body"] = field("Axes of the components.", "global", default="global")
    law: LawOrName | None = optional("Law of time that multiplies it.", "ramp")


class AppliedTorque(_Force):
    """A torque on a body."""

    is_vector, place = True, "body"
    sources = ("value",)

    type: Literal["torque"] = field("A torque on a body.", "torque")
    body: named.Frame = field("The body.", "A1")
    value: Annotated[tuple[Expression, ...], length(3)] = field(
        "Components [N m]; also expressions of the motion.", [0, 0, 1]
    )
    axes: Literal["global", "body"] = field("Axes of the components.", "body", default="global")
    law: LawOrName | None = optional("Law of time that multiplies it.", "ramp")


class ViscousFriction(_Force):
    """Friction in a joint, proportional to the rate."""

    sources = ("damping",)

    type: Literal["viscous_friction"] = field("Viscous friction in a joint.", "viscous_friction")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "A.angle")
    damping: Number = field("Coefficient [N m s/rad or N s/m].", 0.05)


class Drive(_Force):
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


class BumpStop(_Force):
    """A smooth one-sided spring: pushes back where a length or coordinate leaves its range."""

    in_example = ("coordinate", "minimum")

    type: Literal["bump_stop"] = field("A stop at the end of a range.", "bump_stop")
    points: named.Points | None = optional("The two points whose distance is limited; or give coordinate.", _POINTS)
    coordinate: named.Coordinate | None = optional("The coordinate that is limited, JOINT.coordinate.", "A.angle")
    minimum: Number | None = optional("Below this it pushes up [m or rad].", 0.4)
    maximum: Number | None = optional("Above this it pushes down [m or rad].", 0.6)
    stiffness: Positive = field("Stiffness beyond the onset [N/m or N m/rad].", 2e5)
    onset: Positive = field("Way over which the stiffness grows [m or rad].", 0.002, default=Number(0.005))

    _one_length = _ONE_LENGTH

    @model_validator(mode="after")
    def _complete(self) -> "BumpStop":
        require_one("minimum, maximum or both", self.minimum is None and self.maximum is None)
        return self


class AntiRollBar(_Force):
    """A spring on the weighted sum of two joint coordinates, by default their difference."""

    factors, sources = ("ratios",), ("stiffness", "damping")

    type: Literal["anti_roll_bar"] = field("A spring between two coordinates.", "anti_roll_bar")
    coordinates: Pair[named.Coordinate] = field("The two coordinates, JOINT.coordinate.", ["A.angle", "B.angle"])
    ratios: Pair[Number] = field("Their weights.", [1, 1], default=[1.0, -1.0], validate_default=True)
    stiffness: Number = field("Stiffness [N m/rad or N/m].", 800)
    damping: Number = field("Damping [N m s/rad or N s/m].", 5, default=ZERO)
    natural: AutoNumber = field("Weighted sum without force, or auto: that at the start.", 0, "auto", default="auto")


class Drag(_Force):
    """Aerodynamic drag, F = -1/2 density area c |v| v, v the velocity through the air."""

    is_vector, place = True, "point"
    factors = ("density", "area", "coefficient")

    type: Literal["drag"] = field("Aerodynamic drag.", "drag")
    point: named.Point = field("Where it acts.", "chassis.center_of_mass")
    area: NotNegative = field("Reference area [m^2].", 1.8)
    coefficient: NotNegative = field("Drag coefficient.", 0.35)
    density: NotNegative = field("Density of the air [kg/m^3].", 1.2, default=Number(1.225))
    wind: Vector = field(
        "Velocity of the air, global [m/s].", [-5, 0, 0], default=[0.0, 0.0, 0.0], validate_default=True
    )


class Wing(_Force):
    """Lift and drag of a plate, F = -1/2 density area |v| (drag v + lift_slope (v . n) n), v through the air."""

    is_vector, place, of_one_body = True, "point", (("point", "normal"),)
    factors, sources = ("density", "area"), ("lift_slope", "drag_coefficient")

    type: Literal["wing"] = field("Lift and drag of a wing, a fin or a sail.", "wing")
    point: named.Point = field("Centre of pressure.", "rocket.fins")
    normal: named.Vector = field("Vector across the plate, body.vector.", "rocket.y")
    area: NotNegative = field("Reference area [m^2].", 0.02)
    lift_slope: NotNegative = field("Growth of the lift coefficient with the angle of attack [1/rad].", 5.7)
    drag_coefficient: NotNegative = field("Drag coefficient without angle of attack.", 0.02, default=ZERO)
    density: NotNegative = field("Density of the air, or of water [kg/m^3].", 1.2, default=Number(1.225))
    wind: Vector = field(
        "Velocity of the air, global [m/s].", [-5, 0, 0], default=[0.0, 0.0, 0.0], validate_default=True
    )


class MagicFormula(Spec):
    """|F| = friction N sin(C atan(B |slip|)), along the slip."""

    type: Literal["magic_formula"] = field("Similarity Magic Formula.", "magic_formula")
    B: Positive = field("Stiffness factor.", 8)
    C: Positive = field("Shape factor.", 1.4)


class LinearSlip(Spec):
    """Forces proportional to the slip, that saturate smoothly at friction N."""

    type: Literal["linear"] = field("Linear up to friction.", "linear")
    longitudinal_stiffness: Positive = field("Force a unit of longitudinal slip [N].", 40000)
    lateral_stiffness: Positive = field("Force a unit of lateral slip [N].", 30000)


class Tyre(_Force):
    """A tyre between a wheel and the road."""

    is_vector, place, of_one_body = True, "center", (("center", "axis"),)
    in_example = ("road",)

    type: Literal["tyre"] = field("A tyre.", "tyre")
    center: named.Point = field("Centre of the wheel, body.point.", "wheel.origin")
    axis: named.Vector = field("Spin axis, to the left of a wheel that looks forward, body.vector.", "wheel.y")
    road: RoadOrName | None = optional("The road; left out: a plane at height 0.", "track")
    radius: Positive = field("Unloaded radius [m].", 0.2825)
    stiffness: Positive = field("Vertical stiffness [N/m].", 120000)
    damping: NotNegative = field("Vertical damping [N s/m].", 300, default=ZERO)
    onset: Positive = field("Deflection over which contact sets in [m].", 1e-4, default=Number(1e-4))
    friction: Positive = field("Coefficient of friction.", 0.9)
    slip: Annotated[MagicFormula | LinearSlip, ByType()] = field(
        "Slip forces as functions of the slip.", {"type": "magic_formula", "B": 8, "C": 1.4}
    )
    slow_speed: Positive = field("Rolling speed below which slips are damped [m/s].", 0.1, default=Number(0.1))


class Restitution(Spec):
    """Dissipation that gives a coefficient of restitution at a speed of impact."""

    value: Number = field("Coefficient of restitution, between 0 and 1.", 0.7)
    speed: Positive = field("Speed of impact that it holds for [m/s].", 2.0)
    law: Literal["exact", "flores", "lankarani_nikravesh", "hunt_crossley"] = field(
        "The relation between them: exact for an impact of two free bodies, or a published approximation.",
        "flores",
        default="exact",
    )


class SphereShape(Spec):
    """A sphere; of radius 0 a point."""

    in_example = ("radius",)

    type: Literal["sphere"] = field("A sphere, or a point.", "sphere")
    center: named.Point = field("Centre, body.point.", "ball.origin")
    radius: NotNegative = field("Radius [m].", 0.1, default=ZERO)


class PointsShape(Spec):
    """Points of one body, each of which touches."""

    type: Literal["points"] = field("Points of a body.", "points")
    points: Some[named.Point] = field("The points, body.point.", ["foot.heel", "foot.toe"])


class BoxShape(Spec):
    """Eight corners of a box along the body's axes."""

    type: Literal["box"] = field("Eight corners.", "box")
    center: named.Point = field("Centre, body.point.", "block.origin")
    size: Annotated[Vector, Sign.NOT_NEGATIVE] = field("Edges along the axes of the body [m].", [0.2, 0.1, 0.1])


class RimShape(Spec):
    """A circle, as the edge of a disc; with tube, a torus."""

    type: Literal["rim"] = field("A circle: the edge of a disc, or a wheel.", "rim")
    center: named.Point = field("Centre, body.point.", "disc.origin")
    axis: named.Vector = field("Vector across the circle, body.vector.", "disc.y")
    radius: Positive = field("Radius [m].", 0.3)
    tube: NotNegative = field("Radius of the rounded edge, about the circle [m].", 0.01, default=ZERO)


class CylinderShape(Spec):
    """The two edges of a cylinder."""

    type: Literal["cylinder"] = field("Both edges of a cylinder.", "cylinder")
    center: named.Point = field("Centre, body.point.", "roller.origin")
    axis: named.Vector = field("Vector along the axis, body.vector.", "roller.y")
    radius: Positive = field("Radius [m].", 0.1)
    length: Positive = field("Length [m].", 0.5)


class CapsuleShape(Spec):
    """A cylinder with spheres at its ends."""

    type: Literal["capsule"] = field("A cylinder with round ends.", "capsule")
    center: named.Point = field("Centre, body.point.", "arm.middle")
    axis: named.Vector = field("Vector along the axis, body.vector.", "arm.x")
    radius: Positive = field("Radius [m].", 0.05)
    length: Positive = field("Distance of the centres of its ends [m].", 0.4)


class Plane(Spec):
    """A plane that a body carries."""

    point: named.Point = field("A point in it.", "ground.A")
    normal: named.Vector = field("Vector across it, of the same body.", "ground.z")


class PlaneFace(Plane):
    """A plane; its normal points out of the material."""

    type: Literal["plane"] = field("A plane.", "plane")


class CylinderFace(Spec):
    """A cylinder without ends that is touched from outside."""

    type: Literal["cylinder"] = field("A cylinder without ends.", "cylinder")
    center: named.Point = field("A point on the axis, body.point.", "drum.origin")
    axis: named.Vector = field("Vector along the axis, body.vector.", "drum.y")
    radius: Positive = field("Radius [m].", 0.1)


class RoadFace(Spec):
    """A road that is touched from above, where it is nearest to the centre of a sphere."""

    center: ClassVar[str] = "ground.origin"  # roads stand on the ground

    type: Literal["road"] = field("A road.", "road")
    road: RoadOrName = field("The road, a height along z over x.", "track")


class Impact(Spec):
    """Damping of Adams' IMPACT: damping STEP(d, 0, 0, depth, 1) d' is added to the elastic force."""

    damping: NotNegative = field("Largest damping [N s/m].", 100)
    depth: Positive = field("Penetration from which on the damping is full [m].", 1e-4)


Touching = SphereShape | PointsShape | BoxShape | RimShape | CylinderShape | CapsuleShape
Touched = PlaneFace | SphereShape | CapsuleShape | CylinderFace | RoadFace  # from outside
_BALL = {"type": "sphere", "center": "ball.origin", "radius": 0.1}


class Contact(_Force):
    """Contact of a shape on one body with a face of another, F = stiffness d^exponent (1 + dissipation d')."""

    is_vector = True
    in_example = ("shape", "against", "stiffness", "friction")

    type: Literal["contact"] = field("Two bodies that touch.", "contact")
    shape: Annotated[Touching, ByType()] | None = optional("Touching shape, on the second body; with against.", _BALL)
    against: Annotated[Touched, ByType()] | None = optional(
        "Touched face, of the first body, or a road; with shape.", {"type": "plane", **PLANE}
    )
    center: named.Point | None = optional("Centre of a sphere, body.point; with plane.", "ball.origin")
    radius: NotNegative | None = optional("Radius of the sphere [m]; 0 for a point.", 0.1)
    plane: Plane | None = optional("The plane; its normal points out of the material.", PLANE)
    points: named.Points | None = optional("Centres of two spheres, instead of a plane.", ["cup.C", "ball.origin"])
    radii: Pair[NotNegative] | None = optional("Their radii [m].", [0.2, 0.1])
    law: Literal["compliant", "rigid"] = field(
        "compliant; rigid is reserved, and refused today.", "compliant", default="compliant"
    )
    stiffness: Positive | None = optional("Stiffness [N/m^exponent]; or give youngs_modulus.", 1e6)
    youngs_modulus: Pair[Positive] | None = optional(
        "Both Young's moduli, of the first and the second body [Pa]: stiffness by Hertz.", [210e9, 5e6]
    )
    poisson_ratio: Pair[Number] | None = optional("Their Poisson's ratios.", [0.3, 0.45])
    exponent: Number = field("Exponent of the penetration; 1.5 by Hertz.", 1.5, default=Number(1.5))
    dissipation: NotNegative = field("Dissipation [s/m].", 0.3, default=ZERO)
    restitution: Restitution | None = optional(
        "Dissipation by a coefficient of restitution.", {"value": 0.7, "speed": 2}
    )
    impact: Impact | None = optional("Damping as of Adams' IMPACT.", {"damping": 100, "depth": 1e-4})
    friction: NotNegative = field("Coefficient of dynamic friction.", 0.3, default=ZERO)
    static_friction: NotNegative | None = optional("Of static friction; left out: the dynamic one.", 0.4)
    friction_speed: Positive = field("Sliding speed at which friction is largest [m/s].", 1e-3, default=Number(1e-3))

    @model_validator(mode="after")
    def _complete(self) -> "Contact":
        ways = (
            (self.shape is not None, self.against is not None),
            (self.center is not None, self.radius is not None, self.plane is not None),
            (self.points is not None, self.radii is not None),
        )
        whole = sum(all(way) for way in ways) == 1 and sum(any(way) for way in ways) == 1
        require_one("shape and against, or center, radius and plane, or points and radii", not whole)
        given = self.model_fields_set
        damped = sum(key in given for key in ("restitution", "dissipation", "impact"))
        require_one("dissipation, restitution or impact, one of them", damped > 1)
        elastic = self.youngs_modulus is not None, self.poisson_ratio is not None
        require_one("stiffness, or youngs_modulus with poisson_ratio", elastic[0] != elastic[1])
        require_one("stiffness, or youngs_modulus with poisson_ratio", elastic[0] == (self.stiffness is not None))
        slides = self.friction.literal != 0.0 or self.static_friction is not None
        require_one("friction beside friction_speed", "friction_speed" in given and not slides)
        by_hertz = self.shape is None or self.shape.type == "sphere"
        by_hertz = by_hertz and (self.against is None or self.against.type in ("plane", "sphere"))
        require_one("stiffness: Hertz' formula is that of spheres with planes and spheres", elastic[0] and not by_hertz)
        if self.shape is not None and self.against is not None and self.against.type != "plane":
            spheres = self.shape.type in ("sphere", "points", "box")
            require_one("a shape of type sphere, points or box; others touch planes alone", not spheres)
        return self

    @property
    def touching(self) -> Touching:
        """What touches, as a shape."""
        if self.shape is not None:
            return self.shape
        if self.points is not None and self.radii is not None:
            return SphereShape.model_construct(type="sphere", center=self.points[1], radius=self.radii[1])
        return SphereShape.model_construct(type="sphere", center=self.center, radius=self.radius)

    @property
    def touched(self) -> Touched:
        """What is touched, as a face."""
        if self.against is not None:
            return self.against
        if self.points is not None and self.radii is not None:
            return SphereShape.model_construct(type="sphere", center=self.points[0], radius=self.radii[0])
        assert self.plane is not None  # one of the three is stated
        return PlaneFace.model_construct(type="plane", point=self.plane.point, normal=self.plane.normal)


class BushingLaws(Spec):
    """Laws of a bushing that are added to its stiffness, each of the elongation in its direction."""

    x: LawOrName | None = optional("Force along x by the displacement [N].", "rubber")
    y: LawOrName | None = optional("Force along y by the displacement [N].", "rubber")
    z: LawOrName | None = optional("Force along z by the displacement [N].", "rubber")
    rotation_x: LawOrName | None = optional("Torque about x by the rotation [N m].", "twist")
    rotation_y: LawOrName | None = optional("Torque about y by the rotation [N m].", "twist")
    rotation_z: LawOrName | None = optional("Torque about z by the rotation [N m].", "twist")


_SIX = Annotated[tuple[Number, ...], length(6)]
_SIX_BY_SIX = Annotated[tuple[_SIX, ...], length(6)]
_ZEROS = {"default": [0.0] * 6, "validate_default": True}
_MATRIX = [[1e6 if row == column else 0 for column in range(6)] for row in range(6)]


class Bushing(_Force):
    """Forces in six directions between frames of two bodies: F = preload - K (x - natural) - C x' - laws."""

    is_vector = True
    sources = ("stiffness", "stiffness_matrix", "damping", "damping_matrix", "preload")
    added_laws = ("laws",)
    in_example = ("stiffness", "damping")

    type: Literal["bushing"] = field("An elastic mount between two bodies.", "bushing")
    points: named.Points = field("Origins of the two frames, body.point.", ["frame.mount", "engine.mount"])
    axis: named.Vectors | None = optional(
        "Vectors along the z axes of the two frames; left out: the axes of the first body, and of the second body "
        "those that are parallel in the design position.",
        ["frame.z", "engine.z"],
    )
    reference: named.Vectors | None = optional(
        "Vectors that the x axes of the two frames are nearest to.", ["frame.x", "engine.x"]
    )
    stiffness: _SIX | None = optional(
        "Stiffness along x, y, z [N/m] and about x, y, z [N m/rad] of the first frame.", [1e6, 1e6, 2e5, 500, 500, 200]
    )
    stiffness_matrix: _SIX_BY_SIX | None = optional("A symmetric matrix instead, by rows.", _MATRIX)
    damping: _SIX | None = optional("Damping in the same order [N s/m, N m s/rad].", [100, 100, 50, 1, 1, 1])
    damping_matrix: _SIX_BY_SIX | None = optional("A symmetric matrix instead, by rows.", _MATRIX)
    natural: _SIX = field(
        "Displacement [m] and rotation vector [rad] without elastic force.", [0, 0, 0.01, 0, 0, 0], **_ZEROS
    )
    preload: _SIX = field("Constant force [N] and torque [N m] on the second body.", [0, 0, -50, 0, 0, 0], **_ZEROS)
    laws: BushingLaws | None = optional("Further forces as laws of the elongations.", {"z": "rubber"})

    @model_validator(mode="after")
    def _complete(self) -> "Bushing":
        for key in ("stiffness", "damping"):
            both = getattr(self, key) is not None and getattr(self, f"{key}_matrix") is not None
            require_one(f"{key} or {key}_matrix, not both", both)
        require_one("axis with reference", self.reference is not None and self.axis is None)
        return self


Force = Annotated[
    SpringDamper
    | RotationalSpringDamper
    | AppliedForce
    | AppliedTorque
    | ViscousFriction
    | Drive
    | BumpStop
    | AntiRollBar
    | Drag
    | Wing
    | Tyre
    | Contact
    | Bushing,
    ByType(),
]


# Cables.


class Pulley(Spec):
    """A pulley of a body that a cable runs over."""

    center: named.Point = field("Centre, body.point.", "block.origin")
    axis: named.Vector = field("Vector along its axis, of the same body.", "block.z")
    radius: Positive = field("Radius of the middle of the cable [m].", 0.1)
    turn: Literal["positive", "negative"] = field(
        "How the path goes round: positive by the right hand about the axis.", "negative", default="positive"
    )
    turns: Annotated[int, Field(ge=0, le=100)] = field("Full turns beside the wrap of the path.", 1, default=0)


_PATH = ["ground.A", {"center": "block.origin", "axis": "block.z", "radius": 0.1}, "ground.B"]


class Cable(Spec):
    """A cable: elastic with a stiffness, of constant length without one."""

    path: Several[Annotated[named.Point | Pulley, ByKind()]] = field(
        "Points (body.name) and pulleys, from end to end.", _PATH
    )
    stiffness: Positive | None = optional(
        "Stiffness of the whole cable [N/m]; that of the material, E A, over its length. Left out: constant length.",
        1e5,
    )
    damping: NotNegative = field("Damping [N s/m].", 50, default=ZERO)
    length: AutoExpression = field(
        "Length without tension [m]; an expression of the motion: a winch. Of a constant length also auto: that of "
        "the start.",
        "6 - reel(t)",
        4.2,
    )
    law: LawOrName | None = optional("Law of time that is added to a constant length [m].", "reel")
    winds: dict[named.Coordinate, Number] = field(
        "Length [m/rad or 1] of a constant-length cable that each coordinate of a drum winds up, by JOINT.coordinate.",
        {"drum.angle": 0.1},
        default_factory=dict,
    )
    rate: Expression | None = optional(
        "Time derivative of the length [m/s], where that is an expression; the winch is at the first end.", "-0.2"
    )
    friction: NotNegative = field("Coefficient of friction on pulleys.", 0.1, default=ZERO)
    velocity: Positive = field(
        "Speed of sliding over which friction changes its sign [m/s].", 0.01, default=Number(0.01)
    )
    onset: Positive = field("Elongation over which tension sets in [m].", 1e-4, default=Number(1e-4))
    description: named.Text | None = description()

    @model_validator(mode="after")
    def _ends(self) -> "Cable":
        ends = [end for end in (self.path[0], self.path[-1]) if isinstance(end, Pulley)]
        require_one("points as ends: a cable ends at points, and pulleys stand between them", bool(ends))
        between = any(isinstance(each, Pulley) for each in self.path)
        require_one("a pulley in the path beside friction", self.friction.literal != 0.0 and not between)
        require_one("friction beside velocity", "velocity" in self.model_fields_set and self.friction.literal == 0.0)
        for key in ("damping", "rate", "friction", "onset"):
            require_one(f"stiffness beside {key}", self.stiffness is None and key in self.model_fields_set)
        for key in ("law", "winds"):
            message = f"no {key} beside stiffness: the length of an elastic cable may be an expression"
            require_one(message, self.stiffness is not None and key in self.model_fields_set)
        return self
