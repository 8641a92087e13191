"""Adjoint of the stages of a diagonally implicit Runge-Kutta method: the transpose of ``esdirk``, stage by stage.

A stage solves R(Z, Z', A) = 0 with Z = zhat + g Z', Z' = vhat + g A; T is its derivative by A along these. Adjoints a
of A and b of Z' ask for T^T mu = -(a + g b), and mu . R is pulled back; see ``acceleration_pull_back`` for the rows of
Euler parameters, whose norm equation has the weight of ``open_tree.close_tangent``. Derivation: docs/theory/adjoint.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to, scaled
from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve, transpose
from mbsim_cli.kernels.algebra.vectors import inner4, norm2
from mbsim_cli.kernels.algorithms.by_type import table_by_type
from mbsim_cli.kernels.algorithms.closed_loops import PulledLoops
from mbsim_cli.kernels.algorithms.open_trees import acceleration_pull_back
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import PulledAccelerations
from mbsim_cli.kernels.algorithms.open_trees.open_tree import close_tangent, pull_drive
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import at, block, put, width
from mbsim_cli.kernels.elements.columns import load4, load4_of
from mbsim_cli.kernels.integrators import runge_kutta_adjoint
from mbsim_cli.kernels.integrators.dense_output import interpolate_motion, pull_between
from mbsim_cli.kernels.integrators.esdirk import pull_loop_stage
from mbsim_cli.model.layout import NONE


class StageTangent(NamedTuple):
    """Work of a stage's transposed solution."""

    T: np.ndarray  # (n, padded(n))
    pivot: np.ndarray  # (n,)
    weight: np.ndarray  # (k,) of norm equations in T
    no_lines: np.ndarray  # (m, LINE_SIZE) zeros
    no_lambda: np.ndarray  # (m,) zeros


@kernel
def _pull_open_stage(model, theta, t, g, state, tangent_work, work, adj):
    """Pull adjoints of Z' and A back to zhat, vhat, in ``adj.z`` and ``adj.zd``, and to theta.

    Returns whether the tangent is regular, and the largest relative residual.
    """
    driver, mu, T = work.open_tree.driver, work.virtual.mu, tangent_work.T
    copy_to(adj.zdd, work.hat)
    add_scaled(g, adj.zd, work.hat)
    system.evaluate_free(model, theta, t, False, state, work.kin, work.comp, work)
    lines, multiplier = tangent_work.no_lines, tangent_work.no_lambda
    system.tangent(model, theta, t, g, g * g, state, lines, multiplier, work.kin, work.comp, T)
    close_tangent(work.open_tree, g, state, work.G, T, tangent_work.weight)
    transpose(T)
    if not lu_factor(T, tangent_work.pivot):
        return False, 1.0
    scaled(-1.0, work.hat, mu)
    lu_solve(T, tangent_work.pivot, mu)
    _pull_norms(work.open_tree, tangent_work.weight, state, mu, adj)
    acceleration_pull_back.pull_equations(model, theta, t, state, work, adj)
    copy_to(adj.zdd, work.elimination.x)
    add_scaled(g, adj.zd, work.elimination.x)
    add_scaled(g * g, adj.z, work.elimination.x)
    error = acceleration_pull_back.left_of(driver, adj.each, work.hat, work.elimination.x)
    pull_drive(model, theta, t, work.open_tree, state.z, state.zd, state.zdd, adj)
    add_scaled(g, adj.z, adj.zd)
    clear(adj.zdd)
    return True, error


@kernel
def _pull_norms(tree, weight, state, mu, adj):
    """Split the rows of mu: along e they belong to norm equations; those of driven coordinates to nothing."""
    for c in range(tree.driver.size):
        if tree.driver[c] != NONE:
            for g in range(0, adj.each.size, width(adj.each)):
                put(mu, c, block(adj.each, g), 0.0)
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e = load4(state.z, c)
        for g in range(0, adj.each.size, width(adj.each)):
            k = block(adj.each, g)
            along = inner4(e, load4_of(mu, c, k))
            for j in range(4):
                put(mu, c + j, k, at(mu, c + j, k) - e[j] / norm2(e) * along)
            acceleration_pull_back.pull_norm(state, c, k, weight[s] * along, adj)


pull_implicit_stage = table_by_type(
    "work",
    "pull_implicit_stage",
    "Pull adjoints of Z' and A back to zhat, vhat and theta; whether the tangent is regular, and an error.",
    {PulledAccelerations: _pull_open_stage, PulledLoops: pull_loop_stage},
)

# Functions that ``sweep_steps`` chooses by the method ----------------------------------------------------------------
# Behind the rates of the stages stand those of the end, and the first rates of the interpolant


def end_of(tableau):
    """See ``runge_kutta_adjoint``; so for all functions here."""
    return tableau.c.size


def stand_at_stage(model, theta, t, taken, tableau, stage, tree, work):
    last = tableau.c.size
    row, count = (last - 1, last) if stage == last else (stage, stage + 1)
    runge_kutta_adjoint.stand_at_sum(model, theta, t, taken, tableau.a[row, :count], stage, last, tree, work)


def pull_stage(model, theta, t, h, tableau, stage, state, work, adj):
    if stage == tableau.c.size:
        return runge_kutta_adjoint.pull_accelerations(model, theta, t, state, work.accelerations, adj)
    g = h * tableau.a[stage, stage]
    return pull_implicit_stage(model, theta, t, g, state, work.tangent, work.accelerations, adj)


def give_stage(model, theta, t, h, tableau, stage, pulled, work, adj, step):
    last = tableau.c.size
    row, count = (last - 1, last) if stage == last else (stage, stage)
    runge_kutta_adjoint.give_sum(model, theta, t, h, tableau.a[row, :count], stage == last, pulled, work, adj, step)


def stand_inside(model, theta, t, x, taken, tableau, tree, work):
    raw, begin, end, last, (h, z, zd, zdd) = work.raw, work.begin, work.end, tableau.c.size, taken
    runge_kutta_adjoint.combine_taken(taken, tableau.a[last - 1, :last], work)
    runge_kutta_adjoint.stand_on_manifold(model, theta, t - x * h + h, True, tree, raw, end)
    copy_to(zdd[last - 1], end.zdd)
    copy_to(z, begin.z)
    copy_to(zd[0], begin.zd)
    copy_to(zdd[last + 1], begin.zdd)
    interpolate_motion(x, h, begin, end, raw)
    runge_kutta_adjoint.stand_on_manifold(model, theta, t, True, tree, raw, work.state)


def give_inside(model, theta, t, x, h, tableau, pulled, work, adj, step):
    last, bend = tableau.c.size, step.accelerations
    runge_kutta_adjoint.pull_normalised(model, theta, t, pulled, work.raw, work.state, adj)
    pull_between(x, h, adj.z, adj.zd, step.z0, step.zd0, bend[last + 1], step.z, step.zd, bend[last - 1])


def give_earlier(tableau, starts, step):
    """The interpolant begins with z'' of the last stage before, or with that of the start."""
    last = tableau.c.size
    add_scaled(1.0, step.earlier, step.zdd if starts else step.accelerations[last - 1])
