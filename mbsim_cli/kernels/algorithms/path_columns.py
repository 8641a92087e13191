"""Columns of the path between two bodies side by side, so that what an element does to them is done eight at a time.

``Composite.path`` holds them by rows: twists S and rates Y of the columns about the global origin, 1 for a column on
the branch of b, and the variations of an element's wrench that each column causes. docs/theory/newton_matrix.md.
"""

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import at, block, put, width
from mbsim_cli.kernels.algebra.spatial import cross_force, dot6, scale6, sub6
from mbsim_cli.kernels.algebra.vec3 import scale3
from mbsim_cli.kernels.algorithms.bodies import column_at_origin

# Rows of the path: two twists, the side, two wrenches, and two rows of T.
_S, _Y, _ON_B, _FREE, _CARRIED, _ROW = 0, 6, 12, 13, 19, 25
PATH_ROWS = 27


@inlined
def _keep(path, row, j, x):
    path[row, j], path[row + 1, j], path[row + 2, j] = x[0]
    path[row + 3, j], path[row + 4, j], path[row + 5, j] = x[1]


@inlined
def _take(path, row, k):
    """Spatial vector of column k, an index or a block, from the rows that begin with ``row``."""
    return (
        (at(path, row, k), at(path, row + 1, k), at(path, row + 2, k)),
        (at(path, row + 3, k), at(path, row + 4, k), at(path, row + 5, k)),
    )


@inlined
def _give(path, row, k, x):
    n, f = x
    put(path, row, k, n[0])
    put(path, row + 1, k, n[1])
    put(path, row + 2, k, n[2])
    put(path, row + 3, k, f[0])
    put(path, row + 4, k, f[1])
    put(path, row + 5, k, f[2])


@inlined
def gather_path(model, pair, kin, comp):
    """Bring the columns of a pair's path together; their number. Places that fill the last block up are zero."""
    pairs, path = model.pairs, comp.path
    first = pairs.first[pair]
    count = pairs.first[pair + 1] - first
    for j in range(count):
        c = pairs.column[first + j]
        _keep(path, _S, j, column_at_origin(kin.S, model.tree, kin, c))
        _keep(path, _Y, j, column_at_origin(comp.Y, model.tree, kin, c))
        path[_ON_B, j] = 1.0 if pairs.sign[first + j] > 0 else 0.0
    lanes = width(path)
    for j in range(count, -(-count // lanes) * lanes):
        for row in range(_ON_B + 1):
            path[row, j] = 0.0
    return count


@inlined
def path_twist(path, q, k):
    """Twist q S of the columns k."""
    return scale6(q, _take(path, _S, k))


@inlined
def path_rate(path, k):
    """Rate Y of that twist."""
    return _take(path, _Y, k)


@inlined
def by_side(path, k, x):
    """The part of x that is on the branch of a, and the part on the branch of b."""
    on_b = at(path, _ON_B, k)
    b = (scale3(on_b, x[0]), scale3(on_b, x[1]))
    return sub6(x, b), b


@inlined
def keep_variation(path, k, N, W, dW):
    """Keep the variation of the wrench W on b for columns k that turn by N, also as a carried column sees it."""
    _give(path, _FREE, k, dW)
    _give(path, _CARRIED, k, sub6(dW, cross_force(N, W)))


@kernel
def spread(pairs, pair, path, T_out):
    """Add an element to T: row i of the path takes -S_i . dW; columns on its branch above i carry column i along."""
    first = pairs.first[pair]
    count = pairs.first[pair + 1] - first
    on_b = 0
    while on_b < count and pairs.sign[first + on_b] > 0:
        on_b += 1
    for i in range(count):
        S = _take(path, _S, i)
        s, end = (-1.0, on_b) if i < on_b else (1.0, count)
        for g in range(0, count, width(path)):
            k = block(path, g)
            put(path, _ROW, k, s * dot6(S, _take(path, _FREE, k)))
            put(path, _ROW + 1, k, s * dot6(S, _take(path, _CARRIED, k)))
        c = pairs.column[first + i]
        for j in range(count):
            T_out[c, pairs.column[first + j]] += path[_ROW + 1 if i < j and j < end else _ROW, j]
