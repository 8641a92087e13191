"""What ``constrained_solve`` does along the structure of a tree, one coordinate at a time; see ``structure``."""

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algebra.linear_solve import eliminate_sparse, solve_sparse
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, put, squares


def keep_rows(factor, J):
    sparsity, out = factor.sparsity, factor.J
    for r in range(J.shape[0]):
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = at(sparsity.row_column, s)
            put(out, r, i, at(J, r, i))


def find_compliances(factor):
    sparsity, J = factor.sparsity, factor.J
    for r in range(factor.alpha.size):
        compliance = 0.0
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = at(sparsity.row_column, s)
            slope = at(J, r, i).real
            compliance += slope * slope / at(factor.weight, i)
        factor.alpha[r] = compliance


def copy_tangent(factor):
    copy_to(factor.T, factor.lu)


def add_penalties(factor):
    add_row_by_row(factor)


@kernel
def add_row_by_row(factor):
    """lu += J^T alpha J, one number at a time, along whatever structure."""
    rows, J, out = factor.sparsity, factor.J, factor.lu
    for r in range(J.shape[0]):
        for s in range(rows.row_first[r], rows.row_first[r + 1]):
            i = at(rows.row_column, s)
            scaled = factor.alpha[r] * at(J, r, i)
            for t in range(rows.row_first[r], rows.row_first[r + 1]):
                j = at(rows.row_column, t)
                add_to(out, i, j, scaled * at(J, r, j))


def eliminate(factor):
    return eliminate_sparse(factor.sparsity, factor.lu, factor.lower, factor.upper, factor.inverse)


def solve(factor, b, c):
    solve_sparse(factor.sparsity, factor.lower, factor.upper, factor.inverse, b, c)


def left_over(factor, columns, c):
    sparsity, T, x = factor.sparsity, factor.T, columns.x
    for k in range(factor.weight.size):
        left = at(columns.b, k, c) - at(T, k, k) * at(x, k, c)
        for s in range(sparsity.first[k], sparsity.first[k + 1]):
            i = at(sparsity.neighbour, s)
            left -= at(T, k, i) * at(x, i, c)
        for s in range(sparsity.above_first[k], sparsity.above_first[k + 1]):
            i = at(sparsity.above, s)
            left -= at(T, k, i) * at(x, i, c)
        put(columns.step, k, c, left)


def add_loads(factor, step, columns, c):
    sparsity, J = factor.sparsity, factor.J
    for i in range(factor.weight.size):
        total_load = at(step, i, c)
        for s in range(sparsity.column_first[i], sparsity.column_first[i + 1]):
            r = at(sparsity.column_row, s)
            total_load += at(J, r, i) * at(columns.load, r, c)
        put(step, i, c, total_load)


def update_multipliers(factor, step, columns, c):
    sparsity, J = factor.sparsity, factor.J
    size = squares(0.0 * at(columns.x, 0, c))
    for r in range(factor.alpha.size):
        left = at(columns.rest, r, c)
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = at(sparsity.row_column, s)
            left -= at(J, r, i) * at(step, i, c)
        size += update_multiplier(factor, columns, r, c, left)
    return size


@inlined
def update_multiplier(factor, columns, r, c, left):
    """Multiplier of row r by what is left of its rest; return the share of that in the size."""
    push = factor.alpha[r] * left
    mu = at(columns.mu, r, c) - push
    put(columns.rest, r, c, left)
    put(columns.mu, r, c, mu)
    put(columns.load, r, c, push - mu)
    return factor.alpha[r] * squares(left)
