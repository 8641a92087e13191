"""Constraint equations Phi, their Jacobian, first and second time derivatives.

Phi = measure - target - law(t). Paper 000, sections 3 and 7.
"""

from mbsim_cli.kernels.algebra.spatial import (
    axpy6,
    dot6,
    motion_at,
    scale6,
    six_at,
    store,
    store_at,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, is_zero3, row3, scale3, sub3
from mbsim_cli.kernels.algorithms.equations.curves import curve_at, has_curve
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, column_at_origin, no_motion, pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import (
    factor_rates,
    is_force_line,
    is_geometric,
    line,
    line_rates,
    measure_value,
    moved,
    unwrapped,
    vary_line,
    wrap_angle,
)
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import NONE

FACTORS, VALUE = 6, 12  # in a row of the lines, after the line itself; that of a curve holds its second derivative
LINE_SIZE = 13


@kernel
def constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out):
    """Phi (m,), Phi_z (m, n), and (m, LINE_SIZE) gradient lines about the origin, their factors, and the measures."""
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
            store_at(line_out, i, FACTORS, (x, u))
            line_out[i, VALUE] = g
            phi_out[i] = wrap_angle(kind, g - target)
            for j in range(model.pairs.first[pair], model.pairs.first[pair + 1]):
                c = model.pairs.column[j]
                jacobian_out[i, c] = model.pairs.sign[j] * dot6(column_at_origin(kin.S, model.tree, kin, c), L)
        else:
            phi_out[i] = coordinate_measure(measures, theta, k, z) - target
            for j in range(measures.first[k], measures.first[k + 1]):
                jacobian_out[i, measures.coordinate[j]] += coordinate_slope(measures, theta, k, j, z)
            if has_curve(measures, k):
                line_out[i, VALUE] = curve_at(measures, theta, k, z)[2]


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
    if has_curve(measures, k):
        value -= curve_at(measures, theta, k, z)[0]
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
    if has_curve(measures, k) and j == measures.first[k + 1] - 1:
        return theta[measures.theta[k] + j - measures.first[k]] - curve_at(measures, theta, k, z)[1]
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
    if has_curve(measures, k):
        c = measures.coordinate[measures.first[k + 1] - 1]
        second -= curve_at(measures, theta, k, z)[2] * zd[c] * zd[c]
    return rate, second


@inlined
def factors_at(lines, i):
    """Value of the measure of row i, and the factors x, u of its line."""
    x, u = six_at(lines, i, FACTORS)
    return lines[i, VALUE], x, u


@inlined
def pull_of(lines, multiplier, first, last):
    """Force of the equations from first to last on the second body, about the origin."""
    W = scale6(multiplier[first], motion_at(lines, first))
    for i in range(first + 1, last):
        W = axpy6(multiplier[i], motion_at(lines, i), W)
    return W


@inlined
def vary_pull(rows, measures, theta, lines, multiplier, first, last, Ra, N):
    """Its variation as the first body sees the second turn by the twist N; multipliers and own numbers stay.

    The forces of projections at one point, as of spherical joints, are taken together.
    """
    dW, i = no_motion(N), first
    while i < last:
        m = rows[i]
        g, x, u = factors_at(lines, i)
        if measures.kind[m] == Measure.PROJECTION:
            force = scale3(multiplier[i], u)
            i += 1
            while i < last and measures.kind[rows[i]] == Measure.PROJECTION and _same_point(lines, i):
                force = axpy3(multiplier[i], row3(lines, i, FACTORS + 3), force)
                i += 1
            dW = (add3(dW[0], cross3(moved(N, x), force)), dW[1])
        else:
            dL = vary_line(measures.kind[m], theta, measures.theta[m], Ra, g, x, u, N)
            dW = axpy6(multiplier[i], dL, dW)
            i += 1
    return dW


@inlined
def _same_point(lines, i):
    """Whether the factor x of row i is that of the row before."""
    return is_zero3(sub3(row3(lines, i, FACTORS), row3(lines, i - 1, FACTORS)))


@inlined
def measure_factors(model, theta, k, kin):
    """Value of a geometric measure, and the factors x, u of its line."""
    measures = model.measures
    Ra, ra = pose_of(kin, model.pairs.a[measures.pair[k]])
    Rb, rb = pose_of(kin, model.pairs.b[measures.pair[k]])
    g, x, u = measure_value(measures.kind[k], theta, measures.theta[k], Ra, ra, Rb, rb)
    return unwrapped(measures.kind[k], g, kin.expected[k]), x, u


@inlined
def moving_line(model, theta, k, factors, kin):
    """First and second time derivative of the line of a geometric measure; needs V and A of the motion."""
    measures = model.measures
    kind, pair = measures.kind[k], measures.pair[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, _ = pose_of(kin, a)
    of_a = at_origin(kin.V, kin, a), at_origin(kin.A, kin, a)
    of_b = at_origin(kin.V, kin, b), at_origin(kin.A, kin, b)
    g, x, u = factors
    of_x, of_u = factor_rates(kind, theta, measures.theta[k], Ra, g, x, u, of_a, of_b)
    return line_rates(is_force_line(kind), x, u, of_x, of_u)


@inlined
def measure_rates(model, theta, k, factors, kin):
    """First and second time derivative of a geometric measure; needs V and A of the motion."""
    pair = model.measures.pair[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    _, x, u = factors
    L, (L1, _) = line(is_force_line(model.measures.kind[k]), x, u), moving_line(model, theta, k, factors, kin)
    v = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
    acceleration = sub6(at_origin(kin.A, kin, b), at_origin(kin.A, kin, a))
    return dot6(v, L), dot6(acceleration, L) + dot6(v, L1)


@kernel
def move_lines(model, theta, lines, kin, rate_out):
    """First and second time derivatives (m, 12) of the gradient lines about the origin."""
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        if is_geometric(model.measures.kind[k]):
            L1, L2 = moving_line(model, theta, k, factors_at(lines, i), kin)
            store_at(rate_out, i, 0, L1)
            store_at(rate_out, i, 6, L2)


@kernel
def constraint_speeds(model, theta, t, J, sparsity, zd, phi1_out):
    """Phi' (m,) = J zd - law' of any velocities; ``sparsity`` tells where J differs from zero."""
    for i in range(phi1_out.size):
        _, law1, _ = law_value(model.laws, theta, model.constraints.law[i], t)
        speed = -law1
        for s in range(sparsity.row_first[i], sparsity.row_first[i + 1]):
            c = sparsity.row_column[s]
            speed += J[i, c] * zd[c]
        phi1_out[i] = speed


@kernel
def constraint_rates(model, theta, lines, t, z, zd, zdd, kin, phi1_out, phi2_out):
    """Phi' and Phi'' (m,) of the motion in ``kin``."""
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        _, law1, law2 = law_value(model.laws, theta, model.constraints.law[i], t)
        if is_geometric(model.measures.kind[k]):
            g1, g2 = measure_rates(model, theta, k, factors_at(lines, i), kin)
        else:
            g1, g2 = coordinate_rates(model.measures, theta, k, z, zd, zdd)
        phi1_out[i] = g1 - law1
        phi2_out[i] = g2 - law2
