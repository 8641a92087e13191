"""Columns of the path between two bodies side by side, so that what an element does to them is done eight at a time.

``Composite.path`` holds them by rows: twists S and rates Y of the columns about the global origin, 1 for a column on
the branch of b, and the variations of an element's wrench that each column causes. docs/theory/newton_matrix.md.
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import WIDTH, add_to, at, block, put, width
from mbsim_cli.kernels.algebra.spatial import cross_force, dot6, rows_at, scale6, shift_motion, store_rows, sub6
from mbsim_cli.kernels.algebra.vec3 import row3, scale3
from mbsim_cli.kernels.algorithms.workspace import COLUMN_S, COLUMN_Y, STEP

# Rows of the path: two twists, the side, two wrenches, and a row of T.
_S, _Y, _ON_B, _FREE, _CARRIED, _ROW = 0, 6, 12, 13, 19, 25


@inlined
def gather_path(model, pair, kin, comp):
    """Bring the twists of a pair's path together; their number.

    Behind the last one stands what another path left there, and nobody reads what comes of it.
    """
    first, last = model.pairs.first[pair], model.pairs.first[pair + 1]
    _gather(model, first, last, COLUMN_S, _S, kin, comp)
    for j in range(first, last):
        comp.path[_ON_B, j - first] = 1.0 if model.pairs.sign[j] > 0 else 0.0
    return last - first


@inlined
def gather_rates(model, pair, kin, comp):
    """Bring the rates of those twists together."""
    _gather(model, model.pairs.first[pair], model.pairs.first[pair + 1], COLUMN_Y, _Y, kin, comp)


@inlined
def _gather(model, first, last, source, row, kin, comp):
    for j in range(first, last):
        c = model.pairs.column[j]
        back = scale3(-1.0, row3(kin.ref, model.tree.column_body[c], 0))
        store_rows(comp.path, row, j - first, shift_motion(rows_at(comp.columns, source, c), back))


@inlined
def path_twist(path, q, k):
    """Twist q S of the columns k."""
    return scale6(q, rows_at(path, _S, k))


@inlined
def path_rate(path, k):
    """Rate Y of that twist."""
    return rows_at(path, _Y, k)


@inlined
def by_side(path, k, x):
    """The part of x that is on the branch of a, and the part on the branch of b."""
    on_b = at(path, _ON_B, k)
    b = (scale3(on_b, x[0]), scale3(on_b, x[1]))
    return sub6(x, b), b


@inlined
def keep_variation(path, k, N, W, dW):
    """Keep the variation of the wrench W on b for columns k that turn by N, and what carrying W along makes of it."""
    store_rows(path, _FREE, k, dW)
    store_rows(path, _CARRIED, k, cross_force(N, W))


@kernel
def spread(pairs, pair, path, T_out):
    """Add an element to T: row i of the path takes -S_i . dW; columns on its branch above i carry column i along."""
    first = pairs.first[pair]
    count = pairs.first[pair + 1] - first
    for g in range(0, count, width(path)):
        k = block(path, g)
        free, carried, on_b = rows_at(path, _FREE, k), rows_at(path, _CARRIED, k), at(path, _ON_B, k)
        last = min(g + width(path), count)
        for i in range(count):
            S, side = rows_at(path, _S, i), at(path, _ON_B, i)
            above = at(path, STEP, block(path, WIDTH - min(max(i + 1 - g, 0), WIDTH)))
            # behind a column of a there are only such, so that the side needs asking on the branch of b alone
            above = above * (1.0 - side + side * on_b)
            put(path, _ROW, k, (1.0 - 2.0 * side) * (dot6(S, free) - above * dot6(S, carried)))
            c = at(pairs.column, first + i)
            for j in range(g, last):
                add_to(T_out, c, at(pairs.column, first + j), at(path, _ROW, j))
