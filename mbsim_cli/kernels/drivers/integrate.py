"""The compiled time loop of explicit Runge-Kutta methods: rows at given times, with fixed or controlled steps.

A row is the state at the end of a step or, where steps are controlled, inside one by dense output; its accelerations
satisfy the equations of motion. One loop decides what to evaluate next, evaluates it, and takes it in: the equations
of motion are called in one place, for each place would be compiled again, and ``integrate_cases`` calls them for eight
cases at once. What is before and behind them is put into the loop: a small tree feels a twentieth from calls.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import entry, inlined, kernel, merged
from mbsim_cli.kernels.drivers.open_trees import first_step, guess
from mbsim_cli.kernels.drivers.record import are_full, write_instant, write_step
from mbsim_cli.kernels.drivers.stepping import (
    BEFORE_START,
    BEGIN,
    DUE,
    MEETS,
    PASSED,
    SIZE,
    TIME,
    TRIED,
    Breakpoints,
    count_step,
    divides,
    end_of_step,
    grow,
    is_finite,
    jump,
    move_clock,
    next_breakpoint,
    next_size,
    next_step,
    smallest_step,
    stands_at_breakpoint,
    take_inside,
    time_inside,
    write_counters,
)
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.kernels.integrators.dense_output import Dense, form_dense, interpolate
from mbsim_cli.kernels.integrators.onsets import Onsets, find_arguments, follow_arguments
from mbsim_cli.kernels.integrators.runge_kutta import (
    EVALUATIONS,
    SHRINK,
    STEPS,
    Carry,
    Stages,
    copy_state,
    end_step,
    error_norm,
    evaluate_state,
    factor_of,
    form_stage,
    keep_stage,
    put_on_manifold,
)
from mbsim_cli.kernels.integrators.runge_kutta import REJECTED as REJECTED_STEPS
from mbsim_cli.model.codes import Status

START, JUMP, GUESS, STAGE, ROW, INSIDE = range(6)  # what is evaluated
WHAT, AT, FILLED, STAGE_OF, LENGTH, REJECTED, REGULAR, BEGUN, JUMPED = range(9)  # ``IntegrationWork.course``
COURSE = 9
EVALUATE = -1  # no status: the call is not at its end


class IntegrationWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: np.ndarray  # (7,) time, beginning of the last step, size of the next one, steps tried, ...: ``stepping``
    breakpoints: Breakpoints
    course: np.ndarray  # (9,) of one call: what is evaluated and when, rows that are filled, stage, length of the step,
    # whether the step before was rejected, whether accelerations were found, steps tried before, whether rates have
    # been varied with the breakpoint that the clock stands at
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


class Scheme(NamedTuple):
    """How runs are integrated."""

    step: float  # s, where the error does not choose it
    end: float  # s, of the run
    tableau: Any  # Tableau, or ImplicitTableau
    control: Any  # ErrorControl, or ImplicitControl


class Case(NamedTuple):
    """What one call is given of one run."""

    theta: np.ndarray
    times: np.ndarray  # (B,) of the rows
    directions: Any
    dyn: Any
    state: Any
    sens: Any
    work: Any
    steps: Any
    inside: Any
    record: Any
    counters: np.ndarray  # (B, 5) of the rows
    d_record: Any


@entry
def integrate(model, scheme, case):
    """Fill rows at ``case.times``, in steps of length ``scheme.step`` or as the error asks; returns a status."""
    theta, work = case.theta, case.work
    begin(work)
    status = EVALUATE
    while status == EVALUATE:
        status = form_probe(model, scheme, case)
        if status == EVALUATE:
            regular = evaluate_state(
                model, theta, work.course[AT], case.directions, case.dyn, work.probe, work.d_probe
            )  # fmt: skip
            if regular and work.onsets.force.size > 0:
                find_arguments(model, theta, work.onsets, work.probe, case.dyn.kin, work.reached)
            if work.course[WHAT] == JUMP:
                number = work.breakpoints.number[next_breakpoint(work.clock)]
                jump(theta, case.directions.dtheta, number, work.probe, case.state, case.sens)
            status = take_in(regular, scheme, case)
    return status


@kernel
def begin(work):
    """Begin a call, with no row filled; all that goes on from the one before stands elsewhere."""
    for k in range(work.course.size):
        work.course[k] = 0.0
    work.course[REGULAR] = 1.0
    work.course[BEGUN] = work.clock[TRIED]


@inlined
def form_probe(model, scheme, case):
    """Form the state that is to be evaluated next, and note what for; return EVALUATE, or with what the call ends."""
    step, end, tableau, control = scheme.step, scheme.end, scheme.tableau, scheme.control
    theta, directions, open_tree, times = case.theta, case.directions, case.dyn.open_tree, case.times
    state, sens, work, steps, inside = case.state, case.sens, case.work, case.steps, case.inside
    clock, course, probe, d_probe, stages = work.clock, work.course, work.probe, work.d_probe, work.stages
    s, near, t, breakpoints = tableau.b.size, MEETS * end, clock[TIME], work.breakpoints
    row, stage, waits = int(course[FILLED]), int(course[STAGE_OF]), stands_at_breakpoint(clock, breakpoints)
    due = clock[DUE] > 0.0
    while t != BEFORE_START and not waits and row < times.size and np.abs(t - times[row]) <= near:
        write_instant(times[row], state, sens, case.record, case.d_record, row)
        write_counters(work.counters, case.counters[row])
        row += 1
    course[FILLED] = row
    if row == times.size and not due:
        return Status.OK.value
    if t == BEFORE_START:
        what, at = START, 0.0
        copy_state(state, sens, probe, d_probe)
        put_on_manifold(model, theta, at, directions, open_tree, probe, d_probe)
    elif due or t - times[row] > near:
        if due:
            if inside.count[0] == inside.length.size:
                return Status.PAUSED.value
            what, at = INSIDE, time_inside(clock, inside)
        else:
            what, at = ROW, times[row]
        interpolate((at - clock[BEGIN]) / (t - clock[BEGIN]), work.dense, probe, d_probe)
        put_on_manifold(model, theta, at, directions, open_tree, probe, d_probe)
    elif waits:
        if are_full(steps):
            return Status.PAUSED.value
        what, at = START if course[JUMPED] != 0.0 else JUMP, breakpoints.behind[next_breakpoint(clock)]
        copy_state(state, sens, probe, d_probe)
        put_on_manifold(model, theta, at, directions, open_tree, probe, d_probe)
    elif control.adaptive and clock[SIZE] == 0.0:
        what, at = GUESS, t + guess(control, clock, end, state, probe)
    else:
        what = STAGE
        if stage == 0:
            stage, h = 1, next_step(clock, step, end, control.adaptive, breakpoints)
            if not h > smallest_step(t, end):
                return (Status.STEP_TOO_SMALL if course[REGULAR] != 0.0 else Status.SINGULAR).value
            if are_full(steps):
                return Status.PAUSED.value
            status = count_step(control, clock, course[BEGUN], course[REJECTED] != 0.0)
            if status != Status.OK:
                return status.value
            course[STAGE_OF], course[LENGTH] = stage, h
        h = course[LENGTH]
        at = t + tableau.c[stage] * h
        if stage == s:
            end_step(
                model, theta, at, h, tableau.b, directions, open_tree, state, sens, work.carry, stages, probe, d_probe,
                work.owed,
            )  # fmt: skip
        else:
            form_stage(h, tableau.a[stage], stage, state, sens, work.carry, stages, probe, d_probe)
    course[WHAT], course[AT] = what, at
    return EVALUATE


@inlined
def take_in(regular, scheme, case):
    """Go on with the accelerations of the probe, ``regular`` where there are any; return EVALUATE, or a status."""
    step, end, tableau, control, times = scheme.step, scheme.end, scheme.tableau, scheme.control, case.times
    state, sens, work, steps, inside = case.state, case.sens, case.work, case.steps, case.inside
    clock, course, counters, probe, d_probe = work.clock, work.course, work.counters, work.probe, work.d_probe
    stages, s, near, t = work.stages, tableau.b.size, MEETS * end, clock[TIME]
    what, at, row, stage = int(course[WHAT]), course[AT], int(course[FILLED]), int(course[STAGE_OF])
    counters[EVALUATIONS] += 1
    course[REGULAR] = 1.0 if regular else 0.0
    if not regular and (what != STAGE or not control.adaptive):
        return Status.SINGULAR.value
    if what == START:
        keep_stage(0, state, sens, stages)
        write_step(max(t, 0.0), at, 0.0, s + 1, s, state, stages, probe, steps)
        copy_state(probe, d_probe, state, sens)
        keep_stage(0, state, sens, stages)
        follow_arguments(work.reached, work.onsets)
        clock[TIME], clock[PASSED] = max(t, 0.0), clock[PASSED] + course[JUMPED]
        course[JUMPED] = 0.0
    elif what == JUMP:
        course[JUMPED] = 1.0
    elif what == ROW:
        write_instant(at, probe, d_probe, case.record, case.d_record, row)
        write_counters(counters, case.counters[row])
        course[FILLED] = row + 1
    elif what == INSIDE:
        take_inside(at, clock, probe, d_probe, inside)
    elif what == GUESS:
        clock[SIZE] = first_step(control, at - t, state, probe)
    else:
        h = course[LENGTH]
        keep_stage(stage, probe, d_probe, stages)
        accepted, reached = stage >= s, 0.0
        if accepted:
            reached = end_of_step(clock, h, step, end, control.adaptive, work.breakpoints)
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
                clock[SIZE] = h * (factor_of(error, control, True) if np.isfinite(error) else SHRINK)
                counters[REJECTED_STEPS] += 1
                stage = -1
                course[REJECTED] = 1.0
        if accepted and stage == s:
            if divides(h, t, end, work.onsets, work.reached):
                clock[SIZE] = 0.5 * h
                counters[REJECTED_STEPS] += 1
                accepted, stage = False, -1
                course[REJECTED] = 1.0
            else:
                follow_arguments(work.reached, work.onsets)
        stage += 1
        between = control.adaptive and (inside.share.size > 0 or times[row] < t + h - near)
        if accepted and not (between and stage < tableau.c.size):
            if between:
                form_dense(h, tableau.dense, state, sens, work.trial, work.d_trial, stages, s, work.dense)
            write_step(t, reached, h, stage, s, state, stages, work.trial, steps)
            _accept(state, sens, work)
            move_clock(reached, h, step, clock, work.breakpoints, inside)
            if not control.adaptive:
                grow(step, clock)
            stage = 0
            course[REJECTED] = 0.0
            if not is_finite(state, sens):
                return Status.NOT_FINITE.value
        course[STAGE_OF] = stage
    return EVALUATE


@merged
def _accept(state, sens, work):
    copy_state(work.trial, work.d_trial, state, sens)
    keep_stage(0, state, sens, work.stages)
    for c in range(work.owed.z.size):
        work.carry.z[c] = work.owed.z[c]
        work.carry.zd[c] = work.owed.zd[c]
    work.counters[STEPS] += 1
