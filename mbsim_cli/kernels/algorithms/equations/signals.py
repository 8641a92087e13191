"""Expressions of the motion that forces read: values, variations, adjoints.

A signal is a function of sensors, of the measure that its force acts along, of t and of numbers. What it reads of its
own measure stands in the slopes of the force by g and g' (``along_measures``), as of any spring. All else it reads by
sensors of the inputs: the model with these in place of its own is ``of_inputs(model)``. Derivation:
docs/theory/expressions.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear, copy_to
from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve
from mbsim_cli.kernels.algebra.spatial import dot6, only6, rows_at, scale6, shift_motion, six_at, store2
from mbsim_cli.kernels.algebra.vectors import cross3, load3, point_of, row3, scale3
from mbsim_cli.kernels.algorithms.by_type import only_with
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import solve_constrained
from mbsim_cli.kernels.algorithms.equations import forces
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.forces_on_bodies import in_axes
from mbsim_cli.kernels.algorithms.equations.sensor_pull_back import pull_sensors
from mbsim_cli.kernels.algorithms.equations.sensors import sense, value_and_rate, vary_sensors
from mbsim_cli.kernels.algorithms.motion.about_origin import column_at_origin, pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import COLUMN_S, COLUMN_Y, OWN_S, Directions, LoadedMotion
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, put, width
from mbsim_cli.kernels.elements.tape import pull_numbers_of_tape, run_tape, vary_numbers_of_tape
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import NONE, LoadedSignals, Model, NoSignals, Sensors, Signals


@inlined
def of_inputs(model):
    """The model with the sensors that expressions read as its own."""
    s = model.signals
    return Model(
        model.tree, model.pairs, model.measures, model.constraints, model.forces, model.laws,
        Sensors(s.kind, s.body, s.index, s.order, s.sensor_theta, s.row), model.armatures, NoSignals(s.none),
        model.elements,
    )  # fmt: skip


_with_signals = only_with("model.signals", Signals, LoadedSignals)


@_with_signals(lambda model, theta, t, motion, kin: None)
def find_signals(model, theta, t, motion, kin):
    """Leave values and slopes in ``kin.signals``; needs V of all bodies."""
    signals, work = model.signals, kin.signals
    if signals.kind.size > 0:
        sense(of_inputs(model), theta, t, motion, work.load.lam, kin, work.inputs)
    for u in range(signals.theta.size):
        o, m = signals.offset[u], signals.measure[u]
        if m != NONE:
            work.value[o], work.value[o + 1] = value_and_rate(model, theta, m, motion, kin)
        work.value[o + 2] = t
        place = o + 3
        for i in range(signals.first_input[u], signals.first_input[u + 1]):
            work.value[place] = work.inputs[signals.input[i]]
            place += 1
        for j in range(signals.steps[u] - signals.numbers[u]):
            work.value[place] = theta[signals.theta[u] + j]
            place += 1
        run_tape(signals, model.laws, theta, u, work.value, work.slope)


@_with_signals(lambda model, theta, directions, t, motion, change, kin, tw: None)
def vary_signals(model, theta, directions, t, motion, change, kin, tw):
    """Leave variations, but for those by g and g', in ``tw.signals``; needs ``find_signals`` and N, N'."""
    dtheta = directions.dtheta
    signals, found = model.signals, tw.signals
    if signals.kind.size > 0:
        sens = LoadedMotion(change.z, change.zd, change.zdd, found.lam)
        vary_sensors(of_inputs(model), theta, directions, t, motion, sens, kin, tw, found.inputs)
    for u in range(signals.theta.size):
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            own = vary_numbers_of_tape(signals, model.laws, theta, dtheta, k, u, kin.signals.value, kin.signals.slope)
            put(found.value, u, k, own + by_inputs(signals, kin.signals.slope, found.inputs, u, k))


@inlined
def by_inputs(signals, slope, inputs, u, k):
    """Variation k of signal u with its inputs (ni, p)."""
    o, first = signals.offset[u] + 3, signals.first_input[u]
    found = 0.0 * slope[signals.offset[u]] * at(inputs, 0, k) if inputs.shape[0] > 0 else 0.0
    for i in range(first, signals.first_input[u + 1]):
        found += slope[o + i - first] * at(inputs, signals.input[i], k)
    return found


@_with_signals(lambda model, theta, t, motion, kin, adj_out: None)
def pull_signals(model, theta, t, motion, kin, adj_out):
    """Add the pull-back of ``adj.signals`` to the other adjoints, and clear it; needs ``find_signals``."""
    signals, hats, slope = model.signals, adj_out.signals, kin.signals.slope
    for u in range(signals.theta.size):
        o, first = signals.offset[u] + 3, signals.first_input[u]
        for g in range(0, adj_out.each.size, width(adj_out.each)):
            k = block(adj_out.each, g)
            hat = at(hats.value, u, k)
            for i in range(first, signals.first_input[u + 1]):
                add_to(hats.inputs, signals.input[i], k, slope[o + i - first] * hat)
            pull_numbers_of_tape(signals, model.laws, theta, k, u, kin.signals.value, slope, hat, adj_out.theta)
    if signals.kind.size > 0:
        pull_sensors(of_inputs(model), theta, t, motion, kin, hats.inputs, adj_out)
    clear(hats.value)
    clear(hats.inputs)


@kernel
def element_forces(model, theta, t, motion, kin, W_out, Q_out):
    """Add the forces of all elements to the bodies W (nb + 1, 6) and the coordinates Q (n,).

    Leaves in ``kin.forces`` the forces that depend on the motion of their bodies, in ``kin.signals`` the expressions.
    """
    find_signals(model, theta, t, motion, kin)
    for f in range(model.forces.kind.size):
        if model.forces.measure[f] != NONE:
            forces.add_force_along_measure(model, theta, t, f, motion, kin, W_out, Q_out)
        else:
            forces.add_force_on_bodies(model, theta, t, f, kin, W_out)


@kernel
def vary_element_forces(model, theta, directions, t, motion, change, kin, tw, dG_out):
    """Add the variation of -Q of all force elements, as the bodies see them; needs ``element_forces`` at the state."""
    dtheta = directions.dtheta
    vary_signals(model, theta, directions, t, motion, change, kin, tw)
    for f in range(model.forces.kind.size):
        if forces.acts_on_bodies(model, f):
            forces.vary_one_force(model, theta, directions, t, f, kin, tw)
        else:
            for g in range(0, change.z.shape[1], width(change.z)):
                forces.vary_along_coordinates(
                    model, theta, dtheta, t, f, block(change.z, g), motion, change, kin, tw, dG_out
                )


@inlined
def pull_element_forces(model, theta, t, motion, kin, virtual, adj_out):
    """Add the pull-back of -W . U, and of -Q . mu of forces on coordinates; needs ``element_forces`` at the state."""
    forces.pull_forces(model, theta, t, motion, kin, virtual, adj_out)
    pull_signals(model, theta, t, motion, kin, adj_out)


# Tangent of expressions that read other things than the measure that their force acts along ---------------------------
#
# A force moves rows of its own path, and what its expression reads moves with columns of other paths: T loses the
# product of the two. The slopes along eight columns at a time come from the variation of the sensors of the inputs.
# Derivation: docs/theory/expressions.md.


@_with_signals(lambda model, theta, t, beta, gamma, motion, kin, comp, T_out: None)
def add_signal_tangent(model, theta, t, beta, gamma, motion, kin, comp, T_out):
    """Add to T (n, padded(n)) of a tree what expressions do; needs the columns in ``comp``."""
    signals, seeds = model.signals, kin.signals.seeds
    if signals.kind.size == 0:
        return
    for first in range(0, T_out.shape[0], width(T_out)):
        k, o = block(T_out, first), block(seeds.z, 0)
        for r in range(signals.bodies.size):
            b = signals.bodies[r]
            bits = kin.signals.moving[r, first // WIDTH] >> (first % WIDTH)
            S, Y = rows_at(comp.columns, COLUMN_S, k), rows_at(comp.columns, COLUMN_Y, k)
            set_motion(seeds, kin, b, o, only6(scale6(gamma, S), bits), only6(Y, bits))
        find_slopes(model, theta, t, beta, gamma, motion, first, kin)
        for f in range(model.forces.kind.size):
            for j in range(3):
                if signals.of_force[f, j] != NONE:
                    slope = at(seeds.value, signals.of_force[f, j], o)
                    _tree_rows(model, theta, motion.z, f, j, k, slope, kin, comp, T_out)


@inlined
def set_motion(seeds, kin, b, o, N, N1):
    """Let body b move by twists and rates about the global origin."""
    store2(seeds.N, b, o, shift_motion(N, row3(kin.ref, b, 0)))
    store2(seeds.N1, b, o, shift_motion(N1, row3(kin.ref, b, 0)))


@inlined
def find_slopes(model, theta, t, beta, gamma, motion, first, kin):
    """Variations of all signals along the columns from ``first`` on, but for those by g and g', in ``seeds.value``."""
    signals, seeds = model.signals, kin.signals.seeds
    for j in range(width(seeds.z)):
        if first + j < motion.z.size:
            seeds.z[first + j, j], seeds.zd[first + j, j] = gamma, beta
    sens = LoadedMotion(seeds.z, seeds.zd, seeds.zdd, seeds.lam)
    directions = Directions(seeds.dtheta, seeds.touch)
    vary_sensors(of_inputs(model), theta, directions, t, motion, sens, kin, seeds, seeds.inputs)
    for j in range(width(seeds.z)):
        if first + j < motion.z.size:
            seeds.z[first + j, j], seeds.zd[first + j, j] = 0.0, 0.0
    o = block(seeds.z, 0)
    for u in range(signals.theta.size):
        put(seeds.value, u, o, by_inputs(signals, kin.signals.slope, seeds.inputs, u, o))


@inlined
def _tree_rows(model, theta, z, f, j, k, slope, kin, comp, T_out):
    """Take the force of one unit of component j of force f, times the slope, from the rows of its path."""
    measures, m = model.measures, model.forces.measure[f]
    if m != NONE and measures.pair[m] == NONE:
        for i in range(measures.first[m], measures.first[m + 1]):
            add_to(T_out, measures.coordinate[i], k, -coordinate_slope(measures, theta, m, i, z) * slope)
    else:
        pair, L = unit_force(model, theta, f, j, kin)
        for i in range(model.pairs.first[pair], model.pairs.first[pair + 1]):
            c, sign = model.pairs.column[i], model.pairs.sign[i]
            add_to(T_out, c, k, -sign * dot6(six_at(comp.own, c, OWN_S), L) * slope)


@inlined
def unit_force(model, theta, f, j, kin):
    """Pair of a force on bodies, and the wrench about the origin of one unit of its component j."""
    m = model.forces.measure[f]
    if m != NONE:
        _, _, L = forces.measure_and_rate(model, theta, m, kin)
        return model.measures.pair[m], L
    pair = model.forces.pair[f]
    R, r = pose_of(kin, model.pairs.b[pair])
    e = in_axes(model, f, R, (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0))
    if model.forces.kind[f] == Force.TORQUE:
        return pair, (e, scale3(0.0, e))
    return pair, (cross3(point_of(R, r, load3(theta, model.forces.theta[f])), e), e)


# Forces that read multipliers, as friction by the load of a joint does: their parts in linear systems -----------------
#
# With P (n, r) the generalised forces of one unit of r such forces, and R (m, r) their derivatives by the multipliers,
# corrections of accelerations and multipliers solve [T, J^T - P R^T; J, 0] [x; mu] = [b; e]. The factors of
# [T, J^T; J, 0] serve: with its solutions [x_P; mu_P] for [P; 0],
#
#     [x; mu] = [x_0; mu_0] + [x_P; mu_P] c,    (1 - R^T mu_P) c = R^T mu_0,
#
# and for the transposed matrix the same with R in the rows of the constraints and P read of x. Chosen by the type of
# ``model.signals``: models without such forces pay nothing. Derivation: docs/theory/expressions.md, section 5.


ACCURATE = 1e-9  # tolerance of the solutions for P, which all corrections rest on
SETTLED = 1e-13  # of the largest multiplier: a smaller change is round-off


_with_loads = only_with("model.signals", LoadedSignals)


@_with_loads(lambda model, lam, kin: None)
def read_multipliers(model, lam, kin):
    """Let forces read multipliers (m,); before ``find_signals``."""
    copy_to(lam, kin.signals.load.lam)


@_with_loads(lambda model, dlam, tw: None)
def vary_multipliers(model, dlam, tw):
    """Let multipliers that forces read vary by dlam (m, p); before ``vary_signals``."""
    copy_to(dlam, tw.signals.lam)


@_with_loads(lambda model, adj: None)
def forget_multipliers(model, adj):
    """Clear adjoints of multipliers that the equations of a step have solved for."""
    clear(adj.lam)


@_with_loads(lambda model, theta, z, kin: None)
def find_loads(model, theta, z, kin):
    """Leave P and R in ``kin.signals.load``; needs ``element_forces`` at the state."""
    signals, work, measures, pairs = model.signals, kin.signals.load, model.measures, model.pairs
    clear(work.exerted)
    clear(work.slope)
    for j in range(work.force.size):
        f, u = work.force[j], work.signal[j]
        o, first = signals.offset[u] + 3, signals.first_input[u]
        for i in range(first, signals.first_input[u + 1]):
            r = work.equation[signals.input[i]]
            if r != NONE:
                work.slope[r, j] += kin.signals.slope[o + i - first]
        m = model.forces.measure[f]
        if m != NONE and measures.pair[m] == NONE:
            for i in range(measures.first[m], measures.first[m + 1]):
                work.exerted[measures.coordinate[i], j] += coordinate_slope(measures, theta, m, i, z)
        else:
            pair, L = unit_force(model, theta, f, work.component[j], kin)
            for i in range(pairs.first[pair], pairs.first[pair + 1]):
                c = pairs.column[i]
                work.exerted[c, j] = pairs.sign[i] * dot6(column_at_origin(kin.S, model.tree, kin, c), L)


@inlined
def _read(transposed, work, j, x, mu, k):
    """The force j of column k of a solution: R^T mu, of the transposed matrix P^T x."""
    total = 0.0 * x[0, k]
    if transposed:
        for c in range(x.shape[0]):
            total += work.exerted[c, j] * x[c, k]
    else:
        for q in range(mu.shape[0]):
            total += work.slope[q, j] * mu[q, k]
    return total


@_with_loads(lambda model, theta, z, transposed, factor, kin, columns: True)
def with_loads(model, theta, z, transposed, factor, kin, columns):
    """Complete ``columns`` for the matrix or its transpose; False if singular; needs ``element_forces`` at z."""
    find_loads(model, theta, z, kin)
    work = kin.signals.load
    own, r = work.columns, work.force.size
    for j in range(r):
        for c in range(own.b.shape[0]):
            own.b[c, 0] = 0.0 if transposed else work.exerted[c, j]
        for i in range(own.e.shape[0]):
            own.e[i, 0] = work.slope[i, j] if transposed else 0.0
        solve_constrained(factor, ACCURATE, own)
        for c in range(own.b.shape[0]):
            work.x[c, j] = own.x[c, 0]
        for i in range(own.e.shape[0]):
            work.mu[i, j] = own.mu[i, 0]
    for i in range(r):
        for j in range(r):
            work.small[i, j] = (1.0 if i == j else 0.0) - _read(transposed, work, i, work.x, work.mu, j)
    if not lu_factor(work.small, work.pivot):
        return False
    for k in range(columns.b.shape[1]):
        for i in range(r):
            work.share[i, 0] = _read(transposed, work, i, columns.x, columns.mu, k)
        lu_solve(work.small, work.pivot, work.share)
        for j in range(r):
            for c in range(own.b.shape[0]):
                columns.x[c, k] += work.x[c, j] * work.share[j, 0]
            for q in range(own.e.shape[0]):
                columns.mu[q, k] += work.mu[q, j] * work.share[j, 0]
    return True


@_with_loads(lambda model, transposed, kin, columns: None)
def take_loads(model, transposed, kin, columns):
    """Give the forces' part of the solutions back: b gets P R^T mu, of the transposed matrix e gets R P^T x."""
    work = kin.signals.load
    for k in range(columns.b.shape[1]):
        for j in range(work.force.size):
            share = _read(transposed, work, j, columns.x, columns.mu, k)
            if transposed:
                for q in range(columns.e.shape[0]):
                    columns.e[q, k] += work.slope[q, j] * share
            else:
                for c in range(columns.b.shape[0]):
                    columns.b[c, k] += work.exerted[c, j] * share


@_with_loads(lambda model, lam, kin: True)
def loads_settled(model, lam, kin):
    """Whether multipliers equal those that forces have read, so that an iteration of both can end."""
    change, largest = 0.0, 0.0
    for i in range(lam.size):
        change = max(change, np.abs(lam[i] - kin.signals.load.lam[i]))
        largest = max(largest, np.abs(lam[i]))
    return change <= SETTLED * largest
