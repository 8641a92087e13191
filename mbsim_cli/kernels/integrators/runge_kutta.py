"""Explicit Runge-Kutta steps of z'' = f(t, z, z') and of its sensitivities, whatever their tableau.

All stages of the sensitivities are those of the motion, differentiated, so that a gradient is that of the steps that
were taken. Sums into the state are compensated (Kahan): over many steps round-off stays that of a single one.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algorithms.by_type import table_by_type
from mbsim_cli.kernels.algorithms.closed_loops import Loops, settle
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.algorithms.open_trees.formulations import accelerate, vary_accelerations
from mbsim_cli.kernels.algorithms.open_trees.open_tree import OpenTree, drive, normalise, vary_drive, vary_normalise
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged
from mbsim_cli.model.layout import NONE

# Lengths of steps -----------------------------------------------------------------------------------------------------
#
# Error of a step and the size of the next one; sizes follow real parts only, so that derivatives are of fixed steps.
#
# Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), sections II.4 and II.5.


SHRINK, GROW = 0.2, 10.0
STEPS, REJECTED, EVALUATIONS, JACOBIANS, FACTORISATIONS = range(5)  # what counters count


class ErrorControl(NamedTuple):
    """Bounds of the local error, and the order by which it falls; adaptive is false for fixed steps."""

    adaptive: bool
    relative: float
    absolute: float
    exponent: float  # 1 / (order of the error)
    safety: float  # factor on the length of a step whose estimated error equals the tolerance
    sensitivities: bool  # whether their error counts too
    most: float  # steps that a run may try
    at_once: float  # steps that a call may try before it pauses


@kernel
def factor_of(error, control, rejected):
    """Factor by which a step may grow, from its error in units of the tolerance."""
    if error == 0.0:
        return GROW if not rejected else 1.0
    factor = control.safety * error ** (-control.exponent)
    return min(1.0 if rejected else GROW, max(SHRINK, factor))


@kernel
def error_norm(control, h, weights, state, trial, sens, d_trial, stages):
    """Error of a step in units of the tolerance: root mean square over all coordinates and rates."""
    first, second, count = _errors(control, weights, state.z, trial.z, stages.zd)
    a, b, more = _errors(control, weights, state.zd, trial.zd, stages.zdd)
    error = _norm(h, first + a, second + b, count + more)
    if control.sensitivities:
        for k in range(sens.z.shape[1]):
            first, second, count = _errors(control, weights, sens.z[:, k], d_trial.z[:, k], stages.dzd[:, :, k])
            a, b, more = _errors(control, weights, sens.zd[:, k], d_trial.zd[:, k], stages.dzdd[:, :, k])
            error = max(error, _norm(h, first + a, second + b, count + more))
    return error


@kernel
def _errors(control, weights, start, end, rates):
    """Sums of squares of both estimates, scaled, and the number of terms."""
    first, second = 0.0, 0.0
    for c in range(start.size):
        scale = control.absolute + control.relative * max(np.abs(start[c].real), np.abs(end[c].real))
        a, b = 0.0, 0.0
        for j in range(weights.shape[1]):
            a += weights[0, j] * rates[j, c].real
            b += weights[1, j] * rates[j, c].real
        first += (a / scale) ** 2
        second += (b / scale) ** 2
    return first, second, start.size


@kernel
def _norm(h, first, second, count):
    """The fifth-order estimate, damped where the third-order one is much larger."""
    if first == 0.0:
        return 0.0 * second  # not a number stays one
    return h * first / np.sqrt((first + 0.01 * second) * count)


@kernel
def size_of(control, a, like):
    """Root mean square of a (n,) in units of the tolerance at ``like``."""
    total = 0.0
    for c in range(a.size):
        total += (a[c].real / (control.absolute + control.relative * np.abs(like[c].real))) ** 2
    return np.sqrt(total / max(1, a.size))


# Steps ----------------------------------------------------------------------------------------------------------------


class Tableau(NamedTuple):
    """A method of s stages; stage s stands at the end of the step, further ones serve dense output."""

    a: np.ndarray  # (S, S)
    b: np.ndarray  # (s,)
    c: np.ndarray  # (S,)
    error: np.ndarray  # (2, s + 1) weights of two estimates of the error; empty for fixed steps
    dense: np.ndarray  # (4, S) weights of the interpolant; empty without dense output


class Stages(NamedTuple):
    """Rates at the stages of a step."""

    zd: np.ndarray  # (S, n)
    zdd: np.ndarray  # (S, n)
    dzd: np.ndarray  # (S, n, p)
    dzdd: np.ndarray  # (S, n, p)


class Carry(NamedTuple):
    """Round-off of compensated sums that is still to be added to the state."""

    z: np.ndarray  # (n,)
    zd: np.ndarray  # (n,)


@kernel
def evaluate_state(model, theta, t, directions, dyn, state, sens):
    """Drive the coordinates, and find accelerations and multipliers with their sensitivities; False if singular."""
    drive(model, theta, t, dyn.open_tree, state.z, state.zd)
    if not accelerate(model, theta, t, motion_alone(state), dyn, state.lam):
        return False
    if directions.dtheta.shape[1] > 0:
        vary_drive(model, theta, directions.dtheta, t, dyn.open_tree, state.z, state.zd, sens.z, sens.zd)
        vary_accelerations(model, theta, directions, t, state, sens, dyn)
    return True


@inlined
def varies(sens):
    """Whether there are directions; of a run without any, nothing is to be copied many times a step."""
    return sens.z.size > 0


@merged
def keep_stage(i, state, sens, stages):
    """Store the rates at a stage."""
    copy_to(state.zd, stages.zd[i])
    copy_to(state.zdd, stages.zdd[i])
    if varies(sens):
        copy_to(sens.zd, stages.dzd[i])
        copy_to(sens.zdd, stages.dzdd[i])


@merged
def copy_state(state, sens, state_out, sens_out):
    """Copy a motion with its sensitivities."""
    copy_to(state.z, state_out.z)
    copy_to(state.zd, state_out.zd)
    copy_to(state.zdd, state_out.zdd)
    copy_to(state.lam, state_out.lam)
    if varies(sens):
        copy_to(sens.z, sens_out.z)
        copy_to(sens.zd, sens_out.zd)
        copy_to(sens.zdd, sens_out.zdd)
        copy_to(sens.lam, sens_out.lam)


@merged
def form_stage(h, weights, case):
    """Put a stage's motion into the probe of a ``course.Case``: the state plus h times weighted earlier rates."""
    state, sens, work = case.state, case.sens, case.work
    carry, stages, probe, d_probe = work.carry, work.stages, work.probe, work.d_probe
    combine(h, weights, state.z, carry.z, stages.zd, probe.z)
    combine(h, weights, state.zd, carry.zd, stages.zdd, probe.zd)
    if varies(sens):
        vary_combined(h, weights, sens.z, stages.dzd, d_probe.z)
        vary_combined(h, weights, sens.zd, stages.dzdd, d_probe.zd)


@kernel
def combine(h, weights, start, owed, rates, out):
    """start + h sum of weights[j] rates[j]."""
    for c in range(out.size):
        out[c] = owed[c]
    for j in range(weights.size):
        weight = h * weights[j]
        if weight != 0.0:
            for c in range(out.size):
                out[c] += weight * rates[j, c]
    for c in range(out.size):
        out[c] += start[c]


@kernel
def vary_combined(h, weights, start, rates, out):
    """Variation (n, p) of ``combine``."""
    for c in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[c, k] = start[c, k]
    for j in range(weights.size):
        weight = h * weights[j]
        if weight != 0.0:
            for c in range(out.shape[0]):
                for k in range(out.shape[1]):
                    out[c, k] += weight * rates[j, c, k]


@merged
def end_step(model, t, h, weights, case):
    """Motion at the end of a step, at t and on the manifold, in the probe; and what its sums still owe."""
    state, sens, work, tree = case.state, case.sens, case.work, case.dyn.open_tree
    carry, stages, probe, d_probe, owed = work.carry, work.stages, work.probe, work.d_probe, work.owed
    _sum(h, weights, state.z, carry.z, stages.zd, probe.z, owed.z)
    _sum(h, weights, state.zd, carry.zd, stages.zdd, probe.zd, owed.zd)
    if varies(sens):
        vary_combined(h, weights, sens.z, stages.dzd, d_probe.z)
        vary_combined(h, weights, sens.zd, stages.dzdd, d_probe.zd)
    put_on_manifold(model, case.theta, t, case.directions, tree, probe, d_probe)
    _owe_nothing(tree, owed.z)
    _owe_nothing(tree, owed.zd)


@kernel
def _owe_nothing(tree, owed):
    """Coordinates that were put onto the manifold or onto laws owe nothing."""
    for i in range(tree.euler.size):
        for j in range(4):
            owed[tree.euler[i] + j] = 0.0
    for c in range(owed.size):
        if tree.driver[c] != NONE:
            owed[c] = 0.0


@merged
def _keep_units(model, theta, t, directions, tree, state, sens):
    """Unit Euler parameters, with their sensitivities."""
    if varies(sens):
        vary_normalise(tree, state.z, state.zd, sens.z, sens.zd)
    normalise(tree, state.z, state.zd)


MANIFOLDS = {OpenTree: _keep_units, Loops: settle}  # by what knows of it: unit spheres, or all constraints
put_on_manifold = table_by_type(
    "tree", "put_on_manifold", "Put a motion, with its sensitivities, where coordinates may be.", MANIFOLDS
)


@kernel
def _sum(h, weights, start, owed, rates, out, owed_out):
    """Compensated start + h sum of weights[j] rates[j]."""
    for c in range(out.size):
        change = 0.0 * start[c]
        for j in range(weights.size):
            change += weights[j] * rates[j, c]
        change = h * change + owed[c]
        out[c] = start[c] + change
        owed_out[c] = change - (out[c] - start[c])
