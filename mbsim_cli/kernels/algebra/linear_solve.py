"""Dense and sparse linear systems, real or complex."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_product, at, block, put, width

# Dense ----------------------------------------------------------------------------------------------------------------
#
# Dense factorisations for the systems of a time step: LU with row pivoting, and L D L^T of positive ones.
#
# Own loops: numpy's wrapper costs more than the work at these sizes, and these also take complex numbers.


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
            size = np.abs(a[i, k].real)  # the imaginary part carries a derivative and does not count
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
        value = at(b, i, c)
        for j in range(i):
            value -= at(lu, i, j) * at(b, j, c)
        put(b, i, c, value)
    for i in range(n - 1, -1, -1):
        value = at(b, i, c)
        for j in range(i + 1, n):
            value -= at(lu, i, j) * at(b, j, c)
        put(b, i, c, value / at(lu, i, i))


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


# Sparse ---------------------------------------------------------------------------------------------------------------
#
# Elimination along a known structure, three unknowns at a time, from the last ones to the first.
#
# Only the neighbours of unknowns are touched. Pivots are not exchanged: ``eliminate_panels`` reports where that would
# lose digits, and a factorisation with pivoting must do. What solutions need is packed in the order in which they need
# it. ``at`` spares each index the question whether it counts from the end.
#
# Where neighbouring unknowns meet the same others, each number of the rest is read and written once for three pivots,
# and sums of three unknowns go on side by side. A panel p is the unknowns k, k + 1, k + 2 with k = n % 3 + 3 p; the one
# or two below the first panel meet each other only, and stay in the matrix.

SMALLEST = 1e-9  # share of its diagonal entry that an elimination must leave
PIVOTS = 9  # numbers of a panel in ``pivot``
INVERSES = 0  # place of the three inverse pivots among them
MULTIPLES = 3  # of multiples of rows 1 and 2 that its rows 0 and 1 lose: 01, 02, 12
SHARES = 6  # of its rows 1 and 2, in columns 0 and 1, over their pivots: 10, 20, 21


@kernel
def eliminate_panels(panels, a, lower_out, upper_out, pivot_out):
    """Factorise a (n, ``simd.padded(n)``), which is lost; False where a pivot has lost its digits.

    ``lower`` and ``upper`` (3 of each of ``panels.neighbour``) receive the multiples of a panel's rows that its
    neighbours lose, and these rows over their pivots.
    """
    below = a.shape[0] % 3
    for p in range(panels.first.size - 2, -1, -1):
        k, first, last = below + 3 * p, panels.first[p], panels.first[p + 1]
        if not _within(a, k, PIVOTS * p, pivot_out):
            return False
        l01, l02, l12 = _of_panel(pivot_out, p, MULTIPLES)
        for s in range(panels.block_first[p], panels.block_first[p + 1]):
            for g in range(panels.block[s], panels.block[s] + WIDTH, width(a)):
                c = block(a, g)
                r2 = at(a, k + 2, c)
                add_product(a, k + 1, c, -l12, r2)
                add_product(a, k, c, -l02, r2)
                add_product(a, k, c, -l01, at(a, k + 1, c))
        if not _multiples_of_neighbours(panels.neighbour, first, last, k, p, a, pivot_out, lower_out, upper_out):
            return False
        for s in range(panels.block_first[p], panels.block_first[p + 1]):
            for g in range(panels.block[s], panels.block[s] + WIDTH, width(a)):
                _subtract_rows(panels.neighbour, first, last, k, block(a, g), lower_out, a)
    for k in range(below - 1, -1, -1):  # rows that no panel holds: in place, the pivots as their inverses
        if not abs(a[k, k].real) > 0.0:
            return False
        a[k, k] = 1.0 / a[k, k]
        for i in range(k):
            before = a[i, i]
            a[i, k] *= a[k, k]
            for j in range(k):
                a[i, j] -= a[i, k] * a[k, j]
            if not _kept(a[i, i], before):
                return False
        for i in range(k):
            a[k, i] *= a[k, k]
    return True


@inlined
def _kept(pivot, before):
    return abs(pivot.real) > SMALLEST * abs(before.real)


@kernel
def _within(a, k, o, pivot_out):
    """Eliminate among the unknowns of a panel; its pivots stand from o on."""
    if not abs(a[k + 2, k + 2].real) > 0.0:
        return False
    i2 = 1.0 / a[k + 2, k + 2]
    l02, l12 = a[k, k + 2] * i2, a[k + 1, k + 2] * i2
    second, c10 = a[k + 1, k + 1] - l12 * a[k + 2, k + 1], a[k + 1, k] - l12 * a[k + 2, k]
    if not _kept(second, a[k + 1, k + 1]):
        return False
    i1 = 1.0 / second
    l01 = (a[k, k + 1] - l02 * a[k + 2, k + 1]) * i1
    third = a[k, k] - l02 * a[k + 2, k] - l01 * c10
    if not _kept(third, a[k, k]):
        return False
    pivot_out[o], pivot_out[o + 1], pivot_out[o + 2] = 1.0 / third, i1, i2
    pivot_out[o + 3], pivot_out[o + 4], pivot_out[o + 5] = l01, l02, l12
    pivot_out[o + 6], pivot_out[o + 7], pivot_out[o + 8] = c10 * i1, a[k + 2, k] * i2, a[k + 2, k + 1] * i2
    return True


@inlined
def _of_panel(pivot, p, part):
    """Three numbers of panel p: INVERSES, MULTIPLES or SHARES."""
    return at(pivot, PIVOTS * p + part), at(pivot, PIVOTS * p + part + 1), at(pivot, PIVOTS * p + part + 2)


@kernel
def _multiples_of_neighbours(neighbour, first, last, k, p, a, pivot, lower_out, upper_out):
    i0, i1, i2 = _of_panel(pivot, p, INVERSES)
    u10, u20, u21 = _of_panel(pivot, p, SHARES)
    for s in range(first, last):
        i = at(neighbour, s)
        third = at(a, i, k + 2)
        second = at(a, i, k + 1) - third * u21
        l2, l1, l0 = third * i2, second * i1, (at(a, i, k) - third * u20 - second * u10) * i0
        own2, own1, own0, before = at(a, k + 2, i), at(a, k + 1, i), at(a, k, i), at(a, i, i)
        put(lower_out, 3 * s, l0)
        put(lower_out, 3 * s + 1, l1)
        put(lower_out, 3 * s + 2, l2)
        put(upper_out, 3 * s, own0 * i0)
        put(upper_out, 3 * s + 1, own1 * i1)
        put(upper_out, 3 * s + 2, own2 * i2)
        after2 = before - l2 * own2
        after1 = after2 - l1 * own1
        if not (_kept(after2, before) and _kept(after1, after2) and _kept(after1 - l0 * own0, after1)):
            return False
    return True


@kernel
def _subtract_rows(neighbour, first, last, k, c, lower, a):
    """Take multiples of a panel's rows from its neighbours; what becomes of columns eliminated nobody reads."""
    r0, r1, r2 = at(a, k, c), at(a, k + 1, c), at(a, k + 2, c)
    for s in range(first, last):
        i, l0, l1, l2 = at(neighbour, s), at(lower, 3 * s), at(lower, 3 * s + 1), at(lower, 3 * s + 2)
        add_product(a, i, c, -l2, r2)
        add_product(a, i, c, -l1, r1)
        add_product(a, i, c, -l0, r0)


@kernel
def solve_panels(panels, a, lower, upper, pivot, b, c):
    """Solve in place for column c of b, which may stand for several; ``a`` is what elimination leaves."""
    below = b.shape[0] % 3
    for p in range(panels.first.size - 2, -1, -1):
        k = below + 3 * p
        l01, l02, l12 = _of_panel(pivot, p, MULTIPLES)
        x2 = at(b, k + 2, c)
        x1 = at(b, k + 1, c) - l12 * x2
        x0 = at(b, k, c) - l02 * x2 - l01 * x1
        put(b, k + 1, c, x1)
        put(b, k, c, x0)
        for s in range(panels.first[p], panels.first[p + 1]):
            i = at(panels.neighbour, s)
            value = at(b, i, c) - at(lower, 3 * s + 2) * x2
            put(b, i, c, value - at(lower, 3 * s + 1) * x1 - at(lower, 3 * s) * x0)
    for k in range(below - 1, -1, -1):
        for i in range(k):
            put(b, i, c, at(b, i, c) - a[i, k] * at(b, k, c))
    for k in range(below):
        value = a[k, k] * at(b, k, c)
        for i in range(k):
            value -= a[k, i] * at(b, i, c)
        put(b, k, c, value)
    for p in range(panels.first.size - 1):
        k = below + 3 * p
        i0, i1, i2 = _of_panel(pivot, p, INVERSES)
        u10, u20, u21 = _of_panel(pivot, p, SHARES)
        x0, x1, x2 = i0 * at(b, k, c), i1 * at(b, k + 1, c), i2 * at(b, k + 2, c)
        for s in range(panels.first[p], panels.first[p + 1]):
            x = at(b, at(panels.neighbour, s), c)
            x0 -= at(upper, 3 * s) * x
            x1 -= at(upper, 3 * s + 1) * x
            x2 -= at(upper, 3 * s + 2) * x
        x1 -= u10 * x0
        put(b, k, c, x0)
        put(b, k + 1, c, x1)
        put(b, k + 2, c, x2 - u20 * x0 - u21 * x1)


@kernel
def subtract_product(panels, a, x, c, out):
    """out -= a x in column c, for a (n, ``simd.padded(n)``) of the structure."""
    below = x.shape[0] % 3
    for k in range(below):
        for i in range(below):
            put(out, k, c, at(out, k, c) - at(a, k, i) * at(x, i, c))
    for p in range(panels.first.size - 1):
        k = below + 3 * p
        x0, x1, x2 = at(x, k, c), at(x, k + 1, c), at(x, k + 2, c)
        y0 = _less(at(out, k, c), a, k, k, x0, x1, x2)
        y1 = _less(at(out, k + 1, c), a, k + 1, k, x0, x1, x2)
        y2 = _less(at(out, k + 2, c), a, k + 2, k, x0, x1, x2)
        for s in range(panels.first[p], panels.first[p + 1]):
            i = at(panels.neighbour, s)
            other = at(x, i, c)
            y0 -= at(a, k, i) * other
            y1 -= at(a, k + 1, i) * other
            y2 -= at(a, k + 2, i) * other
            put(out, i, c, _less(at(out, i, c), a, i, k, x0, x1, x2))
        put(out, k, c, y0)
        put(out, k + 1, c, y1)
        put(out, k + 2, c, y2)


@inlined
def _less(y, a, i, k, x0, x1, x2):
    return y - at(a, i, k) * x0 - at(a, i, k + 1) * x1 - at(a, i, k + 2) * x2


# Multipliers of redundant constraints, kept in the range of the constraint Jacobian.
#
# Along a combination of constraints that does not depend on the coordinates the equations say nothing, and
# round-off would let the multipliers drift. The orthogonal projection onto the range of J removes it and does not
# change J^T lambda.

REGULARISATION = 1e-10  # of the trace of J^T J, added to its diagonal: J may have dependent rows
REFINEMENTS = 3  # solutions, the first one included, which undo the regularisation
UNSOLVED = -1  # first pivot where J^T J could not be factorised


class NormalEquations(NamedTuple):
    """J^T J of the constraint Jacobian, factorised."""

    matrix: np.ndarray  # (n, padded(n))
    pivot: np.ndarray  # (n,)


@kernel
def factor_range(J, normal):
    """Factorise J^T J for ``keep_in_range``."""
    m, n = J.shape
    matrix = normal.matrix
    trace = 0.0 * J[0, 0]
    for i in range(n):
        for j in range(n):
            total = 0.0 * J[0, 0]
            for r in range(m):
                total += J[r, i] * J[r, j]
            matrix[i, j] = total
        trace += matrix[i, i]
    for i in range(n):
        matrix[i, i] += REGULARISATION * trace
    if not lu_factor(matrix, normal.pivot):
        normal.pivot[0] = UNSOLVED


@kernel
def keep_in_range(J, normal, lam, columns):
    """Project lam (m, p) onto the range of J (m, n), of ``factor_range``; x and step of ``columns`` are work."""
    if normal.pivot[0] == UNSOLVED:
        return
    (m, n), w, rest = J.shape, columns.x, columns.step
    for i in range(n):
        for k in range(lam.shape[1]):
            w[i, k] = 0.0
    for _ in range(REFINEMENTS):
        _normal_residual(J, lam, w, rest)
        lu_solve(normal.matrix, normal.pivot, rest)
        for i in range(n):
            for k in range(lam.shape[1]):
                w[i, k] += rest[i, k]
    for r in range(m):
        for k in range(lam.shape[1]):
            total = 0.0 * J[0, 0]
            for i in range(n):
                total += J[r, i] * w[i, k]
            lam[r, k] = total


@kernel
def _normal_residual(J, lam, w, rest):
    """rest = J^T (lam - J w)."""
    m, n = J.shape
    for i in range(n):
        for k in range(lam.shape[1]):
            rest[i, k] = 0.0
    for r in range(m):
        for k in range(lam.shape[1]):
            defect = lam[r, k]
            for i in range(n):
                defect -= J[r, i] * w[i, k]
            for i in range(n):
                rest[i, k] += J[r, i] * defect
