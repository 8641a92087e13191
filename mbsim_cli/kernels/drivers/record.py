"""Rows of stored time points, whatever computed them."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.compiler.jit import inlined, kernel


class Record(NamedTuple):
    """Rows of stored time points, see ``model.problem.Block``."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    lam: np.ndarray
    sigma: np.ndarray
    kappa: np.ndarray
    iterations: np.ndarray
    drift: np.ndarray
    reaction: np.ndarray  # (N, m) multipliers that the projected accelerations belong to
    sensors: np.ndarray  # (N, width), by ``observe``
    energy: np.ndarray  # (N, 3) kinetic, potential, power of all else, by ``observe``
    expected: np.ndarray  # (N, nm) where angles between bodies are read, or (N, 0) where there are none
    corrections: np.ndarray  # (N, 2, n) of z', z'' by the projections, or (N, 0, n) where nothing needs them


class SensitivityRecord(NamedTuple):
    """Rows of stored sensitivities, trailing axis of p parameters."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    lam: np.ndarray
    reaction: np.ndarray
    sensors: np.ndarray  # by ``observe``
    error: np.ndarray


class Steps(NamedTuple):
    """Steps of an open tree, one a row, with all that their ends come of; the start is one of no length."""

    count: np.ndarray  # (1,) rows that are filled
    time: np.ndarray  # (K,) beginning
    end: np.ndarray  # (K,)
    size: np.ndarray  # (K,) length
    stages: np.ndarray  # (K,) that were evaluated
    z: np.ndarray  # (K, n) at the beginning
    zd: np.ndarray  # (K, S, n) rates at the stages, and of implicit methods behind them at the end
    zdd: np.ndarray  # (K, S, n) and last, of these, what an interpolant has at the beginning


class Inside(NamedTuple):
    """Time points inside every step, those of a rule of quadrature by which integrals over time are summed.

    Without any ``share`` none are wanted. Results do not keep them, and steps do not depend on them.
    """

    share: np.ndarray  # (q,) of a step, or of an equal part of it, that has passed there
    weight: np.ndarray  # (q,) of its length in an integral
    count: np.ndarray  # (1,) rows that are filled
    length: np.ndarray  # (K,) what each row weighs in an integral, s
    rows: Record  # K rows
    d_rows: SensitivityRecord


class Stretch(NamedTuple):
    """Time points of an open tree, and the steps that they lie in: the first of these ends before, or is the start."""

    rows: Record
    steps: Steps
    inside: Record  # time points inside these steps, but for the first
    length: np.ndarray  # (K,) as of ``Inside``

    @property
    def time(self):
        """Times of the time points."""
        return self.rows.time


@inlined
def recorded_motion(record, row):
    """The motion of a row."""
    return Motion(record.position[row], record.velocity[row], record.acceleration[row])


@kernel
def write_step(t, end, h, count, last, state, stages, finish, steps):
    """Store a step from ``state`` to ``finish``, its stage ``last``; nothing where none are asked for."""
    if steps.time.size > 0:
        row = steps.count[0]
        steps.time[row], steps.end[row], steps.size[row], steps.stages[row] = t, end, h, count
        copy_to(state.z, steps.z[row])
        copy_to(stages.zd, steps.zd[row])
        copy_to(stages.zdd, steps.zdd[row])
        copy_to(finish.zd, steps.zd[row, last])
        copy_to(finish.zdd, steps.zdd[row, last])
        steps.count[0] += 1


@kernel
def are_full(steps):
    """Whether there is no room for another step, where they are stored."""
    return steps.time.size > 0 and steps.count[0] == steps.time.size


@kernel
def write_time_point(t, state, sens, record, d_record, row):
    """Store motion and multipliers with their sensitivities; the multipliers are taken for the reaction."""
    record.time[row] = t
    copy_to(state.z, record.position[row])
    copy_to(state.zd, record.velocity[row])
    copy_to(state.zdd, record.acceleration[row])
    copy_to(state.lam, record.lam[row])
    copy_to(state.lam, record.reaction[row])
    if sens.z.size > 0:
        copy_to(sens.z, d_record.position[row])
        copy_to(sens.zd, d_record.velocity[row])
        copy_to(sens.zdd, d_record.acceleration[row])
        copy_to(sens.lam, d_record.lam[row])
        copy_to(sens.lam, d_record.reaction[row])
