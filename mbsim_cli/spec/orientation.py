"""Orientations: how the axes of a body stand in other axes."""

# mypy: disable-error-code="valid-type"
# fields are typed by calls that build what pydantic reads

from pydantic import model_validator

from mbsim_cli.spec.base import Matrix, Spec, Vector, field, fixed_list, require_one
from mbsim_cli.spec.expressions.number import Number


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
