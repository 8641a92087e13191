"""Bodies in natural coordinates: poses that are linear in the coordinates.

A body's origin r and the columns R_1, R_2, R_3 of its rotation matrix are linear functions of the coordinates of points
and vectors. Its twist for rates q' is w = sum R_k x R_k' / 2, v = r' - w x r about the global origin, so that a wrench
(n, f) acts on r by f and on R_k by (n - r x f) x R_k / 2. Away from rigid bodies elements see the nearest rotation, to
the second order. Derivation: docs/theory/natural_coordinates.md.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.spatial import axpy6, motion_at, scale6, store
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, dot3, load3, rotate, row3, row9, scale3, sub3
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, constraints
from mbsim_cli.kernels.algorithms.equations.forces import constraint_forces
from mbsim_cli.kernels.algorithms.motion.kinematics import place_inertia
from mbsim_cli.kernels.algorithms.motion.workspace import Kinematics
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, as_column, at, put
from mbsim_cli.kernels.elements.measures import wrap_angle
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import COM, GRAVITY, NONE

POSE = 12  # numbers of r and the columns of R
NEXT = POSE + 1  # of a trio: from what its x moves along x to what its y moves along y


# ``Kinematics`` without columns, (0, 6), all about the global origin, and the poses that it follows from
NaturalKinematics = namedtuple(
    "NaturalKinematics",
    [
        *Kinematics._fields,
        "pose",  # (nb, 12) r and the columns of R as the coordinates give them
        "rate",  # (nb, 12)
        "second",  # (nb, 12)
    ],
)


class NaturalForces(NamedTuple):
    """Forces on bodies."""

    W: np.ndarray  # (nb + 1, 6) of elements and constraints, about the origin
    held: np.ndarray  # (nb + 1, 6) of the constraints of a resting system
    Q: np.ndarray  # (n,) of those on coordinates
    seeds: tuple  # natural.tangent.Seeds


@inlined
def column_of(array, i, k):
    """Column k of the rotation matrix in row i of poses; k = -1 is the origin."""
    return row3(array, i, 3 + 3 * k)


@kernel
def place_bodies(tree, theta, z, kin):
    """Poses of all bodies."""
    for i in range(tree.theta.size):
        o = tree.pose[i]
        r, a, b, c = moved_by(tree, theta, i, 0, as_column(z), 0.0 * theta[o])
        r, a = add3(load3(theta, o), r), add3(load3(theta, o + 3), a)
        b, c = add3(load3(theta, o + 6), b), add3(load3(theta, o + 9), c)
        store_pose(kin.pose, i, r, a, b, c)
        x, y, z_axis = _nearest(a, a, b, c), _nearest(b, a, b, c), _nearest(c, a, b, c)
        for row in range(3):
            kin.R[i, 3 * row], kin.R[i, 3 * row + 1], kin.R[i, 3 * row + 2] = x[row], y[row], z_axis[row]
        kin.r[i, 0], kin.r[i, 1], kin.r[i, 2] = row3(kin.pose, i, 0)
        R, o = row9(kin.R, i), tree.theta[i]
        place_inertia(theta, o, i, R, add3(row3(kin.r, i, 0), rotate(R, load3(theta, o + COM))), kin)


@inlined
def moved_by(tree, theta, i, k, z, zero):
    """The linear map of body i times column or columns k of z (n, p): origin, and columns of R."""
    o, last = tree.pose[i] + POSE, trios_end(tree, i)
    r = a = b = c = (zero, zero, zero)
    for j in range(tree.first[i], last, 3):
        q = at(z, at(tree.column, j), k), at(z, at(tree.column, j + 1), k), at(z, at(tree.column, j + 2), k)
        r, a = add_trio(theta, o, q, r), add_trio(theta, o + 3, q, a)
        b, c = add_trio(theta, o + 6, q, b), add_trio(theta, o + 9, q, c)
        o += 3 * POSE
    for j in range(last, tree.first[i + 1]):
        x = at(z, tree.column[j], k)
        r, a = axpy3(x, load3(theta, o), r), axpy3(x, load3(theta, o + 3), a)
        b, c = axpy3(x, load3(theta, o + 6), b), axpy3(x, load3(theta, o + 9), c)
        o += POSE
    return r, a, b, c


@inlined
def trios_end(tree, i):
    """Behind the last of those coordinates of body i that are components of one point or vector."""
    return tree.first[i] + 3 * tree.trios[i]


@inlined
def add_trio(theta, o, q, x):
    """x and what a trio q moves it by; o is that of its x."""
    return x[0] + at(theta, o) * q[0], x[1] + at(theta, o + NEXT) * q[1], x[2] + at(theta, o + 2 * NEXT) * q[2]


@inlined
def power_of_trio(theta, o, f, columns):
    """Work of forces on the origin and on the columns of R along x, y and z of a trio."""
    along, (a, b, c) = turn_of_trio(theta, o, columns), (at(theta, o), at(theta, o + NEXT), at(theta, o + 2 * NEXT))
    return along[0] + a * f[0], along[1] + b * f[1], along[2] + c * f[2]


@inlined
def turn_of_trio(theta, o, columns):
    """``power_of_trio`` of the forces on the columns alone."""
    a, b, c = columns
    return (
        at(theta, o + 3) * a[0] + at(theta, o + 6) * b[0] + at(theta, o + 9) * c[0],
        at(theta, o + NEXT + 3) * a[1] + at(theta, o + NEXT + 6) * b[1] + at(theta, o + NEXT + 9) * c[1],
        at(theta, o + 2 * NEXT + 3) * a[2] + at(theta, o + 2 * NEXT + 6) * b[2] + at(theta, o + 2 * NEXT + 9) * c[2],
    )


@inlined
def store_pose(out, i, r, a, b, c):
    """Write origin and columns of R to row i."""
    for k in range(3):
        put(out, i, k, r[k])
        put(out, i, 3 + k, a[k])
        put(out, i, 6 + k, b[k])
        put(out, i, 9 + k, c[k])


@inlined
def _nearest(x, a, b, c):
    """Column of the nearest rotation: R (3 - R^T R) / 2."""
    pull = axpy3(dot3(a, x), a, axpy3(dot3(b, x), b, scale3(dot3(c, x), c)))
    return sub3(scale3(1.5, x), scale3(0.5, pull))


@inlined
def half_turn(x, y):
    """Sum of x_k x y_k / 2."""
    return scale3(0.5, add3(add3(cross3(x[0], y[0]), cross3(x[1], y[1])), cross3(x[2], y[2])))


@inlined
def twist_of(pose, i, dr, da, db, dc):
    """Twist of body i for the rates of its origin and of the columns of R."""
    w = half_turn(columns_of(pose, i), (da, db, dc))
    return (w, sub3(dr, cross3(w, row3(pose, i, 0))))


@kernel
def move_frames(tree, theta, zd, zdd, kin):
    """V, A of all bodies. Needs ``place_bodies``."""
    g = load3(theta, GRAVITY)
    for i in range(tree.theta.size):
        zero = 0.0 * theta[tree.pose[i]]
        r, a, b, c = moved_by(tree, theta, i, 0, as_column(zd), zero)
        store_pose(kin.rate, i, r, a, b, c)
        r, a, b, c = moved_by(tree, theta, i, 0, as_column(zdd), zero)
        store_pose(kin.second, i, r, a, b, c)
        V = _twist_in(kin.pose, kin.rate, i)
        w, A = V[0], _twist_in(kin.pose, kin.second, i)
        store(kin.V, i, V)
        store(kin.A, i, (A[0], sub3(sub3(A[1], cross3(w, row3(kin.rate, i, 0))), g)))


@kernel
def rotate_expected(tree, h, state, differences, expected):
    """Turn what is ``expected`` of accelerations of vectors, and their ``differences`` (n, orders), with each.

    By the trapezoidal rule a vector that turns evenly by w h turns by 2 arctan(w h / 2) in a step, and its acceleration
    with it: differences are those in a frame that does so, too. Returns the largest angle.
    """
    largest = 0.0
    for i in range(tree.turning.shape[0]):
        u, u1 = _vector(tree, i, state.z), _vector(tree, i, state.zd)
        s = scale3(0.5 * h / dot3(u, u), cross3(u, u1))
        share = 2.0 / (1.0 + dot3(s, s))
        _put_vector(tree, i, _turned(s, share, _vector(tree, i, expected)), expected)
        for order in range(differences.shape[1]):
            of_order = differences[:, order]
            _put_vector(tree, i, _turned(s, share, _vector(tree, i, of_order)), of_order)
        largest = max(largest, 4.0 * dot3(s, s).real)
    return np.sqrt(largest)


@inlined
def _vector(tree, i, z):
    """The vector i of those that turn; one in a plane has two coordinates."""
    third = tree.turning[i, 2]
    return z[tree.turning[i, 0]], z[tree.turning[i, 1]], z[third] if third != NONE else 0.0 * z[0]


@inlined
def _put_vector(tree, i, x, z_out):
    """Write the vector i of those that turn."""
    for j in range(3):
        if tree.turning[i, j] != NONE:
            z_out[tree.turning[i, j]] = x[j]


@inlined
def _turned(s, share, x):
    """x turned by the angle 2 arctan |s|, share = 2 / (1 + s^2)."""
    y = cross3(s, x)
    return axpy3(share, add3(y, cross3(s, y)), x)


@inlined
def _twist_in(pose, rate, i):
    return twist_of(pose, i, row3(rate, i, 0), column_of(rate, i, 0), column_of(rate, i, 1), column_of(rate, i, 2))


@inlined
def columns_of(array, i):
    """The three columns in row i."""
    return column_of(array, i, 0), column_of(array, i, 1), column_of(array, i, 2)


@inlined
def columns_in(theta, o):
    """Derivatives of the three columns by the coordinate whose block of a linear map stands at o."""
    return load3(theta, o + 3), load3(theta, o + 6), load3(theta, o + 9)


@inlined
def paired(x, y):
    """Sum of the dot products of three vectors each."""
    return dot3(x[0], y[0]) + dot3(x[1], y[1]) + dot3(x[2], y[2])


# A constant mass matrix, and equations of rigidity by dot products ----------------------------------------------------


@inlined
def shape_at(theta, o):
    """S of an equation of rigidity: its diagonal, and xy, xz, yz."""
    return load3(theta, o), load3(theta, o + 3)


@inlined
def rigid_rows(tree, i, first):
    """The end of the equations of rigidity of body i, which start at the number ``first``."""
    last = first
    while last < tree.rigid.size and tree.rigid[last] == i:
        last += 1
    return last


@inlined
def held_shape(model, theta, multiplier, first, last):
    """Sum of multiplier S over the equations of rigidity from first to last."""
    S, before = scale6(0.0, shape_at(theta, 0)), model.constraints.measure.size
    for j in range(first, last):
        S = axpy6(multiplier[before + j], shape_at(theta, model.tree.shape[j]), S)
    return S


@inlined
def shaped(S, columns):
    """Columns of R S: what equations of rigidity pull the columns of R by."""
    (xx, yy, zz), (xy, xz, yz) = S
    a, b, c = columns
    return (
        axpy3(xx, a, axpy3(xy, b, scale3(xz, c))),
        axpy3(xy, a, axpy3(yy, b, scale3(yz, c))),
        axpy3(xz, a, axpy3(yz, b, scale3(zz, c))),
    )


@kernel
def natural_constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out):
    """Phi (m,), Phi_z (m, n) and the gradient lines of those equations that measures give."""
    tree = model.tree
    constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out)
    for r in range(model.constraints.measure.size):
        m = model.constraints.measure[r]
        if model.measures.pair[m] != NONE:
            pair, L = model.measures.pair[m], motion_at(line_out, r)
            _add_row(tree, theta, kin, model.pairs.b[pair], 1.0, L, r, jacobian_out)
            _add_row(tree, theta, kin, model.pairs.a[pair], -1.0, L, r, jacobian_out)
    for j in range(tree.defined.size):
        r, c = tree.defined[j], tree.definition[j]
        phi_out[r] -= z[c]
        if model.measures.kind[model.constraints.measure[r]] == Measure.ANGLE:
            phi_out[r] = wrap_angle(phi_out[r])
        jacobian_out[r, c] = -1.0
    for j in range(tree.rigid.size):
        r, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        columns = columns_of(kin.pose, b)
        pull = shaped(shape_at(theta, o), columns)
        phi_out[r] = 0.5 * (paired(columns, pull) - theta[o] - theta[o + 1] - theta[o + 2])
        start = tree.pose[b] + POSE * (1 - tree.first[b])
        last = tree.rigid_first[j] + tree.rigid_trios[j]
        for s in range(tree.rigid_first[j], last):
            e = at(tree.rigid_entry, s)
            along = turn_of_trio(theta, start + POSE * e, pull)
            for axis in range(3):
                put(jacobian_out, r, at(tree.column, e + axis), along[axis])
        for s in range(last, tree.rigid_first[j + 1]):
            e = tree.rigid_entry[s]
            jacobian_out[r, tree.column[e]] = paired(columns_in(theta, start + POSE * e), pull)


@inlined
def _add_row(tree, theta, kin, body, sign, L, r, jacobian_out):
    """Add the power of the line L on what coordinates move a body by; the ground has none."""
    if body >= 0:
        on_axes, o, last = forces_on_axes(kin.pose, body, L), tree.pose[body] + POSE, trios_end(tree, body)
        for s in range(tree.first[body], last, 3):
            power = power_of_trio(theta, o, L[1], on_axes)
            for axis in range(3):
                add_to(jacobian_out, r, at(tree.column, s + axis), sign * power[axis])
            o += 3 * POSE
        for s in range(last, tree.first[body + 1]):
            power_of_one = dot3(load3(theta, o), L[1]) + paired(columns_in(theta, o), on_axes)
            jacobian_out[r, tree.column[s]] += sign * power_of_one
            o += POSE


@kernel
def natural_rates(model, theta, t, motion, lines, kin, phi1_out, phi2_out):
    """Phi' and Phi'' (m,) of the motion in ``kin``."""
    tree = model.tree
    constraint_rates(model, theta, t, motion, lines, kin, phi1_out, phi2_out)
    for j in range(tree.defined.size):
        phi1_out[tree.defined[j]] -= motion.zd[tree.definition[j]]
        phi2_out[tree.defined[j]] -= motion.zdd[tree.definition[j]]
    for j in range(tree.rigid.size):
        r, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        columns, rates = columns_of(kin.pose, b), columns_of(kin.rate, b)
        S = shape_at(theta, o)
        pull, pull1 = shaped(S, columns), shaped(S, rates)
        phi1_out[r] = paired(rates, pull)
        phi2_out[r] = paired(columns_of(kin.second, b), pull) + paired(rates, pull1)


@kernel
def hold(model, theta, z, multiplier, lines, kin, W_out, Q_out):
    """Add -Phi_z^T multiplier, but for rigidity."""
    constraint_forces(model, theta, z, kin, multiplier, lines, W_out, Q_out)
    for j in range(model.tree.defined.size):
        Q_out[model.tree.definition[j]] += multiplier[model.tree.defined[j]]


@inlined
def forces_on_axes(pose, i, W):
    """Forces on the columns of R that a wrench exerts on body i."""
    n, f = W
    half = scale3(0.5, sub3(n, cross3(row3(pose, i, 0), f)))
    return cross3(half, column_of(pose, i, 0)), cross3(half, column_of(pose, i, 1)), cross3(half, column_of(pose, i, 2))


@kernel
def natural_residual(model, theta, zdd, multiplier, kin, W, Q, G_out):
    """G (n,) = M z'' - weight - Q - work of W + that of rigidity."""
    tree, first = model.tree, 0
    weight, entry = tree.weight[0], tree.mass[0]
    for c in range(G_out.size):
        total = -theta[weight + c] - Q[c]
        for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
            total += at(theta, entry + s) * at(zdd, at(tree.mass_column, s))
        G_out[c] = total
    for i in range(tree.theta.size):
        last = rigid_rows(tree, i, first)
        pull = shaped(held_shape(model, theta, multiplier, first, last), columns_of(kin.pose, i))
        wrench = motion_at(W, i)
        on_axes = forces_on_axes(kin.pose, i, wrench)
        less = sub3(pull[0], on_axes[0]), sub3(pull[1], on_axes[1]), sub3(pull[2], on_axes[2])
        add_power(tree, theta, i, 0, scale3(-1.0, wrench[1]), less, as_column(G_out))
        first = last


@inlined
def add_power(tree, theta, i, k, force, columns, out):
    """Add to column or columns k of out (n, p) the work of forces on the origin of body i and on its columns of R."""
    o, last = tree.pose[i] + POSE, trios_end(tree, i)
    for s in range(tree.first[i], last, 3):
        x, y, z = power_of_trio(theta, o, force, columns)
        add_to(out, at(tree.column, s), k, x)
        add_to(out, at(tree.column, s + 1), k, y)
        add_to(out, at(tree.column, s + 2), k, z)
        o += 3 * POSE
    for s in range(last, tree.first[i + 1]):
        power = dot3(load3(theta, o), force) + paired(columns_in(theta, o), columns)
        add_to(out, at(tree.column, s), k, power)
        o += POSE


@kernel
def natural_mass(tree, theta, M_out):
    """M (n, n), constant; where it has none, M_out stays zero."""
    entry = tree.mass[0]
    for c in range(tree.mass_first.size - 1):
        for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
            put(M_out, c, at(tree.mass_column, s), at(theta, entry + s))
