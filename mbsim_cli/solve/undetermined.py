"""Forces that redundant constraints leave undetermined: those that free multipliers change while the motion stays."""

import numpy as np

from mbsim_cli.solve.redundancy import free_multipliers

CHANGE = 1e-7  # of the largest of some multipliers: a force or moment that counts as changed by them


def null_vectors(J: np.ndarray, identities: int) -> np.ndarray:
    """Multipliers (N, k, m) that no coordinate feels, by Jacobians (N, m, n); k the most of any instant.

    Instants with fewer have zeros. The last rows are identities, which no coordinate feels at all.
    """
    m = J.shape[1]
    kept = m - identities
    found = [free_multipliers(rows).T if kept else np.zeros((0, 0)) for rows in J[:, :kept]]
    most = max((len(vectors) for vectors in found), default=0)
    all_of_them = np.zeros((len(J), most + identities, m))
    for into, vectors in zip(all_of_them, found, strict=True):
        into[: len(vectors), :kept] = vectors
    all_of_them[:, most:, kept:] = np.eye(identities)
    return all_of_them


def changed(vectors: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Which of w numbers the null vectors (N, k, m) change, by the response (N, k, w) to each: (N, w)."""
    size = np.abs(vectors).max(axis=2, initial=0.0)[:, :, None]
    return ((size > 0.0) & (np.abs(response) > CHANGE * size)).any(axis=1)
