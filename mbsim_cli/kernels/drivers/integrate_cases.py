"""Eight runs of ``integrate`` beside each other: the equations of motion of all are evaluated at once, in lanes.

Each run has its own clock and its own steps, and goes the way that it goes alone, to the last bit. Where a branch of
the equations parts the runs they are evaluated one by one; a run that is at its end leaves its lane to the first one.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.algorithms.open_trees.formulations import accelerate
from mbsim_cli.kernels.algorithms.open_trees.open_tree import drive
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.drivers.course import AT, EVALUATE
from mbsim_cli.kernels.drivers.integrate import form_probe, take_in
from mbsim_cli.kernels.integrators.onsets import find_arguments
from mbsim_cli.kernels.integrators.runge_kutta import evaluate_state
from mbsim_cli.model.layout import NONE


class Cases(NamedTuple):
    """Eight calls of ``integrate``, one a lane."""

    a: tuple
    b: tuple
    c: tuple
    d: tuple
    e: tuple
    f: tuple
    g: tuple
    h: tuple


class Probes(NamedTuple):
    """Time, state, accelerations and multipliers of all lanes; as numbers of cases, and as plain ones (..., 8)."""

    t: np.ndarray  # (1,)
    z: np.ndarray  # (n,)
    zd: np.ndarray  # (n,)
    zdd: np.ndarray  # (n,)
    lam: np.ndarray  # (m,)
    arguments: np.ndarray  # (k, 2) arguments of onsets, and their rates


@entry
def integrate_cases(model, scheme, theta, dyn, cases, probes, lanes, statuses, counts):
    """Make the calls of ``integrate`` of those cases whose status is EVALUATE; note with what they end.

    ``theta`` and ``dyn`` are those of all lanes, ``lanes`` is ``probes`` seen as plain numbers; ``counts`` (2,) counts
    evaluations of all lanes, and those of them that were made one by one. The calls have begun.
    """
    while True:
        first = NONE
        for lane in range(statuses.size):
            if statuses[lane] == EVALUATE:
                statuses[lane] = _form(lane, model, scheme, case_of(cases, lane), lanes)
            if statuses[lane] == EVALUATE and first == NONE:
                first = lane
        if first == NONE:
            return
        _fill(first, statuses, lanes)
        regular, together = False, True
        counts[0] += 1
        try:
            regular = _accelerate(model, theta, dyn, probes)
            find_arguments(model, theta, cases.a.work.onsets, probes, dyn.kin, probes.arguments)
        except Exception:
            together = False
            counts[1] += 1
        for lane in range(statuses.size):
            if statuses[lane] == EVALUATE:
                case = case_of(cases, lane)
                if together:
                    _scatter(lane, case.work.probe, case.work.arguments, lanes)
                else:
                    regular = _accelerate_alone(model, case)
                statuses[lane] = take_in(regular, scheme, case)


@kernel
def case_of(cases, lane):
    """The case of a lane."""
    if lane < 4:
        if lane < 2:
            return cases.a if lane == 0 else cases.b
        return cases.c if lane == 2 else cases.d
    if lane < 6:
        return cases.e if lane == 4 else cases.f
    return cases.g if lane == 6 else cases.h


@kernel
def _form(lane, model, scheme, case, lanes):
    """Form the next probe of a case, into its lane; return what ``form_probe`` does."""
    work, status = case.work, form_probe(model, scheme, case)
    if status == EVALUATE:
        lanes.t[0, lane] = work.course[AT]
        for c in range(work.probe.z.size):
            lanes.z[c, lane], lanes.zd[c, lane] = work.probe.z[c], work.probe.zd[c]
    return status


@kernel
def _fill(first, statuses, lanes):
    """Lanes of runs at their end do what the first one does."""
    for lane in range(statuses.size):
        if statuses[lane] != EVALUATE:
            lanes.t[0, lane] = lanes.t[0, first]
            for c in range(lanes.z.shape[0]):
                lanes.z[c, lane], lanes.zd[c, lane] = lanes.z[c, first], lanes.zd[c, first]


@kernel
def _accelerate(model, theta, dyn, probes):
    """``evaluate_state`` of all lanes; raises ``Parted``."""
    drive(model, theta, probes.t[0], dyn.open_tree, probes.z, probes.zd)
    return accelerate(model, theta, probes.t[0], motion_alone(probes), dyn, probes.lam)


@kernel
def _accelerate_alone(model, case):
    probe, t = case.work.probe, case.work.course[AT]
    regular = evaluate_state(model, case.theta, t, case.directions, case.dyn, probe, case.work.d_probe)
    if regular:
        find_arguments(model, case.theta, case.work.onsets, probe, case.dyn.kin, case.work.arguments)
    return regular


@kernel
def _scatter(lane, probe, arguments, lanes):
    """Give a case what stands in its lane."""
    for j in range(arguments.shape[0]):
        arguments[j, 0], arguments[j, 1] = lanes.arguments[j, 0, lane], lanes.arguments[j, 1, lane]
    for c in range(probe.z.size):
        probe.z[c], probe.zd[c], probe.zdd[c] = lanes.z[c, lane], lanes.zd[c, lane], lanes.zdd[c, lane]
    for r in range(probe.lam.size):
        probe.lam[r] = lanes.lam[r, lane]
