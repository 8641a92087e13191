"""Damping of elastic coordinates from their mass and stiffness, the same whatever basis spans the modes."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array


class Damping(NamedTuple):
    """De = alpha Me + beta Ke + what damps every mode by a ratio of the critical damping."""

    alpha: Array | float = 0.0
    beta: Array | float = 0.0
    ratio: Array | float = 0.0

    def matrix(self, Me: Array, Ke: Array) -> Array:
        """De (n, n)."""
        D = self.alpha * Me + self.beta * Ke
        return D + 2 * self.ratio * root(Me, Ke) if self.ratio else D

    def pull_back(self, Me: Array, Ke: Array, covector: Array) -> tuple[Array, Array]:
        """Covectors (n, n) of Me and Ke from one of De."""
        by_Me, by_Ke = self.alpha * covector, self.beta * covector
        if self.ratio:
            of_Me, of_Ke = _root_pull_back(Me, Ke, covector)
            by_Me, by_Ke = by_Me + 2 * self.ratio * of_Me, by_Ke + 2 * self.ratio * of_Ke
        return by_Me, by_Ke


def root(Me: Array, Ke: Array) -> Array:
    """Me (Me^-1 Ke)^(1/2), which is the matrix of frequencies in the modes; exact to first order in imaginary parts."""
    w, V = _modes(Me.real, Ke.real)
    A, B = V.T @ Ke @ V, V.T @ Me @ V
    half = np.diag(w)
    change = (A - np.diag(w**2) - (B - np.eye(len(w))) * w**2) / _sums(w)  # of the root of B^-1 A
    inverse = np.linalg.inv(V)
    return inverse.T @ (half + change + (B - np.eye(len(w))) @ half) @ inverse


def _root_pull_back(Me: Array, Ke: Array, covector: Array) -> tuple[Array, Array]:
    """Covectors of Me and Ke from one of their ``root``."""
    w, V = _modes(Me, Ke)
    inverse = np.linalg.inv(V)
    D = inverse @ covector @ inverse.T
    half = D / _sums(w)
    return V @ (D * w - half * w**2) @ V.T, V @ half @ V.T


def _sums(w: Array) -> Array:
    """Sums of pairs of frequencies; the root has no derivative where both are zero, and what stands there is none."""
    sums = w[:, None] + w
    return np.where(sums > 0, sums, np.inf)


def _modes(Me: Array, Ke: Array) -> tuple[Array, Array]:
    from scipy.linalg import eigh

    try:
        squares, V = eigh(Ke, Me)
    except np.linalg.LinAlgError:  # no body has this Me, which is said where data are judged
        return np.full(len(Me), np.nan), np.full(Me.shape, np.nan)
    return np.sqrt(np.maximum(squares, 0.0)), V
