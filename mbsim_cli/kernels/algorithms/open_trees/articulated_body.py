"""Accelerations of a tree without its mass matrix: articulated bodies, eliminated from the tips to the ground.

Accelerations are split, A = A_0 + a, into those without joint accelerations and the part that these add; a body then
takes the force I^A a + p^A from its joint, and its joint coordinates drop out of I^A, p^A one by one. Euler parameters
act as three rotations about fixed axes of the parent's side of the joint. Cost O(n).

Paper 001, equations (52)-(61); Featherstone (1983). Derivation: docs/theory/open_trees.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.articulated import (
    SIZE,
    add_shifted,
    articulated_apply,
    articulated_at,
    size_along,
    store_rigid,
    subtract_dyad,
)
from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2, rate_column
from mbsim_cli.kernels.algebra.spatial import (
    accumulate,
    add6,
    axpy6,
    dot6,
    motion_at,
    shift_force,
    shift_motion,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import add3, dot3, scale3
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import body_force, inertia_at
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_own, offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.columns import is_euler, load4
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import NONE

SINGULAR = 1e-13  # of the scale of an axis' inertia: below this nothing but round-off resists


class Articulated(NamedTuple):
    """Articulated bodies, and the axes that are eliminated; row nb belongs to the ground."""

    inertia: np.ndarray  # (nb + 1, 21) I^A as the parent's side of the joint feels it
    p: np.ndarray  # (nb + 1, 6) force that it takes without joint accelerations
    a: np.ndarray  # (nb + 1, 6) part of the body's acceleration that joint accelerations make
    joint_force: np.ndarray  # (nb + 1, 6) force across the joint, on the body, about its ref
    axis: np.ndarray  # (n, 6) S, or the axis of a rotation in place of Euler parameters
    U: np.ndarray  # (n, 6) I^A S
    D: np.ndarray  # (n,) 1 / (S . U + a), a the armature; zero where the coordinate is driven
    u: np.ndarray  # (n,) what of the coordinate's own force is left for its acceleration
    x: np.ndarray  # (n,) accelerations along the axes
    armature: np.ndarray  # (n,) inertias of the coordinates themselves


def articulated(nb, n, dtype=np.float64):
    """Allocate Articulated."""
    z = np.zeros
    bodies = [z((nb + 1, k), dtype) for k in (SIZE, 6, 6, 6)]
    return Articulated(*bodies, z((n, 6), dtype), z((n, 6), dtype), *(z(n, dtype) for _ in range(4)))


@inlined
def is_skipped(kind):
    """Whether the column has no axis of its own: four Euler parameters have three."""
    return kind == Column.EULER_0


@kernel
def set_axes(tree, theta, kin, art):
    """Axes of all coordinates, about ref of the bodies that they move."""
    for i in range(tree.parent.size):
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            k = tree.column_kind[c] - Column.EULER_1
            if k < 0:
                store(art.axis, c, motion_at(kin.S, c))
            else:
                unit = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
                store(art.axis, c, euler_own(tree, theta, kin, i, unit))


@kernel
def start_bodies(tree, kin, W, art):
    """Single bodies: inertia, and the force that the motion without joint accelerations takes, W (nb + 1, 6) given."""
    for i in range(tree.parent.size):
        store_rigid(art.inertia, i, inertia_at(kin.inertia, i))
        store(art.p, i, sub6(body_force(kin, i), motion_at(W, i)))


@kernel
def axis_forces(tree, z, Q, out):
    """Forces Q (n,) on coordinates as forces on their axes: those on Euler parameters give moments."""
    for c in range(z.size):
        kind = tree.column_kind[c]
        if is_euler(kind):
            k = kind - Column.EULER_0
            out[c] = 0.5 * euler_moment(z, Q, c - k)[k - 1] if k > 0 else 0.0 * Q[c]
        else:
            out[c] = Q[c]


@inlined
def euler_moment(z, Q, c):
    """E(e) Q for Euler parameters from column c on."""
    e = load4(z, c)
    moment = scale3(Q[c], rate_column(e, 0))
    for k in range(1, 4):
        moment = add3(moment, scale3(Q[c + k], rate_column(e, k)))
    return moment


@inlined
def cross_axis(art, i, c):
    """Eliminate axis c from the inertia of body i, and keep U and D; False if nothing resists it."""
    S = motion_at(art.axis, c)
    inertia = articulated_at(art.inertia, i)
    U = articulated_apply(inertia, S)
    resistance = dot6(S, U) + art.armature[c]
    if not resistance.real > SINGULAR * size_along(inertia, S):
        return False
    art.D[c] = 1.0 / resistance
    store(art.U, c, U)
    subtract_dyad(art.inertia, i, art.D[c], U)
    return True


@kernel
def eliminate(tree, driver, kin, art):
    """Eliminate the joints from the tips to the ground; ``u`` holds the axes' forces. False if nothing resists one."""
    for i in range(tree.parent.size - 1, -1, -1):
        for c in range(tree.first_column[i + 1] - 1, tree.first_column[i] - 1, -1):
            if driver[c] != NONE or is_skipped(tree.column_kind[c]):
                art.D[c] = 0.0
                continue
            S = motion_at(art.axis, c)
            u = art.u[c] - dot6(S, motion_at(art.p, i))
            if not cross_axis(art, i, c):
                return False
            art.u[c] = u
            accumulate(art.p, i, art.D[c] * u, motion_at(art.U, c))
        p = tree.parent[i]
        if p >= 0:
            d = offset_to_parent(tree, kin, i)
            add_shifted(art.inertia, p, articulated_at(art.inertia, i), d)
            accumulate(art.p, p, 1.0, shift_force(motion_at(art.p, i), scale3(-1.0, d)))
    return True


@kernel
def accelerate_axes(tree, kin, art):
    """Joint accelerations along the axes, x, and the forces across the joints, from the ground to the tips."""
    ground = tree.parent.size
    for k in range(6):
        art.a[ground, k] = 0.0
    for i in range(tree.parent.size):
        a = shift_motion(motion_at(art.a, tree.parent[i]), offset_to_parent(tree, kin, i))
        force = add6(articulated_apply(articulated_at(art.inertia, i), a), motion_at(art.p, i))
        store(art.joint_force, i, force)
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            x = art.D[c] * (art.u[c] - dot6(a, motion_at(art.U, c)))
            art.x[c] = x
            a = axpy6(x, motion_at(art.axis, c), a)
        store(art.a, i, a)


@kernel
def add_coordinate_accelerations(tree, driver, z, zd, art, zdd_out):
    """Add the accelerations of free coordinates to zdd, which holds the driven ones.

    e'' = E^T x / 2 - (e'.e' / e.e) e keeps e.e constant.
    """
    for c in range(z.size):
        kind = tree.column_kind[c]
        if is_euler(kind):
            k = kind - Column.EULER_0
            first = c - k
            e, e1 = load4(z, first), load4(zd, first)
            turn = (art.x[first + 1], art.x[first + 2], art.x[first + 3])
            zdd_out[c] = 0.5 * dot3(rate_column(e, k), turn) - norm2(e1) / norm2(e) * e[k]
        elif driver[c] == NONE:
            zdd_out[c] = art.x[c]


@inlined
def norm_defect(e1, e2, de, de1):
    """What the norm equation e . e'' + e' . e' = 0 asks of e . de''."""
    return -(inner4(de, e2) + 2.0 * inner4(e1, de1))
