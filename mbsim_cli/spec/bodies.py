"""Bodies and what they refer to: points, vectors, orientations, parameters; masses, shapes, poses."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from mbsim_cli.spec.base import ByKind, ByType, Described, Spec, field, named, needs, one_of, optional
from mbsim_cli.spec.expressions.number import (
    Many,
    Matrix,
    NotNegative,
    Number,
    Pair,
    Positive,
    Sign,
    Some,
    Vector,
    length,
)
from mbsim_cli.spec.expressions.units import Unit
from mbsim_cli.spec.families import Flexible

# Points and vectors: what bodies carry, in their own axes or in the design position.


class DesignPoint(Spec):
    """A hardpoint: one global position in the design position, shared by several bodies."""

    design: Vector = field("Global position with all bodies in their design pose [m].", [0.88, 0.56, 0.36])
    bodies: Some[named.Body] = field("Bodies that carry the point.", ["knuckle", "upper_arm"])


class DesignVector(Spec):
    """A direction given once in global axes in the design position."""

    design: Vector = field("Global components with all bodies in their design pose.", [0, 0, 1])
    bodies: Some[named.Body] = field("Bodies that carry the vector.", ["knuckle", "upper_arm"])


def _way(value: object) -> str:
    given = (isinstance(value, dict) and "design" in value) or isinstance(value, DesignPoint | DesignVector)
    return "<design>" if given else "<local>"


_EXAMPLE: Any = {"description": "Local coordinates in each body.", "examples": [{"bar": [0.5, 0, 0]}]}
_LOCAL = Field(min_length=1, **_EXAMPLE)
Point = Annotated[
    Annotated[DesignPoint, Tag("<design>")] | Annotated[dict[named.Body, Vector], _LOCAL, Tag("<local>")],
    Discriminator(_way),
]
VectorSpec = Annotated[
    Annotated[DesignVector, Tag("<design>")] | Annotated[dict[named.Carrier, Vector], _LOCAL, Tag("<local>")],
    Discriminator(_way),
]


class Orientation(Spec):
    """A rotation, given in one of three ways."""

    axis: Vector | None = optional("Axis of rotation, of any length; stands with angle.", [0, 0, 1])
    angle: Number | None = optional("Angle about the axis [rad].", "90 deg")
    euler_parameters: Annotated[tuple[Number, ...], length(4)] | None = optional(
        "Four Euler parameters e0, e1, e2, e3, of unit length.", [1, 0, 0, 0]
    )
    rotation_matrix: Matrix | None = optional(
        "Matrix by rows; its columns are the axes of the body.", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    )

    _together = needs("axis and angle together", lambda item: (item.axis is None) != (item.angle is None))
    _one_way = one_of(
        "axis with angle, euler_parameters or rotation_matrix", "axis", "euler_parameters", "rotation_matrix"
    )


class Parameter(Described):
    """A design parameter."""

    value: Number = field("Nominal value, a number or an expression of other names.", 1.0, "sqrt(2)")
    unit: Unit = field("SI unit, for tables and result files; values are SI.", "m", "kg", default="")
    bounds: Pair[Number] | None = optional("Lower and upper limit.", [0.5, 2.0])


_SPELLED_OUT = BeforeValidator(
    lambda value: value if isinstance(value, dict | Parameter) else {"value": value},
    json_schema_input_type=Parameter | Number,
)
ParameterOrValue = Annotated[Parameter, _SPELLED_OUT]


# Shapes: uniform solids that give a body its mass, centre of mass and inertia.


class _Shape(Spec):
    in_example = ("mass",)

    mass: NotNegative | None = optional("Mass [kg]; may stand in the body instead.", 1.5)
    center: Vector | None = optional("Centre of the shape in the body's axes [m].", [0.5, 0, 0])


class _Long(_Shape):
    length: Positive = field("Length along the axis [m]; the centre lies half way by default.", "L_12")
    axis: Literal["x", "y", "z"] = field("Axis of the body that the shape lies along.", "x", default="x")


class Rod(_Long):
    """A slender uniform rod: m L^2 / 12 across, nothing about its own axis."""

    type: Literal["rod"] = field("A slender rod.", "rod")


class Cylinder(_Long):
    """A solid circular cylinder."""

    type: Literal["cylinder"] = field("A solid cylinder.", "cylinder")
    radius: Positive = field("Radius [m].", 0.1)


class Box(_Shape):
    """A solid cuboid, centred at the origin by default."""

    type: Literal["box"] = field("A solid cuboid.", "box")
    size: Annotated[Vector, Sign.POSITIVE] = field("Edge lengths along x, y and z [m].", [1.0, 0.2, 0.1])


class Sphere(_Shape):
    """A solid sphere, centred at the origin by default."""

    type: Literal["sphere"] = field("A solid sphere.", "sphere")
    radius: Positive = field("Radius [m].", 0.1)


class PointMass(_Shape):
    """A mass without extension, at the origin by default."""

    type: Literal["point_mass"] = field("A point mass.", "point_mass")


Shape = Annotated[Rod | Cylinder | Box | Sphere | PointMass, ByType()]


class Inertia(Spec):
    """Inertia tensor by its entries; what is not given is zero."""

    xx: Number | None = optional("Moment of inertia about x [kg m^2].", 0.1)
    yy: Number | None = optional("Moment of inertia about y [kg m^2].", 0.1)
    zz: Number | None = optional("Moment of inertia about z [kg m^2].", "m*L**2/12")
    xy: Number | None = optional("Entry xy of the tensor, minus the product of inertia [kg m^2].", 0.0)
    xz: Number | None = optional("Entry xz of the tensor, minus the product of inertia [kg m^2].", 0.0)
    yz: Number | None = optional("Entry yz of the tensor, minus the product of inertia [kg m^2].", 0.0)


def _rows(value: Any) -> Any:
    if isinstance(value, list) and value and not any(isinstance(row, list) for row in value):
        text, hint = "must be three rows", "three moments are written {xx: ..., yy: ..., zz: ...}"
        raise PydanticCustomError("combination", "{text}", {"text": text, "hint": hint})
    return value


SURFACES = (".stl", ".obj")  # files of surfaces that pictures read


class Visual(Spec):
    """A surface that pictures show of a body; it has no part in the mechanics."""

    mesh: named.File = field("Triangles (.stl or .obj), relative to the model file.", "meshes/arm.stl")
    scale: Vector | None = optional("Factors on the coordinates in the file; default 1.", [0.001, 0.001, 0.001])
    position: Vector | None = optional("Place of the file's origin in the body's axes [m].", [0, 0, 0.1])
    orientation: Orientation | None = optional(
        "Axes of the file in those of the body.", {"axis": [0, 0, 1], "angle": "90 deg"}
    )


class Massive(Spec):
    """Mass and inertia of a rigid body."""

    mass: NotNegative | None = optional("Mass [kg]; default the shape's, or 0.", 1.5, "m_A1")
    center_of_mass: Annotated[named.OwnPoint | Vector, ByKind()] | None = optional(
        "Centre of mass in the body's axes [m], or a point of the body; default the shape's, or the origin.",
        [0.5, 0, 0],
        "G",
    )
    inertia: Annotated[Inertia | Annotated[Matrix, BeforeValidator(_rows)], ByKind()] | None = optional(
        "Inertia tensor in the body's axes [kg m^2]: entries by name, or three rows; default the shape's, or 0.",
        {"zz": "1/6"},
    )
    inertia_about: named.OwnPoint = field(
        "Point that the inertia is stated about: center_of_mass, origin, or a point of the body.",
        "center_of_mass",
        "origin",
        default="center_of_mass",
    )
    shape: Shape | None = optional(
        "Uniform solid; gives mass, centre of mass and inertia where the body does not state them.",
        {"type": "rod", "length": 1, "mass": 1.5},
    )


class Body(Massive, Described):
    """A body, rigid unless it says how it deforms; a rigid one without a mass is a massless link."""

    flexible: Flexible | None = optional(
        "How the body deforms; its mesh or file gives mass and inertia.", {"sid": "boom.SID_FEM", "length_unit": "mm"}
    )
    visuals: Many[Visual] = field("Surfaces that pictures show of the body.", [{"mesh": "meshes/arm.stl"}], default=())
    position: Vector | None = optional("Design position of the origin, global [m].", [0, 0, 0])
    orientation: Orientation | None = optional(
        "Design orientation of the body's axes.", {"axis": [0, 0, 1], "angle": "45 deg"}
    )
