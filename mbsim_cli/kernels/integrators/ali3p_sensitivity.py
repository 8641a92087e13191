"""Direct sensitivities of one ALI3-P step: the derivative of the discrete equations that were solved.

Paper 000, equations (14)-(18). One variation of the residual at the predictor gives the whole right-hand
side; its solution is taken away, like the correction of the motion. Derivation: docs/theory/sensitivities.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import add_scaled, scale, scaled
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import solve_change
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.loads import find_loads, with_loads
from mbsim_cli.kernels.algorithms.equations.resting_variation import Load
from mbsim_cli.kernels.algorithms.systems.contract import (
    load,
    move,
    vary_at_rest,
    vary_bodies_of,
    vary_equations,
    vary_rates,
    vary_rates_with_velocity,
    vary_residual,
)
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.integrators.ali3p import factor_tangent, trapezoidal_tangent
from mbsim_cli.model.codes import Status


class Sensitivity(NamedTuple):
    """Derivatives of ``State`` in p directions."""

    z: np.ndarray  # (n, p)
    zd: np.ndarray  # (n, p)
    zdd: np.ndarray  # (n, p)
    lam: np.ndarray  # (m, p)
    sigma: np.ndarray  # (m, p)
    kappa: np.ndarray  # (m, p)


class Directions(NamedTuple):
    """Directions of differentiation, and work for the projections."""

    dtheta: np.ndarray  # (len(theta), p), p ``simd.padded``
    touch: tuple  # workspace.Touch
    still: np.ndarray  # (2, n) zeros


class OfProjections(NamedTuple):
    """Something of each of the two projections."""

    velocity: tuple
    acceleration: tuple


@kernel
def predict_sensitivities(h, sens):
    """Move z, z' on with the accelerations of the step before."""
    add_scaled(h, sens.zd, sens.z)
    add_scaled(0.5 * h * h, sens.zdd, sens.z)
    add_scaled(h, sens.zdd, sens.zd)


@merged
def vary_motion(model, theta, t, control, directions, state, sens, kin, comp, eq, factor, columns, tw):
    """Take away what z'' of the sensitivities has too much at the state that Newton has ended with.

    The tangent there goes to ``factor``. Returns a Status and the relative size of the last correction.
    """
    dtheta, touch, h = directions.dtheta, directions.touch, control.h
    load(model, theta, t, state, kin, comp, eq)
    trapezoidal_tangent(model, theta, t, h, state, eq, kin, comp, factor)
    if not factor_tangent(control.ratio, eq, factor):
        return Status.SINGULAR, 1.0
    vary_bodies_of(
        model, theta, dtheta, touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, tw
    )  # fmt: skip
    vary_equations(model, theta, dtheta, touch, eq.lines, t, state.z, sens.z, kin, tw, columns.e)
    scale(4.0 / (h * h), columns.e)
    vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, columns.b)
    error = solve_change(factor, control.ratio, control.gradient_tolerance, sens.zdd, columns)
    find_loads(model, theta, state.z, kin)
    if not with_loads(model, False, factor, kin, columns):
        return Status.SINGULAR, 1.0
    add_scaled(-0.25 * h * h, columns.x, sens.z)
    add_scaled(-0.5 * h, columns.x, sens.zd)
    add_scaled(-1.0, columns.x, sens.zdd)
    scaled(-1.0, columns.mu, sens.lam)
    return Status.OK, error


@merged
def vary_projections(
    model, theta, t, control, directions, corrections, state, sens, kin, comp, eq, factor, columns, tw, resting
):
    """Sensitivities of the projected z', z'' and of sigma, kappa; ``corrections`` (2, n) are the motion's.

    The identity in place of M does not vary, as if there were no corrections. Phi'' is varied with the velocities
    before their projection, and then with what that changes. ``columns`` of both solutions have ``resting`` for b, e.
    """
    move(model, theta, state.z, state.zd, state.zdd, kin)
    dtheta, touch = directions.dtheta, directions.touch
    x = corrections if control.mass_projection else directions.still
    vary_bodies_of(
        model, theta, dtheta, touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, tw
    )  # fmt: skip
    velocity, acceleration = Load(x[0], state.sigma), Load(x[1], state.kappa)
    vary_at_rest(
        model, theta, dtheta, touch, eq.lines, state, sens.z, kin, comp, tw, velocity, acceleration, resting.velocity,
        resting.acceleration,
    )  # fmt: skip
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    vary_rates(
        model, theta, dtheta, touch, eq, t, state, sens, kin, tw, resting.velocity.dphi, resting.acceleration.dphi
    )  # fmt: skip
    ratio, tolerance = control.projection_ratio, control.gradient_tolerance
    error = solve_change(factor, ratio, tolerance, sens.zd, columns.velocity)
    add_scaled(-1.0, columns.velocity.x, sens.zd)
    scaled(-1.0, columns.velocity.mu, sens.sigma)
    vary_rates_with_velocity(
        -1.0, model, theta, eq, state.zd, columns.velocity.x, kin, tw, columns.acceleration.e
    )  # fmt: skip
    error = max(error, solve_change(factor, ratio, tolerance, sens.zdd, columns.acceleration))
    add_scaled(-1.0, columns.acceleration.x, sens.zdd)
    scaled(-1.0, columns.acceleration.mu, sens.kappa)
    return error
