"""Solution of [T J^T; J 0] [x; mu] = [b; e] by multiplier updates on one factorisation of T + J^T alpha J.

Paper 000, equations (9)-(11) and (14)-(17): the penalty is a means, not a part of the answer. An update
shrinks the constraint residual by about the ratio of the penalty term to T, keeps T x + J^T mu = b, and works
on corrections, so that no digit of x is lost to the penalty. J may have dependent rows.
"""

from inspect import signature
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algebra.linear_solve import (
    eliminate_panels,
    lu_factor,
    lu_solve_of,
    solve_panels,
    subtract_product,
)
from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.elimination.structure import Panels
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import (
    EVERY,
    WIDTH,
    add_product,
    at,
    at_most,
    below,
    block,
    largest,
    only,
    put,
    select,
    squares,
    total,
    width,
)

# Along the structure of T + J^T alpha J: where a block of columns adds products without rounding them, ``add_product``
# says so, and cases of a study have the bits that they have alone.


@kernel
def add_penalties(factor):
    """lu += J^T alpha J."""
    panels, J, out = factor.sparsity, factor.J, factor.lu
    for r in range(J.shape[0]):
        first, last = panels.row_first[r], panels.row_first[r + 1]
        if width(out) < WIDTH:
            for t in range(first, last):
                j = at(panels.row_column, t)
                row = factor.alpha[r] * at(J, r, j)
                for s in range(first, last):
                    i = at(panels.row_column, s)
                    add_product(out, i, j, at(J, r, i), row)
        else:
            for b in range(panels.wide_first[r], panels.wide_first[r + 1]):
                c = block(out, panels.wide[b])
                row = factor.alpha[r] * only(at(J, r, c), panels.wide_bits[b])  # a block holds more than the row
                for s in range(first, last):
                    i = at(panels.row_column, s)
                    add_product(out, i, c, at(J, r, i), row)


@kernel
def find_residual(factor, columns, c):
    """step = b - T x in column c: digits that elimination lost to the penalty come back with it."""
    for i in range(factor.weight.size):
        put(columns.step, i, c, at(columns.b, i, c))
    subtract_product(factor.sparsity, factor.T, columns.x, c, columns.step)


SPARSE = -1  # first pivot of a factorisation along the structure


class Factor(NamedTuple):
    """A factorised matrix T + J^T alpha J, with the T and J that it was formed with."""

    T: np.ndarray  # (n, padded(n))
    J: np.ndarray  # (m, n) the constraints' own, evaluated anew in each iteration
    packed: np.ndarray  # as sparsity.row_column, J at the factorisation
    alpha: np.ndarray  # (m,)
    weight: np.ndarray  # (n,)
    least: np.ndarray  # (n,) inertia that a coordinate counts for, at least
    extent: np.ndarray  # (n,) squares of the unit of each coordinate; 0 of elastic ones, which are small beside others
    row_extent: np.ndarray  # (m,) the same of constraints
    sparsity: Panels
    lower: np.ndarray  # see algebra.linear_solve
    upper: np.ndarray  # the same
    inverse: np.ndarray  # pivots
    lu: np.ndarray  # (n, padded(n)) where pivots had to be exchanged
    pivot: np.ndarray  # (n,) SPARSE first where they had not


class Columns(NamedTuple):
    """Right-hand sides and solutions with p columns, p 1 or ``simd.padded``."""

    b: np.ndarray  # (n, p)
    e: np.ndarray  # (m, p)
    x: np.ndarray  # (n, p)
    mu: np.ndarray  # (m, p)
    step: np.ndarray  # (n, p) correction of x
    residual: np.ndarray  # (m, p) e - J x
    load: np.ndarray  # (m, p) alpha residual - mu


class Solution(NamedTuple):
    """The unknowns, and the residual of the constraints after the last update."""

    x: np.ndarray  # (n, 1)
    mu: np.ndarray  # (m, 1)
    residual: np.ndarray  # (m, 1)


class CaseColumns(NamedTuple):
    """``Columns`` of one column for eight cases, whose updates end one by one: with what those at their end keep."""

    b: np.ndarray
    e: np.ndarray
    x: np.ndarray
    mu: np.ndarray
    step: np.ndarray
    residual: np.ndarray
    load: np.ndarray
    kept: tuple  # Solution


@kernel
def factor_penalised(ratio, factor):
    """Factorise T + J^T alpha J; each row's alpha makes its term ``ratio`` times T, whatever the units.

    J is packed, row after row, without its zeros. Pivots are exchanged only where digits would be lost without.
    """
    T, weight, panels, inverse, lu = factor.T, factor.weight, factor.sparsity, factor.inverse, factor.lu
    floor = 0.0
    for i in range(weight.size):
        floor = max(floor, np.abs(T[i, i].real) * factor.extent[i])
    floor *= LIGHTEST
    for i in range(weight.size):
        weight[i] = max(np.abs(T[i, i].real), factor.least[i])
        if factor.extent[i] > 0.0:
            weight[i] = max(weight[i], floor / factor.extent[i])
    for i in range(weight.size):
        put(inverse, i, 1.0 / at(weight, i))
    softest = 0.0  # the largest of the compliances J weight^-1 J^T of rows, in their units; penalties take their place
    for r in range(factor.alpha.size):
        compliance = 0.0
        for s in range(panels.row_first[r], panels.row_first[r + 1]):
            i = at(panels.row_column, s)
            slope = at(factor.J, r, i)
            put(factor.packed, s, slope)
            compliance += slope.real * slope.real * at(inverse, i).real
        factor.alpha[r] = compliance
        softest = max(softest, compliance / factor.row_extent[r])
    for r in range(factor.alpha.size):
        least = STIFFEST * softest * factor.row_extent[r]
        factor.alpha[r] = ratio / max(factor.alpha[r], least) if softest > 0.0 else 0.0
    for i in range(T.shape[0]):
        for s in range(panels.whole_first[i], panels.whole_first[i + 1]):
            for g in range(panels.whole[s], panels.whole[s] + WIDTH, width(lu)):
                c = block(lu, g)
                put(lu, i, c, at(T, i, c))
    add_penalties(factor)
    factor.pivot[0] = SPARSE
    if eliminate_panels(panels, lu, factor.lower, factor.upper, inverse):
        return True
    copy_to(factor.T, factor.lu)
    add_penalties(factor)
    return lu_factor(factor.lu, factor.pivot)


@kernel
def solve_constrained(factor, tolerance, columns):
    """Solve for all columns of b and e; return the size of the last correction relative to x."""
    if columns.b.size == 0:
        return 0.0
    if columns.b.shape[1] == 1:
        residual2 = _first(factor, columns, 0)
        if tolerance >= BY_PENALTY:
            return tolerance
        return _refine_any(factor, tolerance, 0.0, total(residual2), 0, columns, 0)
    error = 0.0
    for g in range(0, columns.b.shape[1], width(columns.b)):
        c = block(columns.b, g)
        residual2 = _first(factor, columns, c)
        if tolerance >= BY_PENALTY:
            error = tolerance
        else:
            error = max(error, _refine_any(factor, tolerance, 0.0, total(residual2), 0, columns, c))
    return error


@kernel
def solve_change(factor, ratio, tolerance, whole, columns):
    """``solve_constrained`` of an x that changes ``whole`` (n, p): errors are relative to the larger of both norms."""
    if columns.b.size == 0:
        return 0.0
    error = 0.0
    for g in range(0, columns.b.shape[1], width(columns.b)):
        c = block(columns.b, g)
        residual2, squares_of_whole = _first(factor, columns, c), _squares_of(factor.weight, whole, c)
        found = _penalty_error(factor, ratio, residual2, squares_of_whole, columns.x, c)
        if found > CERTAIN_ALONE * tolerance:
            found = _refine(factor, tolerance, np.sqrt(total(squares_of_whole)), total(residual2), 0, columns, c)
        error = max(error, found)
    return error


@kernel
def solve_one_change(factor, ratio, tolerance, whole, columns):
    """``solve_change`` of one column, of one case or of eight; ``whole`` (n, 1)."""
    if factor.alpha.size == 0:
        return
    residual2, square = _first(factor, columns, 0), _squares_of(factor.weight, whole, 0)
    ended = at_most(_penalty_error(factor, ratio, residual2, square, columns.x, 0), CERTAIN_ALONE * tolerance)
    if ended != EVERY:
        _refine_any(factor, tolerance, np.sqrt(total(square)), total(residual2), ended, columns, 0)


@kernel
def _penalty_error(factor, ratio, residual2, squares_of_whole, x, c):
    """Error of the solution by the penalty alone, relative to ``whole``; the largest of all directions."""
    if factor.alpha.size == 0:
        return 0.0
    # alpha residual^2 / ratio is what the rest of the constraints would accelerate; the others are elimination's
    lost = LOST * LOST * ratio * ratio * _squares_of(factor.weight, x, c)
    return np.sqrt(largest((residual2 / ratio + lost) / (squares_of_whole + NOTHING)))


@kernel
def _refine(factor, tolerance, whole, size, ended, columns, c):
    """Corrections after the first; ``size`` is the square of the constraints' residual after that one.

    ``ended``, which ``_refine_cases`` reads, has the bits of cases that need none, not all of them.
    """
    if factor.alpha.size == 0:
        return 0.0
    error, moved = 1.0, np.inf
    for update in range(MAX_UPDATES):
        before, previous = size, moved
        find_residual(factor, columns, c)
        size = total(_correct(factor, columns.step, columns, c))
        # all directions shrink alike, so one number serves them; a direction of zeros must not decide
        large, moved = max(_size_of(factor.weight, columns.x, c), whole), _size_of(factor.weight, columns.step, c)
        error = moved / large if large > 0.0 else 0.0
        for i in range(factor.weight.size):
            put(columns.x, i, c, at(columns.x, i, c) + at(columns.step, i, c))
        # the next correction shrinks like the rest of the constraints, and like the digits that elimination lost
        ahead = error * max(np.sqrt(size / before) if before > 0.0 else 0.0, error)
        if error <= tolerance or ahead <= CERTAIN * tolerance:
            return min(error, ahead)
        if update > 1 and moved > STALLED * previous:
            break
    return error * _share(factor.weight, columns, c)


@kernel
def _refine_cases(factor, tolerance, whole, size, ended, columns, c):
    """``_refine`` for eight cases: each stops where it would stop alone, and keeps its solution from then on."""
    if factor.alpha.size == 0:
        return 0.0
    moved, kept = 0.0 * size, 0
    for update in range(MAX_UPDATES):
        if ended != kept:
            _put_chosen(ended & ~kept, columns, c, columns.kept)
            kept = ended
        before, previous = size, moved
        find_residual(factor, columns, c)
        size = total(_correct(factor, columns.step, columns, c))
        large, moved = max(_size_of(factor.weight, columns.x, c), whole), _size_of(factor.weight, columns.step, c)
        error = select(below(0.0, large), moved / large, 0.0 * large)
        for i in range(factor.weight.size):
            put(columns.x, i, c, at(columns.x, i, c) + at(columns.step, i, c))
        shrinks = select(below(0.0, before), np.sqrt(size / before), 0.0 * size)
        ahead = error * max(shrinks, error)
        ended |= at_most(error, tolerance) | at_most(ahead, CERTAIN * tolerance)
        if update > 1:
            ended |= below(STALLED * previous, moved)
        if ended == EVERY:
            break
    if kept != 0:
        _put_chosen(kept, columns.kept, c, columns)
    return 0.0


@kernel
def _put_chosen(bits, solution, c, out):
    """Put the solution of the chosen cases in the place of what ``out`` has of them."""
    for i in range(out.x.shape[0]):
        out.x[i, c] = select(bits, solution.x[i, c], out.x[i, c])
    for r in range(out.mu.shape[0]):
        out.mu[r, c] = select(bits, solution.mu[r, c], out.mu[r, c])
        out.residual[r, c] = select(bits, solution.residual[r, c], out.residual[r, c])


_refine_any = by_type(
    "columns",
    "_refine_any",
    "``_refine``, of cases ``_refine_cases``.",
    signature(_refine),
    lambda kind: _refine_cases if kind is CaseColumns else _refine,
)


LIGHTEST = 1e-8  # least weight of a coordinate, over the largest diagonal entry of T
STIFFEST = 1e-6  # of the largest compliance of a row, in its unit: each counts for so much, which bounds penalties
MAX_UPDATES = 12  # of one solution
STALLED = 0.5  # contraction of corrections, above which updates end
BY_PENALTY = 1.0  # tolerance with which the penalty alone will do
CERTAIN = 1e-3  # share of the tolerance below which a predicted correction is not made: directions differ in size
CERTAIN_ALONE = 1e-2  # the same where each direction is looked at for itself
LOST = 2e-16  # share of x, times the ratio, that elimination loses between penalty and inertia
LIGHT = 1e-3  # weight, relative to the largest, below which a coordinate does not blow up its share of b
NOTHING = 1e-300  # in the place of zero where it is divided by


@kernel
def _squares_of(weight, x, c):
    """Square of the norm of x by T's diagonal, in each direction; imaginary parts count."""
    square = squares(0.0 * at(x, 0, c))
    for i in range(weight.size):
        square += weight[i] * squares(at(x, i, c))
    return square


@kernel
def _size_of(weight, x, c):
    """Norm of all directions."""
    return np.sqrt(total(_squares_of(weight, x, c)))


@kernel
def _first(factor, columns, c):
    """The solution by the penalty alone; returns what ``_correct`` does."""
    for i in range(factor.weight.size):
        put(columns.x, i, c, at(columns.b, i, c))
    for r in range(factor.alpha.size):
        e = at(columns.e, r, c)
        put(columns.residual, r, c, e)
        put(columns.load, r, c, factor.alpha[r] * e)
        put(columns.mu, r, c, 0.0)
    return _correct(factor, columns.x, columns, c)


@kernel
def _correct(factor, step, columns, c):
    """Add the constraints' load J^T load to the residual of the equations in ``step``, solve, update the multipliers.

    That of the constraints loses J step, mu loses alpha residual, and load becomes alpha residual - mu. Returns the
    square of the norm of the constraints' residual, in each direction.
    """
    panels, alpha, packed = factor.sparsity, factor.alpha, factor.packed
    for r in range(alpha.size):
        load = at(columns.load, r, c)
        for s in range(panels.row_first[r], panels.row_first[r + 1]):
            i = at(panels.row_column, s)
            put(step, i, c, at(step, i, c) + at(packed, s) * load)
    if factor.pivot[0] == SPARSE:
        solve_panels(panels, factor.lu, factor.lower, factor.upper, factor.inverse, step, c)
    else:
        lu_solve_of(factor.lu, factor.pivot, step, c)
    size = squares(0.0 * at(columns.x, 0, c))
    for r in range(alpha.size):
        residual = at(columns.residual, r, c)
        for s in range(panels.row_first[r], panels.row_first[r + 1]):
            residual -= at(packed, s) * at(step, at(panels.row_column, s), c)
        penalty = alpha[r] * residual
        mu = at(columns.mu, r, c) - penalty
        put(columns.residual, r, c, residual)
        put(columns.mu, r, c, mu)
        put(columns.load, r, c, penalty - mu)
        size += alpha[r] * squares(residual)
    return size


@kernel
def _share(weight, columns, c):
    """|x| / (|x| + |b|), b measured by what it would accelerate: where constraints hold nearly all of b, x is small.

    Round-off of x is that of b, and no sign that the updates did not converge.
    """
    heaviest = 0.0
    for i in range(weight.size):
        heaviest = max(heaviest, weight[i])
    square = squares(0.0 * at(columns.b, 0, c))
    for i in range(weight.size):
        square += squares(at(columns.b, i, c)) / max(weight[i], LIGHT * heaviest)
    small = _size_of(weight, columns.x, c)
    return small / np.sqrt(small * small + total(square)) if small > 0.0 else 0.0
