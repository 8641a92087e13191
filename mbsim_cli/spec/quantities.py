"""Quantities of a model file: points, orientations, parameters and materials."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from mbsim_cli.spec.base import Matrix, Spec, Vector, description, field, fixed_list, require_one
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import Unit

# Points and vectors: what bodies carry, in their own axes or in the design position.


class DesignPoint(Spec):
    """A hardpoint: one global position in the design position, shared by several bodies."""

    design: Vector = field("Global position with all bodies in their design pose [m].", [0.88, 0.56, 0.36])
    bodies: list[str] = field("Bodies that carry the point.", ["knuckle", "upper_arm"], min_length=1)


class DesignVector(Spec):
    """A direction given once in global axes in the design position."""

    design: Vector = field("Global components with all bodies in their design pose.", [0, 0, 1])
    bodies: list[str] = field("Bodies that carry the vector.", ["knuckle", "upper_arm"], min_length=1)


def _way(value: Any) -> str:
    given = (isinstance(value, dict) and "design" in value) or isinstance(value, DesignPoint | DesignVector)
    return "<design>" if given else "<local>"


_Local = Annotated[
    dict[str, Vector],
    Field(min_length=1, description="Local coordinates in each body.", examples=[{"bar": [0.5, 0, 0]}]),
]
Point = Annotated[Annotated[DesignPoint, Tag("<design>")] | Annotated[_Local, Tag("<local>")], Discriminator(_way)]
VectorSpec = Annotated[
    Annotated[DesignVector, Tag("<design>")] | Annotated[_Local, Tag("<local>")], Discriminator(_way)
]


# Orientations: how the axes of a body stand in other axes.

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads


class Orientation(Spec):
    """A rotation, given in one of three ways."""

    axis: Vector | None = field("Axis of rotation, of any length; stands with angle.", [0, 0, 1], default=None)
    angle: Number | None = field("Angle about the axis [rad].", "90 deg", default=None)
    euler_parameters: fixed_list(Number, 4) | None = field(
        "Euler parameters e0, e1, e2, e3, of unit length.", [1, 0, 0, 0], default=None
    )
    rotation_matrix: Matrix | None = field(
        "Matrix by rows; its columns are the axes of the body.", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], default=None
    )

    @model_validator(mode="after")
    def _one_way(self) -> "Orientation":
        if (self.axis is None) != (self.angle is None):
            require_one("axis and angle together", wrong=True)
        require_one(
            "axis with angle, euler_parameters or rotation_matrix",
            wrong=sum(x is not None for x in (self.axis, self.euler_parameters, self.rotation_matrix)) != 1,
        )
        return self


# Parameters: numbers with a name that gradients are taken with respect to.

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads


class Parameter(Spec):
    """A design parameter."""

    value: Number = field("Nominal value, a number or an expression of other names.", 1.0, "sqrt(2)")
    unit: Unit = field("SI unit, for tables and result files; values are SI.", "m", "kg", default="")
    bounds: fixed_list(Number, 2) | None = field("Lower and upper limit.", [0.5, 2.0], default=None)
    description: str | None = description()


def _spelled_out(value: Any) -> Any:
    return value if isinstance(value, dict | Parameter) else {"value": value}


ParameterOrValue = Annotated[Parameter, BeforeValidator(_spelled_out, json_schema_input_type=Parameter | Number)]


# Materials of flexible bodies.

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads


class Material(Spec):
    """A linear elastic material, the same in all directions."""

    youngs_modulus: Number = field("Young's modulus [Pa].", 2.1e11)
    poisson_ratio: Number = field("Poisson's ratio.", 0.3)
    density: Number = field("Density [kg/m^3].", 7850)
    description: str | None = description()
