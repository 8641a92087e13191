"""Geometry of bodies: shapes, points, frames, and what mass and inertia follow from them."""

from collections.abc import Mapping
from typing import Any

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    dot,
    subtract,
    transpose,
)
from mbsim_cli.assembly.tree.frames import about_axis, normalised, orthonormalised, rotation_matrix
from mbsim_cli.assembly.tree.topology import GROUND_NAME
from mbsim_cli.spec.model_file import ModelFile

# Centre and central inertia of homogeneous shapes.

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


# Design poses of bodies and local coordinates of the points and vectors that a model names.

_BODY_AXES = {"x": IDENTITY[0], "y": IDENTITY[1], "z": IDENTITY[2]}


def _is_design(spec: Any) -> bool:
    """Whether a point or vector is given in the design position."""
    return not isinstance(spec, Mapping)


def carries(spec: Any, body: str) -> bool:
    """Whether a body carries a point or vector of the model file (None: it is not in the file)."""
    if spec is None:
        return False
    return body in spec.bodies if _is_design(spec) else body in spec or "all" in spec


def split(reference: str) -> tuple[str, str]:
    """Body and name of "body.name"."""
    body, _, name = reference.partition(".")
    return body, name


class Geometry:
    """Reads positions from the model file; every answer follows the numbers, complex step included."""

    def __init__(self, numbers: Numbers, model_file: ModelFile, nodes: Mapping[str, Any] | None = None):
        """``nodes`` are the bodies that stand for places on bodies that deform, see ``elastic.NodeJoint``."""
        self.numbers, self._nodes = numbers, nodes or {}
        self.bodies, self.points, self.vectors = model_file.bodies, model_file.points, model_file.vectors

    def _carrier(self, body: str) -> str:
        """The body that deforms, of a place on it."""
        return self._nodes[body].body.name if body in self._nodes else body

    def has_pose(self, body: str) -> bool:
        """Whether the file states where the body is in the design position."""
        spec = self.bodies.get(self._carrier(body))
        return spec is not None and (spec.position is not None or spec.orientation is not None)

    def position(self, body: str) -> Vector:
        """Design position of a body's origin, global."""
        if body in self._nodes:
            carrier = self._carrier(body)
            return add(self.position(carrier), apply(self.orientation(carrier), self._nodes[body].place()))
        spec = self.bodies.get(body)
        return ZERO if spec is None or spec.position is None else self.numbers.vector(spec.position)

    def orientation(self, body: str) -> Matrix:
        """Design orientation: body axes to global axes."""
        spec = self.bodies.get(self._carrier(body))
        return IDENTITY if spec is None or spec.orientation is None else self.rotation(spec.orientation)

    def rotation(self, orientation: Any) -> Matrix:
        """Rotation matrix of an orientation as the file states it."""
        if orientation.euler_parameters is not None:
            return rotation_matrix(normalised(self.numbers.vector(orientation.euler_parameters)))
        if orientation.rotation_matrix is not None:
            rows = tuple(self.numbers.vector(row) for row in orientation.rotation_matrix)
            # columns are the body's axes: make those orthonormal
            return transpose(orthonormalised(transpose(rows)))
        return about_axis(self.numbers.vector(orientation.axis), self.numbers(orientation.angle))

    def point(self, body: str, name: str) -> Vector:
        """Local coordinates of a body's point."""
        if body in self._nodes:
            return ZERO
        spec = self.points.get(name)
        if not carries(spec, body):
            return ZERO if name == "origin" else self.center_of_mass(body)
        if _is_design(spec):
            offset = subtract(self.numbers.vector(spec.design), self.position(body))
            return apply_transposed(self.orientation(body), offset)
        return self.numbers.vector(spec[body])

    def vector(self, body: str, name: str) -> Vector:
        """Local components of a body's vector, as given (not of unit length)."""
        body = self._carrier(body)
        spec = self.vectors.get(name)
        if not carries(spec, body):
            return _BODY_AXES[name]
        if _is_design(spec):
            return apply_transposed(self.orientation(body), self.numbers.vector(spec.design))
        return self.numbers.vector(spec[body] if body in spec else spec["all"])

    def is_hardpoint(self, body: str, name: str) -> bool:
        """Whether a body's point is given in the design position."""
        spec = self.points.get(name)
        return carries(spec, body) and _is_design(spec)

    def center_of_mass(self, body: str) -> Vector:
        """Centre of mass in body axes."""
        spec = self.bodies.get(body)
        if spec is None or body == GROUND_NAME:
            return ZERO
        if isinstance(spec.center_of_mass, str):
            return self.point(body, spec.center_of_mass)
        if spec.center_of_mass is not None:
            return self.numbers.vector(spec.center_of_mass)
        if spec.shape is not None:
            return shape_center(self.numbers, spec.shape)
        return ZERO


# Mass, centre of mass and inertia of bodies, from explicit numbers or from a shape.


def mass_properties(numbers: Numbers, geometry: Geometry, name: str) -> tuple[Scalar, Vector, Inertia]:
    """Mass, centre of mass in body axes, and inertia about the centre of mass in body axes."""
    body = geometry.bodies[name]
    mass = _body_mass(numbers, body)
    centre = geometry.center_of_mass(name)
    if body.inertia is not None:
        inertia = _entries(numbers, body.inertia)
        about = body.inertia_about
        if about not in (None, "center_of_mass"):
            inertia = _shifted(inertia, mass, subtract(centre, geometry.point(name, about)))
    elif body.shape is not None:
        of_shape = getattr(body.shape, "mass", None)
        inertia = shape_inertia(numbers, body.shape, mass if of_shape is None else numbers(of_shape))
    else:
        inertia = (0.0,) * 6
    return mass, centre, inertia


def _body_mass(numbers: Numbers, body: Any) -> Scalar:
    """Mass: the body's own, or its shape's, or none."""
    if body.mass is not None:
        return numbers(body.mass)
    of_shape = getattr(body.shape, "mass", None)
    return 0.0 if of_shape is None else numbers(of_shape)


def _entries(numbers: Numbers, inertia: Any) -> Inertia:
    """Six entries of an inertia given by names or as a matrix; those that stand twice count half each."""
    if isinstance(inertia, list | tuple):
        m = [numbers.vector(row) for row in inertia]
        twice = (0.5 * (m[i][j] + m[j][i]) for i, j in ((0, 1), (0, 2), (1, 2)))
        return (m[0][0], m[1][1], m[2][2], *twice)
    given = (getattr(inertia, key) for key in ("xx", "yy", "zz", "xy", "xz", "yz"))
    return tuple(0.0 if entry is None else numbers(entry) for entry in given)


def _shifted(inertia: Inertia, mass: Scalar, d: Vector) -> Inertia:
    """Central inertia from the inertia about a point that lies -d from the centre of mass."""
    square = dot(d, d)
    x, y, z = d
    parts = (square - x * x, square - y * y, square - z * z, -x * y, -x * z, -y * z)
    return tuple(entry - mass * part for entry, part in zip(inertia, parts, strict=True))
