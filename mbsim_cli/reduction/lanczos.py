"""Lowest modes by a block Lanczos method: solves with several loads at once, and equal modes are found together.

Golub, Underwood, in: Mathematical Software III (1977) 361; each block is made orthogonal to all before.
"""

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.system import Flexibility, System

TOGETHER = 3  # vectors of a block: up to so many equal modes are found
SETTLED = 1e-10  # residual of a mode, relative
MOST = 400  # vectors beyond those wanted
NEW = 1e-14  # least share of a vector that others have not, by its square


def lowest(system: System, flexibility: Flexibility, wanted: int) -> Array:
    """Shapes (r, wanted) of the lowest modes with strain, mass-normalised; the same at every call."""
    from scipy.linalg import eigh

    size = system.K.shape[0]
    most = min(wanted + MOST, size)
    Q, H = np.empty((size, most), order="F"), np.zeros((most, most))
    older, before = 0, 0
    start = system.strained(np.random.default_rng(0).standard_normal((size, TOGETHER)))
    new, weighted = _orthonormal(system, start)
    while before + new.shape[1] <= most:
        count = before + new.shape[1]
        Q[:, before:count] = new
        answer = flexibility.solve(weighted)
        recent = Q[:, older:count]
        along = recent.T @ (system.M @ answer)
        H[older:count, before:count], H[before:count, older:count] = along, along.T
        rest = answer - recent @ along
        weighted = system.M @ rest
        inverses, Y = eigh(H[:count, :count])
        last = Y[before:, -wanted:]
        left = np.sqrt(np.abs(np.einsum("ij,ik,kj->j", last, rest.T @ weighted, last)))
        settled = count >= wanted and (left <= SETTLED * inverses[-wanted:]).all()
        new, weighted = _orthonormal(system, rest - Q[:, :count] @ (Q[:, :count].T @ weighted))
        if settled or not new.shape[1]:
            return Q[:, :count] @ Y[:, : -wanted - 1 : -1]
        older, before = before, count
    raise AnalysisError(f"the {wanted} lowest modes did not settle among {before} trial shapes")


def _orthonormal(system: System, V: Array) -> tuple[Array, Array]:
    """Basis of vectors, by the mass, and its product with that; those that depend on others are left out."""
    W = system.M @ V
    for _ in range(2):
        G = V.T @ W
        size = 1 / np.sqrt(np.diag(G))
        values, T = np.linalg.eigh(G * np.outer(size, size))
        good = values > NEW
        T = size[:, None] * T[:, good] / np.sqrt(values[good])
        V, W = V @ T, W @ T
    return V, W
