"""Constraints Phi = measure - follower - target - law(t), Jacobian, Phi', Phi''; paper 000, sections 3 and 7."""

from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    moved,
    scale6,
    six_at,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, is_zero3, load3_of, row3, scale3, sub3
from mbsim_cli.kernels.algorithms.by_type import only_with
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin, column_at_origin, pose_of, poses_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.elements.laws import law_third, law_value, law_variation, pull_law
from mbsim_cli.kernels.elements.measures import (
    factor_rates,
    line,
    line_rates,
    measure_value,
    pull_numbers,
    pull_second,
    vary_line,
    wrap_angle,
)
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import NONE, Curves, Followers

# Curves of couplings --------------------------------------------------------------------------------------------------
#
# A measure of coordinates is g = c . z - s(x), s its curve if it has one, x the last of its coordinates. Derivatives
# are by z; x = sign z, so that slopes have that sign. Models without curves compile nothing of it:
# ``model.measures.curves``.


_with_curves = only_with("measures.curves", Curves)


@_with_curves(lambda measures, m: False)
def has_curve(measures, m):
    """Whether measure m has a curve."""
    return measures.curves.law[m] != NONE


@inlined
def _place(measures, theta, m, z):
    """Law, sign and argument of the curve of measure m."""
    last = measures.first[m + 1] - 1
    sign = theta[measures.theta[m] + measures.first[m + 1] - measures.first[m]]
    return measures.curves.law[m], sign, sign * z[measures.coordinate[last]]


@_with_curves(lambda measures, theta, m, z: (0.0, 0.0, 0.0))
def curve_at(measures, theta, m, z):
    """Value, first and second derivative of the curve of measure m at the coordinates z."""
    law, sign, x = _place(measures, theta, m, z)
    s, s1, s2 = law_value(measures.curves.laws, theta, law, x)
    return s, sign * s1, s2


@_with_curves(lambda measures, theta, m, z: 0.0)
def third_of_curve(measures, theta, m, z):
    """Third derivative of the curve of measure m; where it jumps, the value of one side."""
    law, sign, x = _place(measures, theta, m, z)
    return sign * law_third(measures.curves.laws, theta, law, x)


@_with_curves(lambda measures, theta, dtheta, k, m, z: scale3(0.0, load3_of(dtheta, 0, k)))  # zeros of its kind
def vary_curve(measures, theta, dtheta, k, m, z):
    """Variation k of value and derivatives with the curve's own numbers, at fixed z."""
    law, sign, x = _place(measures, theta, m, z)
    s, s1, s2 = law_variation(measures.curves.laws, theta, dtheta, k, law, x)
    return s, sign * s1, s2


@_with_curves(lambda measures, theta, m, k, z, value, first, second, theta_out: None)
def pull_curve(measures, theta, m, k, z, value, first, second, theta_out):
    """Add the pull-back of adjoints of value and derivatives to the curve's own numbers."""
    law, sign, x = _place(measures, theta, m, z)
    pull_law(measures.curves.laws, theta, law, x, k, value, sign * first, second, theta_out)


# Followers of constraints ---------------------------------------------------------------------------------------------
#
# A follower is a column that equals the measure of a constraint. Phi is linear in it, with the slope -1. Models without
# followers compile nothing of it: ``model.constraints.followers``.

_with_followers = only_with("constraints.followers", Followers)


@_with_followers(lambda constraints, r: NONE)
def follower(constraints, r):
    """The column that follows the measure of constraint r, or NONE."""
    return constraints.followers.column[r]


# Constraints ----------------------------------------------------------------------------------------------------------


FACTORS, VALUE = 6, 12  # in a row of the lines, after the line itself; that of a curve holds its second derivative
LINE_SIZE = 13


@kernel
def constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out):
    """Phi (m,), Phi_z (m, n), and (m, LINE_SIZE) gradient lines about the origin, their factors, and the measures."""
    measures = model.measures
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        kind, pair = measures.kind[m], measures.pair[m]
        law, _, _ = law_value(model.laws, theta, model.constraints.law[r], t)
        target = theta[model.constraints.theta[r]] + law
        for c in range(z.size):
            jacobian_out[r, c] = 0.0
        if pair != NONE:
            g, x, u = measure_value(kind, theta, measures.theta[m], poses_of(model.pairs, kin, pair))
            L = line(kind, x, u)
            store(line_out, r, L)
            store(line_out, r, (x, u), FACTORS)
            line_out[r, VALUE] = g
            phi_out[r] = wrap_angle(g - target) if kind == Measure.ANGLE else g - target
            for j in range(model.pairs.first[pair], model.pairs.first[pair + 1]):
                c = model.pairs.column[j]
                jacobian_out[r, c] = model.pairs.sign[j] * dot6(column_at_origin(kin.S, model.tree, kin, c), L)
            c = follower(model.constraints, r)
            if c != NONE:
                phi_out[r] -= z[c]
                jacobian_out[r, c] -= 1.0
        else:
            phi_out[r] = coordinate_measure(measures, theta, m, z) - target
            for j in range(measures.first[m], measures.first[m + 1]):
                jacobian_out[r, measures.coordinate[j]] += coordinate_slope(measures, theta, m, j, z)
            if has_curve(measures, m):
                line_out[r, VALUE] = curve_at(measures, theta, m, z)[2]


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
def coordinate_measure(measures, theta, m, z):
    """Value of a measure of coordinates."""
    value = 0.0 * z[0] + 0.0 * theta[0]
    for j in range(measures.first[m], measures.first[m + 1]):
        x = z[measures.coordinate[j]]
        quadratic = measures.kind[m] == Measure.EULER_NORM
        value += x * x if quadratic else theta[measures.theta[m] + j - measures.first[m]] * x
    if has_curve(measures, m):
        value -= curve_at(measures, theta, m, z)[0]
    return value


@inlined
def coordinate_slope(measures, theta, m, j, z):
    """Derivative of the measure with respect to its j-th listed coordinate."""
    if measures.kind[m] == Measure.EULER_NORM:
        return 2.0 * z[measures.coordinate[j]] + 0.0 * theta[0]
    if has_curve(measures, m) and j == measures.first[m + 1] - 1:
        return theta[measures.theta[m] + j - measures.first[m]] - curve_at(measures, theta, m, z)[1]
    return theta[measures.theta[m] + j - measures.first[m]] + 0.0 * z[0]


@inlined
def coordinate_rates(measures, theta, m, motion):
    """First and second time derivative of a measure of coordinates."""
    rate = 0.0 * motion.z[0] + 0.0 * theta[0]
    second = rate
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, m, j, motion.z)
        rate += slope * motion.zd[c]
        second += slope * motion.zdd[c]
        if measures.kind[m] == Measure.EULER_NORM:
            second += 2.0 * motion.zd[c] * motion.zd[c]
    if has_curve(measures, m):
        c = measures.coordinate[measures.first[m + 1] - 1]
        second -= curve_at(measures, theta, m, motion.z)[2] * motion.zd[c] * motion.zd[c]
    return rate, second


@inlined
def factors_at(lines, r):
    """Value of the measure of row r, and the factors x, u of its line."""
    x, u = six_at(lines, r, FACTORS)
    return lines[r, VALUE], x, u


@inlined
def constraint_wrench(lines, multiplier, first, last):
    """Force of the equations from first to last on the second body, about the origin."""
    W = scale6(multiplier[first], motion_at(lines, first))
    for r in range(first + 1, last):
        W = axpy6(multiplier[r], motion_at(lines, r), W)
    return W


@inlined
def vary_constraint_wrench(rows, measures, theta, lines, multiplier, first, last, Ra, N):
    """Variation of ``constraint_wrench`` by the twist N of b against a, as a sees it; multipliers and numbers stay.

    The forces of projections at one point, as of spherical joints, are taken together.
    """
    dW, r = scale6(0.0, N), first
    while r < last:
        m = rows[r]
        x, u = six_at(lines, r, FACTORS)
        if measures.kind[m] == Measure.PROJECTION:
            force = scale3(multiplier[r], u)
            r += 1
            while (
                r < last
                and measures.kind[rows[r]] == Measure.PROJECTION
                and is_zero3(sub3(row3(lines, r, FACTORS), row3(lines, r - 1, FACTORS)))
            ):
                force = axpy3(multiplier[r], row3(lines, r, FACTORS + 3), force)
                r += 1
            dW = (add3(dW[0], cross3(moved(N, x), force)), dW[1])
        else:
            dL = vary_line(measures.kind[m], theta, measures.theta[m], Ra, lines[r, VALUE], x, u, N)
            dW = axpy6(multiplier[r], dL, dW)
            r += 1
    return dW


@inlined
def measure_factors(model, theta, m, kin):
    """Value of a geometric measure, and the factors x, u of its line."""
    measures = model.measures
    poses = poses_of(model.pairs, kin, measures.pair[m])
    g, x, u = measure_value(measures.kind[m], theta, measures.theta[m], poses)
    if measures.kind[m] == Measure.ANGLE:
        g = wrap_angle(g, kin.expected[m])
    return g, x, u


@inlined
def moving_line(model, theta, m, factors, kin):
    """First and second time derivative of the line of a geometric measure; needs V and A of the motion."""
    measures = model.measures
    kind, pair = measures.kind[m], measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, _ = pose_of(kin, a)
    of_a = at_origin(kin.V, kin, a), at_origin(kin.A, kin, a)
    of_b = at_origin(kin.V, kin, b), at_origin(kin.A, kin, b)
    g, x, u = factors
    of_x, of_u = factor_rates(kind, theta, measures.theta[m], Ra, g, x, u, of_a, of_b)
    return line_rates(kind, x, u, of_x, of_u)


@inlined
def measure_rates(model, theta, m, factors, kin):
    """First and second time derivative of a geometric measure; needs V and A of the motion."""
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    _, x, u = factors
    L, (L1, _) = line(model.measures.kind[m], x, u), moving_line(model, theta, m, factors, kin)
    v = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
    acceleration = sub6(at_origin(kin.A, kin, b), at_origin(kin.A, kin, a))
    return dot6(v, L), dot6(acceleration, L) + dot6(v, L1)


@kernel
def move_lines(model, theta, lines, kin, rate_out):
    """First and second time derivatives (m, 12) of the gradient lines about the origin."""
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        if model.measures.pair[m] != NONE:
            L1, L2 = moving_line(model, theta, m, factors_at(lines, r), kin)
            store(rate_out, r, L1)
            store(rate_out, r, L2, 6)


@kernel
def constraint_speeds(model, theta, t, J, sparsity, zd, phi1_out):
    """Phi' (m,) = J zd - law' of any velocities; ``sparsity`` tells where J differs from zero."""
    for r in range(phi1_out.size):
        speed = 0.0 * zd[0]
        if r < model.constraints.law.size:  # natural coordinates have equations of rigidity behind these
            _, law1, _ = law_value(model.laws, theta, model.constraints.law[r], t)
            speed -= law1
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            c = at(sparsity.row_column, s)
            speed += at(J, r, c) * at(zd, c)
        phi1_out[r] = speed


@kernel
def constraint_rates(model, theta, t, motion, lines, kin, phi1_out, phi2_out):
    """Phi' and Phi'' (m,) of the motion in ``kin``."""
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        _, law1, law2 = law_value(model.laws, theta, model.constraints.law[r], t)
        if model.measures.pair[m] != NONE:
            g1, g2 = measure_rates(model, theta, m, factors_at(lines, r), kin)
            c = follower(model.constraints, r)
            if c != NONE:
                g1 -= motion.zd[c]
                g2 -= motion.zdd[c]
        else:
            g1, g2 = coordinate_rates(model.measures, theta, m, motion)
        phi1_out[r] = g1 - law1
        phi2_out[r] = g2 - law2


# Pull-backs of measures between bodies and of coordinates, for forces, constraints and sensors ------------------------
#
# A measure has the adjoints b_0, b_1, b_2 of g, g', g'', and b_U of its rate L . U under a virtual motion. Since dg =
# N . L and so on, body b gets b_0 L + b_1 L' + b_2 L'' + b_U L'_U for N, b_1 L + 2 b_2 L' for N' and b_2 L for N'',
# body a the negative. Derivation: docs/theory/adjoint.md.


@inlined
def between(array_out, a, b, k, s, X):
    """Add s X to body b and take it from body a."""
    accumulate2(array_out, b, k, s, X)
    accumulate2(array_out, a, k, -s, X)


@kernel
def pull_line(model, theta, m, k, kin, g_hat, Ka, Kb, adj_out):
    """Add the pull-back of g_hat g + (Kb - Ka) . L to P and the numbers of measure m; Ka, Kb move with their bodies.

    For g' they are b_1 V, and for the rate under a virtual motion b_U U.
    """
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    poses = poses_of(model.pairs, kin, pair)
    g, x, u = measure_value(kind, theta, o, poses)
    L, K = line(kind, x, u), sub6(Kb, Ka)
    change = add6(vary_line(kind, theta, o, poses[0][0], g, x, u, K), cross_force(Ka, L))
    between(adj_out.P, a, b, k, 1.0, axpy6(g_hat, L, change))
    pull_numbers(kind, theta, o, k, poses, g_hat, K, adj_out.theta)


@inlined
def pull_own(measures, pairs, theta, m, k, kin, g_hat, K, theta_out):
    """Add the pull-back of g_hat g + K . L at fixed poses to the numbers of measure m."""
    poses = poses_of(pairs, kin, measures.pair[m])
    pull_numbers(measures.kind[m], theta, measures.theta[m], k, poses, g_hat, K, theta_out)


@inlined
def pull_own_rates(measures, pairs, theta, m, k, kin, first, second, theta_out):
    """Add the pull-back of adjoints of g' and g'' at fixed motions to the numbers of measure m."""
    pair = measures.pair[m]
    a, b, poses = pairs.a[pair], pairs.b[pair], poses_of(pairs, kin, pair)
    Va = motion_at(kin.V, a)
    V = sub6(motion_at(kin.V, b), Va)
    A = sub6(sub6(motion_at(kin.A, b), motion_at(kin.A, a)), cross_motion(Va, V))
    kind, o, none = measures.kind[m], measures.theta[m], 0.0 * first
    pull_numbers(kind, theta, o, k, poses, none, scale6(first, V), theta_out)
    pull_second(kind, theta, o, k, poses, V, A, second, theta_out)


@inlined
def pull_coordinate_measure(measures, theta, m, k, motion, value, first, second, adj_out):
    """Add the pull-back of adjoints of g, g' and g'' of a measure of coordinates."""
    z, zd, zdd = motion.z, motion.zd, motion.zdd
    quadratic = measures.kind[m] == Measure.EULER_NORM
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, m, j, z)
        add_to(adj_out.z, c, k, slope * value)
        add_to(adj_out.zd, c, k, slope * first)
        add_to(adj_out.zdd, c, k, slope * second)
        if quadratic:
            add_to(adj_out.z, c, k, 2.0 * zd[c] * first + 2.0 * zdd[c] * second)
            add_to(adj_out.zd, c, k, 4.0 * zd[c] * second)
        else:
            own = z[c] * value + zd[c] * first + zdd[c] * second
            add_to(adj_out.theta, measures.theta[m] + j - measures.first[m], k, own)
    if has_curve(measures, m):
        c = measures.coordinate[measures.first[m + 1] - 1]
        bend, third = curve_at(measures, theta, m, z)[2], third_of_curve(measures, theta, m, z)
        along = zd[c] * first + zdd[c] * second
        add_to(adj_out.z, c, k, -bend * along - third * zd[c] * zd[c] * second)
        add_to(adj_out.zd, c, k, -2.0 * bend * zd[c] * second)
        pull_curve(measures, theta, m, k, z, -1.0 * value, -1.0 * along, -zd[c] * zd[c] * second, adj_out.theta)


@inlined
def pull_coordinate_force(measures, theta, m, k, z, factor, virtual, adj_out):
    """Add the pull-back of the measure's rate under the virtual motion, times ``factor``."""
    for j in range(measures.first[m], measures.first[m + 1]):
        pull_slope(measures, theta, m, j, k, z, factor * at(virtual.mu, measures.coordinate[j], k), adj_out)


@inlined
def pull_slope(measures, theta, m, j, k, z, hat, adj_out):
    """Add the pull-back of an adjoint of ``coordinate_slope``."""
    if measures.kind[m] == Measure.EULER_NORM:
        add_to(adj_out.z, measures.coordinate[j], k, 2.0 * hat)
    else:
        add_to(adj_out.theta, measures.theta[m] + j - measures.first[m], k, hat)
        if has_curve(measures, m) and j == measures.first[m + 1] - 1:
            none = 0.0 * hat
            add_to(adj_out.z, measures.coordinate[j], k, -curve_at(measures, theta, m, z)[2] * hat)
            pull_curve(measures, theta, m, k, z, none, -1.0 * hat, none, adj_out.theta)
