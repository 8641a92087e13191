"""Forces that redundant constraints leave undetermined: those that free multipliers change while the motion stays."""

import numpy as np

from mbsim_cli.solve.redundancy import free_multipliers

NOTHING = 1e-9  # length of a row of a Jacobian, m or 1, that no coordinate feels
CHANGE = 1e-7  # of the largest of some multipliers: a force or moment that counts as changed by them


def null_vectors(J: np.ndarray) -> np.ndarray:
    """Multipliers (N, k, m) that no coordinate feels, by Jacobians (N, m, n); k the most of any instant.

    Instants with fewer have zeros.
    """
    found = [_of_instant(rows) for rows in J]
    padded = np.zeros((len(J), max(map(len, found), default=0), J.shape[1]))
    for into, vectors in zip(padded, found, strict=True):
        into[: len(vectors)] = vectors
    return padded


def _of_instant(J: np.ndarray) -> np.ndarray:
    """Null vectors (k, m); rows that nothing feels are free by themselves, their round-off has no say in others."""
    felt = np.linalg.norm(J, axis=1) > NOTHING
    among = free_multipliers(J[felt]).T if felt.any() else np.zeros((0, 0))
    vectors = np.zeros((len(among), len(J)))
    vectors[:, felt] = among
    return np.concatenate([vectors, np.eye(len(J))[~felt]])


def changed(vectors: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Which of w numbers the null vectors (N, k, m) change, by the response (N, k, w) to each: (N, w)."""
    size = np.abs(vectors).max(axis=2, initial=0.0)[:, :, None]
    return ((size > 0.0) & (np.abs(response) > CHANGE * size)).any(axis=1)
