"""Reactions of a system of trees, with bodies that deform or without.

Of bodies that deform, ``reactions`` and its derivatives see columns (``flexible.columns``), and what moves a body's
frame acts on that.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import motion_at, store, sub6
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import body_force
from mbsim_cli.kernels.algorithms.equations.signals import element_forces, read_multipliers
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_gravity, pull_tree
from mbsim_cli.kernels.algorithms.flexible import columns as flexible
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies
from mbsim_cli.kernels.algorithms.flexible.node_columns import pull_columns
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, motion_alone
from mbsim_cli.kernels.algorithms.reactions.pull_back import move_virtually, pull_crossing
from mbsim_cli.kernels.algorithms.reactions.reactions import (
    Acting,
    ActingVaried,
    constraint_part,
    sum_inwards,
    vary_actions,
    vary_crossing,
    vary_reactions,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel


@inlined
def acting_at(model, state, kin, comp, eq):
    """Motion of columns, multipliers, and arrays for ``find_forces``; needs ``place`` and ``constrain``."""
    motion, found = flexible.motion_of(model, motion_alone(state), kin), flexible.equations_of(model, comp, eq)
    return Acting(LoadedMotion(motion.z, motion.zd, motion.zdd, state.lam), eq.lines, found.Q, kin, comp)


@kernel
def find_forces(model, theta, t, acting):
    """Leave in comp.F (nb + 1, 6) the forces across tree joints, on the bodies that they carry, about ref of these.

    comp.W gets the share of each body alone: what it takes for its motion less what acts on it. Q (n,) are forces on
    coordinates but for what joints carry. Needs the motion in ``kin``, whose forces by motion are found here, and the
    lines.
    """
    tree, motion, kin, comp = model.tree, acting.motion, acting.kin, acting.comp
    clear(comp.W)
    clear(acting.Q)
    read_multipliers(model, motion.lam, kin)
    element_forces(model, theta, t, motion_alone(motion), kin, comp.W, acting.Q)
    constraint_part(model, theta, acting)
    flexible.elastic_forces(model, theta, kin, comp)
    for i in range(tree.parent.size):
        store(comp.W, i, sub6(body_force(kin, i), motion_at(comp.W, i)))
    sum_inwards(tree, kin, comp)


@inlined
def vary_read(model, theta, directions, reactions, t, acting, sens, tw, dQ, out):
    """Variations (width, p) of the reactions; needs ``vary_bodies_of``."""
    kin = acting.kin
    varied = ActingVaried(flexible.loaded_changes_of(model, sens, tw), flexible.rows_of(model, tw, dQ)[0], tw)
    motion, change = motion_alone(acting.motion), motion_alone(varied.motion)
    vary_actions(model, theta, directions, t, acting, varied)
    deforming_bodies.slope_bodies(model, theta, motion, kin)
    deforming_bodies.vary_flexible_forces(model, theta, directions, motion, change, kin, tw, varied.dQ)
    vary_crossing(model.tree, theta, directions, kin, acting.comp, tw)
    vary_reactions(model, theta, directions, reactions, acting, varied, out)


@inlined
def pull_read(model, theta, reactions, t, state, acting, pulling, hat, adj):
    """Add the pull-back of hat . reactions at the ``state``; needs ``find_forces``."""
    kin = acting.kin
    moving, columns = flexible.virtual_of(model, pulling.virtual), flexible.adjoints_of(model, adj)
    move_virtually(model, theta, reactions, acting, moving, hat, columns)
    pull_crossing(model, theta, t, acting, pulling.beside, moving, pulling.no_nu, columns)
    deforming_bodies.pull_flexible_bodies(model, theta, motion_alone(acting.motion), True, kin, moving, columns)
    pull_tree(model.tree, theta, acting.motion.z, kin, acting.comp, flexible.virtual_of(model, pulling.none), columns)
    pull_gravity(columns)
    pull_columns(model, theta, state, adj)
