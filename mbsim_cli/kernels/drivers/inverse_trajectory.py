"""Inverse dynamics along a trajectory: torques, their derivatives, and gradients of torque objectives.

Trees of one-dof columns run ``LANES`` instants at a time. ``motion`` is ``model.problem.Motion``; parts of a
trajectory can run in threads, each with its own work.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.finite import is_finite
from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.torques.derivatives import ENTRY, form_row, write_row
from mbsim_cli.kernels.algorithms.torques.gradient import PULL, pull
from mbsim_cli.kernels.algorithms.torques.lanes import BODY, COLUMN, LANES, LOAD, SUM, sweep
from mbsim_cli.kernels.algorithms.torques.parameters import VARY, vary_parameter
from mbsim_cli.kernels.compiler.jit import entry


class LaneWork(NamedTuple):
    """Work of one thread; everything is written before it is read."""

    body: np.ndarray  # (n + 1,)
    column: np.ndarray  # (n,)
    total: np.ndarray  # (n,)
    load: np.ndarray  # (n,)
    row: np.ndarray  # (n,)
    pull: np.ndarray  # (n + 1,)
    vary: np.ndarray  # (n + 1,)


def lane_work(n):
    """Allocate LaneWork."""
    rows = ((n + 1, BODY), (n, COLUMN), (n, SUM), (n, LOAD), (n, ENTRY), (n + 1, PULL), (n + 1, VARY))
    return LaneWork(*(np.zeros(count, kind) for count, kind in rows))


@entry
def lane_torques(system, motion, wrench, work, torque_out):
    """torque (N, n)."""
    total, n = torque_out.shape
    for first in range(0, total, LANES):
        sweep(system, motion, wrench, first, False, work)
        for i in range(n):
            for l in range(min(LANES, total - first)):
                torque_out[first + l, i] = work.column[i]["torque"][0, l]


@entry
def lane_derivatives(system, motion, wrench, change, work, torque_out, by_q_out, by_v_out, by_a_out, by_parameter_out):
    """torque (N, n) and d torque / d position, velocity, acceleration (N, n, n), and by p parameters (N, n, p).

    Return whether all of them are finite: to look at numbers that have left the caches takes longer.
    """
    total, n = torque_out.shape
    related, load_row = system.related, system.load_sums.row
    finite = True
    for first in range(0, total, LANES):
        count = min(LANES, total - first)
        sweep(system, motion, wrench, first, True, work)
        clear(by_q_out[first : first + count])
        clear(by_v_out[first : first + count])
        clear(by_a_out[first : first + count])
        clear(by_parameter_out[first : first + count])
        for k in range(by_parameter_out.shape[2]):
            vary_parameter(system, change, wrench, first, k, work, by_parameter_out)
        for i in range(n):
            form_row(related, load_row[i] >= 0, i, work.column, work.row)
            write_row(related, i, first, count, work.row, by_q_out, by_v_out, by_a_out)
            for l in range(count):
                torque_out[first + l, i] = work.column[i]["torque"][0, l]
        finite &= is_finite(torque_out[first : first + count]) & is_finite(by_parameter_out[first : first + count])
        finite &= is_finite(by_q_out[first : first + count]) & is_finite(by_v_out[first : first + count])
        finite &= is_finite(by_a_out[first : first + count])
    return finite


@entry
def lane_gradient(system, motion, wrench, covector, weight, work, torque_out, by_q_out, by_v_out, by_a_out):
    """torque (N, n), and the gradient (N, n) with respect to position, velocity, acceleration at each instant.

    The objective's covector d psi / d tau is ``covector + weight * tau``, both (N, n).
    """
    total, n = torque_out.shape
    for first in range(0, total, LANES):
        sweep(system, motion, wrench, first, True, work)
        pull(system, covector, weight, first, work.column, work.pull)
        for i in range(n):
            g = work.pull[i]["g"]
            for l in range(min(LANES, total - first)):
                torque_out[first + l, i] = work.column[i]["torque"][0, l]
                by_q_out[first + l, i] = g[0, l]
                by_v_out[first + l, i] = g[1, l]
                by_a_out[first + l, i] = g[2, l]
