"""Coordinates or columns of a tree for its kernels, chosen by the type of ``model.tree``: columns where bodies deform.

Most callers import this module as ``flexible``. The first functions return the motion of columns, the equations in
columns, and so on; where no body deforms they return their arguments. The other functions do nothing there: they add
the forces of bodies that deform, and bring virtual motions to columns and the variation of the residual to coordinates.
``node_columns`` brings the rest. Compiled functions return arrays in tuples: a single one would need an owner.
"""

from mbsim_cli.kernels.algorithms.by_type import with_columns
from mbsim_cli.kernels.algorithms.flexible import node_columns
from mbsim_cli.kernels.algorithms.flexible.deforming_bodies import flexible_forces
from mbsim_cli.kernels.algorithms.motion.workspace import Adjoints, LoadedMotion, Motion, Virtual, motion_alone


@with_columns(lambda model, state, kin, comp: motion_alone(state))
def columns_at_rest(model, state, kin, comp):
    """Accelerations of columns of a system at rest."""
    node_columns.apply_columns(model.tree, kin.rows, state.zdd, comp.equations.x[0])
    return Motion(kin.motion.z, comp.zero, comp.equations.x[0])


@with_columns(lambda model, state, kin: motion_alone(state))
def motion_of(model, state, kin):
    """The motion of columns, as ``place`` and ``move_bodies`` leave it."""
    return motion_alone(kin.motion)


@with_columns(lambda model, theta, directions, state, sens, tw: motion_alone(sens))
def columns_varied(model, theta, directions, state, sens, tw):
    """Vary the motion of columns."""
    change = motion_alone(tw.change)
    node_columns.vary_motion_of_columns(
        model.tree, theta, directions.dtheta, motion_alone(state), motion_alone(sens), change
    )
    return change


@with_columns(lambda model, sens, tw: motion_alone(sens))
def changes_of(model, sens, tw):
    """The variation of that motion, as ``columns_varied`` left it."""
    return motion_alone(tw.change)


@with_columns(lambda model, sens, tw: LoadedMotion(sens.z, sens.zd, sens.zdd, sens.lam))
def loaded_changes_of(model, sens, tw):
    """The same with that of multipliers."""
    return LoadedMotion(tw.change.z, tw.change.zd, tw.change.zdd, sens.lam)


@with_columns(lambda model, comp, eq: eq)
def equations_of(model, comp, eq):
    """Residual G, and forces Q."""
    return comp.equations


@with_columns(lambda model, tw, dG_out: (dG_out,))
def rows_of(model, tw, dG_out):
    """Where the variation of the residual goes."""
    return (tw.dG,)


@with_columns(lambda model, adj: adj)
def adjoints_of(model, adj):
    """Adjoints."""
    of = adj.columns
    return Adjoints(adj.P, adj.D, adj.H, of.z, of.zd, of.zdd, adj.lam, adj.theta, adj.each, adj.signals)


@with_columns(lambda model, virtual: virtual)
def virtual_of(model, virtual):
    """A virtual motion."""
    return Virtual(virtual.columns, virtual.U, virtual.each)


# What bodies that deform add ------------------------------------------------------------------------------------------


@with_columns(lambda model, theta, kin, comp: None)
def elastic_forces(model, theta, kin, comp):
    """Add forces on frames to ``comp.W``; leave the rows G of elastic coordinates."""
    tree, found = model.tree, comp.equations
    for c in range(tree.elastic[0], tree.elastic[tree.flexible.size]):  # which the tree's recursions leave out
        found.G[c] = -found.Q[c]
    flexible_forces(model, theta, motion_alone(kin.motion), kin, comp, found.G)


@with_columns(lambda model, kin, virtual: None)
def spread_virtual(model, kin, virtual):
    """Give columns a virtual motion."""
    node_columns.spread_columns(model.tree, kin.rows, virtual.each, virtual.mu, virtual.columns)


@with_columns(lambda model, theta, dtheta, z, dz, kin, comp, tw, dG_out: None)
def bring_variation(model, theta, dtheta, z, dz, kin, comp, tw, dG_out):
    """The variation of the residual's rows of coordinates."""
    node_columns.vary_rows(model.tree, theta, kin.rows, dtheta, z, dz, comp.equations.G, tw.dG, dG_out)
