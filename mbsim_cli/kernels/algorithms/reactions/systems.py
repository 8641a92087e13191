"""Reactions of a system of trees, with bodies that deform or without, chosen by the type of ``model.tree``.

Of bodies that deform, ``reactions`` and its derivatives see columns, and what moves a body's frame acts on that.
"""

from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_gravity, pull_tree
from mbsim_cli.kernels.algorithms.flexible.bodies import (
    flexible_forces,
    pull_flexible_bodies,
    slope_bodies,
    vary_flexible_forces,
    with_elastic,
)
from mbsim_cli.kernels.algorithms.flexible.node_columns import pull_columns
from mbsim_cli.kernels.algorithms.flexible.workspace import adjoints_of_columns, virtual_of_columns
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion
from mbsim_cli.kernels.algorithms.reactions.pull_back import move_virtually, pull_crossing, pull_reactions
from mbsim_cli.kernels.algorithms.reactions.reactions import (
    act_on_bodies,
    cross_joints,
    joint_forces,
    multiplier_forces,
    react,
    vary_actions,
    vary_crossing,
    vary_joint_forces,
    vary_reactions,
)


def _rigid_forces(model, theta, t, z, zd, multiplier, kin, comp, eq):
    joint_forces(model, theta, t, z, zd, multiplier, eq.lines, kin, comp, eq.Q)


@with_elastic(_rigid_forces)
def find_forces(model, theta, t, z, zd, multiplier, kin, comp, eq):
    """Find the forces across joints of the motion in ``kin``: ``act_on_bodies``, then ``cross_joints``."""
    motion, found = kin.motion, comp.equations
    act_on_bodies(model, theta, t, motion.z, motion.zd, multiplier, eq.lines, kin, comp, found.Q)
    flexible_forces(model, theta, motion.z, motion.zd, motion.zdd, kin, comp, found.G)
    cross_joints(model.tree, kin, comp)


def _rigid_multipliers(model, theta, z, multiplier, kin, comp, eq):
    multiplier_forces(model, theta, z, multiplier, eq.lines, kin, comp, eq.Q)


@with_elastic(_rigid_multipliers)
def find_multiplier_forces(model, theta, z, multiplier, kin, comp, eq):
    """``reactions.multiplier_forces``."""
    multiplier_forces(model, theta, kin.motion.z, multiplier, eq.lines, kin, comp, comp.equations.Q)


def _rigid_read(model, theta, reactions, z, multiplier, kin, comp, eq, out):
    react(model, theta, reactions, z, multiplier, eq.lines, eq.Q, kin, comp, out)


@with_elastic(_rigid_read)
def read_reactions(model, theta, reactions, z, multiplier, kin, comp, eq, out):
    """``reactions.react``; needs ``find_forces``."""
    react(model, theta, reactions, kin.motion.z, multiplier, eq.lines, comp.equations.Q, kin, comp, out)


def _rigid_vary(model, theta, directions, reactions, t, z, zd, multiplier, sens, kin, comp, eq, tw, dQ, out):
    vary_joint_forces(model, theta, directions, t, z, zd, multiplier, sens, eq.lines, kin, comp, tw, dQ)
    vary_reactions(
        model, theta, directions, reactions, z, multiplier, sens, eq.lines, eq.Q, dQ, kin, comp, tw, out
    )  # fmt: skip


@with_elastic(_rigid_vary)
def vary_read(model, theta, directions, reactions, t, z, zd, multiplier, sens, kin, comp, eq, tw, dQ, out):
    """Variations (width, p) of the reactions; needs ``vary_bodies_of``."""
    motion, change, dtheta, touch = kin.motion, tw.change, directions.dtheta, directions.touch
    varied = LoadedMotion(change.z, change.zd, change.zdd, sens.lam)
    vary_actions(model, theta, directions, t, motion.z, motion.zd, multiplier, varied, eq.lines, kin, tw, tw.dG)
    slope_bodies(model, theta, motion, kin)
    vary_flexible_forces(model, theta, dtheta, touch, motion, change, kin, tw, tw.other_dG)
    vary_crossing(model.tree, theta, dtheta, touch, kin, comp, tw)
    vary_reactions(
        model, theta, directions, reactions, motion.z, multiplier, varied, eq.lines, comp.equations.Q, tw.dG, kin, comp,
        tw, out,
    )  # fmt: skip


def _rigid_pull(model, theta, reactions, t, z, zd, zdd, multiplier, kin, comp, eq, pulling, hat, adj):
    pull_reactions(
        model, theta, reactions, t, z, zd, multiplier, pulling.beside, eq.lines, eq.Q, kin, comp, pulling.virtual,
        pulling.no_nu, hat, adj,
    )  # fmt: skip
    pull_tree(model.tree, theta, z, kin, comp, pulling.none, adj)
    pull_gravity(adj)


@with_elastic(_rigid_pull)
def pull_read(model, theta, reactions, t, z, zd, zdd, multiplier, kin, comp, eq, pulling, hat, adj):
    """Add the pull-back of hat . reactions; needs ``find_forces``."""
    motion, columns, tree = kin.motion, adjoints_of_columns(adj), model.tree
    virtual, none = pulling.virtual, virtual_of_columns(pulling.none)
    moved = virtual_of_columns(virtual)
    move_virtually(
        model, theta, reactions, motion.z, multiplier, eq.lines, comp.equations.Q, kin, comp, moved, hat, columns
    )  # fmt: skip
    pull_crossing(
        model, theta, t, motion.z, motion.zd, multiplier, pulling.beside, eq.lines, kin, comp, moved, pulling.no_nu,
        columns,
    )  # fmt: skip
    pull_flexible_bodies(model, theta, motion.z, motion.zd, motion.zdd, True, kin, moved, columns)
    pull_tree(tree, theta, motion.z, kin, comp, none, columns)
    pull_gravity(columns)
    pull_columns(tree, theta, kin.rows, z, zd, zdd, adj)
