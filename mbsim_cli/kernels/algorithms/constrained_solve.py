"""Solution of [T J^T; J 0] [x; mu] = [b; e] by multiplier updates on one factorisation of T + J^T alpha J.

Paper 000, equations (9)-(11) and (14)-(17): the penalty is a means, not a part of the answer. An update
shrinks the constraint residual by about the ratio of the penalty term to T, keeps T x + J^T mu = b, and works
on corrections, so that no digit of x is lost to the penalty. J may have dependent rows.
``sparsity`` is the structure of both matrices (algorithms/sparsity.py).
"""

import numpy as np

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels._simd import add_to, at, block, put, square_sum, width
from mbsim_cli.kernels.algebra.linear_solve import lu_factor, lu_solve
from mbsim_cli.kernels.algebra.sparse_solve import eliminate_sparse, solve_sparse
from mbsim_cli.kernels.algebra.whole import clear, copy_to

SPARSE = -1  # first pivot of a factorisation along the structure


@kernel
def factor_penalised(sparsity, T, J, ratio, alpha_out, weight_out, lu_out, pivot_out):
    """Factorise T + J^T alpha J; each row's alpha makes its term ``ratio`` times T, whatever the units."""
    n = T.shape[0]
    floor = 0.0
    for i in range(n):
        floor = max(floor, np.abs(T[i, i].real))
    floor *= 1e-8
    for i in range(n):
        weight_out[i] = max(np.abs(T[i, i].real), floor)
    _penalties(sparsity, J, ratio, weight_out, alpha_out)
    _penalise(sparsity, T, J, alpha_out, lu_out)
    pivot_out[0] = SPARSE
    if eliminate_sparse(sparsity.first, sparsity.neighbour, sparsity.block_first, sparsity.block, lu_out):
        return True
    _penalise(sparsity, T, J, alpha_out, lu_out)
    return lu_factor(lu_out, pivot_out)


@kernel
def _penalties(sparsity, J, ratio, weight, alpha_out):
    largest = 0.0
    for r in range(J.shape[0]):
        compliance = 0.0
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = sparsity.row_column[s]
            compliance += J[r, i].real * J[r, i].real / weight[i]
        alpha_out[r] = compliance
        largest = max(largest, compliance)
    for r in range(J.shape[0]):
        alpha_out[r] = ratio / max(alpha_out[r], 1e-6 * largest) if largest > 0.0 else 0.0


@kernel
def _penalise(sparsity, T, J, alpha, out):
    """T + J^T alpha J."""
    for i in range(T.shape[0]):
        for j in range(T.shape[0]):
            out[i, j] = T[i, j]
    for r in range(J.shape[0]):
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = sparsity.row_column[s]
            scaled = alpha[r] * J[r, i]
            for t in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
                j = sparsity.row_column[t]
                out[i, j] += scaled * J[r, j]


@kernel
def solve_constrained(sparsity, T, lu, pivot, weight, J, alpha, b, e, tolerance, x_out, mu_out, step, rest):
    """Solve for all columns of b (n, p), e (m, p), p 1 or ``_simd.padded``; return the size of the last correction.

    That size is relative. ``step`` (n, p) and ``rest`` (m, p) are work arrays.
    """
    copy_to(b, x_out)
    copy_to(e, rest)
    clear(mu_out)
    size = _correct(sparsity, J, alpha, lu, pivot, x_out, mu_out, rest)
    if J.shape[0] == 0:
        return 0.0
    error = 1.0
    for update in range(MAX_UPDATES):
        _left_over(sparsity, T, J, b, x_out, mu_out, step)
        before = size
        size = _correct(sparsity, J, alpha, lu, pivot, step, mu_out, rest)
        previous = error
        error = _add_correction(weight, step, x_out)
        # the next correction shrinks like the rest of the constraints, and like the digits that elimination lost
        ahead = error * max(np.sqrt(size / before) if before > 0.0 else 0.0, error)
        if error <= tolerance or ahead <= CERTAIN * tolerance:
            return min(error, ahead)
        if update > 1 and error > 0.5 * previous:
            break
    return error * _share(weight, x_out, b)


MAX_UPDATES = 12
CERTAIN = 1e-3  # share of the tolerance below which a predicted correction is not made: columns differ in size


@kernel
def _correct(sparsity, J, alpha, lu, pivot, step, mu, rest):
    """Turn what is left of the equations, in ``step`` and ``rest``, into a correction, and move the multipliers.

    Returns the square of the size of what is left of the constraints.
    """
    _add_transposed(sparsity, J, alpha, rest, step)
    if pivot[0] == SPARSE:
        solve_sparse(sparsity.first, sparsity.neighbour, lu, step)
    else:
        lu_solve(lu, pivot, step)
    return _update_multipliers(sparsity, J, alpha, step, mu, rest)


@kernel
def _left_over(sparsity, T, J, b, x, mu, out):
    """out = b - T x - J^T mu: digits that elimination lost to the penalty come back with it."""
    if out.shape[1] == 1:
        _left_over_of(sparsity, T, J, b, x, mu, out, 0)
    else:
        for g in range(0, out.shape[1], width(out)):
            _left_over_of(sparsity, T, J, b, x, mu, out, block(out, g))


@kernel
def _left_over_of(sparsity, T, J, b, x, mu, out, c):
    for k in range(T.shape[0]):
        mine = at(x, k, c)
        left = at(b, k, c) - T[k, k] * mine
        for s in range(sparsity.first[k], sparsity.first[k + 1]):
            i = sparsity.neighbour[s]
            left -= T[k, i] * at(x, i, c)
            add_to(out, i, c, -T[i, k] * mine)
        put(out, k, c, left)
    for r in range(J.shape[0]):
        load = at(mu, r, c)
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = sparsity.row_column[s]
            add_to(out, i, c, -J[r, i] * load)


@kernel
def _add_transposed(sparsity, J, alpha, rest, out):
    """out += J^T alpha rest."""
    if out.shape[1] == 1:
        _add_transposed_of(sparsity, J, alpha, rest, out, 0)
    else:
        for g in range(0, out.shape[1], width(out)):
            _add_transposed_of(sparsity, J, alpha, rest, out, block(out, g))


@kernel
def _add_transposed_of(sparsity, J, alpha, rest, out, c):
    for r in range(J.shape[0]):
        load = alpha[r] * at(rest, r, c)
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = sparsity.row_column[s]
            add_to(out, i, c, J[r, i] * load)


@kernel
def _update_multipliers(sparsity, J, alpha, step, mu, rest):
    """mu += alpha (J step - rest); rest -= J step; return rest . alpha rest."""
    if step.shape[1] == 1:
        return _update_multipliers_of(sparsity, J, alpha, step, mu, rest, 0)
    size = 0.0
    for g in range(0, step.shape[1], width(step)):
        size += _update_multipliers_of(sparsity, J, alpha, step, mu, rest, block(step, g))
    return size


@kernel
def _update_multipliers_of(sparsity, J, alpha, step, mu, rest, c):
    size = 0.0
    for r in range(J.shape[0]):
        moved = 0.0 * at(step, 0, c)
        for s in range(sparsity.row_first[r], sparsity.row_first[r + 1]):
            i = sparsity.row_column[s]
            moved += J[r, i] * at(step, i, c)
        left = at(rest, r, c)
        add_to(mu, r, c, alpha[r] * (moved - left))
        size += alpha[r] * square_sum(left - moved)
        put(rest, r, c, left - moved)
    return size


@kernel
def _add_correction(weight, step, x):
    """x += step; return |step| / |x| over all columns in the norm of T's diagonal; imaginary parts count.

    All columns shrink alike, so one number serves them; a column of zeros must not decide.
    """
    top, bottom = 0.0, 0.0
    if x.shape[1] == 1:
        top, bottom = _add_correction_of(weight, step, x, 0)
    else:
        for g in range(0, x.shape[1], width(x)):
            more_top, more_bottom = _add_correction_of(weight, step, x, block(x, g))
            top += more_top
            bottom += more_bottom
    return np.sqrt(top / bottom) if bottom > 0.0 else 0.0


@kernel
def _add_correction_of(weight, step, x, c):
    top, bottom = 0.0, 0.0
    for i in range(x.shape[0]):
        own, move = at(x, i, c), at(step, i, c)
        top += weight[i] * square_sum(move)
        bottom += weight[i] * square_sum(own)
        put(x, i, c, own + move)
    return top, bottom


@kernel
def _share(weight, x, b):
    """|x| / (|x| + |b|), b measured by what it would accelerate: where constraints hold nearly all of b, x is small.

    Round-off of x is that of b, and no sign that the updates did not converge.
    """
    heaviest = 0.0
    for i in range(x.shape[0]):
        heaviest = max(heaviest, weight[i])
    small, large = 0.0, 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            small += weight[i] * (x[i, k].real ** 2 + x[i, k].imag ** 2)
            large += (b[i, k].real ** 2 + b[i, k].imag ** 2) / max(weight[i], LIGHT * heaviest)
    return np.sqrt(small / (small + large)) if small > 0.0 else 0.0


LIGHT = 1e-3  # weight, relative to the largest, below which a coordinate does not blow up its share of b
