"""Mass matrix at one configuration, to see whether every motion has inertia."""

from collections.abc import Iterator

import numpy as np

from mbsim_cli.assembly.tree.kinematics import Poses
from mbsim_cli.model.flexible import J0, MDCM
from mbsim_cli.model.flexible import MASS as BODY_MASS
from mbsim_cli.model.layout import COM, INERTIA, MASS, FlexibleTree, Model, Tree
from mbsim_cli.system import cached_property

SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # places of xx, yy, zz, xy, xz, yz in a tensor


class Inertia:
    """Of the n coordinates at some poses, for all who ask."""

    def __init__(self, model: Model, theta: np.ndarray, at: Poses):
        tree = model.tree
        self._tree, self._theta, self._at = tree, theta, at
        self._armature = np.zeros(len(tree.column_kind))
        np.add.at(self._armature, model.armatures.coordinate, theta[model.armatures.theta].real)
        self._used = tree.column if isinstance(tree, FlexibleTree) else np.arange(len(tree.column_kind))

    @cached_property
    def _momenta(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return momenta(self._tree, self._theta, self._at)

    @property
    def diagonal(self) -> np.ndarray:
        """Diagonal of M (n,)."""
        return (self._momenta[1] + self._armature)[self._used]

    @property
    def scale(self) -> np.ndarray:
        """Size (n,) of the terms that it is the sum of."""
        return (self._momenta[2] + self._armature)[self._used]

    @cached_property
    def mass(self) -> np.ndarray:
        """M (n, n), dense."""
        found = mass_matrix(self._tree, self._at, self._momenta[0]) + np.diag(self._armature)
        return found[np.ix_(self._used, self._used)]


def momenta(tree: Tree, theta: np.ndarray, at: Poses) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Momentum (n, 6; linear, then angular about the global origin) that unit rate of a column gives to what it moves.

    Also its product with the column, the diagonal of M (n,), and the size (n,) of the terms which that is the sum of.
    """
    mass, moment, inertia = (array[tree.column_body] for array in _subtrees(tree, theta, at))
    w, v = at.w_array, at.v_array
    linear = mass[:, None] * v - _cross(moment, w)
    angular = np.einsum("nij,nj->ni", inertia, w) + _cross(moment, v)
    diagonal = (w * angular + v * linear).sum(axis=1)
    scale = np.einsum("nii->n", inertia) * (w * w).sum(axis=1) + mass * (v * v).sum(axis=1)
    return np.hstack([linear, angular]), diagonal, scale


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of rows (n, 3); ``numpy.cross`` finds the same, and takes several times as long."""
    return a[:, (1, 2, 0)] * b[:, (2, 0, 1)] - a[:, (2, 0, 1)] * b[:, (1, 2, 0)]


def mass_matrix(tree: Tree, at: Poses, momentum: np.ndarray) -> np.ndarray:
    """M (n, n) from the momenta of its columns, in O(n depth)."""
    n = len(tree.column_body)
    motion = np.hstack([at.v_array, at.w_array])
    matrix = np.zeros((n, n))
    for j in range(n):
        above = _columns_above(tree, j)
        matrix[above, j] = matrix[j, above] = motion[above] @ momentum[j]
    return matrix


def _subtrees(tree: Tree, theta: np.ndarray, at: Poses) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass (nb,), first moment (nb, 3) and inertia about the global origin (nb, 3, 3) of all that a body carries."""
    mass, local = theta[tree.theta + MASS], theta[tree.theta[:, None, None] + INERTIA + SYMMETRIC]
    turned: np.ndarray = np.array(at.R).reshape(-1, 3, 3)
    c = np.array(at.r).reshape(-1, 3) + np.einsum("bij,bj->bi", turned, theta[tree.theta[:, None] + COM + np.arange(3)])
    spread = np.einsum("bi,bi->b", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    moment = mass[:, None] * c
    inertia = turned @ local @ turned.transpose(0, 2, 1) + mass[:, None, None] * spread
    for body, m, first, about in _flexible(tree, theta):
        r: np.ndarray = np.array(at.r[body])
        first, about = turned[body] @ first, turned[body] @ about @ turned[body].T
        mass[body], moment[body] = mass[body] + m, moment[body] + m * r + first
        mixed = np.outer(r, first)
        spread = (m * (r @ r) + 2.0 * (r @ first)) * np.eye(3) - m * np.outer(r, r) - mixed - mixed.T
        inertia[body] = inertia[body] + about + spread
    for body in range(len(mass) - 1, -1, -1):
        parent = tree.parent[body]
        if parent >= 0:
            mass[parent] += mass[body]
            moment[parent] += moment[body]
            inertia[parent] += inertia[body]
    return mass, moment, inertia


def _flexible(tree: Tree, theta: np.ndarray) -> Iterator[tuple[int, float, np.ndarray, np.ndarray]]:
    """Bodies that deform, as they are without deformation: mass, first moment, inertia about the frame's origin."""
    if isinstance(tree, FlexibleTree):
        for body, o in zip(tree.flexible, tree.block, strict=True):
            yield int(body), theta[o + BODY_MASS], theta[o + MDCM : o + MDCM + 3], theta[o + J0 + SYMMETRIC]


def _columns_above(tree: Tree, column: int) -> list[int]:
    """The column itself and all that move its body too."""
    body = tree.column_body[column]
    found = list(range(tree.first_column[body], column + 1))
    body = tree.parent[body]
    while body >= 0:
        found.extend(range(tree.first_column[body], tree.first_column[body + 1]))
        body = tree.parent[body]
    return found
