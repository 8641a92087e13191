"""Torques of a tree at ``LANES`` time points at once: forward motion, backward sums.

Every step is one loop over lanes around scalar formulas; the arrays are fields of constant shape, so that the
compiler knows all strides and turns each loop into vector instructions. All spatial vectors are about the global
origin (slides that nothing turns are left out of positions). Derivation: docs/theory/inverse_dynamics.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear
from mbsim_cli.kernels.algebra.lanes import (
    WIDEST,
    get3,
    get6,
    get9,
    get_symmetric,
    row_type,
    set3,
    set6,
    set9,
    sine_cosine,
)
from mbsim_cli.kernels.algebra.spatial import add6, axpy6, cross_force, cross_motion, dot6, inertia_apply, scale6
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    axpy3,
    cross3,
    load6,
    matmul9,
    parallel_axis,
    rotate,
    row3,
    row9,
    scale3,
    sub3,
    symmetric_rotate,
)
from mbsim_cli.kernels.compiler.jit import kernel

LANES = 16


# Pose and motion of a link.
BODY = row_type(LANES, R=9, r=3, V=6, A=6)
# Coordinate, its columns S, S', S'' and what its unit rates take from the subtree (see ``columns``).
COLUMN = row_type(LANES, z=3, torque=1, S=6, S1=6, S2=6, H=6, U=6, W=6, B=3, K=3)
# Sums over subtrees: first and second moments, force, rate matrix (9 + 3), load matrix (9 + 3).
SUM = row_type(LANES, h=3, J=6, F=6, P=9, p=3)
LOAD = row_type(LANES, D=9, f=3)


@kernel
def gather(motion, first, links, column_out):
    """Coordinates of lanes ``first`` on (the last time point fills what is left)."""
    last = motion.position.shape[0] - 1
    for i in range(links.parent.size):
        z = column_out[i]["z"]
        widest = 0.0
        for l in range(LANES):
            t = min(first + l, last)
            z[0, l] = motion.position[t, i]
            z[1, l] = motion.velocity[t, i]
            z[2, l] = motion.acceleration[t, i]
            widest = max(widest, abs(z[0, l]))
        if widest > WIDEST and links.turns[i]:
            for l in range(LANES):
                z[0, l] = np.arctan2(np.sin(z[0, l]), np.cos(z[0, l]))


@kernel
def start_ground(links, body_out):
    """Pose of the ground; gravity is an upward acceleration of it."""
    ground, g = body_out[links.parent.size], (links.gravity[0], links.gravity[1], links.gravity[2])
    zero, up = scale3(0.0, g), scale3(-1.0, g)
    for l in range(LANES):
        set9(ground["R"], l, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
        set3(ground["r"], l, zero)
        set6(ground["V"], l, (zero, zero))
        set6(ground["A"], l, (zero, up))


@kernel
def move_link(links, i, parent, own, c):
    """Pose and motion of link i, and its column c, from those of its parent."""
    frame, arm = row9(links.frame, i), row3(links.arm, i, 0)
    if links.turns[i]:
        _turn_link(frame, arm, parent, own, c)
    else:
        _slide_link(frame, arm, links.travels[i], parent, own, c)
    _carry(parent, own, c)


@kernel
def _turn_link(frame, arm, parent, own, c):
    for l in range(LANES):
        R = get9(parent["R"], l)
        point = add3(get3(parent["r"], l), rotate(R, arm))
        R = matmul9(R, frame)
        axis = (R[2], R[5], R[8])
        s, co = sine_cosine(c["z"][0, l])
        set9(own["R"], l, _turn(R, s, co))
        set3(own["r"], l, point)
        set6(c["S"], l, (axis, cross3(point, axis)))


@kernel
def _slide_link(frame, arm, travel, parent, own, c):
    for l in range(LANES):
        R = get9(parent["R"], l)
        point = add3(get3(parent["r"], l), rotate(R, arm))
        R = matmul9(R, frame)
        axis = (R[2], R[5], R[8])
        set9(own["R"], l, R)
        set3(own["r"], l, axpy3(travel * c["z"][0, l], axis, point))
        set6(c["S"], l, (scale3(0.0, axis), axis))


@kernel
def _turn(R, s, c):
    """R Rot(z)."""
    return (
        c * R[0] + s * R[1], c * R[1] - s * R[0], R[2],
        c * R[3] + s * R[4], c * R[4] - s * R[3], R[5],
        c * R[6] + s * R[7], c * R[7] - s * R[6], R[8],
    )  # fmt: skip


@kernel
def _carry(parent, own, c):
    """Motion of the link, and column rates: brackets with the parent's motion."""
    for l in range(LANES):
        V, A, S = get6(parent["V"], l), get6(parent["A"], l), get6(c["S"], l)
        S1 = cross_motion(V, S)
        set6(c["S1"], l, S1)
        set6(c["S2"], l, add6(cross_motion(A, S), cross_motion(V, S1)))
        set6(own["V"], l, axpy6(c["z"][1, l], S, V))
        set6(own["A"], l, axpy6(c["z"][2, l], S, axpy6(c["z"][1, l], S1, A)))


@kernel
def weigh(links, i, own, total_out):
    """Moments, force and rate matrix of the link itself."""
    m = links.mass[i]
    center, local = row3(links.center, i, 0), load6(links.inertia[i], 0)
    for l in range(LANES):
        R = get9(own["R"], l)
        V, A = get6(own["V"], l), get6(own["A"], l)
        arm = add3(get3(own["r"], l), rotate(R, center))
        h = scale3(m, arm)
        about_center, steiner = symmetric_rotate(R, local), parallel_axis(arm)
        J = (
            about_center[0] + m * steiner[0], about_center[1] + m * steiner[1], about_center[2] + m * steiner[2],
            about_center[3] + m * steiner[3], about_center[4] + m * steiner[4], about_center[5] + m * steiner[5],
        )  # fmt: skip
        momentum = inertia_apply((m, h, J), V)
        set3(total_out["h"], l, h)
        for j in range(6):
            total_out["J"][j, l] = J[j]
        set6(total_out["F"], l, add6(inertia_apply((m, h, J), A), cross_force(V, momentum)))
        set9(total_out["P"], l, _rate_moments(h, J, V))
        set3(total_out["p"], l, scale3(2.0, momentum[1]))


@kernel
def _rate_moments(h, J, V):
    """Twice the moments x' x^T of a body, 3 x 3 by rows."""
    w, v = scale3(2.0, V[0]), scale3(2.0, V[1])
    half = 0.5 * (J[0] + J[1] + J[2])
    a = axpy3(h[0], v, cross3(w, (half - J[0], -J[3], -J[4])))
    b = axpy3(h[1], v, cross3(w, (-J[3], half - J[1], -J[5])))
    c = axpy3(h[2], v, cross3(w, (-J[4], -J[5], half - J[2])))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@kernel
def load_link(loads, k, wrench, first, own, total, load_total):
    """Take load k, wrench (N, nl, 3) in its own axes, from the force of its link; fill its load matrix."""
    last = wrench.shape[0] - 1
    place = (loads.point[k, 0], loads.point[k, 1], loads.point[k, 2])
    torque, turns = loads.torque[k], loads.turns[k]
    F, D, f = total["F"], load_total["D"], load_total["f"]
    for l in range(LANES):
        t = min(first + l, last)
        R = get9(own["R"], l)
        vector = (wrench[t, k, 0], wrench[t, k, 1], wrench[t, k, 2])
        if turns:
            vector = rotate(R, vector)
        x = add3(get3(own["r"], l), rotate(R, place))
        couple = vector if torque else cross3(x, vector)
        for c in range(3):
            F[c, l] -= couple[c]
            if not torque:
                F[c + 3, l] -= vector[c]
        if not turns and torque:  # D w = vector x w
            D[1, l] -= vector[2]
            D[2, l] += vector[1]
            D[3, l] += vector[2]
            D[5, l] -= vector[0]
            D[6, l] -= vector[1]
            D[7, l] += vector[0]
        elif not turns:  # D = vector x^T
            for c in range(3):
                f[c, l] += vector[c]
                for j in range(3):
                    D[3 * c + j, l] += vector[c] * x[j]


@kernel
def apply_rates(P, p, w):
    """(tr P w - P w, w x p): force of a matrix of 12 numbers on the angular part of a twist."""
    trace = P[0] + P[4] + P[8]
    return (sub3(scale3(trace, w), rotate(P, w)), cross3(w, p))


@kernel
def rate_apply_transposed(P, p, S):
    """The transposed matrix on a twist; the linear part vanishes."""
    trace = P[0] + P[4] + P[8]
    transposed = (P[0], P[3], P[6], P[1], P[4], P[7], P[2], P[5], P[8])
    return add3(sub3(scale3(trace, S[0]), rotate(transposed, S[0])), cross3(p, S[1]))


@kernel
def columns(mass, total, column_out):
    """H = I S, U = B S + 2 I S', W = I S'' + B S' + S x* F, the angular part of B^T S, and the torque S . F."""
    c = column_out
    for l in range(LANES):
        inertia = (mass, get3(total["h"], l), get_symmetric(total["J"], l))
        P, p = get9(total["P"], l), get3(total["p"], l)
        F = get6(total["F"], l)
        S, S1 = get6(c["S"], l), get6(c["S1"], l)
        set6(c["H"], l, inertia_apply(inertia, S))
        set6(c["U"], l, add6(apply_rates(P, p, S[0]), inertia_apply(inertia, scale6(2.0, S1))))
        W = add6(inertia_apply(inertia, get6(c["S2"], l)), apply_rates(P, p, S1[0]))
        set6(c["W"], l, add6(W, cross_force(S, F)))
        set3(c["B"], l, rate_apply_transposed(P, p, S))
        c["torque"][0, l] = dot6(S, F)


@kernel
def load_columns(load_total, column_out):
    """Add K S to W, and form K^T S: loads with global axes do not turn with their links."""
    c = column_out
    for l in range(LANES):
        D, f = get9(load_total["D"], l), get3(load_total["f"], l)
        S = get6(c["S"], l)
        set6(c["W"], l, add6(get6(c["W"], l), apply_rates(D, f, S[0])))
        set3(c["K"], l, rate_apply_transposed(D, f, S))


@kernel
def torque_alone(total, column_out):
    """Torque S . F in ``torque``."""
    for l in range(LANES):
        column_out["torque"][0, l] = dot6(get6(column_out["S"], l), get6(total["F"], l))


@kernel
def sweep(system, motion, wrench, first, derivatives, work):
    """Torques of ``LANES`` time points and, where ``derivatives`` are wanted, the columns that they are made of."""
    links, rows, load_rows = system.links, system.rows, system.load_rows
    body, column, total, load_total = work.body, work.column, work.total, work.load
    n = links.parent.size
    gather(motion, first, links, column)
    start_ground(links, body)
    for i in range(n):
        move_link(links, i, body[links.parent[i]], body[i], column[i])
        if rows[i] == i:
            weigh(links, i, body[i], total[i])
        if load_rows[i] == i:
            clear(load_total[i]["D"])
            clear(load_total[i]["f"])
    for k in range(system.loads.link.size):
        i = system.loads.link[k]
        load_link(system.loads, k, wrench, first, body[i], total[i], load_total[i])
    for i in range(n - 1, -1, -1):
        row, load_row, p = rows[i], load_rows[i], links.parent[i]
        if row < 0:  # a subtree without mass and load takes nothing
            clear(column[i]["H"])
            clear(column[i]["U"])
            clear(column[i]["W"])
            clear(column[i]["B"])
            clear(column[i]["torque"])
        elif derivatives:
            columns(system.mass_below[i], total[row], column[i])
            if load_row >= 0:
                load_columns(load_total[load_row], column[i])
        else:
            torque_alone(total[row], column[i])
        if p < n and row >= 0 and rows[p] == p:  # about one origin sums need no shifts
            add_scaled(1.0, total[row]["h"], total[p]["h"])
            add_scaled(1.0, total[row]["J"], total[p]["J"])
            add_scaled(1.0, total[row]["F"], total[p]["F"])
            add_scaled(1.0, total[row]["P"], total[p]["P"])
            add_scaled(1.0, total[row]["p"], total[p]["p"])
        if p < n and load_row >= 0 and load_rows[p] == p:
            add_scaled(1.0, load_total[load_row]["D"], load_total[p]["D"])
            add_scaled(1.0, load_total[load_row]["f"], load_total[p]["f"])
