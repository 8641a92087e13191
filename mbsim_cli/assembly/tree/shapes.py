"""Centre and central inertia of homogeneous shapes."""

from typing import Any

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.vectors import Scalar, Vector

Inertia = tuple[Scalar, ...]  # six: xx yy zz xy xz yz
_AXES = {"x": 0, "y": 1, "z": 2}


def shape_center(numbers: Numbers, shape: Any) -> Vector:
    """Centre of a shape in body axes: as given, else half way along a rod or cylinder, else the origin."""
    center = getattr(shape, "center", None)
    if center is not None:
        return numbers.vector(center)
    if shape.type in ("rod", "cylinder"):
        half = 0.5 * numbers(shape.length)
        return tuple(half if axis == _AXES[shape.axis or "x"] else 0.0 for axis in range(3))
    return (0.0, 0.0, 0.0)


def shape_inertia(numbers: Numbers, shape: Any, mass: Scalar) -> Inertia:
    """Central inertia of a homogeneous shape."""
    if shape.type in ("rod", "cylinder"):
        length = numbers(shape.length)
        radius = numbers(shape.radius) if shape.type == "cylinder" else 0.0
        across = mass * (length * length + 3.0 * radius * radius) / 12.0
        along = 0.5 * mass * radius * radius
        return (*(along if axis == _AXES[shape.axis or "x"] else across for axis in range(3)), 0.0, 0.0, 0.0)
    if shape.type == "box":
        a, b, c = (side * side for side in numbers.vector(shape.size))
        return (mass * (b + c) / 12.0, mass * (a + c) / 12.0, mass * (a + b) / 12.0, 0.0, 0.0, 0.0)
    if shape.type == "sphere":
        radius = numbers(shape.radius)
        return (0.4 * mass * radius * radius,) * 3 + (0.0, 0.0, 0.0)
    return (0.0,) * 6
