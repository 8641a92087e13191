"""Stages of a diagonally implicit Runge-Kutta method for closed loops of index 1, their sensitivities and pull-back.

With Z = zhat + g Z', Z' = vhat + g A the unknowns of a stage are A and the multipliers: G(t, Z, Z', A, lambda) = 0 and
Phi''(t, Z, Z', A) = 0. Newton goes by [T Phi_z^T; Phi_z 0], T = M + g C + g^2 K exact: what g moves Phi'' by through Z
and Z' is left out, so that corrections shrink by about g times the rates, and never by anything stiff. Sensitivities
and covectors take that part in by repeated solutions. Derivation: docs/theory/closed_loops.md, section 5.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.linear_solve import transpose
from mbsim_cli.kernels.algebra.whole import add_scaled, clear, copy_to, scaled
from mbsim_cli.kernels.algorithms.closed_loops.accelerations import accelerate
from mbsim_cli.kernels.algorithms.closed_loops.projections import RATIO, SOLVED, UNKNOWN, are_small
from mbsim_cli.kernels.algorithms.closed_loops.pull_back import share_of
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised, keep_rows, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.systems.contract import (
    evaluate,
    load,
    pull_rates,
    pull_residual,
    rates,
    tangent,
    vary_bodies_of,
    vary_rates,
    vary_residual,
)
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.compiler.views import as_column
from mbsim_cli.kernels.integrators.step_control import EVALUATIONS, FACTORISATIONS, JACOBIANS, sum_of
from mbsim_cli.model.codes import Status

NEAR = 0.1  # relative change of g up to which a tangent is kept
STALE = 0.1  # contraction above which an old tangent is formed anew
STALLED = 0.5  # contraction above which accelerations are as good as round-off allows
DIVERGING = 0.9  # contraction above which a correction no longer shrinks
LOOSE = 1e3  # round-offs below which a correction that no longer shrinks serves
ROUND_OFF = 4e-16  # of coordinates, relative
MOST = 60  # solutions of sensitivities and covectors; a third of a digit each at the longest steps that converge
LEFT = 1e-15  # of covectors
NOTHING = 1e-300


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
        if not _evaluate(model, theta, t, state, tree, counters):
            return Status.NOT_FINITE
        if not fresh:
            eq.shift[0] = 0.0
            keep_rows(factor, at.J)
            if not _factor_tangent(model, theta, t, g, state, tree, factor, counters):
                return Status.SINGULAR
            eq.shift[0] = g
        for c in range(at.G.size):
            columns.b[c, 0] = -at.G[c]
        for r in range(at.phi2.size):
            columns.e[r, 0] = -at.phi2[r]
        solve_constrained(factor, SOLVED, columns)
        size, floor = correct(g, control, columns.x, state)
        change = _correct_multipliers(columns, factor.weight, state)
        ends = change * min(1.0, change / turned) <= control.acceleration or change > STALLED * turned
        if (ends and size <= 1.0 + floor) or (size > DIVERGING * previous and size <= LOOSE * (1.0 + floor)):
            return Status.OK
        fresh = size <= STALE * previous
        previous, turned = size, change
    return Status.NO_CONVERGENCE


@kernel
def _evaluate(model, theta, t, state, loops, counters):
    """Residuals of both equations at the state; returns whether they are finite."""
    eq = loops.eq
    loops.found[0] = UNKNOWN
    evaluate(model, theta, t, False, state, loops.kin, loops.comp, eq)
    rates(model, theta, eq.lines, t, state, loops.kin, eq.phi1, eq.phi2)
    counters[EVALUATIONS] += 1
    return np.isfinite(sum_of(as_column(eq.G)) + sum_of(as_column(eq.phi2)))


@kernel
def _factor_tangent(model, theta, t, g, state, loops, factor, counters):
    """Factorise the tangent at the state that was evaluated last; returns whether it is regular."""
    tangent(model, theta, t, g, g * g, state, loops.eq, loops.kin, loops.comp, factor.T)
    counters[JACOBIANS] += 1
    counters[FACTORISATIONS] += 1
    return factor_penalised(RATIO, factor)


@kernel
def correct(g, control, x, state):
    """Add the correction x (n, 1) of accelerations; return its size and that of round-off, in units of the bounds.

    Both are root mean squares.
    """
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
    """Add the correction of multipliers; return the size of that of accelerations, relative.

    Gradients read accelerations, and convergence is linear.
    """
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
    dtheta, touch, kin, at = directions.dtheta, directions.touch, tree.kin, tree.eq
    columns, tw, other = tree.d_columns, tree.tw, tree.other
    if not _evaluate(model, theta, t, state, tree, counters):
        return Status.NOT_FINITE
    if not _factor_tangent(model, theta, t, g, state, tree, tree.factor, counters):
        return Status.SINGULAR
    clear(sens.zdd)
    clear(sens.lam)
    add_scaled(g, sens.zd, sens.z)
    vary_bodies_of(
        model, theta, dtheta, touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, tw
    )  # fmt: skip
    vary_residual(model, theta, directions, t, state, sens, at, kin, tree.comp, tw, columns.b)
    move_lines(model, theta, at.lines, kin, at.line_rates)
    for _ in range(MOST):
        vary_rates(model, theta, dtheta, touch, at, t, state, sens, kin, tw, other.dphi, columns.e)
        solve_constrained(tree.factor, SOLVED, columns)
        add_scaled(-1.0, columns.x, sens.zdd)
        add_scaled(-g, columns.x, sens.zd)
        add_scaled(-g * g, columns.x, sens.z)
        add_scaled(-1.0, columns.mu, sens.lam)
        if are_small(tree.factor.weight, columns.x, sens.zdd):
            return Status.OK
        clear(columns.b)  # T is exact: of the equations of motion nothing is left
        vary_bodies_of(
            model, theta, dtheta, touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, tw
        )  # fmt: skip
    return Status.NO_CONVERGENCE


@kernel
def pull_loop_stage(model, theta, t, g, state, tangent_work, work, cov):
    """Pull covectors of Z' and A back to zhat, vhat, in ``cov.z`` and ``cov.zd``, and to theta.

    Covectors a of A and b of Z' ask for [T Phi_z^T; F 0]^T [mu; nu] = -[a + g b; 0], F = d Phi'' / dA, whose part
    without Phi_z is solved for again and again. Returns whether the tangent is regular, and the relative size of what
    was left unsolved.
    """
    loops, rest = work.open_tree, work.rest
    kin, eq, columns, moved, factor = loops.kin, loops.eq, loops.d_columns, loops.state, loops.factor
    if not accelerate(model, theta, t, state.z, state.zd, work.dyn, moved.zdd, moved.lam):
        return False, 1.0
    copy_to(state.zdd, moved.zdd)
    load(model, theta, t, moved, kin, loops.comp, eq)
    tangent(model, theta, t, g, g * g, moved, eq, kin, loops.comp, factor.T)
    transpose(factor.T)
    if not factor_penalised(RATIO, factor):
        return False, 1.0
    copy_to(cov.zdd, work.hat)
    add_scaled(g, cov.zd, work.hat)
    copy_to(work.hat, columns.b)
    clear(columns.e)
    for _ in range(MOST):
        solve_constrained(factor, SOLVED, columns)
        scaled(-1.0, columns.x, work.virtual.mu)
        scaled(-1.0, columns.mu, work.nu)
        load(model, theta, t, moved, kin, loops.comp, eq)
        pull_residual(model, theta, t, moved, eq, kin, loops.comp, work.virtual, work.no_nu, cov)
        clear(rest.z)
        clear(rest.zd)
        clear(rest.zdd)
        move_lines(model, theta, eq.lines, kin, eq.line_rates)
        pull_rates(
            model, theta, t, moved.z, moved.zd, moved.zdd, eq, kin, loops.comp, work.none, work.no_nu, work.nu, rest
        )  # fmt: skip
        add_scaled(1.0, rest.z, cov.z)
        add_scaled(1.0, rest.zd, cov.zd)
        add_scaled(1.0, rest.zdd, cov.zdd)
        scaled(g, rest.zd, columns.b)
        add_scaled(g * g, rest.z, columns.b)
        if share_of(columns.b, work.hat) <= LEFT:
            break
    copy_to(cov.zdd, columns.b)
    add_scaled(g, cov.zd, columns.b)
    add_scaled(g * g, cov.z, columns.b)
    error = share_of(columns.b, work.hat)
    add_scaled(g, cov.z, cov.zd)
    clear(cov.zdd)
    clear(cov.lam)
    return True, error
