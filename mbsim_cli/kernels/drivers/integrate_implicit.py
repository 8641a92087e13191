"""The compiled time loop of a diagonally implicit Runge-Kutta method, called like ``integrate``.

Stages come from the residual of the equations of motion, which is the same in all formulations; accelerations at the
ends of steps and in rows from the formulation: see ``course``.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.compiler.jit import entry, merged
from mbsim_cli.kernels.drivers import course as loop
from mbsim_cli.kernels.drivers.course import AT, ERROR, EVALUATE, LENGTH, MAKE_STEP, PURPOSE, REGULAR, START
from mbsim_cli.kernels.drivers.record import write_step
from mbsim_cli.kernels.drivers.stepping import TIME, Breakpoints, end_by_clock
from mbsim_cli.kernels.integrators import runge_kutta
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.kernels.integrators.dense_output import Ends
from mbsim_cli.kernels.integrators.esdirk import NewtonControl, solve_stage, start_stage, vary_stage
from mbsim_cli.kernels.integrators.onsets import Onsets
from mbsim_cli.kernels.integrators.runge_kutta import Carry, ErrorControl, Stages, copy_state
from mbsim_cli.model.codes import Status


class ImplicitWork(NamedTuple):
    """Work arrays, and what one call leaves to the next."""

    clock: np.ndarray  # (7,) time, beginning of the last step, size of the next one, steps tried, ...: ``stepping``
    breakpoints: Breakpoints
    course: np.ndarray  # (10,) of one call: see ``course``
    counters: np.ndarray  # (5,) steps, rejected steps, evaluations, Jacobians, factorisations
    probe: State  # that is evaluated
    d_probe: Sensitivity
    stages: Stages
    carry: Carry
    owed: Carry  # of a trial
    dense: Ends  # with the accelerations of its stages
    equations: Any  # StageEquations, or LoopStages
    onsets: Onsets
    arguments: np.ndarray  # (k, 2) their arguments, and rates, at the probe


class ImplicitControl(NamedTuple):
    """Choices of the integration."""

    error: ErrorControl
    newton: NewtonControl


@entry
def integrate_implicit(model, scheme, case):
    """Fill rows at ``case.times``, in steps of length ``scheme.step`` or as the error asks; returns a status."""
    loop.begin(case.work)
    status = EVALUATE
    while status in (EVALUATE, MAKE_STEP):
        status = loop.form_point(model, scheme, scheme.control.error, case)
        if status == MAKE_STEP:
            status = _try_step(model, scheme, case)
        if status == EVALUATE:
            status = _take_in(loop.evaluate_point(model, case), scheme, case)
    return status


@merged
def _try_step(model, scheme, case):
    """Leave a step's end in the probe; return EVALUATE, MAKE_STEP if rejected, or the status that ends the call."""
    control, tableau, work, state, sens = scheme.control, scheme.tableau, case.work, case.state, case.sens
    course, error, adaptive = work.course, np.inf, scheme.control.error.adaptive
    status = loop.start_step(scheme, control.error, case)
    if status == MAKE_STEP:
        t, h = work.clock[TIME], course[LENGTH]
        at = end_by_clock(work.clock, h, scheme.step, scheme.end, adaptive, work.breakpoints)
        found = _stages(model, t, h, tableau, control.newton, case)
        course[AT], course[REGULAR] = at, 1.0 if found != Status.SINGULAR else 0.0
        if found == Status.OK:
            runge_kutta.end_step(model, at, h, tableau.a[tableau.c.size - 1], case)
            error = 0.0
            if adaptive:
                error = runge_kutta.error_norm(
                    control.error, h, tableau.error, state, work.probe, sens, work.d_probe, work.stages
                )
        course[ERROR] = error
        if found != Status.OK and not adaptive:
            status = found.value
        elif error <= 1.0:
            status = EVALUATE
        else:
            loop.reject(control.error, h, error, work)
    return status


@merged
def _take_in(regular, scheme, case):
    """Use the probe's accelerations, ``regular`` if they exist; return EVALUATE, or the status that ends the call."""
    control, s, state, sens, work = scheme.control.error, scheme.tableau.c.size, case.state, case.sens, case.work
    course = work.course
    status = loop.take_point(regular, s, control, case)
    if course[PURPOSE] == START:
        copy_state(work.probe, work.d_probe, work.dense.end, work.dense.d_end)
    if status == MAKE_STEP:
        status, at, h = EVALUATE, course[AT], course[LENGTH]
        if not regular:
            loop.reject(control, h, np.inf, work)
        elif not loop.is_divided(scheme, work):
            if case.steps.time.size > 0:
                copy_to(work.dense.end.zdd, case.steps.zdd[case.steps.count[0], s + 1])
            write_step(work.clock[TIME], at, h, s + 1, s, state, work.stages, work.probe, case.steps)
            _move_on(s - 1, state, sens, work)
            status = loop.accept(at, scheme, control, case)
    return status


@merged
def _stages(model, t, h, tableau, newton, case):
    """Solve all implicit stages of a step; return a status."""
    theta, tree, state, sens, work = case.theta, case.dyn.open_tree, case.state, case.sens, case.work
    probe, d_probe, stages = work.probe, work.d_probe, work.stages
    varies, status = sens.z.shape[1] > 0, Status.OK
    copy_to(state.lam, probe.lam)  # the first guess of multipliers
    for i in range(1, tableau.c.size):
        at, g = t + tableau.c[i] * h, h * tableau.a[i, i]
        runge_kutta.form_stage(h, tableau.a[i, :i], case)
        start_stage(model, theta, at, g, tableau.ahead[i], i, tree, stages.zdd, probe)
        status = solve_stage(model, theta, at, g, newton, tree, probe, work.equations, work.counters)
        if varies and status == Status.OK:
            status = vary_stage(
                model, theta, at, g, case.directions, tree, probe, d_probe, work.equations, work.counters
            )  # fmt: skip
        if status != Status.OK:
            break
        runge_kutta.keep_stage(i, probe, d_probe, stages)
    return status


@merged
def _move_on(last, state, sens, work):
    """Move on to the probe; for rows inside the step keep both ends with accelerations as stage ``last`` found them.

    Those of the formulation would carry the round-off of stiff forces into rows; a stage's own are damped.
    """
    ends = work.dense
    copy_state(ends.end, ends.d_end, ends.begin, ends.d_begin)
    copy_state(work.probe, work.d_probe, state, sens)
    copy_state(work.probe, work.d_probe, ends.end, ends.d_end)
    for c in range(state.z.size):
        ends.end.zdd[c] = work.stages.zdd[last, c]
        for k in range(sens.z.shape[1]):
            ends.d_end.zdd[c, k] = work.stages.dzdd[last, c, k]
