"""Elimination along a known structure, from the last unknown to the first, in dense storage.

Only the neighbours of an unknown are touched. Pivots are not exchanged: ``eliminate`` reports where that would lose
digits, and a factorisation with pivoting must do.
"""

import numpy as np

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels._simd import WIDTH, add_to, at, block, put, width

SMALLEST = 1e-9  # share of its diagonal entry that an elimination must leave


BEFORE = np.tril(np.ones((WIDTH, WIDTH)), -1)  # row r: 1 in front of column r, 0 from there on


@kernel
def eliminate_sparse(first, neighbour, block_first, blocks, a):
    """Factorise a (n, ``_simd.padded(n)``) in place; False where a pivot has lost its digits.

    Pivots become their inverses. ``blocks`` holds the first columns of the aligned blocks of WIDTH that hold the
    neighbours of an unknown: rows are taken block by block. Columns beyond n are zero.
    """
    for k in range(a.shape[0] - 1, -1, -1):
        if not abs(a[k, k].real) > 0.0:
            return False
        inverse = 1.0 / a[k, k]
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            factor = a[i, k] * inverse
            a[i, k] = factor
            left = a[i, i] - factor * a[k, i]
            if not abs(left.real) > SMALLEST * abs(a[i, i].real):
                return False
        for s in range(block_first[k], block_first[k + 1]):
            _subtract_block(first, neighbour, a, k, blocks[s])
        a[k, k] = inverse
    return True


@kernel
def _subtract_block(first, neighbour, a, k, start):
    """Take multiples of row k from the rows of its neighbours, in the columns of a block in front of column k."""
    for g in range(start, start + WIDTH, width(a)):
        c = block(a, g)
        row = at(a, k, c)
        if start + WIDTH > k:
            row = row * at(BEFORE, k - start, block(a, g - start))
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            add_to(a, i, c, -a[i, k] * row)


@kernel
def solve_sparse(first, neighbour, a, b):
    """Solve in place for all columns of b (n, p); p is 1 or ``_simd.padded``."""
    if b.shape[1] == 1:
        _solve(first, neighbour, a, b, 0)
    else:
        for g in range(0, b.shape[1], width(b)):
            _solve(first, neighbour, a, b, block(b, g))


@kernel
def _solve(first, neighbour, a, b, c):
    for k in range(b.shape[0] - 1, -1, -1):
        known = -at(b, k, c)
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            add_to(b, i, c, a[i, k] * known)
    for k in range(b.shape[0]):
        left = at(b, k, c)
        for s in range(first[k], first[k + 1]):
            j = neighbour[s]
            left -= a[k, j] * at(b, j, c)
        put(b, k, c, a[k, k] * left)
