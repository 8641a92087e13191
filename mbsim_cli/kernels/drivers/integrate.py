"""Time loop of explicit Runge-Kutta steps, fixed or controlled (``course``); ``integrate_cases`` takes eight cases."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import entry, inlined
from mbsim_cli.kernels.drivers import course as loop
from mbsim_cli.kernels.drivers.course import AT, ERROR, EVALUATE, FILLED, LENGTH, MAKE_STEP, STAGE_OF
from mbsim_cli.kernels.drivers.record import write_step
from mbsim_cli.kernels.drivers.stepping import MEETS, TIME, Breakpoints, end_by_clock
from mbsim_cli.kernels.integrators import runge_kutta
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.kernels.integrators.dense_output import Dense, form_dense
from mbsim_cli.kernels.integrators.onsets import Onsets
from mbsim_cli.kernels.integrators.runge_kutta import Carry, Stages


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
    arguments: np.ndarray  # (k, 2) their arguments, and rates, at the probe


@entry
def integrate(model, scheme, case):
    """Fill rows at ``case.times``, in steps of length ``scheme.step`` or as the error asks; returns a status."""
    loop.begin(case.work)
    status = EVALUATE
    while status == EVALUATE:
        status = form_probe(model, scheme, case)
        if status == EVALUATE:
            status = take_in(loop.evaluate_point(model, case), scheme, case)
    return status


@inlined
def form_probe(model, scheme, case):
    """Form the next probe; return EVALUATE, or the status that ends the call."""
    status = loop.form_point(model, scheme, scheme.control, case)
    course = case.work.course
    if status == MAKE_STEP and course[STAGE_OF] == 0.0:
        status = loop.start_step(scheme, scheme.control, case)
        course[STAGE_OF] = 1.0 if status == MAKE_STEP else 0.0
    if status != MAKE_STEP:
        return status
    tableau, work = scheme.tableau, case.work
    stage, h = int(course[STAGE_OF]), course[LENGTH]
    at = work.clock[TIME] + tableau.c[stage] * h
    if stage == tableau.b.size:
        runge_kutta.end_step(model, at, h, tableau.b, case)
    else:
        runge_kutta.form_stage(h, tableau.a[stage, :stage], case)
    course[AT] = at
    return EVALUATE


@inlined
def take_in(regular, scheme, case):
    """Use the probe's accelerations, ``regular`` if they exist; return EVALUATE, or the status that ends the call."""
    tableau, control = scheme.tableau, scheme.control
    s = tableau.b.size
    status = loop.take_point(regular, s, control, case)
    if status != MAKE_STEP:
        return status
    state, sens, work = case.state, case.sens, case.work
    course, probe, d_probe, stages = work.course, work.probe, work.d_probe, work.stages
    t, stage, h = work.clock[TIME], int(course[STAGE_OF]), course[LENGTH]
    runge_kutta.keep_stage(stage, probe, d_probe, stages)
    accepted, step_end = stage >= s, 0.0
    if accepted:
        step_end = end_by_clock(work.clock, h, scheme.step, scheme.end, control.adaptive, work.breakpoints)
    if stage == s:
        runge_kutta.copy_state(probe, d_probe, work.trial, work.d_trial)
    if control.adaptive and (stage == s or not regular):
        course[ERROR] = np.inf
        if regular:
            course[ERROR] = runge_kutta.error_norm(
                control, h, tableau.error, state, work.trial, sens, work.d_trial, stages
            )
        accepted = course[ERROR] <= 1.0
        if not accepted:
            loop.reject(control, h, course[ERROR], work)
            stage = -1
    if accepted and stage == s and loop.is_divided(scheme, work):
        accepted, stage = False, -1
    stage += 1
    row, before_end = int(course[FILLED]), t + h - MEETS * scheme.end
    between = control.adaptive and (case.inside.share.size > 0 or case.times[row] < before_end)
    if accepted and not (between and stage < tableau.c.size):
        if between:
            form_dense(h, tableau.dense, state, sens, work.trial, work.d_trial, stages, s, work.dense)
        write_step(t, step_end, h, stage, s, state, stages, work.trial, case.steps)
        runge_kutta.copy_state(work.trial, work.d_trial, state, sens)
        course[STAGE_OF] = 0.0
        return loop.accept(step_end, scheme, control, case)
    course[STAGE_OF] = stage
    return EVALUATE
