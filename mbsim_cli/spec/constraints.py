"""Constraints beyond joints. Points and vectors are written body.name."""

from typing import Annotated, ClassVar, Literal

from mbsim_cli.spec.base import ByType, Described, Spec, complete, field, named, optional, require_one
from mbsim_cli.spec.expressions.number import AutoNumber, Number
from mbsim_cli.spec.families import LawOrName


class _Constraint(Described):
    stands_for: ClassVar[str] = ""  # part, touch or length of a cable, where it is made for one and stands in no file


class Distance(_Constraint):
    """The distance of two points is given."""

    type: Literal["distance"] = field("Distance of two points.", "distance")
    points: named.Points = field("The two points.", ["ground.B", "A1.P1"])
    distance: AutoNumber = field("Distance [m], or auto: as it is at the start.", 1.5, "auto", default="auto")
    law: LawOrName | None = optional("Law of time that is added [m].", "pull")


class Angle(_Constraint):
    """The angle between two vectors is given."""

    type: Literal["angle"] = field("Angle between two vectors.", "angle")
    vectors: named.Vectors = field("From the first vector to the second.", ["ground.x", "A1.x"])
    axis: named.Vector = field("Vector that the angle is positive about.", "ground.z")
    angle: AutoNumber = field("Angle [rad], or auto: as it is at the start.", "30 deg", "auto", default="auto")
    law: LawOrName | None = optional("Law of time that is added [rad].", "swing")


class Line(Spec):
    """A line that a body carries."""

    point: named.Point = field("A point on it.", "ground.A")
    direction: named.Vector = field("Vector along it, of the same body.", "ground.x")


class PointOnLine(_Constraint):
    """A point stays on a line."""

    type: Literal["point_on_line"] = field("A point stays on a line.", "point_on_line")
    point: named.Point = field("The point.", "slider.P")
    line: Line = field("The line.", {"point": "ground.A", "direction": "ground.x"})


class Plane(Spec):
    """A plane that a body carries."""

    point: named.Point = field("A point in it.", "ground.A")
    normal: named.Vector = field("Vector across it, of the same body.", "ground.z")


class PointOnPlane(_Constraint):
    """A point stays in a plane, or at a given distance from it."""

    type: Literal["point_on_plane"] = field("A point's distance from a plane.", "point_on_plane")
    point: named.Point = field("The point.", "slider.P")
    plane: Plane = field("The plane.", {"point": "ground.A", "normal": "ground.z"})
    distance: AutoNumber = field(
        "Distance from it along the normal [m], or auto: as it is at the start.", 0.1, "auto", default=0.0
    )
    law: LawOrName | None = optional("Law of time that is added [m].", "lift")


class Coupling(_Constraint):
    """A weighted sum of joint coordinates is given, or one follows another by a law: cams, non-circular gears."""

    in_example = ("of", "by", "law")

    type: Literal["coupling"] = field("A weighted sum of coordinates, or a law between two.", "coupling")
    terms: dict[named.Coordinate, Number] | None = optional(
        "Coefficient of each coordinate, JOINT.coordinate.",
        {"wheel.angle": 1, "rack.displacement": "-1/r"},
        min_length=1,
    )
    of: named.Coordinate | None = optional("The coordinate that follows, JOINT.coordinate.", "follower.displacement")
    by: named.Coordinate | None = optional("The coordinate that it follows, JOINT.coordinate.", "cam.angle")
    law: LawOrName | None = optional("Function that gives the coordinate under of from the one under by.", "profile")
    offset: AutoNumber = field(
        "Value of the sum, or constant added to the law; auto, the default of sums: its value at the start.",
        0,
        "auto",
        default="auto",
    )

    @complete
    def _sum_or_law(self) -> None:
        given = [name for name in ("of", "by", "law") if getattr(self, name) is not None]
        require_one("terms, or of, by and law", (self.terms is None) == (not given) or len(given) not in (0, 3))

    @property
    def factors(self) -> dict[str, Number]:
        """Coefficient of each coordinate that takes part; those of a law count one."""
        if self.terms is not None:
            return self.terms
        assert self.of is not None and self.by is not None  # see ``_sum_or_law``
        return {self.of: Number(1.0), self.by: Number(1.0)}

    @property
    def target(self) -> Number | str:
        """The offset of a law: none, if it is left out."""
        return self.offset if "offset" in self.model_fields_set else Number(0.0)


class _Ratio(_Constraint):
    of: named.Coordinate = field("The coordinate that follows, JOINT.coordinate.", "wheel.angle")
    by: named.Coordinate = field("The coordinate that it follows, JOINT.coordinate.", "pinion.angle")
    offset: AutoNumber = field(
        "Constant added to the product; auto: its value at the start.", 0, "auto", default="auto"
    )
    factor: ClassVar[tuple[str, str]]  # key of the number, and how the factor is made of it

    @property
    def factors(self) -> dict[str, Number]:
        """The weighted sum that equals the offset."""
        key, form = self.factor
        number = getattr(self, key)
        text = number.text if number.literal is None else repr(number.literal)
        return {self.of: Number(1.0), self.by: Number(form.format(text))}


class Gear(_Ratio):
    """One coordinate is a multiple of another: of = ratio by + offset."""

    factor: ClassVar[tuple[str, str]] = ("ratio", "-({})")
    type: Literal["gear"] = field("One angle is a multiple of another.", "gear")
    ratio: Number = field("The multiple; negative where both turn against each other.", -0.25)


class Rack(_Ratio):
    """A displacement is a radius times an angle: of = radius by + offset."""

    factor: ClassVar[tuple[str, str]] = ("radius", "-({})")
    type: Literal["rack"] = field("A rack on a pinion, or a rope on a drum.", "rack")
    radius: Number = field("Radius of the pinion [m]; negative for the other side.", 0.02)


class Screw(_Ratio):
    """A displacement is a pitch times turns: of = pitch by/(2 pi) + offset."""

    factor: ClassVar[tuple[str, str]] = ("pitch", "-({})/(2*pi)")
    type: Literal["screw"] = field("A nut on a screw.", "screw")
    pitch: Number = field("Displacement by one turn [m]; negative for a left-hand thread.", 0.002)


class Motion(_Constraint):
    """A joint coordinate follows a law of time."""

    type: Literal["motion"] = field("A coordinate follows a law.", "motion")
    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "crank.angle")
    law: LawOrName = field("Law of time.", {"type": "polynomial", "coefficients": [0, 10]})
    offset: AutoNumber = field(
        "Constant added to the law [m or rad]; auto: the law begins where the coordinate starts.",
        0.1,
        "auto",
        default=0.0,
    )


class CablePart(Distance):
    """The distance of two points of a cable, which equals a coordinate; not in files."""

    stands_for: ClassVar[str] = "part"

    coordinate: named.Coordinate = field("The coordinate, JOINT.coordinate.", "rope_1.length")


class CableTouch(PointOnPlane):
    """A straight part of a cable is perpendicular to the arm where it touches a pulley; not in files."""

    stands_for: ClassVar[str] = "touch"


class CableLength(Coupling):
    """The sum of the parts of a cable and of what coordinates wind up, by a law of time; not in files."""

    stands_for: ClassVar[str] = "length"

    winch: LawOrName | None = optional("Law of time that is added [m].", "reel")


Constraint = Annotated[
    Distance | Angle | PointOnLine | PointOnPlane | Coupling | Gear | Rack | Screw | Motion, ByType()
]
