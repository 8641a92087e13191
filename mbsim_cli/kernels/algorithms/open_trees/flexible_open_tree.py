"""Open trees with bodies that deform: M by composites, K by the recursion of the residual, and a factorisation.

The variation of M z'' + K at fixed z'' is that of the residual, so that M is never varied. Cost O(n^3), and O(n^2) a
direction. Derivation: docs/theory/open_trees.md, flexible_bodies.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.flexible.workspace import flexible_composite, flexible_kinematics, flexible_twists
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, motion_alone
from mbsim_cli.kernels.algorithms.open_trees import dense_equations as dense
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import FIND_VIRTUAL
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import zeros


class FlexibleOpenTree(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: tuple
    kin: tuple  # about the global origin
    comp: tuple
    tw: tuple
    eq: tuple
    G: np.ndarray  # (n,) residual of the motion


class Residual(NamedTuple):
    """Where ``evaluate_free`` leaves its result."""

    G: np.ndarray


class DenseElimination(NamedTuple):
    """Work of M mu = b for p columns, in the place of ``acceleration_pull_back.Elimination``."""

    eq: tuple  # DenseEquations
    x: np.ndarray  # (n, p)
    driven: np.ndarray  # (n, p) mu of driven coordinates


def flexible_open_tree(model, theta, p, dtype=np.float64):
    """Allocate FlexibleOpenTree for p directions and the gravity of theta."""
    kin, n = flexible_kinematics(model, dtype), model.tree.column.size
    set_ground(theta, kin)
    work = flexible_composite(model, dtype), flexible_twists(model, p, dtype), dense.dense_equations(n, p, dtype)
    return FlexibleOpenTree(open_tree(model), kin, *work, np.zeros(n, dtype))


def dense_elimination(model, theta, p, dtype=np.float64):
    """Allocate DenseElimination for p columns."""
    n = model.tree.column.size
    return DenseElimination(dense.dense_equations(n, 0, dtype), zeros((n, p), dtype), zeros((n, p), dtype))


@kernel
def accelerate(model, theta, t, motion, dyn, reaction_out):
    """Find z'' of the ``motion``, and multipliers (m,) of drives; False where M is singular. Cost O(n^3)."""
    eq = dyn.eq
    system.evaluate_free(
        model, theta, t, False, Motion(motion.z, motion.zd, eq.zero), dyn.kin, dyn.comp, Residual(eq.K)
    )
    system.compose(model, dyn.kin, dyn.comp)
    system.mass(model, theta, dyn.kin, dyn.comp, eq.M)
    return dense.solve_motion(model, theta, t, dyn.open_tree, motion, eq, reaction_out)


@kernel
def vary_accelerations(model, theta, directions, t, state, sens, dyn):
    """dz'' and dlambda into ``sens``, from its dz, dz'; needs ``accelerate`` at the state. Cost O(p n^2)."""
    eq, motion = dyn.eq, motion_alone(state)
    system.evaluate_free(model, theta, t, False, motion, dyn.kin, dyn.comp, Residual(dyn.G))
    change = Motion(sens.z, sens.zd, eq.zeros)
    system.vary_free(model, theta, directions, t, motion, change, dyn.kin, dyn.comp, dyn.tw, eq.dG)
    dense.solve_variation(model, theta, directions.dtheta, t, dyn.open_tree, state, sens, eq)


@kernel
def find_virtual(model, theta, state, work):
    """Virtual motion mu of the adjoints ``work.hat``; False where nothing resists a coordinate."""
    elimination, kin = work.elimination, work.kin
    system.place(model, theta, state.z, False, kin)
    system.shape(model, theta, kin)
    system.compose(model, kin, work.comp)
    system.mass(model, theta, kin, work.comp, elimination.eq.M)
    return dense.solve_virtual_motion(
        work.open_tree, state.z, work.hat, elimination.driven, elimination.eq, work.virtual.mu
    )


FIND_VIRTUAL[DenseElimination] = find_virtual
