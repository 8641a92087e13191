"""Pull-back of single instants: covectors of sensors and equations become such of the motion and of numbers."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import clear, copy_to
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded
from mbsim_cli.kernels.algorithms.systems.contract import evaluate, pull_rates, pull_residual, pull_seen, see
from mbsim_cli.kernels.compiler.jit import entry


class Asked(NamedTuple):
    """Covectors of p columns at N instants; those that nothing asks for have no rows."""

    seen: np.ndarray  # (N, width, p) of sensors
    mu: np.ndarray  # (N, n, p) of the residual G
    nu: np.ndarray  # (N, m, p) of Phi, where there is mu
    nu1: np.ndarray  # (N, m, p) of Phi'
    nu2: np.ndarray  # (N, m, p) of Phi'', where there is nu1


@entry
def pull_instants(model, theta, record, asked, work, pulling, out):
    """Fill ``out`` (MotionCovectors) at every row of a record, each for itself; ``pulling.cov.theta`` is summed."""
    kin, comp, eq, state, cov = work.kin, work.comp, work.eq, work.state, pulling.cov
    for row in range(record.time.size):
        t, z, zd, zdd = record.time[row], record.position[row], record.velocity[row], record.acceleration[row]
        copy_to(z, state.z)
        copy_to(zd, state.zd)
        copy_to(zdd, state.zdd)
        copy_to(record.lam[row], state.lam)
        expect_recorded(record.expected, row, kin)
        evaluate(model, theta, t, False, state, kin, comp, eq)
        clear(cov.z)
        clear(cov.zd)
        clear(cov.zdd)
        clear(cov.lam)
        if asked.mu.shape[0] > 0:
            copy_to(asked.mu[row], pulling.virtual.mu)
            pull_residual(model, theta, t, state, eq, kin, comp, pulling.virtual, asked.nu[row], cov)
        if asked.nu1.shape[0] > 0:
            move_lines(model, theta, eq.lines, kin, eq.line_rates)
            pull_rates(
                model, theta, t, z, zd, zdd, eq, kin, comp, pulling.none, asked.nu1[row], asked.nu2[row], cov
            )  # fmt: skip
        if asked.seen.shape[0] > 0:
            see(model, theta, t, z, zd, zdd, record.reaction[row], kin, work.seen)
            pull_seen(model, theta, t, z, zd, zdd, kin, comp, pulling.none, asked.seen[row], cov)
        copy_to(cov.z, out.z[row])
        copy_to(cov.zd, out.zd[row])
        copy_to(cov.zdd, out.zdd[row])
        copy_to(cov.lam, out.lam[row])
