"""The compiled time loop of a diagonally implicit Runge-Kutta method, called like ``integrate``.

Stages come from the residual of the equations of motion, which is the same in all formulations; accelerations at the
ends of steps and in rows from the formulation. As in ``integrate``, these are evaluated in one place.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.compiler.jit import entry, merged
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
from mbsim_cli.kernels.integrators.dense_output import interpolate_between
from mbsim_cli.kernels.integrators.esdirk import NewtonControl, solve_stage, start_stage, vary_stage
from mbsim_cli.kernels.integrators.onsets import Onsets, find_arguments, follow_arguments
from mbsim_cli.kernels.integrators.runge_kutta import (
    EVALUATIONS,
    REJECTED,
    SHRINK,
    STEPS,
    Carry,
    ErrorControl,
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
from mbsim_cli.model.codes import Status

START, JUMP, GUESS, STEP, ROW, INSIDE = range(6)  # what is evaluated


class ImplicitWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: np.ndarray  # (7,) time, beginning of the last step, size of the next one, steps tried, ...: ``stepping``
    breakpoints: Breakpoints
    counters: np.ndarray  # (5,) steps, rejected steps, evaluations, Jacobians, factorisations
    probe: State  # that is evaluated
    d_probe: Sensitivity
    begin: State  # where the last step began, and where it ended, with the accelerations of its stages
    d_begin: Sensitivity
    finish: State
    d_finish: Sensitivity
    stages: Stages
    carry: Carry
    owed: Carry  # of a trial
    equations: Any  # StageEquations, or LoopStages
    onsets: Onsets
    reached: np.ndarray  # (k, 2) their arguments, and rates, at the probe


class ImplicitControl(NamedTuple):
    """Choices of the integration."""

    error: ErrorControl
    newton: NewtonControl


@entry
def integrate_implicit(model, scheme, case):
    """Fill rows at ``case.times``, in steps of length ``scheme.step`` or as the error asks; returns a status."""
    step, end, tableau, control = scheme.step, scheme.end, scheme.tableau, scheme.control
    theta, times, directions, dyn, state, sens = (
        case.theta, case.times, case.directions, case.dyn, case.state, case.sens
    )  # fmt: skip
    work, steps, inside, record, d_record = case.work, case.steps, case.inside, case.record, case.d_record
    clock, counters, probe, d_probe = work.clock, work.counters, work.probe, work.d_probe
    adaptive, s, near, breakpoints = control.error.adaptive, tableau.c.size, MEETS * end, work.breakpoints
    row, h, at, rejected, regular, error, begun, jumped = 0, 0.0, 0.0, False, True, 0.0, clock[TRIED], False
    while row < times.size or clock[DUE] > 0.0:
        t, waits, due = clock[TIME], stands_at_breakpoint(clock, breakpoints), clock[DUE] > 0.0
        if t == BEFORE_START:
            what, at = START, 0.0
            copy_state(state, sens, probe, d_probe)
            put_on_manifold(model, theta, at, directions, dyn.open_tree, probe, d_probe)
        elif not waits and row < times.size and np.abs(t - times[row]) <= near:
            write_instant(times[row], state, sens, record, d_record, row)
            write_counters(counters, case.counters[row])
            row += 1
            continue
        elif due or t - times[row] > near:
            h = t - clock[BEGIN]
            if due:
                if inside.count[0] == inside.length.size:
                    return Status.PAUSED.value
                what, at = INSIDE, time_inside(clock, inside)
            else:
                what, at = ROW, times[row]
            interpolate_between(
                (at - clock[BEGIN]) / h, h, work.begin, work.d_begin, work.finish, work.d_finish, probe, d_probe
            )  # fmt: skip
            put_on_manifold(model, theta, at, directions, dyn.open_tree, probe, d_probe)
        elif waits:
            if are_full(steps):
                return Status.PAUSED.value
            what, at = START if jumped else JUMP, breakpoints.behind[next_breakpoint(clock)]
            copy_state(state, sens, probe, d_probe)
            put_on_manifold(model, theta, at, directions, dyn.open_tree, probe, d_probe)
        elif adaptive and clock[SIZE] == 0.0:
            what, at = GUESS, t + guess(control.error, clock, end, state, probe)
        else:
            what, h = STEP, next_step(clock, step, end, adaptive, breakpoints)
            if not h > smallest_step(t, end):
                return (Status.STEP_TOO_SMALL if regular else Status.SINGULAR).value
            if are_full(steps):
                return Status.PAUSED.value
            status = count_step(control.error, clock, begun, rejected)
            if status != Status.OK:
                return status.value
            at = end_of_step(clock, h, step, end, adaptive, breakpoints)
            status, error = _try_step(
                model, theta, t, at, h, tableau, control, directions, dyn.open_tree, state, sens, work
            )
            regular = status != Status.SINGULAR
            if status != Status.OK and not adaptive:
                return status.value
            if not error <= 1.0:
                rejected = _reject(control.error, h, error, work)
                continue

        regular = evaluate_state(model, theta, at, directions, dyn, probe, d_probe)
        counters[EVALUATIONS] += 1
        if regular and work.onsets.force.size > 0:
            find_arguments(model, theta, work.onsets, probe, dyn.kin, work.reached)

        if not regular:
            if what != STEP or not adaptive:
                return Status.SINGULAR.value
            rejected = _reject(control.error, h, np.inf, work)
        elif what == START:
            _take_start(at, s, state, sens, work, steps)
            follow_arguments(work.reached, work.onsets)
            clock[PASSED] += 1.0 if jumped else 0.0
            jumped = False
        elif what == JUMP:
            jump(theta, directions.dtheta, breakpoints.number[next_breakpoint(clock)], probe, state, sens)
            jumped = True
        elif what == ROW:
            write_instant(at, probe, d_probe, record, d_record, row)
            write_counters(counters, case.counters[row])
            row += 1
        elif what == INSIDE:
            take_inside(at, clock, probe, d_probe, inside)
        elif what == GUESS:
            clock[SIZE] = first_step(control.error, at - t, state, probe)
        elif divides(h, t, end, work.onsets, work.reached):
            rejected, clock[SIZE] = True, 0.5 * h
            counters[REJECTED] += 1
        else:
            follow_arguments(work.reached, work.onsets)
            if adaptive:
                clock[SIZE] = next_size(h, factor_of(error, control.error, rejected), at, clock, breakpoints)
            else:
                grow(step, clock)
            _take_step(t, at, h, s, step, state, sens, work, steps, inside)
            rejected = False
            if not is_finite(state, sens):
                return Status.NOT_FINITE.value
    return Status.OK.value


@merged
def _try_step(model, theta, t, at, h, tableau, control, directions, tree, state, sens, work):
    """Leave the end of a step in the probe; return a status, and the error over what is allowed, inf without an end."""
    status = _stages(model, theta, t, h, tableau, control.newton, directions, tree, state, sens, work)
    error = np.inf
    if status == Status.OK:
        end_step(
            model, theta, at, h, tableau.a[tableau.c.size - 1], directions, tree, state, sens, work.carry, work.stages,
            work.probe, work.d_probe, work.owed,
        )  # fmt: skip
        error = 0.0
        if control.error.adaptive:
            error = error_norm(control.error, h, tableau.error, state, work.probe, sens, work.d_probe, work.stages)
    return status, error


@merged
def _reject(control, h, error, work):
    """Make the step smaller; True, as it is rejected."""
    work.clock[SIZE] = h * (factor_of(error, control, True) if np.isfinite(error) else SHRINK)
    work.counters[REJECTED] += 1
    return True


@merged
def _take_start(at, s, state, sens, work, steps):
    """Begin at the probe."""
    keep_stage(0, state, sens, work.stages)
    work.clock[TIME] = max(work.clock[TIME], 0.0)
    write_step(work.clock[TIME], at, 0.0, s + 1, s, state, work.stages, work.probe, steps)
    copy_state(work.probe, work.d_probe, state, sens)
    copy_state(work.probe, work.d_probe, work.finish, work.d_finish)
    keep_stage(0, state, sens, work.stages)


@merged
def _take_step(t, at, h, s, step, state, sens, work, steps, inside):
    """Go on from the probe at the end of a step of ``s`` stages."""
    if steps.time.size > 0:
        copy_to(work.finish.zdd, steps.zdd[steps.count[0], s + 1])
    write_step(t, at, h, s + 1, s, state, work.stages, work.probe, steps)
    _accept(s - 1, state, sens, work)
    move_clock(at, h, step, work.clock, work.breakpoints, inside)


@merged
def _stages(model, theta, t, h, tableau, newton, directions, tree, state, sens, work):
    """Solve all implicit stages of a step; return a status."""
    probe, d_probe, stages = work.probe, work.d_probe, work.stages
    varies, status = sens.z.shape[1] > 0, Status.OK
    copy_to(state.lam, probe.lam)  # the first guess of multipliers
    for i in range(1, tableau.c.size):
        at, g = t + tableau.c[i] * h, h * tableau.a[i, i]
        form_stage(h, tableau.a[i], i, state, sens, work.carry, stages, probe, d_probe)
        start_stage(model, theta, at, g, tableau.ahead[i], i, tree, stages.zdd, probe)
        status = solve_stage(model, theta, at, g, newton, tree, probe, work.equations, work.counters)
        if varies and status == Status.OK:
            status = vary_stage(
                model, theta, at, g, directions, tree, probe, d_probe, work.equations, work.counters
            )  # fmt: skip
        if status != Status.OK:
            break
        keep_stage(i, probe, d_probe, stages)
    return status


@merged
def _accept(last, state, sens, work):
    """Move on to the probe; for rows inside the step keep both ends with accelerations as stage ``last`` found them.

    Those of the formulation would carry the round-off of stiff forces into rows; a stage's own are damped.
    """
    copy_state(work.finish, work.d_finish, work.begin, work.d_begin)
    copy_state(work.probe, work.d_probe, state, sens)
    copy_state(work.probe, work.d_probe, work.finish, work.d_finish)
    for c in range(state.z.size):
        work.finish.zdd[c] = work.stages.zdd[last, c]
        for k in range(sens.z.shape[1]):
            work.d_finish.zdd[c, k] = work.stages.dzdd[last, c, k]
        work.carry.z[c] = work.owed.z[c]
        work.carry.zd[c] = work.owed.zd[c]
    keep_stage(0, state, sens, work.stages)
    work.counters[STEPS] += 1
