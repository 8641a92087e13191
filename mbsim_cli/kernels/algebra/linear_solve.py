"""Dense factorisations for the systems of a time step: LU with row pivoting, and L D L^T of positive ones.

Own loops: numpy's wrapper costs more than the work at these sizes, and these also take complex numbers.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import at, block, put, width

SINGULAR = 1e-13  # of its diagonal entry: a smaller pivot of a positive matrix is round-off


@kernel
def transpose(a):
    """Transpose a (n, n), or the first columns of a (n, padded(n)), in place."""
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j], a[j, i] = a[j, i], a[i, j]


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
    """Solve in place for all columns of b (n, k), k 1 or ``simd.padded``."""
    if b.shape[1] == 1:
        lu_solve_of(lu, pivot, b, 0)
    else:
        for g in range(0, b.shape[1], width(b)):
            lu_solve_of(lu, pivot, b, block(b, g))


@kernel
def lu_solve_of(lu, pivot, b, c):
    """Solve in place for column c of b, which may stand for several."""
    n = b.shape[0]
    for i in range(n):
        row = pivot[i]
        if row != i:
            own = at(b, i, c)
            put(b, i, c, at(b, row, c))
            put(b, row, c, own)
    for i in range(n):
        left = at(b, i, c)
        for j in range(i):
            left -= at(lu, i, j) * at(b, j, c)
        put(b, i, c, left)
    for i in range(n - 1, -1, -1):
        left = at(b, i, c)
        for j in range(i + 1, n):
            left -= at(lu, i, j) * at(b, j, c)
        put(b, i, c, left / at(lu, i, i))


@kernel
def ldl_factor(a, inverse_out):
    """Factorise a symmetric positive a (n, n) by its upper half, a = U^T D U, with 1 / D (n,); False if singular."""
    n = a.shape[0]
    for k in range(n):
        inverse_out[k] = a[k, k]
    for k in range(n):
        if not (a[k, k].real > SINGULAR * inverse_out[k].real and a[k, k].real < np.inf):
            return False
        inverse_out[k] = 1.0 / a[k, k]
        for i in range(k + 1, n):
            factor = a[k, i] * inverse_out[k]
            if factor != 0.0:
                for j in range(i, n):
                    a[i, j] -= factor * a[k, j]
        for j in range(k + 1, n):
            a[k, j] *= inverse_out[k]
    return True


@kernel
def ldl_solve(u, inverse, b):
    """Solve in place for all columns of b (n, k), with the factors of ``ldl_factor``."""
    n, columns = b.shape
    for k in range(n):
        for i in range(k + 1, n):
            factor = u[k, i]
            if factor != 0.0:
                for c in range(columns):
                    b[i, c] -= factor * b[k, c]
    for i in range(n - 1, -1, -1):
        for c in range(columns):
            b[i, c] *= inverse[i]
        for j in range(i + 1, n):
            factor = u[i, j]
            if factor != 0.0:
                for c in range(columns):
                    b[i, c] -= factor * b[j, c]


@kernel
def _size(x):
    """Size for comparisons only; the imaginary part carries a derivative and does not count."""
    return np.abs(x.real)
