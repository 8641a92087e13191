"""Variations of Phi, Phi', Phi'' and Phi_z^T lambda in p directions. Paper 000, section 7."""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import add_to, at, block, put, width
from mbsim_cli.kernels.algebra.spatial import dot6, motion_at, motion_at2, store2, sub6
from mbsim_cli.kernels.algorithms.bodies import apply_to_body2, at_origin, at_origin2, pose_of
from mbsim_cli.kernels.algorithms.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.residual_variation import slope_variation
from mbsim_cli.kernels.algorithms.variation import vary_acceleration, vary_velocity
from mbsim_cli.kernels.elements.laws import law_variation
from mbsim_cli.kernels.elements.measures import (
    is_force_line,
    is_geometric,
    line,
    line_rate_variation,
    line_variation,
    measure_delta,
    measure_variation,
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
    for i in range(model.constraints.measure.size):
        m, law = model.constraints.measure[i], model.constraints.law[i]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if not is_geometric(model.measures.kind[m]):
                value = vary_coordinate_measure(model.measures, theta, dtheta, m, k, z, zd, zdd, dz, dzd, dzdd, order)
            elif order == 1:
                value = _first_order(model, m, k, motion_at(lines, i), motion_at2(tw.lines, i, k), kin, tw)
            else:
                value = vary_measure(model, theta, dtheta, touch.measure[m, g], no_eta, m, k, kin, tw, order)
            if law != NONE:
                _, first, second = law_variation(model.laws, theta, dtheta, k, law, t)
                value -= first if order == 1 else second
            put(out, i, k, value)


@inlined
def _first_order(model, m, k, L, dL, kin, tw):
    """Variation k of g' = L . (V_b - V_a)."""
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
    Na, Nb = at_origin2(tw.N, kin, a, k), at_origin2(tw.N, kin, b, k)
    Na1, Nb1 = at_origin2(tw.N1, kin, a, k), at_origin2(tw.N1, kin, b, k)
    return dot6(sub6(Vb, Va), dL) + dot6(sub6(vary_velocity(Vb, Nb, Nb1), vary_velocity(Va, Na, Na1)), L)


@inlined
def vary_measure(model, theta, dtheta, touched, no_eta, m, k, kin, tw, order):
    """Variation k of g, g' or g'' of a geometric measure."""
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    eta = dtheta[o : o + MEASURE_SIZE] if touched else no_eta
    Na, Nb = at_origin2(tw.N, kin, a, k), at_origin2(tw.N, kin, b, k)
    if order < 2:
        _, dg, x0, u0, dx, du = measure_delta(kind, theta, o, eta, k, Ra, ra, Rb, rb, Na, Nb)
        if order == 0:
            return dg
        Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
        force_line = is_force_line(kind)
        dv = sub6(
            vary_velocity(Vb, Nb, at_origin2(tw.N1, kin, b, k)), vary_velocity(Va, Na, at_origin2(tw.N1, kin, a, k))
        )
        return dot6(sub6(Vb, Va), line_variation(force_line, x0, u0, dx, du)) + dot6(dv, line(force_line, x0, u0))
    return _second_order(model, theta, eta, m, k, kin, tw)


@inlined
def _second_order(model, theta, eta, m, k, kin, tw):
    """Variation k of g''."""
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    Na, Nb = at_origin2(tw.N, kin, a, k), at_origin2(tw.N, kin, b, k)
    Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
    Na1, Nb1 = at_origin2(tw.N1, kin, a, k), at_origin2(tw.N1, kin, b, k)
    _, _, x, u = measure_variation(kind, theta, o, eta, k, Ra, ra, Rb, rb, Va, Vb, Na, Na1, Nb, Nb1)
    Aa, Ab = at_origin(kin.A, kin, a), at_origin(kin.A, kin, b)
    dAa = vary_acceleration(Va, Aa, Na, Na1, at_origin2(tw.N2, kin, a, k))
    dAb = vary_acceleration(Vb, Ab, Nb, Nb1, at_origin2(tw.N2, kin, b, k))
    force_line = is_force_line(kind)
    v, dv = sub6(Vb, Va), sub6(vary_velocity(Vb, Nb, Nb1), vary_velocity(Va, Na, Na1))
    L, dL = line(force_line, x.x, u.x), line_variation(force_line, x.x, u.x, x.delta, u.delta)
    L1 = line_variation(force_line, x.x, u.x, x.rate, u.rate)
    dL1 = line_rate_variation(force_line, x, u)
    return dot6(sub6(Ab, Aa), dL) + dot6(sub6(dAb, dAa), L) + dot6(v, dL1) + dot6(dv, L1)


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
