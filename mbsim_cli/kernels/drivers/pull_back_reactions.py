"""Pull-back of reactions at stored instants of any motion; nothing runs where no objective reads a reaction."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import clear, copy_to
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import clear_bodies
from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded
from mbsim_cli.kernels.algorithms.reactions.systems import find_forces, pull_read
from mbsim_cli.kernels.algorithms.systems.contract import constrain, move, place
from mbsim_cli.kernels.compiler.jit import entry


class ReactionWork(NamedTuple):
    """Work of pull-backs of p columns."""

    cov: tuple  # Covectors; theta is summed over instants
    virtual: tuple  # Virtual
    none: tuple  # Virtual without motion
    no_nu: np.ndarray  # (m, p) zeros
    beside: np.ndarray  # (m,) multipliers of what acts beside the joints


class MotionCovectors(NamedTuple):
    """Covectors of the motion at N instants, with p columns."""

    z: np.ndarray  # (N, n, p)
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray  # (N, m, p)


@entry
def pull_back_reactions(model, theta, reactions, work, pulling, record, multiplier, hat, out):
    """Fill ``out`` from covectors hat (N, width, p) of the reactions; ``multiplier`` (N, m) as they are read with."""
    kin, comp, eq, cov = work.kin, work.comp, work.eq, pulling.cov
    for row in range(record.time.size):
        t, z, zd, zdd = record.time[row], record.position[row], record.velocity[row], record.acceleration[row]
        place(model, theta, z, False, kin)
        move(model, theta, z, zd, zdd, kin)
        constrain(model, theta, t, z, kin, eq)
        expect_recorded(record.expected, row, kin)
        find_forces(model, theta, t, z, zd, multiplier[row], kin, comp, eq)
        clear_bodies(cov)
        clear(cov.z)
        clear(cov.zd)
        clear(cov.zdd)
        clear(cov.lam)
        pull_read(
            model, theta, reactions, t, z, zd, zdd, multiplier[row], kin, comp, eq, pulling, hat[row], cov
        )  # fmt: skip
        copy_to(cov.z, out.z[row])
        copy_to(cov.zd, out.zd[row])
        copy_to(cov.zdd, out.zdd[row])
        copy_to(cov.lam, out.lam[row])
