"""Forces of contact and of the air: tyres, contacts, bushings, drag and wings."""

from typing import Annotated, ClassVar, Literal

from mbsim_cli.spec.base import ByType, Spec, complete, field, named, optional, require_one
from mbsim_cli.spec.constraints import Plane
from mbsim_cli.spec.expressions.number import NotNegative, Number, Pair, Positive, Sign, Some, Vector, length
from mbsim_cli.spec.families import LawOrName, RoadOrName
from mbsim_cli.spec.forces import AnyForce

PLANE = {"point": "ground.origin", "normal": "ground.z"}


class Drag(AnyForce):
    """Aerodynamic drag, F = -1/2 density area c |v| v, v the velocity through the air."""

    is_vector, place = True, "point"
    factors = ("density", "area", "coefficient")

    type: Literal["drag"] = field("Aerodynamic drag.", "drag")
    point: named.Point = field("Where it acts.", "chassis.center_of_mass")
    area: NotNegative = field("Reference area [m^2].", 1.8)
    coefficient: NotNegative = field("Drag coefficient.", 0.35)
    density: NotNegative = field("Density of the air [kg/m^3].", 1.2, default=1.225)
    wind: Vector = field("Velocity of the air, global [m/s].", [-5, 0, 0], default=[0.0, 0.0, 0.0])


class Wing(AnyForce):
    """Lift and drag of a plate, F = -1/2 density area |v| (drag v + lift_slope (v . n) n), v through the air."""

    is_vector, place, of_one_body = True, "point", (("point", "normal"),)
    factors, sources = ("density", "area"), ("lift_slope", "drag_coefficient")

    type: Literal["wing"] = field("Lift and drag of a wing, a fin or a sail.", "wing")
    point: named.Point = field("Centre of pressure.", "rocket.fins")
    normal: named.Vector = field("Vector across the plate, body.vector.", "rocket.y")
    area: NotNegative = field("Reference area [m^2].", 0.02)
    lift_slope: NotNegative = field("Growth of the lift coefficient with the angle of attack [1/rad].", 5.7)
    drag_coefficient: NotNegative = field("Drag coefficient without angle of attack.", 0.02, default=0.0)
    density: NotNegative = field("Density of the air, or of water [kg/m^3].", 1.2, default=1.225)
    wind: Vector = field("Velocity of the air, global [m/s].", [-5, 0, 0], default=[0.0, 0.0, 0.0])


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


class Tyre(AnyForce):
    """A tyre between a wheel and the road."""

    is_vector, place, of_one_body = True, "center", (("center", "axis"),)
    in_example = ("road",)

    type: Literal["tyre"] = field("A tyre.", "tyre")
    center: named.Point = field("Centre of the wheel, body.point.", "wheel.origin")
    axis: named.Vector = field("Spin axis, to the left of a wheel that looks forward, body.vector.", "wheel.y")
    road: RoadOrName | None = optional("The road; left out: a plane at height 0.", "track")
    radius: Positive = field("Unloaded radius [m].", 0.2825)
    stiffness: Positive = field("Vertical stiffness [N/m].", 120000)
    damping: NotNegative = field("Vertical damping [N s/m].", 300, default=0.0)
    onset: Positive = field("Deflection over which contact sets in [m].", 1e-4, default=1e-4)
    friction: Positive = field("Coefficient of friction.", 0.9)
    slip: Annotated[MagicFormula | LinearSlip, ByType()] = field(
        "Slip forces as functions of the slip.", {"type": "magic_formula", "B": 8, "C": 1.4}
    )
    slow_speed: Positive = field("Rolling speed below which slips are damped [m/s].", 0.1, default=0.1)


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
    radius: NotNegative = field("Radius [m].", 0.1, default=0.0)


class PointsShape(Spec):
    """Points of one body, each of which touches."""

    type: Literal["points"] = field("Points of a body.", "points")
    points: Some[named.Point] = field("The points, body.point.", ["foot.heel", "foot.toe"])


class BoxShape(Spec):
    """Eight corners of a box along the body's axes."""

    type: Literal["box"] = field("Eight corners.", "box")
    center: named.Point = field("Centre, body.point.", "block.origin")
    size: Annotated[Vector, Sign.NOT_NEGATIVE] = field("Edges along the axes of the body [m].", [0.2, 0.1, 0.1])


class _Round(Spec):
    center: named.Point = field("Centre, body.point; of a cylinder without ends a point on the axis.", "roller.origin")
    axis: named.Vector = field("Vector along the axis, perpendicular to the circle of a rim, body.vector.", "roller.y")
    radius: Positive = field("Radius [m].", 0.1)


class RimShape(_Round):
    """A circle, as the edge of a disc; with tube, a torus."""

    type: Literal["rim"] = field("A circle: the edge of a disc, or a wheel.", "rim")
    tube: NotNegative = field("Radius of the rounded edge, about the circle [m].", 0.01, default=0.0)


class CylinderShape(_Round):
    """The two edges of a cylinder."""

    type: Literal["cylinder"] = field("Both edges of a cylinder.", "cylinder")
    length: Positive = field("Length [m].", 0.5)


class CapsuleShape(_Round):
    """A cylinder with spheres at its ends."""

    type: Literal["capsule"] = field("A cylinder with round ends.", "capsule")
    length: Positive = field("Distance of the centres of its ends [m].", 0.4)


class PlaneFace(Plane):
    """A plane; its normal points out of the material."""

    type: Literal["plane"] = field("A plane.", "plane")


class CylinderFace(_Round):
    """A cylinder without ends that is touched from outside."""

    type: Literal["cylinder"] = field("A cylinder without ends.", "cylinder")


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


class Contact(AnyForce):
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
    exponent: Number = field("Exponent of the penetration; 1.5 by Hertz.", 1.5, default=1.5)
    dissipation: NotNegative = field("Dissipation [s/m].", 0.3, default=0.0)
    restitution: Restitution | None = optional(
        "Dissipation by a coefficient of restitution.", {"value": 0.7, "speed": 2}
    )
    impact: Impact | None = optional("Damping as of Adams' IMPACT.", {"damping": 100, "depth": 1e-4})
    friction: NotNegative = field("Coefficient of dynamic friction.", 0.3, default=0.0)
    static_friction: NotNegative | None = optional("Of static friction; left out: the dynamic one.", 0.4)
    friction_speed: Positive = field("Sliding speed at which friction is largest [m/s].", 1e-3, default=1e-3)

    @complete
    def _complete(self) -> None:
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

    @property
    def touching(self) -> Touching:
        """The shape that touches."""
        if self.shape is not None:
            return self.shape
        if self.points is not None and self.radii is not None:
            return SphereShape.model_construct(type="sphere", center=self.points[1], radius=self.radii[1])
        return SphereShape.model_construct(type="sphere", center=self.center, radius=self.radius)

    @property
    def touched(self) -> Touched:
        """The face that is touched."""
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
_ZEROS = [0.0] * 6
_MATRIX = [[1e6 if row == column else 0 for column in range(6)] for row in range(6)]


class Bushing(AnyForce):
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
        "Displacement [m] and rotation vector [rad] without elastic force.", [0, 0, 0.01, 0, 0, 0], default=_ZEROS
    )
    preload: _SIX = field(
        "Constant force [N] and torque [N m] on the second body.", [0, 0, -50, 0, 0, 0], default=_ZEROS
    )
    laws: BushingLaws | None = optional("Further forces as laws of the elongations.", {"z": "rubber"})

    @complete
    def _complete(self) -> None:
        for key in ("stiffness", "damping"):
            both = getattr(self, key) is not None and getattr(self, f"{key}_matrix") is not None
            require_one(f"{key} or {key}_matrix, not both", both)
        require_one("axis with reference", self.reference is not None and self.axis is None)


ContactForce = Drag | Wing | Tyre | Contact | Bushing
