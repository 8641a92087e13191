"""Variations of poses, velocities and accelerations of all bodies in p directions at once.

For a body whose pose varies by the twist N, with time derivatives N' and N'',
    dV = N' + N x V,      dA = N'' + N' x V + N x A,
so the recursion carries N, N', N''. A coordinate contributes S dz, S dz' + S' dz, S dz'' + 2 S' dz' + S'' dz;
a joint point or axis contributes a twist that is fixed in its body. A direction is a variation of the
coordinates and of theta. Derivation: docs/theory/variations.md. Paper 000, sections 8 and 9; cost O(n p).
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels.algebra.rot3 import load9, matmul9_transposed, rotate, row9, skew_part
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_motion,
    motion_at,
    motion_at2,
    scale6,
    shift_motion,
    store2,
)
from mbsim_cli.kernels.algebra.vec3 import add3, cross3, load3, row3, sub3
from mbsim_cli.kernels.algorithms.kinematics import offset_to_parent
from mbsim_cli.model.layout import GRAVITY, P_C, P_P, R_C, R_P


@kernel
def vary_kinematics(tree, theta, dtheta, touch, gravity, kin, dz, dzd, dzdd, tw):
    """Fill N, N', N'' and base of ``tw`` for directions dtheta (p, len(theta)), dz, dzd, dzdd (n, p).

    ``gravity`` is 1 where A holds gravity and 0 where it does not.
    """
    _vary_ground(tree, dtheta, gravity, tw)
    for i in range(tree.parent.size):
        p = tree.parent[i]
        offset = offset_to_parent(tree, kin, i)
        base_V = shift_motion(motion_at(kin.V, p), offset)
        base_A = shift_motion(motion_at(kin.A, p), offset)
        for k in range(dz.shape[1]):
            N = shift_motion(motion_at2(tw.N, p, k), offset)
            N1 = shift_motion(motion_at2(tw.N1, p, k), offset)
            N2 = shift_motion(motion_at2(tw.N2, p, k), offset)
            if touch.geometry[i, k]:
                own = parent_frame_twist(tree, theta, dtheta[k], kin, i)
                N, N1, N2 = _add_fixed(own, base_V, base_A, N, N1, N2)
            store2(tw.base, i, k, N)
            for c in range(tree.first_column[i], tree.first_column[i + 1]):
                S, S1, S2 = motion_at(kin.S, c), motion_at(kin.S1, c), motion_at(kin.S2, c)
                N = axpy6(dz[c, k], S, N)
                N1 = axpy6(dz[c, k], S1, axpy6(dzd[c, k], S, N1))
                N2 = axpy6(dz[c, k], S2, axpy6(2.0 * dzd[c, k], S1, axpy6(dzdd[c, k], S, N2)))
            if touch.geometry[i, k]:
                own = body_frame_twist(tree, theta, dtheta[k], kin, i)
                N, N1, N2 = _add_fixed(own, motion_at(kin.V, i), motion_at(kin.A, i), N, N1, N2)
            store2(tw.N, i, k, N)
            store2(tw.N1, i, k, N1)
            store2(tw.N2, i, k, N2)


@inlined
def _vary_ground(tree, dtheta, gravity, tw):
    nb = tree.parent.size
    for k in range(tw.N.shape[1]):
        for c in range(6):
            tw.N[nb, k, c] = 0.0
            tw.N1[nb, k, c] = 0.0
            tw.N2[nb, k, c] = 0.0 if c < 3 else -gravity * dtheta[k, GRAVITY + c - 3]


@inlined
def _add_fixed(own, V, A, N, N1, N2):
    """Add a twist that is fixed in a body with motion V, A."""
    own1 = cross_motion(V, own)
    own2 = add6(cross_motion(A, own), cross_motion(V, own1))
    return add6(N, own), add6(N1, own1), add6(N2, own2)


@inlined
def parent_frame_twist(tree, theta, dtheta, kin, i):
    """Twist of body i, about its ref, from a variation of the joint frame on its parent."""
    o, p = tree.theta[i], tree.parent[i]
    R = row9(kin.R, p)
    turn = rotate(R, skew_part(matmul9_transposed(load9(dtheta, o + R_P), load9(theta, o + R_P))))
    point = add3(row3(kin.r, p, 0), rotate(R, load3(theta, o + P_P)))
    shift = rotate(R, load3(dtheta, o + P_P))
    return (turn, add3(shift, cross3(turn, sub3(row3(kin.ref, i, 0), point))))


@inlined
def body_frame_twist(tree, theta, dtheta, kin, i):
    """Twist of body i, about its ref, from a variation of the joint frame on the body itself."""
    o = tree.theta[i]
    R = row9(kin.R, i)
    turn = rotate(R, skew_part(matmul9_transposed(load9(dtheta, o + R_C), load9(theta, o + R_C))))
    point = add3(row3(kin.r, i, 0), rotate(R, load3(theta, o + P_C)))
    shift = rotate(R, load3(dtheta, o + P_C))
    return scale6(-1.0, (turn, add3(shift, cross3(turn, sub3(row3(kin.ref, i, 0), point)))))


@inlined
def vary_velocity(V, N, N1):
    """dV of a body."""
    return add6(N1, cross_motion(N, V))


@inlined
def vary_acceleration(V, A, N, N1, N2):
    """dA of a body."""
    return add6(N2, add6(cross_motion(N1, V), cross_motion(N, A)))
