"""Forces that read multipliers, as friction by the load of a joint does: what they add to linear systems.

With P (n, r) the generalised forces of one unit of r such forces, and R (m, r) their derivatives by the multipliers,
corrections of accelerations and multipliers solve [T, J^T - P R^T; J, 0] [x; mu] = [b; e]. The factors of
[T, J^T; J, 0] serve: with its solutions [x_P; mu_P] for [P; 0],

    [x; mu] = [x_0; mu_0] + [x_P; mu_P] c,    (1 - R^T mu_P) c = R^T mu_0,

and for the transposed matrix the same with R in the rows of the constraints and P read of x. Chosen by the type of
``model.signals``: models without such forces pay nothing. Derivation: docs/theory/expressions.md, section 5.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear, copy_to
from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve
from mbsim_cli.kernels.algebra.spatial import dot6
from mbsim_cli.kernels.algorithms.by_type import only_with
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.signals import unit_force
from mbsim_cli.kernels.algorithms.motion.kinematics import column_at_origin
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.elements.measures import is_geometric
from mbsim_cli.model.layout import NONE, LoadedSignals

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


@_with_loads(lambda model, tw: None)
def hold_multipliers(model, tw):
    """Let multipliers that forces read not vary: their variation is solved for."""
    clear(tw.signals.lam)


@_with_loads(lambda model, cov: None)
def forget_multipliers(model, cov):
    """Clear adjoints of multipliers that the equations of a step have solved for."""
    clear(cov.lam)


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
        if m != NONE and not is_geometric(measures.kind[m]):
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


@_with_loads(lambda model, transposed, factor, kin, columns: True)
def with_loads(model, transposed, factor, kin, columns):
    """Complete the solutions of ``columns`` by the factors, of the transposed matrix or not; False if singular."""
    work = kin.signals.load
    own, r = work.columns, work.force.size
    for j in range(r):
        clear(own.b)
        clear(own.e)
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
