"""Forward recursion of positions, velocities and accelerations, with the joint columns S, S', S''.

Paper 000, equations (4)-(6), in spatial form: every vector is taken about a point that is fixed in space
and, in RTdyn0, passes the body's centre of mass at the time point; in RTdyn1 it is the global origin.
"""

from mbsim_cli.kernels.algebra.spatial import add6, axpy6, cross_motion, motion_at, shift_force, shift_motion, store
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    axpy3,
    column9,
    cross3,
    euler_rotation,
    load3,
    load6,
    load9,
    matmul9,
    matmul9_transposed,
    parallel_axis,
    rotate,
    row3,
    row9,
    scale3,
    sub3,
    symmetric_rotate,
    turn_columns,
    unrotate,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements import columns
from mbsim_cli.kernels.elements.columns import load4
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import COM, GRAVITY, INERTIA, MASS, P_C, P_P, R_C, R_P


def set_ground(theta, kin):
    """Fill the row of the ground, zero so far; gravity enters as an upward acceleration of the base."""
    kin.R[-1, ::4] = 1.0
    kin.A[-1, 3:] = -theta[GRAVITY : GRAVITY + 3]


@kernel
def position_kinematics(tree, theta, z, at_center, kin):
    """Poses R, r, columns S and inertias of all bodies; ``at_center`` chooses RTdyn0. Cost O(n)."""
    for i in range(tree.parent.size):
        o = tree.theta[i]
        p = tree.parent[i]
        parent_R = row9(kin.R, p)
        R = matmul9(parent_R, load9(theta, o + R_P))
        point = add3(row3(kin.r, p, 0), rotate(parent_R, load3(theta, o + P_P)))
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            kind = tree.column_kind[c]
            if columns.is_translation(kind):
                axis = column9(R, kind)
                point = axpy3(z[c], axis, point)
                store(kin.S, c, (axis, point))
            elif kind == Column.EULER_0:
                e = load4(z, c)
                for j in range(4):
                    store(kin.S, c + j, (rotate(R, columns.euler_column(e, j)), point))
                R = matmul9(R, euler_rotation(e))
            elif not columns.is_euler(kind):
                axis = kind - Column.ROTATION_X
                store(kin.S, c, (column9(R, axis), point))
                R = turn_columns(R, axis, z[c])
        R = matmul9_transposed(R, load9(theta, o + R_C))
        r = sub3(point, rotate(R, load3(theta, o + P_C)))
        center = add3(r, rotate(R, load3(theta, o + COM)))
        ref = center if at_center else scale3(0.0, center)
        for j in range(9):
            kin.R[i, j] = R[j]
        kin.r[i, 0], kin.r[i, 1], kin.r[i, 2] = r
        kin.ref[i, 0], kin.ref[i, 1], kin.ref[i, 2] = ref
        place_inertia(theta, o, i, R, sub3(center, ref), kin)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):  # from axes and points
            axis = row3(kin.S, c, 0)
            if columns.is_translation(tree.column_kind[c]):
                store(kin.S, c, (scale3(0.0, axis), axis))
            else:
                store(kin.S, c, (axis, cross3(sub3(row3(kin.S, c, 3), ref), axis)))


@inlined
def place_inertia(theta, o, i, R, arm, kin):
    """Inertia of body i with the axes R about the point that its centre of mass is the arm away from."""
    m, J, steiner = theta[o + MASS], symmetric_rotate(R, load6(theta, o + INERTIA)), parallel_axis(arm)
    kin.inertia[i, 0] = m
    for j in range(3):
        kin.inertia[i, 1 + j] = m * arm[j]
    for j in range(6):
        kin.inertia[i, 4 + j] = J[j] + m * steiner[j]


@inlined
def offset_to_parent(tree, kin, i):
    """Reference point of body i less that of its parent."""
    return sub3(row3(kin.ref, i, 0), row3(kin.ref, tree.parent[i], 0))


@kernel
def motion_kinematics(tree, theta, motion, kin):
    """V, A, S' of the motion. Needs ``position_kinematics``. Cost O(n)."""
    for i in range(tree.parent.size):
        p, offset = tree.parent[i], offset_to_parent(tree, kin, i)
        V, A = shift_motion(motion_at(kin.V, p), offset), shift_motion(motion_at(kin.A, p), offset)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            kind = tree.column_kind[c]
            if kind == Column.EULER_0:
                frame, base_V = euler_frame(tree, theta, kin, i), V
                e, e1 = load4(motion.z, c), load4(motion.zd, c)
                for j in range(4):
                    S, rate = motion_at(kin.S, c + j), motion.zd[c + j]
                    S1 = add6(cross_motion(base_V, S), in_frame(frame, columns.euler_column_rate(e, e1, j)))
                    store(kin.S1, c + j, S1)
                    V, A = axpy6(rate, S, V), axpy6(motion.zdd[c + j], S, axpy6(rate, S1, A))
            elif not columns.is_euler(kind):
                S, rate = motion_at(kin.S, c), motion.zd[c]
                S1 = cross_motion(V, S)
                store(kin.S1, c, S1)
                V, A = axpy6(rate, S, V), axpy6(motion.zdd[c], S, axpy6(rate, S1, A))
        store(kin.V, i, V)
        store(kin.A, i, A)


@kernel
def column_kinematics(tree, theta, motion, kin):
    """S'' of the motion, for tangents, variations and pull-backs. Needs ``motion_kinematics``. Cost O(n).

    V and A behind a column do as well as those before it: what the column adds to A x S + V x S' cancels.
    """
    for i in range(tree.parent.size):
        V, A = motion_at(kin.V, i), motion_at(kin.A, i)
        first = tree.first_column[i]
        for c in range(tree.first_column[i + 1] - 1, first - 1, -1):
            kind = tree.column_kind[c]
            if kind == Column.EULER_3:
                for j in range(4):
                    V, A = _before_column(motion, kin, c - j, V, A)
                _euler_second_rates(tree, theta, motion, kin, i, c - 3, V, A)
            elif not columns.is_euler(kind):
                S, S1 = motion_at(kin.S, c), motion_at(kin.S1, c)
                store(kin.S2, c, add6(cross_motion(A, S), cross_motion(V, S1)))
                if c > first:
                    V, A = _before_column(motion, kin, c, V, A)


@inlined
def _before_column(motion, kin, c, V, A):
    """V and A before column c from those behind it."""
    S, S1, rate = motion_at(kin.S, c), motion_at(kin.S1, c), -motion.zd[c]
    return axpy6(rate, S, V), axpy6(-motion.zdd[c], S, axpy6(rate, S1, A))


@inlined
def _euler_second_rates(tree, theta, motion, kin, i, c, V, A):
    """S'' of the four columns of Euler parameters from c on, from V and A before them."""
    frame = euler_frame(tree, theta, kin, i)
    e, e1, e2 = load4(motion.z, c), load4(motion.zd, c), load4(motion.zdd, c)
    for j in range(4):
        S, S1 = motion_at(kin.S, c + j), motion_at(kin.S1, c + j)
        twice = add6(S1, in_frame(frame, columns.euler_column_rate(e, e1, j)))
        own = in_frame(frame, columns.euler_column_second_rate(e, e1, e2, j))
        store(kin.S2, c + j, add6(add6(cross_motion(A, S), cross_motion(V, twice)), own))


@inlined
def euler_frame(tree, theta, kin, i):
    """Axes of the frame that Euler parameters of body i start from, and their point less ref of the body."""
    R = matmul9(row9(kin.R, tree.parent[i]), load9(theta, tree.theta[i] + R_P))
    return R, sub3(_euler_center(tree, theta, kin, i), row3(kin.ref, i, 0))


@inlined
def euler_own(tree, theta, kin, i, local):
    """Spatial vector, about ref of body i, of an angular vector in the frame that Euler parameters start from."""
    return in_frame(euler_frame(tree, theta, kin, i), local)


@inlined
def in_frame(frame, local):
    """``euler_own`` in a given ``euler_frame``."""
    R, arm = frame
    w = rotate(R, local)
    return (w, cross3(arm, w))


@inlined
def euler_moment(tree, theta, kin, i, force):
    """Moment about the point that Euler parameters of body i turn about, in the frame that they start from."""
    arm = sub3(_euler_center(tree, theta, kin, i), row3(kin.ref, i, 0))
    moment, _ = shift_force(force, arm)
    return unrotate(load9(theta, tree.theta[i] + R_P), unrotate(row9(kin.R, tree.parent[i]), moment))


@inlined
def _euler_center(tree, theta, kin, i):
    """Point that Euler parameters turn about; translations of the joint stand all before them or all after."""
    o, p = tree.theta[i], tree.parent[i]
    if tree.column_kind[tree.first_column[i]] == Column.EULER_0:
        return add3(row3(kin.r, p, 0), rotate(row9(kin.R, p), load3(theta, o + P_P)))
    return add3(row3(kin.r, i, 0), rotate(row9(kin.R, i), load3(theta, o + P_C)))
