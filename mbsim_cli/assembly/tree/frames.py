"""Joint frames from the directions that a model file states, and rotations from their descriptions.

All functions are analytic where they are used (decisions look at real parts only), see ``vectors``.
"""

import cmath
import math
from collections.abc import Sequence

from mbsim_cli.assembly.parameters.vectors import (
    IDENTITY,
    Matrix,
    Scalar,
    Vector,
    add,
    columns,
    cross,
    dot,
    product,
    real,
    scale,
    transpose,
    unit,
    without,
)

OPPOSITE = -1.0 + 1e-8  # cosine below which two axes count as opposite: no minimal rotation is defined there
NEAR = 0.8  # component of a unit vector above which it counts as near a body axis
PARALLEL = 1e-12  # squared sine below which two directions count as parallel


def frame(axis: Vector, towards: Vector | None = None) -> Matrix:
    """Right-handed frame with z along ``axis`` and x as near to ``towards`` as it can be.

    Without ``towards`` x is nearest to the body's own x axis, or to its y axis where z is near x.
    """
    z = unit(axis)
    if towards is None:
        towards = IDENTITY[_across(z)]
    x = unit(without(towards, z))
    return columns(x, cross(z, x), z)


def _minimal_rotation(start: Vector, end: Vector) -> Matrix:
    """Rotation by the smallest angle that carries the unit vector ``start`` onto the unit vector ``end``.

    Two half turns, about ``start`` and about the direction midway: accurate also for nearly opposite vectors.
    """
    return product(_half_turn(unit(add(start, end))), _half_turn(start))


def _half_turn(axis: Vector) -> Matrix:
    """Rotation by pi about a unit vector."""
    x, y, z = axis
    return (
        (2.0 * x * x - 1.0, 2.0 * x * y, 2.0 * x * z),
        (2.0 * x * y, 2.0 * y * y - 1.0, 2.0 * y * z),
        (2.0 * x * z, 2.0 * y * z, 2.0 * z * z - 1.0),
    )


def axis_frames(
    axis_a: Vector, axis_b: Vector, reference: tuple[Vector, Vector] | None = None
) -> tuple[Matrix, Matrix]:
    """Joint frames on both bodies, z along the axes; they coincide at zero angle.

    Zero is where the references coincide, or else where the minimal rotation carries the axis of b onto that of a.
    """
    if reference is not None:
        return frame(axis_a, reference[0]), frame(axis_b, reference[1])
    a, b = unit(axis_a), unit(axis_b)
    frame_b = frame(b)
    if dot(real(a), real(b)) > OPPOSITE:
        return product(_minimal_rotation(b, a), frame_b), frame_b
    half_turn = turn_about(frame_b, 0)
    return product(_minimal_rotation(scale(-1.0, b), a), half_turn), frame_b


def universal_frames(
    axis_a: Vector, axis_b: Vector, reference: tuple[Vector, Vector] | None = None
) -> tuple[Matrix, Matrix]:
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
    """Rotation by ``angle`` about ``axis`` (of any length)."""
    return rotation_matrix(_about_axis_parameters(axis, angle))


def _about_axis_parameters(axis: Vector, angle: Scalar) -> tuple[Scalar, ...]:
    """Euler parameters of the rotation by ``angle`` about ``axis``."""
    half = 0.5 * angle
    return (cosine(half), *scale(sine(half), unit(axis)))


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


def orthonormalised(r: Matrix) -> Matrix:
    """Rotation whose first row keeps its direction and whose second stays in the plane of the first two."""
    x = unit(r[0])
    y = unit(without(r[1], x))
    return (x, y, cross(x, y))


def angle_between(along: Scalar, across: Scalar) -> Scalar:
    """Angle whose cosine and sine are proportional to ``along`` and ``across``, in (-pi, pi]."""
    angle = math.atan2(across.real, along.real)
    if isinstance(along, complex) or isinstance(across, complex):
        # what is left after turning back by the real angle is small, so its sine has no branch to miss
        turned = across * math.cos(angle) - along * math.sin(angle)
        return angle + cmath.asin(turned / (along * along + across * across) ** 0.5)
    return angle


def relative(r_a: Matrix, r_b: Matrix) -> Matrix:
    """r_a^T r_b."""
    return product(transpose(r_a), r_b)


def _across(axis: Vector) -> int:
    """Number of a body axis well away from ``axis``: x, unless that is near. No tie lies near an axis in common use."""
    return 0 if abs(axis[0].real) < NEAR else 1


def cosine(x: Scalar) -> Scalar:
    """Cosine of a float or complex number; NaN of one that overflowed."""
    if not cmath.isfinite(x):
        return math.nan
    return cmath.cos(x) if isinstance(x, complex) else math.cos(x)


def sine(x: Scalar) -> Scalar:
    """Sine of a float or complex number; NaN of one that overflowed."""
    if not cmath.isfinite(x):
        return math.nan
    return cmath.sin(x) if isinstance(x, complex) else math.sin(x)
