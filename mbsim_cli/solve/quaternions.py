"""Products of Euler parameters, for real and complex numbers."""

import numpy as np


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b, each (4,): the rotation b followed by the rotation a."""
    scalar = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[scalar], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def conjugate(a: np.ndarray) -> np.ndarray:
    """The inverse of unit Euler parameters (4,)."""
    return np.concatenate([a[:1], -a[1:]])
