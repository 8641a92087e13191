"""Eight runs of ``simulate`` beside each other, step by step: Newton and projections of all are computed in lanes.

All have the same steps. What a case has at the end of each stands in its own arrays as well, as if it had made the step
alone; so a step that is not the plain way for a case (``ali3p_cases``), or where a branch of the equations parts the
cases, is begun again from there by that case alone. A lane without a case of its own follows another one.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algebra.linear_solve import factor_range, keep_in_range
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import SPARSE, factor_penalised
from mbsim_cli.kernels.algorithms.equations.forces import expect_angles, follow_angles
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, as_column, flat
from mbsim_cli.kernels.drivers.integrate_cases import case_of
from mbsim_cli.kernels.drivers.observe import observe_rows
from mbsim_cli.kernels.drivers.simulate import ROWS_IN_CACHE, make_step, write_row
from mbsim_cli.kernels.drivers.stepping import stays_finite
from mbsim_cli.kernels.integrators import ali3p_cases
from mbsim_cli.kernels.integrators.ali3p import CHECKED, project
from mbsim_cli.kernels.integrators.ali3p_cases import ALONE, ENDED, GOING
from mbsim_cli.kernels.integrators.onsets import find_arguments, follow_arguments, passes_onset
from mbsim_cli.kernels.integrators.predictor import predict
from mbsim_cli.kernels.integrators.singular_passage import is_due, look_for_passage
from mbsim_cli.model.codes import Status


class Run(NamedTuple):
    """Arguments of ``simulate.run`` for one case, beside those that all share; ``formed`` receives a new tangent."""

    theta: np.ndarray
    directions: tuple  # none
    state: tuple
    sens: tuple
    work: tuple
    extra: tuple
    probe: tuple  # State of an iterate
    formed: tuple  # Factor
    record: tuple
    d_record: tuple


class Tangent(NamedTuple):
    """Arrays of a ``Factor`` along its structure."""

    T: np.ndarray
    packed: np.ndarray
    alpha: np.ndarray
    weight: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    inverse: np.ndarray
    lu: np.ndarray  # its first two rows: what no panel holds


class Numbers(NamedTuple):
    """Plain numbers (..., 8) behind those of cases."""

    state: tuple  # State
    past: tuple  # Past
    turns: tuple  # Turns
    corrections: np.ndarray
    expected: np.ndarray
    arguments: np.ndarray
    phi: np.ndarray
    phi1: np.ndarray
    phi2: np.ndarray
    J: np.ndarray
    weight: np.ndarray  # of the projection
    tangent: Tangent


@entry
def simulate_cases(
    model, theta, control, first, steps, interval, state, work, cases, numbers, decisions, leader, statuses, filled,
    counts,
):  # fmt: skip
    """Advance all from step ``first``, until one fails; its status is noted, and the others have made the step.

    ``leader`` (8,) tells whom a lane follows, itself where it has a case; the first ``filled`` rows are. ``counts``
    (2,) counts steps of cases, and those of them that were made alone. Returns steps and rows.
    """
    row, observed, done, failed = filled, filled, 0, False
    while done < steps and not failed:
        done += 1
        step = first + done
        ali3p_cases.begin_steps(decisions)
        for lane in range(leader.size):  # cases whose tangent has exchanged pivots make the step alone
            if case_of(cases, leader[lane]).work.tangent.pivot[0] != SPARSE and decisions.fresh[lane] != 0:
                decisions.stage[lane] = ALONE
        try:
            _step_together(model, theta, control, step, state, work, cases, numbers, decisions, leader)
        except Exception:
            _leave_all(decisions)
        stored = step % interval == 0
        for lane in range(leader.size):
            if leader[lane] == lane:
                case = case_of(cases, lane)
                statuses[lane] = _finish(model, control, step, lane, case, numbers, decisions, leader, counts)
                failed = failed or statuses[lane] != Status.OK
                if stored:
                    write_row(
                        step * control.h, decisions.count[lane], 0.0, control.mass_projection, case.state, case.sens,
                        case.work.eq, case.record, case.d_record, row,
                    )  # fmt: skip
                    if case.record.expected.shape[1] > 0:
                        copy_to(case.work.kin.expected, case.record.expected[row])
        if stored:
            row += 1
        if row - observed >= ROWS_IN_CACHE:
            _observe(model, control, cases, leader, observed, row)
            observed = row
    _observe(model, control, cases, leader, observed, row)
    return done, row


@kernel
def _leave_all(decisions):
    for lane in range(decisions.stage.size):
        decisions.stage[lane] = ALONE


@kernel
def _step_together(model, theta, control, step, state, work, cases, numbers, decisions, leader):
    """``simulate.make_step`` of all that stay on the plain way; raises ``Parted``."""
    t, kin, comp, eq = step * control.h, work.kin, work.comp, work.eq
    expect_angles(control.h, work.turns, kin)
    predict(
        model, control.h, state, work.corrections[1], work.tangent.weight, work.tangent.alpha, work.past, work.expected
    )
    for iteration in range(control.max_iterations):
        if ali3p_cases.cases_at(decisions, GOING) == 0:
            break
        system.evaluate(model, theta, t, control.at_center, state, kin, comp, eq)
        _form_tangents(model, t, control, cases, numbers, decisions, leader)
        ali3p_cases.correct_cases(control, iteration, step % CHECKED == 0, state, work, decisions)
    ended = ali3p_cases.cases_at(decisions, ENDED)
    if ended == 0:
        return
    find_arguments(model, theta, work.onsets, state, kin, work.arguments)
    ali3p_cases.apply_corrections(control.h, ended, state, work.column)
    if state.lam.size > 0:
        system.compose(model, kin, comp)
        status = project(model, theta, t, control, state, work)
        if status != Status.OK:
            _leave_all(decisions)
    follow_angles(model, theta, kin, work.turns)


@kernel
def _form_tangents(model, t, control, cases, numbers, decisions, leader):
    """Form the tangents that are wanted, one by one."""
    for lane in range(leader.size):
        if leader[lane] == lane and decisions.stage[lane] == GOING and decisions.fresh[lane] == 0:
            case = case_of(cases, lane)
            is_sparse = _form(model, t, control, lane, case, numbers)
            for j in range(leader.size):
                if leader[j] == lane:
                    if is_sparse:
                        _write_tangent(j, case.formed, numbers)
                        decisions.fresh[j], decisions.formed[j] = 1, 1
                    else:
                        decisions.stage[j] = ALONE


@kernel
def _form(model, t, control, lane, case, numbers):
    """Form the tangent at the iterate of a case, into its lane; return whether it is factorised along its structure."""
    kin, comp, eq, probe, formed, h = case.work.kin, case.work.comp, case.work.eq, case.probe, case.formed, control.h
    read_lane(lane, numbers.state.z, probe.z)
    read_lane(lane, numbers.state.zd, probe.zd)
    read_lane(lane, numbers.state.zdd, probe.zdd)
    read_lane(lane, numbers.state.lam, probe.lam)
    read_lane(lane, numbers.expected, kin.expected)
    system.evaluate(model, case.theta, t, control.at_center, probe, kin, comp, eq)
    system.tangent(model, case.theta, t, 0.5 * h, 0.25 * h * h, probe, eq.lines, probe.lam, kin, comp, formed.T)
    return factor_penalised(control.ratio, formed) and formed.pivot[0] == SPARSE


@kernel
def _finish(model, control, step, lane, case, numbers, decisions, leader, counts):
    """End the step of a case, in its own arrays; return its status."""
    counts[0] += 1
    if decisions.stage[lane] == ENDED:
        read_lane(lane, numbers.arguments, case.work.arguments)
        if passes_onset(case.work.onsets, case.work.arguments):
            return Status.PASSED
        follow_arguments(case.work.arguments, case.work.onsets)
        _set_lanes(lane, leader, decisions.trial[lane], decisions.scale)
        if decisions.formed[lane] != 0:
            _copy_tangent(case.formed, case.work.tangent)
        return _read_step(control, step, lane, case, numbers, leader)
    counts[1] += 1
    status, count, _, scale = make_step(
        model, case.theta, control, step, decisions.scale[lane], decisions.before[lane], case.directions, case.state,
        case.sens, case.work, case.extra,
    )  # fmt: skip
    _set_lanes(lane, leader, scale, decisions.scale)
    _set_lanes(lane, leader, count, decisions.count)
    own, lanes = _ends_of(case.state, case.work, case.work.kin), _ends_of(numbers.state, numbers, numbers)
    for j in range(leader.size):
        if leader[j] == lane:
            for i in range(len(own)):
                write_lane(j, own[i], lanes[i])
            _write_tangent(j, case.work.tangent, numbers)
    return status


@kernel
def _set_lanes(lane, leader, value, out):
    """Note a number of a case in its lane and in those that follow it."""
    for j in range(leader.size):
        if leader[j] == lane:
            out[j] = value


@kernel
def _read_step(control, step, lane, case, numbers, leader):
    """Copy the end of a step, which was made in lanes, to the arrays of a case; return its status."""
    state, work, eq = case.state, case.work, case.work.eq
    own, lanes = _ends_of(state, work, work.kin), _ends_of(numbers.state, numbers, numbers)
    for i in range(len(own)):
        read_lane(lane, lanes[i], own[i])
    read_lane(lane, numbers.state.sigma, state.sigma)
    read_lane(lane, numbers.phi, eq.phi)
    read_lane(lane, numbers.phi1, eq.phi1)
    read_lane(lane, numbers.phi2, eq.phi2)
    due = is_due(step, control.h, state, work.watch)
    if due or control.redundant:
        read_lane(lane, numbers.J, eq.J)
    if control.redundant:
        factor_range(eq.J, work.normal)
        keep_in_range(eq.J, work.normal, as_column(state.lam), work.column)
        keep_in_range(eq.J, work.normal, as_column(state.sigma), work.column)
        keep_in_range(eq.J, work.normal, as_column(state.kappa), work.column)
        for j in range(leader.size):
            if leader[j] == lane:
                write_lane(j, state.lam, numbers.state.lam)
                write_lane(j, state.kappa, numbers.state.kappa)
    if due:
        read_lane(lane, numbers.weight, work.projection.weight)
        look_for_passage(step, eq.J, work.projection.sparsity, work.projection.weight, state, work.watch)
    return Status.OK if stays_finite(state, case.sens) else Status.NOT_FINITE


@inlined
def _ends_of(state, work, kin):
    """All arrays that the next step begins with, as one row each; ``work`` and ``kin`` may be ``Numbers``."""
    past, turns = work.past, work.turns
    motion = flat(state.z), flat(state.zd), flat(state.zdd), flat(state.lam), flat(state.kappa)
    before = flat(past.zdd), flat(past.added), flat(past.multiplier), flat(past.kappa), flat(work.corrections)
    return (*motion, *before, flat(kin.expected), flat(turns.value), flat(turns.rate))


@kernel
def _write_tangent(lane, factor, numbers):
    """Give a lane a factorised tangent."""
    own, lanes = _parts_of(factor), _parts_of(numbers.tangent)
    for i in range(len(own)):
        write_lane(lane, own[i], lanes[i])


@kernel
def _copy_tangent(factor, out):
    """Copy a tangent that is factorised along its structure."""
    own, copies = _parts_of(factor), _parts_of(out)
    for i in range(len(own)):
        copy_to(own[i], copies[i])
    out.pivot[0] = factor.pivot[0]


@inlined
def _parts_of(tangent):
    """All arrays of a ``Tangent``, or those of a ``Factor``, as one row each."""
    matrices = flat(tangent.T), flat(tangent.packed), flat(tangent.lower), flat(tangent.upper)
    return (*matrices, flat(tangent.alpha), flat(tangent.weight), flat(tangent.inverse), flat(tangent.lu[:2]))


@kernel
def read_lane(lane, lanes, out):
    """Numbers of a lane."""
    x, y = flat(lanes), flat(out)
    for i in range(y.size):
        y[i] = x[WIDTH * i + lane]


@kernel
def write_lane(lane, own, lanes_out):
    """Write the numbers of a lane."""
    x, y = flat(own), flat(lanes_out)
    for i in range(x.size):
        y[WIDTH * i + lane] = x[i]


@kernel
def _observe(model, control, cases, leader, first, last):
    """Sensors and energies of the rows from first to last."""
    for lane in range(leader.size):
        if leader[lane] == lane:
            case = case_of(cases, lane)
            observe_rows(
                model, case.theta, control.at_center, case.directions, case.work.kin, case.extra.twists, case.record,
                case.d_record, first, last,
            )  # fmt: skip
