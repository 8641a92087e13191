"""Rows of stored instants, whatever computed them."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels.algebra.whole import copy_to


class Record(NamedTuple):
    """Rows of stored instants, see ``model.problem.Block``."""

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


@kernel
def write_instant(t, state, sens, record, d_record, row):
    """Store motion and multipliers with their sensitivities; the multipliers are taken for the reaction."""
    record.time[row] = t
    copy_to(state.z, record.position[row])
    copy_to(state.zd, record.velocity[row])
    copy_to(state.zdd, record.acceleration[row])
    copy_to(state.lam, record.lam[row])
    copy_to(state.lam, record.reaction[row])
    copy_to(sens.z, d_record.position[row])
    copy_to(sens.zd, d_record.velocity[row])
    copy_to(sens.zdd, d_record.acceleration[row])
    copy_to(sens.lam, d_record.lam[row])
    copy_to(sens.lam, d_record.reaction[row])
