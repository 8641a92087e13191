"""Pull-back of reactions at stored instants of any motion; nothing runs where no objective reads a reaction."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import entry
from mbsim_cli.kernels.algebra.whole import clear, copy_to
from mbsim_cli.kernels.algorithms.constraints import constraints
from mbsim_cli.kernels.algorithms.kinematics import motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.reaction_pull_back import pull_reactions
from mbsim_cli.kernels.algorithms.reactions import joint_forces
from mbsim_cli.kernels.algorithms.tree_pull_back import clear_bodies, pull_gravity, pull_tree
from mbsim_cli.kernels.algorithms.turning import expect_recorded


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
        position_kinematics(model.tree, theta, z, False, kin)
        motion_kinematics(model.tree, theta, z, zd, zdd, kin)
        constraints(model, theta, t, z, kin, eq.phi, eq.J, eq.lines)
        expect_recorded(record.expected, row, kin)
        joint_forces(model, theta, t, z, zd, multiplier[row], eq.lines, kin, comp, eq.Q)
        clear_bodies(cov)
        clear(cov.z)
        clear(cov.zd)
        clear(cov.zdd)
        clear(cov.lam)
        pull_reactions(
            model, theta, reactions, t, z, zd, multiplier[row], pulling.beside, eq.lines, eq.Q, kin, comp,
            pulling.virtual, pulling.no_nu, hat[row], cov,
        )  # fmt: skip
        pull_tree(model.tree, theta, z, kin, comp, pulling.none, cov)
        pull_gravity(cov)
        copy_to(cov.z, out.z[row])
        copy_to(cov.zd, out.zd[row])
        copy_to(cov.zdd, out.zdd[row])
        copy_to(cov.lam, out.lam[row])
