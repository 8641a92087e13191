"""Accelerations of an open tree at one state, and their variations, which no run needs by themselves, compiled."""

from mbsim_cli.kernels.algorithms.open_trees.formulations import accelerate, vary_accelerations
from mbsim_cli.kernels.algorithms.open_trees.open_tree import drive, vary_drive
from mbsim_cli.kernels.compiler.jit import entry


@entry
def accelerations(model, theta, open_tree, t, motion, dyn, reaction_out):
    """Find z'' of a Motion (n,), whose driven coordinates are set, and multipliers of drivers (m,).

    False where the mass matrix is singular.
    """
    drive(model, theta, t, open_tree, motion.z, motion.zd)
    return accelerate(model, theta, t, motion, dyn, reaction_out)


@entry
def accelerations_and_variations(model, theta, directions, open_tree, t, motion, change, dyn, reaction_out):
    """``accelerations``, and dz'', d_reaction of a LoadedMotion ``change`` (n, p) by its dz, dzd and theta."""
    drive(model, theta, t, open_tree, motion.z, motion.zd)
    vary_drive(model, theta, directions.dtheta, t, open_tree, motion.z, motion.zd, change.z, change.zd)
    if not accelerate(model, theta, t, motion, dyn, reaction_out):
        return False
    vary_accelerations(model, theta, directions, t, motion, change, dyn)
    return True
