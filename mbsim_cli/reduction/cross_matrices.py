"""Matrices of cross products."""

import numpy as np

from mbsim_cli.reduction.data import Array


def tilde(a: Array) -> Array:
    """Skew-symmetric matrices (..., 3, 3) of vectors (..., 3): a~ b = a x b."""
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def untilde(A: Array) -> Array:
    """Vectors (..., 3) of the skew-symmetric parts of matrices (..., 3, 3)."""
    return np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1) / 2
