"""Variations of Phi, Phi', Phi'' and Phi_z^T lambda in p directions. Paper 000, section 7."""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import add_to, at, block, put, width
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    shift_force,
    store2,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import row3
from mbsim_cli.kernels.algorithms.bodies import apply_to_body2, at_origin, at_origin2, pose_of
from mbsim_cli.kernels.algorithms.constraints import coordinate_slope, rows_of_pair
from mbsim_cli.kernels.algorithms.residual_variation import slope_variation
from mbsim_cli.kernels.elements.laws import law_variation
from mbsim_cli.kernels.elements.measures import (
    Seen,
    is_force_line,
    is_geometric,
    line,
    line_variation,
    measure_delta,
    second_variation,
)
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import MEASURE_SIZE, NONE


@kernel
def vary_constraints(model, theta, dtheta, touch, no_eta, t, z, dz, kin, tw, out):
    """Variation of Phi, out (m, p), and in ``tw.lines`` those of the gradient lines; needs ``vary_kinematics``."""
    measures = model.measures
    for i in range(model.constraints.measure.size):
        m, law = model.constraints.measure[i], model.constraints.law[i]
        kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if is_geometric(kind):
                a, b = model.pairs.a[pair], model.pairs.b[pair]
                Ra, ra = pose_of(kin, a)
                Rb, rb = pose_of(kin, b)
                eta = dtheta[o : o + MEASURE_SIZE] if touch.measure[m, g] else no_eta
                Na, Nb = at_origin2(tw.N, kin, a, k), at_origin2(tw.N, kin, b, k)
                _, value, x, u, dx, du = measure_delta(kind, theta, o, eta, k, Ra, ra, Rb, rb, Na, Nb)
                store2(tw.lines, i, k, line_variation(is_force_line(kind), x, u, dx, du))
            else:
                value = vary_coordinate_measure(measures, theta, dtheta, m, k, z, z, z, dz, dz, dz, 0)
            value -= at(dtheta, model.constraints.theta[i], k)
            if law != NONE:
                by_law, _, _ = law_variation(model.laws, theta, dtheta, k, law, t)
                value -= by_law
            put(out, i, k, value)


@kernel
def vary_constraint_forces(model, dtheta, multiplier, dz, kin, tw, dG_out):
    """Add the variation of Phi_z^T lambda at fixed lambda; needs ``vary_constraints``."""
    measures, pairs = model.measures, model.pairs
    for i in range(model.constraints.measure.size):
        m = model.constraints.measure[i]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if is_geometric(measures.kind[m]):
                dL = motion_at2(tw.lines, i, k)
                apply_to_body2(tw.F, kin, pairs.b[measures.pair[m]], k, multiplier[i], dL)
                apply_to_body2(tw.F, kin, pairs.a[measures.pair[m]], k, -multiplier[i], dL)
            else:
                for j in range(measures.first[m], measures.first[m + 1]):
                    c = measures.coordinate[j]
                    add_to(dG_out, c, k, multiplier[i] * slope_variation(measures, dtheta, k, m, j, at(dz, c, k)))


@kernel
def vary_constraint_rates(
    model, theta, dtheta, touch, no_eta, lines, t, z, zd, zdd, dz, dzd, dzdd, kin, tw, order, out
):
    """Variation of Phi' or Phi'' (order 1, 2), out (m, p); needs ``vary_constraints`` and the gradient lines (m, 6)."""
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if pair == NONE:
                value = vary_coordinate_measure(
                    measures, theta, dtheta, rows[first], k, z, zd, zdd, dz, dzd, dzdd, order
                )
                put(out, first, k, value)
            elif order == 1:
                for i in range(first, last):
                    value = _first_order(model, rows[i], k, motion_at(lines, i), motion_at2(tw.lines, i, k), kin, tw)
                    put(out, i, k, value)
            else:
                seen = _seen_from_a(model, pair, k, kin, tw)
                for i in range(first, last):
                    m = rows[i]
                    put(out, i, k, _second_order(model, theta, dtheta, touch.measure[m, g], no_eta, m, k, kin, seen))
            for i in range(first, last):
                if model.constraints.law[i] != NONE:
                    _, law1, law2 = law_variation(model.laws, theta, dtheta, k, model.constraints.law[i], t)
                    add_to(out, i, k, -law1 if order == 1 else -law2)
        first = last


@inlined
def _first_order(model, m, k, L, dL, kin, tw):
    """Variation k of g' = L . (V_b - V_a)."""
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    v = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
    return dot6(v, dL) + _along_velocity(kin, tw, b, k, L) - _along_velocity(kin, tw, a, k, L)


@inlined
def _along_velocity(kin, tw, i, k, L):
    """Variation k of L . V of body i at fixed L: N' . L + N . (V x* L)."""
    F = shift_force(L, row3(kin.ref, i, 0))
    return dot6(motion_at2(tw.N1, i, k), F) + dot6(motion_at2(tw.N, i, k), cross_force(motion_at(kin.V, i), F))


@inlined
def _seen_from_a(model, pair, k, kin, tw):
    """Variation k of the motion of the second body of a pair as the first one sees it: ``Seen``."""
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Va, Vb, Ab = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b), at_origin(kin.A, kin, b)
    V = sub6(Vb, Va)
    A = sub6(sub6(Ab, at_origin(kin.A, kin, a)), cross_motion(Va, V))
    N, N1, N2 = _difference(tw.N, kin, a, b, k), _difference(tw.N1, kin, a, b, k), _difference(tw.N2, kin, a, b, k)
    turned = cross_motion(N, Vb)
    dA = add6(add6(N2, cross_motion(N1, add6(Va, Vb))), sub6(cross_motion(N, Ab), cross_motion(Va, turned)))
    return Seen(V, A, N, add6(N1, turned), dA)


@inlined
def _difference(array, kin, a, b, k):
    return sub6(at_origin2(array, kin, b, k), at_origin2(array, kin, a, k))


@inlined
def vary_measure(model, theta, dtheta, touched, no_eta, m, k, kin, tw, order):
    """Variation k of g, g' or g'' of a geometric measure."""
    measures = model.measures
    if order == 2:
        seen = _seen_from_a(model, measures.pair[m], k, kin, tw)
        return _second_order(model, theta, dtheta, touched, no_eta, m, k, kin, seen)
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    eta = dtheta[o : o + MEASURE_SIZE] if touched else no_eta
    Na, Nb = at_origin2(tw.N, kin, a, k), at_origin2(tw.N, kin, b, k)
    _, dg, x, u, dx, du = measure_delta(kind, theta, o, eta, k, Ra, ra, Rb, rb, Na, Nb)
    if order == 0:
        return dg
    force_line = is_force_line(kind)
    return _first_order(model, m, k, line(force_line, x, u), line_variation(force_line, x, u, dx, du), kin, tw)


@inlined
def _second_order(model, theta, dtheta, touched, no_eta, m, k, kin, seen):
    """Variation k of g'' of a measure between bodies whose motion is ``seen``."""
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    Ra, ra = pose_of(kin, model.pairs.a[pair])
    Rb, rb = pose_of(kin, model.pairs.b[pair])
    eta = dtheta[o : o + MEASURE_SIZE] if touched else no_eta
    return second_variation(kind, theta, o, eta, k, Ra, ra, Rb, rb, seen)


@inlined
def vary_coordinate_measure(measures, theta, dtheta, m, k, z, zd, zdd, dz, dzd, dzdd, order):
    """Variation k of g, g' or g'' of a measure of coordinates."""
    total = 0.0 * at(dz, 0, k)
    quadratic = measures.kind[m] == Measure.EULER_NORM
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, m, j, z)
        d_slope = slope_variation(measures, dtheta, k, m, j, at(dz, c, k))
        if order == 0:
            total += slope * at(dz, c, k)
            if not quadratic:
                total += d_slope * z[c]
        elif order == 1:
            total += slope * at(dzd, c, k) + d_slope * zd[c]
        else:
            total += slope * at(dzdd, c, k) + d_slope * zdd[c]
            if quadratic:
                total += 4.0 * zd[c] * at(dzd, c, k)
    return total
