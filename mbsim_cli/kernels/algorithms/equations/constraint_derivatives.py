"""Variations and pull-backs of constraints."""

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    six_at,
    sub6,
)
from mbsim_cli.kernels.algorithms.equations import constraints
from mbsim_cli.kernels.algorithms.equations.constraints import VALUE, between, follower, rows_of_pair
from mbsim_cli.kernels.algorithms.equations.forces import slope_variation, vary_by_numbers
from mbsim_cli.kernels.algorithms.motion import about_origin
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin, between2
from mbsim_cli.kernels.algorithms.motion.workspace import of_position
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements.laws import law_variation, pull_law
from mbsim_cli.kernels.elements.measures import line, second_by_numbers
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import MEASURE_SIZE, NONE

# Variations of Phi, Phi', Phi'' and Phi_z^T lambda in p directions: paper 000, section 7 ------------------------------


@kernel
def vary_constraints(model, theta, directions, t, z, dz, lines, kin, tw, out):
    """Variation of Phi, out (m, p): N . L; needs ``vary_kinematics`` and the gradient lines (m, LINE_SIZE)."""
    dtheta, touch = directions.dtheta, directions.touch
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            if pair == NONE:
                m = rows[first]
                placed, change = of_position(z), of_position(dz)
                put(out, first, k, vary_coordinate_measure(measures, theta, dtheta, m, k, placed, change, 0))
            else:
                N = between2(tw.N, kin, model.pairs.a[pair], model.pairs.b[pair], k)
                for i in range(first, last):
                    put(out, i, k, dot6(N, motion_at(lines, i)))
                    if touch.measure[rows[i], g]:
                        add_to(out, i, k, _by_numbers(model, theta, dtheta, rows[i], k, kin, 0))
                    c = follower(model.constraints, i)
                    if c != NONE:
                        add_to(out, i, k, -at(dz, c, k))
            for i in range(first, last):
                by_law = at(dtheta, model.constraints.theta[i], k)
                if model.constraints.law[i] != NONE:
                    by_law += law_variation(model.laws, theta, dtheta, k, model.constraints.law[i], t)[0]
                add_to(out, i, k, -by_law)
        first = last


@kernel
def vary_constraint_forces(model, theta, directions, lines, multiplier, z, dz, kin, tw, dG_out):
    """Add d(Phi_z^T) lambda as the bodies see it; needs ``vary_kinematics`` and the lines (m, LINE_SIZE)."""
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        if pair == NONE:
            vary_multiplier_force(measures, rows[first], theta, directions.dtheta, z, dz, multiplier[first], dG_out)
        else:
            vary_forces_between(model, theta, directions, lines, multiplier, first, last, kin, tw)
        first = last


@inlined
def vary_forces_between(model, theta, directions, lines, multiplier, first, last, kin, tw):
    """Add to ``tw.F`` the variation of the force of the equations from first to last, which act on one pair."""
    dtheta, pair = directions.dtheta, model.measures.pair[model.constraints.measure[first]]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, _ = about_origin.pose_of(kin, a)
    W = constraints.constraint_wrench(lines, multiplier, first, last)
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        N = between2(tw.N, kin, a, b, k)
        vary_forces_of_pair(model, theta, directions, lines, multiplier, first, last, g, k, kin, N, Ra, W, tw.F)


@inlined
def vary_forces_of_pair(model, theta, directions, lines, multiplier, first, last, g, k, kin, N, Ra, W, dF_out):
    """Add to forces on bodies (nb + 1, 6, p) the variation, in direction k of the block at g, of the force W.

    That is the force of the equations from first to last, between bodies a and b; N is the twist of b against a.
    """
    dtheta, touch = directions.dtheta, directions.touch
    measures, pairs, rows = model.measures, model.pairs, model.constraints.measure
    pair = measures.pair[rows[first]]
    a, b = pairs.a[pair], pairs.b[pair]
    from_a = constraints.vary_constraint_wrench(rows, measures, theta, lines, multiplier, first, last, Ra, N)
    about_origin.apply_between2(dF_out, kin, a, b, k, 1.0, from_a, cross_force(N, W))
    for r in range(first, last):
        if touch.measure[rows[r], g]:
            _, dL = vary_by_numbers(measures, pairs, theta, dtheta, rows[r], k, kin)
            dW = scale6(multiplier[r], dL)
            about_origin.apply_to_body2(dF_out, kin, b, k, 1.0, dW)
            about_origin.apply_to_body2(dF_out, kin, a, k, -1.0, dW)


@inlined
def vary_multiplier_force(measures, m, theta, dtheta, z, dz, multiplier, dG_out):
    """Add the variation of the multiplier's force of a measure of coordinates."""
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            add_to(dG_out, c, k, multiplier * slope_variation(measures, theta, dtheta, k, m, j, z, at(dz, c, k)))


@kernel
def vary_constraint_rates(model, theta, directions, t, motion, change, lines, rates, kin, tw, first_out, second_out):
    """Variations of Phi' and Phi'' (m, p); needs ``vary_kinematics``, the lines (m, LINE_SIZE) and ``move_lines``.

    Of bodies and coordinates they are derivatives of N . L: N' . L + N . L' and N'' . L + 2 N' . L' + N . L''.
    """
    dtheta, touch = directions.dtheta, directions.touch
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, change.z.shape[1], width(change.z)):
            k = block(change.z, g)
            if pair == NONE:
                m = rows[first]
                rate = vary_coordinate_measure(measures, theta, dtheta, m, k, motion, change, 1)
                second = vary_coordinate_measure(measures, theta, dtheta, m, k, motion, change, 2)
                put(first_out, first, k, rate)
                put(second_out, first, k, second)
            else:
                a, b = model.pairs.a[pair], model.pairs.b[pair]
                N, N1 = between2(tw.N, kin, a, b, k), between2(tw.N1, kin, a, b, k)
                N2 = between2(tw.N2, kin, a, b, k)
                for r in range(first, last):
                    L, L1, L2 = motion_at(lines, r), six_at(rates, r, 0), six_at(rates, r, 6)
                    put(first_out, r, k, dot6(N1, L) + dot6(N, L1))
                    put(second_out, r, k, dot6(N2, L) + 2.0 * dot6(N1, L1) + dot6(N, L2))
                    if touch.measure[rows[r], g]:
                        add_to(first_out, r, k, _by_numbers(model, theta, dtheta, rows[r], k, kin, 1))
                        add_to(second_out, r, k, _by_numbers(model, theta, dtheta, rows[r], k, kin, 2))
                    c = follower(model.constraints, r)
                    if c != NONE:
                        add_to(first_out, r, k, -at(change.zd, c, k))
                        add_to(second_out, r, k, -at(change.zdd, c, k))
            for r in range(first, last):
                if model.constraints.law[r] != NONE:
                    _, law1, law2 = law_variation(model.laws, theta, dtheta, k, model.constraints.law[r], t)
                    add_to(first_out, r, k, -law1)
                    add_to(second_out, r, k, -law2)
        first = last


@kernel
def vary_with_velocity(factor, model, lines, rates, zd, dzd, kin, second_out):
    """Add ``factor`` times its variation 2 J' dzd with velocities alone to Phi'' (m, p); needs the lines' rates."""
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, dzd.shape[1], width(dzd)):
            k = block(dzd, g)
            if pair == NONE:
                m = rows[first]
                if measures.kind[m] == Measure.EULER_NORM:
                    for j in range(measures.first[m], measures.first[m + 1]):
                        c = measures.coordinate[j]
                        add_to(second_out, first, k, 4.0 * factor * zd[c] * at(dzd, c, k))
                elif constraints.has_curve(measures, m):
                    c = measures.coordinate[measures.first[m + 1] - 1]
                    add_to(second_out, first, k, -2.0 * factor * lines[first, VALUE] * zd[c] * at(dzd, c, k))
            else:
                V, V1 = _velocity_along_path(model, pair, dzd, kin, k)
                for r in range(first, last):
                    change = dot6(V1, motion_at(lines, r)) + dot6(V, six_at(rates, r, 0))
                    add_to(second_out, r, k, 2.0 * factor * change)
        first = last


@inlined
def _velocity_along_path(model, pair, dzd, kin, k):
    """Sums of S dzd and S' dzd over the path between two bodies, about the origin."""
    pairs, tree = model.pairs, model.tree
    zero = 0.0 * at(dzd, 0, k)
    V = ((zero, zero, zero), (zero, zero, zero))
    V1 = V
    for j in range(pairs.first[pair], pairs.first[pair + 1]):
        c = pairs.column[j]
        d = pairs.sign[j] * at(dzd, c, k)
        V = axpy6(d, about_origin.column_at_origin(kin.S, tree, kin, c), V)
        V1 = axpy6(d, about_origin.column_at_origin(kin.S1, tree, kin, c), V1)
    return V, V1


@inlined
def _by_numbers(model, theta, dtheta, m, k, kin, order):
    """Variation k of g, g' or g'' (order 0, 1, 2) of a geometric measure with its own numbers."""
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Va = at_origin(kin.V, kin, a)
    V = sub6(at_origin(kin.V, kin, b), Va)
    if order == 2:
        poses = about_origin.poses_of(model.pairs, kin, pair)
        A = sub6(sub6(at_origin(kin.A, kin, b), at_origin(kin.A, kin, a)), cross_motion(Va, V))
        return second_by_numbers(kind, theta, o, dtheta[o : o + MEASURE_SIZE], k, poses, V, A)
    dg, dL = vary_by_numbers(measures, model.pairs, theta, dtheta, m, k, kin)
    return dg if order == 0 else dot6(V, dL)


@inlined
def vary_geometric_measure(model, theta, directions, m, g, k, kin, tw, order):
    """Variation k, the block at g, of the value, first or second derivative of a geometric measure."""
    dtheta, touch = directions.dtheta, directions.touch
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    factors = constraints.measure_factors(model, theta, m, kin)
    L1, L2 = constraints.moving_line(model, theta, m, factors, kin)
    L = line(model.measures.kind[m], factors[1], factors[2])
    N, N1 = between2(tw.N, kin, a, b, k), between2(tw.N1, kin, a, b, k)
    if order == 0:
        change = dot6(N, L)
    elif order == 1:
        change = dot6(N1, L) + dot6(N, L1)
    else:
        change = dot6(between2(tw.N2, kin, a, b, k), L) + 2.0 * dot6(N1, L1) + dot6(N, L2)
    if touch.measure[m, g]:
        change += _by_numbers(model, theta, dtheta, m, k, kin, order)
    return change


@inlined
def vary_coordinate_measure(measures, theta, dtheta, m, k, motion, change, order):
    """Variation k of g, g' or g'' of a measure of coordinates."""
    z, zd, zdd, dz, dzd, dzdd = motion.z, motion.zd, motion.zdd, change.z, change.zd, change.zdd
    total = 0.0 * at(dz, 0, k)
    quadratic = measures.kind[m] == Measure.EULER_NORM
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = constraints.coordinate_slope(measures, theta, m, j, z)
        d_slope = slope_variation(measures, theta, dtheta, k, m, j, z, at(dz, c, k))
        if order == 0:
            total += slope * at(dz, c, k)
            if not quadratic:
                total += at(dtheta, measures.theta[m] + j - measures.first[m], k) * z[c]
        elif order == 1:
            total += slope * at(dzd, c, k) + d_slope * zd[c]
        else:
            total += slope * at(dzdd, c, k) + d_slope * zdd[c]
            if quadratic:
                total += 4.0 * zd[c] * at(dzd, c, k)
    if constraints.has_curve(measures, m) and order != 1:
        own = constraints.vary_curve(measures, theta, dtheta, k, m, z)
        if order == 0:
            return total - own[0]
        c = measures.coordinate[measures.first[m + 1] - 1]
        bend, third = constraints.curve_at(measures, theta, m, z)[2], constraints.third_of_curve(measures, theta, m, z)
        total -= 2.0 * bend * zd[c] * at(dzd, c, k) + (third * at(dz, c, k) + own[2]) * (zd[c] * zd[c])
    return total


# Pull-backs of Phi, Phi', Phi'' and of the power of Phi_z^T lambda: transposes of the variations above ----------------
#
# Spatial vectors are about the global origin, where all bodies must have their reference points. Derivation:
# docs/theory/adjoint.md.


@kernel
def pull_constraints(model, theta, t, z, kin, lines, multiplier, virtual, nu, adj_out):
    """Add the pull-back of nu . Phi + mu . Phi_z^T multiplier, nu (m, p); needs the lines (m, LINE_SIZE).

    What the second scalar has by the rate of pose twists under the virtual motion is part of ``residual``.
    """
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, adj_out.each.size, width(adj_out.each)):
            k = block(adj_out.each, g)
            if pair == NONE:
                hat = at(nu, first, k)
                constraints.pull_coordinate_measure(
                    measures, theta, rows[first], k, of_position(z), hat, 0.0 * hat, 0.0 * hat, adj_out
                )  # fmt: skip
                constraints.pull_coordinate_force(
                    measures, theta, rows[first], k, z, multiplier[first], virtual, adj_out
                )
            else:
                _pull_pair(model, theta, first, last, k, kin, lines, multiplier, virtual, nu, adj_out)
            for r in range(first, last):
                hat = -1.0 * at(nu, r, k)
                add_to(adj_out.theta, model.constraints.theta[r], k, hat)
                law = model.constraints.law[r]
                pull_law(model.laws, theta, law, t, k, hat, 0.0 * hat, 0.0 * hat, adj_out.theta)
        first = last


@inlined
def _pull_pair(model, theta, first, last, k, kin, lines, multiplier, virtual, nu, adj_out):
    """``pull_constraints`` of the equations from first to last, between the same bodies."""
    measures, pairs, rows = model.measures, model.pairs, model.constraints.measure
    pair = measures.pair[rows[first]]
    a, b = pairs.a[pair], pairs.b[pair]
    Ra, _ = about_origin.pose_of(kin, a)
    Ua = motion_at2(virtual.U, a, k)
    U = sub6(motion_at2(virtual.U, b, k), Ua)
    X = constraints.vary_constraint_wrench(rows, measures, theta, lines, multiplier, first, last, Ra, U)
    X = add6(X, cross_force(Ua, constraints.constraint_wrench(lines, multiplier, first, last)))
    for r in range(first, last):
        X = axpy6(at(nu, r, k), motion_at(lines, r), X)
        constraints.pull_own(
            measures, pairs, theta, rows[r], k, kin, at(nu, r, k), scale6(multiplier[r], U), adj_out.theta
        )
        c = follower(model.constraints, r)
        if c != NONE:
            add_to(adj_out.z, c, k, -at(nu, r, k))
    between(adj_out.P, a, b, k, 1.0, X)


@kernel
def pull_constraint_rates(model, theta, t, motion, kin, lines, rates, nu1, nu2, adj_out):
    """Add the pull-back of nu1 . Phi' + nu2 . Phi'', both (m, p); needs the lines (m, LINE_SIZE) and ``move_lines``."""
    measures, rows = model.measures, model.constraints.measure
    for r in range(rows.size):
        m = rows[r]
        pair = measures.pair[m]
        for g in range(0, adj_out.each.size, width(adj_out.each)):
            k = block(adj_out.each, g)
            first, second = at(nu1, r, k), at(nu2, r, k)
            if pair == NONE:
                constraints.pull_coordinate_measure(measures, theta, m, k, motion, 0.0 * first, first, second, adj_out)
            else:
                a, b = model.pairs.a[pair], model.pairs.b[pair]
                L, L1, L2 = motion_at(lines, r), six_at(rates, r, 0), six_at(rates, r, 6)
                pull_line_rates(a, b, k, L, L1, L2, first, second, adj_out)
                constraints.pull_own_rates(measures, model.pairs, theta, m, k, kin, first, second, adj_out.theta)
                c = follower(model.constraints, r)
                if c != NONE:
                    add_to(adj_out.zd, c, k, -1.0 * first)
                    add_to(adj_out.zdd, c, k, -1.0 * second)
            law, none = model.constraints.law[r], 0.0 * first
            pull_law(model.laws, theta, law, t, k, none, -1.0 * first, -1.0 * second, adj_out.theta)


@inlined
def pull_line_rates(a, b, k, L, L1, L2, first, second, adj_out):
    """Pull back N' . L + N . L' and N'' . L + 2 N' . L' + N . L'', N the twist of b against a."""
    between(adj_out.P, a, b, k, 1.0, axpy6(first, L1, scale6(second, L2)))
    between(adj_out.D, a, b, k, 1.0, axpy6(first, L, scale6(2.0 * second, L1)))
    between(adj_out.H, a, b, k, 1.0, scale6(second, L))


@kernel
def pull_with_velocity(model, lines, rates, zd, nu2, kin, zd_out):
    """Add 2 J'^T nu2, the slope of nu2 . Phi'' by z', to zd (n, p); ``pull_constraint_rates`` does this, too."""
    measures, pairs, rows = model.measures, model.pairs, model.constraints.measure
    for r in range(rows.size):
        m = rows[r]
        pair = measures.pair[m]
        for g in range(0, nu2.shape[1], width(nu2)):
            k = block(nu2, g)
            hat = 2.0 * at(nu2, r, k)
            if pair != NONE:
                L, L1 = motion_at(lines, r), six_at(rates, r, 0)
                for j in range(pairs.first[pair], pairs.first[pair + 1]):
                    c = pairs.column[j]
                    change = dot6(motion_at(kin.S, c), L1) + dot6(motion_at(kin.S1, c), L)
                    add_to(zd_out, c, k, pairs.sign[j] * change * hat)
            elif measures.kind[m] == Measure.EULER_NORM:
                for j in range(measures.first[m], measures.first[m + 1]):
                    c = measures.coordinate[j]
                    add_to(zd_out, c, k, 2.0 * zd[c] * hat)
            elif constraints.has_curve(measures, m):
                c = measures.coordinate[measures.first[m + 1] - 1]
                add_to(zd_out, c, k, -1.0 * lines[r, VALUE] * zd[c] * hat)
