"""Partial recursive formulation: M, K and their derivatives by recursion over the tree, then a factorisation.

M by composite inertias, M_,p element by element from the varied composites, O(n^2) a direction; K and K_,p by the
backward recursion of the residual. The factorisation is O(n^3). Paper 001, equations (39)-(51) and appendix A,
(77)-(92), about the global origin, where shifting matrices are unity. Derivation: docs/theory/open_trees.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import add6, dot6, inertia_apply, inertia_at, motion_at, motion_at2
from mbsim_cli.kernels.algorithms.equations import inverse_dynamics
from mbsim_cli.kernels.algorithms.equations.residual_variation import vary_bodies, vary_inertia
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.variation import vary_columns
from mbsim_cli.kernels.algorithms.motion.workspace import composite, kinematics, motion_alone, twists
from mbsim_cli.kernels.algorithms.open_trees import dense_equations as dense
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.jit import kernel


class PartialRecursive(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: tuple
    kin: tuple  # of the motion with z'' = 0, about the global origin
    comp: tuple
    tw: tuple
    eq: tuple
    dS: np.ndarray  # (n, 6) variation of the columns in one direction
    d_inertia: np.ndarray  # (nb + 1, 10) variation of the composite inertias in one direction


def partial_recursive(model, theta, p, dtype=np.float64):
    """Allocate PartialRecursive for p directions and the gravity of theta."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    kin = kinematics(model, dtype)
    set_ground(theta, kin)
    return PartialRecursive(
        open_tree(model), kin, composite(model, dtype), twists(model, p, dtype), dense.dense_equations(n, p, dtype),
        np.zeros((n, 6), dtype), np.zeros((nb + 1, 10), dtype),
    )  # fmt: skip


@kernel
def accelerate(model, theta, t, motion, dyn, reaction_out):
    """Find z'' of the ``motion``, and multipliers (m,) of drives; False where M is singular. Cost O(n^3)."""
    tree, kin, comp, eq = model.tree, dyn.kin, dyn.comp, dyn.eq
    dense.move_unforced(model, theta, t, motion, kin, eq, comp.W)
    inverse_dynamics.residual(tree, kin, comp, eq.Q, eq.K)
    inverse_dynamics.composite_inertia(tree, kin, comp)
    inverse_dynamics.mass_matrix(tree, kin, comp, eq.M)
    inverse_dynamics.add_armature_mass(model, theta, eq.M)
    return dense.solve_motion(model, theta, t, dyn.open_tree, motion, eq, reaction_out)


@kernel
def vary_accelerations(model, theta, directions, t, state, sens, dyn):
    """dz'' and dlambda into ``sens``, from its dz, dz'; needs ``accelerate`` at the state. Cost O(p n^2)."""
    tree, kin, tw, eq = model.tree, dyn.kin, dyn.tw, dyn.eq
    dense.vary_unforced(model, theta, directions, t, motion_alone(state), motion_alone(sens), kin, tw, eq)
    vary_bodies(tree, theta, directions, state.z, sens.z, kin, dyn.comp, tw, eq.dG)
    inverse_dynamics.vary_armatures_alone(model, directions.dtheta, state.zdd, eq.dG)
    for k in range(sens.z.shape[1]):
        vary_columns(tree, theta, directions, state.z, sens.z, k, kin, tw, dyn.dS)
        vary_composites(tree, theta, directions, k, kin, tw, dyn.d_inertia)
        vary_mass_matrix(tree, kin, dyn.comp, dyn.dS, dyn.d_inertia, eq.dM)
        dense.add_matrix_times(eq.dM, state.zdd, k, eq.dG)
    dense.solve_variation(model, theta, directions.dtheta, t, dyn.open_tree, state, sens, eq)


@kernel
def vary_composites(tree, theta, directions, k, kin, tw, d_inertia_out):
    """Variation k of the inertias of all subtrees, (nb + 1, 10): equations (80)-(83). Cost O(n)."""
    dtheta, touch = directions.dtheta, directions.touch
    nb = tree.parent.size
    for c in range(10):
        d_inertia_out[nb, c] = 0.0
    for i in range(nb):
        N = motion_at2(tw.N, i, k)
        dm, dh, dJ = vary_inertia(tree, theta, dtheta, k, touch.inertia[i, k], kin, i, N)
        d_inertia_out[i, 0] = dm
        for c in range(3):
            d_inertia_out[i, 1 + c] = dh[c]
        for c in range(6):
            d_inertia_out[i, 4 + c] = dJ[c]
    for i in range(nb - 1, -1, -1):
        for c in range(10):
            d_inertia_out[tree.parent[i], c] += d_inertia_out[i, c]


@kernel
def vary_mass_matrix(tree, kin, comp, dS, d_inertia, dM_out):
    """dM_jc = dS_j . I S_c + S_j . (dI S_c + I dS_c), I of the subtree of c, j above it: equation (79). Cost O(n d)."""
    clear(dM_out)
    for i in range(tree.parent.size):
        inertia, varied = inertia_at(comp.inertia, i), inertia_at(d_inertia, i)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            S = motion_at(kin.S, c)
            P = inertia_apply(inertia, S)
            dP = add6(inertia_apply(varied, S), inertia_apply(inertia, motion_at(dS, c)))
            body, last = i, c + 1
            while body >= 0:
                for j in range(tree.first_column[body], last):
                    dM_out[j, c] = dot6(motion_at(dS, j), P) + dot6(motion_at(kin.S, j), dP)
                    dM_out[c, j] = dM_out[j, c]
                body = tree.parent[body]
                last = tree.first_column[body + 1]
