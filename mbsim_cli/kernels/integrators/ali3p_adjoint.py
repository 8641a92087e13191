"""Adjoint of one ALI3-P step: covectors of what it ends with, pulled back to what it begins with and to theta.

The transpose of ``ali3p_sensitivity``, of the discrete equations that were solved: covectors of z, z', z'' are handed
on from step to step, backwards; multipliers, predictor and penalties are means, and no covector passes through them.
One solution of each of the step's three systems serves all columns. Derivation: docs/theory/adjoint.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel, merged
from mbsim_cli.kernels.algebra.whole import add_scaled, clear, copy_to, scaled
from mbsim_cli.kernels.algorithms.constrained_solve import factor_penalised, solve_constrained
from mbsim_cli.kernels.algorithms.constraint_pull_back import pull_constraint_rates, pull_constraints
from mbsim_cli.kernels.algorithms.constraints import move_lines
from mbsim_cli.kernels.algorithms.force_pull_back import pull_element_forces
from mbsim_cli.kernels.algorithms.forces import clear_wrenches, constraint_forces
from mbsim_cli.kernels.algorithms.inverse_dynamics import residual
from mbsim_cli.kernels.algorithms.kinematics import motion_kinematics
from mbsim_cli.kernels.algorithms.newton_matrix import composite_inertia, mass_matrix, newton_matrix
from mbsim_cli.kernels.algorithms.tree_pull_back import (
    clear_bodies,
    pull_bodies,
    pull_gravity,
    pull_tree,
    virtual_motion,
)
from mbsim_cli.kernels.integrators.ali3p import evaluate, factor_tangent
from mbsim_cli.model.codes import Status


class AdjointWork(NamedTuple):
    """Work of a backward sweep with p columns, ``_simd.padded``."""

    kin: tuple  # Kinematics
    still: tuple  # those of systems at rest: other V, A, S', S'', and the ground without gravity
    comp: tuple
    eq: tuple
    tangent: tuple  # Factor
    projection: tuple  # Factor
    columns: tuple
    state: tuple  # State before the projections
    seen: np.ndarray  # (width,) sensors


class Pulling(NamedTuple):
    """Covectors that go backwards in time, and what pulls them."""

    cov: tuple  # Covectors of the motion: z, zd, zdd of the step's end, then of its beginning; theta since the end
    rest: tuple  # those of systems at rest: the same but for rates
    virtual: tuple  # Virtual
    none: tuple  # Virtual without motion
    nu: np.ndarray  # (m, p) covectors of equations
    no_nu: np.ndarray  # (m, p) zeros
    no_rate: np.ndarray  # (n,) zeros


@merged
def pull_projections(model, theta, t, control, z, zd, zdd, sigma, kappa, corrections, work, pulling):
    """Pull covectors of the projected z', z'' back to z, to the rates before projection and to theta.

    Needs the projected motion in ``kin``, and the constraints there. ``cov.lam`` are covectors of lambda + kappa, or of
    lambda alone where the projection is not mass-orthogonal. Returns a Status and the size of what was left unsolved.
    """
    kin, comp, eq, factor, columns, cov = work.kin, work.comp, work.eq, work.projection, work.columns, pulling.cov
    if control.mass_projection:
        composite_inertia(model.tree, kin, comp)
        mass_matrix(model.tree, kin, comp, factor.T)
    else:
        _unit_matrix(factor.T)
    if not factor_penalised(control.projection_ratio, factor):
        return Status.SINGULAR, 1.0
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    copy_to(cov.zdd, columns.b)
    scaled(1.0 if control.mass_projection else 0.0, cov.lam, columns.e)
    error = solve_constrained(factor, control.gradient_tolerance, columns)
    scaled(-1.0, columns.mu, pulling.nu)
    scaled(-1.0, columns.x, pulling.virtual.mu)
    clear_bodies(cov)
    pull_constraint_rates(
        model, theta, t, z, zd, zdd, kin, eq.lines, eq.line_rates, pulling.no_nu, pulling.nu, cov
    )  # fmt: skip
    pull_tree(model.tree, theta, z, kin, comp, pulling.none, cov)

    copy_to(cov.zd, columns.b)
    clear(columns.e)
    error = max(error, solve_constrained(factor, control.gradient_tolerance, columns))
    scaled(-1.0, columns.mu, pulling.nu)
    clear_bodies(cov)
    pull_constraint_rates(
        model, theta, t, z, zd, zdd, kin, eq.lines, eq.line_rates, pulling.nu, pulling.no_nu, cov
    )  # fmt: skip
    pull_tree(model.tree, theta, z, kin, comp, pulling.none, cov)

    pull_at_rest(model, theta, t, z, corrections[1], kappa, control.mass_projection, work, pulling)
    scaled(-1.0, columns.x, pulling.virtual.mu)
    pull_at_rest(model, theta, t, z, corrections[0], sigma, control.mass_projection, work, pulling)
    return Status.OK, error


@kernel
def _unit_matrix(out):
    clear(out)
    for i in range(out.shape[0]):
        out[i, i] = 1.0


@kernel
def pull_at_rest(model, theta, t, z, x, multiplier, inert, work, pulling):
    """Add the pull-back of mu . (M x + Phi_z^T multiplier) at fixed x and multiplier; not ``inert``: of no mass."""
    tree, still, comp, eq, rest = model.tree, work.still, work.comp, work.eq, pulling.rest
    motion_kinematics(tree, theta, z, pulling.no_rate, x if inert else pulling.no_rate, still)
    clear_wrenches(comp.W, eq.Q)
    constraint_forces(model, theta, z, still, multiplier, eq.lines, comp.W, eq.Q)
    residual(tree, still, comp, eq.Q, eq.G)
    virtual_motion(tree, still, pulling.virtual)
    clear_bodies(rest)
    pull_bodies(tree, theta, still, pulling.virtual, rest)
    pull_constraints(model, theta, t, z, still, eq.lines, multiplier, pulling.virtual, pulling.no_nu, rest)
    pull_tree(tree, theta, z, still, comp, pulling.virtual, rest)


@merged
def pull_motion(model, theta, t, control, work, pulling):
    """Pull covectors of z, z'* and z''* back through the step to those of the step before, and to theta.

    ``work.state`` is the step's end before its projections. Returns a Status and the size of what was left unsolved.
    """
    h, kin, comp, eq, factor, columns = control.h, work.kin, work.comp, work.eq, work.tangent, work.columns
    state, cov, q = work.state, pulling.cov, 0.25 * control.h * control.h
    evaluate(model, theta, t, False, state, kin, comp, eq)
    newton_matrix(model, theta, t, h, state.z, state.zd, eq.lines, state.lam, eq.no_eta, kin, comp, factor.T)
    _transpose(factor.T)
    if not factor_tangent(control.ratio, eq, factor):
        return Status.SINGULAR, 1.0
    copy_to(cov.zdd, columns.b)
    add_scaled(0.5 * h, cov.zd, columns.b)
    add_scaled(q, cov.z, columns.b)
    copy_to(cov.lam, columns.e)
    error = solve_constrained(factor, control.gradient_tolerance, columns)
    scaled(-1.0, columns.x, pulling.virtual.mu)
    scaled(-1.0 / q, columns.mu, pulling.nu)
    virtual_motion(model.tree, kin, pulling.virtual)
    clear_bodies(cov)
    pull_bodies(model.tree, theta, kin, pulling.virtual, cov)
    pull_element_forces(model, theta, t, state.z, state.zd, kin, pulling.virtual, cov)
    pull_constraints(model, theta, t, state.z, kin, eq.lines, state.lam, pulling.virtual, pulling.nu, cov)
    pull_tree(model.tree, theta, state.z, kin, comp, pulling.virtual, cov)
    pull_gravity(cov)
    # what is left of zdd^ is minus that of the accelerations before: the equations that mu solves
    scaled(q, cov.z, cov.zdd)
    add_scaled(0.5 * h, cov.zd, cov.zdd)
    add_scaled(h, cov.z, cov.zd)
    clear(cov.lam)
    return Status.OK, error


@kernel
def _transpose(T):
    for i in range(T.shape[0]):
        for j in range(i):
            T[i, j], T[j, i] = T[j, i], T[i, j]
