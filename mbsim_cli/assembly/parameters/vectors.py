"""Vectors and arrays of numbers, with where they stand in theta."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

# Tables of the model as integer arrays.

Table = TypeVar("Table")


def integers(values: Iterable[Any]) -> np.ndarray:
    """The values as 64-bit integers, also where there are none."""
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)


def table(of: type[Table], /, **columns: Iterable[Any]) -> Table:
    """A table of ``model.layout`` with its columns as integers."""
    return of(**{name: integers(values) for name, values in columns.items()})


# Three-vectors and 3 x 3 matrices as tuples of floats or complex numbers.
#
# Every function is analytic in its arguments, so that a complex step through it gives exact derivatives; matrices
# are tuples of rows.

Scalar = Any  # float, or complex with a step
Vector = tuple[Scalar, ...]  # three
Matrix = tuple[Vector, ...]  # three rows

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
