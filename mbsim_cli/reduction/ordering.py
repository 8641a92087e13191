"""Nested dissection: an order of unknowns that fills the factor of a mesh's matrix little."""

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.structure import Sparse

LEAF = 30  # nodes that are not cut further


def dissected(A: Sparse, node: Array, points: Array) -> Array:
    """Order (r) of the unknowns of a symmetric matrix (r, r), which belong to nodes (r) at points (N, 3).

    All parts are cut at once, each across its longest side: nodes of the lower half that meet the upper half come after
    both. George, SIAM J. Numer. Anal. 10 (1973) 345.
    """
    rows, columns = _neighbours(A, node, len(points))
    key = np.zeros(len(points), np.int64)  # a digit a cut: 0 the lower half, 1 the upper, 2 between them
    active = np.unique(node)
    for _ in range(int(np.ceil(np.log2(max(len(active) / LEAF, 1))))):
        digit = np.zeros(len(points), np.int8)
        digit[active] = _upper(points[active], key[active])
        digit[rows[digit[rows] < digit[columns]]] = 2
        key = 3 * key + digit
        active = active[digit[active] < 2]
        inside = (key[rows] == key[columns]) & (digit[rows] < 2)
        rows, columns = rows[inside], columns[inside]
    return np.argsort(key[node], kind="stable")


def _neighbours(A: Sparse, node: Array, count: int) -> tuple[Array, Array]:
    """Pairs of nodes whose unknowns meet in a matrix."""
    from scipy import sparse

    pattern = sparse.csc_matrix((np.ones(A.nnz, bool), A.indices, A.indptr), shape=A.shape)
    of = sparse.csc_matrix((np.ones(len(node), bool), (np.arange(len(node)), node)), shape=(len(node), count))
    pairs = (of.T @ pattern @ of).tocoo()
    return pairs.row, pairs.col


def _upper(points: Array, part: Array) -> Array:
    """Which points lie in the upper half of their part, along its longest side."""
    order = np.argsort(part, kind="stable")
    first = np.flatnonzero(np.diff(part[order], prepend=-1))
    size = np.diff(first, append=len(part))
    sides = np.maximum.reduceat(points[order], first) - np.minimum.reduceat(points[order], first)
    own = np.repeat(np.arange(len(first)), size)
    along = points[order, sides.argmax(1)[own]]
    order = order[np.lexsort((along, own))]
    upper = np.empty(len(part), bool)
    upper[order] = np.arange(len(part)) - first[own] >= size[own] // 2
    return upper
