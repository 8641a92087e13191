"""The compiled time loop of ALI3-P: motion, and with p > 0 directions its sensitivities.

Many steps a call; a time point every ``interval`` steps goes to the rows of a record. One driver serves both
cases, for compiling costs more than the tests of p. Sensors are evaluated every few rows, which are in the cache then.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, copy_to, largest_part
from mbsim_cli.kernels.algebra.linear_solve import NormalEquations, factor_range, keep_in_range
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import Columns, Factor
from mbsim_cli.kernels.algorithms.equations.forces import Turns, expect_angles, follow_angles
from mbsim_cli.kernels.algorithms.motion.workspace import Kinematics, Twists
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, inlined, kernel
from mbsim_cli.kernels.compiler.simd import as_column
from mbsim_cli.kernels.drivers.observe import observe_rows
from mbsim_cli.kernels.drivers.record import write_time_point
from mbsim_cli.kernels.drivers.stepping import stays_finite
from mbsim_cli.kernels.integrators import ali3p
from mbsim_cli.kernels.integrators.ali3p import CHECKED, TURNED, Equations, State
from mbsim_cli.kernels.integrators.ali3p_derivatives import OfProjections, vary_motion, vary_projections
from mbsim_cli.kernels.integrators.onsets import Onsets, find_arguments, follow_arguments, passes_onset
from mbsim_cli.kernels.integrators.predictor import Past, predict
from mbsim_cli.kernels.integrators.singular_passage import Watch, is_due, look_for_passage
from mbsim_cli.model.codes import Status


class Work(NamedTuple):
    """Work arrays of the motion."""

    kin: Kinematics
    comp: Any
    eq: Equations
    tangent: Factor
    projection: Factor
    column: Columns  # one column
    past: Past
    corrections: np.ndarray  # (2, n)
    expected: np.ndarray  # (n,) accelerations
    iterate: State  # before a correction
    normal: NormalEquations
    turns: Turns
    watch: Watch  # for singular positions
    onsets: Onsets
    arguments: np.ndarray  # (k, 2) arguments of onsets, and their rates, at the end of a step
    start: State  # at the start of a step, where it may be divided


class SensitivityWork(NamedTuple):
    """Work arrays of the sensitivities."""

    tangent: Factor  # Newton keeps its own
    columns: Columns
    twists: Twists
    still: np.ndarray  # (2, n) zeros
    resting: OfProjections
    projections: OfProjections  # their columns


class Progress(NamedTuple):
    """Where a call stopped: status, steps done, and what the next call goes on with."""

    status: int
    steps: int
    scale: float
    latest: int  # iterations of the latest step, 0 where its tangent does not serve the next one
    iterations: int


ROWS_IN_CACHE = 64  # that sensors are evaluated for at once


@entry
def run(
    model, theta, control, first, steps, interval, progress, directions, state, sens, work, extra, filled, record,
    d_record,
):  # fmt: skip
    """Advance from step ``first``; the records receive the time points that are multiples of ``interval``, and sensors.

    The first ``filled`` of their rows are stored before; only their sensors are evaluated. Returns the fields of
    ``Progress`` as a plain tuple: making a named one calls Python, where a pending signal could strike.
    """
    scale, count, row, total = progress.scale, progress.latest, filled, 0
    kin, observed, status, done = work.kin, 0, Status.OK, steps
    if filled > 0 and work.onsets.force.size > 0:
        system.place(model, theta, state.z, control.at_center, kin)
        system.move_bodies(model, theta, state, kin)
        find_arguments(model, theta, work.onsets, state, kin, work.arguments)
        follow_arguments(work.arguments, work.onsets)
    for step in range(first + 1, first + steps + 1):
        status, count, error, scale = make_step(
            model, theta, control, step, scale, count, directions, state, sens, work, extra
        )
        total += count
        if status != Status.OK:
            done, count = step - first - 1, 0
            break
        if step % interval == 0:
            t = ali3p.end_of_step(control, step)
            write_row(t, count, error, control.mass_projection, state, sens, work.eq, record, d_record, row)
            if record.expected.shape[1] > 0:
                copy_to(kin.expected, record.expected[row])
            if record.corrections.shape[1] > 0:
                copy_to(work.corrections, record.corrections[row])
            row += 1
            if row - observed >= ROWS_IN_CACHE:
                observe_rows(
                    model, theta, control.at_center, directions, kin, extra.twists, record, d_record, observed, row
                )
                observed = row
    observe_rows(model, theta, control.at_center, directions, kin, extra.twists, record, d_record, observed, row)
    return status.value, done, scale, count, total


@kernel
def make_step(model, theta, control, step, scale, latest, directions, state, sens, work, extra):
    """Step number ``step``; returns status, iterations, error of sensitivities, and the new scale.

    ``latest`` and ``scale`` are those of ``Progress``. The motion is the same, bit for bit, in whatever directions it
    is varied: what varies it writes nothing that the motion reads. A step that an onset of a force divides is not made:
    the state is that before it, the status PASSED.
    """
    kin, eq, t, error = work.kin, work.eq, ali3p.end_of_step(control, step), 0.0
    has_onsets = work.onsets.force.size > 0
    if has_onsets:
        ali3p.copy_iterate(state, work.start)
    expect_angles(control.h.real, work.turns, kin)
    turn = predict(
        model, control.h, state, work.corrections[1], work.tangent.weight, work.tangent.alpha, work.past, work.expected
    )
    if turn > TURNED:
        latest = 0
    status, count, scale = ali3p.newton(model, theta, t, control, scale, latest, step % CHECKED == 0, state, work)
    if has_onsets:
        if status == Status.OK:
            find_arguments(model, theta, work.onsets, state, kin, work.arguments)
        if control.h.real > control.shortest and (status != Status.OK or passes_onset(work.onsets, work.arguments)):
            ali3p.copy_iterate(work.start, state)
            return Status.PASSED, count, error, scale
    if status != Status.OK:
        return status, count, error, scale
    if has_onsets:
        follow_arguments(work.arguments, work.onsets)
    if control.redundant:  # free multipliers act on nothing, but would as J turns
        factor_range(eq.J, work.normal)
        keep_in_range(eq.J, work.normal, as_column(state.lam), work.column)
    if sens.z.shape[1] > 0:
        status, error = vary_motion(model, theta, t, control, directions, state, sens, work, extra)
        if status != Status.OK:
            return status, count, error, scale
    if state.lam.size > 0:
        status, projected = _project_step(model, theta, control, step, directions, state, sens, work, extra)
        error = max(error, projected)
        if status != Status.OK:
            return status, count, error, scale
    if not stays_finite(state, sens):
        return Status.NOT_FINITE, count, error, scale
    follow_angles(model, theta, kin, work.turns)
    return Status.OK, count, error, scale


@inlined
def _project_step(model, theta, control, step, directions, state, sens, work, extra):
    """Project rates of a step that Newton ended, and their sensitivities; return status and error of sensitivities."""
    eq, projection, t = work.eq, work.projection, ali3p.end_of_step(control, step)
    varies, error = sens.z.shape[1] > 0, 0.0
    if not varies:  # the tangent has just found those of the same state
        system.compose(model, work.kin, work.comp)
    if ali3p.project(model, theta, t, control, state, work) != Status.OK:
        return Status.SINGULAR, error
    if control.redundant:
        keep_in_range(eq.J, work.normal, as_column(state.sigma), work.column)
        keep_in_range(eq.J, work.normal, as_column(state.kappa), work.column)
    if is_due(step, control.h.real, state, work.watch):
        look_for_passage(step, eq.J, projection.sparsity, projection.weight, state, work.watch)
    if varies:
        error = vary_projections(model, theta, t, control, directions, state, sens, work, extra)
        if control.redundant:
            keep_in_range(eq.J, work.normal, sens.lam, extra.columns)
            keep_in_range(eq.J, work.normal, sens.sigma, extra.columns)
            keep_in_range(eq.J, work.normal, sens.kappa, extra.columns)
    return Status.OK, error


@kernel
def write_row(t, count, error, mass_projection, state, sens, eq, record, d_record, row):
    """Store a time point.

    lambda belongs to z''* and is of first order in h; with the multipliers kappa of the mass-orthogonal
    projection, M z'' = Q - Phi_z^T (lambda + kappa): that is the reaction, of second order.
    """
    write_time_point(t, state, sens, record, d_record, row)
    share = 1.0 if mass_projection else 0.0
    record.iterations[row] = count
    copy_to(state.sigma, record.sigma[row])
    copy_to(state.kappa, record.kappa[row])
    add_scaled(share, state.kappa, record.reaction[row])
    add_scaled(share, sens.kappa, d_record.reaction[row])
    record.drift[row, 0] = largest_part(eq.phi)
    record.drift[row, 1] = largest_part(eq.phi1)
    record.drift[row, 2] = largest_part(eq.phi2)
    d_record.error[row] = error
