"""The compiled time loop of explicit Runge-Kutta methods: rows at given times, with fixed or controlled steps.

A row is the state at the end of a step or, where steps are controlled, inside one by dense output; its accelerations
satisfy the equations of motion. One loop decides what to evaluate next, evaluates it, and takes it in: the equations
of motion are called in one place, for each place would be compiled again.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import entry, merged
from mbsim_cli.kernels.drivers.record import are_full, write_instant, write_step
from mbsim_cli.kernels.drivers.stepping import (
    BEFORE_START,
    BEGIN,
    MEETS,
    SIZE,
    TIME,
    TRIED,
    count_step,
    end_of_step,
    first_step,
    guess,
    is_finite,
    next_step,
    smallest_step,
    write_counters,
)
from mbsim_cli.kernels.integrators.dense_output import form_dense, interpolate
from mbsim_cli.kernels.integrators.runge_kutta import (
    copy_state,
    end_step,
    evaluate_state,
    form_stage,
    keep_stage,
    put_on_manifold,
)
from mbsim_cli.kernels.integrators.step_control import EVALUATIONS, REJECTED, SHRINK, STEPS, error_norm, factor_of
from mbsim_cli.model.codes import Status

START, GUESS, STAGE, ROW = range(4)  # what is evaluated


class IntegrationWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: (
        np.ndarray
    )  # (4,) time (before the start: -1), beginning of the last step, size of the next one (0: unknown),
    # steps tried
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
    model,
    theta,
    step,
    times,
    end,
    tableau,
    control,
    directions,
    dyn,
    state,
    sens,
    work,
    steps,
    record,
    counters_out,
    d_record,
):
    """Fill rows at ``times`` (B,), in steps of length ``step`` or as the error asks; returns a status."""
    clock, counters, probe, d_probe, stages = work.clock, work.counters, work.probe, work.d_probe, work.stages
    s, near = tableau.b.size, MEETS * end
    row, stage, h, at, rejected, regular, begun = 0, 0, 0.0, 0.0, False, True, clock[TRIED]
    while row < times.size:
        t = clock[TIME]
        if t == BEFORE_START:
            what, at = START, 0.0
            copy_state(state, sens, probe, d_probe)
            put_on_manifold(dyn.open_tree, probe, d_probe)
        elif np.abs(t - times[row]) <= near:
            write_instant(times[row], state, sens, record, d_record, row)
            write_counters(counters, counters_out[row])
            row += 1
            continue
        elif t > times[row]:
            what, at = ROW, times[row]
            interpolate((at - clock[BEGIN]) / (t - clock[BEGIN]), work.dense, probe, d_probe)
            put_on_manifold(dyn.open_tree, probe, d_probe)
        elif control.adaptive and clock[SIZE] == 0.0:
            what, at = GUESS, t + guess(control, state, probe)
        else:
            what = STAGE
            if stage == 0:
                stage, h = 1, next_step(t, step, end, control.adaptive, clock[SIZE])
                if not h > smallest_step(t, end):
                    return (Status.STEP_TOO_SMALL if regular else Status.SINGULAR).value
                if are_full(steps):
                    return Status.PAUSED.value
                status = count_step(control, clock, begun, rejected)
                if status != Status.OK:
                    return status.value
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
            keep_stage(0, state, sens, stages)
            write_step(0.0, 0.0, 0.0, s + 1, s, state, stages, probe, steps)
            copy_state(probe, d_probe, state, sens)
            keep_stage(0, state, sens, stages)
            clock[TIME] = 0.0
        elif what == ROW:
            write_instant(at, probe, d_probe, record, d_record, row)
            write_counters(counters, counters_out[row])
            row += 1
        elif what == GUESS:
            clock[SIZE] = first_step(control, at - t, state, probe)
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
                at_end = end_of_step(t, h, end, control.adaptive, near)
                if inside:
                    form_dense(h, tableau.dense, state, sens, work.trial, work.d_trial, stages, s, work.dense)
                write_step(t, at_end, h, stage, s, state, stages, work.trial, steps)
                _accept(state, sens, work)
                clock[BEGIN], clock[TIME] = t, at_end
                stage, rejected = 0, False
                if not is_finite(state, sens):
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
