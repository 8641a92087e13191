"""The compiled time loop of explicit Runge-Kutta methods: rows at given times, with fixed or controlled steps.

A row is the state at the end of a step or, where steps are controlled, inside one by dense output; accelerations
satisfy the equations of motion there. The state at the end of a step carries its rates into the next one.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import entry, kernel, merged
from mbsim_cli.kernels.drivers.record import write_instant
from mbsim_cli.kernels.integrators.dense_output import form_dense, interpolate
from mbsim_cli.kernels.integrators.runge_kutta import (
    copy_state,
    evaluate_motion,
    evaluate_state,
    finish_step,
    keep_stage,
    put_on_manifold,
    take_stages,
)
from mbsim_cli.kernels.integrators.step_control import (
    SHRINK,
    error_norm,
    factor_of,
    initial_step,
    size_of,
    trial_step_of,
)
from mbsim_cli.model.codes import Status

STEPS, REJECTED, EVALUATIONS, JACOBIANS, FACTORISATIONS = range(5)
TIME, BEGIN, SIZE = range(3)
SMALLEST = 1e-14  # step, relative to time
LONGEST = 0.05  # step, relative to the duration: a short pulse after a rest should not be stepped over
MEETS = 1e-12  # how near, relative to a step, the end of a step is a row's time


class IntegrationWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: np.ndarray  # (3,) time, beginning of the last step, size of the next one (0: not known yet)
    counters: np.ndarray  # (5,) steps, rejected steps, evaluations, Jacobians, factorisations
    trial: tuple  # State at the end of a step
    d_trial: tuple  # Sensitivity
    scratch: tuple  # State inside a step
    d_scratch: tuple
    stages: tuple
    carry: tuple
    owed: tuple  # Carry of a trial
    dense: tuple


@entry
def start_integration(model, theta, directions, dyn, state, sens, work):
    """Put the state at t = 0 onto the manifold and find its accelerations; returns a status."""
    put_on_manifold(dyn.open_tree, state, sens)
    if not evaluate_state(model, theta, 0.0, directions, dyn, state, sens):
        return Status.SINGULAR.value
    keep_stage(0, state, sens, work.stages)
    work.counters[EVALUATIONS] += 1
    return Status.OK.value


@entry
def integrate(
    model, theta, h, times, end, tableau, control, directions, dyn, state, sens, work, record, counters_out, d_record
):
    """Fill rows at ``times`` (B,), in steps of h or as the error asks; returns status and rows filled."""
    clock = work.clock
    for row in range(times.size):
        while clock[TIME] < times[row] - MEETS * h:
            if control.adaptive:
                status = _controlled_step(
                    model, theta, times[row], end, tableau, control, directions, dyn, state, sens, work
                )
            else:
                status = _fixed_step(model, theta, h, tableau, directions, dyn, state, sens, work)
            if status != Status.OK:
                return status.value, row
        if clock[TIME] <= times[row] + MEETS * h:
            write_instant(times[row], state, sens, record, d_record, row)
        else:
            share = (times[row] - clock[BEGIN]) / (clock[TIME] - clock[BEGIN])
            interpolate(share, work.dense, work.scratch, work.d_scratch)
            put_on_manifold(dyn.open_tree, work.scratch, work.d_scratch)
            if not evaluate_state(model, theta, times[row], directions, dyn, work.scratch, work.d_scratch):
                return Status.SINGULAR.value, row
            work.counters[EVALUATIONS] += 1
            write_instant(times[row], work.scratch, work.d_scratch, record, d_record, row)
        for k in range(work.counters.size):
            counters_out[row, k] = work.counters[k]
            work.counters[k] = 0
    return Status.OK.value, times.size


@merged
def _attempt(model, theta, h, tableau, directions, dyn, state, sens, work):
    """A step of length h from ``state`` into ``trial``; False if singular."""
    t, s = work.clock[TIME], tableau.b.size
    work.counters[EVALUATIONS] += s
    return take_stages(
        model, theta, t, h, 1, s, tableau, directions, state, sens, work.carry, dyn, work.trial, work.d_trial,
        work.stages,
    ) and finish_step(
        model, theta, t, h, tableau, directions, state, sens, work.carry, dyn, work.trial, work.d_trial, work.stages,
        work.owed,
    )  # fmt: skip


@merged
def _accept(state, sens, work):
    copy_state(work.trial, work.d_trial, state, sens)
    keep_stage(0, state, sens, work.stages)
    for c in range(work.owed.z.size):
        work.carry.z[c] = work.owed.z[c]
        work.carry.zd[c] = work.owed.zd[c]
    work.counters[STEPS] += 1
    work.clock[BEGIN] = work.clock[TIME]


@kernel
def _fixed_step(model, theta, h, tableau, directions, dyn, state, sens, work):
    if not _attempt(model, theta, h, tableau, directions, dyn, state, sens, work):
        return Status.SINGULAR
    _accept(state, sens, work)
    work.clock[TIME] = h * np.round(work.clock[TIME] / h + 1.0)
    return Status.OK if _is_finite(state, sens) else Status.NOT_FINITE


@kernel
def _controlled_step(model, theta, wanted, end, tableau, control, directions, dyn, state, sens, work):
    """A step that meets the tolerance; with dense output where it passes the time that is ``wanted``."""
    clock = work.clock
    if clock[SIZE] == 0.0:
        clock[SIZE] = _first_step(model, theta, control, directions, dyn, state, work)
    rejected, regular = False, True
    while True:
        t = clock[TIME]
        size = min(clock[SIZE], LONGEST * end)
        last = t + 1.01 * size >= end
        h = end - t if last else size
        if not h > SMALLEST * end:
            return Status.STEP_TOO_SMALL if regular else Status.SINGULAR
        error = np.inf
        regular = _attempt(model, theta, h, tableau, directions, dyn, state, sens, work)
        if regular:
            error = error_norm(control, h, tableau.error, state, work.trial, sens, work.d_trial, work.stages)
        if error <= 1.0:
            break
        clock[SIZE] = h * (factor_of(error, control.exponent, True) if np.isfinite(error) else SHRINK)
        work.counters[REJECTED] += 1
        rejected = True
    if wanted < t + h * (1.0 - MEETS) and not _form_dense(
        model, theta, h, tableau, directions, dyn, state, sens, work
    ):  # fmt: skip
        return Status.SINGULAR
    clock[SIZE] = h * factor_of(error, control.exponent, rejected)
    _accept(state, sens, work)
    clock[TIME] = end if last else t + h
    return Status.OK if _is_finite(state, sens) else Status.NOT_FINITE


@kernel
def _form_dense(model, theta, h, tableau, directions, dyn, state, sens, work):
    """Further stages, and the interpolant; False if singular."""
    s = tableau.b.size
    work.counters[EVALUATIONS] += tableau.c.size - s - 1
    regular = take_stages(
        model, theta, work.clock[TIME], h, s + 1, tableau.c.size, tableau, directions, state, sens, work.carry, dyn,
        work.scratch, work.d_scratch, work.stages,
    )  # fmt: skip
    form_dense(h, tableau.dense, state, sens, work.trial, work.d_trial, work.stages, s, work.dense)
    return regular


@kernel
def _first_step(model, theta, control, directions, dyn, state, work):
    """Length of the first step, by a short explicit Euler step of the motion."""
    scratch = work.scratch
    first = size_of(control, state.z, state.z) + size_of(control, state.zd, state.zd)
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    h = trial_step_of(first, rate)
    for c in range(state.z.size):
        scratch.z[c] = state.z[c] + h * state.zd[c]
        scratch.zd[c] = state.zd[c] + h * state.zdd[c]
    if not evaluate_motion(model, theta, work.clock[TIME] + h, dyn, scratch):
        return h
    work.counters[EVALUATIONS] += 1
    for c in range(state.z.size):
        scratch.z[c] = scratch.zd[c] - state.zd[c]
        scratch.zd[c] = scratch.zdd[c] - state.zdd[c]
    change = size_of(control, scratch.z, state.z) + size_of(control, scratch.zd, state.zd)
    return initial_step(control, rate, change, h)


@kernel
def _is_finite(state, sens):
    """Whether accelerations and their sensitivities are; all else reaches them."""
    total = 0.0
    for c in range(state.zdd.size):
        total += state.zdd[c].real
        for k in range(sens.zdd.shape[1]):
            total += sens.zdd[c, k].real
    return np.isfinite(total)
