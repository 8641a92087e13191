"""Work arrays of natural coordinates with bodies that deform, in the places of those of ``natural.workspace``."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.flexible.workspace import FlexibleTouch, touched_bodies
from mbsim_cli.kernels.algorithms.natural.workspace import natural_forces, natural_kinematics, natural_touch
from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.elements.flexible_work import elastic_work


class FlexibleNaturalKinematics(NamedTuple):
    """``NaturalKinematics``, and what is kept of bodies that deform."""

    R: np.ndarray
    r: np.ndarray
    ref: np.ndarray
    V: np.ndarray
    A: np.ndarray
    S: np.ndarray
    S1: np.ndarray
    S2: np.ndarray
    inertia: np.ndarray
    kept: np.ndarray
    expected: np.ndarray
    signals: tuple
    pose: np.ndarray
    rate: np.ndarray
    second: np.ndarray
    elastic: tuple  # elements.flexible_work.Elastic
    z: np.ndarray  # (n,) where bodies were placed


class FlexibleNaturalForces(NamedTuple):
    """``NaturalForces``, and what bodies that deform leave for tangent and mass matrix."""

    W: np.ndarray
    held: np.ndarray
    Q: np.ndarray
    seeds: tuple
    push: np.ndarray  # (nf, 6) wrench on each body's frame about the global origin, with the opposite sign
    D: np.ndarray  # (6 + k, 9 + k) tangent of one body; k of the one with the most elastic coordinates
    moves: np.ndarray  # (most coordinates of a frame, 6) twists of the coordinates of one frame
    rows: np.ndarray  # (n,) rows of elastic coordinates, zero elsewhere
    zero: np.ndarray  # (n,) zeros
    scratch: np.ndarray  # (n,)


def flexible_natural_kinematics(model, dtype=np.float64):
    """Allocate FlexibleNaturalKinematics."""
    z = np.zeros(model.tree.column_kind.size, dtype)
    return FlexibleNaturalKinematics(*natural_kinematics(model, dtype), elastic_work(model.tree, dtype), z)


def flexible_natural_forces(model, theta):
    """Allocate FlexibleNaturalForces."""
    tree, dtype = model.tree, theta.dtype.type
    n, k = tree.column_kind.size, np.diff(tree.elastic).max(initial=0)
    shapes = (tree.flexible.size, 6), (6 + k, 9 + k), (np.diff(tree.first).max(initial=0), 6), n, n, n
    return FlexibleNaturalForces(*natural_forces(model, theta), *(np.zeros(shape, dtype) for shape in shapes))


def flexible_natural_touch(model, dtheta):
    """``natural_touch``, with the bodies whose data vary."""
    still = zeros((model.tree.column_kind.size, dtheta.shape[1]), dtheta.dtype)
    return FlexibleTouch(*natural_touch(model, dtheta), touched_bodies(model.tree, dtheta), still)
