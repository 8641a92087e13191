"""Forces of elements and constraints on the bodies, and on the coordinates directly."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    sub6,
)
from mbsim_cli.kernels.algorithms.equations import along_measures, constraints, forces_on_bodies
from mbsim_cli.kernels.algorithms.equations.along_measures import along
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.forces_on_bodies import wrench_on_bodies
from mbsim_cli.kernels.algorithms.motion import about_origin
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin, between2
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.measures import line, measure_value, vary_line, vary_numbers
from mbsim_cli.model.codes import Axes, Force, Measure
from mbsim_cli.model.layout import MEASURE_SIZE, NONE


@inlined
def add_force_on_bodies(model, theta, t, f, kin, W_out):
    """Add the force f to its bodies, and leave it in ``kin.forces``."""
    forces_on_bodies.find_force_on_bodies(model, theta, t, f, kin)
    a, b = forces_on_bodies.bodies_of(model, f)
    about_origin.apply_between(W_out, kin, a, b, 1.0, wrench_on_bodies(kin, f))


@inlined
def add_force_along_measure(model, theta, t, f, motion, kin, W_out, Q_out):
    """Add the force f to the bodies or coordinates of its measure, and leave it in ``kin.forces``."""
    measures = model.measures
    m = model.forces.measure[f]
    if measures.pair[m] != NONE:
        g, g1, L = measure_and_rate(model, theta, m, kin)
        along_measures.find_along(model, theta, t, f, g, g1, kin)
        Q, _, _ = along(model, kin, f)
        pair = measures.pair[m]
        about_origin.apply_between(W_out, kin, model.pairs.a[pair], model.pairs.b[pair], Q, L)
    else:
        g = constraints.coordinate_measure(measures, theta, m, motion.z)
        g1, _ = constraints.coordinate_rates(measures, theta, m, motion)
        along_measures.find_along(model, theta, t, f, g, g1, kin)
        Q, _, _ = along(model, kin, f)
        for j in range(measures.first[m], measures.first[m + 1]):
            Q_out[measures.coordinate[j]] += Q * coordinate_slope(measures, theta, m, j, motion.z)


@inlined
def measure_and_rate(model, theta, m, kin):
    """Value, rate and gradient line of a geometric measure."""
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    g, x, u = constraints.measure_factors(model, theta, m, kin)
    L = line(model.measures.kind[m], x, u)
    return g, dot6(sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a)), L), L


@inlined
def is_dead_load(model, f):
    """Whether the force is constant in global axes, and so has a potential."""
    forces = model.forces
    return (
        not along_measures.reads_signals(model, f)
        and forces.kind[f] == Force.POINT_FORCE
        and forces.axes[f] == Axes.GLOBAL
        and forces.law[f, 0] == NONE
    )


@kernel
def constraint_forces(model, theta, z, kin, multiplier, line_in, W_out, Q_out):
    """Add -Phi_z^T multiplier, as forces on the bodies and on the coordinates."""
    measures = model.measures
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        if measures.pair[m] != NONE:
            pair = measures.pair[m]
            L, a, b = motion_at(line_in, r), model.pairs.a[pair], model.pairs.b[pair]
            about_origin.apply_between(W_out, kin, a, b, -multiplier[r], L)
            c = constraints.follower(model.constraints, r)
            if c != NONE:
                Q_out[c] += multiplier[r]
        else:
            for j in range(measures.first[m], measures.first[m + 1]):
                Q_out[measures.coordinate[j]] -= multiplier[r] * coordinate_slope(measures, theta, m, j, z)


# Angles between bodies, which go on where their principal value jumps by a turn ---------------------------------------
#
# A measure gives an angle in (-pi, pi]. Springs, sensors and objectives read the one of its values, a turn apart, that
# is nearest to what the steps before let expect; so it is right as long as that is less than half a turn off. The
# number of turns is constant within a step, so that nothing is added to derivatives.


class Turns(NamedTuple):
    """Angles at the latest time point, na of them."""

    measure: np.ndarray  # (na,) measures that are angles between bodies
    value: np.ndarray  # (na,) rad
    rate: np.ndarray  # (na,) rad/s
    time: np.ndarray  # (1,) s


def turns(model):
    """Allocate Turns, none followed yet."""
    measure = np.flatnonzero(model.measures.kind == Measure.ANGLE)
    return Turns(measure, np.zeros(measure.size), np.zeros(measure.size), np.zeros(1))


@kernel
def expect_angles(h, turns, kin):
    """Where the angles will be at the end of a step of length h."""
    for j in range(turns.measure.size):
        kin.expected[turns.measure[j]] = turns.value[j] + h * turns.rate[j]


@kernel
def follow_angles(model, theta, kin, turns):
    """Take in the angles of the motion in ``kin``."""
    for j in range(turns.measure.size):
        g, g1, _ = measure_and_rate(model, theta, turns.measure[j], kin)
        turns.value[j] = g.real
        turns.rate[j] = g1.real
        kin.expected[turns.measure[j]] = g.real


@inlined
def expect_recorded(expected, row, kin):
    """Read angles where a stored time point has them; ``expected`` (N, nm), or (N, 0) where there are none."""
    for m in range(expected.shape[1]):
        kin.expected[m] = expected[row, m]


# Parts of forces in the tangent of the equations of motion, for the columns of one span of their path at a time -------


@inlined
def measure_force_part(model, theta, beta, gamma, z, f, kin, comp, T_out):
    measures = model.measures
    m = model.forces.measure[f]
    if measures.pair[m] == NONE:
        coordinate_force_part(model, theta, beta, gamma, z, f, kin, T_out)
        return
    pair, kind, o = measures.pair[m], measures.kind[m], measures.theta[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    poses = about_origin.poses_of(model.pairs, kin, pair)
    Va, Vb = at_origin(kin.V, kin, a), at_origin(kin.V, kin, b)
    v = sub6(Vb, Va)
    g, x, u = measure_value(kind, theta, o, poses)
    L = line(kind, x, u)
    Q, by_g, by_g1 = along(model, kin, f)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        Na, Nb, Na1, Nb1 = about_origin.span_twists(comp, gamma, s)
        N = sub6(Nb, Na)
        dg, dL = dot6(N, L), vary_line(kind, theta, o, poses[0][0], g, x, u, N)
        dv = add6(sub6(Nb1, Na1), cross_motion(N, Vb))
        dQ = by_g * dg + by_g1 * (dot6(v, dL) + dot6(dv, L))
        about_origin.spread(model.pairs, pair, comp, s, add6(Na, Nb), scale6(Q, L), axpy6(dQ, L, scale6(Q, dL)), T_out)


@inlined
def coordinate_force_part(model, theta, beta, gamma, z, f, kin, T_out):
    """Add to T what a force along a measure of coordinates does."""
    measures, m = model.measures, model.forces.measure[f]
    _, by_g, by_g1 = along(model, kin, f)
    slope = gamma * by_g + beta * by_g1
    for i in range(measures.first[m], measures.first[m + 1]):
        of_row = slope * coordinate_slope(measures, theta, m, i, z)
        for j in range(measures.first[m], measures.first[m + 1]):
            of_column = coordinate_slope(measures, theta, m, j, z)
            T_out[measures.coordinate[i], measures.coordinate[j]] -= of_row * of_column


@inlined
def part_of_force_on_bodies(model, theta, t, gamma, f, kin, comp, T_out):
    pair, W = model.forces.pair[f], wrench_on_bodies(kin, f)
    for s in range(comp.spans.first[pair], comp.spans.first[pair + 1]):
        Na, Nb, Na1, Nb1 = about_origin.span_twists(comp, gamma, s)
        dW = forces_on_bodies.vary_wrench_on_bodies(model, theta, t, f, kin, sub6(Nb, Na), sub6(Nb1, Na1))
        about_origin.spread(model.pairs, pair, comp, s, add6(Na, Nb), W, dW, T_out)


# Variations of force elements in p directions: wrenches as bodies see them, and forces on coordinates -----------------
#
# See ``residual_variation`` for what bodies make of them.


@inlined
def slope_variation(measures, theta, dtheta, k, m, j, z, dz):
    """Variation k of ``coordinate_slope``; dz is that of the coordinate."""
    if measures.kind[m] == Measure.EULER_NORM:
        return 2.0 * dz
    own = at(dtheta, measures.theta[m] + j - measures.first[m], k)
    if constraints.has_curve(measures, m) and j == measures.first[m + 1] - 1:
        own -= (
            constraints.curve_at(measures, theta, m, z)[2] * dz
            + constraints.vary_curve(measures, theta, dtheta, k, m, z)[1]
        )
    return own


@inlined
def acts_on_bodies(model, f):
    """Whether force f acts on bodies, and not on coordinates."""
    return model.forces.measure[f] == NONE or model.measures.pair[model.forces.measure[f]] != NONE


@inlined
def vary_one_force(model, theta, directions, t, f, kin, tw):
    """Add the variation of the force element f to ``tw.F``, from the twists of its bodies against each other."""
    if model.forces.measure[f] != NONE:
        _vary_along_measure(model, theta, directions, t, f, kin, tw)
    else:
        vary_force_on_bodies(model, theta, directions, t, f, kin, tw)


@inlined
def vary_measure_from_first(measures, pairs, theta, dtheta, touched, m, k, kin, N):
    """Variation k of a measure and of its line, as its first body sees the second turn by N."""
    kind, pair, o = measures.kind[m], measures.pair[m], measures.theta[m]
    poses = about_origin.poses_of(pairs, kin, pair)
    g, x, u = measure_value(kind, theta, o, poses)
    dg, dL = dot6(N, line(kind, x, u)), vary_line(kind, theta, o, poses[0][0], g, x, u, N)
    if touched:
        by_numbers, line_by_numbers = vary_by_numbers(measures, pairs, theta, dtheta, m, k, kin)
        dg, dL = dg + by_numbers, add6(dL, line_by_numbers)
    return dg, dL


@inlined
def vary_by_numbers(measures, pairs, theta, dtheta, m, k, kin):
    """Variation k of a measure and of its line with its own numbers."""
    o, poses = measures.theta[m], about_origin.poses_of(pairs, kin, measures.pair[m])
    return vary_numbers(measures.kind[m], theta, o, dtheta[o : o + MEASURE_SIZE], k, poses)


@inlined
def _vary_along_measure(model, theta, directions, t, f, kin, tw):
    dtheta, touch = directions.dtheta, directions.touch
    m = model.forces.measure[f]
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Vb = at_origin(kin.V, kin, b)
    v = sub6(Vb, at_origin(kin.V, kin, a))
    _, _, L = measure_and_rate(model, theta, m, kin)
    Q, by_g, by_g1 = along(model, kin, f)
    for start in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, start)
        N = between2(tw.N, kin, a, b, k)
        touched = touch.measure[m, start]
        dg, dL = vary_measure_from_first(model.measures, model.pairs, theta, dtheta, touched, m, k, kin, N)
        dv = add6(between2(tw.N1, kin, a, b, k), cross_motion(N, Vb))
        dQ = by_g * dg + by_g1 * (dot6(v, dL) + dot6(dv, L))
        if touch.force[f, start]:
            dQ += along_measures.own_along(model, theta, dtheta, t, f, k, kin)
        dQ = along_measures.with_signal_variation(model, tw, f, 0, k, dQ)
        about_origin.apply_between2(tw.F, kin, a, b, k, -1.0, axpy6(dQ, L, scale6(Q, dL)), cross_force(N, scale6(Q, L)))


@inlined
def vary_along_coordinates(model, theta, dtheta, t, f, k, motion, change, kin, tw, dG_out):
    """Add the variation k of minus a force along a measure of coordinates."""
    measures = model.measures
    m = model.forces.measure[f]
    Q, by_g, by_g1 = along(model, kin, f)
    dQ = along_measures.own_along(model, theta, dtheta, t, f, k, kin)
    dQ = along_measures.with_signal_variation(model, tw, f, 0, k, dQ)
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        slope = coordinate_slope(measures, theta, m, j, motion.z)
        d_slope = slope_variation(measures, theta, dtheta, k, m, j, motion.z, at(change.z, c, k))
        dQ += by_g * (slope * at(change.z, c, k) + _explicit(measures, dtheta, k, m, j, motion.z[c]))
        dQ += by_g1 * (slope * at(change.zd, c, k) + d_slope * motion.zd[c])
    for j in range(measures.first[m], measures.first[m + 1]):
        c = measures.coordinate[j]
        d_slope = slope_variation(measures, theta, dtheta, k, m, j, motion.z, at(change.z, c, k))
        add_to(dG_out, c, k, -dQ * coordinate_slope(measures, theta, m, j, motion.z) - Q * d_slope)


@inlined
def _explicit(measures, dtheta, k, m, j, z):
    """Variation of a term of the measure with its coefficient alone."""
    if measures.kind[m] == Measure.EULER_NORM:
        return 0.0 * at(dtheta, 0, k)
    return at(dtheta, measures.theta[m] + j - measures.first[m], k) * z


@inlined
def vary_force_on_bodies(model, theta, directions, t, f, kin, tw):
    """Variation of a force on bodies, as they see it, taken from them."""
    dtheta, touch = directions.dtheta, directions.touch
    (a, b), W = forces_on_bodies.bodies_of(model, f), wrench_on_bodies(kin, f)
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        N, N1 = between2(tw.N, kin, a, b, k), between2(tw.N1, kin, a, b, k)
        if touch.force[f, g] or along_measures.reads_signals(model, f):
            dW, _ = forces_on_bodies.vary_with_quantities(model, theta, dtheta, t, f, k, kin, tw, N, N1)
        else:
            dW = forces_on_bodies.vary_wrench_on_bodies(model, theta, t, f, kin, N, N1)
        about_origin.apply_between2(tw.F, kin, a, b, k, -1.0, dW, cross_force(N, W))


# Pull-back of the power -W . U of all force elements under a virtual motion U: transposes ``vary_element_forces`` -----
#
# Forces between bodies see relative motion only. What W . N'_U gives, N'_U the rate of the pose twist under U, is part
# of ``residual``; here W turns and moves with its body, and changes with motion and numbers. Spatial vectors are about
# the global origin, where all bodies must have their reference points. Derivation: docs/theory/adjoint.md.


@kernel
def pull_forces(model, theta, t, motion, kin, virtual, adj_out):
    """Add the pull-back of -W . U, and of -Q . mu of forces on coordinates; needs ``element_forces`` at the state."""
    for f in range(model.forces.kind.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            if model.forces.measure[f] == NONE:
                a, b = forces_on_bodies.bodies_of(model, f)
                Ua, Ub = motion_at2(virtual.U, a, k), motion_at2(virtual.U, b, k)
                constraints.between(adj_out.P, a, b, k, -1.0, cross_force(Ub, wrench_on_bodies(kin, f)))
                none = forces_on_bodies.no_quantities(0.0 * Ub[0][0])
                forces_on_bodies.pull_force_on_bodies(model, theta, t, f, k, kin, sub6(Ua, Ub), none, adj_out)
            elif model.measures.pair[model.forces.measure[f]] != NONE:
                _pull_along_measure(model, theta, t, f, k, kin, virtual, adj_out)
            else:
                _pull_along_coordinates(model, theta, t, f, k, motion, kin, virtual, adj_out)


@kernel
def _pull_along_measure(model, theta, t, f, k, kin, virtual, adj_out):
    m = model.forces.measure[f]
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    _, _, L = measure_and_rate(model, theta, m, kin)
    Q, by_g, by_g1 = along(model, kin, f)
    Ua, Ub = motion_at2(virtual.U, a, k), motion_at2(virtual.U, b, k)
    Q_hat = -1.0 * dot6(sub6(Ub, Ua), L)
    rate_hat = by_g1 * Q_hat
    Ka = axpy6(-Q, Ua, scale6(rate_hat, motion_at(kin.V, a)))
    Kb = axpy6(-Q, Ub, scale6(rate_hat, motion_at(kin.V, b)))
    constraints.pull_line(model, theta, m, k, kin, by_g * Q_hat, Ka, Kb, adj_out)
    constraints.between(adj_out.D, a, b, k, 1.0, scale6(rate_hat, L))
    along_measures.pull_along(model, theta, t, f, k, kin, Q_hat, adj_out.theta)
    along_measures.pull_to_signal(model, f, 0, k, Q_hat, adj_out)


@kernel
def _pull_along_coordinates(model, theta, t, f, k, motion, kin, virtual, adj_out):
    measures, m = model.measures, model.forces.measure[f]
    Q, by_g, by_g1 = along(model, kin, f)
    Q_hat = 0.0 * at(virtual.mu, 0, k)
    for j in range(measures.first[m], measures.first[m + 1]):
        Q_hat -= coordinate_slope(measures, theta, m, j, motion.z) * at(virtual.mu, measures.coordinate[j], k)
    constraints.pull_coordinate_measure(
        measures, theta, m, k, motion, by_g * Q_hat, by_g1 * Q_hat, 0.0 * Q_hat, adj_out
    )
    constraints.pull_coordinate_force(measures, theta, m, k, motion.z, -Q, virtual, adj_out)
    along_measures.pull_along(model, theta, t, f, k, kin, Q_hat, adj_out.theta)
    along_measures.pull_to_signal(model, f, 0, k, Q_hat, adj_out)
