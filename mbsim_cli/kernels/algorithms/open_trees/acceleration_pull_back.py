"""Pull-back of the accelerations of an open tree, whatever formulation found them: the transpose of ``formulations``.

Accelerations solve R(z, z', z'', theta) = 0: inverse dynamics G on free coordinates, the norm equation on Euler
parameters e, the law on driven coordinates. An adjoint a of z'' asks for the virtual motion mu with M mu = -a, found by
the articulated bodies as accelerations are, without M; then mu . G is pulled back in one pass. The rows of e are

    P G + s e n,    P = 1 - e e^T / e.e,    n = e.e'' + e'.e'

so that mu is normal to e, and G = (e.G / e.e) e turns with it. Derivation: docs/theory/adjoint.md. Cost O(n p).
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear, copy_to, is_nothing
from mbsim_cli.kernels.algebra.vectors import inner4, norm2
from mbsim_cli.kernels.algorithms.by_type import table_by_type
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import set_armatures
from mbsim_cli.kernels.algorithms.motion.kinematics import position_kinematics, set_ground
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, kinematics
from mbsim_cli.kernels.algorithms.open_trees import recursive
from mbsim_cli.kernels.algorithms.open_trees.open_tree import coefficient_offset, pull_drive
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, largest, put, squares, width, zeros
from mbsim_cli.kernels.elements.columns import load4, load4_of
from mbsim_cli.model.layout import NONE

TINY = 1e-300  # added to a divisor: columns may be zero


class Elimination(NamedTuple):
    """Work of M mu = b for p columns."""

    kin: tuple  # Kinematics at rest, about the centres of mass
    art: tuple  # Articulated
    rhs: tuple  # RightHandSides
    x: np.ndarray  # (n, p) residual of a solution for the adjoints of a stage
    driven: np.ndarray  # (n, p) mu of driven coordinates; the same array as ``rhs.given``
    no_force: np.ndarray  # (nb + 1, 6) zeros
    no_rate: np.ndarray  # (n,) zeros
    no_change: np.ndarray  # (n, p) zeros


class PulledAccelerations(NamedTuple):
    """Work of the pull-back of p columns, ``simd.fitting``."""

    open_tree: tuple
    kin: tuple  # Kinematics about the global origin
    comp: tuple
    Q: np.ndarray  # (n,) forces of elements on coordinates
    G: np.ndarray  # (n,) residual; what drives take, where coordinates are driven
    elimination: tuple
    virtual: tuple
    hat: np.ndarray  # (n, p) adjoints of the accelerations


def elimination(model, theta, p, dtype=np.float64):
    """Allocate Elimination for p columns."""
    nb, n, kin = model.tree.parent.size, model.tree.column_kind.size, kinematics(model, dtype)
    set_ground(theta, kin)
    art, rhs = recursive.articulated(nb, n, dtype), recursive.right_hand_sides(model, p, dtype)
    x, no_change = zeros((2, n, p), dtype)
    return Elimination(kin, art, rhs, x, rhs.given, np.zeros((nb + 1, 6), dtype), np.zeros(n, dtype), no_change)


@kernel
def pull_accelerations(model, theta, t, state, work, adj):
    """Pull adjoints of z'' and of the multipliers of drives back to z, z' and theta; those are zero then.

    ``state`` is the motion, whose coordinates are where laws put them. Returns whether mu was found, and the largest
    relative residual.
    """
    if is_nothing(adj.zdd) and is_nothing(adj.lam):  # as at time points inside a step, of most sensors
        pull_drive(model, theta, t, work.open_tree, state.z, state.zd, state.zdd, adj)
        return True, 0.0
    driver = work.open_tree.driver
    copy_to(adj.zdd, work.hat)
    for c in range(driver.size):  # drives take a lambda = -G
        i = driver[c]
        if i != NONE:
            scale = -1.0 / theta[coefficient_offset(model, i)]
            for g in range(0, work.virtual.each.size, width(work.virtual.each)):
                k = block(work.virtual.each, g)
                put(work.elimination.driven, c, k, scale * at(adj.lam, i, k))
    if not find_virtual(model, theta, state, work):
        return False, 1.0
    system.evaluate_free(model, theta, t, False, state, work.kin, work.comp, work)
    pull_equations(model, theta, t, state, work, adj)
    for c in work.open_tree.euler:
        e = load4(state.z, c)
        for g in range(0, adj.each.size, width(adj.each)):
            k = block(adj.each, g)
            pull_norm(state, c, k, -1.0 / norm2(e) * inner4(e, load4_of(adj.zdd, c, k)), adj)
    error = left_of(driver, adj.each, work.hat, adj.zdd)
    pull_drive(model, theta, t, work.open_tree, state.z, state.zd, state.zdd, adj)
    clear(adj.zdd)
    clear(adj.lam)
    return True, error


@kernel
def _find_articulated(model, theta, state, work):
    """M mu = -hat on free coordinates, mu = ``driven`` on the others; False where nothing resists a coordinate."""
    tree, own, driver = model.tree, work.elimination, work.open_tree.driver
    kin, art, rhs, z = own.kin, own.art, own.rhs, state.z
    position_kinematics(tree, theta, z, True, kin)
    set_armatures(model, theta, art.armature)
    recursive.set_axes(tree, theta, kin, art)
    recursive.start_bodies(tree, kin, own.no_force, art)
    if not recursive.eliminate(tree, driver, kin, art):
        return False
    clear(rhs.F)
    clear(rhs.x)
    recursive.add_axis_forces(tree, rhs.each, z, own.no_change, own.no_rate, work.hat, rhs.x)
    recursive.solve_axes(tree, driver, kin, art, rhs)
    still, change = Motion(z, own.no_rate, own.no_rate), Motion(own.no_change, own.no_change, own.driven)
    recursive.vary_coordinate_accelerations(tree, rhs.each, driver, still, change, rhs.x, work.virtual.mu)
    return True


FIND_VIRTUAL = {Elimination: _find_articulated}  # by what solves; bodies that deform add rows
find_virtual = table_by_type(
    "work.elimination",
    "find_virtual",
    "Virtual motion mu in ``work`` of the adjoints ``work.hat``; False where nothing resists a coordinate.",
    FIND_VIRTUAL,
)


@kernel
def pull_equations(model, theta, t, state, work, adj):
    """Add pull-backs of mu . G, of drives' multipliers at fixed G, and of G turning with e; needs ``evaluate_free``."""
    driver, virtual = work.open_tree.driver, work.virtual
    system.pull_free(model, theta, t, state, work.kin, work.comp, virtual, adj)
    for c in range(driver.size):
        if driver[c] != NONE:
            o = coefficient_offset(model, driver[c])
            for g in range(0, virtual.each.size, width(virtual.each)):
                k = block(virtual.each, g)
                add_to(adj.theta, o, k, -work.G[c] / theta[o] * at(virtual.mu, c, k))
    for c in work.open_tree.euler:
        e = load4(state.z, c)
        along = inner4(e, load4(work.G, c)) / norm2(e)
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            for j in range(4):
                add_to(adj.z, c + j, k, -along * at(virtual.mu, c + j, k))


@inlined
def pull_norm(state, c, k, nu, adj):
    """Add the pull-back of nu times the norm equation of the Euler parameters from column c on."""
    e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
    for j in range(4):
        add_to(adj.z, c + j, k, e2[j] * nu)
        add_to(adj.zd, c + j, k, 2.0 * e1[j] * nu)
        add_to(adj.zdd, c + j, k, e[j] * nu)


@kernel
def left_of(driver, each, hat, zdd_hat):
    """Remaining adjoints of free accelerations once mu is known, relative to ``hat`` and to the part that mu adds.

    ``each`` are the ``simd.numbers`` of the columns.
    """
    worst = 0.0
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        size, left = TINY, 0.0
        for c in range(driver.size):
            size += squares(at(hat, c, k)) + squares(at(zdd_hat, c, k) - at(hat, c, k))
            if driver[c] == NONE:
                left += squares(at(zdd_hat, c, k))
        worst = max(worst, largest(left / size))
    return np.sqrt(worst)
