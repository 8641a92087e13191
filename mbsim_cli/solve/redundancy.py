"""Which multipliers are determined where equations depend on others.

The equations of motion know J^T lambda alone. Along every nu with J^T nu = 0 the multipliers are free, so that a
combination c . lambda is determined where c is orthogonal to all of these, which is where c = J w for some w.
"""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.constrained_solve import REFINEMENTS, REGULARISATION

RANK_TOLERANCE = 1e-8  # of rows scaled to unit length
DETERMINED = 1e-7  # part of a combination, as rows are scaled, that may lie along free multipliers
TINY = 1e-12


def free_multipliers(J: np.ndarray) -> np.ndarray:
    """Combinations nu (m, k) of the rows of J (m, n) that vanish, orthonormal for rows scaled to unit length.

    A complex J counts by its real part. O(m^2 n).
    """
    lengths = row_lengths(J)
    vectors, sizes, _ = np.linalg.svd(J.real / lengths[:, None])
    rank = int(np.count_nonzero(sizes > RANK_TOLERANCE))
    return vectors[:, rank:] / lengths[:, None]


def is_determined(J: np.ndarray, combinations: np.ndarray) -> np.ndarray:
    """Mask (q,) of the combinations (q, m) of multipliers that the equations of motion determine."""
    lengths = row_lengths(J)
    scaled = combinations / lengths
    along = scaled @ (free_multipliers(J) * lengths[:, None])
    return np.linalg.norm(along, axis=1) <= DETERMINED * np.linalg.norm(scaled, axis=1)


def undetermined_rows(J: np.ndarray) -> np.ndarray:
    """Rows (k,) of J whose own multipliers are not determined."""
    return np.flatnonzero(~is_determined(J, np.eye(len(J))))


def preimage(J: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """The w (n, ...) whose J w is the part of multipliers (m, ...) in the range of J; as the kernels, analytic in J.

    Or of many instants at once: w (N, n, k) of J (N, m, n) and multipliers (N, m, k).
    """
    transposed = J.swapaxes(-1, -2)
    normal = transposed @ J
    trace = np.trace(normal, axis1=-2, axis2=-1)
    soft = np.where(J.any(axis=(-2, -1)), REGULARISATION * trace, 1.0)
    normal = normal + soft[..., None, None] * np.eye(J.shape[-1])
    w = np.linalg.solve(normal, transposed @ multipliers)
    for _ in range(REFINEMENTS - 1):
        w = w + np.linalg.solve(normal, transposed @ (multipliers - J @ w))
    return w


def kept_in_range(J: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Multipliers (m, ...) without their part along free ones: of those that give the same forces the least.

    Or (N, m, k) of many instants, as ``preimage``.
    """
    return J @ preimage(J, multipliers)


def without_columns(J: np.ndarray, held: np.ndarray) -> np.ndarray:
    """J (..., n) with zeros for coordinates that are held: what acts on those says nothing about multipliers."""
    rest = J.copy()
    rest[..., held] = 0.0
    return rest


def row_lengths(J: np.ndarray) -> np.ndarray:
    """Sizes (m,) of the rows of J, none zero."""
    return np.maximum(np.linalg.norm(J.real, axis=1), TINY)


# Rank of a matrix, its most independent rows and columns, and small systems of those.

PIVOT_TOLERANCE = 1e-9


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
        if sizes[pivot] <= PIVOT_TOLERANCE * max(1.0, largest):
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
