"""Covectors and virtual motions of a system in natural coordinates, in the places of those of ``covectors``."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.motion.covectors import covectors, virtual
from mbsim_cli.kernels.algorithms.natural.bodies import POSE
from mbsim_cli.kernels.compiler.simd import zeros


class NaturalCovectors(NamedTuple):
    """As ``Covectors``, and such of the poses that twists follow from; lam has rows of rigidity too."""

    P: np.ndarray  # (nb + 1, 6, p)
    D: np.ndarray  # (nb + 1, 6, p)
    H: np.ndarray  # (nb + 1, 6, p)
    z: np.ndarray  # (n, p)
    zd: np.ndarray  # (n, p)
    zdd: np.ndarray  # (n, p)
    lam: np.ndarray  # (m, p)
    theta: np.ndarray  # (len(theta), p)
    each: np.ndarray  # (p,)
    signals: tuple  # as ``Covectors``
    pose: np.ndarray  # (nb, 12, p) of origins and columns of R
    rate: np.ndarray  # (nb, 12, p)
    second: np.ndarray  # (nb, 12, p)


class NaturalVirtual(NamedTuple):
    """As ``Virtual``, and what mu moves origins and columns of R by."""

    mu: np.ndarray  # (n, p)
    U: np.ndarray  # (nb + 1, 6, p)
    each: np.ndarray  # (p,)
    pose: np.ndarray  # (nb, 12, p)


def natural_covectors(model, size, p, dtype=np.float64):
    """Allocate NaturalCovectors for ``size`` numbers theta."""
    tree, common = model.tree, covectors(model, size, p, dtype)
    rows = common.lam.shape[0] + tree.rigid.size
    poses = (zeros((tree.theta.size, POSE, p), dtype) for _ in range(3))
    return NaturalCovectors(*common._replace(lam=zeros((rows, p), dtype)), *poses)


def natural_virtual(model, p, dtype=np.float64):
    """Allocate NaturalVirtual, all at rest."""
    return NaturalVirtual(*virtual(model, p, dtype), zeros((model.tree.theta.size, POSE, p), dtype))
