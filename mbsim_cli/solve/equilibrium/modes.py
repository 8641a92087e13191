"""Modes of a mechanism at rest: stiffness and mass in the directions that constraints leave free."""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.solve.pivots import RANK_TOLERANCE

NEUTRAL = 1e-11  # stiffness over the largest one below which a mode has none
ROUND_OFF = 1e-13  # the same over the forces, where nothing is stiff


@dataclass(frozen=True)
class Modes:
    """Modes of unit mass in which the symmetric part of the stiffness is diagonal, d of them."""

    shape: np.ndarray  # (n, d) change of the coordinates in each mode
    stiffness: np.ndarray  # (d, d) 1/s^2
    value: np.ndarray  # (d,) its diagonal
    force: np.ndarray  # (d,) unbalanced, along each mode
    neutral: np.ndarray  # (d,) bool: no force resists the mode

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the stiffness over the mass, without the neutral ones, by increasing real part; 1/s^2."""
        stiff = ~self.neutral
        return np.sort_complex(np.linalg.eigvals(self.stiffness[np.ix_(stiff, stiff)]))

    @property
    def stable(self) -> bool:
        """Whether every force that a small change of the coordinates brings about drives them back."""
        return bool((self.eigenvalues.real > 0.0).all())


def modes_of(K: np.ndarray, M: np.ndarray, J: np.ndarray, free: np.ndarray, force: np.ndarray, load: float) -> Modes:
    """Modes of stiffness K and mass M (n, n) under constraints J (m, n), coordinates that are not ``free`` at rest.

    ``force`` (n,) is unbalanced; ``load`` the size of the forces at work, of whose round-off a stiffness may consist.
    """
    inner = _null_space(J[:, free])
    basis = np.zeros((K.shape[0], inner.shape[1]))
    basis[free] = inner
    root = np.linalg.inv(np.linalg.cholesky(basis.T @ M @ basis))
    A = root @ (basis.T @ K @ basis) @ root.T
    value, vectors = np.linalg.eigh(0.5 * (A + A.T))
    shape = basis @ root.T @ vectors
    stiffness = vectors.T @ A @ vectors
    coupled = np.maximum(np.abs(stiffness).max(axis=0, initial=0.0), np.abs(stiffness).max(axis=1, initial=0.0))
    noise = ROUND_OFF * load * np.abs(shape).max(axis=0, initial=0.0) ** 2
    neutral = coupled <= np.maximum(NEUTRAL * np.abs(value).max(initial=0.0), noise)
    return Modes(shape, stiffness, value, shape.T @ force, neutral)


def _null_space(J: np.ndarray) -> np.ndarray:
    """Orthonormal basis (n, d) of the directions that no constraint notices."""
    if J.shape[0] == 0:
        return np.eye(J.shape[1])
    _, sizes, rows = np.linalg.svd(J)
    rank = int((sizes > RANK_TOLERANCE * max(1.0, sizes.max(initial=0.0))).sum())
    return rows[rank:].T
