"""Explicit Runge-Kutta steps of z'' = f(t, z, z') and of its sensitivities, whatever their tableau.

All stages of the sensitivities are those of the motion, differentiated, so that a gradient is that of the steps that
were taken. Sums into the state are compensated (Kahan): over many steps round-off stays that of a single one.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel, merged
from mbsim_cli.kernels.algorithms.formulations import accelerate, vary_accelerations
from mbsim_cli.kernels.algorithms.open_tree import drive, vary_drive
from mbsim_cli.kernels.algorithms.unit_rotations import normalise, vary_normalise
from mbsim_cli.model.layout import NONE


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
    """What compensated sums still owe the state."""

    z: np.ndarray  # (n,)
    zd: np.ndarray  # (n,)


@kernel
def evaluate_motion(model, theta, t, dyn, state):
    """Drive the coordinates, and find accelerations and multipliers; False if singular."""
    drive(model, theta, t, dyn.open_tree, state.z, state.zd)
    return accelerate(model, theta, t, state.z, state.zd, dyn, state.zdd, state.lam)


@kernel
def evaluate_state(model, theta, t, directions, dyn, state, sens):
    """``evaluate_motion`` with sensitivities."""
    if not evaluate_motion(model, theta, t, dyn, state):
        return False
    if directions.dtheta.shape[0] > 0:
        dtheta, touch = directions.dtheta, directions.touch
        vary_drive(model, theta, dtheta, t, dyn.open_tree, state.z, state.zd, sens.z, sens.zd)
        vary_accelerations(
            model, theta, dtheta, touch, t, state.z, state.zd, state.zdd, sens.z, sens.zd, dyn, sens.zdd, sens.lam
        )
    return True


@merged
def keep_stage(i, state, sens, stages):
    """Store the rates at a stage."""
    _copy(state.zd, stages.zd[i])
    _copy(state.zdd, stages.zdd[i])
    _copy2(sens.zd, stages.dzd[i])
    _copy2(sens.zdd, stages.dzdd[i])


@merged
def copy_state(state, sens, state_out, sens_out):
    """Copy a motion with its sensitivities."""
    _copy(state.z, state_out.z)
    _copy(state.zd, state_out.zd)
    _copy(state.zdd, state_out.zdd)
    _copy(state.lam, state_out.lam)
    _copy2(sens.z, sens_out.z)
    _copy2(sens.zd, sens_out.zd)
    _copy2(sens.zdd, sens_out.zdd)
    _copy2(sens.lam, sens_out.lam)


@kernel
def _copy(a, out):
    for c in range(a.size):
        out[c] = a[c]


@kernel
def _copy2(a, out):
    for c in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[c, k] = a[c, k]


@kernel
def take_stages(model, theta, t, h, first, last, tableau, directions, state, sens, carry, dyn, trial, d_trial, stages):
    """Stages first .. last - 1 of a step from ``state`` at t; ``trial`` is work. False if singular."""
    for i in range(first, last):
        weights = tableau.a[i]
        _go(h, weights, i, state.z, carry.z, stages.zd, trial.z)
        _go(h, weights, i, state.zd, carry.zd, stages.zdd, trial.zd)
        _go2(h, weights, i, sens.z, stages.dzd, d_trial.z)
        _go2(h, weights, i, sens.zd, stages.dzdd, d_trial.zd)
        if not evaluate_state(model, theta, t + tableau.c[i] * h, directions, dyn, trial, d_trial):
            return False
        keep_stage(i, trial, d_trial, stages)
    return True


@kernel
def _go(h, weights, count, start, owed, rates, out):
    """start + h sum of weights[j] rates[j], j < count."""
    for c in range(out.size):
        out[c] = owed[c]
    for j in range(count):
        weight = h * weights[j]
        if weight != 0.0:
            for c in range(out.size):
                out[c] += weight * rates[j, c]
    for c in range(out.size):
        out[c] += start[c]


@kernel
def _go2(h, weights, count, start, rates, out):
    for c in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[c, k] = start[c, k]
    for j in range(count):
        weight = h * weights[j]
        if weight != 0.0:
            for c in range(out.shape[0]):
                for k in range(out.shape[1]):
                    out[c, k] += weight * rates[j, c, k]


@kernel
def finish_step(model, theta, t, h, tableau, directions, state, sens, carry, dyn, trial, d_trial, stages, owed_out):
    """The state at t + h in ``trial``, on the manifold, with its rates as stage s. False if singular."""
    s = tableau.b.size
    _sum(h, tableau.b, state.z, carry.z, stages.zd, trial.z, owed_out.z)
    _sum(h, tableau.b, state.zd, carry.zd, stages.zdd, trial.zd, owed_out.zd)
    _go2(h, tableau.b, s, sens.z, stages.dzd, d_trial.z)
    _go2(h, tableau.b, s, sens.zd, stages.dzdd, d_trial.zd)
    put_on_manifold(dyn.open_tree, trial, d_trial)
    for i in range(dyn.open_tree.euler.size):
        for k in range(4):
            owed_out.z[dyn.open_tree.euler[i] + k] = 0.0
            owed_out.zd[dyn.open_tree.euler[i] + k] = 0.0
    for c in range(dyn.open_tree.driver.size):
        if dyn.open_tree.driver[c] != NONE:
            owed_out.z[c] = 0.0
            owed_out.zd[c] = 0.0
    if not evaluate_state(model, theta, t + h, directions, dyn, trial, d_trial):
        return False
    keep_stage(s, trial, d_trial, stages)
    return True


@merged
def put_on_manifold(tree, state, sens):
    """Unit Euler parameters, with their sensitivities."""
    vary_normalise(tree, state.z, state.zd, sens.z, sens.zd)
    normalise(tree, state.z, state.zd)


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
