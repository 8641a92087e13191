"""Variations of Phi, Phi' and Phi'' in p directions. Paper 000, section 7."""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import at, block, put, width
from mbsim_cli.kernels.algebra.spatial import dot6, sub6
from mbsim_cli.kernels.algorithms.bodies import at_origin, at_origin2, pose_of
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
def vary_constraints(model, theta, dtheta, touch, no_eta, t, z, zd, zdd, dz, dzd, dzdd, kin, tw, order, out):
    """Variation of the time derivative of Phi of the given order 0, 1 or 2, out (m, p)."""
    for i in range(model.constraints.measure.size):
        m, law, o = model.constraints.measure[i], model.constraints.law[i], model.constraints.theta[i]
        geometric = is_geometric(model.measures.kind[m])
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if geometric:
                value = vary_measure(model, theta, dtheta, touch.measure[m, g], no_eta, m, k, kin, tw, order)
            else:
                value = vary_coordinate_measure(model.measures, theta, dtheta, m, k, z, zd, zdd, dz, dzd, dzdd, order)
            if order == 0:
                value -= at(dtheta, o, k)
            if law != NONE:
                by_order = law_variation(model.laws, theta, dtheta, k, law, t)
                value -= by_order[0] if order == 0 else (by_order[1] if order == 1 else by_order[2])
            put(out, i, k, value)


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
