"""Forward recursion of positions, velocities and accelerations, with the joint columns S, S', S''.

Paper 000, equations (4)-(6), in spatial form: every vector is taken about a point that is fixed in space
and, in RTdyn0, passes the body's centre of mass at the time point; in RTdyn1 it is the global origin.
"""

import numpy as np

from mbsim_cli.kernels.algebra.spatial import (
    accumulate,
    accumulate2,
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    rows_at,
    scale6,
    shift_force,
    shift_force2,
    shift_motion,
    shift_motion2,
    six_at,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    axpy3,
    column9,
    cross3,
    euler_rotation,
    inner4,
    load3,
    load9,
    matmul9,
    matmul9_transposed,
    norm2,
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
from mbsim_cli.kernels.algorithms.elimination.structure import before
from mbsim_cli.kernels.algorithms.motion.workspace import COLUMN_S, COLUMN_Y, OWN_S
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, only, put, width
from mbsim_cli.kernels.elements.columns import (
    euler_column,
    euler_column_rate,
    euler_column_second_rate,
    is_euler,
    is_translation,
    load4,
    load4_of,
)
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import COM, GRAVITY, INERTIA, MASS, P_C, P_P, R_C, R_P

# Bodies ---------------------------------------------------------------------------------------------------------------
#
# Access to the state of a body as elements need it: about the global origin.


@inlined
def pose_of(kin, i):
    """Rotation matrix and origin of body i (GROUND too)."""
    return row9(kin.R, i), row3(kin.r, i, 0)


@inlined
def poses_of(pairs, kin, pair):
    """Poses of both bodies of a pair."""
    return pose_of(kin, pairs.a[pair]), pose_of(kin, pairs.b[pair])


@inlined
def at_origin(array, kin, i):
    """Motion of body i about the global origin."""
    return shift_motion(motion_at(array, i), scale3(-1.0, row3(kin.ref, i, 0)))


@inlined
def at_origin2(array, kin, i, k):
    """Variation k of body i about the global origin."""
    return shift_motion2(motion_at2(array, i, k), scale3(-1.0, row3(kin.ref, i, 0)))


@inlined
def between2(array, kin, a, b, k):
    """Variation k of body b against body a, about the global origin."""
    return sub6(at_origin2(array, kin, b, k), at_origin2(array, kin, a, k))


@inlined
def column_at_origin(array, tree, kin, c):
    """Column c about the global origin."""
    return shift_motion(motion_at(array, c), scale3(-1.0, row3(kin.ref, tree.column_body[c], 0)))


@inlined
def apply_to_body(array, kin, i, s, wrench):
    """Add s times a force about the origin to body i."""
    accumulate(array, i, s, shift_force(wrench, row3(kin.ref, i, 0)))


@inlined
def apply_to_body2(array, kin, i, k, s, wrench):
    """Add s times a force about the origin to body i in direction k."""
    accumulate2(array, i, k, s, shift_force2(wrench, row3(kin.ref, i, 0)))


@inlined
def apply_between2(array, kin, a, b, k, s, from_a, carried):
    """Add s times the variation k of a force on b and against a, as the bodies see it.

    ``from_a`` is what body a sees of it, ``carried`` what its carrying along with the twist of b against a makes of it.
    """
    apply_to_body2(array, kin, a, k, -s, from_a)
    apply_to_body2(array, kin, b, k, s, sub6(from_a, carried))


@inlined
def no_motion(like):
    """A zero motion of the type of ``like``."""
    return scale6(0.0, like)


# Contribution of an element between two bodies to T, for the columns of one span of its path at a time.
#
# ``Composite.columns`` holds the twists S of the columns and their rates Y about the global origin. Theory:
# docs/theory/newton_matrix.md.


@inlined
def only6(x, bits):
    """Spatial vector x in the directions whose bit is set."""
    (a, b, c), (d, e, f) = x
    return (
        (only(a, bits), only(b, bits), only(c, bits)),
        (only(d, bits), only(e, bits), only(f, bits)),
    )


@inlined
def span_twists(comp, gamma, s):
    """Twists gamma S of the columns of span s on the branches of a and b, zero for the others."""
    spans = comp.spans
    N = scale6(gamma, rows_at(comp.columns, COLUMN_S, block(comp.columns, at(spans.column, s))))
    return only6(N, at(spans.on_a, s)), only6(N, at(spans.on_b, s))


@inlined
def span_rates(comp, s):
    """Rates Y of those twists."""
    spans = comp.spans
    Y = rows_at(comp.columns, COLUMN_Y, block(comp.columns, at(spans.column, s)))
    return only6(Y, at(spans.on_a, s)), only6(Y, at(spans.on_b, s))


@inlined
def spread(pairs, pair, comp, s, N, W, dW, T_out):
    """Add to T the variation dW of the wrench W on b by the twists N of span s."""
    _spread(pairs, pair, comp, s, dW, cross_force(N, W), T_out)


@inlined
def spread_from_first(pairs, pair, comp, s, N, W, from_a, T_out):
    """``spread`` from the variation of W as body a sees it."""
    carried = cross_force(N, W)
    _spread(pairs, pair, comp, s, add6(from_a, only6(carried, at(comp.spans.on_a, s))), carried, T_out)


@inlined
def _spread(pairs, pair, comp, s, dW, carried, T_out):
    """Row i of the path takes -S_i . dW; columns on its branch above i carry column i along."""
    spans = comp.spans
    first, on_a, on_b = at(spans.column, s), at(spans.on_a, s), at(spans.on_b, s)
    k = block(T_out, first)
    for i in range(at(pairs.first, pair), at(pairs.first, pair + 1)):
        c, below_b = at(pairs.column, i), at(pairs.sign, i) > 0
        above = (on_b if below_b else on_a) & before(c, first)
        power = dot6(six_at(comp.own, c, OWN_S), sub6(dW, only6(carried, above)))
        add_to(T_out, c, k, (-1.0 if below_b else 1.0) * power)


# Recursions -----------------------------------------------------------------------------------------------------------


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
            if is_translation(kind):
                axis = column9(R, kind)
                point = axpy3(z[c], axis, point)
                _keep(kin.S, c, axis, point)
            elif kind == Column.EULER_0:
                e = load4(z, c)
                for j in range(4):
                    _keep(kin.S, c + j, rotate(R, euler_column(e, j)), point)
                R = matmul9(R, euler_rotation(e))
            elif not is_euler(kind):
                axis = kind - Column.ROTATION_X
                _keep(kin.S, c, column9(R, axis), point)
                R = turn_columns(R, axis, z[c])
        _place_body(theta, o, i, R, point, at_center, kin)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            _to_spatial(kin, c, i, is_translation(tree.column_kind[c]))


@inlined
def _keep(S, c, axis, point):
    S[c, 0], S[c, 1], S[c, 2] = axis
    S[c, 3], S[c, 4], S[c, 5] = point


@inlined
def _to_spatial(kin, c, i, translation):
    axis = row3(kin.S, c, 0)
    if translation:
        store(kin.S, c, (scale3(0.0, axis), axis))
    else:
        arm = sub3(row3(kin.S, c, 3), row3(kin.ref, i, 0))
        store(kin.S, c, (axis, cross3(arm, axis)))


@inlined
def _place_body(theta, o, i, joint_R, point, at_center, kin):
    """Pose of body i from its joint frame; its inertia about the reference point."""
    R = matmul9_transposed(joint_R, load9(theta, o + R_C))
    r = sub3(point, rotate(R, load3(theta, o + P_C)))
    for j in range(9):
        kin.R[i, j] = R[j]
    c = add3(r, rotate(R, load3(theta, o + COM)))
    zero = scale3(0.0, c)
    ref = c if at_center else zero
    kin.r[i, 0], kin.r[i, 1], kin.r[i, 2] = r
    kin.ref[i, 0], kin.ref[i, 1], kin.ref[i, 2] = ref
    place_inertia(theta, o, i, R, sub3(c, ref), kin)


@inlined
def place_inertia(theta, o, i, R, arm, kin):
    """Inertia of body i with the axes R about the point that its centre of mass is the arm away from."""
    m, local, cross_terms = theta[o + MASS], load3(theta, o + INERTIA), load3(theta, o + INERTIA + 3)
    J = symmetric_rotate(R, (local[0], local[1], local[2], cross_terms[0], cross_terms[1], cross_terms[2]))
    steiner = parallel_axis(arm)
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
                    own = in_frame(frame, euler_column_rate(e, e1, j))
                    S1 = add6(cross_motion(base_V, motion_at(kin.S, c + j)), own)
                    V, A = _behind_column(motion, kin, c + j, S1, V, A)
            elif not is_euler(kind):
                V, A = _behind_column(motion, kin, c, cross_motion(V, motion_at(kin.S, c)), V, A)
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
            elif not is_euler(kind):
                S, S1 = motion_at(kin.S, c), motion_at(kin.S1, c)
                store(kin.S2, c, add6(cross_motion(A, S), cross_motion(V, S1)))
                if c > first:
                    V, A = _before_column(motion, kin, c, V, A)


@inlined
def _behind_column(motion, kin, c, S1, V, A):
    """V and A behind column c from those before it; keeps its rate S'."""
    S = motion_at(kin.S, c)
    store(kin.S1, c, S1)
    return axpy6(motion.zd[c], S, V), axpy6(motion.zdd[c], S, axpy6(motion.zd[c], S1, A))


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
        twice = add6(S1, in_frame(frame, euler_column_rate(e, e1, j)))
        own = in_frame(frame, euler_column_second_rate(e, e1, e2, j))
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


# Euler parameters kept on the manifold: unit length, and rates tangent to the unit sphere.


@kernel
def normalise(tree, z, zd):
    """Bring Euler parameters to unit length, and their rates to the tangent of the unit sphere."""
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1 = load4(z, c), load4(zd, c)
        scale = 1.0 / np.sqrt(norm2(e))
        along = inner4(e, e1) * scale * scale
        for j in range(4):
            z[c + j] = scale * e[j]
            zd[c + j] = scale * (e1[j] - along * e[j])


@kernel
def vary_normalise(tree, z, zd, dz, dzd):
    """Variation of ``normalise``; z, zd (n,) are those before it, dz, dzd (n, p) are replaced."""
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1 = load4(z, c), load4(zd, c)
        scale = 1.0 / np.sqrt(norm2(e))
        square = scale * scale
        along = inner4(e, e1) * square
        for p in range(dz.shape[1]):
            de = (dz[c, p], dz[c + 1, p], dz[c + 2, p], dz[c + 3, p])
            de1 = (dzd[c, p], dzd[c + 1, p], dzd[c + 2, p], dzd[c + 3, p])
            shrink = -inner4(e, de) * square
            d_along = (inner4(de, e1) + inner4(e, de1)) * square + 2.0 * along * shrink
            for j in range(4):
                dz[c + j, p] = scale * (de[j] + shrink * e[j])
                tangent = e1[j] - along * e[j]
                dzd[c + j, p] = scale * (de1[j] - along * de[j] - d_along * e[j] + shrink * tangent)


@kernel
def pull_normalise(tree, each, z, zd, z_hat, zd_hat):
    """Transpose of ``vary_normalise``: adjoints (n, p) of what ``normalise`` leaves become those of z, zd before.

    ``each`` are the ``simd.numbers`` of the columns.
    """
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1 = load4(z, c), load4(zd, c)
        scale = 1.0 / np.sqrt(norm2(e))
        square = scale * scale
        along = inner4(e, e1) * square
        tangent = (e1[0] - along * e[0], e1[1] - along * e[1], e1[2] - along * e[2], e1[3] - along * e[3])
        for g in range(0, each.size, width(each)):
            p = block(each, g)
            hat, hat1 = load4_of(z_hat, c, p), load4_of(zd_hat, c, p)
            by_along = -scale * inner4(e, hat1)
            by_shrink = scale * (inner4(e, hat) + inner4(tangent, hat1)) + 2.0 * along * by_along
            for j in range(4):
                put(zd_hat, c + j, p, scale * hat1[j] + square * e[j] * by_along)
                own = scale * (hat[j] - along * hat1[j])
                put(z_hat, c + j, p, own + square * (e1[j] * by_along - e[j] * by_shrink))
