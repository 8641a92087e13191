"""Articulated inertias: symmetric maps from the acceleration of a body to the force that it takes.

(n, f) = (J w + H v, H^T w + M v) about a reference point, stored as 21 numbers: J and M as (xx, yy, zz, xy, xz,
yz), H by rows. The inertia of a rigid body is one with H = h x and M = m 1.
"""

from mbsim_cli.kernels.algebra.rot3 import load9, rotate, symmetric_apply, unrotate
from mbsim_cli.kernels.algebra.vec3 import add3, cross3
from mbsim_cli.kernels.compiler.jit import inlined

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
    for k in range(6):
        array[i, _J + k] = J[k]
        array[i, _M + k] = M[k]
    for k in range(9):
        array[i, _H + k] = H[k]


@inlined
def _row6(array, i, first):
    return (
        array[i, first],
        array[i, first + 1],
        array[i, first + 2],
        array[i, first + 3],
        array[i, first + 4],
        array[i, first + 5],
    )


@inlined
def articulated_at(array, i):
    """(J, H, M) in row i."""
    return _row6(array, i, _J), load9(array[i], _H), _row6(array, i, _M)


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
    """Add to row p an articulated inertia whose reference point lies at d from that of row p.

    With D = d x: H' = H + D M, J' = J + (D H^T)^T + D H'^T.
    """
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
    for k in range(9):
        array[p, _H + k] += G[k]
    for k in range(6):
        array[p, _M + k] += M[k]


@inlined
def size_along(inertia, x):
    """Scale of x . I x, for telling it from round-off; real."""
    J, _, M = inertia
    w, v = x
    turning = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) * (J[0] + J[1] + J[2])
    moving = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) * (M[0] + M[1] + M[2])
    return turning.real + moving.real
