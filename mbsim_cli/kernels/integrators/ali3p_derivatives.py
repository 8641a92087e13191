"""Derivatives of one ALI3-P step: sensitivities and adjoint."""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to, scaled, set_identity
from mbsim_cli.kernels.algebra.linear_solve import transpose
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import (
    Columns,
    Factor,
    factor_penalised,
    solve_change,
    solve_constrained,
)
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.residual_variation import Load
from mbsim_cli.kernels.algorithms.equations.signals import forget_multipliers, with_loads
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints, Kinematics, LoadedMotion, Virtual, motion_alone
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.integrators.ali3p import Equations, State
from mbsim_cli.model.codes import Status

# Sensitivities --------------------------------------------------------------------------------------------------------
#
# The derivative of the discrete equations that were solved: paper 000, equations (14)-(18). One variation of the
# residual at the predictor gives the whole right-hand side; its solution is taken away, like the correction of the
# motion. Derivation: docs/theory/sensitivities.md.


class Sensitivity(NamedTuple):
    """Derivatives of ``State`` in p directions."""

    z: np.ndarray  # (n, p)
    zd: np.ndarray  # (n, p)
    zdd: np.ndarray  # (n, p)
    lam: np.ndarray  # (m, p)
    sigma: np.ndarray  # (m, p)
    kappa: np.ndarray  # (m, p)


class OfProjections(NamedTuple):
    """Something of each of the two projections."""

    velocity: Any
    acceleration: Any


@merged
def vary_motion(model, theta, t, control, directions, state, sens, work, extra):
    """Sensitivities of the motion at the state that Newton has ended with, from those of the step before.

    They are predicted by the accelerations of the step before; the error of dz'' is solved for and subtracted.
    The tangent there goes to ``extra.tangent``; ``work`` and ``extra`` are those of ``drivers.simulate``. Returns a
    Status and the relative size of the last correction.
    """
    h = control.h
    kin, comp, eq, factor, columns, tw = work.kin, work.comp, work.eq, extra.tangent, extra.columns, extra.twists
    add_scaled(h, sens.zd, sens.z)
    add_scaled(0.5 * h * h, sens.zdd, sens.z)
    add_scaled(h, sens.zdd, sens.zd)
    system.load(model, theta, t, state, kin, comp, eq)
    system.tangent(model, theta, t, 0.5 * h, 0.25 * h * h, state, eq.lines, state.lam, kin, comp, factor.T)
    if not factor_penalised(control.ratio, factor):
        return Status.SINGULAR, 1.0
    system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
    system.vary_equations(model, theta, directions, t, state.z, sens.z, eq.lines, kin, tw, columns.e)
    scaled(4.0 / (h * h), columns.e, columns.e)
    system.vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, columns.b)
    error = solve_change(factor, control.ratio, control.gradient_tolerance, sens.zdd, columns)
    if not with_loads(model, theta, state.z, False, factor, kin, columns):
        return Status.SINGULAR, 1.0
    add_scaled(-0.25 * h * h, columns.x, sens.z)
    add_scaled(-0.5 * h, columns.x, sens.zd)
    add_scaled(-1.0, columns.x, sens.zdd)
    scaled(-1.0, columns.mu, sens.lam)
    return Status.OK, error


@merged
def vary_projections(model, theta, t, control, directions, state, sens, work, extra):
    """Sensitivities of the projected z', z'' and of sigma, kappa, from those of the motion before its projection.

    The identity in place of M does not vary, as if there were no corrections. Phi'' is varied with the velocities
    before their projection, and then with what that changes. ``extra.projections`` have ``extra.resting`` for b, e.
    """
    kin, comp, eq, factor, tw = work.kin, work.comp, work.eq, work.projection, extra.twists
    columns, resting = extra.projections, extra.resting
    system.move(model, theta, state, kin)
    x = work.corrections if control.mass_projection else extra.still
    system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
    loads, rests = (Load(x[0], state.sigma), Load(x[1], state.kappa)), (resting.velocity, resting.acceleration)
    system.vary_at_rest(model, theta, directions, state.z, sens.z, eq.lines, kin, comp, tw, loads, rests)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    system.vary_rates(
        model, theta, directions, t, state, sens, eq, kin, tw, resting.velocity.dphi, resting.acceleration.dphi
    )
    ratio, tolerance = control.projection_ratio, control.gradient_tolerance
    error = solve_change(factor, ratio, tolerance, sens.zd, columns.velocity)
    add_scaled(-1.0, columns.velocity.x, sens.zd)
    scaled(-1.0, columns.velocity.mu, sens.sigma)
    system.vary_rates_with_velocity(
        -1.0, model, theta, eq, state.zd, columns.velocity.x, kin, tw, columns.acceleration.e
    )
    error = max(error, solve_change(factor, ratio, tolerance, sens.zdd, columns.acceleration))
    add_scaled(-1.0, columns.acceleration.x, sens.zdd)
    scaled(-1.0, columns.acceleration.mu, sens.kappa)
    return error


# Adjoint --------------------------------------------------------------------------------------------------------------
#
# The transpose of the sensitivities, of the discrete equations that were solved: adjoints of z, z', z'' are handed
# on from step to step, backwards; multipliers, predictor and penalties are means, and no adjoint passes through them.
# One solution of each of the step's three systems serves all columns. Derivation: docs/theory/adjoint.md.


class AdjointWork(NamedTuple):
    """Work of a backward sweep with p columns, ``simd.padded``."""

    kin: Kinematics
    still: Kinematics  # those of systems at rest: other V, A, S', S'', and the ground without gravity
    comp: Any
    eq: Equations
    tangent: Factor
    projection: Factor
    columns: Columns
    state: State  # before the projections
    sensors: np.ndarray  # (width,)


class Pulling(NamedTuple):
    """Adjoints that go backwards in time, and what pulls them."""

    adj: Adjoints  # of the motion: z, zd, zdd of the step's end, then of its beginning; theta since the end
    rest: Adjoints  # those of systems at rest: the same but for rates
    virtual: Virtual
    none: Virtual  # without motion
    nu: np.ndarray  # (m, p) adjoints of equations, or of Phi'
    nu2: np.ndarray  # (m, p) of Phi''
    no_nu: np.ndarray  # (m, p) zeros
    no_rate: np.ndarray  # (n,) zeros


@merged
def pull_projections(model, theta, t, control, state, corrections, work, pulling):
    """Pull adjoints of the projected z', z'' back to z, to the rates before projection and to theta.

    ``state`` is the projected one, ``corrections`` (2, n) what the projections added. Needs this motion in ``kin``, and
    the constraints there. Returns a Status and the relative residual.
    """
    kin, comp, eq, factor, columns, adj = work.kin, work.comp, work.eq, work.projection, work.columns, pulling.adj
    none = pulling.no_rate
    x, y = (corrections[0], corrections[1]) if control.mass_projection else (none, none)
    if control.mass_projection:
        system.shape(model, theta, kin)
        system.compose(model, kin, comp)
        system.mass(model, theta, kin, comp, factor.T)
    else:
        set_identity(factor.T)
    if not factor_penalised(control.projection_ratio, factor):
        return Status.SINGULAR, 1.0
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    copy_to(adj.zdd, columns.b)
    clear(columns.e)
    error = solve_constrained(factor, control.gradient_tolerance, columns)
    scaled(-1.0, columns.x, pulling.virtual.mu)
    scaled(-1.0, columns.mu, pulling.nu2)
    copy_to(adj.zd, columns.b)
    system.pull_rates_with_velocity(model, theta, state.zd, eq, kin, pulling.nu2, adj, columns.b)
    error = max(error, solve_constrained(factor, control.gradient_tolerance, columns))
    scaled(-1.0, columns.mu, pulling.nu)
    system.pull_rates(model, theta, t, motion_alone(state), eq, kin, comp, pulling.none, pulling.nu, pulling.nu2, adj)
    _pull_projection(model, theta, t, LoadedMotion(state.z, none, y, state.kappa), work, pulling)
    scaled(-1.0, columns.x, pulling.virtual.mu)
    _pull_projection(model, theta, t, LoadedMotion(state.z, none, x, state.sigma), work, pulling)
    return Status.OK, error


@kernel
def _pull_projection(model, theta, t, state, work, pulling):
    """Add the pull-back of a projection's equations; the identity in place of M does not vary, as if z'' were zero."""
    system.pull_at_rest(
        model, theta, t, state, work.eq, work.still, work.comp, pulling.virtual, pulling.no_nu, pulling.rest
    )


@merged
def pull_motion(model, theta, t, control, work, pulling):
    """Pull adjoints of z, z'* and z''* back through the step to those of the step before, and to theta.

    ``work.state`` is the step's end before its projections. Returns a Status and the relative residual.
    """
    h, kin, comp, eq, factor, columns = control.h, work.kin, work.comp, work.eq, work.tangent, work.columns
    state, adj, gamma = work.state, pulling.adj, 0.25 * control.h * control.h
    system.evaluate(model, theta, t, False, state, kin, comp, eq)
    system.tangent(model, theta, t, 0.5 * h, 0.25 * h * h, state, eq.lines, state.lam, kin, comp, factor.T)
    transpose(factor.T)
    if not factor_penalised(control.ratio, factor):
        return Status.SINGULAR, 1.0
    copy_to(adj.zdd, columns.b)
    add_scaled(0.5 * h, adj.zd, columns.b)
    add_scaled(gamma, adj.z, columns.b)
    clear(columns.e)
    error = solve_constrained(factor, control.gradient_tolerance, columns)
    if not with_loads(model, theta, state.z, True, factor, kin, columns):
        return Status.SINGULAR, 1.0
    scaled(-1.0, columns.x, pulling.virtual.mu)
    scaled(-1.0 / gamma, columns.mu, pulling.nu)
    system.pull_residual(model, theta, t, state, eq, kin, comp, pulling.virtual, pulling.nu, adj)
    forget_multipliers(model, adj)
    # mu solves zdd^ + h/2 zd^ + h^2/4 z^ = 0; the adjoint of the accelerations of the step before is -zdd^
    scaled(gamma, adj.z, adj.zdd)
    add_scaled(0.5 * h, adj.zd, adj.zdd)
    add_scaled(h, adj.z, adj.zd)
    return Status.OK, error
