"""Elimination along a known structure, from the last unknown to the first, in dense storage.

Only the neighbours of an unknown are touched. Pivots are not exchanged: ``eliminate`` reports where that would lose
digits, and a factorisation with pivoting must do.
"""

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels._simd import add_to, at, block, put, width

SMALLEST = 1e-9  # share of its diagonal entry that an elimination must leave


@kernel
def eliminate_sparse(first, neighbour, a):
    """Factorise a (n, n) in place; False where a pivot has lost its digits."""
    for k in range(a.shape[0] - 1, -1, -1):
        if not abs(a[k, k].real) > 0.0:
            return False
        inverse = 1.0 / a[k, k]
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            factor = a[i, k] * inverse
            a[i, k] = factor
            before = a[i, i]
            for t in range(first[k], first[k + 1]):
                j = neighbour[t]
                a[i, j] -= factor * a[k, j]
            if not abs(a[i, i].real) > SMALLEST * abs(before.real):
                return False
    return True


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
        put(b, k, c, left / a[k, k])
