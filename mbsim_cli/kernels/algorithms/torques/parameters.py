"""Derivatives of torques by parameters, the motion held, at ``LANES`` instants, in O(n) a parameter.

A parameter moves links by twists nu that their parents carry, as a coordinate of rate zero would; it changes moments of
links, and loads. With N, N', N'' the sums of nu, nu', nu'' over a link and its ancestors, and G the sum of the forces
that all this makes beyond the link's own joint,
    d tau_i = H_i . N_i'' + B_i . N_i' + K_i . N_i + S_i . G_i.                                                  (8)
Derivation: docs/theory/inverse_dynamics.md, section 6.
"""

from mbsim_cli.kernels.algebra.lanes import get3, get6, get9, get_symmetric, put6, rows_of
from mbsim_cli.kernels.algebra.rot3 import rotate, symmetric_rotate
from mbsim_cli.kernels.algebra.spatial import add6, cross_force, cross_motion, dot6, inertia_apply, sub6
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3
from mbsim_cli.kernels.algorithms.torques.lanes import LANES, rate_apply
from mbsim_cli.kernels.compiler.jit import kernel

# Own twist of a link with its rates, sums of those, and the force.
VARY = rows_of(LANES, S=6, S1=6, S2=6, N=6, N1=6, N2=6, G=6)


@kernel
def vary_ground(push, own):
    """Another gravity is another acceleration of the ground."""
    zero = (0.0, 0.0, 0.0)
    for l in range(LANES):
        put6(own["N"], l, (zero, zero))
        put6(own["N1"], l, (zero, zero))
        put6(own["N2"], l, (zero, (push[3], push[4], push[5])))


@kernel
def vary_place(twist, parent, own):
    """Own twist, which the parent carries, about the global origin, and its rates."""
    w, v = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    for l in range(LANES):
        R, V, A = get9(parent["R"], l), get6(parent["V"], l), get6(parent["A"], l)
        turn = rotate(R, w)
        S = (turn, add3(rotate(R, v), cross3(get3(parent["r"], l), turn)))
        S1 = cross_motion(V, S)
        put6(own["S"], l, S)
        put6(own["S1"], l, S1)
        put6(own["S2"], l, add6(cross_motion(A, S), cross_motion(V, S1)))


@kernel
def sum_twists(above, own):
    """Twist of the link in all, from that of the nearest link above that moves."""
    for l in range(LANES):
        put6(own["N"], l, add6(get6(above["N"], l), get6(own["S"], l)))
        put6(own["N1"], l, add6(get6(above["N1"], l), get6(own["S1"], l)))
        put6(own["N2"], l, add6(get6(above["N2"], l), get6(own["S2"], l)))


@kernel
def begin_twists(own):
    """The same where nothing above moves."""
    for l in range(LANES):
        put6(own["N"], l, get6(own["S"], l))
        put6(own["N1"], l, get6(own["S1"], l))
        put6(own["N2"], l, get6(own["S2"], l))


@kernel
def clear_force(own):
    """Begin the sum of forces."""
    zero = (0.0, 0.0, 0.0)
    for l in range(LANES):
        put6(own["G"], l, (zero, zero))


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
        put6(own["G"], l, add6(get6(own["G"], l), force))


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
        put6(own["G"], l, sub6(get6(own["G"], l), change))


@kernel
def force_to_parent(own, parent):
    """Add the force of a link to its parent's."""
    for l in range(LANES):
        put6(parent["G"], l, add6(get6(parent["G"], l), get6(own["G"], l)))


@kernel
def moved_to_parent(mass, total, own, parent):
    """Add the force of the subtree that the own twist of a link moves, S x* F + I S'' + B S', to the parent's."""
    for l in range(LANES):
        inertia = (mass, get3(total["h"], l), get_symmetric(total["J"], l))
        S, S1 = get6(own["S"], l), get6(own["S1"], l)
        force = add6(inertia_apply(inertia, get6(own["S2"], l)), cross_force(S, get6(total["F"], l)))
        force = add6(force, rate_apply(get9(total["P"], l), get3(total["p"], l), S1[0]))
        put6(parent["G"], l, add6(get6(parent["G"], l), force))


@kernel
def loads_to_parent(load_total, own, parent):
    """Add what loads with global axes, which do not turn with the subtree, make of it."""
    for l in range(LANES):
        force = rate_apply(get9(load_total["D"], l), get3(load_total["f"], l), get6(own["S"], l)[0])
        put6(parent["G"], l, add6(get6(parent["G"], l), force))


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
def vary_parameter(system, change, wrench, first, k, work, out):
    """Derivatives (N, n, p) of the torques of ``LANES`` instants by parameter k; needs ``sweep`` with derivatives."""
    parent, n = system.links.parent, system.links.parent.size
    body, column, vary = work.body, work.column, work.vary
    source, rises, moves = change.source[k], change.rises[k], change.moves[k]
    if moves[n]:
        vary_ground(change.twist[k, n], vary[n])
    for i in range(n):
        if moves[i]:
            vary_place(change.twist[k, i], body[parent[i]], vary[i])
            above = change.above[k, i]
            if above >= 0:
                sum_twists(vary[above], vary[i])
            else:
                begin_twists(vary[i])
        if rises[i]:
            clear_force(vary[i])
    for j in range(system.loads.link.size):
        if change.loads[k, j]:
            i = system.loads.link[j]
            vary_load(system.loads, j, wrench, change.wrench[:, j, k], change.point[k, j], first, body[i], vary[i])
    for i in range(n - 1, -1, -1):
        p, row, load_row = parent[i], system.inertia_sums.row[i], system.load_sums.row[i]
        if change.weighs[k, i]:
            vary_weight(change.moments[k, i], body[i], vary[i])
        if source[i] >= 0:
            write_by_twist(load_row >= 0, column[i], vary[source[i]], first, i, k, out)
        if rises[i]:
            add_by_force(column[i], vary[i], first, i, k, out)
            if p < n:
                force_to_parent(vary[i], vary[p])
        if moves[i] and p < n and row >= 0:
            moved_to_parent(system.mass_below[i], work.total[row], vary[i], vary[p])
            if load_row >= 0:
                loads_to_parent(work.load[load_row], vary[i], vary[p])
