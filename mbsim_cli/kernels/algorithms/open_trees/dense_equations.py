"""Dense equations of an open tree, M z'' + K = 0, and their variation, solved for the free coordinates.

Driven coordinates keep their accelerations, and rows of Euler parameters e hold the norm equation
e . e'' + e' . e' = 0 along e, where M has nothing. Paper 001, equations (6)-(9); docs/theory/open_trees.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.linear_solve import ldl_factor, ldl_solve
from mbsim_cli.kernels.algebra.vectors import inner4, norm2
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces
from mbsim_cli.kernels.algorithms.equations.signals import element_forces, vary_element_forces
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics, position_kinematics
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.algorithms.open_trees.open_tree import (
    coefficient_offset,
    driven_acceleration,
    vary_driven_acceleration,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.columns import load4, load4_of
from mbsim_cli.model.layout import NONE


class DenseEquations(NamedTuple):
    """Equations of motion, and their variation in one direction (dM) or in p (dG)."""

    M: np.ndarray  # (n, n)
    K: np.ndarray  # (n,) residual at z'' = 0
    Q: np.ndarray  # (n,) forces of elements on coordinates
    U: np.ndarray  # (n, n) factor U of M = U^T D U, after norms and driven coordinates are closed
    inverse: np.ndarray  # (n,) 1 / D
    x: np.ndarray  # (n, 1) accelerations of free coordinates
    dM: np.ndarray  # (n, n)
    dG: np.ndarray  # (n, p) dM z'' + dK
    zero: np.ndarray  # (n,) zeros
    zeros: np.ndarray  # (n, p) zeros


def dense_equations(n, p, dtype=np.float64):
    """Allocate DenseEquations."""

    def z(*shape):
        return np.zeros(shape, dtype)

    return DenseEquations(z(n, n), z(n), z(n), z(n, n), z(n), z(n, 1), z(n, n), z(n, p), z(n), z(n, p))


@kernel
def move_unforced(model, theta, t, motion, kin, eq, W_out):
    """Kinematics of the ``motion`` at z'' = 0, about the global origin; forces of elements W (nb + 1, 6) and eq.Q."""
    unforced = Motion(motion.z, motion.zd, eq.zero)
    position_kinematics(model.tree, theta, motion.z, False, kin)
    motion_kinematics(model.tree, theta, unforced, kin)
    clear(W_out)
    clear(eq.Q)
    element_forces(model, theta, t, unforced, kin, W_out, eq.Q)


@kernel
def vary_unforced(model, theta, directions, t, motion, sens, kin, tw, eq):
    """Variations of ``move_unforced`` by dz, dz' of ``sens`` and theta: N, N', N'' and F of ``tw``, -dQ in eq.dG."""
    change = Motion(sens.z, sens.zd, eq.zeros)
    column_kinematics(model.tree, theta, Motion(motion.z, motion.zd, eq.zero), kin)
    vary_kinematics(model.tree, theta, directions, kin, change, tw)
    clear_forces(tw, eq.dG)
    vary_element_forces(model, theta, directions, t, motion, change, kin, tw, eq.dG)


@kernel
def solve_motion(model, theta, t, open_tree, motion, eq, reaction_out):
    """Factorise and solve for z'' of the ``motion``; reaction (m,) of the drivers. False where M is singular."""
    z, zdd_out, n = motion.z, motion.zdd, motion.z.size
    clear(zdd_out)
    driven_acceleration(model, theta, t, open_tree, zdd_out)
    for c in range(n):
        eq.x[c, 0] = -row_product(eq.M, c, zdd_out) - eq.K[c]
        for j in range(n):
            eq.U[c, j] = eq.M[c, j]
    for c in open_tree.euler:
        e, e1 = load4(z, c), load4(motion.zd, c)
        _remove_along(e, c, eq.x, 0)
        _add_along(e, -_norm_weight(eq.M, e, c) * norm2(e1), c, eq.x, 0)
    _close_rows(open_tree, z, eq)
    if not ldl_factor(eq.U, eq.inverse):
        return False
    ldl_solve(eq.U, eq.inverse, eq.x)
    for c in range(n):
        if open_tree.driver[c] == NONE:
            zdd_out[c] = eq.x[c, 0]
    _reactions(model, theta, open_tree, eq, zdd_out, reaction_out)
    return True


@kernel
def solve_variation(model, theta, dtheta, t, open_tree, state, sens, eq):
    """M dz'' = -(dM z'' + dK) for dz'' (n, p) of ``sens``, with the factors of ``solve_motion``; dlambda (m, p)."""
    z, zd, zdd, dz, dzd, dzdd_out = state.z, state.zd, state.zdd, sens.z, sens.zd, sens.zdd
    n, p = dz.shape
    for c in range(n):
        for k in range(p):
            dzdd_out[c, k] = -eq.dG[c, k]
    vary_driven_acceleration(model, theta, dtheta, t, open_tree, zdd, dzdd_out)
    for j in range(n):  # their part goes to the right-hand side
        if open_tree.driver[j] != NONE:
            for c in range(n):
                if open_tree.driver[c] == NONE:
                    for k in range(p):
                        dzdd_out[c, k] -= eq.M[c, j] * dzdd_out[j, k]
    for c in open_tree.euler:
        e, e1, e2 = load4(z, c), load4(zd, c), load4(zdd, c)
        along = inner4(e, load4(eq.K, c)) / norm2(e)
        weight = _norm_weight(eq.M, e, c)
        for k in range(p):
            de, de1 = load4_of(dz, c, k), load4_of(dzd, c, k)
            _add_along(de, along, c, dzdd_out, k)
            _remove_along(e, c, dzdd_out, k)
            _add_along(e, -weight * (inner4(de, e2) + 2.0 * inner4(e1, de1)), c, dzdd_out, k)
    ldl_solve(eq.U, eq.inverse, dzdd_out)
    vary_driven_acceleration(model, theta, dtheta, t, open_tree, zdd, dzdd_out)
    _vary_reactions(model, theta, dtheta, open_tree, zdd, eq, dzdd_out, sens.lam)


@kernel
def solve_virtual_motion(open_tree, z, hat, driven, eq, mu_out):
    """M mu = -hat (n, p) if free, mu = ``driven`` if not, normal to Euler parameters; needs M; False if singular."""
    n, p = hat.shape
    for c in range(n):
        for k in range(p):
            mu_out[c, k] = -hat[c, k]
        for j in range(n):
            eq.U[c, j] = eq.M[c, j]
    for c in range(n):
        if open_tree.driver[c] != NONE:
            for k in range(p):
                mu_out[c, k] = 0.0
        else:
            for j in range(n):
                if open_tree.driver[j] != NONE:
                    for k in range(p):
                        mu_out[c, k] -= eq.M[c, j] * driven[j, k]
    for c in open_tree.euler:
        for k in range(p):
            _remove_along(load4(z, c), c, mu_out, k)
    _close_rows(open_tree, z, eq)
    if not ldl_factor(eq.U, eq.inverse):
        return False
    ldl_solve(eq.U, eq.inverse, mu_out)
    for c in range(n):
        if open_tree.driver[c] != NONE:
            for k in range(p):
                mu_out[c, k] = driven[c, k]
    return True


@kernel
def add_matrix_times(M, x, k, y_out):
    """Add M x to column k of y."""
    for c in range(x.size):
        y_out[c, k] += row_product(M, c, x)


@inlined
def row_product(M, c, x):
    """Row c of M times x."""
    total = M[c, 0] * x[0]
    for j in range(1, x.size):
        total += M[c, j] * x[j]
    return total


@inlined
def _norm_weight(M, e, c):
    """Weight of the norm equation: of the size of its diagonal block of M."""
    return (M[c, c] + M[c + 1, c + 1] + M[c + 2, c + 2] + M[c + 3, c + 3]) / norm2(e)


@inlined
def _add_along(e, s, c, b_out, k):
    """Add s e to four rows of column k."""
    for j in range(4):
        b_out[c + j, k] += s * e[j]


@inlined
def _remove_along(e, c, b_out, k):
    """Take the part along e out of four rows of column k: the norm equation carries it."""
    _add_along(e, -inner4(e, load4_of(b_out, c, k)) / norm2(e), c, b_out, k)


@kernel
def _close_rows(open_tree, z, eq):
    """Give U the norm equations, and driven coordinates rows of their own with x = 0."""
    for c in open_tree.euler:
        e = load4(z, c)
        weight = _norm_weight(eq.M, e, c)
        for i in range(4):
            for j in range(4):
                eq.U[c + i, c + j] += weight * e[i] * e[j]
    for c in range(z.size):
        if open_tree.driver[c] != NONE:
            for j in range(z.size):
                eq.U[c, j] = 0.0
                eq.U[j, c] = 0.0
            eq.U[c, c] = 1.0
            eq.x[c, 0] = 0.0


@inlined
def _reaction(model, theta, eq, i, c, zdd):
    """Multiplier of driver i of coordinate c: its row of M z'' + K + a lambda = 0."""
    return -(row_product(eq.M, c, zdd) + eq.K[c]) / theta[coefficient_offset(model, i)]


@kernel
def _reactions(model, theta, open_tree, eq, zdd, reaction_out):
    clear(reaction_out)
    for c in range(zdd.size):
        i = open_tree.driver[c]
        if i != NONE:
            reaction_out[i] = _reaction(model, theta, eq, i, c, zdd)


@kernel
def _vary_reactions(model, theta, dtheta, open_tree, zdd, eq, dzdd, d_reaction_out):
    clear(d_reaction_out)
    for c in range(zdd.size):
        i = open_tree.driver[c]
        if i != NONE:
            o = coefficient_offset(model, i)
            reaction = _reaction(model, theta, eq, i, c, zdd)
            for k in range(d_reaction_out.shape[1]):
                dG = eq.dG[c, k] + dtheta[o, k] * reaction
                for j in range(zdd.size):
                    dG += eq.M[c, j] * dzdd[j, k]
                d_reaction_out[i, k] = -dG / theta[o]
