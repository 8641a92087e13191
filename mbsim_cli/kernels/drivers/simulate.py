"""The compiled time loops of ALI3-P: motion alone, and motion with direct sensitivities.

Two drivers, so that a motion does not compile the sensitivities. Each advances many steps per call and
writes an instant every ``interval`` steps into the rows of a record.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels.algorithms.constraints import constraint_rates
from mbsim_cli.kernels.algorithms.sensor_variation import vary_sensors
from mbsim_cli.kernels.algorithms.sensors import kinetic_energy, other_power, potential_energy, sense
from mbsim_cli.kernels.algorithms.variation import vary_kinematics
from mbsim_cli.kernels.integrators.ali3p import evaluate, factor_tangent, newton, predict, project
from mbsim_cli.kernels.integrators.ali3p_sensitivity import vary_motion, vary_projections
from mbsim_cli.kernels.integrators.multiplier_range import keep_in_range
from mbsim_cli.model.codes import Status


class Record(NamedTuple):
    """Rows of stored instants, see ``model.problem.Block``."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    lam: np.ndarray
    sigma: np.ndarray
    kappa: np.ndarray
    sensors: np.ndarray
    iterations: np.ndarray
    drift: np.ndarray
    energy: np.ndarray


class SensitivityRecord(NamedTuple):
    """Rows of stored sensitivities, trailing axis of p parameters."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    lam: np.ndarray
    sensors: np.ndarray
    error: np.ndarray


class Work(NamedTuple):
    """Work arrays of the motion."""

    kin: tuple
    comp: tuple
    eq: tuple
    tangent: tuple
    projection: tuple
    column: tuple  # one column
    corrections: np.ndarray  # (2, n)


class SensitivityWork(NamedTuple):
    """Work arrays of the sensitivities."""

    still_kin: tuple
    comp: tuple
    eq: tuple
    columns: tuple
    twists: tuple


class Progress(NamedTuple):
    """Where a call stopped: the status, the steps done, and what the next call goes on with."""

    status: int
    steps: int
    scale: float
    fresh: bool
    iterations: int


@kernel
def run_motion(model, theta, control, first, steps, interval, progress, state, work, record):
    """Advance from step ``first``; the record receives the instants that are multiples of ``interval``."""
    scale, fresh, row, total = progress.scale, progress.fresh, 0, 0
    for step in range(first + 1, first + steps + 1):
        t = step * control.h
        predict(control.h, state)
        status, count, _, scale = newton(
            model, theta, t, control, scale, state, work.kin, work.comp, work.eq, work.tangent, work.column, fresh
        )
        total += count
        fresh = True
        if status == Status.OK:
            status = close_step(model, theta, t, control, state, work)
        if status != Status.OK:
            return Progress(status, step - first, scale, False, total)
        if step % interval == 0:
            write_row(model, theta, t, count, state, work, record, row)
            row += 1
    return Progress(Status.OK, steps, scale, fresh, total)


@kernel
def close_step(model, theta, t, control, state, work):
    """Projections, after which ``work.kin`` holds the motion of the step."""
    if control.redundant:
        _keep_multipliers(state.lam.reshape(-1, 1), work.eq, work.tangent, work.column, work.projection)
    if state.lam.size == 0:
        return Status.OK
    status = project(model, theta, t, control, state, work.kin, work.comp, work.eq, work.projection, work.column)
    for c in range(state.z.size):
        work.corrections[0, c] = work.eq.G[c]
        work.corrections[1, c] = work.eq.Q[c]
    return status


@kernel
def _keep_multipliers(lam, eq, tangent, columns, scratch):
    """The projection's factor is formed anew each step, so its storage serves as work here."""
    keep_in_range(eq.J, lam, scratch.lu, scratch.pivot, columns.x, columns.step)


@kernel
def write_row(model, theta, t, count, state, work, record, row):
    """Store the instant that ``work.kin`` holds."""
    record.time[row] = t
    for c in range(state.z.size):
        record.position[row, c] = state.z[c]
        record.velocity[row, c] = state.zd[c]
        record.acceleration[row, c] = state.zdd[c]
    for k in range(3):
        record.drift[row, k] = 0.0
    for r in range(state.lam.size):
        record.lam[row, r] = state.lam[r]
        record.sigma[row, r] = state.sigma[r]
        record.kappa[row, r] = state.kappa[r]
        record.drift[row, 0] = max(record.drift[row, 0], np.abs(work.eq.phi[r].real))
        record.drift[row, 1] = max(record.drift[row, 1], np.abs(work.eq.phi1[r].real))
        record.drift[row, 2] = max(record.drift[row, 2], np.abs(work.eq.phi2[r].real))
    record.iterations[row] = count
    kin = work.kin
    sense(model, theta, t, state.z, state.zd, state.zdd, state.lam, kin, record.sensors[row])
    record.energy[row, 0] = kinetic_energy(model.tree, kin)
    record.energy[row, 1] = potential_energy(model, theta, state.z, kin)
    record.energy[row, 2] = other_power(model, theta, t, state.z, state.zd, state.lam, kin)


@kernel
def run_sensitivity(
    model, theta, control, first, steps, interval, progress, directions, state, sens, work, extra, record, d_record
):
    """As ``run_motion``, with the derivatives of every step in p directions."""
    scale, fresh, row, total = progress.scale, progress.fresh, 0, 0
    for step in range(first + 1, first + steps + 1):
        t = step * control.h
        predict(control.h, state)
        status, count, _, scale = newton(
            model, theta, t, control, scale, state, work.kin, work.comp, work.eq, work.tangent, work.column, fresh
        )
        total += count
        fresh = True
        error = 0.0
        if status == Status.OK:
            status, error = vary_step(model, theta, t, control, directions, state, sens, work, extra)
        if status != Status.OK:
            return Progress(status, step - first, scale, False, total)
        if step % interval == 0:
            write_row(model, theta, t, count, state, work, record, row)
            write_sensitivity_row(model, theta, t, error, directions, state, sens, work, extra, d_record, row)
            row += 1
    return Progress(Status.OK, steps, scale, fresh, total)


@kernel
def vary_step(model, theta, t, control, directions, state, sens, work, extra):
    """Sensitivities and projections of a step whose motion has converged.

    The last correction is far below the accuracy of the gradient, so the state evaluated last serves.
    """
    kin, eq = work.kin, work.eq
    if not factor_tangent(model, theta, t, control, state, kin, work.comp, eq, work.tangent):
        return Status.SINGULAR, 1.0
    error = vary_motion(
        model, theta, t, control, directions, state, sens, kin, work.comp, eq, work.tangent, extra.columns, extra.twists
    )
    if control.redundant:
        scratch = work.projection
        keep_in_range(eq.J, sens.lam, scratch.lu, scratch.pivot, extra.columns.x, extra.columns.step)
    status = close_step(model, theta, t, control, state, work)
    if status == Status.OK and state.lam.size > 0:
        projected = vary_projections(
            model,
            theta,
            t,
            control,
            directions,
            work.corrections,
            state,
            sens,
            kin,
            extra.still_kin,
            extra.comp,
            extra.eq,
            work.projection,
            extra.columns,
            extra.twists,
        )
        error = max(error, projected)
    if not np.isfinite(sens.zdd[0, 0].real):
        status = Status.NOT_FINITE
    return status, error


@kernel
def write_sensitivity_row(model, theta, t, error, directions, state, sens, work, extra, record, row):
    """Store the sensitivities of the instant that ``work.kin`` holds."""
    vary_kinematics(
        model.tree,
        theta,
        directions.dtheta,
        directions.touch,
        1.0,
        work.kin,
        sens.z,
        sens.zd,
        sens.zdd,
        extra.twists,
    )
    for k in range(sens.z.shape[1]):
        for c in range(state.z.size):
            record.position[row, c, k] = sens.z[c, k]
            record.velocity[row, c, k] = sens.zd[c, k]
            record.acceleration[row, c, k] = sens.zdd[c, k]
        for r in range(state.lam.size):
            record.lam[row, r, k] = sens.lam[r, k]
    vary_sensors(
        model,
        theta,
        directions.dtheta,
        directions.touch,
        work.eq.no_eta,
        t,
        state.z,
        state.zd,
        state.zdd,
        sens,
        work.kin,
        extra.twists,
        record.sensors[row],
    )
    record.error[row] = error


@kernel
def write_start(model, theta, t, control, state, work, record):
    """Evaluate and store the initial instant."""
    evaluate(model, theta, t, control, state, work.kin, work.comp, work.eq)
    constraint_rates(
        model, theta, t, state.z, state.zd, state.zdd, work.kin, work.eq.phi1, work.eq.phi2
    )
    write_row(model, theta, t, 0, state, work, record, 0)
