"""The compiled time loop of explicit Runge-Kutta methods: rows at given times, with fixed or controlled steps.

A row is the state at the end of a step or, where steps are controlled, inside one by dense output; its accelerations
satisfy the equations of motion. One loop decides what to evaluate next, evaluates it, and takes it in: the equations
of motion are called in one place, for each place would be compiled again.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import entry, kernel, merged
from mbsim_cli.kernels.drivers.record import write_instant
from mbsim_cli.kernels.integrators.dense_output import form_dense, interpolate
from mbsim_cli.kernels.integrators.runge_kutta import (
    copy_state,
    end_step,
    evaluate_state,
    form_stage,
    keep_stage,
    put_on_manifold,
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
BEFORE_START = -1.0
START, GUESS, STAGE, ROW = range(4)  # what is evaluated
SMALLEST = 1e-14  # step, relative to the duration
LONGEST = 0.05  # step, relative to the duration: a short pulse after a rest should not be stepped over
MEETS = 1e-12  # how near, relative to the duration, the end of a step is to a row's time


class IntegrationWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: np.ndarray  # (3,) time (before the start: -1), beginning of the last step, size of the next one (0: unknown)
    counters: np.ndarray  # (5,) steps, rejected steps, evaluations, Jacobians, factorisations
    probe: tuple  # State that is evaluated
    d_probe: tuple  # Sensitivity
    trial: tuple  # State at the end of a step
    d_trial: tuple
    stages: tuple
    carry: tuple
    owed: tuple  # Carry of a trial
    dense: tuple


@entry
def integrate(
    model, theta, step, times, end, tableau, control, directions, dyn, state, sens, work, record, counters_out, d_record
):
    """Fill rows at ``times`` (B,), in steps of length ``step`` or as the error asks; returns a status."""
    clock, counters, probe, d_probe, stages = work.clock, work.counters, work.probe, work.d_probe, work.stages
    s, near = tableau.b.size, MEETS * end
    row, stage, h, at, rejected, regular = 0, 0, 0.0, 0.0, False, True
    while row < times.size:
        t = clock[TIME]
        if t == BEFORE_START:
            what, at = START, 0.0
            copy_state(state, sens, probe, d_probe)
            put_on_manifold(dyn.open_tree, probe, d_probe)
        elif np.abs(t - times[row]) <= near:
            write_instant(times[row], state, sens, record, d_record, row)
            _write_counters(counters, counters_out[row])
            row += 1
            continue
        elif t > times[row]:
            what, at = ROW, times[row]
            interpolate((at - clock[BEGIN]) / (t - clock[BEGIN]), work.dense, probe, d_probe)
            put_on_manifold(dyn.open_tree, probe, d_probe)
        elif control.adaptive and clock[SIZE] == 0.0:
            what, at = GUESS, t + _guess(control, state, probe)
        else:
            what = STAGE
            if stage == 0:
                stage, h = 1, _next_step(t, step, end, control.adaptive, clock[SIZE])
                if not h > SMALLEST * end:
                    return (Status.STEP_TOO_SMALL if regular else Status.SINGULAR).value
            at = t + tableau.c[stage] * h
            if stage == s:
                end_step(h, tableau.b, dyn.open_tree, state, sens, work.carry, stages, probe, d_probe, work.owed)
            else:
                form_stage(h, tableau.a[stage], stage, state, sens, work.carry, stages, probe, d_probe)

        regular = evaluate_state(model, theta, at, directions, dyn, probe, d_probe)
        counters[EVALUATIONS] += 1

        if not regular and (what != STAGE or not control.adaptive):
            return Status.SINGULAR.value
        if what == START:
            copy_state(probe, d_probe, state, sens)
            keep_stage(0, state, sens, stages)
            clock[TIME] = 0.0
        elif what == ROW:
            write_instant(at, probe, d_probe, record, d_record, row)
            _write_counters(counters, counters_out[row])
            row += 1
        elif what == GUESS:
            clock[SIZE] = _first_step(control, at - t, state, probe)
        else:
            keep_stage(stage, probe, d_probe, stages)
            accepted = stage >= s
            if stage == s:
                copy_state(probe, d_probe, work.trial, work.d_trial)
            if control.adaptive and (stage == s or not regular):
                error = np.inf
                if regular:
                    error = error_norm(control, h, tableau.error, state, work.trial, sens, work.d_trial, stages)
                accepted = error <= 1.0
                if accepted:
                    clock[SIZE] = h * factor_of(error, control.exponent, rejected)
                else:
                    clock[SIZE] = h * (factor_of(error, control.exponent, True) if np.isfinite(error) else SHRINK)
                    counters[REJECTED] += 1
                    stage, rejected = -1, True
            stage += 1
            inside = control.adaptive and times[row] < t + h - near
            if accepted and not (inside and stage < tableau.c.size):
                if inside:
                    form_dense(h, tableau.dense, state, sens, work.trial, work.d_trial, stages, s, work.dense)
                _accept(state, sens, work)
                clock[BEGIN], clock[TIME] = t, _end_of_step(t, h, end, control.adaptive, near)
                stage, rejected = 0, False
                if not _is_finite(state, sens):
                    return Status.NOT_FINITE.value
    return Status.OK.value


@merged
def _accept(state, sens, work):
    copy_state(work.trial, work.d_trial, state, sens)
    keep_stage(0, state, sens, work.stages)
    for c in range(work.owed.z.size):
        work.carry.z[c] = work.owed.z[c]
        work.carry.zd[c] = work.owed.zd[c]
    work.counters[STEPS] += 1


@kernel
def _next_step(t, step, end, adaptive, size):
    """Length of the step from t; the last one ends the run."""
    if not adaptive:
        return step
    size = min(size, LONGEST * end)
    return end - t if t + 1.01 * size >= end else size


@kernel
def _end_of_step(t, h, end, adaptive, near):
    """t + h without the round-off of sums."""
    if not adaptive:
        return h * np.round(t / h + 1.0)
    return end if t + h > end - near else t + h


@merged
def _guess(control, state, probe):
    """A short explicit Euler step into ``probe``, which tells how fast rates change; return its length."""
    first = size_of(control, state.z, state.z) + size_of(control, state.zd, state.zd)
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    h = trial_step_of(first, rate)
    for c in range(state.z.size):
        probe.z[c] = state.z[c] + h * state.zd[c]
        probe.zd[c] = state.zd[c] + h * state.zdd[c]
    return h


@merged
def _first_step(control, h, state, probe):
    """Length of the first step, after the guess of length h was evaluated."""
    for c in range(state.z.size):
        probe.z[c] = probe.zd[c] - state.zd[c]
        probe.zd[c] = probe.zdd[c] - state.zdd[c]
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    change = size_of(control, probe.z, state.z) + size_of(control, probe.zd, state.zd)
    return initial_step(control, rate, change, h)


@kernel
def _write_counters(counters, out):
    for k in range(counters.size):
        out[k] = counters[k]
        counters[k] = 0


@merged
def _is_finite(state, sens):
    """Whether accelerations and their sensitivities are; all else reaches them."""
    return np.isfinite(_sum(state.zdd.reshape(-1, 1)) + _sum(sens.zdd))


@kernel
def _sum(a):
    total = 0.0
    for c in range(a.shape[0]):
        for k in range(a.shape[1]):
            total += a[c, k].real
    return total
