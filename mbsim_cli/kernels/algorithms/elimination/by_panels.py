"""What ``constrained_solve`` does where coordinates are eliminated three at a time; see ``structure``.

J is packed when its penalties are found: row after row, those numbers only that can differ from zero.
"""

from mbsim_cli.kernels.algebra.linear_solve import eliminate_panels, solve_panels, subtract_product
from mbsim_cli.kernels.algorithms.elimination.by_coordinates import add_row_by_row, update_multiplier
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, only, put, squares, width


def keep_rows(factor, J):
    pass  # packed with its penalties


def find_compliances(factor):
    panels, inverse = factor.sparsity, factor.inverse
    for i in range(factor.weight.size):
        put(inverse, i, 1.0 / at(factor.weight, i))
    for r in range(factor.alpha.size):
        compliance = 0.0
        for s in range(panels.row_first[r], panels.row_first[r + 1]):
            i = at(panels.row_column, s)
            slope = at(factor.J, r, i)
            put(factor.packed, s, slope)
            compliance += slope.real * slope.real * at(inverse, i).real
        factor.alpha[r] = compliance


def copy_tangent(factor):
    panels, T, out = factor.sparsity, factor.T, factor.lu
    for i in range(T.shape[0]):
        for s in range(panels.whole_first[i], panels.whole_first[i + 1]):
            for g in range(panels.whole[s], panels.whole[s] + WIDTH, width(out)):
                c = block(out, g)
                put(out, i, c, at(T, i, c))


def add_penalties(factor):
    panels, J, out = factor.sparsity, factor.J, factor.lu
    if width(out) < WIDTH:
        add_row_by_row(factor)
        return
    for r in range(J.shape[0]):
        for b in range(panels.wide_first[r], panels.wide_first[r + 1]):
            c = block(out, panels.wide[b])
            row = factor.alpha[r] * only(at(J, r, c), panels.wide_bits[b])  # a block holds more than the row
            for s in range(panels.row_first[r], panels.row_first[r + 1]):
                i = at(panels.row_column, s)
                add_to(out, i, c, at(J, r, i) * row)


def eliminate(factor):
    return eliminate_panels(factor.sparsity, factor.lu, factor.lower, factor.upper, factor.inverse)


def solve(factor, b, c):
    solve_panels(factor.sparsity, factor.lu, factor.lower, factor.upper, factor.inverse, b, c)


def left_over(factor, columns, c):
    for i in range(factor.weight.size):
        put(columns.step, i, c, at(columns.b, i, c))
    subtract_product(factor.sparsity, factor.T, columns.x, c, columns.step)


def add_loads(factor, step, columns, c):
    panels = factor.sparsity
    for r in range(factor.alpha.size):
        load = at(columns.load, r, c)
        for s in range(panels.row_first[r], panels.row_first[r + 1]):
            i = at(panels.row_column, s)
            put(step, i, c, at(step, i, c) + at(factor.packed, s) * load)


def update_multipliers(factor, step, columns, c):
    panels = factor.sparsity
    size = squares(0.0 * at(columns.x, 0, c))
    for r in range(factor.alpha.size):
        left = at(columns.rest, r, c)
        for s in range(panels.row_first[r], panels.row_first[r + 1]):
            left -= at(factor.packed, s) * at(step, at(panels.row_column, s), c)
        size += update_multiplier(factor, columns, r, c, left)
    return size
