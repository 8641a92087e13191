"""Reactions of a system of trees, with bodies that deform or without.

Of bodies that deform, ``reactions`` and its derivatives see columns (``flexible.columns``), and what moves a body's
frame acts on that.
"""

from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_gravity, pull_tree
from mbsim_cli.kernels.algorithms.flexible import columns as flexible
from mbsim_cli.kernels.algorithms.flexible.deforming_bodies import pull_flexible_bodies
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, motion_alone
from mbsim_cli.kernels.algorithms.reactions.pull_back import move_virtually, pull_crossing
from mbsim_cli.kernels.algorithms.reactions.reactions import (
    Acting,
    ActingVaried,
    act_on_bodies,
    cross_joints,
    vary_actions,
    vary_crossing,
    vary_reactions,
)
from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def acting_at(model, state, kin, comp, eq):
    """The ``Acting`` of a state: motion of columns, multipliers, and the arrays that ``find_forces`` fills.

    Needs ``place`` and ``constrain``.
    """
    motion, found = flexible.motion_of(model, motion_alone(state), kin), flexible.equations_of(model, comp, eq)
    return Acting(LoadedMotion(motion.z, motion.zd, motion.zdd, state.lam), eq.lines, found.Q, kin, comp)


@inlined
def find_forces(model, theta, t, acting):
    """Find the forces across joints of the motion in ``acting.kin``: ``act_on_bodies``, then ``cross_joints``."""
    act_on_bodies(model, theta, t, acting)
    flexible.elastic_forces(model, theta, acting.kin, acting.comp)
    cross_joints(model.tree, acting.kin, acting.comp)


@inlined
def vary_read(model, theta, directions, reactions, t, acting, sens, tw, dQ, out):
    """Variations (width, p) of the reactions; needs ``vary_bodies_of``."""
    kin = acting.kin
    varied = ActingVaried(flexible.loaded_changes_of(model, sens, tw), flexible.rows_of(model, tw, dQ)[0], tw)
    vary_actions(model, theta, directions, t, acting, varied)
    flexible.slope_moved(model, theta, kin)
    flexible.vary_elastic_forces(model, theta, directions, kin, tw, varied.dQ)
    vary_crossing(model.tree, theta, directions, kin, acting.comp, tw)
    vary_reactions(model, theta, directions, reactions, acting, varied, out)


@inlined
def pull_read(model, theta, reactions, t, state, acting, pulling, hat, adj):
    """Add the pull-back of hat . reactions at the ``state``; needs ``find_forces``."""
    kin = acting.kin
    moving, columns = flexible.virtual_of(model, pulling.virtual), flexible.adjoints_of(model, adj)
    move_virtually(model, theta, reactions, acting, moving, hat, columns)
    pull_crossing(model, theta, t, acting, pulling.beside, moving, pulling.no_nu, columns)
    pull_flexible_bodies(model, theta, motion_alone(acting.motion), True, kin, moving, columns)
    pull_tree(model.tree, theta, acting.motion.z, kin, acting.comp, flexible.virtual_of(model, pulling.none), columns)
    pull_gravity(columns)
    flexible.bring_adjoints(model, theta, motion_alone(state), adj)
