"""Rank of a matrix, its most independent rows and columns, and small systems of those."""

from dataclasses import dataclass

import numpy as np

RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Split:
    """Independent rows of a Jacobian and the coordinates that they determine."""

    rows: np.ndarray
    columns: np.ndarray
    rank: int  # of the whole Jacobian

    def solve(self, J: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Dependent part of the solution of J x = right for fixed independent coordinates."""
        if self.rows.size == 0:
            return np.zeros((0, *right.shape[1:]), right.dtype)
        return np.linalg.solve(J[np.ix_(self.rows, self.columns)], right[self.rows])


def rank_and_pivots(a: np.ndarray) -> tuple[int, np.ndarray]:
    """Rank of a real matrix and its columns, most independent first.

    Gram-Schmidt with column pivoting, each vector orthogonalised twice; importing scipy's would take longer.
    """
    left = a.copy()
    order = np.arange(a.shape[1])
    largest = 0.0
    for rank in range(min(a.shape)):
        rest = left[:, rank:]
        sizes = np.sqrt(np.add.reduce(rest * rest, axis=0))
        pivot = int(sizes.argmax())
        largest = max(largest, sizes[pivot])
        if sizes[pivot] <= RANK_TOLERANCE * max(1.0, largest):
            return rank, order
        chosen = rest[:, pivot].copy()
        rest[:, pivot] = rest[:, 0]
        rest[:, 0] = chosen
        order[rank], order[rank + pivot] = order[rank + pivot], order[rank]
        q = chosen / np.sqrt(chosen.dot(chosen))
        for _ in range(2):
            rest[:, 1:] -= q[:, None] * (q @ rest[:, 1:])
    return min(a.shape), order


def split_of(J: np.ndarray, free: np.ndarray, rows: np.ndarray) -> Split:
    """Choose dependent coordinates among ``free`` and rows that determine them."""
    real = J.real[rows]
    rank = rank_and_pivots(real)[0]
    free_rank, order = rank_and_pivots(real[:, free])
    columns = free[order[:free_rank]]
    row_order = rank_and_pivots(real[:, columns].T)[1]
    return Split(rows[row_order[:free_rank]], columns, rank)
