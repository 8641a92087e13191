"""Conventional formulation: partial velocities of all bodies, M, K and their derivatives as explicit sums over them.

    M = sum J^T I J,    K = sum J^T (I A + V x* I V - W) - Q at z'' = 0,
    dM = sum dJ^T I J + J^T (dI J + I dJ),    dK = sum dJ^T F + J^T dF - dQ,

with J (6, n) the partial velocities of a body about the global origin. Cost O(n^3) for M and for each dM.
Paper 001, section 3.1, equations (20)-(31). Derivation: docs/theory/open_trees.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_force,
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    motion_at2,
    rows_at,
    store_rows,
    sub6,
)
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import add_armature_mass, body_force, vary_armatures_alone
from mbsim_cli.kernels.algorithms.equations.residual_variation import vary_inertia
from mbsim_cli.kernels.algorithms.motion.kinematics import set_ground
from mbsim_cli.kernels.algorithms.motion.variation import vary_acceleration, vary_columns, vary_velocity
from mbsim_cli.kernels.algorithms.motion.workspace import kinematics, motion_alone, twists
from mbsim_cli.kernels.algorithms.open_trees import dense_equations as dense
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.jit import inlined, kernel


class Conventional(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: tuple
    kin: tuple  # of the motion with z'' = 0, about the global origin
    tw: tuple
    eq: tuple
    W: np.ndarray  # (nb + 1, 6) forces of elements on single bodies
    J: np.ndarray  # (6, n) partial velocities of one body
    dJ: np.ndarray  # (6, n) their variation
    P: np.ndarray  # (6, n) I J
    dP: np.ndarray  # (6, n) dI J + I dJ
    dS: np.ndarray  # (n, 6) variation of the columns in one direction


def conventional(model, theta, p, dtype=np.float64):
    """Allocate Conventional for p directions and the gravity of theta."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    kin = kinematics(model, dtype)
    set_ground(theta, kin)
    return Conventional(
        open_tree(model), kin, twists(model, p, dtype), dense.dense_equations(n, p, dtype),
        np.zeros((nb + 1, 6), dtype), *np.zeros((4, 6, n), dtype), np.zeros((n, 6), dtype),
    )  # fmt: skip


@kernel
def accelerate(model, theta, t, motion, dyn, reaction_out):
    """Find z'' of the ``motion``, and multipliers (m,) of drives; False where M is singular. Cost O(n^3)."""
    tree, kin, eq, J, P = model.tree, dyn.kin, dyn.eq, dyn.J, dyn.P
    dense.move_unforced(model, theta, t, motion, kin, eq, dyn.W)
    clear(eq.M)
    for c in range(motion.z.size):
        eq.K[c] = -eq.Q[c]
    for b in range(tree.parent.size):
        F = sub6(body_force(kin, b), motion_at(dyn.W, b))
        inertia = inertia_at(kin.inertia, b)
        body_jacobian(tree, b, kin.S, J)
        for c in range(motion.z.size):
            store_rows(P, 0, c, inertia_apply(inertia, rows_at(J, 0, c)))
            eq.K[c] += dot6(rows_at(J, 0, c), F)
        _add_congruence(J, P, eq.M)
    _mirror(eq.M)
    add_armature_mass(model, theta, eq.M)
    return dense.solve_motion(model, theta, t, dyn.open_tree, motion, eq, reaction_out)


@kernel
def vary_accelerations(model, theta, directions, t, state, sens, dyn):
    """dz'' and dlambda into ``sens``, from its dz, dz'; needs ``accelerate`` at the state. Cost O(p n^3)."""
    tree, kin, tw, eq = model.tree, dyn.kin, dyn.tw, dyn.eq
    dense.vary_unforced(model, theta, directions, t, motion_alone(state), motion_alone(sens), kin, tw, eq)
    vary_armatures_alone(model, directions.dtheta, state.zdd, eq.dG)
    for k in range(sens.z.shape[1]):
        vary_columns(tree, theta, directions, state.z, sens.z, k, kin, tw, dyn.dS)
        clear(eq.dM)
        for b in range(tree.parent.size):
            _vary_sums(tree, theta, directions, k, b, dyn, eq.dG, eq.dM)
        _mirror(eq.dM)
        dense.add_matrix_times(eq.dM, state.zdd, k, eq.dG)
    dense.solve_variation(model, theta, directions.dtheta, t, dyn.open_tree, state, sens, eq)


@inlined
def _vary_sums(tree, theta, directions, k, b, dyn, dK_out, dM_out):
    """Add what body b contributes to variation k of K and M: equations (27)-(31)."""
    dtheta, touch = directions.dtheta, directions.touch
    kin, J, dJ = dyn.kin, dyn.J, dyn.dJ
    N = motion_at2(dyn.tw.N, b, k)
    inertia, W = inertia_at(kin.inertia, b), motion_at(dyn.W, b)
    d_inertia = vary_inertia(tree, theta, dtheta, k, touch.inertia[b, k], kin, b, N)
    F, dW = sub6(body_force(kin, b), W), motion_at2(dyn.tw.F, b, k)
    dF = add6(vary_body_force(kin, dyn.tw, b, k, inertia, d_inertia), sub6(dW, cross_force(N, W)))
    body_jacobian(tree, b, kin.S, J)
    body_jacobian(tree, b, dyn.dS, dJ)
    for c in range(J.shape[1]):
        column, varied = rows_at(J, 0, c), rows_at(dJ, 0, c)
        store_rows(dyn.P, 0, c, inertia_apply(inertia, column))
        store_rows(dyn.dP, 0, c, add6(inertia_apply(d_inertia, column), inertia_apply(inertia, varied)))
        dK_out[c, k] += dot6(varied, F) + dot6(column, dF)
    _add_congruence(dJ, dyn.P, dM_out)
    _add_congruence(J, dyn.dP, dM_out)


@inlined
def vary_body_force(kin, tw, b, k, inertia, d_inertia):
    """Variation k of I A + V x* I V of body b."""
    V, A = motion_at(kin.V, b), motion_at(kin.A, b)
    N, N1, N2 = motion_at2(tw.N, b, k), motion_at2(tw.N1, b, k), motion_at2(tw.N2, b, k)
    dV, dA = vary_velocity(V, N, N1), vary_acceleration(V, A, N, N1, N2)
    d_momentum = add6(inertia_apply(d_inertia, V), inertia_apply(inertia, dV))
    d_inertial = add6(inertia_apply(d_inertia, A), inertia_apply(inertia, dA))
    return add6(d_inertial, add6(cross_force(dV, inertia_apply(inertia, V)), cross_force(V, d_momentum)))


@kernel
def body_jacobian(tree, b, S, J_out):
    """Partial velocities of body b, J (6, n): the columns S (n, 6) of all joints that carry it, else zero."""
    clear(J_out)
    while b >= 0:
        for c in range(tree.first_column[b], tree.first_column[b + 1]):
            for r in range(6):
                J_out[r, c] = S[c, r]
        b = tree.parent[b]


@kernel
def _add_congruence(J, P, M_out):
    """Add J^T P to the lower half of M."""
    for i in range(M_out.shape[0]):
        a, b = rows_at(J, 0, i)
        for j in range(i + 1):
            M_out[i, j] += (
                a[0] * P[0, j] + a[1] * P[1, j] + a[2] * P[2, j] + b[0] * P[3, j] + b[1] * P[4, j] + b[2] * P[5, j]
            )


@kernel
def _mirror(M_out):
    """Copy the lower half to the upper."""
    for i in range(M_out.shape[0]):
        for j in range(i):
            M_out[j, i] = M_out[i, j]
