"""Tangent of the discrete equations of motion in one pass, M + beta C + gamma K with all parts of C and K.

With composites over subtrees, column k of joint i and an ancestor column j (or k itself),
    T_jk = S_j . (I X_k + B Y_k + gamma S_k x* F),     T_kj = (I S_k) . X_j + (B^T S_k) . Y_j,
X = S + 2 beta S' + gamma S'', Y = beta S + gamma S'; I, B, F belong to the subtree of i. Elements add their part
over the path between their bodies. Rows of T are formed eight columns at a time, by the spans of branches, subtrees and
paths. The trapezoidal rule has beta = h/2, gamma = h^2/4. Derivation: docs/theory/newton_matrix.md.
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import add_to, at, block, only
from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2, rate_power
from mbsim_cli.kernels.algebra.rot3 import rotate, row9, unrotate
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
    shift_motion,
    six_at,
    store_at,
    store_rows,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import add3, cross3, dot3, load3_of, row3, scale3, sub3
from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.bodies import at_origin, pose_of
from mbsim_cli.kernels.algorithms.constraints import (
    coordinate_measure,
    coordinate_rates,
    coordinate_slope,
    pull_of,
    rows_of_pair,
    vary_pull,
)
from mbsim_cli.kernels.algorithms.forces import applied_wrench, measure_and_rate
from mbsim_cli.kernels.algorithms.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.kinematics import euler_moment, offset_to_parent
from mbsim_cli.kernels.algorithms.motion_forces import (
    drag_of,
    follows_motion,
    is_tyre,
    vary_drag,
    vary_tyre,
)
from mbsim_cli.kernels.algorithms.path_columns import span_rates, span_twists, spread, spread_seen
from mbsim_cli.kernels.algorithms.spans import before, branch_of, subtree_of
from mbsim_cli.kernels.algorithms.workspace import (
    COLUMN_S,
    COLUMN_UP,
    COLUMN_X,
    COLUMN_Y,
    OWN_DOWN,
    OWN_RATE,
    OWN_S,
)
from mbsim_cli.kernels.elements.columns import load4
from mbsim_cli.kernels.elements.force_law import measure_force
from mbsim_cli.kernels.elements.measures import (
    is_geometric,
    moved,
    vary_pose,
)
from mbsim_cli.kernels.elements.tyre import kept_contact, no_own, tyre_wrench
from mbsim_cli.model.codes import Axes, Column, Force, Measure
from mbsim_cli.model.layout import NONE


@kernel
def newton_matrix(model, theta, t, beta, gamma, z, zd, lines, multiplier, no_eta, kin, comp, T_out):
    """T (n, ``padded(n)``); needs ``constraints``, ``element_forces`` and ``residual`` at the state.

    Cost O(n d + elements).
    """
    clear(T_out)
    _inertia_part(model, beta, gamma, kin, comp, T_out)
    _euler_part(model.tree, theta, gamma, z, kin, comp, T_out)
    _constraints_part(model, theta, gamma, lines, multiplier, kin, comp, T_out)
    for f in range(model.forces.kind.size):
        if model.forces.kind[f] == Force.ALONG_MEASURE:
            _measure_force_part(model, theta, t, beta, gamma, z, zd, f, kin, comp, T_out)
        elif is_tyre(model.forces.kind[f]):
            _tyre_part(model, theta, gamma, f, no_eta, kin, comp, T_out)
        elif follows_motion(model.forces.kind[f]):
            _drag_part(model, theta, gamma, f, no_eta, kin, comp, T_out)
        else:
            _applied_force_part(model, theta, t, gamma, f, kin, comp, T_out)


@kernel
def mass_matrix(tree, kin, comp, M_out):
    """M (n, n); needs ``composite_inertia``. Cost O(n d)."""
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


@kernel
def composite_inertia(tree, kin, comp):
    """Leave in comp.inertia (nb + 1, 10) the inertias of subtrees, about ref of their roots."""
    _own_inertia(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
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
    """Couple 2 (tr P 1 - P) (3 x 3 by rows), P the moments of x' x^T, and twice the momentum of body i."""
    m, h, J = inertia_at(kin.inertia, i)
    w, v = scale6(2.0, motion_at(kin.V, i))
    half = 0.5 * (J[0] + J[1] + J[2])
    # second moments x x^T of the mass, columns
    x = (half - J[0], -J[3], -J[4])
    y = (-J[3], half - J[1], -J[5])
    z = (-J[4], -J[5], half - J[2])
    a = add3(cross3(w, x), scale3(h[0], v))
    b = add3(cross3(w, y), scale3(h[1], v))
    c = add3(cross3(w, z), scale3(h[2], v))
    momentum = add3(scale3(m, v), cross3(w, h))
    couple = (b[1] + c[2], -b[0], -c[0], -a[1], a[0] + c[2], -c[1], -a[2], -b[2], a[0] + b[1])
    return couple, momentum


@inlined
def rate_apply(couple, momentum, w):
    """B (w, v): force of a unit rate of twist; only its angular part w counts."""
    return (rotate(couple, w), cross3(w, momentum))


@inlined
def rate_at(comp, i):
    """``rate_matrix`` in row i."""
    return row9(comp.rate, i), row3(comp.rate, i, 9)


@inlined
def own_rates(tree, kin, comp):
    """Leave in comp.rate (nb + 1, 12) the rate matrices of single bodies."""
    nb = tree.parent.size
    for k in range(12):
        comp.rate[nb, k] = 0.0
    for i in range(nb):
        couple, momentum = rate_matrix(kin, i)
        for k in range(9):
            comp.rate[i, k] = couple[k]
        for k in range(3):
            comp.rate[i, 9 + k] = momentum[k]


@inlined
def _rate_to_parent(tree, kin, comp, i):
    """Couples of x' (x + d)^T, with d the shift of the reference point."""
    p = tree.parent[i]
    d = offset_to_parent(tree, kin, i)
    trace = dot3(row3(comp.rate, i, 9), d)
    for r in range(3):
        momentum = comp.rate[i, 9 + r]
        comp.rate[p, 9 + r] += momentum
        comp.rate[p, 4 * r] += trace
        for c in range(3):
            comp.rate[p, 3 * r + c] += comp.rate[i, 3 * r + c] - momentum * d[c]


@inlined
def _inertia_part(model, beta, gamma, kin, comp, T_out):
    tree = model.tree
    _own_inertia(tree, kin, comp)
    own_rates(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
        _columns_of_body(tree, beta, gamma, i, kin, comp)
        _inertia_to_parent(tree, kin, comp, i)
        _rate_to_parent(tree, kin, comp, i)
    for i in range(tree.parent.size):
        first, last = tree.first_column[i], tree.first_column[i + 1]
        _rows_above(first, last, branch_of(model, i), comp, T_out)
        _rows_below(first, last, subtree_of(model, i), comp, T_out)


@inlined
def _columns_of_body(tree, beta, gamma, i, kin, comp):
    """Keep S, X, Y of the columns of body i, and of its subtree I X + B Y + gamma S x* F, I S, B^T S."""
    columns, own = comp.columns, comp.own
    inertia, F = inertia_at(comp.inertia, i), motion_at(comp.F, i)
    K, p = rate_at(comp, i)
    back = scale3(-1.0, row3(kin.ref, i, 0))
    for k in range(tree.first_column[i], tree.first_column[i + 1]):
        S, S1, S2 = motion_at(kin.S, k), motion_at(kin.S1, k), motion_at(kin.S2, k)
        X, Y = axpy6(gamma, S2, axpy6(2.0 * beta, S1, S)), axpy6(gamma, S1, scale6(beta, S))
        of_rate = (rotate(K, Y[0]), cross3(Y[0], p))
        up = axpy6(gamma, cross_force(S, F), add6(inertia_apply(inertia, X), of_rate))
        down, turned = inertia_apply(inertia, S), add3(unrotate(K, S[0]), cross3(p, S[1]))
        S, X, Y = shift_motion(S, back), shift_motion(X, back), shift_motion(Y, back)
        up, down = shift_force(up, back), shift_force(down, back)
        store_rows(columns, COLUMN_S, k, S)
        store_rows(columns, COLUMN_X, k, X)
        store_rows(columns, COLUMN_Y, k, Y)
        store_rows(columns, COLUMN_UP, k, up)
        store_at(own, k, OWN_S, S)
        store_at(own, k, OWN_DOWN, down)
        own[k, OWN_RATE], own[k, OWN_RATE + 1], own[k, OWN_RATE + 2] = turned


@inlined
def _rows_above(first, last, branch, comp, T_out):
    """Rows first to last of T, those of a body, at the columns above each."""
    columns, own, spans = comp.columns, comp.own, comp.spans
    for s in range(at(spans.first, branch), at(spans.first, branch + 1)):
        column = at(spans.column, s)
        j, bits = block(columns, column), at(spans.on_b, s)
        X, w = rows_at(columns, COLUMN_X, j), load3_of(columns, COLUMN_Y, j)
        for k in range(first, last):
            power = dot6(X, six_at(own, k, OWN_DOWN)) + dot3(w, row3(own, k, OWN_RATE))
            add_to(T_out, k, j, only(power, bits & before(k, column)))


@inlined
def _rows_below(first, last, subtree, comp, T_out):
    """Rows first to last of T, those of a body, at the column of each row and those below it."""
    columns, own, spans = comp.columns, comp.own, comp.spans
    for s in range(at(spans.first, subtree), at(spans.first, subtree + 1)):
        column = at(spans.column, s)
        j, bits = block(columns, column), at(spans.on_b, s)
        up = rows_at(columns, COLUMN_UP, j)
        for k in range(first, last):
            power = dot6(six_at(own, k, OWN_S), up)
            add_to(T_out, k, j, only(power, bits & ~before(k, column)))


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
def _constraints_part(model, theta, q, lines, multiplier, kin, comp, T_out):
    """Rows that follow one another and act between the same bodies are taken together."""
    i, m = 0, model.constraints.measure.size
    while i < m:
        k = model.constraints.measure[i]
        last, pair = rows_of_pair(model.constraints.measure, model.measures, i)
        if pair == NONE:
            if model.measures.kind[k] == Measure.EULER_NORM:
                for j in range(model.measures.first[k], model.measures.first[k + 1]):
                    c = model.measures.coordinate[j]
                    T_out[c, c] += 2.0 * q * multiplier[i]
        else:
            _geometric_rows(model, theta, q, lines, multiplier, i, last, pair, kin, comp, T_out)
        i = last


@inlined
def _geometric_rows(model, theta, q, lines, multiplier, first, last, pair, kin, comp, T_out):
    spans, rows = comp.spans, model.constraints.measure
    Ra, _ = pose_of(kin, model.pairs.a[pair])
    W = scale6(-1.0, pull_of(lines, multiplier, first, last))
    for s in range(spans.first[pair], spans.first[pair + 1]):
        Na, Nb = span_twists(comp, q, s)
        dW = vary_pull(rows, model.measures, theta, lines, multiplier, first, last, Ra, sub6(Nb, Na))
        spread_seen(model.pairs, pair, comp, s, add6(Na, Nb), W, scale6(-1.0, dW), T_out)


@inlined
def _measure_force_part(model, theta, t, beta, gamma, z, zd, f, kin, comp, T_out):
    measures = model.measures
    k = model.forces.measure[f]
    if not is_geometric(measures.kind[k]):
        coordinate_force_part(model, theta, t, beta, gamma, z, zd, f, T_out)
        return
    pair, kind, o = measures.pair[k], measures.kind[k], measures.theta[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
    v = sub6(Vb, Va)
    g, g1, L = measure_and_rate(model, theta, k, kin)
    Q, by_g, by_g1 = measure_force(model.forces, model.laws, theta, f, t, g, g1)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        Na, Nb = span_twists(comp, gamma, s)
        Na1, Nb1 = span_rates(comp, s)
        N = sub6(Nb, Na)
        _, dg, _, dL = vary_pose(kind, theta, o, Ra, ra, Rb, rb, N)
        dv = add6(sub6(Nb1, Na1), cross_motion(N, Vb))
        dQ = by_g * dg + by_g1 * (dot6(v, dL) + dot6(dv, L))
        spread_seen(model.pairs, pair, comp, s, add6(Na, Nb), scale6(Q, L), axpy6(dQ, L, scale6(Q, dL)), T_out)


@inlined
def coordinate_force_part(model, theta, t, beta, gamma, z, zd, f, T_out):
    """Add to T what a force along a measure of coordinates does."""
    measures, k = model.measures, model.forces.measure[f]
    g = coordinate_measure(measures, theta, k, z)
    g1, _ = coordinate_rates(measures, theta, k, z, zd, zd)
    _, by_g, by_g1 = measure_force(model.forces, model.laws, theta, f, t, g, g1)
    slope = gamma * by_g + beta * by_g1
    for i in range(measures.first[k], measures.first[k + 1]):
        left = slope * coordinate_slope(measures, theta, k, i, z)
        for j in range(measures.first[k], measures.first[k + 1]):
            right = coordinate_slope(measures, theta, k, j, z)
            T_out[measures.coordinate[i], measures.coordinate[j]] -= left * right


@inlined
def _applied_force_part(model, theta, t, q, f, kin, comp, T_out):
    pair = model.forces.pair[f]
    W, point, vector = applied_wrench(model, theta, t, kin, f)
    turns = 1.0 if model.forces.axes[f] == Axes.BODY else 0.0
    torque = model.forces.kind[f] == Force.TORQUE
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        _, N = span_twists(comp, q, s)
        d_vector = scale3(turns, cross3(N[0], vector))
        dW = applied_variation(torque, point, vector, moved(N, point), d_vector)
        spread(model.pairs, pair, comp, s, N, W, dW, T_out)


@inlined
def _tyre_part(model, theta, q, f, no_eta, kin, comp, T_out):
    pair, o = model.forces.pair[f], model.forces.theta[f]
    b = model.pairs.b[pair]
    R, _ = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    contact = kept_contact(kin.contacts[f])
    own, W = no_own(0.0 * contact.gap), tyre_wrench(contact)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        _, N = span_twists(comp, q, s)
        _, N1 = span_rates(comp, s)
        change = vary_tyre(theta, o, contact, own, no_eta, 0, R, V, N, N1)
        spread(model.pairs, pair, comp, s, N, W, change.wrench, T_out)


@inlined
def _drag_part(model, theta, q, f, no_eta, kin, comp, T_out):
    pair, o = model.forces.pair[f], model.forces.theta[f]
    b = model.pairs.b[pair]
    R, r = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    W = drag_of(model, theta, f, kin)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        _, N = span_twists(comp, q, s)
        _, N1 = span_rates(comp, s)
        spread(model.pairs, pair, comp, s, N, W, vary_drag(theta, o, no_eta, 0, R, r, V, N, N1), T_out)


@inlined
def applied_variation(torque, point, vector, d_point, d_vector):
    """Variation of the wrench of an applied force or torque."""
    if torque:
        return (d_vector, scale3(0.0, sub3(d_vector, d_point)))
    return (add3(cross3(d_point, vector), cross3(point, d_vector)), d_vector)
