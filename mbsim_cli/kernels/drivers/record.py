"""Rows of stored instants, whatever computed them."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel


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


class SensitivityRecord(NamedTuple):
    """Rows of stored sensitivities, trailing axis of p parameters."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    lam: np.ndarray
    reaction: np.ndarray
    error: np.ndarray


@kernel
def write_instant(t, state, sens, record, d_record, row):
    """Store motion and multipliers with their sensitivities; the multipliers are taken for the reaction."""
    record.time[row] = t
    for c in range(state.z.size):
        record.position[row, c] = state.z[c]
        record.velocity[row, c] = state.zd[c]
        record.acceleration[row, c] = state.zdd[c]
        for k in range(sens.z.shape[1]):
            d_record.position[row, c, k] = sens.z[c, k]
            d_record.velocity[row, c, k] = sens.zd[c, k]
            d_record.acceleration[row, c, k] = sens.zdd[c, k]
    for r in range(state.lam.size):
        record.lam[row, r] = state.lam[r]
        record.reaction[row, r] = state.lam[r]
        for k in range(sens.lam.shape[1]):
            d_record.lam[row, r, k] = sens.lam[r, k]
            d_record.reaction[row, r, k] = sens.lam[r, k]
