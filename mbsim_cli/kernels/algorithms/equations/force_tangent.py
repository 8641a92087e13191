"""What forces add to the tangent of the equations of motion, for the columns of one span of their path at a time."""

from mbsim_cli.kernels.algebra.spatial import add6, axpy6, cross_motion, dot6, scale6, sub6
from mbsim_cli.kernels.algorithms.equations.along_measures import along
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.motion_forces import motion_wrench, vary_motion_wrench
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, pose_of, span_rates, span_twists, spread_seen
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.elements.measures import is_geometric, vary_pose


@inlined
def measure_force_part(model, theta, t, beta, gamma, z, f, kin, comp, T_out):
    measures = model.measures
    k = model.forces.measure[f]
    if not is_geometric(measures.kind[k]):
        coordinate_force_part(model, theta, t, beta, gamma, z, f, kin, T_out)
        return
    pair, kind, o = measures.pair[k], measures.kind[k], measures.theta[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
    v = sub6(Vb, Va)
    _, _, L = measure_and_rate(model, theta, k, kin)
    Q, by_g, by_g1 = along(model, theta, t, f, kin)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        Na, Nb = span_twists(comp, gamma, s)
        Na1, Nb1 = span_rates(comp, s)
        N = sub6(Nb, Na)
        _, dg, _, dL = vary_pose(kind, theta, o, Ra, ra, Rb, rb, N)
        dv = add6(sub6(Nb1, Na1), cross_motion(N, Vb))
        dQ = by_g * dg + by_g1 * (dot6(v, dL) + dot6(dv, L))
        spread_seen(model.pairs, pair, comp, s, add6(Na, Nb), scale6(Q, L), axpy6(dQ, L, scale6(Q, dL)), T_out)


@inlined
def coordinate_force_part(model, theta, t, beta, gamma, z, f, kin, T_out):
    """Add to T what a force along a measure of coordinates does."""
    measures, k = model.measures, model.forces.measure[f]
    _, by_g, by_g1 = along(model, theta, t, f, kin)
    slope = gamma * by_g + beta * by_g1
    for i in range(measures.first[k], measures.first[k + 1]):
        left = slope * coordinate_slope(measures, theta, k, i, z)
        for j in range(measures.first[k], measures.first[k + 1]):
            right = coordinate_slope(measures, theta, k, j, z)
            T_out[measures.coordinate[i], measures.coordinate[j]] -= left * right


@inlined
def motion_force_part(model, theta, t, q, f, kin, comp, T_out):
    pair, W = model.forces.pair[f], motion_wrench(kin, f)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        Na, Nb = span_twists(comp, q, s)
        Na1, Nb1 = span_rates(comp, s)
        dW = vary_motion_wrench(model, theta, t, f, kin, sub6(Nb, Na), sub6(Nb1, Na1))
        spread_seen(model.pairs, pair, comp, s, add6(Na, Nb), W, dW, T_out)
