"""Spatial vectors in global axes about one reference point: a pair of tuples.

Motion (w, v): angular velocity, velocity of the body's point that passes the reference point. Force
(n, f): moment about the reference point, force. Inertia about the reference point: (m, h, I), mass, first
moment m c, and second moments (xx, yy, zz, xy, xz, yz). Arrays hold six numbers, angular part
first; those of variations have an axis of directions behind.
"""

from mbsim_cli.kernels.algebra.rot3 import symmetric_apply
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, is_zero3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at, put


@inlined
def motion_at(array, i):
    """Spatial vector in row i."""
    return ((array[i, 0], array[i, 1], array[i, 2]), (array[i, 3], array[i, 4], array[i, 5]))


@inlined
def six_at(array, i, offset):
    """Spatial vector in row i, from ``offset`` on."""
    return (
        (at(array, i, offset), at(array, i, offset + 1), at(array, i, offset + 2)),
        (at(array, i, offset + 3), at(array, i, offset + 4), at(array, i, offset + 5)),
    )


@inlined
def motion_at2(array, i, k):
    """Spatial vector of row i in direction k."""
    return (
        (at(array, i, 0, k), at(array, i, 1, k), at(array, i, 2, k)),
        (at(array, i, 3, k), at(array, i, 4, k), at(array, i, 5, k)),
    )


@inlined
def store(array, i, x):
    """Write spatial vector x to row i."""
    array[i, 0], array[i, 1], array[i, 2] = x[0]
    array[i, 3], array[i, 4], array[i, 5] = x[1]


@inlined
def store_at(array, i, offset, x):
    """Write spatial vector x to row i, from ``offset`` on."""
    array[i, offset], array[i, offset + 1], array[i, offset + 2] = x[0]
    array[i, offset + 3], array[i, offset + 4], array[i, offset + 5] = x[1]


@inlined
def store2(array, i, k, x):
    """Write spatial vector x to row i in direction k."""
    w, v = x
    put(array, i, 0, k, w[0])
    put(array, i, 1, k, w[1])
    put(array, i, 2, k, w[2])
    put(array, i, 3, k, v[0])
    put(array, i, 4, k, v[1])
    put(array, i, 5, k, v[2])


@inlined
def rows_at(array, row, k):
    """Spatial vector of column k, in six rows from ``row`` on."""
    return (
        (at(array, row, k), at(array, row + 1, k), at(array, row + 2, k)),
        (at(array, row + 3, k), at(array, row + 4, k), at(array, row + 5, k)),
    )


@inlined
def store_rows(array, row, k, x):
    """Write spatial vector x to column k, in six rows from ``row`` on."""
    w, v = x
    put(array, row, k, w[0])
    put(array, row + 1, k, w[1])
    put(array, row + 2, k, w[2])
    put(array, row + 3, k, v[0])
    put(array, row + 4, k, v[1])
    put(array, row + 5, k, v[2])


@inlined
def accumulate(array, i, s, x):
    """Add s x to row i."""
    n, f = x
    array[i, 0] += s * n[0]
    array[i, 1] += s * n[1]
    array[i, 2] += s * n[2]
    array[i, 3] += s * f[0]
    array[i, 4] += s * f[1]
    array[i, 5] += s * f[2]


@inlined
def accumulate2(array, i, k, s, x):
    """Add s x to row i in direction k."""
    n, f = x
    add_to(array, i, 0, k, s * n[0])
    add_to(array, i, 1, k, s * n[1])
    add_to(array, i, 2, k, s * n[2])
    add_to(array, i, 3, k, s * f[0])
    add_to(array, i, 4, k, s * f[1])
    add_to(array, i, 5, k, s * f[2])


@inlined
def accumulate_shifted2(array, i, k, x, d):
    """Add force x about the reference point moved by d to row i in direction k."""
    if is_zero3(d):
        accumulate2(array, i, k, 1.0, x)
    else:
        accumulate2(array, i, k, 1.0, shift_force(x, d))


@inlined
def add6(x, y):
    """x + y."""
    return (add3(x[0], y[0]), add3(x[1], y[1]))


@inlined
def sub6(x, y):
    """x - y."""
    return (sub3(x[0], y[0]), sub3(x[1], y[1]))


@inlined
def scale6(s, x):
    """s x."""
    return (scale3(s, x[0]), scale3(s, x[1]))


@inlined
def axpy6(s, x, y):
    """s x + y."""
    return (axpy3(s, x[0], y[0]), axpy3(s, x[1], y[1]))


@inlined
def dot6(motion, force):
    """Power of a force on a motion."""
    return dot3(motion[0], force[0]) + dot3(motion[1], force[1])


@inlined
def cross_motion(a, b):
    """Motion cross product a x b: rate of b when it is carried along with a."""
    return (cross3(a[0], b[0]), add3(cross3(a[0], b[1]), cross3(a[1], b[0])))


@inlined
def cross_force(a, f):
    """Force cross product a x* f, with (a x b) . f = -b . (a x* f)."""
    return (add3(cross3(a[0], f[0]), cross3(a[1], f[1])), cross3(a[0], f[1]))


@inlined
def shift_motion(x, d):
    """Motion x about the reference point moved by d."""
    return (x[0], add3(x[1], cross3(x[0], d)))


@inlined
def shift_force(x, d):
    """Force x about the reference point moved by d."""
    return (sub3(x[0], cross3(d, x[1])), x[1])


@inlined
def shift_motion2(x, d):
    """``shift_motion`` of directions by the same d, often zero: all bodies may have one reference point."""
    return x if is_zero3(d) else shift_motion(x, d)


@inlined
def shift_force2(x, d):
    """``shift_force`` of directions by the same d, often zero."""
    return x if is_zero3(d) else shift_force(x, d)


@inlined
def inertia_apply(inertia, x):
    """Inertia times motion."""
    m, h, J = inertia
    return (add3(symmetric_apply(J, x[0]), cross3(h, x[1])), axpy3(m, x[1], cross3(x[0], h)))


@inlined
def carry_inertia(inertia, N):
    """Variation of an inertia about a point fixed in space, when its body moves by the twist N about that point."""
    m, h, J = inertia
    w, v = N
    x, y, z = cross3(w, (J[0], J[3], J[4])), cross3(w, (J[3], J[1], J[5])), cross3(w, (J[4], J[5], J[2]))
    s = 2.0 * dot3(v, h)
    return (
        0.0 * m,
        axpy3(m, v, cross3(w, h)),
        (
            2.0 * x[0] + s - 2.0 * v[0] * h[0],
            2.0 * y[1] + s - 2.0 * v[1] * h[1],
            2.0 * z[2] + s - 2.0 * v[2] * h[2],
            y[0] + x[1] - v[0] * h[1] - v[1] * h[0],
            z[0] + x[2] - v[0] * h[2] - v[2] * h[0],
            z[1] + y[2] - v[1] * h[2] - v[2] * h[1],
        ),
    )
