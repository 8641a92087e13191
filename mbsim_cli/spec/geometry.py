"""Geometry of bodies and joints: rotations, frames, shapes, points; mass and inertia that follow from them."""

import cmath
import math
from collections.abc import Mapping, Sequence
from typing import Any

from mbsim_cli.spec.bodies import DesignPoint, DesignVector, Point, VectorSpec
from mbsim_cli.spec.model_file import ModelFile

# Three-vectors and 3 x 3 matrices as tuples of floats or complex numbers.
#
# Every function is analytic in its arguments, so that a complex step through it gives exact derivatives; matrices
# are tuples of rows.

Scalar = Any  # float, or complex with a step
Vector = tuple[Scalar, ...]  # three
Matrix = tuple[Vector, ...]  # three rows
Pair = tuple[Vector, Vector]  # of the first body and of the second

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def dot(a: Vector, b: Vector) -> Scalar:
    """Sum of products (no conjugate)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(factor: Scalar, a: Vector) -> Vector:
    """factor * a."""
    return (factor * a[0], factor * a[1], factor * a[2])


def length(a: Vector) -> Scalar:
    """Square root of a . a, with positive real part."""
    return dot(a, a) ** 0.5


def unit(a: Vector) -> Vector:
    """a / |a|; ZeroDivisionError for the zero vector."""
    return scale(1.0 / length(a), a)


def without(a: Vector, direction: Vector) -> Vector:
    """Part of a that is perpendicular to a unit direction."""
    return subtract(a, scale(dot(a, direction), direction))


def real(a: Vector) -> Vector:
    """Real parts, for decisions that must not depend on a complex step."""
    return (a[0].real, a[1].real, a[2].real)


def transpose(m: Matrix) -> Matrix:
    """m^T."""
    (p, q, r), (s, t, u), (v, w, x) = m
    return ((p, s, v), (q, t, w), (r, u, x))


def apply(m: Matrix, a: Vector) -> Vector:
    """m a."""
    (p, q, r), (s, t, u), (v, w, x) = m
    a0, a1, a2 = a
    return (p * a0 + q * a1 + r * a2, s * a0 + t * a1 + u * a2, v * a0 + w * a1 + x * a2)


def apply_transposed(m: Matrix, a: Vector) -> Vector:
    """m^T a."""
    return add(add(scale(a[0], m[0]), scale(a[1], m[1])), scale(a[2], m[2]))


def product(m: Matrix, n: Matrix) -> Matrix:
    """m n; written out, as assembling spends most of its time here."""
    (a, b, c), (d, e, f), (g, h, i) = m
    (p, q, r), (s, t, u), (v, w, x) = n
    return (
        (a * p + b * s + c * v, a * q + b * t + c * w, a * r + b * u + c * x),
        (d * p + e * s + f * v, d * q + e * t + f * w, d * r + e * u + f * x),
        (g * p + h * s + i * v, g * q + h * t + i * w, g * r + h * u + i * x),
    )


def columns(x: Vector, y: Vector, z: Vector) -> Matrix:
    """Matrix with the columns x, y, z."""
    return transpose((x, y, z))


def flat(m: Matrix) -> Vector:
    """Nine entries by rows."""
    return (*m[0], *m[1], *m[2])


# Frames of joints, rotations and angles.

GROUND_NAME = "ground"

OPPOSITE = -1.0 + 1e-8  # cosine below which two axes count as opposite: no minimal rotation is defined there
NEAR = 0.8  # component of a unit vector above which it counts as near a body axis
PARALLEL = 1e-12  # squared sine below which two directions count as parallel


def frame(axis: Vector, towards: Vector | None = None) -> Matrix:
    """Right-handed frame: z along ``axis``, x nearest to ``towards``, else to the body's x axis (y if z is near x)."""
    z = unit(axis)
    if towards is None:
        towards = IDENTITY[_across(z)]
    x = unit(without(towards, z))
    return columns(x, cross(z, x), z)


def _half_turn(axis: Vector) -> Matrix:
    """Rotation by pi about a unit vector."""
    x, y, z = axis
    return (
        (2.0 * x * x - 1.0, 2.0 * x * y, 2.0 * x * z),
        (2.0 * x * y, 2.0 * y * y - 1.0, 2.0 * y * z),
        (2.0 * x * z, 2.0 * y * z, 2.0 * z * z - 1.0),
    )


def axis_frames(axis_a: Vector, axis_b: Vector, reference: Pair | None = None) -> tuple[Matrix, Matrix]:
    """Joint frames on both bodies, z along the axes; they coincide at zero angle.

    Zero is where the references coincide, or else where the minimal rotation carries the axis of b onto that of a.
    """
    if reference is not None:
        return frame(axis_a, reference[0]), frame(axis_b, reference[1])
    a, b = unit(axis_a), unit(axis_b)
    turned = frame_b = frame(b)
    if not dot(real(a), real(b)) > OPPOSITE:
        b, turned = scale(-1.0, b), turn_about(frame_b, 0)
    # the smallest rotation from b to a, by half turns about b and about the direction midway: accurate for all
    return product(product(_half_turn(unit(add(b, a))), _half_turn(b)), turned), frame_b


def universal_frames(axis_a: Vector, axis_b: Vector, reference: Pair | None = None) -> tuple[Matrix, Matrix]:
    """Frames of a universal joint: z_a along the axis fixed in a, x_b along the axis fixed in b.

    At zero angles x_a points along the axis of b and z_b along that of a: as near to the references as the axes allow,
    or else where the bodies' own axes are parallel, or as nearly so as the axes allow.
    """
    z, x = unit(axis_a), unit(axis_b)
    across = cross(real(z), real(x))
    if reference is not None:
        towards_x, towards_z = reference
    elif dot(across, across) > PARALLEL:
        towards_x, towards_z = x, z
    else:
        towards_x, towards_z = IDENTITY[_across(z)], IDENTITY[_across(x)]
    x_a = unit(without(towards_x, z))
    z_b = unit(without(towards_z, x))
    return columns(x_a, cross(z, x_a), z), columns(x, cross(z_b, x), z_b)


def turn_about(matrix: Matrix, axis: int) -> Matrix:
    """The frame turned by half a revolution about its own axis 0, 1 or 2: the other two columns change sign."""
    signs = [1.0 if column == axis else -1.0 for column in range(3)]
    return tuple(tuple(sign * entry for sign, entry in zip(signs, row, strict=True)) for row in matrix)


def about_axis(axis: Vector, angle: Scalar) -> Matrix:
    """Rotation by ``angle`` about ``axis`` (of any length); NaN if the angle overflowed."""
    half = 0.5 * angle
    library = cmath if isinstance(half, complex) else math
    cosine, sine = (library.cos(half), library.sin(half)) if cmath.isfinite(half) else (math.nan, math.nan)
    return rotation_matrix((cosine, *scale(sine, unit(axis))))


def rotation_matrix(e: Sequence[Scalar]) -> Matrix:
    """Rotation matrix of unit Euler parameters e_0 (cosine of the half angle), e_1, e_2, e_3."""
    a, b, c, d = e
    return (
        (a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)),
        (2.0 * (b * c + a * d), a * a - b * b + c * c - d * d, 2.0 * (c * d - a * b)),
        (2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a - b * b - c * c + d * d),
    )


def euler_parameters(r: Matrix) -> tuple[Scalar, ...]:
    """Unit Euler parameters of a rotation matrix; the largest is positive."""
    squares = (
        1.0 + r[0][0] + r[1][1] + r[2][2],
        1.0 + r[0][0] - r[1][1] - r[2][2],
        1.0 - r[0][0] + r[1][1] - r[2][2],
        1.0 - r[0][0] - r[1][1] + r[2][2],
    )
    largest = max(range(4), key=lambda i: squares[i].real)
    root = squares[largest] ** 0.5
    x, y, z = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    xy, yz, zx = r[0][1] + r[1][0], r[1][2] + r[2][1], r[2][0] + r[0][2]
    rows = ((squares[0], x, y, z), (x, squares[1], xy, zx), (y, xy, squares[2], yz), (z, zx, yz, squares[3]))
    return normalised(tuple(0.5 * entry / root for entry in rows[largest]))


def normalised(e: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Four numbers scaled to unit length."""
    factor = 1.0 / sum(x * x for x in e) ** 0.5
    return tuple(factor * x for x in e)


def euler_rates(e: Sequence[Scalar], omega: Vector) -> tuple[Scalar, ...]:
    """Rates of unit Euler parameters for an angular velocity in the axes rotated from: e' = 1/2 E^T omega."""
    e0, e1, e2, e3 = e
    x, y, z = omega
    return (
        0.5 * (-e1 * x - e2 * y - e3 * z),
        0.5 * (e0 * x + e3 * y - e2 * z),
        0.5 * (-e3 * x + e0 * y + e1 * z),
        0.5 * (e2 * x - e1 * y + e0 * z),
    )


def angle_between(along: Scalar, across: Scalar) -> Scalar:
    """Angle whose cosine and sine are proportional to ``along`` and ``across``, in (-pi, pi]."""
    angle = math.atan2(across.real, along.real)
    if isinstance(along, complex) or isinstance(across, complex):
        # after turning back by the real angle the rest is small, where the arc sine has a single branch
        turned = across * math.cos(angle) - along * math.sin(angle)
        return angle + cmath.asin(turned / (along * along + across * across) ** 0.5)
    return angle


def relative(r_a: Matrix, r_b: Matrix) -> Matrix:
    """r_a^T r_b."""
    return product(transpose(r_a), r_b)


def _across(axis: Vector) -> int:
    """Number of a body axis well away from ``axis``: x, unless that is near. No tie lies near an axis in common use."""
    return 0 if abs(axis[0].real) < NEAR else 1


Inertia = tuple[Scalar, ...]  # six: xx yy zz xy xz yz
AXES = {"x": 0, "y": 1, "z": 2}


def shape_center(numbers: Any, shape: Any) -> Vector:
    """Centre of a shape in body axes: as given, else half way along a rod or cylinder, else the origin."""
    center = getattr(shape, "center", None)
    if center is not None:
        return numbers.vector(center)
    if shape.type in ("rod", "cylinder"):
        half = 0.5 * numbers(shape.length)
        return tuple(half if axis == AXES[shape.axis or "x"] else 0.0 for axis in range(3))
    return (0.0, 0.0, 0.0)


def shape_inertia(numbers: Any, shape: Any, mass: Scalar) -> Inertia:
    """Central inertia of a homogeneous shape."""
    if shape.type in ("rod", "cylinder"):
        length = numbers(shape.length)
        radius = numbers(shape.radius) if shape.type == "cylinder" else 0.0
        across = mass * (length * length + 3.0 * radius * radius) / 12.0
        along = 0.5 * mass * radius * radius
        return (*(along if axis == AXES[shape.axis or "x"] else across for axis in range(3)), 0.0, 0.0, 0.0)
    if shape.type == "box":
        a, b, c = (side * side for side in numbers.vector(shape.size))
        return (mass * (b + c) / 12.0, mass * (a + c) / 12.0, mass * (a + b) / 12.0, 0.0, 0.0, 0.0)
    if shape.type == "sphere":
        radius = numbers(shape.radius)
        return (0.4 * mass * radius * radius,) * 3 + (0.0, 0.0, 0.0)
    return (0.0,) * 6


_BODY_AXES = {"x": IDENTITY[0], "y": IDENTITY[1], "z": IDENTITY[2]}


def carries(spec: Point | VectorSpec | None, body: str) -> bool:
    """Whether a body carries a point or vector of the model file (None: it is not in the file)."""
    if spec is None:
        return False
    return body in spec.bodies if isinstance(spec, DesignPoint | DesignVector) else body in spec or "all" in spec


def split(reference: str) -> tuple[str, str]:
    """Body and name of "body.name"."""
    body, _, name = reference.partition(".")
    return body, name


class Geometry:
    """Reads positions from the model file; every answer follows the numbers, complex step included."""

    def __init__(self, numbers: Any, model_file: ModelFile, nodes: Mapping[str, Any] | None = None):
        """``nodes`` are the bodies that stand for places on bodies that deform, see ``elastic.NodeJoint``."""
        self.numbers, self._nodes = numbers, nodes or {}
        self.bodies, self.points, self.vectors = model_file.bodies, model_file.points, model_file.vectors

    def _carrier(self, body: str) -> str:
        """The body that deforms, of a place on it."""
        return self._nodes[body].body.name if body in self._nodes else body

    def is_placed(self, body: str, point: str) -> bool:
        """Whether the file states where the body is in the design position, or gives its point there."""
        spec, hardpoint = self.bodies.get(self._carrier(body)), self.points.get(point)
        if spec is not None and (spec.position is not None or spec.orientation is not None):
            return True
        return carries(hardpoint, body) and isinstance(hardpoint, DesignPoint)

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
        """Rotation matrix of an orientation of the file; of a stated matrix x keeps its direction, y stays in x, y."""
        if orientation.euler_parameters is not None:
            return rotation_matrix(normalised(self.numbers.vector(orientation.euler_parameters)))
        if orientation.rotation_matrix is not None:
            rows = tuple(self.numbers.vector(row) for row in orientation.rotation_matrix)
            first, second, _ = transpose(rows)  # the body's axes; entries of the file are rounded
            x = unit(first)
            y = unit(without(second, x))
            return columns(x, y, cross(x, y))
        return about_axis(self.numbers.vector(orientation.axis), self.numbers(orientation.angle))

    def point(self, body: str, name: str) -> Vector:
        """Local coordinates of a body's point."""
        if body in self._nodes:
            return ZERO
        spec = self.points.get(name)
        if spec is None or not carries(spec, body):
            return ZERO if name == "origin" else self.center_of_mass(body)
        if isinstance(spec, DesignPoint):
            offset = subtract(self.numbers.vector(spec.design), self.position(body))
            return apply_transposed(self.orientation(body), offset)
        return self.numbers.vector(spec[body])

    def vector(self, body: str, name: str) -> Vector:
        """Local components of a body's vector, as given (not of unit length)."""
        body = self._carrier(body)
        spec = self.vectors.get(name)
        if spec is None or not carries(spec, body):
            return _BODY_AXES[name]
        if isinstance(spec, DesignVector):
            return apply_transposed(self.orientation(body), self.numbers.vector(spec.design))
        return self.numbers.vector(spec[body] if body in spec else spec["all"])

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


def mass_properties(numbers: Any, geometry: Geometry, name: str) -> tuple[Scalar, Vector, Inertia]:
    """Mass, centre of mass in body axes, and inertia about the centre of mass in body axes."""
    body = geometry.bodies[name]
    of_shape = getattr(body.shape, "mass", None)
    own = of_shape if body.mass is None else body.mass
    mass = 0.0 if own is None else numbers(own)
    centre = geometry.center_of_mass(name)
    if body.inertia is not None:
        inertia = _entries(numbers, body.inertia)
        about = body.inertia_about
        if about not in (None, "center_of_mass"):
            inertia = _shifted(inertia, mass, subtract(centre, geometry.point(name, about)))
    elif body.shape is not None:
        inertia = shape_inertia(numbers, body.shape, mass if of_shape is None else numbers(of_shape))
    else:
        inertia = (0.0,) * 6
    return mass, centre, inertia


def _entries(numbers: Any, inertia: Any) -> Inertia:
    """Six entries of an inertia given by names or as a matrix; those that stand twice count half each."""
    if isinstance(inertia, tuple):
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
