"""Elimination along a known structure, from the last unknown to the first, in dense storage.

Only the neighbours of an unknown are touched. Pivots are not exchanged: ``eliminate`` reports where that would lose
digits, and a factorisation with pivoting must do.
"""

from mbsim_cli.kernels._jit import kernel

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
    """Solve in place for all columns of b (n, k)."""
    n, columns = b.shape
    for k in range(n - 1, -1, -1):
        for s in range(first[k], first[k + 1]):
            i = neighbour[s]
            factor = a[i, k]
            for c in range(columns):
                b[i, c] -= factor * b[k, c]
    for k in range(n):
        for s in range(first[k], first[k + 1]):
            j = neighbour[s]
            factor = a[k, j]
            for c in range(columns):
                b[k, c] -= factor * b[j, c]
        inverse = 1.0 / a[k, k]
        for c in range(columns):
            b[k, c] *= inverse
