"""Pull-backs of Phi, Phi', Phi'' and of the power of Phi_z^T lambda: transposes of ``constraint_variation``.

Spatial vectors are about the global origin, where all bodies must have their reference points. Derivation:
docs/theory/adjoint.md.
"""

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    six_at,
    sub6,
)
from mbsim_cli.kernels.algorithms.equations.constraints import VALUE, pull_of, rows_of_pair, vary_pull
from mbsim_cli.kernels.algorithms.equations.curves import has_curve
from mbsim_cli.kernels.algorithms.equations.measure_pull_back import (
    between,
    pull_coordinate_force,
    pull_coordinate_measure,
    pull_own,
    pull_own_rates,
)
from mbsim_cli.kernels.algorithms.motion.bodies import pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.law_pull_back import pull_law
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import NONE


@kernel
def pull_constraints(model, theta, t, z, kin, lines, multiplier, virtual, nu, cov_out):
    """Add the pull-back of nu . Phi + mu . Phi_z^T multiplier, nu (m, p); needs the lines (m, LINE_SIZE).

    What the second scalar has by the rate of pose twists under the virtual motion is part of ``residual``.
    """
    measures, rows = model.measures, model.constraints.measure
    first = 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, measures, first)
        for g in range(0, cov_out.each.size, width(cov_out.each)):
            k = block(cov_out.each, g)
            if pair == NONE:
                hat = at(nu, first, k)
                pull_coordinate_measure(
                    measures, theta, rows[first], k, z, z, z, hat, 0.0 * hat, 0.0 * hat, cov_out
                )  # fmt: skip
                pull_coordinate_force(measures, theta, rows[first], k, z, multiplier[first], virtual, cov_out)
            else:
                _pull_pair(model, theta, first, last, k, kin, lines, multiplier, virtual, nu, cov_out)
            for i in range(first, last):
                hat = -1.0 * at(nu, i, k)
                add_to(cov_out.theta, model.constraints.theta[i], k, hat)
                law = model.constraints.law[i]
                pull_law(model.laws, theta, law, t, k, hat, 0.0 * hat, 0.0 * hat, cov_out.theta)
        first = last


@inlined
def _pull_pair(model, theta, first, last, k, kin, lines, multiplier, virtual, nu, cov_out):
    """Of the equations from first to last, between the same bodies."""
    measures, pairs, rows = model.measures, model.pairs, model.constraints.measure
    pair = measures.pair[rows[first]]
    a, b = pairs.a[pair], pairs.b[pair]
    Ra, _ = pose_of(kin, a)
    Ua = motion_at2(virtual.U, a, k)
    U = sub6(motion_at2(virtual.U, b, k), Ua)
    X = vary_pull(rows, measures, theta, lines, multiplier, first, last, Ra, U)
    X = add6(X, cross_force(Ua, pull_of(lines, multiplier, first, last)))
    for i in range(first, last):
        X = axpy6(at(nu, i, k), motion_at(lines, i), X)
        pull_own(measures, pairs, theta, rows[i], k, kin, at(nu, i, k), scale6(multiplier[i], U), cov_out.theta)
    between(cov_out.P, a, b, k, 1.0, X)


@kernel
def pull_constraint_rates(model, theta, t, z, zd, zdd, kin, lines, rates, nu1, nu2, cov_out):
    """Add the pull-back of nu1 . Phi' + nu2 . Phi'', both (m, p); needs the lines (m, LINE_SIZE) and ``move_lines``."""
    measures, rows = model.measures, model.constraints.measure
    for i in range(rows.size):
        m = rows[i]
        pair = measures.pair[m]
        for g in range(0, cov_out.each.size, width(cov_out.each)):
            k = block(cov_out.each, g)
            first, second = at(nu1, i, k), at(nu2, i, k)
            if pair == NONE:
                pull_coordinate_measure(measures, theta, m, k, z, zd, zdd, 0.0 * first, first, second, cov_out)
            else:
                a, b = model.pairs.a[pair], model.pairs.b[pair]
                L, L1, L2 = motion_at(lines, i), six_at(rates, i, 0), six_at(rates, i, 6)
                pull_rates(a, b, k, L, L1, L2, first, second, cov_out)
                pull_own_rates(measures, model.pairs, theta, m, k, kin, first, second, cov_out.theta)
            law, none = model.constraints.law[i], 0.0 * first
            pull_law(model.laws, theta, law, t, k, none, -1.0 * first, -1.0 * second, cov_out.theta)


@inlined
def pull_rates(a, b, k, L, L1, L2, first, second, cov_out):
    """Of covectors of N' . L + N . L' and N'' . L + 2 N' . L' + N . L'', N that of b against a."""
    between(cov_out.P, a, b, k, 1.0, axpy6(first, L1, scale6(second, L2)))
    between(cov_out.D, a, b, k, 1.0, axpy6(first, L, scale6(2.0 * second, L1)))
    between(cov_out.H, a, b, k, 1.0, scale6(second, L))


@kernel
def pull_with_velocity(factor, model, lines, rates, zd, nu2, kin, zd_out):
    """Add ``factor`` times 2 J'^T nu2, what Phi'' alone is of z', to zd (n, p): transposes ``vary_with_velocity``.

    It is part of ``pull_constraint_rates`` too.
    """
    measures, pairs, rows = model.measures, model.pairs, model.constraints.measure
    for i in range(rows.size):
        m = rows[i]
        pair = measures.pair[m]
        for g in range(0, nu2.shape[1], width(nu2)):
            k = block(nu2, g)
            hat = 2.0 * factor * at(nu2, i, k)
            if pair != NONE:
                L, L1 = motion_at(lines, i), six_at(rates, i, 0)
                for j in range(pairs.first[pair], pairs.first[pair + 1]):
                    c = pairs.column[j]
                    change = dot6(motion_at(kin.S, c), L1) + dot6(motion_at(kin.S1, c), L)
                    add_to(zd_out, c, k, pairs.sign[j] * change * hat)
            elif measures.kind[m] == Measure.EULER_NORM:
                for j in range(measures.first[m], measures.first[m + 1]):
                    c = measures.coordinate[j]
                    add_to(zd_out, c, k, 2.0 * zd[c] * hat)
            elif has_curve(measures, m):
                c = measures.coordinate[measures.first[m + 1] - 1]
                add_to(zd_out, c, k, -1.0 * lines[i, VALUE] * zd[c] * hat)
