"""Euler parameters e = (e_0, e_1, e_2, e_3), used through their normalised value e / |e|.

The rotation R(e / |e|) and its rate map w = 2 E(e) e' / |e|^2 are exact off the unit sphere, so that the
columns of a joint are true derivatives of its pose everywhere. Source: paper 000, tables 3 and 11.
"""

from mbsim_cli.kernels.compiler.jit import kernel


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
    return (
        1.0 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - (xx + yy),
    )


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
