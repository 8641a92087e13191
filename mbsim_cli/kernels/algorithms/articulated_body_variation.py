"""Variation of the accelerations of a tree in p directions, without any matrix of the size of the tree.

From the ground to the tips: twists N, N', N'' of all bodies at fixed joint accelerations, the forces that the bodies
take for them, and what they ask of each axis; from the tips to the ground: these forces through the articulated
bodies that ``eliminate`` left; back to the tips: the joint accelerations that follow. Directions are lanes, LANES at a
time. Cost O(n p). Paper 001, equations (62)-(70). Derivation: docs/theory/open_trees.md.
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels.algebra.articulated import articulated_apply, articulated_at
from mbsim_cli.kernels.algebra.euler_parameters import norm2, rate_column
from mbsim_cli.kernels.algebra.lanes import get6, put6, rows_of
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    inertia_apply,
    motion_at,
    shift_force,
    shift_motion,
)
from mbsim_cli.kernels.algebra.vec3 import axpy3, dot3, scale3
from mbsim_cli.kernels.algorithms.articulated_body import is_skipped, norm_defect
from mbsim_cli.kernels.algorithms.inverse_dynamics import body_force, inertia_at
from mbsim_cli.kernels.algorithms.kinematics import offset_to_parent
from mbsim_cli.kernels.algorithms.newton_matrix import rate_apply, rate_matrix
from mbsim_cli.kernels.algorithms.residual_variation import own_inertia_force
from mbsim_cli.kernels.algorithms.variation import body_frame_twist, parent_frame_twist
from mbsim_cli.kernels.elements.columns import is_euler, load4
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import GRAVITY, NONE

LANES = 8


def body_lanes(dtype):
    """A body's lanes: its twist with two time derivatives, and the variation of the force that it takes.

    Once the forces are known, ``N2`` holds what the joint accelerations add to N''.
    """
    return rows_of(LANES, dtype, N=6, N1=6, N2=6, F=6)


def column_lanes(dtype):
    """A column's lanes: variations of z, z', z'' (zero where z'' is free), and of the acceleration along its axis."""
    return rows_of(LANES, dtype, z=3, x=1)


@kernel
def gather_lanes(first, dz, dzd, driven_zdd, columns_out):
    """Directions ``first`` on of dz, dzd and of the driven accelerations (n, p)."""
    for c in range(dz.shape[0]):
        z = columns_out[c]["z"]
        for l in range(LANES):
            z[0, l] = dz[c, first + l]
            z[1, l] = dzd[c, first + l]
            z[2, l] = driven_zdd[c, first + l]


@kernel
def vary_bodies_outward(tree, theta, dtheta, touch, kin, art, rows, columns):
    """N, N', N'' and F of all bodies, and in ``x`` of each column less what its axis meets; dtheta (LANES, len)."""
    _vary_ground_lanes(tree, dtheta, rows)
    for i in range(tree.parent.size):
        p = tree.parent[i]
        own, d = rows[i], offset_to_parent(tree, kin, i)
        touched = touch.body[i]
        _carry(rows[p], d, own)
        if touched:
            V, A = shift_motion(motion_at(kin.V, p), d), shift_motion(motion_at(kin.A, p), d)
            for l in range(LANES):
                if touch.geometry[i, l]:
                    _add_fixed_lane(parent_frame_twist(tree, theta, dtheta[l], kin, i), V, A, own, l)
        _cross_columns(tree, i, kin, art, own, columns)
        if touched:
            V, A = motion_at(kin.V, i), motion_at(kin.A, i)
            for l in range(LANES):
                if touch.geometry[i, l]:
                    _add_fixed_lane(body_frame_twist(tree, theta, dtheta[l], kin, i), V, A, own, l)
        _force_of_body(kin, i, own)
        if touched:
            for l in range(LANES):
                if touch.inertia[i, l]:
                    F = own_inertia_force(tree, theta, dtheta[l], kin, i)
                    put6(own["F"], l, add6(get6(own["F"], l), F))


@kernel
def _vary_ground_lanes(tree, dtheta, rows):
    ground = rows[tree.parent.size]
    for l in range(LANES):
        for k in range(6):
            ground["N"][k, l] = 0.0
            ground["N1"][k, l] = 0.0
            ground["N2"][k, l] = 0.0 if k < 3 else -dtheta[l, GRAVITY + k - 3]


@kernel
def _carry(parent, d, own):
    """Twists of the parent, about the body's reference point."""
    N, N1, N2 = parent["N"], parent["N1"], parent["N2"]
    for l in range(LANES):
        put6(own["N"], l, shift_motion(get6(N, l), d))
        put6(own["N1"], l, shift_motion(get6(N1, l), d))
        put6(own["N2"], l, shift_motion(get6(N2, l), d))


@inlined
def _add_fixed_lane(twist, V, A, own, l):
    """Add a twist that is fixed in a body with motion V, A."""
    rate = cross_motion(V, twist)
    second = add6(cross_motion(A, twist), cross_motion(V, rate))
    put6(own["N"], l, add6(get6(own["N"], l), twist))
    put6(own["N1"], l, add6(get6(own["N1"], l), rate))
    put6(own["N2"], l, add6(get6(own["N2"], l), second))


@inlined
def _cross_columns(tree, i, kin, art, own, columns):
    """From the twist of the joint frame on the parent's side to that of the body, column by column."""
    force = motion_at(art.joint_force, i)
    for c in range(tree.first_column[i], tree.first_column[i + 1]):
        kind = tree.column_kind[c]
        if not is_euler(kind):
            _turn_axis(motion_at(art.axis, c), force, own, columns[c])
        elif kind == Column.EULER_0:  # all three axes are fixed on the parent's side
            for k in range(1, 4):
                _turn_axis(motion_at(art.axis, c + k), force, own, columns[c + k])
        _cross_column(motion_at(kin.S, c), motion_at(kin.S1, c), motion_at(kin.S2, c), own, columns[c])


@kernel
def _turn_axis(S, force, own, column):
    """The axis varies with the frame that it is fixed in: -(N x S) . force."""
    x, N = column["x"], own["N"]
    turned = cross_force(S, force)  # -(N x S) . f = (S x N) . f = -N . (S x* f)
    for l in range(LANES):
        x[0, l] = -dot6(get6(N, l), turned)


@kernel
def _cross_column(S, S1, S2, own, column):
    z = column["z"]
    for l in range(LANES):
        dz, dzd, dzdd = z[0, l], z[1, l], z[2, l]
        put6(own["N"], l, axpy6(dz, S, get6(own["N"], l)))
        put6(own["N1"], l, axpy6(dz, S1, axpy6(dzd, S, get6(own["N1"], l))))
        put6(own["N2"], l, axpy6(dz, S2, axpy6(2.0 * dzd, S1, axpy6(dzdd, S, get6(own["N2"], l)))))


@inlined
def _force_of_body(kin, i, own):
    """dF = N x* F + I N'' + B N'."""
    P, momentum = rate_matrix(kin, i)
    _force_lanes(inertia_at(kin.inertia, i), P, momentum, body_force(kin, i), own)


@kernel
def _force_lanes(inertia, P, momentum, F, own):
    for l in range(LANES):
        N, N1, N2 = get6(own["N"], l), get6(own["N1"], l), get6(own["N2"], l)
        taken = add6(inertia_apply(inertia, N2), rate_apply(P, momentum, N1[0]))
        put6(own["F"], l, add6(cross_force(N, F), taken))


@kernel
def add_axis_forces(tree, z, Q, dG, columns):
    """Add the variation of the forces on coordinates, -dG (n, LANES), to what the axes meet; Q (n,) are the forces."""
    for c in range(z.size):
        kind = tree.column_kind[c]
        if not is_euler(kind):
            x = columns[c]["x"]
            for l in range(LANES):
                x[0, l] -= dG[c, l]
        elif kind == Column.EULER_0:
            e = load4(z, c)
            for l in range(LANES):
                de = _lane4(columns, c, 0, l)
                moment = scale3(-dG[c, l], rate_column(e, 0))
                moment = axpy3(Q[c], rate_column(de, 0), moment)
                for k in range(1, 4):
                    moment = axpy3(-dG[c + k, l], rate_column(e, k), moment)
                    moment = axpy3(Q[c + k], rate_column(de, k), moment)
                for k in range(3):
                    columns[c + 1 + k]["x"][0, l] += 0.5 * moment[k]


@kernel
def eliminate_lanes(tree, driver, kin, art, rows, columns):
    """Forces through the articulated bodies, from the tips to the ground; ``x`` becomes what is left for an axis."""
    for i in range(tree.parent.size - 1, -1, -1):
        own = rows[i]
        for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
            if driver[c] == NONE and not is_skipped(tree.column_kind[c]):
                _eliminate_axis(motion_at(art.axis, c), motion_at(art.U, c), art.D[c], own, columns[c])
        p = tree.parent[i]
        if p >= 0:
            _force_to_parent(scale3(-1.0, offset_to_parent(tree, kin, i)), own, rows[p])


@kernel
def _eliminate_axis(S, U, D, own, column):
    x, F = column["x"], own["F"]
    for l in range(LANES):
        f = get6(F, l)
        u = x[0, l] - dot6(S, f)
        x[0, l] = u
        put6(F, l, axpy6(D * u, U, f))


@kernel
def _force_to_parent(back, own, parent):
    for l in range(LANES):
        put6(parent["F"], l, add6(get6(parent["F"], l), shift_force(get6(own["F"], l), back)))


@kernel
def accelerate_lanes(tree, driver, kin, art, rows, columns):
    """Accelerations along the axes, from the ground to the tips, in ``x``; those of bodies replace N''.

    A driven axis receives the variation of the force that its drive takes instead.
    """
    ground = rows[tree.parent.size]
    for l in range(LANES):
        for k in range(6):
            ground["N2"][k, l] = 0.0
    for i in range(tree.parent.size):
        own = rows[i]
        _carry_acceleration(offset_to_parent(tree, kin, i), rows[tree.parent[i]], own)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            if driver[c] != NONE:
                _load_axis(motion_at(art.axis, c), articulated_at(art.inertia, i), own, columns[c])
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            if driver[c] == NONE and not is_skipped(tree.column_kind[c]):
                _accelerate_axis(motion_at(art.axis, c), motion_at(art.U, c), art.D[c], own, columns[c])


@kernel
def _carry_acceleration(d, parent, own):
    for l in range(LANES):
        put6(own["N2"], l, shift_motion(get6(parent["N2"], l), d))


@kernel
def _load_axis(S, inertia, own, column):
    x = column["x"]
    for l in range(LANES):
        force = add6(articulated_apply(inertia, get6(own["N2"], l)), get6(own["F"], l))
        x[0, l] = dot6(S, force) - x[0, l]


@kernel
def _accelerate_axis(S, U, D, own, column):
    x, a = column["x"], own["N2"]
    for l in range(LANES):
        x[0, l] = D * (x[0, l] - dot6(get6(a, l), U))
        put6(a, l, axpy6(x[0, l], S, get6(a, l)))


@kernel
def scatter_lanes(tree, driver, first, z, zd, zdd, columns, dzdd_out):
    """Accelerations of the coordinates in directions ``first`` on, from those along the axes."""
    for c in range(z.size):
        kind = tree.column_kind[c]
        if driver[c] != NONE:
            for l in range(LANES):
                dzdd_out[c, first + l] = columns[c]["z"][2, l]
        elif not is_euler(kind):
            for l in range(LANES):
                dzdd_out[c, first + l] = columns[c]["x"][0, l]
        elif kind == Column.EULER_0:
            e, e1, e2 = load4(z, c), load4(zd, c), load4(zdd, c)
            for l in range(LANES):
                turn = (columns[c + 1]["x"][0, l], columns[c + 2]["x"][0, l], columns[c + 3]["x"][0, l])
                along = norm_defect(e, e1, e2, _lane4(columns, c, 0, l), _lane4(columns, c, 1, l)) / norm2(e)
                for k in range(4):
                    dzdd_out[c + k, first + l] = 0.5 * dot3(rate_column(e, k), turn) + along * e[k]


@inlined
def _lane4(columns, c, order, l):
    """Variations of four Euler parameters, or of their rates."""
    return (
        columns[c]["z"][order, l],
        columns[c + 1]["z"][order, l],
        columns[c + 2]["z"][order, l],
        columns[c + 3]["z"][order, l],
    )
