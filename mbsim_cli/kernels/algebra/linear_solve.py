"""Dense LU factorisation with row pivoting, for the small systems of a time step.

Own loops: numpy's wrapper costs more than the work at these sizes, and these also take complex numbers.
"""

import numpy as np

from mbsim_cli.kernels._jit import kernel


@kernel
def lu_factor(a, pivot_out):
    """Factorise a (n, n) in place, P a = L U; return False when a pivot vanishes or is not finite."""
    n = a.shape[0]
    for k in range(n):
        best, row = -1.0, k
        for i in range(k, n):
            size = _size(a[i, k])
            if size > best:
                best, row = size, i
        pivot_out[k] = row
        if not (best > 0.0 and best < np.inf):
            return False
        if row != k:
            for j in range(n):
                a[k, j], a[row, j] = a[row, j], a[k, j]
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, n):
            factor = a[i, k] * inverse
            a[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
    return True


@kernel
def lu_solve(lu, pivot, b):
    """Solve in place for all columns of b (n, k)."""
    n, columns = b.shape
    for i in range(n):
        row = pivot[i]
        if row != i:
            for c in range(columns):
                b[i, c], b[row, c] = b[row, c], b[i, c]
    for i in range(n):
        for j in range(i):
            factor = lu[i, j]
            if factor != 0.0:
                for c in range(columns):
                    b[i, c] -= factor * b[j, c]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            factor = lu[i, j]
            if factor != 0.0:
                for c in range(columns):
                    b[i, c] -= factor * b[j, c]
        inverse = 1.0 / lu[i, i]
        for c in range(columns):
            b[i, c] *= inverse


@kernel
def _size(x):
    """Size for comparisons only; the imaginary part carries a derivative and does not count."""
    return np.abs(x.real)
