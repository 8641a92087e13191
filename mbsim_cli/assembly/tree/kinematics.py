"""Poses, columns, measures and mass matrix at one configuration, without compiled code, for checks of the model."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.elements.measures import measure_value
from mbsim_cli.model.codes import ROTATIONS, TRANSLATIONS, Measure
from mbsim_cli.model.coordinates import at_rest, connected, place_of_columns
from mbsim_cli.model.layout import COM, INERTIA, MASS, P_C, P_P, R_C, R_P, FlexibleTree, Model, Pairs, Tree
from mbsim_cli.model.standard_data import J0, MDCM
from mbsim_cli.model.standard_data import MASS as BODY_MASS
from mbsim_cli.spec.geometry import (
    IDENTITY,
    ZERO,
    Matrix,
    Scalar,
    Vector,
    about_axis,
    add,
    apply,
    cross,
    dot,
    flat,
    normalised,
    product,
    rotation_matrix,
    scale,
    subtract,
    transpose,
)
from mbsim_cli.system import cached_property

Scalars = Sequence[Scalar]
AnyTree = Tree | FlexibleTree
# plain numbers: members of an enumeration are slow to look up, and closing does so a million times
SHIFTED, TURNED = ({int(kind): axis for axis, kind in enumerate(kinds)} for kinds in (TRANSLATIONS, ROTATIONS))
FORCE_LINES = (int(Measure.PROJECTION), int(Measure.DISTANCE))  # measures along a line, others are about one


class Poses(NamedTuple):
    """Poses of all bodies and motion of each column: angular velocity w, and velocity v of the global origin."""

    r: list[Vector]
    R: list[Matrix]
    w: list[Vector]
    v: list[Vector]

    def frame(self, body: int) -> tuple[Vector, Vector]:
        """Axes, nine numbers by rows, and origin of a body, as kernels take them."""
        return (flat(IDENTITY), ZERO) if body < 0 else (flat(self.R[body]), self.r[body])

    def point(self, body: int, local: Vector) -> Vector:
        """Global position of a point of a body."""
        return local if body < 0 else add(self.r[body], apply(self.R[body], local))

    def direction(self, body: int, local: Vector) -> Vector:
        """Global components of a vector of a body."""
        return local if body < 0 else apply(self.R[body], local)


def matrix(theta: Scalars, offset: int) -> Matrix:
    """Nine numbers by rows."""
    p, q, r, s, t, u, v, w, x = theta[offset : offset + 9]
    return (p, q, r), (s, t, u), (v, w, x)


def vector(theta: Scalars, offset: int) -> Vector:
    """Three numbers."""
    return tuple(theta[offset : offset + 3])


def poses(tree: AnyTree, theta: Scalars, z: Scalars, bodies: Sequence[int] | None = None) -> Poses:
    """Poses at the coordinates z (n,), or those of some ``bodies``, as in ``poses_of_columns``."""
    return poses_of_columns(tree, theta, columns_at(tree, theta, z), bodies)


def columns_at(tree: AnyTree, theta: Scalars, z: Scalars) -> Scalars:
    """Columns at the coordinates z (n,)."""
    return place_of_columns(tree, theta, z).tolist() if isinstance(tree, FlexibleTree) else z


def poses_of_columns(tree: AnyTree, theta: Scalars, z: Scalars, bodies: Sequence[int] | None = None) -> Poses:
    """Poses at the columns z (columns,), or those of some ``bodies`` in ascending order; others are at the ground."""
    nb, count = len(tree.parent), len(tree.column_kind)  # elastic coordinates move no frame
    found = Poses([ZERO] * nb, [IDENTITY] * nb, [ZERO] * count, [ZERO] * count)
    # plain numbers, as numpy's are slow to count with
    parents, first, kinds = tree.parent.tolist(), tree.first_column.tolist(), tree.column_kind.tolist()
    offsets = tree.theta.tolist()
    for body in range(nb) if bodies is None else bodies:
        offset, parent = offsets[body], parents[body]
        r, turned = (ZERO, IDENTITY) if parent < 0 else (found.r[parent], found.R[parent])
        origin = add(r, apply(turned, vector(theta, offset + P_P)))
        axes = product(turned, matrix(theta, offset + R_P))
        column = first[body]
        while column < first[body + 1]:
            origin, axes, moved = _advance(kinds[column], z[column : column + 4], origin, axes)
            for w, v in moved:
                found.w[column], found.v[column] = w, v
                column += 1
        R = found.R[body] = product(axes, transpose(matrix(theta, offset + R_C)))
        found.r[body] = subtract(origin, apply(R, vector(theta, offset + P_C)))
    return found


def _advance(kind: int, z: Scalars, origin: Vector, axes: Matrix) -> tuple[Vector, Matrix, list[tuple[Vector, Vector]]]:
    """Frame behind one column, or four for Euler parameters, and the motion that each of them gives."""
    if kind in SHIFTED:
        axis = transpose(axes)[SHIFTED[kind]]
        return add(origin, scale(z[0], axis)), axes, [(ZERO, axis)]
    if kind in TURNED:
        number = TURNED[kind]
        axis = transpose(axes)[number]
        return origin, product(axes, about_axis(IDENTITY[number], z[0])), [(axis, cross(origin, axis))]
    e0, e1, e2, e3 = e = normalised(z)
    local = ((-e1, -e2, -e3), (e0, e3, -e2), (-e3, e0, e1), (e2, -e1, e0))
    turns = [apply(axes, scale(2.0, each)) for each in local]
    return origin, product(axes, rotation_matrix(e)), [(axis, cross(origin, axis)) for axis in turns]


def measured(at: Poses, pairs: Pairs, kind: int, pair: int, theta: Scalars, offset: int) -> tuple[Scalar, list[Scalar]]:
    """Value of a geometric measure, and its derivatives by the columns of its pair."""
    own = slice(pairs.first[pair], pairs.first[pair + 1])
    try:
        with np.errstate(divide="raise"):
            value, x, u = measure_value(kind, theta, offset, (at.frame(pairs.a[pair]), at.frame(pairs.b[pair])))
    except ArithmeticError:  # points that coincide, or a vector along the axis of its angle: without a derivative
        value, x, u = 0.0, ZERO, ZERO
    row = []
    for column, sign in zip(pairs.column[own].tolist(), pairs.sign[own].tolist(), strict=True):
        moved = cross(at.w[column], x)
        row.append(sign * dot(u, add(at.v[column], moved) if kind in FORCE_LINES else moved))
    return value, row


SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # places of xx, yy, zz, xy, xz, yz in a tensor


class Inertia:
    """Mass matrix (n, n) at some poses, to see whether every motion has inertia; parts are computed when first read."""

    def __init__(self, model: Model, theta: np.ndarray, at: Poses):
        tree = model.tree
        self._tree, self._theta, self._R = tree, theta, at.R
        places, nb = np.array(at.r, dtype=float).reshape(-1, 3), tree.parent.size
        above = np.flatnonzero(~at_rest(tree)[tree.parent])
        branch = connected(nb, above, tree.parent[above])
        number = np.maximum(np.bincount(branch, minlength=nb), 1)[:, None]
        # about the origin, branches far from it lose digits
        center = (np.stack([np.bincount(branch, axis, nb) for axis in places.T], axis=1) / number)[branch]
        self._places = places - center
        self._w, v = (np.array(rows, dtype=float).reshape(-1, 3) for rows in (at.w, at.v))
        self._v = v + _cross(self._w, center[tree.column_body])
        self._armature = np.zeros(len(tree.column_kind))
        np.add.at(self._armature, model.armatures.coordinate, theta[model.armatures.theta].real)
        self._used = tree.column if isinstance(tree, FlexibleTree) else np.arange(len(tree.column_kind))

    @cached_property
    def _carried(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass, first moment and inertia, about the centre of the branch, of all that a column moves."""
        tree, theta, places = self._tree, self._theta, self._places
        mass, local = theta[tree.theta + MASS], theta[tree.theta[:, None, None] + INERTIA + SYMMETRIC]
        turned: np.ndarray = np.array(self._R).reshape(-1, 3, 3)
        c = places + np.einsum("bij,bj->bi", turned, theta[tree.theta[:, None] + COM + np.arange(3)])
        spread = np.einsum("bi,bi->b", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
        moment = mass[:, None] * c
        inertia = turned @ local @ turned.transpose(0, 2, 1) + mass[:, None, None] * spread
        deforming: Any = (tree.flexible.tolist(), tree.block) if isinstance(tree, FlexibleTree) else ((), ())
        for body, o in zip(*deforming, strict=True):  # about the frame, without deformation
            m, r = theta[o + BODY_MASS], places[body]
            first = turned[body] @ theta[o + MDCM : o + MDCM + 3]
            about = turned[body] @ theta[o + J0 + SYMMETRIC] @ turned[body].T
            mass[body], moment[body] = mass[body] + m, moment[body] + m * r + first
            mixed = np.outer(r, first)
            spread = (m * (r @ r) + 2.0 * (r @ first)) * np.eye(3) - m * np.outer(r, r) - mixed - mixed.T
            inertia[body] = inertia[body] + about + spread
        for body in range(len(mass) - 1, -1, -1):  # and of all that each carries
            parent = tree.parent[body]
            if parent >= 0:
                mass[parent] += mass[body]
                moment[parent] += moment[body]
                inertia[parent] += inertia[body]
        moved = tree.column_body
        return mass[moved], moment[moved], inertia[moved]

    @cached_property
    def _momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear and angular momentum (n, 3 each) of the bodies that a column moves, at unit rate of its coordinate."""
        (mass, moment, inertia), w, v = self._carried, self._w, self._v
        linear = mass[:, None] * v - _cross(moment, w)
        return linear, np.einsum("nij,nj->ni", inertia, w) + _cross(moment, v)

    @property
    def diagonal(self) -> np.ndarray:
        """Diagonal of M (n,)."""
        linear, angular = self._momentum
        return ((self._w * angular + self._v * linear).sum(axis=1) + self._armature)[self._used]

    @property
    def scale(self) -> np.ndarray:
        """Size (n,) of the terms that it is the sum of."""
        (mass, _, inertia), w, v = self._carried, self._w, self._v
        size = np.einsum("nii->n", inertia) * (w * w).sum(axis=1) + mass * (v * v).sum(axis=1)
        return (size + self._armature)[self._used]

    @cached_property
    def mass(self) -> np.ndarray:
        """M (n, n), dense, in O(n depth)."""
        tree, momentum, motion = self._tree, np.hstack(self._momentum), np.hstack([self._v, self._w])
        matrix = np.zeros((len(motion), len(motion)))
        for j, body in enumerate(tree.column_body):
            above = list(range(tree.first_column[body], j + 1))  # the column, and all that move its body too
            while (body := tree.parent[body]) >= 0:
                above.extend(range(tree.first_column[body], tree.first_column[body + 1]))
            matrix[above, j] = matrix[j, above] = motion[above] @ momentum[j]
        return (matrix + np.diag(self._armature))[np.ix_(self._used, self._used)]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of rows (n, 3); ``numpy.cross`` finds the same, and takes several times as long."""
    return a[:, (1, 2, 0)] * b[:, (2, 0, 1)] - a[:, (2, 0, 1)] * b[:, (1, 2, 0)]
