"""Blocks of stored instants from the rows that kernels have filled."""

import numpy as np

from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.problem import Block


def block_of(record: Record, d_record: SensitivityRecord, p: int, iterations: np.ndarray, work: np.ndarray) -> Block:
    """A block; directions beyond the p parameters are left out."""
    varied = [array[..., :p] for array in (*d_record[:4], d_record.sensors)]
    diagnostics = iterations, record.drift, record.energy, d_record.error, work
    return Block(*record[:7], record.sensors, *varied, *diagnostics)
