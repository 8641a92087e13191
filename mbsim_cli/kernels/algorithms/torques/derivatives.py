"""d torque / d position, velocity, acceleration at ``LANES`` time points, one row of the matrices at a time.

For a link i and an ancestor j (or i itself),
    d tau_j / d (q_i, q_i', q_i'') = S_j . (W_i, U_i, H_i),
    d tau_i / d (q_j, q_j', q_j'') = (H_i . S_j'' + B_i . S_j' + K_i . S_j,  2 H_i . S_j' + B_i . S_j,  H_i . S_j),
where B_i, K_i multiply angular parts only. Rows are turned from lanes to time points in cache;
entries of links on different branches keep the zeros that they were given.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear
from mbsim_cli.kernels.algebra.lanes import get3, get6, get9, get_symmetric, row_type, set6
from mbsim_cli.kernels.algebra.spatial import add6, cross_force, cross_motion, dot6, inertia_apply, sub6
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, dot3, rotate, symmetric_rotate
from mbsim_cli.kernels.algorithms.torques.lanes import LANES, apply_rates
from mbsim_cli.kernels.compiler.jit import kernel

ENTRY = np.dtype([(name, np.float64, (LANES,)) for name in ("q", "v", "a")])


@kernel
def _below(loaded, own, ancestor, entry_out):
    """Row of the link, column of an ancestor; with ``loaded`` the subtree carries loads."""
    for l in range(LANES):
        H, B = get6(own["H"], l), get3(own["B"], l)
        S, S1 = get6(ancestor["S"], l), get6(ancestor["S1"], l)
        entry_out["q"][l] = dot6(get6(ancestor["S2"], l), H) + dot3(S1[0], B)
        entry_out["v"][l] = 2.0 * dot6(S1, H) + dot3(S[0], B)
        entry_out["a"][l] = dot6(S, H)
    if loaded:
        for l in range(LANES):
            entry_out["q"][l] += dot3(get3(ancestor["S"], l), get3(own["K"], l))


@kernel
def _above(own, descendant, entry_out):
    """Row of the link, column of a descendant (or its own)."""
    for l in range(LANES):
        S = get6(own["S"], l)
        entry_out["q"][l] = dot6(S, get6(descendant["W"], l))
        entry_out["v"][l] = dot6(S, get6(descendant["U"], l))
        entry_out["a"][l] = dot6(S, get6(descendant["H"], l))


@kernel
def form_row(related, loaded, i, column, row_out):
    """Related entries of row i of the three matrices, lanes innermost."""
    for k in range(related.first[i], related.first[i + 1]):
        for j in range(related.start[k], related.stop[k]):
            if j >= i:
                _above(column[i], column[j], row_out[j])
            else:
                _below(loaded, column[i], column[j], row_out[j])


@kernel
def write_entries(related, i, first, count, row, by_q_out, by_v_out, by_a_out):
    """Related entries of row i of ``count`` time points from ``first`` on."""
    for l in range(count):
        q, v, a = by_q_out[first + l, i], by_v_out[first + l, i], by_a_out[first + l, i]
        for k in range(related.first[i], related.first[i + 1]):
            # unsigned, so that no index is checked for being negative
            for j in range(np.uint64(related.start[k]), np.uint64(related.stop[k])):
                q[j] = row[j]["q"][l]
                v[j] = row[j]["v"][l]
                a[j] = row[j]["a"][l]


# Derivatives of torques by parameters, the motion held, at ``LANES`` time points, in O(n) a parameter.
#
# A parameter moves links by twists nu that their parents carry, as a coordinate of rate zero would; it changes moments
# of links, and loads. With N, N', N'' the sums of nu, nu', nu'' over a link and its ancestors, and G the sum of the
# forces that all this makes beyond the link's own joint,
#     d tau_i = H_i . N_i'' + B_i . N_i' + K_i . N_i + S_i . G_i.                                                  (7)
# Derivation: docs/theory/inverse_dynamics.md, section 5.

# Own twist of a link with its rates, sums of those, and the force.
VARY = row_type(LANES, S=6, S1=6, S2=6, N=6, N1=6, N2=6, G=6)


@kernel
def vary_gravity(twist, own):
    """Twist of the ground, whose acceleration stands for gravity."""
    zero = (0.0, 0.0, 0.0)
    for l in range(LANES):
        set6(own["N"], l, (zero, zero))
        set6(own["N1"], l, (zero, zero))
        set6(own["N2"], l, (zero, (twist[3], twist[4], twist[5])))


@kernel
def vary_place(twist, parent, own):
    """Own twist, which the parent carries, about the global origin, and its rates."""
    w, v = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    for l in range(LANES):
        R, V, A = get9(parent["R"], l), get6(parent["V"], l), get6(parent["A"], l)
        turn = rotate(R, w)
        S = (turn, add3(rotate(R, v), cross3(get3(parent["r"], l), turn)))
        S1 = cross_motion(V, S)
        set6(own["S"], l, S)
        set6(own["S1"], l, S1)
        set6(own["S2"], l, add6(cross_motion(A, S), cross_motion(V, S1)))


@kernel
def sum_twists(above, own):
    """Total twist of the link, from that of its nearest ancestor that moves, or of the ground."""
    for l in range(LANES):
        set6(own["N"], l, add6(get6(above["N"], l), get6(own["S"], l)))
        set6(own["N1"], l, add6(get6(above["N1"], l), get6(own["S1"], l)))
        set6(own["N2"], l, add6(get6(above["N2"], l), get6(own["S2"], l)))


@kernel
def vary_weight(moments, body, own):
    """Add the force of a change of mass, first moment and inertia about the link's origin, all in the link's axes."""
    m, s = moments[0], (moments[1], moments[2], moments[3])
    local = (moments[4], moments[5], moments[6], moments[7], moments[8], moments[9])
    for l in range(LANES):
        R, r = get9(body["R"], l), get3(body["r"], l)
        V, A = get6(body["V"], l), get6(body["A"], l)
        t, J = rotate(R, s), symmetric_rotate(R, local)
        a, b = dot3(r, r), 2.0 * dot3(r, t)
        J = (
            J[0] + m * (a - r[0] * r[0]) + b - 2.0 * r[0] * t[0],
            J[1] + m * (a - r[1] * r[1]) + b - 2.0 * r[1] * t[1],
            J[2] + m * (a - r[2] * r[2]) + b - 2.0 * r[2] * t[2],
            J[3] - m * r[0] * r[1] - r[0] * t[1] - r[1] * t[0],
            J[4] - m * r[0] * r[2] - r[0] * t[2] - r[2] * t[0],
            J[5] - m * r[1] * r[2] - r[1] * t[2] - r[2] * t[1],
        )
        inertia = (m, axpy3(m, r, t), J)
        force = add6(inertia_apply(inertia, A), cross_force(V, inertia_apply(inertia, V)))
        set6(own["G"], l, add6(get6(own["G"], l), force))


@kernel
def vary_load(loads, k, wrench, d_wrench, d_point, first, body, own):
    """Take the change of load k: vectors (N, nl, 3) in its own axes, and of its point."""
    last = wrench.shape[0] - 1
    place = (loads.point[k, 0], loads.point[k, 1], loads.point[k, 2])
    shift = (d_point[0], d_point[1], d_point[2])
    torque, turns = loads.torque[k], loads.turns[k]
    zero = (0.0, 0.0, 0.0)
    for l in range(LANES):
        t = min(first + l, last)
        R = get9(body["R"], l)
        f = (wrench[t, k, 0], wrench[t, k, 1], wrench[t, k, 2])
        df = (d_wrench[t, 0], d_wrench[t, 1], d_wrench[t, 2])
        if turns:
            f, df = rotate(R, f), rotate(R, df)
        x = add3(get3(body["r"], l), rotate(R, place))
        change = (df, zero) if torque else (add3(cross3(x, df), cross3(rotate(R, shift), f)), df)
        set6(own["G"], l, sub6(get6(own["G"], l), change))


@kernel
def moved_to_parent(mass, total, own, parent):
    """Add the force of the subtree that the own twist of a link moves, S x* F + I S'' + B S', to the parent's."""
    for l in range(LANES):
        inertia = (mass, get3(total["h"], l), get_symmetric(total["J"], l))
        S, S1 = get6(own["S"], l), get6(own["S1"], l)
        force = add6(inertia_apply(inertia, get6(own["S2"], l)), cross_force(S, get6(total["F"], l)))
        force = add6(force, apply_rates(get9(total["P"], l), get3(total["p"], l), S1[0]))
        set6(parent["G"], l, add6(get6(parent["G"], l), force))


@kernel
def loads_to_parent(load_total, own, parent):
    """Add what loads with global axes, which do not turn with the subtree, make of it."""
    for l in range(LANES):
        force = apply_rates(get9(load_total["D"], l), get3(load_total["f"], l), get6(own["S"], l)[0])
        set6(parent["G"], l, add6(get6(parent["G"], l), force))


@kernel
def write_by_twist(loaded, column, own, first, i, k, out):
    """Torques of twists of the link and its ancestors."""
    for l in range(min(LANES, out.shape[0] - first)):
        N, N1, N2 = get6(own["N"], l), get6(own["N1"], l), get6(own["N2"], l)
        value = dot6(N2, get6(column["H"], l)) + dot3(N1[0], get3(column["B"], l))
        if loaded:
            value += dot3(N[0], get3(column["K"], l))
        out[first + l, i, k] = value


@kernel
def add_by_force(column, own, first, i, k, out):
    """Torques of the forces."""
    for l in range(min(LANES, out.shape[0] - first)):
        out[first + l, i, k] += dot6(get6(column["S"], l), get6(own["G"], l))


@kernel
def vary_parameter(system, change, wrench, d_wrench, first, k, work, out):
    """Derivatives (N, n, p) of torques at ``LANES`` time points by parameter k; needs ``sweep`` with derivatives."""
    parent, n = system.links.parent, system.links.parent.size
    body, column, vary = work.body, work.column, work.vary
    source, rises, moves = change.source[k], change.rises[k], change.moves[k]
    vary_gravity(change.twist[k, n], vary[n])
    for i in range(n):
        if moves[i]:
            vary_place(change.twist[k, i], body[parent[i]], vary[i])
            sum_twists(vary[source[parent[i]]], vary[i])
        if rises[i]:
            clear(vary[i]["G"])
    for j in range(system.loads.link.size):
        if change.loads[k, j]:
            i = system.loads.link[j]
            vary_load(system.loads, j, wrench, d_wrench[:, j, k], change.point[k, j], first, body[i], vary[i])
    for i in range(n - 1, -1, -1):
        p, row, load_row = parent[i], system.rows[i], system.load_rows[i]
        if change.weighs[k, i]:
            vary_weight(change.moments[k, i], body[i], vary[i])
        if source[i] < n or moves[n]:
            write_by_twist(load_row >= 0, column[i], vary[source[i]], first, i, k, out)
        if rises[i]:
            add_by_force(column[i], vary[i], first, i, k, out)
            if p < n:
                add_scaled(1.0, vary[i]["G"], vary[p]["G"])
        if moves[i] and p < n and row >= 0:
            moved_to_parent(system.mass_below[i], work.total[row], vary[i], vary[p])
            if load_row >= 0:
                loads_to_parent(work.load[load_row], vary[i], vary[p])
