"""Constraint equations Phi, their Jacobian, first and second time derivatives.

Phi = measure - target - law(t). Paper 000, sections 3 and 7.
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels.algebra.spatial import dot6, store, store_at, sub6
from mbsim_cli.kernels.algorithms.bodies import at_origin, column_at_origin, pose_of
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import (
    factor_rates,
    is_force_line,
    is_geometric,
    line,
    line_rates,
    measure_value,
    wrap_angle,
)
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import NONE


@kernel
def constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out):
    """Phi (m,), Phi_z (m, n) and gradient lines (m, 6) about the origin."""
    measures = model.measures
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        kind = measures.kind[k]
        law, _, _ = law_value(model.laws, theta, model.constraints.law[i], t)
        target = theta[model.constraints.theta[i]] + law
        for c in range(z.size):
            jacobian_out[i, c] = 0.0
        if is_geometric(kind):
            pair = measures.pair[k]
            Ra, ra = pose_of(kin, model.pairs.a[pair])
            Rb, rb = pose_of(kin, model.pairs.b[pair])
            g, x, u = measure_value(kind, theta, measures.theta[k], Ra, ra, Rb, rb)
            L = line(is_force_line(kind), x, u)
            store(line_out, i, L)
            phi_out[i] = wrap_angle(kind, g - target)
            for j in range(model.pairs.first[pair], model.pairs.first[pair + 1]):
                c = model.pairs.column[j]
                jacobian_out[i, c] = model.pairs.sign[j] * dot6(column_at_origin(kin.S, model.tree, kin, c), L)
        else:
            phi_out[i] = coordinate_measure(measures, theta, k, z) - target
            for j in range(measures.first[k], measures.first[k + 1]):
                jacobian_out[i, measures.coordinate[j]] += coordinate_slope(measures, theta, k, j, z)


@inlined
def rows_of_pair(rows, measures, first):
    """Equations that follow one another between the same bodies: the end of those from ``first`` on, and the pair.

    ``rows`` are the measures of the equations. One of coordinates stands alone.
    """
    pair, last = measures.pair[rows[first]], first + 1
    while pair != NONE and last < rows.size and measures.pair[rows[last]] == pair:
        last += 1
    return last, pair


@inlined
def coordinate_measure(measures, theta, k, z):
    """Value of a measure of coordinates."""
    value = 0.0 * z[0] + 0.0 * theta[0]
    for j in range(measures.first[k], measures.first[k + 1]):
        value += _coordinate_term(measures, theta, k, j, z)
    return value


@inlined
def _coordinate_term(measures, theta, k, j, z):
    x = z[measures.coordinate[j]]
    if measures.kind[k] == Measure.EULER_NORM:
        return x * x
    return theta[measures.theta[k] + j - measures.first[k]] * x


@inlined
def coordinate_slope(measures, theta, k, j, z):
    """Derivative of the measure with respect to its j-th listed coordinate."""
    if measures.kind[k] == Measure.EULER_NORM:
        return 2.0 * z[measures.coordinate[j]] + 0.0 * theta[0]
    return theta[measures.theta[k] + j - measures.first[k]] + 0.0 * z[0]


@inlined
def coordinate_rates(measures, theta, k, z, zd, zdd):
    """First and second time derivative of a measure of coordinates."""
    rate = 0.0 * z[0] + 0.0 * theta[0]
    second = rate
    for j in range(measures.first[k], measures.first[k + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, k, j, z)
        rate += slope * zd[c]
        second += slope * zdd[c]
        if measures.kind[k] == Measure.EULER_NORM:
            second += 2.0 * zd[c] * zd[c]
    return rate, second


@inlined
def moving_line(model, theta, k, kin):
    """Gradient line of a geometric measure with its first and second time derivative; needs V and A of the motion."""
    measures = model.measures
    kind, pair, o = measures.kind[k], measures.pair[k], measures.theta[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    g, x, u = measure_value(kind, theta, o, Ra, ra, Rb, rb)
    of_a = at_origin(kin.V, kin, a), at_origin(kin.A, kin, a)
    of_b = at_origin(kin.V, kin, b), at_origin(kin.A, kin, b)
    of_x, of_u = factor_rates(kind, theta, o, Ra, g, x, u, of_a, of_b)
    L1, L2 = line_rates(is_force_line(kind), x, u, of_x, of_u)
    return line(is_force_line(kind), x, u), L1, L2


@inlined
def measure_rates(model, theta, k, kin):
    """First and second time derivative of a geometric measure; needs V and A of the motion."""
    pair = model.measures.pair[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    L, L1, _ = moving_line(model, theta, k, kin)
    v = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
    acceleration = sub6(at_origin(kin.A, kin, b), at_origin(kin.A, kin, a))
    return dot6(v, L), dot6(acceleration, L) + dot6(v, L1)


@kernel
def move_lines(model, theta, kin, rate_out):
    """First and second time derivatives (m, 12) of the gradient lines about the origin."""
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        if is_geometric(model.measures.kind[k]):
            _, L1, L2 = moving_line(model, theta, k, kin)
            store_at(rate_out, i, 0, L1)
            store_at(rate_out, i, 6, L2)


@kernel
def constraint_rates(model, theta, t, z, zd, zdd, kin, phi1_out, phi2_out):
    """Phi' and Phi'' (m,) of the motion in ``kin``."""
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        _, law1, law2 = law_value(model.laws, theta, model.constraints.law[i], t)
        if is_geometric(model.measures.kind[k]):
            g1, g2 = measure_rates(model, theta, k, kin)
        else:
            g1, g2 = coordinate_rates(model.measures, theta, k, z, zd, zdd)
        phi1_out[i] = g1 - law1
        phi2_out[i] = g2 - law2
