"""Stages of a diagonally implicit Runge-Kutta method for M z'' + K(t, z, z') = 0, and their sensitivities.

With Z = zhat + g Z', Z' = vhat + g A, g = h a_ii, the unknown of a stage is its acceleration A: the residual
G(t, Z, Z', A) by recursive inverse dynamics, its tangent M + g C + g^2 K exact. Derivation: docs/theory/integrators.md.
"""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve
from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.closed_loops.projections import Loops
from mbsim_cli.kernels.algorithms.open_trees.open_tree import (
    OpenTree,
    close_residual,
    close_tangent,
    close_variation,
    drive,
    driven_acceleration,
    vary_drive,
    vary_driven_acceleration,
)
from mbsim_cli.kernels.algorithms.systems.contract import evaluate_free, tangent_free, vary_free
from mbsim_cli.kernels.compiler.jit import kernel, merged, python_of
from mbsim_cli.kernels.compiler.views import as_column
from mbsim_cli.kernels.integrators.esdirk_loops import (
    NEAR,
    STALE,
    correct,
    solve_loop_stage,
    start_loop_stage,
    vary_loop_stage,
)
from mbsim_cli.kernels.integrators.step_control import EVALUATIONS, FACTORISATIONS, JACOBIANS, sum_of
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
    drive(model, theta, t, tree, state.z, state.zd)
    driven_acceleration(model, theta, t, tree, state.zdd)


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
        close_residual(tree, state, eq.G, eq.weight, eq.b)
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
    evaluate_free(model, theta, t, True, state, eq.kin, eq.comp, eq)
    counters[EVALUATIONS] += 1
    return np.isfinite(sum_of(as_column(eq.G)))


@kernel
def _factor_tangent(model, theta, t, g, tree, state, eq, counters, T_out, pivot_out):
    """Factorise the tangent at the state that was evaluated last; returns whether it is regular."""
    tangent_free(model, theta, t, g, g * g, state, eq, eq.kin, eq.comp, T_out)
    close_tangent(tree, g, state, eq.G, T_out, eq.weight)
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
    vary_drive(model, theta, dtheta, t, tree, state.z, state.zd, sens.z, sens.zd)
    vary_driven_acceleration(model, theta, dtheta, t, tree, state.zdd, sens.zdd)
    vary_free(model, theta, directions, t, state, sens, eq.kin, eq.comp, eq.twists, b)
    close_variation(tree, state, eq.G, eq.weight, sens.z, sens.zd, sens.zdd, b)
    lu_solve(eq.exact, eq.exact_pivot, b)
    for c in range(sens.z.shape[0]):
        if tree.driver[c] == NONE:
            for k in range(sens.z.shape[1]):
                sens.zdd[c, k] = b[c, k]
                sens.zd[c, k] += g * b[c, k]
                sens.z[c, k] += g * g * b[c, k]
    return Status.OK


def _of_tree(name: str, text: str, open_stage: Any, loop_stage: Any) -> Any:
    """A function that goes by the type of its argument ``tree``."""
    return by_type(
        "tree", name, text, signature(python_of(open_stage)), {OpenTree: open_stage, Loops: loop_stage}.__getitem__
    )


start_stage = _of_tree(
    "start_stage", "Turn zhat, vhat in ``state`` into a guess of the stage.", _start_open_stage, start_loop_stage
)
solve_stage = _of_tree(
    "solve_stage", "Iterate from the guess in ``state`` to the stage.", _solve_open_stage, solve_loop_stage
)
vary_stage = _of_tree(
    "vary_stage",
    "Turn variations of zhat, vhat into those of the stage just solved.",
    _vary_open_stage,
    vary_loop_stage,
)
