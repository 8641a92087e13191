"""A matrix of which few entries are not zero, for derivatives of many numbers by many parameters.

A thousand control values move 6000 of the ten million entries of d theta / d rho, and 80 MB of zeros take longer to
write than a motion. Whatever is asked of the matrix beyond what stands here is asked of the array that it stands for.
"""

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class Sparse(NDArrayOperatorsMixin):
    """A real matrix (n, p) by its entries, each place once; rows and products of its transpose come of these alone."""

    ndim, dtype = 2, np.dtype(float)

    def __init__(self, shape: tuple[int, int], row: np.ndarray, column: np.ndarray, value: np.ndarray):
        order, self.shape = np.argsort(row, kind="stable"), shape
        self._row, self._column, self._value = row[order], column[order], value[order]
        self._first = np.searchsorted(self._row, np.arange(shape[0] + 1))  # entry of each row
        self._dense: np.ndarray | None = None

    @property
    def dense(self) -> np.ndarray:
        """The array that this stands for."""
        if self._dense is None:
            self._dense = np.zeros(self.shape)
            self._dense[self._row, self._column] = self._value
        return self._dense

    @property
    def real(self) -> "Sparse":
        """Itself."""
        return self

    def any(self, axis: int | None = None, out: None = None) -> Any:
        """Whether there are entries, in each row (1) or column (0), or at all; numpy gives ``out``."""
        if axis is None:
            return bool(self._value.any())
        found = np.zeros(self.shape[1 - axis], bool)
        found[(self._column, self._row)[axis][self._value != 0.0]] = True
        return found

    def pull(self, x: np.ndarray) -> np.ndarray:
        """The product (p, k) of the transpose with x (n, k)."""
        out = np.zeros((self.shape[1], x.shape[1]), np.result_type(x, float))
        np.add.at(out, self._column, self._value[:, None] * x[self._row])
        return out

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        """The product (n,) with a vector (p,), or (n, k) with an array (p, k)."""
        if np.ndim(x) > 1:
            return self.dense @ x
        return np.bincount(self._row, self._value * x[self._column], self.shape[0])

    def __getitem__(self, key: Any) -> Any:
        """Rows (k, p), or other parts, as arrays; all columns are the matrix itself."""
        if isinstance(key, tuple):
            if not (len(key) == 2 and key[0] == slice(None) and isinstance(key[1], slice)):
                return self.dense[key]
            columns = range(self.shape[1])[key[1]]
            if columns == range(self.shape[1]):
                return self
            return self.dense[:, key[1]] if columns else np.zeros((self.shape[0], 0))
        rows = np.arange(self.shape[0])[key]
        out = np.zeros((rows.size, self.shape[1]))
        for place, row in enumerate(rows.ravel().tolist()):
            entries = slice(self._first[row], self._first[row + 1])
            out[place, self._column[entries]] = self._value[entries]
        return out.reshape(*rows.shape, self.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.dense, dtype) if copy else np.asarray(self.dense, dtype)

    def __array_ufunc__(self, function: Any, method: str, *given: Any, **options: Any) -> Any:
        return getattr(function, method)(*(x.dense if isinstance(x, Sparse) else x for x in given), **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while it is copied or pickled
            raise AttributeError(name)
        return getattr(self.dense, name)


def pulled(matrix: Any, x: np.ndarray) -> np.ndarray:
    """The product (p, k) of the transpose of a matrix (n, p), which may be ``Sparse``, with x (n, k)."""
    return matrix.pull(x) if isinstance(matrix, Sparse) else np.asarray(matrix.T @ x)
