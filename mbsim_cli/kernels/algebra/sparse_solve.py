"""Elimination along a known structure, from the last unknown to the first, in dense storage.

Only the neighbours of an unknown are touched. Pivots are not exchanged: ``eliminate`` reports where that would lose
digits, and a factorisation with pivoting must do.
"""

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels.algebra.fours import four, less_four, put_four, scale_four

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
    """Solve in place for all columns of b (n, k), four at a time and then one by one."""
    columns = b.shape[1]
    whole = columns - columns % 4
    for c in range(0, whole, 4):
        _solve_four(first, neighbour, a, b, c)
    for c in range(whole, columns):
        _solve_one(first, neighbour, a, b, c)


@kernel
def _solve_four(first, neighbour, a, b, c):
    for k in range(b.shape[0] - 1, -1, -1):
        known = four(b, k, c)
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            put_four(b, i, c, less_four(four(b, i, c), a[i, k], known))
    for k in range(b.shape[0]):
        left = four(b, k, c)
        for s in range(first[k], first[k + 1]):
            j = neighbour[s]
            left = less_four(left, a[k, j], four(b, j, c))
        put_four(b, k, c, scale_four(1.0 / a[k, k], left))


@kernel
def _solve_one(first, neighbour, a, b, c):
    for k in range(b.shape[0] - 1, -1, -1):
        known = b[k, c]
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            b[i, c] -= a[i, k] * known
    for k in range(b.shape[0]):
        left = b[k, c]
        for s in range(first[k], first[k + 1]):
            j = neighbour[s]
            left -= a[k, j] * b[j, c]
        b[k, c] = left / a[k, k]
