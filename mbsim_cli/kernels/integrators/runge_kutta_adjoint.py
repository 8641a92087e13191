"""Adjoint of explicit Runge-Kutta steps: adjoints of a step's end and stages, pulled back to its beginning.

The transpose of ``runge_kutta`` stage by stage, the last one first, at the steps that were taken. Rates at the
beginning are those of the end before, so that the accelerations of every stage are pulled back once. Derivation:
docs/theory/adjoint.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to
from mbsim_cli.kernels.algorithms import closed_loops
from mbsim_cli.kernels.algorithms.by_type import table_by_type
from mbsim_cli.kernels.algorithms.closed_loops import Loops, PulledLoops, project_motion
from mbsim_cli.kernels.algorithms.open_trees import acceleration_pull_back as open_trees
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import PulledAccelerations
from mbsim_cli.kernels.algorithms.open_trees.open_tree import OpenTree, drive, normalise, pull_normalise
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.integrators.dense_output import form_terms, interpolate_terms, pull_interpolated
from mbsim_cli.kernels.integrators.runge_kutta import combine


class StepAdjoints(NamedTuple):
    """Adjoints, of p columns, of the step that is being pulled back."""

    z0: np.ndarray  # (n, p) of its beginning
    zd0: np.ndarray
    z: np.ndarray  # (n, p) of its end
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray  # (m, p)
    earlier: np.ndarray  # (n, p) of what the interpolant of the step after began with
    rates: np.ndarray  # (S, n, p) of z' at the stages, as ``drivers.record.Steps`` has them
    accelerations: np.ndarray  # (S, n, p) of z''


class TakenStep(NamedTuple):
    """Length of a step of the run, and its rates at the stages."""

    h: float
    z: np.ndarray  # (n,) at its beginning
    zd: np.ndarray  # (S, n)
    zdd: np.ndarray  # (S, n)


class StepWork(NamedTuple):
    """Work arrays of a motion inside a step."""

    state: tuple  # State where accelerations are pulled back
    raw: tuple  # State before it was put onto the manifold
    end: tuple  # State at the end of the step
    begin: tuple  # State at its beginning
    owed: np.ndarray  # (n,) zeros
    terms: np.ndarray  # (TERMS, n) of dense output


@kernel
def add_motion(adj, step):
    """Add adjoints of a motion to those of the step's end."""
    add_scaled(1.0, adj.z, step.z)
    add_scaled(1.0, adj.zd, step.zd)
    add_scaled(1.0, adj.zdd, step.zdd)
    add_scaled(1.0, adj.lam, step.lam)


@kernel
def take_stage(stage, last, step, adj):
    """Adjoints of the motion at a stage; stage ``last`` is the end of the step."""
    clear(adj.z)
    copy_to(step.rates[stage], adj.zd)
    copy_to(step.accelerations[stage], adj.zdd)
    clear(adj.lam)
    if stage == last:
        add_scaled(1.0, step.z, adj.z)
        add_scaled(1.0, step.zd, adj.zd)
        add_scaled(1.0, step.zdd, adj.zdd)
        copy_to(step.lam, adj.lam)


@kernel
def _unit(model, theta, t, tree, state):
    normalise(tree, state.z, state.zd)


@kernel
def _projected(model, theta, t, tree, state):
    project_motion(model, theta, t, tree, state)


@kernel
def _pull_unit(model, theta, t, pulled, raw, state, adj):
    pull_normalise(pulled.open_tree, adj.each, raw.z, raw.zd, adj.z, adj.zd)


normalised = table_by_type(
    "tree", "normalised", "Put a motion onto its manifold.", {OpenTree: _unit, Loops: _projected}
)
pull_normalised = table_by_type(
    "pulled",
    "pull_normalised",
    "Turn adjoints of ``state`` into those of the motion ``raw`` that was put onto the manifold last.",
    {PulledAccelerations: _pull_unit, PulledLoops: closed_loops.pull_settled},
)
pull_accelerations = table_by_type(
    "work",
    "pull_accelerations",
    "Pull adjoints of z'' and of multipliers back to z, z' and theta; whether found, and an error.",
    {PulledAccelerations: open_trees.pull_accelerations, PulledLoops: closed_loops.pull_accelerations},
)


@kernel
def stand_on_manifold(model, theta, t, on_manifold, tree, raw, state):
    """Put what sums gave onto the manifold, where wanted, and onto laws."""
    copy_to(raw.z, state.z)
    copy_to(raw.zd, state.zd)
    if on_manifold:
        normalised(model, theta, t, tree, state)
    drive(model, theta, t, tree, state.z, state.zd)


@kernel
def combine_taken(taken, weights, work):
    """Form in ``work.raw`` the start of a step plus h times the weighted sum of the rates of its first stages."""
    combine(taken.h, weights, taken.z, work.owed, taken.zd, work.raw.z)
    combine(taken.h, weights, taken.zd[0], work.owed, taken.zdd, work.raw.zd)


@kernel
def stand_at_sum(model, theta, t, taken, weights, stage, last, tree, work):
    """Motion at a stage: such a sum, with the rates that were found there."""
    combine_taken(taken, weights, work)
    stand_on_manifold(model, theta, t, stage == last, tree, work.raw, work.state)
    copy_to(taken.zd[stage], work.state.zd)
    copy_to(taken.zdd[stage], work.state.zdd)


@kernel
def give_sum(model, theta, t, h, weights, on_manifold, pulled, work, adj, step):
    """Hand adjoints of such sums on to the step's beginning and to the stages."""
    if on_manifold:
        pull_normalised(model, theta, t, pulled, work.raw, work.state, adj)
    add_scaled(1.0, adj.z, step.z0)
    add_scaled(1.0, adj.zd, step.zd0)
    for j in range(weights.size):
        weight = h * weights[j]
        if weight != 0.0:
            add_scaled(weight, adj.z, step.rates[j])
            add_scaled(weight, adj.zd, step.accelerations[j])


@kernel
def go_back_a_step(step):
    """Go on to the step before, whose end the beginning was."""
    copy_to(step.z0, step.z)
    copy_to(step.zd0, step.zd)
    add_scaled(1.0, step.rates[0], step.zd)
    copy_to(step.accelerations[0], step.zdd)
    copy_to(step.accelerations[-1], step.earlier)
    clear(step.lam)
    clear(step.z0)
    clear(step.zd0)
    clear(step.rates)
    clear(step.accelerations)


# Functions that ``sweep_steps`` chooses by the method ----------------------------------------------------------------


def end_of(tableau):
    """Stage that is the end of the step."""
    return tableau.b.size


def stand_at_stage(model, theta, t, taken, tableau, stage, tree, work):
    """Motion at a stage of the step."""
    last = tableau.b.size
    weights = tableau.b if stage == last else tableau.a[stage, :stage]
    stand_at_sum(model, theta, t, taken, weights, stage, last, tree, work)


def pull_stage(model, theta, t, h, tableau, stage, state, work, adj):
    """Pull adjoints of the rates at a stage back to those of its sums, and to theta."""
    return pull_accelerations(model, theta, t, state, work.accelerations, adj)


def give_stage(model, theta, t, h, tableau, stage, pulled, work, adj, step):
    """Hand adjoints of the sums at a stage on to the step's beginning and to the stages before."""
    last = tableau.b.size
    weights = tableau.b if stage == last else tableau.a[stage, :stage]
    give_sum(model, theta, t, h, weights, stage == last, pulled, work, adj, step)


def stand_inside(model, theta, t, x, taken, tableau, tree, work):
    """Motion at the share x of the step by dense output, but for z''."""
    raw, end, last, (h, z, zd, zdd) = work.raw, work.end, tableau.b.size, taken
    combine_taken(taken, tableau.b, work)
    stand_on_manifold(model, theta, t - x * h + h, True, tree, raw, end)
    form_terms(h, tableau.dense, z, end.z, zd, last, work.terms)
    interpolate_terms(x, z, work.terms, raw.z)
    form_terms(h, tableau.dense, zd[0], end.zd, zdd, last, work.terms)
    interpolate_terms(x, zd[0], work.terms, raw.zd)
    stand_on_manifold(model, theta, t, True, tree, raw, work.state)


def give_inside(model, theta, t, x, h, tableau, pulled, work, adj, step):
    """Hand adjoints of a time point inside the step on to both ends and to the stages."""
    pull_normalised(model, theta, t, pulled, work.raw, work.state, adj)
    pull_interpolated(x, h, tableau.dense, tableau.b.size, adj.z, step.z0, step.z, step.rates)
    pull_interpolated(x, h, tableau.dense, tableau.b.size, adj.zd, step.zd0, step.zd, step.accelerations)


def give_earlier(tableau, starts, step):
    """Hand on what belongs to the step before alone, which ``starts`` the run or not: nothing here."""
