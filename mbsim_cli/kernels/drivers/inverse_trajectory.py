"""Inverse dynamics along a trajectory: torques, their derivatives, and gradients of torque objectives.

Trees of one-dof columns run ``LANES`` instants at a time; arguments are plain arrays, so that parts of a
trajectory can run in threads, each with its own work.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import entry
from mbsim_cli.kernels.algorithms.inverse_dynamics_lanes import BODY, COLUMN, LANES, LOAD, SUM, sweep
from mbsim_cli.kernels.algorithms.inverse_dynamics_lanes_derivatives import ENTRY, form_row, write_row


class Motion(NamedTuple):
    """A motion given at N instants, (N, n) each."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class LaneWork(NamedTuple):
    """Work of one thread; everything is written before it is read."""

    body: np.ndarray  # (n + 1,)
    column: np.ndarray  # (n,)
    total: np.ndarray  # (n,)
    load: np.ndarray  # (n,)
    row: np.ndarray  # (n,)


def lane_work(n):
    """Allocate LaneWork."""
    return LaneWork(*(np.zeros(k, kind) for k, kind in ((n + 1, BODY), (n, COLUMN), (n, SUM), (n, LOAD), (n, ENTRY))))


@entry
def lane_torques(system, motion, wrench, work, torque_out):
    """torque (N, n)."""
    total, n = torque_out.shape
    for first in range(0, total, LANES):
        sweep(system, motion, wrench, first, False, work)
        for i in range(n):
            for l in range(min(LANES, total - first)):
                torque_out[first + l, i] = work.column[i]["turn"][0, l]


@entry
def lane_derivatives(system, motion, wrench, work, torque_out, by_q_out, by_v_out, by_a_out):
    """torque (N, n) and d torque / d position, velocity, acceleration (N, n, n)."""
    total, n = torque_out.shape
    relation, load_row = system.links.relation, system.load_sums.row
    for first in range(0, total, LANES):
        count = min(LANES, total - first)
        sweep(system, motion, wrench, first, True, work)
        for i in range(n):
            form_row(relation, load_row[i] >= 0, i, work.column, work.row)
            write_row(i, first, count, work.row, by_q_out, by_v_out, by_a_out)
            for l in range(count):
                torque_out[first + l, i] = work.column[i]["turn"][0, l]
