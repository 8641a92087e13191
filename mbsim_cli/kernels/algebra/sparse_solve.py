"""Elimination along a known structure, from the last unknown to the first.

Only the neighbours of an unknown are touched. Pivots are not exchanged: ``eliminate`` reports where that would lose
digits, and a factorisation with pivoting must do. What solutions need is packed in the order in which they need it,
and each number is summed up in a register. ``at`` spares each index the question whether it counts from the end.
"""

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_product, at, block, put, width

SMALLEST = 1e-9  # share of its diagonal entry that an elimination must leave


@kernel
def eliminate_sparse(sparsity, a, lower_out, upper_out, inverse_out):
    """Factorise a (n, ``simd.padded(n)``), which is lost; False where a pivot has lost its digits.

    ``lower`` and ``upper`` (as ``sparsity.neighbour``) receive the multiples of row k that its neighbours lose, and
    row k itself over its pivot; ``inverse.torques`` (n,) that of the pivot. Columns beyond n are zero.
    """
    for k in range(a.shape[0] - 1, -1, -1):
        first, last = sparsity.first[k], sparsity.first[k + 1]
        if not abs(a[k, k].real) > 0.0:
            return False
        inverse = 1.0 / a[k, k]
        inverse_out[k] = inverse
        for s in range(first, last):
            i = at(sparsity.neighbour, s)
            own, before, share = at(a, k, i), at(a, i, i), at(a, i, k) * inverse
            put(lower_out, s, share)
            put(upper_out, s, own * inverse)
            left = before - share * own
            if not abs(left.real) > SMALLEST * abs(before.real):
                return False
        for s in range(sparsity.block_first[k], sparsity.block_first[k + 1]):
            start = sparsity.block[s]
            for g in range(start, start + WIDTH, width(a)):
                _subtract_row(sparsity, first, last, k, block(a, g), lower_out, a)
    return True


@kernel
def _subtract_row(sparsity, first, last, k, c, lower, a):
    """Take multiples of row k from its neighbours; what becomes of columns that are eliminated nobody reads."""
    row = at(a, k, c)
    for s in range(first, last):
        add_product(a, at(sparsity.neighbour, s), c, -at(lower, s), row)


@kernel
def solve_sparse(sparsity, lower, upper, inverse, b, c):
    """Solve in place for column c of b, which may stand for several."""
    for k in range(b.shape[0] - 1, -1, -1):
        left = at(b, k, c)
        for s in range(sparsity.above_first[k], sparsity.above_first[k + 1]):
            left -= at(lower, at(sparsity.slot, s)) * at(b, at(sparsity.above, s), c)
        put(b, k, c, left)
    for k in range(b.shape[0]):
        left = inverse[k] * at(b, k, c)
        for s in range(sparsity.first[k], sparsity.first[k + 1]):
            left -= at(upper, s) * at(b, at(sparsity.neighbour, s), c)
        put(b, k, c, left)
