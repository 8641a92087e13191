"""Variations of poses, velocities and accelerations of all bodies in p directions at once.

For a body whose pose varies by the twist N, with time derivatives N' and N'',
    dV = N' + N x V,      dA = N'' + N' x V + N x A,
so the recursion carries N, N', N''. A coordinate contributes S dz, S dz' + S' dz, S dz'' + 2 S' dz' + S'' dz;
a joint point or axis contributes a twist that is fixed in its body. A direction is a variation of the
coordinates and of theta. Derivation: docs/theory/variations.md. Paper 000, sections 8 and 9; cost O(n p).
"""

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_motion,
    motion_at,
    motion_at2,
    scale6,
    shift_motion,
    store,
    store2,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    cross3,
    is_zero3,
    load3,
    load3_of,
    load9,
    load9_of,
    matmul9_transposed,
    rotate,
    row3,
    row9,
    skew_part,
    sub3,
)
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_own, offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import at, block, put, width
from mbsim_cli.kernels.elements.columns import euler_column_rate, is_euler, load4, load4_of
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import GRAVITY, P_C, P_P, R_C, R_P


@kernel
def vary_kinematics(tree, theta, directions, kin, change, tw):
    """Fill N, N', N'' of ``tw`` for ``directions`` and variations ``change`` (n, p).

    What seldom differs from the parent's twists is added in memory: values that two branches may have made would
    keep the registers of both.
    """
    dtheta, touch = directions.dtheta, directions.touch
    vary_ground(tree, dtheta, tw)
    for i in range(tree.parent.size):
        shifts = not is_zero3(offset_to_parent(tree, kin, i))
        for g in range(0, change.z.shape[1], width(change.z)):
            k, start = block(change.z, g), tree.parent[i]
            if shifts or touch.geometry[i, g]:
                _enter_joint(tree, theta, dtheta, touch.geometry[i, g], kin, i, k, tw)
                start = i
            N, N1, N2 = motion_at2(tw.N, start, k), motion_at2(tw.N1, start, k), motion_at2(tw.N2, start, k)
            for c in range(tree.first_column[i], tree.first_column[i + 1]):
                dz, dzd, dzdd = at(change.z, c, k), at(change.zd, c, k), at(change.zdd, c, k)
                N, N1, N2 = cross_column(kin, c, dz, dzd, dzdd, N, N1, N2)
            _store_twists(tw, i, k, N, N1, N2)
            if touch.geometry[i, g]:
                own = body_frame_twist(tree, theta, dtheta, k, kin, i)
                _store_twists(tw, i, k, *add_fixed(own, motion_at(kin.V, i), motion_at(kin.A, i), N, N1, N2))


@inlined
def _enter_joint(tree, theta, dtheta, touched, kin, i, k, tw):
    """Leave in row i the twists that the columns of joint i start from."""
    p, offset = tree.parent[i], offset_to_parent(tree, kin, i)
    N, N1 = shift_motion(motion_at2(tw.N, p, k), offset), shift_motion(motion_at2(tw.N1, p, k), offset)
    N2 = shift_motion(motion_at2(tw.N2, p, k), offset)
    if touched:
        own = parent_frame_twist(tree, theta, dtheta, k, kin, i)
        V, A = shift_motion(motion_at(kin.V, p), offset), shift_motion(motion_at(kin.A, p), offset)
        N, N1, N2 = add_fixed(own, V, A, N, N1, N2)
    _store_twists(tw, i, k, N, N1, N2)


@inlined
def _store_twists(tw, i, k, N, N1, N2):
    store2(tw.N, i, k, N)
    store2(tw.N1, i, k, N1)
    store2(tw.N2, i, k, N2)


@inlined
def cross_column(kin, c, dz, dzd, dzdd, N, N1, N2):
    """Twists behind column c from those before it."""
    S, S1, S2 = motion_at(kin.S, c), motion_at(kin.S1, c), motion_at(kin.S2, c)
    behind1 = axpy6(dz, S1, axpy6(dzd, S, N1))
    behind2 = axpy6(dz, S2, axpy6(2.0 * dzd, S1, axpy6(dzdd, S, N2)))
    return axpy6(dz, S, N), behind1, behind2


@inlined
def vary_ground(tree, dtheta, tw):
    """Twists of the ground."""
    nb = tree.parent.size
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        for c in range(3):
            put(tw.N, nb, c, k, 0.0)
            put(tw.N, nb, c + 3, k, 0.0)
            put(tw.N1, nb, c, k, 0.0)
            put(tw.N1, nb, c + 3, k, 0.0)
            put(tw.N2, nb, c, k, 0.0)
            put(tw.N2, nb, c + 3, k, -at(dtheta, GRAVITY + c, k))


@inlined
def add_fixed(own, V, A, N, N1, N2):
    """Add a twist that is fixed in a body with motion V, A."""
    own1 = cross_motion(V, own)
    own2 = add6(cross_motion(A, own), cross_motion(V, own1))
    return add6(N, own), add6(N1, own1), add6(N2, own2)


@inlined
def parent_frame_twist(tree, theta, dtheta, k, kin, i):
    """Twist of body i, about its ref, from a variation of the joint frame on its parent."""
    o, p = tree.theta[i], tree.parent[i]
    R = row9(kin.R, p)
    turn = rotate(R, skew_part(matmul9_transposed(load9_of(dtheta, o + R_P, k), load9(theta, o + R_P))))
    point = add3(row3(kin.r, p, 0), rotate(R, load3(theta, o + P_P)))
    shift = rotate(R, load3_of(dtheta, o + P_P, k))
    return (turn, add3(shift, cross3(turn, sub3(row3(kin.ref, i, 0), point))))


@inlined
def body_frame_twist(tree, theta, dtheta, k, kin, i):
    """Twist of body i, about its ref, from a variation of the joint frame on the body itself."""
    o = tree.theta[i]
    R = row9(kin.R, i)
    turn = rotate(R, skew_part(matmul9_transposed(load9_of(dtheta, o + R_C, k), load9(theta, o + R_C))))
    point = add3(row3(kin.r, i, 0), rotate(R, load3(theta, o + P_C)))
    shift = rotate(R, load3_of(dtheta, o + P_C, k))
    return scale6(-1.0, (turn, add3(shift, cross3(turn, sub3(row3(kin.ref, i, 0), point)))))


@inlined
def vary_velocity(V, N, N1):
    """dV of a body."""
    return add6(N1, cross_motion(N, V))


@inlined
def vary_acceleration(V, A, N, N1, N2):
    """dA of a body."""
    return add6(N2, add6(cross_motion(N1, V), cross_motion(N, A)))


@kernel
def vary_columns(tree, theta, directions, z, dz, k, kin, tw, dS_out):
    """Variation k of all columns, dS (n, 6); needs ``vary_kinematics``. Cost O(n).

    Columns are carried by the twist N of the frame that they start from: docs/theory/variations.md (8).
    """
    dtheta, touch = directions.dtheta, directions.touch
    for i in range(tree.parent.size):
        N = shift_motion(motion_at2(tw.N, tree.parent[i], k), offset_to_parent(tree, kin, i))
        if touch.geometry[i, k]:
            N = add6(N, parent_frame_twist(tree, theta, dtheta, k, kin, i))
        base = N  # before the joint's Euler parameters
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            S = motion_at(kin.S, c)
            if tree.column_kind[c] == Column.EULER_0:
                base = N
            dS = cross_motion(N, S)
            if is_euler(tree.column_kind[c]):
                j = tree.column_kind[c] - Column.EULER_0
                local = euler_column_rate(load4(z, c - j), load4_of(dz, c - j, k), j)
                dS = add6(cross_motion(base, S), euler_own(tree, theta, kin, i, local))
            store(dS_out, c, dS)
            N = axpy6(at(dz, c, k), S, N)
