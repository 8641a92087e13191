"""Vectors of three numbers, rotations and Euler parameters, as tuples: no array is made in inner loops."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, put

# Vectors --------------------------------------------------------------------------------------------------------------


@inlined
def load3(array, offset):
    """Three consecutive entries of a flat array."""
    return (array[offset], array[offset + 1], array[offset + 2])


@inlined
def load3_of(array, offset, k):
    """Three consecutive rows of a matrix in direction k."""
    return (at(array, offset, k), at(array, offset + 1, k), at(array, offset + 2, k))


@inlined
def add3_to(array, offset, k, a):
    """Add a to three consecutive rows of a matrix in direction k."""
    add_to(array, offset, k, a[0])
    add_to(array, offset + 1, k, a[1])
    add_to(array, offset + 2, k, a[2])


@inlined
def rows3(array, i, row, k):
    """Three rows from ``row`` on of item i, column or columns k."""
    return (at(array, i, row, k), at(array, i, row + 1, k), at(array, i, row + 2, k))


@inlined
def put3(array, i, row, k, a):
    """Write the vector a to three rows from ``row`` on of item i, column or columns k."""
    put(array, i, row, k, a[0])
    put(array, i, row + 1, k, a[1])
    put(array, i, row + 2, k, a[2])


@inlined
def add_rows3(array, i, row, k, a):
    """Add the vector a to three rows from ``row`` on of item i, column or columns k."""
    add_to(array, i, row, k, a[0])
    add_to(array, i, row + 1, k, a[1])
    add_to(array, i, row + 2, k, a[2])


@inlined
def row3(array, row, offset):
    """Three consecutive entries of a row of a matrix."""
    return (array[row, offset], array[row, offset + 1], array[row, offset + 2])


@inlined
def add3(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def sub3(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scale3(s, a):
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


@inlined
def axpy3(s, a, b):
    """s a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2])


@inlined
def dot3(a, b):
    """a . b, bilinear also for complex numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross3(a, b):
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def is_zero3(a):
    """Whether a vanishes exactly, also its imaginary part."""
    return a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0


# Rotations ------------------------------------------------------------------------------------------------------------
#
# Rotation matrices and symmetric 3 x 3 matrices, as tuples by rows.


@inlined
def load6(array, offset):
    """A symmetric matrix (xx, yy, zz, xy, xz, yz) in consecutive entries of a flat array."""
    return (
        array[offset], array[offset + 1], array[offset + 2],
        array[offset + 3], array[offset + 4], array[offset + 5],
    )  # fmt: skip


@inlined
def load9(array, offset):
    """A 3 x 3 matrix that stands by rows in a flat array."""
    return (
        array[offset], array[offset + 1], array[offset + 2],
        array[offset + 3], array[offset + 4], array[offset + 5],
        array[offset + 6], array[offset + 7], array[offset + 8],
    )  # fmt: skip


@inlined
def load9_of(array, offset, k):
    """A 3 x 3 matrix that stands by rows in nine rows of an array, in direction k."""
    return (
        at(array, offset, k), at(array, offset + 1, k), at(array, offset + 2, k),
        at(array, offset + 3, k), at(array, offset + 4, k), at(array, offset + 5, k),
        at(array, offset + 6, k), at(array, offset + 7, k), at(array, offset + 8, k),
    )  # fmt: skip


@inlined
def row9(array, row):
    """A 3 x 3 matrix that stands by rows in a row of a matrix."""
    return (
        array[row, 0], array[row, 1], array[row, 2],
        array[row, 3], array[row, 4], array[row, 5],
        array[row, 6], array[row, 7], array[row, 8],
    )  # fmt: skip


@inlined
def rotate(R, a):
    """R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inlined
def point_of(R, r, local):
    """Global position of a point of a body."""
    return add3(r, rotate(R, local))


@inlined
def unrotate(R, a):
    """R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inlined
def matmul9(A, B):
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inlined
def matmul9_transposed(A, B):
    """A B^T."""
    return matmul9(A, (B[0], B[3], B[6], B[1], B[4], B[7], B[2], B[5], B[8]))


@inlined
def column9(R, k):
    """Column k of R."""
    if k == 0:
        return (R[0], R[3], R[6])
    if k == 1:
        return (R[1], R[4], R[7])
    return (R[2], R[5], R[8])


@inlined
def turn_columns(R, axis, angle):
    """R Rot(axis, angle), the rotation about one of the axes 0, 1, 2."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = column9(R, 0), column9(R, 1), column9(R, 2)
    if axis == 0:
        y, z = axpy3(c, y, scale3(s, z)), axpy3(c, z, scale3(-s, y))
    elif axis == 1:
        z, x = axpy3(c, z, scale3(s, x)), axpy3(c, x, scale3(-s, z))
    else:
        x, y = axpy3(c, x, scale3(s, y)), axpy3(c, y, scale3(-s, x))
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@inlined
def skew_part(A):
    """Axial vector of the antisymmetric part of A: A a = skew_part(A) x a for antisymmetric A."""
    return (0.5 * (A[7] - A[5]), 0.5 * (A[2] - A[6]), 0.5 * (A[3] - A[1]))


@inlined
def symmetric_apply(J, a):
    """J a, with J = (xx, yy, zz, xy, xz, yz)."""
    return (
        J[0] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[3] * a[0] + J[1] * a[1] + J[5] * a[2],
        J[4] * a[0] + J[5] * a[1] + J[2] * a[2],
    )


@inlined
def symmetric_rotate(R, J):
    """R J R^T, with J = (xx, yy, zz, xy, xz, yz)."""
    x = symmetric_apply(J, (R[0], R[1], R[2]))
    y = symmetric_apply(J, (R[3], R[4], R[5]))
    z = symmetric_apply(J, (R[6], R[7], R[8]))
    return (
        R[0] * x[0] + R[1] * x[1] + R[2] * x[2],
        R[3] * y[0] + R[4] * y[1] + R[5] * y[2],
        R[6] * z[0] + R[7] * z[1] + R[8] * z[2],
        R[3] * x[0] + R[4] * x[1] + R[5] * x[2],
        R[6] * x[0] + R[7] * x[1] + R[8] * x[2],
        R[6] * y[0] + R[7] * y[1] + R[8] * y[2],
    )


@inlined
def parallel_axis(c):
    """(c . c) 1 - c c^T, as (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz = c[0] * c[0], c[1] * c[1], c[2] * c[2]
    return (yy + zz, xx + zz, xx + yy, -c[0] * c[1], -c[0] * c[2], -c[1] * c[2])


# Euler parameters -----------------------------------------------------------------------------------------------------
#
# Euler parameters e = (e_0, e_1, e_2, e_3), used through their normalised value e / |e|.
#
# The rotation R(e / |e|) and its rate map w = 2 E(e) e' / |e|^2 are exact off the unit sphere, so that the
# columns of a joint are true derivatives of its pose everywhere. Source: paper 000, tables 3 and 11.


@kernel
def norm2(e):
    """|e|^2."""
    return e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]


@kernel
def inner4(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@kernel
def euler_rotation(e):
    """Rotation matrix of e / |e|, by rows."""
    s = 2.0 / norm2(e)
    x, y, z = s * e[1], s * e[2], s * e[3]
    wx, wy, wz = e[0] * x, e[0] * y, e[0] * z
    xx, xy, xz = e[1] * x, e[1] * y, e[1] * z
    yy, yz, zz = e[2] * y, e[2] * z, e[3] * z
    return (1.0 - (yy + zz), xy - wz, xz + wy, xy + wz, 1.0 - (xx + zz), yz - wx, xz - wy, yz + wx, 1.0 - (xx + yy))


@kernel
def rate_column(e, k):
    """Column k of E(e), which is linear in e: E(e) e' = -e'_0 e_v + e_0 e'_v + e_v x e'_v."""
    if k == 0:
        return (-e[1], -e[2], -e[3])
    if k == 1:
        return (e[0], e[3], -e[2])
    if k == 2:
        return (-e[3], e[0], e[1])
    return (e[2], -e[1], e[0])


@kernel
def rate_product(e, de):
    """E(e) de."""
    return (
        e[0] * de[1] - e[1] * de[0] + e[2] * de[3] - e[3] * de[2],
        e[0] * de[2] - e[1] * de[3] - e[2] * de[0] + e[3] * de[1],
        e[0] * de[3] + e[1] * de[2] - e[2] * de[1] - e[3] * de[0],
    )


@kernel
def rate_power(m, k):
    """Derivatives by e of m . (column k of E(e))."""
    zero = 0.0 * m[0]
    if k == 0:
        return (zero, -m[0], -m[1], -m[2])
    if k == 1:
        return (m[0], zero, -m[2], m[1])
    if k == 2:
        return (m[1], m[2], zero, -m[0])
    return (m[2], -m[1], m[0], zero)
