"""The evaluations of a run by a Runge-Kutta method: its start, breakpoints, rows, time points inside steps, steps.

A row is the state at the end of a step or, where steps are controlled, inside one by dense output; its accelerations
satisfy the equations of motion. A time loop forms the next state to be evaluated, the probe, evaluates it, and uses its
accelerations. It calls the equations of motion in one place, for each place would be compiled again. The functions
before and after this call are inlined: calls would cost a small tree a twentieth. ``integrate`` and
``integrate_implicit`` make the steps.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.by_type import table_by_type
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged
from mbsim_cli.kernels.drivers.open_trees import first_step, guess
from mbsim_cli.kernels.drivers.record import are_full, write_step, write_time_point
from mbsim_cli.kernels.drivers.stepping import (
    BEFORE_START,
    BEGIN,
    DIVISIBLE,
    DUE,
    INTERVALS,
    MEETS,
    PARTS,
    PASSED,
    SIZE,
    TIME,
    TRIED,
    jump,
    next_breakpoint,
    next_step,
    smallest_step,
    stays_finite,
    take_inside,
    time_inside,
    write_counters,
)
from mbsim_cli.kernels.integrators import runge_kutta
from mbsim_cli.kernels.integrators.dense_output import Dense, Ends, interpolate, interpolate_between
from mbsim_cli.kernels.integrators.onsets import find_arguments, follow_arguments, passes_onset
from mbsim_cli.kernels.integrators.runge_kutta import EVALUATIONS, SHRINK, STEPS
from mbsim_cli.kernels.integrators.runge_kutta import REJECTED as REJECTED_STEPS
from mbsim_cli.model.codes import Status

START, JUMP, GUESS, STEP, ROW, INSIDE = range(6)  # purposes of an evaluation
# ``course`` of one call: purpose and time of the evaluation, number of filled rows, stage, length of the step, whether
# the step before was rejected, whether accelerations were found, number of steps tried before the call, whether rates
# have been varied with the breakpoint that the clock stands at, error of the step over its bound
PURPOSE, AT, FILLED, STAGE_OF, LENGTH, REJECTED, REGULAR, BEGUN, JUMPED, ERROR = range(10)
COURSE = 10
EVALUATE, MAKE_STEP = -1, -2  # no status: the call is not at its end


class Scheme(NamedTuple):
    """How runs are integrated."""

    step: float  # s, where the error does not choose it
    end: float  # s, of the run
    tableau: Any  # Tableau, or ImplicitTableau
    control: Any  # ErrorControl, or ImplicitControl


class Case(NamedTuple):
    """One run, as a call takes it."""

    theta: np.ndarray
    times: np.ndarray  # (B,) of the rows
    directions: Any
    dyn: Any
    state: Any
    sens: Any
    work: Any  # IntegrationWork, or ImplicitWork
    steps: Any
    inside: Any
    record: Any
    counters: np.ndarray  # (B, 5) of the rows
    d_record: Any


_interpolate = table_by_type(
    "dense",
    "_interpolate",
    "Coordinates, rates and their sensitivities at a time within the step taken last.",
    {Dense: interpolate, Ends: interpolate_between},
)


@kernel
def begin(work):
    """Begin a call, with no row filled."""
    clear(work.course)
    work.course[REGULAR] = 1.0
    work.course[BEGUN] = work.clock[TRIED]


@inlined
def form_point(model, scheme, control, case):
    """Form the next probe, note why; return EVALUATE, MAKE_STEP if a step is due, or the status that ends the call."""
    theta, directions, open_tree, times = case.theta, case.directions, case.dyn.open_tree, case.times
    state, sens, work, steps, inside = case.state, case.sens, case.work, case.steps, case.inside
    clock, course, probe, d_probe = work.clock, work.course, work.probe, work.d_probe
    near, t, breakpoints, row = MEETS * scheme.end, clock[TIME], work.breakpoints, int(course[FILLED])
    ahead, due = next_breakpoint(clock), clock[DUE] > 0.0
    waits = ahead < breakpoints.time.size and t == breakpoints.time[ahead]  # at a breakpoint that is not passed yet
    while t != BEFORE_START and not waits and row < times.size and np.abs(t - times[row]) <= near:
        write_time_point(times[row], state, sens, case.record, case.d_record, row)
        write_counters(work.counters, case.counters[row])
        row += 1
    course[FILLED] = row
    if row == times.size and not due:
        return Status.OK.value
    if t == BEFORE_START:
        purpose, at = START, 0.0
        runge_kutta.copy_state(state, sens, probe, d_probe)
        runge_kutta.put_on_manifold(model, theta, at, directions, open_tree, probe, d_probe)
    elif due or t - times[row] > near:
        if due:
            if inside.count[0] == inside.length.size:
                return Status.PAUSED.value
            purpose, at = INSIDE, time_inside(clock, inside)
        else:
            purpose, at = ROW, times[row]
        _interpolate(at, clock[BEGIN], t, work.dense, probe, d_probe)
        runge_kutta.put_on_manifold(model, theta, at, directions, open_tree, probe, d_probe)
    elif waits:
        if are_full(steps):
            return Status.PAUSED.value
        purpose, at = START if course[JUMPED] != 0.0 else JUMP, breakpoints.behind[ahead]
        runge_kutta.copy_state(state, sens, probe, d_probe)
        runge_kutta.put_on_manifold(model, theta, at, directions, open_tree, probe, d_probe)
    elif control.adaptive and clock[SIZE] == 0.0:
        purpose, at = GUESS, t + guess(control, clock, scheme.end, state, probe)
    else:
        course[PURPOSE] = STEP
        return MAKE_STEP
    course[PURPOSE], course[AT] = purpose, at
    return EVALUATE


@inlined
def start_step(scheme, control, case):
    """Note the length of the step to be tried; return MAKE_STEP, or the status that ends the call."""
    work, end = case.work, scheme.end
    clock, course = work.clock, work.course
    h = next_step(clock, scheme.step, end, control.adaptive, work.breakpoints)
    if not h > smallest_step(clock[TIME], end):
        return (Status.STEP_TOO_SMALL if course[REGULAR] != 0.0 else Status.SINGULAR).value
    if are_full(case.steps):
        return Status.PAUSED.value
    if control.adaptive and clock[TRIED] >= control.most:
        return Status.TOO_MANY_STEPS.value
    # a call pauses only behind an accepted step, where nothing but the clock has to be kept
    if control.adaptive and clock[TRIED] >= course[BEGUN] + control.at_once and course[REJECTED] == 0.0:
        return Status.PAUSED.value
    clock[TRIED] += 1.0
    course[LENGTH] = h
    return MAKE_STEP


@merged
def evaluate_point(model, case):
    """Find the accelerations of the probe; return whether they exist."""
    work = case.work
    regular = runge_kutta.evaluate_state(
        model, case.theta, work.course[AT], case.directions, case.dyn, work.probe, work.d_probe
    )
    if regular and work.onsets.force.size > 0:
        find_arguments(model, case.theta, work.onsets, work.probe, case.dyn.kin, work.arguments)
    if work.course[PURPOSE] == JUMP:
        number = work.breakpoints.number[next_breakpoint(work.clock)]
        jump(case.theta, case.directions.dtheta, number, work.probe, case.state, case.sens)
    return regular


@inlined
def take_point(regular, stages, control, case):
    """Use the accelerations of the probe, ``regular`` if they exist, unless they are those of a step.

    ``stages`` is the number of stages of the method. Returns EVALUATE, MAKE_STEP where the accelerations are those of a
    step, or the status that ends the call.
    """
    state, sens, work = case.state, case.sens, case.work
    clock, course, probe, d_probe = work.clock, work.course, work.probe, work.d_probe
    purpose, at, row = int(course[PURPOSE]), course[AT], int(course[FILLED])
    work.counters[EVALUATIONS] += 1
    course[REGULAR] = 1.0 if regular else 0.0
    if not regular and (purpose != STEP or not control.adaptive):
        return Status.SINGULAR.value
    if purpose == START:
        runge_kutta.keep_stage(0, state, sens, work.stages)
        clock[TIME] = max(clock[TIME], 0.0)
        write_step(clock[TIME], at, 0.0, stages + 1, stages, state, work.stages, probe, case.steps)
        runge_kutta.copy_state(probe, d_probe, state, sens)
        runge_kutta.keep_stage(0, state, sens, work.stages)
        follow_arguments(work.arguments, work.onsets)
        clock[PASSED] += course[JUMPED]
        course[JUMPED] = 0.0
    elif purpose == JUMP:
        course[JUMPED] = 1.0
    elif purpose == ROW:
        write_time_point(at, probe, d_probe, case.record, case.d_record, row)
        write_counters(work.counters, case.counters[row])
        course[FILLED] = row + 1
    elif purpose == INSIDE:
        take_inside(at, clock, probe, d_probe, case.inside)
    elif purpose == GUESS:
        clock[SIZE] = first_step(control, at - clock[TIME], state, probe)
    else:
        return MAKE_STEP
    return EVALUATE


@merged
def is_divided(scheme, work):
    """Whether the step passes an onset and is tried again at half its length; else onsets are followed to its end."""
    h = work.course[LENGTH]
    can_be = work.onsets.force.size > 0 and h > DIVISIBLE * smallest_step(work.clock[TIME], scheme.end)
    divided = can_be and passes_onset(work.onsets, work.arguments)
    if divided:
        shorten(0.5 * h, work)
    else:
        follow_arguments(work.arguments, work.onsets)
    return divided


@merged
def accept(step_end, scheme, control, case):
    """Count the step to ``step_end``, begin the next there; return EVALUATE, or the status that ends the call."""
    state, sens, work, inside = case.state, case.sens, case.work, case.inside
    clock, course, breakpoints, h = work.clock, work.course, work.breakpoints, work.course[LENGTH]
    ahead = next_breakpoint(clock)
    meets = ahead < breakpoints.time.size and step_end == breakpoints.before[ahead]
    if control.adaptive:  # that a breakpoint cut the step off makes the next one no shorter
        size = h * runge_kutta.factor_of(course[ERROR], control, course[REJECTED] != 0.0)
        clock[SIZE] = max(size, clock[SIZE] if meets else 0.0)
    elif clock[SIZE] > 0.0:  # the next part of a step of fixed length may be twice as long
        clock[SIZE] = 0.0 if 2.0 * clock[SIZE] >= scheme.step else 2.0 * clock[SIZE]
    for c in range(work.owed.z.size):
        work.carry.z[c] = work.owed.z[c]
        work.carry.zd[c] = work.owed.zd[c]
    runge_kutta.keep_stage(0, state, sens, work.stages)
    work.counters[STEPS] += 1
    clock[PARTS] = max(1.0, np.ceil(h / (INTERVALS * scheme.step)))
    clock[DUE] = clock[PARTS] * inside.share.size
    clock[BEGIN] = clock[TIME]
    clock[TIME] = breakpoints.time[ahead] if meets else step_end
    course[REJECTED] = 0.0
    return EVALUATE if stays_finite(state, sens) else Status.NOT_FINITE.value


@merged
def reject(control, h, error, work):
    """Try a shorter step than h, whose error is ``error`` times its bound, inf if the step could not be made."""
    shorten(h * (runge_kutta.factor_of(error, control, True) if np.isfinite(error) else SHRINK), work)


@merged
def shorten(size, work):
    """Try a step of this size."""
    work.clock[SIZE] = size
    work.counters[REJECTED_STEPS] += 1
    work.course[REJECTED] = 1.0
