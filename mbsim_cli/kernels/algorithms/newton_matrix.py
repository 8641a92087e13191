"""Tangent of the discrete equations of motion in one pass, M + h/2 C + h^2/4 K with all parts of C and K.

With composites over subtrees, column k of joint i and an ancestor column j (or k itself),
    T_jk = S_j . (I X_k + B Y_k + h^2/4 S_k x* F),     T_kj = (I S_k) . X_j + (B^T S_k) . Y_j,
X = S + h S' + h^2/4 S'', Y = h/2 S + h^2/4 S'; I, B, F belong to the subtree of i. Elements add their part
over the path between their bodies. h = 0 gives the mass matrix. Derivation: docs/theory/newton_matrix.md.
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import at, block, put, width
from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2, rate_power
from mbsim_cli.kernels.algebra.rot3 import row9
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    inertia_apply,
    motion_at,
    rows_at,
    scale6,
    shift_force,
    store_rows,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import add3, cross3, dot3, row3, scale3, sub3
from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.bodies import at_origin, no_motion, pose_of
from mbsim_cli.kernels.algorithms.constraints import (
    coordinate_measure,
    coordinate_rates,
    coordinate_slope,
)
from mbsim_cli.kernels.algorithms.forces import applied_wrench, measure_and_rate
from mbsim_cli.kernels.algorithms.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.kinematics import euler_moment, offset_to_parent
from mbsim_cli.kernels.algorithms.motion_forces import (
    contact_of,
    follows_motion,
    is_tyre,
    motion_wrench,
    vary_drag,
    vary_tyre,
)
from mbsim_cli.kernels.algorithms.path_columns import (
    by_side,
    gather_path,
    gather_rates,
    keep_variation,
    path_rate,
    path_twist,
    spread,
)
from mbsim_cli.kernels.algorithms.workspace import COLUMN_S, COLUMN_X, COLUMN_Y
from mbsim_cli.kernels.elements.columns import load4
from mbsim_cli.kernels.elements.force_law import measure_force
from mbsim_cli.kernels.elements.measures import (
    is_force_line,
    is_geometric,
    line,
    line_variation,
    measure_delta,
    moved,
)
from mbsim_cli.kernels.elements.tyre import no_own, tyre_wrench
from mbsim_cli.model.codes import Axes, Column, Force, Measure
from mbsim_cli.model.layout import NONE


@kernel
def newton_matrix(model, theta, t, h, z, zd, multiplier, no_eta, kin, comp, T_out):
    """T (n, n); needs ``residual`` at the same state (F, W of subtrees in ``comp``). Cost O(n d + elements)."""
    tree = model.tree
    q = 0.25 * h * h
    for c in range(z.size):
        S, S1, S2 = motion_at(kin.S, c), motion_at(kin.S1, c), motion_at(kin.S2, c)
        store_rows(comp.columns, COLUMN_S, c, S)
        store_rows(comp.columns, COLUMN_X, c, axpy6(q, S2, axpy6(h, S1, S)))
        store_rows(comp.columns, COLUMN_Y, c, axpy6(q, S1, scale6(0.5 * h, S)))
        for j in range(z.size):
            T_out[c, j] = 0.0
    _inertia_part(tree, q, kin, comp, T_out)
    _euler_part(tree, theta, q, z, kin, comp, T_out)
    _constraints_part(model, theta, q, multiplier, no_eta, kin, comp, T_out)
    for f in range(model.forces.kind.size):
        if model.forces.kind[f] == Force.ALONG_MEASURE:
            _measure_force_part(model, theta, t, h, z, zd, f, no_eta, kin, comp, T_out)
        elif is_tyre(model.forces.kind[f]):
            _tyre_part(model, theta, q, f, no_eta, kin, comp, T_out)
        elif follows_motion(model.forces.kind[f]):
            _drag_part(model, theta, q, f, no_eta, kin, comp, T_out)
        else:
            _applied_force_part(model, theta, t, q, f, kin, comp, T_out)


@kernel
def mass_matrix(tree, kin, comp, M_out):
    """M (n, n). Cost O(n d)."""
    _own_inertia(tree, kin, comp)
    clear(M_out)
    for i in range(tree.parent.size - 1, -1, -1):
        inertia = inertia_at(comp.inertia, i)
        for k in range(tree.first_column[i], tree.first_column[i + 1]):
            P = inertia_apply(inertia, motion_at(kin.S, k))
            for j in range(tree.first_column[i], k + 1):
                M_out[j, k] = dot6(motion_at(kin.S, j), P)
                M_out[k, j] = M_out[j, k]
            body = i
            while tree.parent[body] >= 0:
                P = shift_force(P, scale3(-1.0, offset_to_parent(tree, kin, body)))
                body = tree.parent[body]
                for j in range(tree.first_column[body], tree.first_column[body + 1]):
                    M_out[j, k] = dot6(motion_at(kin.S, j), P)
                    M_out[k, j] = M_out[j, k]
        _inertia_to_parent(tree, kin, comp, i)


@inlined
def _own_inertia(tree, kin, comp):
    for i in range(tree.parent.size + 1):
        for k in range(10):
            comp.inertia[i, k] = kin.inertia[i, k]


@inlined
def _inertia_to_parent(tree, kin, comp, i):
    """Add the composite inertia of body i to its parent's, about the parent's reference point."""
    p = tree.parent[i]
    d = offset_to_parent(tree, kin, i)
    m = comp.inertia[i, 0]
    h = row3(comp.inertia, i, 1)
    comp.inertia[p, 0] += m
    for k in range(3):
        comp.inertia[p, 1 + k] += h[k] + m * d[k]
    # second moments about a point moved by -d: I + 2 (h . d) 1 - h d^T - d h^T + m (d . d 1 - d d^T)
    s = 2.0 * dot3(h, d) + m * dot3(d, d)
    for k in range(3):
        comp.inertia[p, 4 + k] += comp.inertia[i, 4 + k] + s - 2.0 * h[k] * d[k] - m * d[k] * d[k]
    comp.inertia[p, 7] += comp.inertia[i, 7] - h[0] * d[1] - h[1] * d[0] - m * d[0] * d[1]
    comp.inertia[p, 8] += comp.inertia[i, 8] - h[0] * d[2] - h[2] * d[0] - m * d[0] * d[2]
    comp.inertia[p, 9] += comp.inertia[i, 9] - h[1] * d[2] - h[2] * d[1] - m * d[1] * d[2]


@inlined
def rate_matrix(kin, i):
    """Moments P of x' x^T (3 x 3 by rows) and linear momentum p of body i, about its reference point."""
    m, h, J = inertia_at(kin.inertia, i)
    w, v = motion_at(kin.V, i)
    half = 0.5 * (J[0] + J[1] + J[2])
    # second moments x x^T of the mass, columns
    x = (half - J[0], -J[3], -J[4])
    y = (-J[3], half - J[1], -J[5])
    z = (-J[4], -J[5], half - J[2])
    a = add3(cross3(w, x), scale3(h[0], v))
    b = add3(cross3(w, y), scale3(h[1], v))
    c = add3(cross3(w, z), scale3(h[2], v))
    momentum = add3(scale3(m, v), cross3(w, h))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]), momentum


@inlined
def rate_apply(P, momentum, w):
    """B (w, v): force of a unit rate of twist; only its angular part w counts."""
    trace = P[0] + P[4] + P[8]
    n = (
        trace * w[0] - (P[0] * w[0] + P[1] * w[1] + P[2] * w[2]),
        trace * w[1] - (P[3] * w[0] + P[4] * w[1] + P[5] * w[2]),
        trace * w[2] - (P[6] * w[0] + P[7] * w[1] + P[8] * w[2]),
    )
    return (scale3(2.0, n), scale3(2.0, cross3(w, momentum)))


@inlined
def _rate_apply_transposed(P, momentum, S):
    """Angular part of B^T S; the linear part vanishes."""
    w, v = S
    trace = P[0] + P[4] + P[8]
    n = (
        trace * w[0] - (P[0] * w[0] + P[3] * w[1] + P[6] * w[2]),
        trace * w[1] - (P[1] * w[0] + P[4] * w[1] + P[7] * w[2]),
        trace * w[2] - (P[2] * w[0] + P[5] * w[1] + P[8] * w[2]),
    )
    return scale3(2.0, add3(n, cross3(momentum, v)))


@inlined
def _rate_at(comp, i):
    return row9(comp.rate, i), row3(comp.rate, i, 9)


@inlined
def _own_rates(tree, kin, comp):
    nb = tree.parent.size
    for k in range(12):
        comp.rate[nb, k] = 0.0
    for i in range(nb):
        P, momentum = rate_matrix(kin, i)
        for k in range(9):
            comp.rate[i, k] = P[k]
        for k in range(3):
            comp.rate[i, 9 + k] = momentum[k]


@inlined
def _rate_to_parent(tree, kin, comp, i):
    """P of x' (x + d)^T, with d the shift of the reference point."""
    p = tree.parent[i]
    d = offset_to_parent(tree, kin, i)
    for r in range(3):
        momentum = comp.rate[i, 9 + r]
        comp.rate[p, 9 + r] += momentum
        for c in range(3):
            comp.rate[p, 3 * r + c] += comp.rate[i, 3 * r + c] + momentum * d[c]


@inlined
def _inertia_part(tree, q, kin, comp, T_out):
    _own_inertia(tree, kin, comp)
    _own_rates(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
        inertia = inertia_at(comp.inertia, i)
        P, momentum = _rate_at(comp, i)
        F = motion_at(comp.F, i)
        for k in range(tree.first_column[i], tree.first_column[i + 1]):
            S, X = motion_at(kin.S, k), rows_at(comp.columns, COLUMN_X, k)
            up = add6(inertia_apply(inertia, X), rate_apply(P, momentum, rows_at(comp.columns, COLUMN_Y, k)[0]))
            up = axpy6(q, cross_force(S, F), up)
            down = inertia_apply(inertia, S)
            down_rate = _rate_apply_transposed(P, momentum, S)
            _pair_columns(tree.first_column[i], k, k, comp, up, down, down_rate, T_out)
            T_out[k, k] = dot6(S, up)
            body = i
            while tree.parent[body] >= 0:
                back = scale3(-1.0, offset_to_parent(tree, kin, body))
                up, down = shift_force(up, back), shift_force(down, back)
                body = tree.parent[body]
                first, last = tree.first_column[body], tree.first_column[body + 1]
                _pair_columns(first, last, k, comp, up, down, down_rate, T_out)
        _inertia_to_parent(tree, kin, comp, i)
        _rate_to_parent(tree, kin, comp, i)


@inlined
def _pair_columns(first, last, k, comp, up, down, down_rate, T_out):
    """Entries of column k and row k with the columns from first to last, eight at a time."""
    columns, path = comp.columns, comp.path  # no path is there yet: its first two rows serve for results
    for g in range(first, last, width(path)):
        j = block(path, g)
        put(path, 0, j, dot6(rows_at(columns, COLUMN_S, j), up))
        by_row = dot6(rows_at(columns, COLUMN_X, j), down) + dot3(rows_at(columns, COLUMN_Y, j)[0], down_rate)
        put(path, 1, j, by_row)
    for c in range(first, last):
        put(T_out, c, k, at(path, 0, c))
        put(T_out, k, c, at(path, 1, c))


@inlined
def _euler_part(tree, theta, q, z, kin, comp, T_out):
    """Euler parameters of one joint do not carry each other's columns along; their columns change by themselves."""
    for c in range(z.size):
        if tree.column_kind[c] == Column.EULER_0:
            i = tree.column_body[c]
            total = sub6(motion_at(comp.F, i), motion_at(comp.W, i))
            for k in range(c, c + 3):
                carried = scale6(q, cross_force(motion_at(kin.S, k), total))
                for j in range(k + 1, c + 4):
                    T_out[j, k] += dot6(motion_at(kin.S, j), carried)
            _euler_own_part(c, load4(z, c), euler_moment(tree, theta, kin, i, total), q, T_out)


@inlined
def _euler_own_part(c, e, moment, q, T_out):
    """Add the moment times the derivatives of the four columns from c on by the four parameters."""
    s = 2.0 * q / norm2(e)
    for j in range(4):
        power = rate_power(moment, j)
        along = 2.0 * inner4(power, e) / norm2(e)
        for k in range(4):
            T_out[c + j, c + k] += s * (power[k] - along * e[k])


@inlined
def _constraints_part(model, theta, q, multiplier, no_eta, kin, comp, T_out):
    """Rows that follow one another and act between the same bodies are taken together."""
    i, m = 0, model.constraints.measure.size
    while i < m:
        k = model.constraints.measure[i]
        pair = model.measures.pair[k]
        last = i + 1
        if pair == NONE:
            if model.measures.kind[k] == Measure.EULER_NORM:
                for j in range(model.measures.first[k], model.measures.first[k + 1]):
                    c = model.measures.coordinate[j]
                    T_out[c, c] += 2.0 * q * multiplier[i]
        else:
            while last < m and model.measures.pair[model.constraints.measure[last]] == pair:
                last += 1
            _geometric_rows(model, theta, q, multiplier, i, last, pair, no_eta, kin, comp, T_out)
        i = last


@inlined
def _geometric_rows(model, theta, q, multiplier, first, last, pair, no_eta, kin, comp, T_out):
    measures, path = model.measures, comp.path
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    still = no_motion(motion_at(kin.V, a))
    for g in range(0, gather_path(model, pair, kin, comp), width(path)):
        j = block(path, g)
        N = path_twist(path, q, j)
        Na, Nb = by_side(path, j, N)
        W, dW = still, no_motion(N)
        for i in range(first, last):
            k = model.constraints.measure[i]
            kind = measures.kind[k]
            _, _, x, u, dx, du = measure_delta(kind, theta, measures.theta[k], no_eta, 0, Ra, ra, Rb, rb, Na, Nb)
            force_line = is_force_line(kind)
            W = axpy6(-multiplier[i], line(force_line, x, u), W)
            dW = axpy6(-multiplier[i], line_variation(force_line, x, u, dx, du), dW)
        keep_variation(path, j, N, W, dW)
    spread(model.pairs, pair, path, T_out)


@inlined
def _measure_force_part(model, theta, t, h, z, zd, f, no_eta, kin, comp, T_out):
    measures = model.measures
    k = model.forces.measure[f]
    q = 0.25 * h * h
    if not is_geometric(measures.kind[k]):
        g = coordinate_measure(measures, theta, k, z)
        g1, _ = coordinate_rates(measures, theta, k, z, zd, zd)
        _, by_g, by_g1 = measure_force(model.forces, model.laws, theta, f, t, g, g1)
        slope = q * by_g + 0.5 * h * by_g1
        for i in range(measures.first[k], measures.first[k + 1]):
            left = slope * coordinate_slope(measures, theta, k, i, z)
            for j in range(measures.first[k], measures.first[k + 1]):
                right = coordinate_slope(measures, theta, k, j, z)
                T_out[measures.coordinate[i], measures.coordinate[j]] -= left * right
        return
    pair, kind, o = measures.pair[k], measures.kind[k], measures.theta[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
    v = sub6(Vb, Va)
    force_line = is_force_line(kind)
    g, g1, L = measure_and_rate(model, theta, k, kin)
    Q, by_g, by_g1 = measure_force(model.forces, model.laws, theta, f, t, g, g1)
    W = scale6(Q, L)
    path = comp.path
    gather_rates(model, pair, kin, comp)
    for g in range(0, gather_path(model, pair, kin, comp), width(path)):
        j = block(path, g)
        N = path_twist(path, q, j)
        Na, Nb = by_side(path, j, N)
        Na1, Nb1 = by_side(path, j, path_rate(path, j))
        _, dg, x, u, dx, du = measure_delta(kind, theta, o, no_eta, 0, Ra, ra, Rb, rb, Na, Nb)
        dL = line_variation(force_line, x, u, dx, du)
        dv = add6(sub6(Nb1, Na1), sub6(cross_motion(Nb, Vb), cross_motion(Na, Va)))
        dQ = by_g * dg + by_g1 * (dot6(v, dL) + dot6(dv, L))
        keep_variation(path, j, N, W, axpy6(dQ, L, scale6(Q, dL)))
    spread(model.pairs, pair, path, T_out)


@inlined
def _applied_force_part(model, theta, t, q, f, kin, comp, T_out):
    pair, path = model.forces.pair[f], comp.path
    W, point, vector = applied_wrench(model, theta, t, kin, f)
    turns = 1.0 if model.forces.axes[f] == Axes.BODY else 0.0
    torque = model.forces.kind[f] == Force.TORQUE
    for g in range(0, gather_path(model, pair, kin, comp), width(path)):
        j = block(path, g)
        N = path_twist(path, q, j)
        d_vector = scale3(turns, cross3(N[0], vector))
        keep_variation(path, j, N, W, applied_variation(torque, point, vector, moved(N, point), d_vector))
    spread(model.pairs, pair, path, T_out)


@inlined
def _tyre_part(model, theta, q, f, no_eta, kin, comp, T_out):
    pair, o, path = model.forces.pair[f], model.forces.theta[f], comp.path
    b = model.pairs.b[pair]
    R, _ = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    contact = contact_of(model, theta, f, kin)
    own, W = no_own(0.0 * contact.gap), tyre_wrench(contact)
    gather_rates(model, pair, kin, comp)
    for g in range(0, gather_path(model, pair, kin, comp), width(path)):
        j = block(path, g)
        N = path_twist(path, q, j)
        change = vary_tyre(theta, o, contact, own, no_eta, 0, R, V, N, path_rate(path, j))
        keep_variation(path, j, N, W, change.wrench)
    spread(model.pairs, pair, path, T_out)


@inlined
def _drag_part(model, theta, q, f, no_eta, kin, comp, T_out):
    pair, o, path = model.forces.pair[f], model.forces.theta[f], comp.path
    b = model.pairs.b[pair]
    R, r = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    W = motion_wrench(model, theta, f, kin)
    gather_rates(model, pair, kin, comp)
    for g in range(0, gather_path(model, pair, kin, comp), width(path)):
        j = block(path, g)
        N = path_twist(path, q, j)
        keep_variation(path, j, N, W, vary_drag(theta, o, no_eta, 0, R, r, V, N, path_rate(path, j)))
    spread(model.pairs, pair, path, T_out)


@inlined
def applied_variation(torque, point, vector, d_point, d_vector):
    """Variation of the wrench of an applied force or torque."""
    if torque:
        return (d_vector, scale3(0.0, sub3(d_vector, d_point)))
    return (add3(cross3(d_point, vector), cross3(point, d_vector)), d_vector)
