"""Pull-backs of measures between bodies and of coordinates, as forces, constraints and sensors use them.

A measure has the covectors b_0, b_1, b_2 of g, g', g'', and b_U of its rate L . U under a virtual motion. Since
dg = N . L and so on, body b gets b_0 L + b_1 L' + b_2 L'' + b_U L'_U for N, b_1 L + 2 b_2 L' for N' and b_2 L for N'',
body a the negative. Derivation: docs/theory/adjoint.md.
"""

from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    add6,
    axpy6,
    cross_force,
    cross_motion,
    motion_at,
    scale6,
    sub6,
)
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.curves import curve_at, has_curve, pull_curve, third_of_curve
from mbsim_cli.kernels.algorithms.motion.bodies import pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.elements.measure_pull_back import pull_numbers, pull_second
from mbsim_cli.kernels.elements.measures import is_force_line, line, measure_value, vary_line
from mbsim_cli.model.codes import Measure


@inlined
def between(array_out, a, b, k, s, X):
    """Add s X to body b and take it from body a."""
    accumulate2(array_out, b, k, s, X)
    accumulate2(array_out, a, k, -s, X)


@kernel
def pull_line(model, theta, m, k, kin, g_hat, Ka, Kb, cov_out):
    """Add the pull-back of g_hat g + (Kb - Ka) . L to P and the numbers of measure m; Ka, Kb move with their bodies.

    For g' they are b_1 V, and for the rate under a virtual motion b_U U.
    """
    measures = model.measures
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    g, x, u = measure_value(kind, theta, o, Ra, ra, Rb, rb)
    L, K = line(is_force_line(kind), x, u), sub6(Kb, Ka)
    change = add6(vary_line(kind, theta, o, Ra, g, x, u, K), cross_force(Ka, L))
    between(cov_out.P, a, b, k, 1.0, axpy6(g_hat, L, change))
    pull_numbers(kind, theta, o, k, Ra, ra, Rb, rb, g_hat, K, cov_out.theta)


@inlined
def pull_own(measures, pairs, theta, m, k, kin, g_hat, K, theta_out):
    """Add the pull-back of g_hat g + K . L at fixed poses to the numbers of measure m."""
    pair = measures.pair[m]
    Ra, ra = pose_of(kin, pairs.a[pair])
    Rb, rb = pose_of(kin, pairs.b[pair])
    pull_numbers(measures.kind[m], theta, measures.theta[m], k, Ra, ra, Rb, rb, g_hat, K, theta_out)


@inlined
def pull_own_rates(measures, pairs, theta, m, k, kin, first, second, theta_out):
    """Add the pull-back of covectors of g' and g'' at fixed motions to the numbers of measure m."""
    pair = measures.pair[m]
    a, b = pairs.a[pair], pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    Va = motion_at(kin.V, a)
    V = sub6(motion_at(kin.V, b), Va)
    A = sub6(sub6(motion_at(kin.A, b), motion_at(kin.A, a)), cross_motion(Va, V))
    kind, o, none = measures.kind[m], measures.theta[m], 0.0 * first
    pull_numbers(kind, theta, o, k, Ra, ra, Rb, rb, none, scale6(first, V), theta_out)
    pull_second(kind, theta, o, k, Ra, ra, Rb, rb, V, A, second, theta_out)


@inlined
def pull_coordinate_measure(measures, theta, m, k, z, zd, zdd, value, first, second, cov_out):
    """Add the pull-back of covectors of g, g' and g'' of a measure of coordinates."""
    quadratic = measures.kind[m] == Measure.EULER_NORM
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, m, j, z)
        add_to(cov_out.z, c, k, slope * value)
        add_to(cov_out.zd, c, k, slope * first)
        add_to(cov_out.zdd, c, k, slope * second)
        if quadratic:
            add_to(cov_out.z, c, k, 2.0 * zd[c] * first + 2.0 * zdd[c] * second)
            add_to(cov_out.zd, c, k, 4.0 * zd[c] * second)
        else:
            own = z[c] * value + zd[c] * first + zdd[c] * second
            add_to(cov_out.theta, measures.theta[m] + j - measures.first[m], k, own)
    if has_curve(measures, m):
        c = measures.coordinate[measures.first[m + 1] - 1]
        bend, third = curve_at(measures, theta, m, z)[2], third_of_curve(measures, theta, m, z)
        along = zd[c] * first + zdd[c] * second
        add_to(cov_out.z, c, k, -bend * along - third * zd[c] * zd[c] * second)
        add_to(cov_out.zd, c, k, -2.0 * bend * zd[c] * second)
        pull_curve(measures, theta, m, k, z, -1.0 * value, -1.0 * along, -zd[c] * zd[c] * second, cov_out.theta)


@inlined
def pull_coordinate_force(measures, theta, m, k, z, factor, virtual, cov_out):
    """Add the pull-back of the measure's rate under the virtual motion, times ``factor``."""
    for j in range(measures.first[m], measures.first[m + 1]):
        pull_slope(measures, theta, m, j, k, z, factor * at(virtual.mu, measures.coordinate[j], k), cov_out)


@inlined
def pull_slope(measures, theta, m, j, k, z, hat, cov_out):
    """Add the pull-back of a covector of ``coordinate_slope``."""
    if measures.kind[m] == Measure.EULER_NORM:
        add_to(cov_out.z, measures.coordinate[j], k, 2.0 * hat)
    else:
        add_to(cov_out.theta, measures.theta[m] + j - measures.first[m], k, hat)
        if has_curve(measures, m) and j == measures.first[m + 1] - 1:
            none = 0.0 * hat
            add_to(cov_out.z, measures.coordinate[j], k, -curve_at(measures, theta, m, z)[2] * hat)
            pull_curve(measures, theta, m, k, z, none, -1.0 * hat, none, cov_out.theta)
