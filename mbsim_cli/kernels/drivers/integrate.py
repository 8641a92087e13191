"""The compiled time loop of explicit Runge-Kutta methods: rows at given times, with fixed or controlled steps.

See ``course``; ``integrate_cases`` calls the equations of motion for eight cases at once.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import entry, inlined
from mbsim_cli.kernels.drivers.course import (
    AT,
    EVALUATE,
    FILLED,
    LENGTH,
    MAKE_STEP,
    REJECTED,
    STAGE_OF,
    begin,
    evaluate_point,
    form_point,
    go_on,
    reject,
    shorten,
    start_step,
    take_point,
)
from mbsim_cli.kernels.drivers.record import write_step
from mbsim_cli.kernels.drivers.stepping import (
    MEETS,
    SIZE,
    TIME,
    Breakpoints,
    divides,
    end_by_clock,
    grow,
    move_clock,
    next_size,
    stays_finite,
)
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.kernels.integrators.dense_output import Dense, form_dense
from mbsim_cli.kernels.integrators.onsets import Onsets, follow_arguments
from mbsim_cli.kernels.integrators.runge_kutta import (
    Carry,
    Stages,
    copy_state,
    end_step,
    error_norm,
    factor_of,
    form_stage,
    keep_stage,
)
from mbsim_cli.model.codes import Status


class IntegrationWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: np.ndarray  # (7,) time, beginning of the last step, size of the next one, steps tried, ...: ``stepping``
    breakpoints: Breakpoints
    course: np.ndarray  # (10,) of one call: see ``course``
    counters: np.ndarray  # (5,) steps, rejected steps, evaluations, Jacobians, factorisations
    probe: State  # that is evaluated
    d_probe: Sensitivity
    trial: State  # at the end of a step
    d_trial: Sensitivity
    stages: Stages
    carry: Carry
    owed: Carry  # of a trial
    dense: Dense
    onsets: Onsets
    reached: np.ndarray  # (k, 2) their arguments, and rates, at the probe


@entry
def integrate(model, scheme, case):
    """Fill rows at ``case.times``, in steps of length ``scheme.step`` or as the error asks; returns a status."""
    begin(case.work)
    status = EVALUATE
    while status == EVALUATE:
        status = form_probe(model, scheme, case)
        if status == EVALUATE:
            status = take_in(evaluate_point(model, case), scheme, case)
    return status


@inlined
def form_probe(model, scheme, case):
    """Form the next probe; return EVALUATE, or the status that ends the call."""
    status = form_point(model, scheme, scheme.control, case)
    course = case.work.course
    if status == MAKE_STEP and course[STAGE_OF] == 0.0:
        status = start_step(scheme, scheme.control, case)
        course[STAGE_OF] = 1.0 if status == MAKE_STEP else 0.0
    if status != MAKE_STEP:
        return status
    tableau, work = scheme.tableau, case.work
    stage, h = int(course[STAGE_OF]), course[LENGTH]
    at = work.clock[TIME] + tableau.c[stage] * h
    if stage == tableau.b.size:
        end_step(model, at, h, tableau.b, case)
    else:
        form_stage(h, tableau.a[stage, :stage], case)
    course[AT] = at
    return EVALUATE


@inlined
def take_in(regular, scheme, case):
    """Use the probe's accelerations, ``regular`` if they exist; return EVALUATE, or the status that ends the call."""
    step, end, tableau, control, times = scheme.step, scheme.end, scheme.tableau, scheme.control, case.times
    s = tableau.b.size
    status = take_point(regular, s, control, case)
    if status != MAKE_STEP:
        return status
    state, sens, work, inside = case.state, case.sens, case.work, case.inside
    clock, course, probe, d_probe = work.clock, work.course, work.probe, work.d_probe
    stages, near, t, row = work.stages, MEETS * end, clock[TIME], int(course[FILLED])
    stage, h = int(course[STAGE_OF]), course[LENGTH]
    keep_stage(stage, probe, d_probe, stages)
    accepted, reached = stage >= s, 0.0
    if accepted:
        reached = end_by_clock(clock, h, step, end, control.adaptive, work.breakpoints)
    if stage == s:
        copy_state(probe, d_probe, work.trial, work.d_trial)
    if control.adaptive and (stage == s or not regular):
        error = np.inf
        if regular:
            error = error_norm(control, h, tableau.error, state, work.trial, sens, work.d_trial, stages)
        accepted = error <= 1.0
        if accepted:
            factor = factor_of(error, control, course[REJECTED] != 0.0)
            clock[SIZE] = next_size(h, factor, reached, clock, work.breakpoints)
        else:
            reject(control, h, error, work)
            stage = -1
    if accepted and stage == s:
        if divides(h, t, end, work.onsets, work.reached):
            shorten(0.5 * h, work)
            accepted, stage = False, -1
        else:
            follow_arguments(work.reached, work.onsets)
    stage += 1
    between = control.adaptive and (inside.share.size > 0 or times[row] < t + h - near)
    if accepted and not (between and stage < tableau.c.size):
        if between:
            form_dense(h, tableau.dense, state, sens, work.trial, work.d_trial, stages, s, work.dense)
        write_step(t, reached, h, stage, s, state, stages, work.trial, case.steps)
        copy_state(work.trial, work.d_trial, state, sens)
        go_on(state, sens, work)
        move_clock(reached, h, step, clock, work.breakpoints, inside)
        if not control.adaptive:
            grow(step, clock)
        stage = 0
        course[REJECTED] = 0.0
        if not stays_finite(state, sens):
            return Status.NOT_FINITE.value
    course[STAGE_OF] = stage
    return EVALUATE
