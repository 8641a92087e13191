"""Work arrays of flexible bodies for one time point, and readings of their numbers in theta (``model.standard_data``).

A mode is a lane: eight are taken together. Rows of n numbers follow one another, so lanes beyond the last mode hold
numbers of the next row, which nobody reads again.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.vectors import put3, rows3
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at, block, padded, zeros
from mbsim_cli.model.standard_data import MODE_ROWS, MODES, OWN_MODE_ROWS, OWN_PAIR_ROWS, PAIR_ROWS

# rows of ``Elastic.now``
G, CR, CT, X, ROW, OWN_GR, OWN_OE, OWN_GE, CR_RATE, CT_RATE, NOW = 0, 6, 9, 12, 15, 16, 25, 31, 34, 37, 40
# rows of ``Elastic.change``
BY_Q, BY_RATE, BY_SPEED, CHANGES = 0, 6, 12, 15
# numbers of ``Elastic.frame``
M, H, J, GR, P, SQUARE, FRAME = 0, 1, 4, 10, 19, 22, 28


class Elastic(NamedTuple):
    """Work of nf flexible bodies with at most N modes (``padded``), in axes of the bodies' frames.

    ``now``: half the derivative of J by a coordinate (6), Cr (3) and Ct (3) as the body is bent, the sum of q'_j Cr1_j
    (3), the elastic row of the force, what Gr (9, by rows), Oe (6) and Ge q' (3) deviate by, the rates
    of Cr (3) and Ct (3) as far as these deviate. ``frame``: mass, mdCM (3), J (6), Gr(q') (9), Ct^T q' (3), (moment,
    force) by squares of q' (6).
    ``change``: derivatives of (moment, force) by a coordinate (6) and its rate (6), of a row by w (3). ``by_q`` and
    ``by_rate``: of row l, in lane l, by coordinate j and its rate.
    """

    now: np.ndarray  # (nf, 40, N)
    frame: np.ndarray  # (nf, 28)
    change: np.ndarray  # (nf, 15, N)
    by_q: np.ndarray  # (nf, N, N)
    by_rate: np.ndarray  # (nf, N, N)


def elastic_work(tree, dtype=np.float64):
    """Allocate Elastic."""
    count = tree.block.size
    N = padded(int(np.diff(tree.elastic).max(initial=0)))
    return Elastic(
        zeros((count, NOW, N), dtype), np.zeros((count, FRAME), dtype), zeros((count, CHANGES, N), dtype),
        *(zeros((count, N, N), dtype) for _ in range(2)),
    )  # fmt: skip


@inlined
def modes_of(tree, f):
    """Number of elastic coordinates of flexible body f, the first of them, and the offset of its block."""
    return tree.elastic[f + 1] - tree.elastic[f], tree.elastic[f], tree.block[f]


@inlined
def mode_row(o, n, r):
    """Offset of row r of the modes in a block at o."""
    return o + MODES + n * r


@inlined
def pair_row(o, n, j, r):
    """Offset of row r of what coordinate j is multiplied by."""
    return o + MODES + n * (MODE_ROWS + j * PAIR_ROWS + r)


@inlined
def own_mode_row(o, n, r):
    """``mode_row`` of a second block at o."""
    return o + n * r


@inlined
def own_pair_row(o, n, j, r):
    """``pair_row`` of a second block at o."""
    return o + n * (OWN_MODE_ROWS + j * OWN_PAIR_ROWS + r)


@inlined
def along1(numbers, p, k):
    """Row p of dtheta (len(theta), d) in directions k; of theta (len(theta),) the numbers of the modes from p on."""
    return at(numbers, block(numbers, p)) if numbers.ndim == 1 else at(numbers, p, k)


@inlined
def along3(numbers, p, n, k):
    """Vector of a mode, or of modes, whose first number stands in row p."""
    return along1(numbers, p, k), along1(numbers, p + n, k), along1(numbers, p + 2 * n, k)


@inlined
def along6(numbers, p, n, k):
    """Symmetric matrix of a mode, or of modes."""
    x, y = along3(numbers, p, n, k), along3(numbers, p + 3 * n, n, k)
    return x[0], x[1], x[2], y[0], y[1], y[2]


@inlined
def along9(numbers, p, n, k):
    """Matrix, by rows, of a mode, or of modes."""
    x, y, z = along3(numbers, p, n, k), along3(numbers, p + 3 * n, n, k), along3(numbers, p + 6 * n, n, k)
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@inlined
def add3_along(theta_out, p, n, k, x):
    """Add to a vector of one mode in directions k."""
    add_to(theta_out, p, k, x[0])
    add_to(theta_out, p + n, k, x[1])
    add_to(theta_out, p + 2 * n, k, x[2])


@inlined
def add6_along(theta_out, p, n, k, x):
    """Add to a symmetric matrix of one mode."""
    add3_along(theta_out, p, n, k, (x[0], x[1], x[2]))
    add3_along(theta_out, p + 3 * n, n, k, (x[3], x[4], x[5]))


@inlined
def add9_along(theta_out, p, n, k, x):
    """Add to a matrix, by rows, of one mode."""
    add6_along(theta_out, p, n, k, x)
    add3_along(theta_out, p + 6 * n, n, k, (x[6], x[7], x[8]))


@inlined
def mode3(theta, p, n):
    """Vector of one mode whose first number stands at p."""
    return theta[p], theta[p + n], theta[p + 2 * n]


@inlined
def mode6(theta, p, n):
    """Symmetric matrix of one mode."""
    return theta[p], theta[p + n], theta[p + 2 * n], theta[p + 3 * n], theta[p + 4 * n], theta[p + 5 * n]


@inlined
def mode9(theta, p, n):
    """Matrix, by rows, of one mode."""
    x, y, z = mode3(theta, p, n), mode3(theta, p + 3 * n, n), mode3(theta, p + 6 * n, n)
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@inlined
def rows6(array, f, r, k):
    """Symmetric matrix in six rows."""
    x, y = rows3(array, f, r, k), rows3(array, f, r + 3, k)
    return x[0], x[1], x[2], y[0], y[1], y[2]


@inlined
def rows9(array, f, r, k):
    """Matrix, by rows, in nine rows."""
    x, y, z = rows3(array, f, r, k), rows3(array, f, r + 3, k), rows3(array, f, r + 6, k)
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@inlined
def put6(array, f, r, k, x):
    """Write a symmetric matrix to six rows."""
    put3(array, f, r, k, (x[0], x[1], x[2]))
    put3(array, f, r + 3, k, (x[3], x[4], x[5]))


@inlined
def put9(array, f, r, k, x):
    """Write a matrix by rows to nine rows."""
    put6(array, f, r, k, x)
    put3(array, f, r + 6, k, (x[6], x[7], x[8]))
