"""Pull-back of single time points: adjoints of sensors and equations become such of the motion and of numbers."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to, is_nothing
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.forces import expect_recorded
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import clear_bodies, clear_motion
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints, Virtual
from mbsim_cli.kernels.algorithms.reactions.systems import pull_read
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.drivers.balance import evaluate_with_mass, find_recorded_forces, stand_at, take_solution
from mbsim_cli.kernels.drivers.record import recorded_motion
from mbsim_cli.model.codes import Status


class Asked(NamedTuple):
    """Adjoints of p columns at N time points; those that nothing asks for have no rows."""

    sensors: np.ndarray  # (N, width, p) of sensors
    mu: np.ndarray  # (N, n, p) of the residual G
    nu: np.ndarray  # (N, m, p) of Phi, where there is mu
    nu1: np.ndarray  # (N, m, p) of Phi'
    nu2: np.ndarray  # (N, m, p) of Phi'', where there is nu1


@entry
def pull_time_points(model, theta, record, asked, work, pulling, out):
    """Fill ``out`` (MotionAdjoints) at every row of a record, each for itself; ``pulling.adj.theta`` is summed."""
    kin, comp, eq, state, adj = work.kin, work.comp, work.eq, work.state, pulling.adj
    for row in range(record.time.size):
        t = record.time[row]
        stand_at(record, row, record.acceleration[row], record.lam[row], kin, state)
        system.evaluate(model, theta, t, False, state, kin, comp, eq)
        system.move_columns(model, theta, state, kin)
        clear_motion(adj)
        if asked.mu.shape[0] > 0:
            copy_to(asked.mu[row], pulling.virtual.mu)
            system.pull_residual(model, theta, t, state, eq, kin, comp, pulling.virtual, asked.nu[row], adj)
        if asked.nu1.shape[0] > 0:
            move_lines(model, theta, eq.lines, kin, eq.line_rates)
            system.pull_rates(model, theta, t, state, eq, kin, comp, pulling.none, asked.nu1[row], asked.nu2[row], adj)
        if asked.sensors.shape[0] > 0:
            system.read_sensors(model, theta, t, state, record.reaction[row], kin, work.sensors)
            system.pull_readings(model, theta, t, state, kin, comp, pulling.none, asked.sensors[row], adj)
        copy_to(adj.z, out.z[row])
        copy_to(adj.zd, out.zd[row])
        copy_to(adj.zdd, out.zdd[row])
        copy_to(adj.lam, out.lam[row])


# Pull-back of reactions at stored time points of any motion; nothing runs where no objective reads a reaction.


class ReactionWork(NamedTuple):
    """Work of pull-backs of p columns."""

    adj: Adjoints  # theta is summed over time points
    virtual: Virtual
    none: Virtual  # without motion
    no_nu: np.ndarray  # (m, p) zeros
    beside: np.ndarray  # (m,) multipliers of what acts beside the joints


class MotionAdjoints(NamedTuple):
    """Adjoints of the motion at N time points, with p columns."""

    z: np.ndarray  # (N, n, p)
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray  # (N, m, p)


@entry
def pull_back_reactions(model, theta, reactions, work, pulling, record, multiplier, hat, out):
    """Fill ``out`` from adjoints hat (N, width, p) of the reactions; ``multiplier`` (N, m) as they are read with."""
    adj = pulling.adj
    for row in range(record.time.size):
        state, acting = find_recorded_forces(model, theta, False, record, row, multiplier[row], work)
        clear_bodies(adj)
        clear_motion(adj)
        pull_read(model, theta, reactions, record.time[row], state, acting, pulling, hat[row], adj)
        copy_to(adj.z, out.z[row])
        copy_to(adj.zd, out.zd[row])
        copy_to(adj.zdd, out.zdd[row])
        copy_to(adj.lam, out.lam[row])


@entry
def pull_balance(model, theta, control, record, work, pulling, hat):
    """Replace adjoints of accelerations and multipliers in ``hat`` (MotionAdjoints) by more of z and z'.

    The record has what was found; ``pulling.adj.theta`` is summed. Returns as ``balance``. Derivation:
    docs/theory/reactions.md.
    """
    kin, comp, eq, state, factor = work.kin, work.comp, work.eq, work.state, work.projection
    columns, adj = work.columns, pulling.adj
    for row in range(record.time.size - 1, -1, -1):  # sums do not depend on where a run is cut
        if is_nothing(hat.zdd[row]) and is_nothing(hat.lam[row]):
            continue
        t = record.time[row]
        stand_at(record, row, record.acceleration[row], record.reaction[row], kin, state)
        evaluate_with_mass(model, theta, t, False, state, kin, comp, eq, factor)
        if not factor_penalised(control.projection_ratio, factor):
            return Status.SINGULAR.value, row
        copy_to(hat.zdd[row], columns.b)
        copy_to(hat.lam[row], columns.e)
        clear(pulling.virtual.mu)
        clear(pulling.nu2)
        take_solution(model, theta, state.z, True, kin, factor, columns, pulling.virtual.mu, pulling.nu2)
        copy_to(hat.z[row], adj.z)
        copy_to(hat.zd[row], adj.zd)
        clear(adj.zdd)
        system.pull_residual(model, theta, t, state, eq, kin, comp, pulling.virtual, pulling.no_nu, adj)
        move_lines(model, theta, eq.lines, kin, eq.line_rates)
        system.pull_rates(model, theta, t, state, eq, kin, comp, pulling.none, pulling.no_nu, pulling.nu2, adj)
        copy_to(adj.z, hat.z[row])
        copy_to(adj.zd, hat.zd[row])
        clear(hat.zdd[row])
        clear(hat.lam[row])
    return Status.OK.value, 0


@kernel
def pull_row(model, theta, record, row, of_sensors, given, kin, comp, shown, none, adj):
    """Add to ``adj`` adjoints ``of_sensors`` (N, width, p), and ``given`` ones of the motion, N rows or none.

    Leaves the motion in ``kin``; ``shown`` (width,) is work.
    """
    t, state = record.time[row], recorded_motion(record, row)
    system.place(model, theta, state.z, False, kin)
    system.move(model, theta, state, kin)
    expect_recorded(record.expected, row, kin)
    if of_sensors.shape[1] > 0:
        system.read_sensors(model, theta, t, state, record.reaction[row], kin, shown)
        system.pull_readings(model, theta, t, state, kin, comp, none, of_sensors[row], adj)
    if given.z.shape[0] > 0:
        add_scaled(1.0, given.z[row], adj.z)
        add_scaled(1.0, given.zd[row], adj.zd)
        add_scaled(1.0, given.zdd[row], adj.zdd)
        add_scaled(1.0, given.lam[row], adj.lam)
