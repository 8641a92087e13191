"""Spatial vectors in global axes about one reference point: a pair of tuples.

Motion (w, v): angular velocity, velocity of the body's point that passes the reference point. Force
(n, f): moment about the reference point, force. Inertia about the reference point: (m, h, I), mass, first
moment m c, and second moments (xx, yy, zz, xy, xz, yz). Arrays hold six numbers, angular part
first; those of variations have an axis of directions behind.
"""

from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add_rows3,
    axpy3,
    cross3,
    dot3,
    is_zero3,
    load3_of,
    load6,
    load9,
    put3,
    rotate,
    rows3,
    scale3,
    sub3,
    symmetric_apply,
    unrotate,
)
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import at, only, put


@inlined
def motion_at(array, i):
    """Spatial vector in row i."""
    return ((array[i, 0], array[i, 1], array[i, 2]), (array[i, 3], array[i, 4], array[i, 5]))


@inlined
def six_at(array, i, offset):
    """Spatial vector in row i, from ``offset`` on; no index counts from the end, which is faster."""
    return (
        (at(array, i, offset), at(array, i, offset + 1), at(array, i, offset + 2)),
        (at(array, i, offset + 3), at(array, i, offset + 4), at(array, i, offset + 5)),
    )


@inlined
def motion_at2(array, i, k):
    """Spatial vector of row i in direction k."""
    return (rows3(array, i, 0, k), rows3(array, i, 3, k))


@inlined
def store(array, i, x, offset=0):
    """Write spatial vector x to row i, from ``offset`` on."""
    array[i, offset], array[i, offset + 1], array[i, offset + 2] = x[0]
    array[i, offset + 3], array[i, offset + 4], array[i, offset + 5] = x[1]


@inlined
def store2(array, i, k, x):
    """Write spatial vector x to row i in direction k."""
    put3(array, i, 0, k, x[0])
    put3(array, i, 3, k, x[1])


@inlined
def rows_at(array, row, k):
    """Spatial vector of column k, in six rows from ``row`` on."""
    return (load3_of(array, row, k), load3_of(array, row + 3, k))


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
    add_rows3(array, i, 0, k, scale3(s, x[0]))
    add_rows3(array, i, 3, k, scale3(s, x[1]))


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
def only6(x, bits):
    """Spatial vector x in the directions whose bit is set."""
    (a, b, c), (d, e, f) = x
    return ((only(a, bits), only(b, bits), only(c, bits)), (only(d, bits), only(e, bits), only(f, bits)))


@inlined
def dot6(motion, force):
    """Power of a force on a motion."""
    return dot3(motion[0], force[0]) + dot3(motion[1], force[1])


@inlined
def moved(V, x):
    """Velocity at x of the motion V about the origin."""
    return add3(V[1], cross3(V[0], x))


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
def inertia_at(array, i):
    """Inertia (m, h, I) in row i."""
    return (
        array[i, 0],
        (array[i, 1], array[i, 2], array[i, 3]),
        (array[i, 4], array[i, 5], array[i, 6], array[i, 7], array[i, 8], array[i, 9]),
    )


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


# Symmetric matrices ---------------------------------------------------------------------------------------------------
#
# Symmetric matrices as six numbers (xx, yy, zz, xy, xz, yz), and full ones by rows, as tuples.


@inlined
def less_tilde(A, c):
    """A symmetric matrix less c x, by rows."""
    return (A[0], A[3] + c[2], A[4] - c[1], A[3] - c[2], A[1], A[5] + c[0], A[4] + c[1], A[5] - c[0], A[2])


@inlined
def axpy_nine(s, A, B):
    """s A + B of matrices by rows."""
    return (
        s * A[0] + B[0], s * A[1] + B[1], s * A[2] + B[2],
        s * A[3] + B[3], s * A[4] + B[4], s * A[5] + B[5],
        s * A[6] + B[6], s * A[7] + B[7], s * A[8] + B[8],
    )  # fmt: skip


@inlined
def axpy_six(s, A, B):
    """s A + B of symmetric matrices."""
    return (s * A[0] + B[0], s * A[1] + B[1], s * A[2] + B[2], s * A[3] + B[3], s * A[4] + B[4], s * A[5] + B[5])


@inlined
def scale_six(s, A):
    """s A of a symmetric matrix."""
    return s * A[0], s * A[1], s * A[2], s * A[3], s * A[4], s * A[5]


@inlined
def scale_nine(s, A):
    """s A of a matrix by rows."""
    return s * A[0], s * A[1], s * A[2], s * A[3], s * A[4], s * A[5], s * A[6], s * A[7], s * A[8]


@inlined
def pair_six(x, y):
    """Factors of the six entries of a symmetric A in x . A y."""
    return (
        x[0] * y[0],
        x[1] * y[1],
        x[2] * y[2],
        x[0] * y[1] + x[1] * y[0],
        x[0] * y[2] + x[2] * y[0],
        x[1] * y[2] + x[2] * y[1],
    )


@inlined
def products(w):
    """Factors of the six entries of a symmetric A in w . A w."""
    return w[0] * w[0], w[1] * w[1], w[2] * w[2], 2.0 * w[0] * w[1], 2.0 * w[0] * w[2], 2.0 * w[1] * w[2]


@inlined
def dot_six(A, s):
    """Sum of the products of six numbers."""
    return A[0] * s[0] + A[1] * s[1] + A[2] * s[2] + A[3] * s[3] + A[4] * s[4] + A[5] * s[5]


# Articulated inertias -------------------------------------------------------------------------------------------------
#
# Articulated inertias: symmetric maps from the acceleration of a body to the force that it takes.
#
# (n, f) = (J w + H v, H^T w + M v) about a reference point, stored as 21 numbers: J and M as (xx, yy, zz, xy, xz,
# yz), H by rows. The inertia of a rigid body is one with H = h x and M = m 1.


SIZE = 21
_J, _H, _M = 0, 6, 15


@inlined
def of_rigid(inertia):
    """(J, H, M) of the inertia (m, h, J) of a rigid body."""
    m, h, J = inertia
    zero = 0.0 * m
    H = (zero, -h[2], h[1], h[2], zero, -h[0], -h[1], h[0], zero)
    return J, H, (m, m, m, zero, zero, zero)


@inlined
def store_rigid(array, i, inertia):
    """Write the inertia (m, h, J) of a rigid body to row i."""
    J, H, M = of_rigid(inertia)
    for j in range(6):
        array[i, _J + j] = J[j]
        array[i, _M + j] = M[j]
    for j in range(9):
        array[i, _H + j] = H[j]


@inlined
def articulated_at(array, i):
    """(J, H, M) in row i."""
    return load6(array[i], _J), load9(array[i], _H), load6(array[i], _M)


@inlined
def articulated_apply(inertia, x):
    """Force of the motion x."""
    J, H, M = inertia
    w, v = x
    return add3(symmetric_apply(J, w), rotate(H, v)), add3(unrotate(H, w), symmetric_apply(M, v))


@inlined
def subtract_dyad(array, i, s, u):
    """Subtract s u u^T from row i, for a force u."""
    n, f = u
    sn = (s * n[0], s * n[1], s * n[2])
    sf = (s * f[0], s * f[1], s * f[2])
    array[i, _J] -= sn[0] * n[0]
    array[i, _J + 1] -= sn[1] * n[1]
    array[i, _J + 2] -= sn[2] * n[2]
    array[i, _J + 3] -= sn[0] * n[1]
    array[i, _J + 4] -= sn[0] * n[2]
    array[i, _J + 5] -= sn[1] * n[2]
    for r in range(3):
        for c in range(3):
            array[i, _H + 3 * r + c] -= sn[r] * f[c]
    array[i, _M] -= sf[0] * f[0]
    array[i, _M + 1] -= sf[1] * f[1]
    array[i, _M + 2] -= sf[2] * f[2]
    array[i, _M + 3] -= sf[0] * f[1]
    array[i, _M + 4] -= sf[0] * f[2]
    array[i, _M + 5] -= sf[1] * f[2]


@inlined
def add_shifted(array, p, inertia, d):
    """Add to row p an inertia about a point at d from p's: H' = H + D M, J' = J + (D H^T)^T + D H'^T, D = d x."""
    J, H, M = inertia
    a = cross3(d, (M[0], M[3], M[4]))  # columns of D M
    b = cross3(d, (M[3], M[1], M[5]))
    c = cross3(d, (M[4], M[5], M[2]))
    G = (H[0] + a[0], H[1] + b[0], H[2] + c[0], H[3] + a[1], H[4] + b[1], H[5] + c[1], H[6] + a[2], H[7] + b[2],
         H[8] + c[2])  # fmt: skip
    x = cross3(d, (H[0] + G[0], H[1] + G[1], H[2] + G[2]))
    y = cross3(d, (H[3] + G[3], H[4] + G[4], H[5] + G[5]))
    z = cross3(d, (H[6] + G[6], H[7] + G[7], H[8] + G[8]))
    # D H^T + (D H^T)^T and D (D M)^T are symmetric: of D (H + H')^T the symmetric part is the sum of both
    array[p, _J] += J[0] + x[0]
    array[p, _J + 1] += J[1] + y[1]
    array[p, _J + 2] += J[2] + z[2]
    array[p, _J + 3] += J[3] + 0.5 * (x[1] + y[0])
    array[p, _J + 4] += J[4] + 0.5 * (x[2] + z[0])
    array[p, _J + 5] += J[5] + 0.5 * (y[2] + z[1])
    for j in range(9):
        array[p, _H + j] += G[j]
    for j in range(6):
        array[p, _M + j] += M[j]


@inlined
def size_along(inertia, x):
    """Scale of x . I x, for telling it from round-off; real."""
    J, _, M = inertia
    w, v = x
    turning = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) * (J[0] + J[1] + J[2])
    moving = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) * (M[0] + M[1] + M[2])
    return turning.real + moving.real
