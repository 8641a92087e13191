"""Variations of force elements in p directions: of their wrenches as bodies see them, and of what coordinates take.

See ``residual_variation`` for what bodies make of them.
"""

from mbsim_cli.kernels.algebra.spatial import add6, axpy6, cross_force, cross_motion, dot6, scale6, sub6
from mbsim_cli.kernels.algorithms.equations.along_measures import along, is_along, own_along
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.curves import curve_at, has_curve, vary_curve
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.motion_forces import (
    bodies_of,
    motion_wrench,
    vary_motion_wrench_along,
)
from mbsim_cli.kernels.algorithms.equations.signal_reading import with_signal_variation
from mbsim_cli.kernels.algorithms.motion.bodies import (
    apply_between2,
    at_origin,
    between2,
    pose_of,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.measures import is_geometric, vary_numbers, vary_pose
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import MEASURE_SIZE


@inlined
def slope_variation(measures, theta, dtheta, k, m, j, z, dz):
    """Variation k of ``coordinate_slope``; dz is that of the coordinate."""
    if measures.kind[m] == Measure.EULER_NORM:
        return 2.0 * dz
    own = at(dtheta, measures.theta[m] + j - measures.first[m], k)
    if has_curve(measures, m) and j == measures.first[m + 1] - 1:
        own -= curve_at(measures, theta, m, z)[2] * dz + vary_curve(measures, theta, dtheta, k, m, z)[1]
    return own


@kernel
def vary_forces(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw, dG_out):
    """Add the variation of -Q of all force elements, as the bodies see them; needs ``element_forces`` at the state."""
    for f in range(model.forces.kind.size):
        if acts_on_bodies(model, f):
            vary_force_on_bodies(model, theta, dtheta, touch, t, f, kin, tw)
        else:
            for g in range(0, dz.shape[1], width(dz)):
                vary_along_coordinates(model, theta, dtheta, t, f, block(dz, g), z, zd, dz, dzd, kin, tw, dG_out)


@inlined
def acts_on_bodies(model, f):
    """Whether force f acts on bodies, and not on coordinates."""
    return not is_along(model.forces.kind[f]) or is_geometric(model.measures.kind[model.forces.measure[f]])


@inlined
def vary_force_on_bodies(model, theta, dtheta, touch, t, f, kin, tw):
    """Add the variation of the force element f to ``tw.F``, from the twists of its bodies against each other."""
    if is_along(model.forces.kind[f]):
        _vary_along_measure(model, theta, dtheta, touch, t, f, kin, tw)
    else:
        vary_motion_force(model, theta, dtheta, touch, t, f, kin, tw)


@inlined
def vary_seen(measures, pairs, theta, dtheta, touched, m, k, kin, N):
    """Variation k of a measure and of its line, as its first body sees the second turn by N."""
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    Ra, ra = pose_of(kin, pairs.a[pair])
    Rb, rb = pose_of(kin, pairs.b[pair])
    _, dg, _, dL = vary_pose(kind, theta, o, Ra, ra, Rb, rb, N)
    if touched:
        by_numbers, line_by_numbers = vary_by_numbers(measures, pairs, theta, dtheta, m, k, kin)
        dg, dL = dg + by_numbers, add6(dL, line_by_numbers)
    return dg, dL


@inlined
def vary_by_numbers(measures, pairs, theta, dtheta, m, k, kin):
    """Variation k of a measure and of its line with its own numbers."""
    pair, o = measures.pair[m], measures.theta[m]
    Ra, ra = pose_of(kin, pairs.a[pair])
    Rb, rb = pose_of(kin, pairs.b[pair])
    return vary_numbers(measures.kind[m], theta, o, dtheta[o : o + MEASURE_SIZE], k, Ra, ra, Rb, rb)


@inlined
def _vary_along_measure(model, theta, dtheta, touch, t, f, kin, tw):
    m = model.forces.measure[f]
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Vb = at_origin(kin.V, kin, b)
    v = sub6(Vb, at_origin(kin.V, kin, a))
    _, _, L = measure_and_rate(model, theta, m, kin)
    Q, by_g, by_g1 = along(model, theta, t, f, kin)
    for start in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, start)
        N = between2(tw.N, kin, a, b, k)
        dg, dL = vary_seen(model.measures, model.pairs, theta, dtheta, touch.measure[m, start], m, k, kin, N)
        dv = add6(between2(tw.N1, kin, a, b, k), cross_motion(N, Vb))
        dQ = by_g * dg + by_g1 * (dot6(v, dL) + dot6(dv, L))
        if touch.force[f, start]:
            dQ += own_along(model, theta, dtheta, t, f, k, kin)
        dQ = with_signal_variation(model, tw, f, k, dQ)
        apply_between2(tw.F, kin, a, b, k, -1.0, axpy6(dQ, L, scale6(Q, dL)), cross_force(N, scale6(Q, L)))


@inlined
def vary_along_coordinates(model, theta, dtheta, t, f, k, z, zd, dz, dzd, kin, tw, dG_out):
    """Add the variation k of minus a force along a measure of coordinates."""
    measures = model.measures
    m = model.forces.measure[f]
    Q, by_g, by_g1 = along(model, theta, t, f, kin)
    dQ = own_along(model, theta, dtheta, t, f, k, kin)
    dQ = with_signal_variation(model, tw, f, k, dQ)
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, m, j, z)
        d_slope = slope_variation(measures, theta, dtheta, k, m, j, z, at(dz, c, k))
        dQ += by_g * (slope * at(dz, c, k) + _explicit(measures, dtheta, k, m, j, z[c]))
        dQ += by_g1 * (slope * at(dzd, c, k) + d_slope * zd[c])
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        d_slope = slope_variation(measures, theta, dtheta, k, m, j, z, at(dz, c, k))
        add_to(dG_out, c, k, -dQ * coordinate_slope(measures, theta, m, j, z) - Q * d_slope)


@inlined
def _explicit(measures, dtheta, k, m, j, z):
    """Variation of a term of the measure with its coefficient alone."""
    if measures.kind[m] == Measure.EULER_NORM:
        return 0.0 * at(dtheta, 0, k)
    return at(dtheta, measures.theta[m] + j - measures.first[m], k) * z


@inlined
def vary_motion_force(model, theta, dtheta, touch, t, f, kin, tw):
    """Variation of a force on bodies, as they see it, taken from them."""
    (a, b), W = bodies_of(model, f), motion_wrench(kin, f)
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        N, N1 = between2(tw.N, kin, a, b, k), between2(tw.N1, kin, a, b, k)
        dW = vary_motion_wrench_along(model, theta, dtheta, touch.force[f, g], t, f, k, kin, tw, N, N1)
        apply_between2(tw.F, kin, a, b, k, -1.0, dW, cross_force(N, W))
