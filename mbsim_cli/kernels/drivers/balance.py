"""Forces at stored time points: accelerations and multipliers by the equations of motion, and reactions of joints.

Those of a step of ALI3-P belong to its velocities before their projection. Derivation: docs/theory/reactions.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to
from mbsim_cli.kernels.algebra.linear_solve import factor_range, keep_in_range
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.forces import expect_recorded
from mbsim_cli.kernels.algorithms.equations.signals import loads_settled, take_loads, with_loads
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion
from mbsim_cli.kernels.algorithms.reactions.reactions import multiplier_forces, react
from mbsim_cli.kernels.algorithms.reactions.systems import acting_at, find_forces, vary_read
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, inlined, kernel
from mbsim_cli.kernels.compiler.simd import as_column
from mbsim_cli.kernels.drivers.record import recorded_motion
from mbsim_cli.model.codes import Status


class Balanced(NamedTuple):
    """Solutions at N time points, or their derivatives with a trailing axis of p directions."""

    zdd: np.ndarray  # (N, n)
    lam: np.ndarray  # (N, m)


CLOSE = 1e-6  # tolerance of one solution, relative
ROUNDS = 3  # solutions: the first, and refinements
LOADED = 12  # iterations, at most, where forces read multipliers
SOLVED = 1e-3  # relative residual of constraints, at most: mostly 1e-30, near singular positions up to 1e-7
ROUND_OFF = 1e-15  # of positions
NOTHING = 1e-300  # added to a divisor that may be zero


@entry
def balance(model, theta, control, directions, state, work, extra, record, d_record, found, d_found, left):
    """Replace estimates in ``found`` and ``d_found`` (Balanced); return a Status, and the row that it belongs to.

    ``left`` (m,) receives what is left of each constraint there, as ``share_left`` says.
    """
    kin, eq, factor, varied = work.kin, work.eq, work.projection, directions.dtheta.shape[1] > 0
    for row in range(record.time.size):
        t = record.time[row]
        stand_at(record, row, found.zdd[row], found.lam[row], kin, state)
        for _ in range(LOADED):
            evaluate_with_mass(model, theta, t, control.at_center, state, kin, work.comp, eq, factor)
            if not factor_penalised(control.projection_ratio, factor):
                return Status.SINGULAR.value, row
            system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
            copy_to(eq.G, work.column.b)
            copy_to(eq.phi2, work.column.e)
            x, mu = as_column(state.zdd), as_column(state.lam)
            if not take_solution(model, theta, state.z, False, kin, factor, work.column, x, mu):
                return Status.SINGULAR.value, row
            if loads_settled(model, state.lam, kin):
                break
        if share_left(factor, ROUND_OFF / control.h**2, state, work.column.e, left) > SOLVED:
            return Status.NO_CONVERGENCE.value, row
        if control.redundant:
            factor_range(eq.J, work.normal)
            keep_in_range(eq.J, work.normal, as_column(state.lam), work.column)
        copy_to(state.zdd, found.zdd[row])
        copy_to(state.lam, found.lam[row])
        if varied:
            sens = LoadedMotion(d_record.position[row], d_record.velocity[row], d_found.zdd[row], d_found.lam[row])
            evaluate_with_mass(model, theta, t, control.at_center, state, kin, work.comp, eq, factor)
            _vary(model, theta, t, directions, state, sens, kin, work.comp, eq, factor, extra)
            if control.redundant:
                keep_in_range(eq.J, work.normal, sens.lam, extra.columns)
    return Status.OK.value, 0


@kernel
def stand_at(record, row, zdd, lam, kin, state):
    """Go to the position and velocity of a row, with accelerations and multipliers."""
    copy_to(record.position[row], state.z)
    copy_to(record.velocity[row], state.zd)
    copy_to(zdd, state.zdd)
    copy_to(lam, state.lam)
    expect_recorded(record.expected, row, kin)


@kernel
def evaluate_with_mass(model, theta, t, at_center, state, kin, comp, eq, factor):
    """Equations at the state, and M in ``factor.T``."""
    system.evaluate(model, theta, t, at_center, state, kin, comp, eq)
    system.tangent(model, theta, t, 0.0, 0.0, state, eq.lines, state.lam, kin, comp, factor.T)


@kernel
def take_solution(model, theta, z, transposed, kin, factor, columns, x_out, mu_out):
    """Subtract x and mu of all right-hand sides from ``x_out`` and ``mu_out``; b and e become their residuals.

    Where constraints carry nearly all of b, x is small, and its tolerance says little of mu: solutions are refined.
    Returns whether a solution is found.
    """
    for _ in range(ROUNDS):
        solve_constrained(factor, CLOSE, columns)
        if not with_loads(model, theta, z, transposed, factor, kin, columns):
            return False
        add_scaled(-1.0, columns.x, x_out)
        add_scaled(-1.0, columns.mu, mu_out)
        _take_forces(factor, columns)
        take_loads(model, transposed, kin, columns)
    return True


@kernel
def share_left(factor, floor, state, e, left_out):
    """Violation |e| of each constraint over sum |J| (|z''| + |J^T lambda| / weight + floor); returns the largest.

    The equations of motion hold after every update, so that constraints alone tell whether their forces are found.
    Accelerations of ``floor``, in 1/s^2, count as round-off.
    """
    J, lam = factor.J, state.lam
    clear(left_out)
    for c in range(state.zdd.size):
        force = 0.0 * state.zdd[c]
        for r in range(lam.size):
            force += J[r, c] * lam[r]
        met = np.abs(state.zdd[c]) + np.abs(force) / factor.weight[c] + floor * (1.0 + np.abs(state.z[c]))
        for r in range(lam.size):
            left_out[r] += np.abs(J[r, c]) * met
    most = 0.0
    for r in range(lam.size):
        left_out[r] = np.abs(e[r, 0]) / (left_out[r] + NOTHING)
        most = max(most, left_out[r])
    return most


@kernel
def _take_forces(factor, columns):
    """b -= T x + J^T mu, e -= J x."""
    T, J, b, e, x, mu = factor.T, factor.J, columns.b, columns.e, columns.x, columns.mu
    n, p = x.shape
    for i in range(n):
        for j in range(n):
            for k in range(p):
                b[i, k] -= T[i, j] * x[j, k]
    for r in range(e.shape[0]):
        for i in range(n):
            for k in range(p):
                b[i, k] -= J[r, i] * mu[r, k]
                e[r, k] -= J[r, i] * x[i, k]


@kernel
def _vary(model, theta, t, directions, state, sens, kin, comp, eq, factor, extra):
    """Derivatives of accelerations and multipliers, at the state evaluated last."""
    columns, resting = extra.projections.acceleration, extra.resting
    system.vary_bodies_of(model, theta, directions, state, kin, sens, extra.twists)
    system.vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, extra.twists, columns.b)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    system.vary_rates(model, theta, directions, t, state, sens, eq, kin, extra.twists, resting.velocity.dphi, columns.e)
    clear(sens.lam)
    take_solution(model, theta, state.z, False, kin, factor, columns, sens.zdd, sens.lam)


# Reactions and their sensitivities at stored time points of any analysis. Without reactions nothing of this runs.
#
# ``work`` is that of a motion, ``tw`` the twists, ``dQ`` (n, p) the variation of forces on coordinates.


@inlined
def find_recorded_forces(model, theta, at_center, record, row, multiplier, work):
    """Evaluate the motion at a row of a record, and all forces there by the multipliers (m,); return both."""
    kin, comp, eq = work.kin, work.comp, work.eq
    t, state = record.time[row], recorded_motion(record, row)
    system.place(model, theta, state.z, at_center, kin)
    system.move(model, theta, state, kin)
    system.constrain(model, theta, t, state.z, kin, eq)
    expect_recorded(record.expected, row, kin)
    acting = acting_at(model, LoadedMotion(state.z, state.zd, state.zdd, multiplier), kin, comp, eq)
    find_forces(model, theta, t, acting)
    return state, acting


@entry
def observe_reactions(
    model, theta, reactions, at_center, directions, work, tw, dQ, record, d_record, multiplier, d_multiplier, out, d_out
):
    """Fill out (N, width), with directions d_out (N, width, p), by multipliers (N, m) of the model's equations."""
    for row in range(record.time.size):
        state, acting = find_recorded_forces(model, theta, at_center, record, row, multiplier[row], work)
        react(model, theta, reactions, acting, out[row])
        if directions.dtheta.shape[1] > 0:
            dz, dzd, dzdd = d_record.position[row], d_record.velocity[row], d_record.acceleration[row]
            sens = LoadedMotion(dz, dzd, dzdd, d_multiplier[row])
            system.vary_bodies_of(model, theta, directions, state, work.kin, sens, tw)
            vary_read(model, theta, directions, reactions, record.time[row], acting, sens, tw, dQ, d_out[row])


@entry
def constraint_jacobians(model, theta, at_center, work, time, position, J_out):
    """Phi_z (N, m, n) at many time points."""
    for row in range(time.size):
        system.place(model, theta, position[row], at_center, work.kin)
        system.constrain(model, theta, time[row], position[row], work.kin, work.eq)
        copy_to(work.eq.J, J_out[row])


@entry
def reactions_to(model, theta, reactions, at_center, work, time, position, multiplier, out):
    """Reactions out (N, k, width) to multipliers (N, k, m) alone: how they change while the motion stays."""
    kin, comp, eq = work.kin, work.comp, work.eq
    for row in range(time.size):
        z = position[row]
        system.place(model, theta, z, at_center, kin)
        system.constrain(model, theta, time[row], z, kin, eq)
        for k in range(multiplier.shape[1]):
            state = LoadedMotion(z, z, z, multiplier[row, k])  # of which z and the multipliers are read
            acting = acting_at(model, state, kin, comp, eq)
            multiplier_forces(model, theta, acting)
            react(model, theta, reactions, acting, out[row, k])
