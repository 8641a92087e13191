"""Stages of a diagonally implicit Runge-Kutta method for M z'' + K(t, z, z') = 0, and their sensitivities.

With Z = zhat + g Z', Z' = vhat + g A, g = h a_ii, the unknown of a stage is its acceleration A: the residual
G(t, Z, Z', A) by recursive inverse dynamics, its tangent M + g C + g^2 K exact. Derivation: docs/theory/integrators.md.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to, scaled, sum_of
from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve, transpose
from mbsim_cli.kernels.algorithms import closed_loops
from mbsim_cli.kernels.algorithms.by_type import table_by_type
from mbsim_cli.kernels.algorithms.closed_loops import RATIO, SETTLED, SOLVED, UNKNOWN, Loops
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.algorithms.open_trees import open_tree
from mbsim_cli.kernels.algorithms.open_trees.open_tree import OpenTree
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.compiler.simd import as_column
from mbsim_cli.kernels.integrators.runge_kutta import EVALUATIONS, FACTORISATIONS, JACOBIANS
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import NONE


class ImplicitTableau(NamedTuple):
    """A stiffly accurate method of s stages, the first explicit: the last stage is the end of the step."""

    a: np.ndarray  # (s, s) lower triangular; its last row holds the weights of the step
    c: np.ndarray  # (s,)
    error: np.ndarray  # (2, s) weights of the estimate of the error, and zeros
    ahead: np.ndarray  # (s, s) weights that extrapolate accelerations to a stage from those before it


class NewtonControl(NamedTuple):
    """When a stage is solved: bounds of the last correction of coordinates and rates."""

    relative: float
    absolute: float
    loose: float  # multiple of these bounds that serves where round-off stops the iteration
    max_iterations: int
    acceleration: float  # bound of the last correction of accelerations, relative, where convergence is linear


class StageEquations(NamedTuple):
    """Equations of a stage at an iterate."""

    kin: tuple
    comp: tuple
    twists: tuple
    T: np.ndarray  # (n, padded(n)) tangent that Newton goes by, factorised
    pivot: np.ndarray  # (n,)
    exact: np.ndarray  # (n, padded(n)) that of sensitivities, at the solution
    exact_pivot: np.ndarray  # (n,)
    shift: np.ndarray  # (1,) g of that tangent, 0 where there is none
    weight: np.ndarray  # (k,) of norm equations in T
    G: np.ndarray  # (n,)
    Q: np.ndarray  # (n,)
    b: np.ndarray  # (n, 1) right-hand side, then correction
    columns: np.ndarray  # (n, p) the same of sensitivities
    no_lines: np.ndarray  # (m, LINE_SIZE) zeros: constraints of open trees are none between bodies
    no_lambda: np.ndarray  # (m,) zeros


STALLED = 0.5  # contraction above which a correction no longer shrinks


@merged
def _start_open_stage(model, theta, t, g, weights, count, tree, accelerations, state):
    """Turn zhat, vhat in ``state`` into a guess of the stage, from accelerations (s, n) of ``count`` earlier ones."""
    start_loop_stage(model, theta, t, g, weights, count, tree, accelerations, state)
    open_tree.drive(model, theta, t, tree, state.z, state.zd)
    open_tree.driven_acceleration(model, theta, t, tree, state.zdd)


@merged
def _solve_open_stage(model, theta, t, g, control, tree, state, eq, counters):
    """Iterate from the guess in ``state`` to the stage."""
    fresh = np.abs(g - eq.shift[0]) <= NEAR * g
    previous = np.inf
    for _ in range(control.max_iterations):
        if not _evaluate(model, theta, t, state, eq, counters):
            return Status.NOT_FINITE
        if not fresh:
            eq.shift[0] = 0.0
            if not _factor_tangent(model, theta, t, g, tree, state, eq, counters, eq.T, eq.pivot):
                return Status.SINGULAR
            eq.shift[0] = g
        open_tree.close_residual(tree, state, eq.G, eq.weight, eq.b)
        lu_solve(eq.T, eq.pivot, eq.b)
        size, floor = correct(g, control, eq.b, state)
        if size <= 1.0 + floor or (size > STALLED * previous and size <= control.loose):
            return Status.OK
        fresh = size <= STALE * previous
        previous = size
    return Status.NO_CONVERGENCE


@kernel
def _evaluate(model, theta, t, state, eq, counters):
    """Residual at the state; returns whether it is finite."""
    system.evaluate_free(model, theta, t, True, state, eq.kin, eq.comp, eq)
    counters[EVALUATIONS] += 1
    return np.isfinite(sum_of(as_column(eq.G)))


@kernel
def _factor_tangent(model, theta, t, g, tree, state, eq, counters, T_out, pivot_out):
    """Factorise the tangent at the state that was evaluated last; returns whether it is regular."""
    system.tangent(model, theta, t, g, g * g, state, eq.no_lines, eq.no_lambda, eq.kin, eq.comp, T_out)
    open_tree.close_tangent(tree, g, state, eq.G, T_out, eq.weight)
    counters[JACOBIANS] += 1
    counters[FACTORISATIONS] += 1
    return lu_factor(T_out, pivot_out)


@merged
def _vary_open_stage(model, theta, t, g, directions, tree, state, sens, eq, counters):
    """Turn variations of zhat, vhat in ``sens`` into those of the stage just solved; returns a Status."""
    dtheta, b = directions.dtheta, eq.columns
    if not _evaluate(model, theta, t, state, eq, counters):
        return Status.NOT_FINITE
    if not _factor_tangent(model, theta, t, g, tree, state, eq, counters, eq.exact, eq.exact_pivot):
        return Status.SINGULAR
    for c in range(sens.z.shape[0]):
        for k in range(sens.z.shape[1]):
            sens.zdd[c, k] = 0.0
            sens.z[c, k] += g * sens.zd[c, k]
    open_tree.vary_drive(model, theta, dtheta, t, tree, state.z, state.zd, sens.z, sens.zd)
    open_tree.vary_driven_acceleration(model, theta, dtheta, t, tree, state.zdd, sens.zdd)
    system.vary_free(model, theta, directions, t, state, sens, eq.kin, eq.comp, eq.twists, b)
    open_tree.close_variation(tree, state, eq.G, eq.weight, sens.z, sens.zd, sens.zdd, b)
    lu_solve(eq.exact, eq.exact_pivot, b)
    for c in range(sens.z.shape[0]):
        if tree.driver[c] == NONE:
            for k in range(sens.z.shape[1]):
                sens.zdd[c, k] = b[c, k]
                sens.zd[c, k] += g * b[c, k]
                sens.z[c, k] += g * g * b[c, k]
    return Status.OK


# Closed loops ---------------------------------------------------------------------------------------------------------
#
# With Z = zhat + g Z', Z' = vhat + g A the unknowns of a stage are A and the multipliers: G(t, Z, Z', A, lambda) = 0
# and Phi''(t, Z, Z', A) = 0. Newton goes by [T Phi_z^T; Phi_z 0], T = M + g C + g^2 K exact: what g moves Phi'' by
# through Z and Z' is left out, so that corrections shrink by about g times the rates, and never by anything stiff.
# Sensitivities and adjoints take that part in by repeated solutions. Derivation: docs/theory/closed_loops.md, section
# 5.


NEAR = 0.1  # relative change of g up to which a tangent is kept
STALE = 0.1  # contraction above which an old tangent is formed anew
STALLED_IN_LOOPS = 0.5  # contraction above which accelerations are as good as round-off allows
DIVERGING = 0.9  # contraction above which a correction no longer shrinks
LOOSE = 1e3  # round-offs below which a correction that no longer shrinks serves
ROUND_OFF = 4e-16  # of coordinates, relative
MOST = 60  # solutions of sensitivities and adjoints; a third of a digit each at the longest steps that converge
LEFT = 1e-15  # remaining adjoints, relative to those given, at which solutions end
NOTHING = 1e-300  # in the place of zero where it is divided by


class LoopStages(NamedTuple):
    """Arrays that stages of closed loops keep between iterations."""

    factor: Any  # Factor of the tangent that Newton goes by, with its own Phi_z
    shift: np.ndarray  # (1,) g of that tangent, 0 where there is none


@merged
def start_loop_stage(model, theta, t, g, weights, count, tree, accelerations, state):
    """Turn zhat, vhat in ``state`` into a guess of the stage, from accelerations (s, n) of ``count`` earlier ones."""
    for c in range(state.z.size):
        state.zdd[c] = 0.0
        for j in range(count):
            state.zdd[c] += weights[j] * accelerations[j, c]
        state.zd[c] += g * state.zdd[c]
        state.z[c] += g * state.zd[c]


@merged
def solve_loop_stage(model, theta, t, g, control, tree, state, eq, counters):
    """Iterate from the guess in ``state``, with its multipliers, to the stage."""
    at, columns, factor = tree.eq, tree.columns, eq.factor
    fresh = np.abs(g - eq.shift[0]) <= NEAR * g
    previous, turned = np.inf, np.inf
    for _ in range(control.max_iterations):
        if not _evaluate_loops(model, theta, t, state, tree, counters):
            return Status.NOT_FINITE
        if not fresh:
            eq.shift[0] = 0.0
            if not _factor_tangent_of_loops(model, theta, t, g, state, tree, factor, counters):
                return Status.SINGULAR
            eq.shift[0] = g
        scaled(-1.0, at.G, columns.b)
        scaled(-1.0, at.phi2, columns.e)
        solve_constrained(factor, SOLVED, columns)
        size, floor = correct(g, control, columns.x, state)
        change = _correct_multipliers(columns, factor.weight, state)
        ends = change * min(1.0, change / turned) <= control.acceleration or change > STALLED_IN_LOOPS * turned
        if (ends and size <= 1.0 + floor) or (size > DIVERGING * previous and size <= LOOSE * (1.0 + floor)):
            return Status.OK
        fresh = size <= STALE * previous
        previous, turned = size, change
    return Status.NO_CONVERGENCE


@kernel
def _evaluate_loops(model, theta, t, state, loops, counters):
    """Residuals of both equations at the state; returns whether they are finite."""
    eq = loops.eq
    loops.found[0] = UNKNOWN
    system.evaluate(model, theta, t, False, state, loops.kin, loops.comp, eq)
    system.rates(model, theta, t, state, eq.lines, loops.kin, eq.phi1, eq.phi2)
    counters[EVALUATIONS] += 1
    return np.isfinite(sum_of(as_column(eq.G)) + sum_of(as_column(eq.phi2)))


@kernel
def _factor_tangent_of_loops(model, theta, t, g, state, loops, factor, counters):
    """Factorise the tangent at the state that was evaluated last; returns whether it is regular."""
    system.tangent(model, theta, t, g, g * g, state, loops.eq.lines, state.lam, loops.kin, loops.comp, factor.T)
    counters[JACOBIANS] += 1
    counters[FACTORISATIONS] += 1
    return factor_penalised(RATIO, factor)


@kernel
def correct(g, control, x, state):
    """Add the correction x (n, 1) of accelerations; return the rms of it and of round-off, in units of the bounds."""
    size, floor = 0.0, 0.0
    for c in range(state.z.size):
        step = x[c, 0]
        state.zdd[c] += step
        state.zd[c] += g * step
        state.z[c] += g * g * step
        z_scale = control.absolute + control.relative * np.abs(state.z[c].real)
        zd_scale = control.absolute + control.relative * np.abs(state.zd[c].real)
        size += (g * g * step.real / z_scale) ** 2 + (g * step.real / zd_scale) ** 2
        floor += (ROUND_OFF * (1.0 + np.abs(state.z[c].real)) / (g * zd_scale)) ** 2
    count = max(1, 2 * state.z.size)
    return np.sqrt(size / count), np.sqrt(floor / count)


@kernel
def _correct_multipliers(columns, weights, state):
    """Correct multipliers; return accelerations' relative correction: gradients read them, convergence is linear."""
    moved, whole = 0.0, 0.0
    for c in range(state.z.size):
        step = columns.x[c, 0]
        moved += weights[c] * step.real * step.real
        whole += weights[c] * state.zdd[c].real * state.zdd[c].real
    for r in range(state.lam.size):
        state.lam[r] += columns.mu[r, 0]
    return np.sqrt(moved / max(NOTHING, whole))


@merged
def vary_loop_stage(model, theta, t, g, directions, tree, state, sens, eq, counters):
    """Turn variations of zhat, vhat in ``sens`` into those of the stage just solved; returns a Status."""
    kin, at = tree.kin, tree.eq
    columns, tw, other = tree.d_columns, tree.tw, tree.other
    weights, previous = tree.factor.weight, np.inf
    if not _evaluate_loops(model, theta, t, state, tree, counters):
        return Status.NOT_FINITE
    if not _factor_tangent_of_loops(model, theta, t, g, state, tree, tree.factor, counters):
        return Status.SINGULAR
    clear(sens.zdd)
    clear(sens.lam)
    add_scaled(g, sens.zd, sens.z)
    system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
    system.vary_residual(model, theta, directions, t, state, sens, at, kin, tree.comp, tw, columns.b)
    move_lines(model, theta, at.lines, kin, at.line_rates)
    for _ in range(MOST):
        system.vary_rates(model, theta, directions, t, state, sens, at, kin, tw, other.dphi, columns.e)
        solve_constrained(tree.factor, SOLVED, columns)
        add_scaled(-1.0, columns.x, sens.zdd)
        add_scaled(-g, columns.x, sens.zd)
        add_scaled(-g * g, columns.x, sens.z)
        add_scaled(-1.0, columns.mu, sens.lam)
        size = closed_loops.size_of(weights, columns.x)
        # about a rest accelerations do not vary: corrections end at what round-off of positions makes of them
        at_rest = size > STALLED**2 * previous and size <= SETTLED * closed_loops.size_of(weights, sens.z) / g**4
        if size <= SETTLED * closed_loops.size_of(weights, sens.zdd) or at_rest:
            return Status.OK
        previous = size
        clear(columns.b)  # T is exact: of the equations of motion nothing is left
        system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
    return Status.NO_CONVERGENCE


@kernel
def pull_loop_stage(model, theta, t, g, state, tangent_work, work, adj):
    """Pull adjoints of Z' and A back to zhat, vhat, in ``adj.z`` and ``adj.zd``, and to theta.

    Adjoints a of A and b of Z' ask for [T Phi_z^T; F 0]^T [mu; nu] = -[a + g b; 0], F = d Phi'' / dA, whose part
    without Phi_z is solved for again and again. Returns whether the tangent is regular, and the relative size of what
    was left unsolved.
    """
    loops, rest = work.open_tree, work.rest
    kin, eq, columns, moved, factor = loops.kin, loops.eq, loops.d_columns, loops.state, loops.factor
    if not closed_loops.accelerate(model, theta, t, Motion(state.z, state.zd, moved.zdd), work.dyn, moved.lam):
        return False, 1.0
    copy_to(state.zdd, moved.zdd)
    system.load(model, theta, t, moved, kin, loops.comp, eq)
    system.tangent(model, theta, t, g, g * g, moved, eq.lines, moved.lam, kin, loops.comp, factor.T)
    transpose(factor.T)
    if not factor_penalised(RATIO, factor):
        return False, 1.0
    copy_to(adj.zdd, work.hat)
    add_scaled(g, adj.zd, work.hat)
    copy_to(work.hat, columns.b)
    clear(columns.e)
    for _ in range(MOST):
        solve_constrained(factor, SOLVED, columns)
        scaled(-1.0, columns.x, work.virtual.mu)
        scaled(-1.0, columns.mu, work.nu)
        system.load(model, theta, t, moved, kin, loops.comp, eq)
        system.pull_residual(model, theta, t, moved, eq, kin, loops.comp, work.virtual, work.no_nu, adj)
        clear(rest.z)
        clear(rest.zd)
        clear(rest.zdd)
        move_lines(model, theta, eq.lines, kin, eq.line_rates)
        system.pull_rates(model, theta, t, moved, eq, kin, loops.comp, work.none, work.no_nu, work.nu, rest)
        add_scaled(1.0, rest.z, adj.z)
        add_scaled(1.0, rest.zd, adj.zd)
        add_scaled(1.0, rest.zdd, adj.zdd)
        scaled(g, rest.zd, columns.b)
        add_scaled(g * g, rest.z, columns.b)
        if closed_loops.share_of(columns.b, work.hat) <= LEFT:
            break
    copy_to(adj.zdd, columns.b)
    add_scaled(g, adj.zd, columns.b)
    add_scaled(g * g, adj.z, columns.b)
    error = closed_loops.share_of(columns.b, work.hat)
    add_scaled(g, adj.z, adj.zd)
    clear(adj.zdd)
    clear(adj.lam)
    return True, error


# Stages by the kind of tree -------------------------------------------------------------------------------------------


start_stage = table_by_type(
    "tree",
    "start_stage",
    "Turn zhat, vhat in ``state`` into a guess of the stage.",
    {OpenTree: _start_open_stage, Loops: start_loop_stage},
)
solve_stage = table_by_type(
    "tree",
    "solve_stage",
    "Iterate from the guess in ``state`` to the stage.",
    {OpenTree: _solve_open_stage, Loops: solve_loop_stage},
)
vary_stage = table_by_type(
    "tree",
    "vary_stage",
    "Turn variations of zhat, vhat into those of the stage just solved.",
    {OpenTree: _vary_open_stage, Loops: vary_loop_stage},
)
