"""Variations of Phi, Phi', Phi'' and Phi_z^T lambda in p directions. Paper 000, section 7."""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import add_to, at, block, put, width
from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    store2,
    sub6,
)
from mbsim_cli.kernels.algorithms.bodies import apply_to_body2, at_origin, at_origin2, pose_of
from mbsim_cli.kernels.algorithms.constraints import coordinate_slope, rows_of_pair
from mbsim_cli.kernels.algorithms.residual_variation import slope_variation, vary_seen
from mbsim_cli.kernels.elements.laws import law_variation
from mbsim_cli.kernels.elements.measures import (
    Seen,
    second_variation,
    vary_numbers,
    vary_pose,
)
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import MEASURE_SIZE, NONE


@kernel
def vary_constraints(model, theta, dtheta, touch, t, z, dz, kin, tw, out):
    """Variation of Phi, out (m, p); needs ``vary_kinematics``.

    In ``tw.lines`` it leaves the variations of the gradient lines as the first body of each pair sees them.
    """
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if pair == NONE:
                put(
                    out,
                    first,
                    k,
                    vary_coordinate_measure(measures, theta, dtheta, rows[first], k, z, z, z, dz, dz, dz, 0),
                )
            else:
                _vary_rows_of_pair(model, theta, dtheta, touch, first, last, g, k, kin, tw, out)
            for i in range(first, last):
                by_law = at(dtheta, model.constraints.theta[i], k)
                if model.constraints.law[i] != NONE:
                    by_law += law_variation(model.laws, theta, dtheta, k, model.constraints.law[i], t)[0]
                add_to(out, i, k, -by_law)
        first = last


@inlined
def _vary_rows_of_pair(model, theta, dtheta, touch, first, last, g, k, kin, tw, out):
    measures = model.measures
    pair = measures.pair[model.constraints.measure[first]]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    N = _difference(tw.N, kin, a, b, k)
    for i in range(first, last):
        m = model.constraints.measure[i]
        kind, o = measures.kind[m], measures.theta[m]
        _, dg, _, dL = vary_pose(kind, theta, o, Ra, ra, Rb, rb, N)
        put(out, i, k, dg)
        store2(tw.lines, i, k, dL)
        if touch.measure[m, g]:
            dg, dL = vary_numbers(kind, theta, o, dtheta[o : o + MEASURE_SIZE], k, Ra, ra, Rb, rb)
            add_to(out, i, k, dg)
            accumulate2(tw.lines, i, k, 1.0, dL)


@kernel
def vary_constraint_forces(model, dtheta, lines, multiplier, dz, kin, tw, dG_out):
    """Add the variation of Phi_z^T lambda at fixed lambda, as the bodies see it.

    Needs ``vary_constraints`` and the gradient lines (m, 6).
    """
    measures, pairs, rows = model.measures, model.pairs, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        if pair == NONE:
            vary_pull_on_coordinates(measures, rows[first], dtheta, dz, multiplier[first], dG_out)
        else:
            a, b = pairs.a[pair], pairs.b[pair]
            W = pull_of(lines, multiplier, first, last)
            for g in range(0, dz.shape[1], width(dz)):
                k = block(dz, g)
                seen = vary_pull(tw.lines, multiplier, first, last, k)
                N = _difference(tw.N, kin, a, b, k)
                apply_to_body2(tw.F, kin, a, k, -1.0, seen)
                apply_to_body2(tw.F, kin, b, k, 1.0, sub6(seen, cross_force(N, W)))
        first = last


@inlined
def pull_of(lines, multiplier, first, last):
    """Force of the equations from first to last on the second body, about the origin."""
    W = scale6(multiplier[first], motion_at(lines, first))
    for i in range(first + 1, last):
        W = axpy6(multiplier[i], motion_at(lines, i), W)
    return W


@inlined
def vary_pull(d_lines, multiplier, first, last, k):
    """Its variation k at fixed multipliers, from those of the lines."""
    dW = scale6(multiplier[first], motion_at2(d_lines, first, k))
    for i in range(first + 1, last):
        dW = axpy6(multiplier[i], motion_at2(d_lines, i, k), dW)
    return dW


@inlined
def vary_pull_on_coordinates(measures, m, dtheta, dz, multiplier, dG_out):
    """Add the variation of the multiplier's force of a measure of coordinates."""
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            add_to(dG_out, c, k, multiplier * slope_variation(measures, dtheta, k, m, j, at(dz, c, k)))


@kernel
def vary_constraint_rates(model, theta, dtheta, touch, lines, t, z, zd, zdd, dz, dzd, dzdd, kin, tw, order, out):
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
                v, dv = _velocity_from_a(model, pair, k, kin, tw)
                for i in range(first, last):
                    put(out, i, k, dot6(v, motion_at2(tw.lines, i, k)) + dot6(dv, motion_at(lines, i)))
            else:
                seen = _seen_from_a(model, pair, k, kin, tw)
                for i in range(first, last):
                    put(out, i, k, _second_order(model, theta, dtheta, touch, rows[i], g, k, kin, seen))
            for i in range(first, last):
                if model.constraints.law[i] != NONE:
                    _, law1, law2 = law_variation(model.laws, theta, dtheta, k, model.constraints.law[i], t)
                    add_to(out, i, k, -law1 if order == 1 else -law2)
        first = last


@inlined
def _velocity_from_a(model, pair, k, kin, tw):
    """Velocity of the second body of a pair against the first, and its variation k as that one sees it."""
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Vb = at_origin(kin.V, kin, b)
    turned = cross_motion(_difference(tw.N, kin, a, b, k), Vb)
    return sub6(Vb, at_origin(kin.V, kin, a)), add6(_difference(tw.N1, kin, a, b, k), turned)


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
def vary_measure(model, theta, dtheta, touch, m, g, k, kin, tw, order):
    """Variation k, the block at g, of the value, first or second derivative of a geometric measure."""
    pair = model.measures.pair[m]
    if order == 2:
        return _second_order(model, theta, dtheta, touch, m, g, k, kin, _seen_from_a(model, pair, k, kin, tw))
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    dg, L, dL = vary_seen(model, theta, dtheta, touch.measure[m, g], m, k, kin, _difference(tw.N, kin, a, b, k))
    if order == 0:
        return dg
    v, dv = _velocity_from_a(model, pair, k, kin, tw)
    return dot6(v, dL) + dot6(dv, L)


@inlined
def _second_order(model, theta, dtheta, touch, m, g, k, kin, seen):
    """Variation k, the block at g, of g'' of a measure between bodies whose motion is ``seen``."""
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    Ra, ra = pose_of(kin, model.pairs.a[pair])
    Rb, rb = pose_of(kin, model.pairs.b[pair])
    eta = dtheta[o : o + MEASURE_SIZE]
    return second_variation(kind, theta, o, touch.measure[m, g], eta, k, Ra, ra, Rb, rb, seen)


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
