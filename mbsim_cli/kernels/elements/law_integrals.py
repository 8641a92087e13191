"""Integrals of laws, which are energies of springs: from a law's zero to x, and how they vary with the coefficients.

The zero is 0, of a one-sided law where it begins, and of a table that ends the nearest argument that it holds.
Polynomials and one-sided laws are integrated in closed form, all others by Gauss' rule on five points between the
arguments where they are not smooth: exact for splines and steps, to round-off for sines.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, as_column, at
from mbsim_cli.kernels.derive.trace import ByHand
from mbsim_cli.kernels.elements.laws import (
    CONSTANT,
    HARMONIC,
    POLYNOMIAL,
    SINE_POWER,
    SMOOTH_STEP,
    SPLINE,
    by_numbers,
    law_value,
    law_variation,
    pull_law,
    pull_term,
    smooth_positive,
    term_value,
    term_variation,
)
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE

ONE_SIDED = int(Law.ONE_SIDED)
NODES = (0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415, 0.953089922969332)
WEIGHTS = (0.11846344252809454, 0.23931433524968324, 0.28444444444444444, 0.23931433524968324, 0.11846344252809454)


@kernel
def law_integral(laws, theta, law, x):
    """Integral of a law up to x; zero where it is NONE."""
    total = 0.0 * (theta[0] + x)
    while law != NONE:
        first, count, kind = laws.theta[law], laws.count[law], laws.kind[law]
        zero = 0.0 * total
        a, b = _clipped(laws, theta, law, _zero(laws, theta, law) + zero), _clipped(laws, theta, law, x + zero)
        if kind in (CONSTANT, POLYNOMIAL):
            total += _area(as_column(theta), 0, first, count, b) - _area(as_column(theta), 0, first, count, a)
        elif kind == ONE_SIDED:
            total += one_sided_area(theta, first, b) - one_sided_area(theta, first, a)
        else:
            left, i, pieces = a, 0, _pieces(laws, theta, law, a, b)
            while i <= pieces:
                right = _end_of_piece(laws, theta, law, i, pieces, a, b)
                for n in range(5 if right != left else 0):
                    value, _, _ = term_value(laws, theta, law, left + NODES[n] * (right - left))
                    total += WEIGHTS[n] * (right - left) * value
                left, i = right, i + 1
        law = laws.next[law]
    return total


@kernel
def law_integral_variation(laws, theta, dtheta, k, law, x):
    """Variation k of the integral at fixed x."""
    total = 0.0 * at(dtheta, 0, k)
    while law != NONE:
        first, count, kind = laws.theta[law], laws.count[law], laws.kind[law]
        zero = 0.0 * (theta[0] + x)
        a, b = _clipped(laws, theta, law, _zero(laws, theta, law) + zero), _clipped(laws, theta, law, x + zero)
        if kind in (CONSTANT, POLYNOMIAL):
            total += _area(dtheta, k, first, count, b) - _area(dtheta, k, first, count, a)
        elif kind == ONE_SIDED:
            by_b = vary_one_sided_area(theta, first, b, dtheta, k)
            total += by_b - vary_one_sided_area(theta, first, a, dtheta, k)
        else:
            left, i, pieces = a, 0, _pieces(laws, theta, law, a, b)
            while i <= pieces:
                right = _end_of_piece(laws, theta, law, i, pieces, a, b)
                for n in range(5 if right != left else 0):
                    value, _, _ = term_variation(laws, theta, dtheta, k, law, left + NODES[n] * (right - left))
                    total += WEIGHTS[n] * (right - left) * value
                left, i = right, i + 1
            total -= _by_zero(laws, theta, dtheta, k, law, a)
        law = laws.next[law]
    return total


@kernel
def pull_law_integral(laws, theta, law, x, k, hat, hat_out):
    """Add to hat (len(theta), p) the pull-back of an adjoint of the integral, in column k, to the coefficients."""
    none = 0.0 * hat
    while law != NONE:
        first, count, kind = laws.theta[law], laws.count[law], laws.kind[law]
        zero = 0.0 * (theta[0] + x)
        a, b = _clipped(laws, theta, law, _zero(laws, theta, law) + zero), _clipped(laws, theta, law, x + zero)
        if kind in (CONSTANT, POLYNOMIAL):
            _pull_area(first, count, a, b, k, hat, hat_out)
        elif kind == ONE_SIDED:
            pull_one_sided_area(theta, first, b, hat, k, hat_out)
            pull_one_sided_area(theta, first, a, -1.0 * hat, k, hat_out)
        else:
            left, i, pieces = a, 0, _pieces(laws, theta, law, a, b)
            while i <= pieces:
                right = _end_of_piece(laws, theta, law, i, pieces, a, b)
                for n in range(5 if right != left else 0):
                    share = WEIGHTS[n] * (right - left) * hat
                    pull_term(laws, theta, law, left + NODES[n] * (right - left), k, share, none, none, hat_out)
                left, i = right, i + 1
            _pull_by_zero(laws, theta, law, a, k, hat, hat_out)
        law = laws.next[law]


@inlined
def _pull_area(first, count, a, b, k, hat, hat_out):
    to_a, to_b = a, b
    for i in range(count):
        add_to(hat_out, first + i, k, (to_b - to_a) / (i + 1.0) * hat)
        to_a, to_b = to_a * a, to_b * b


@inlined
def _pull_by_zero(laws, theta, term, a, k, hat, hat_out):
    """Subtract the pull-back of the integral's change with the zero of a table, which is at ``a``."""
    first, count = laws.theta[term], laws.count[term]
    if _ends(laws, theta, term):
        value, _, _ = term_value(laws, theta, term, a)
        if theta[first + 2].real > 0.0:
            add_to(hat_out, first + 2, k, -value * hat)
        elif _last(theta, first, count).real < 0.0:
            add_to(hat_out, first + count - 2, k, -value * hat)
            add_to(hat_out, first + 1, k, -2.0 * value * hat)
            add_to(hat_out, first + 2, k, 2.0 * value * hat)


@inlined
def _ends(laws, theta, term):
    """Whether a term is a table that ends."""
    return laws.kind[term] == SPLINE and np.isnan(theta[laws.theta[term] + laws.count[term]].real)


@inlined
def _zero(laws, theta, term):
    """Where the integral of a term is zero."""
    first = laws.theta[term]
    if laws.kind[term] == ONE_SIDED:
        return theta[first]
    if _ends(laws, theta, term):
        low, high = theta[first + 2], _last(theta, first, laws.count[term])
        if low.real > 0.0:
            return low
        if high.real < 0.0:
            return high
    return 0.0 * theta[0]


@inlined
def _last(c, first, count):
    """An argument at the last row of a table, on its inner side: the breakpoint there lies a little beyond."""
    return c[first + count - 2] + 2.0 * (c[first + 1] - c[first + 2])


@inlined
def _by_zero(laws, theta, dtheta, k, term, a):
    """Decrease of the integral as the zero of a table, which is at ``a``, varies in direction k."""
    first, count = laws.theta[term], laws.count[term]
    change = 0.0 * at(dtheta, 0, k)
    if _ends(laws, theta, term):
        value, _, _ = term_value(laws, theta, term, a)
        if theta[first + 2].real > 0.0:
            change = value * at(dtheta, first + 2, k)
        elif _last(theta, first, count).real < 0.0:
            ahead = at(dtheta, first + 1, k) - at(dtheta, first + 2, k)
            change = value * (at(dtheta, first + count - 2, k) + 2.0 * ahead)
    return change


@inlined
def _clipped(laws, theta, term, x):
    """The nearest argument in the window of a term."""
    w = laws.window[term]
    if w != NONE and x.real < theta[w].real:
        return theta[w] + 0.0 * x
    if w != NONE and x.real > theta[w + 1].real:
        return theta[w + 1] + 0.0 * x
    return x


@inlined
def _pieces(laws, theta, term, a, b):
    """Number of arguments that may end a piece between a and b."""
    first, kind = laws.theta[term], laws.kind[term]
    if kind == SPLINE:
        return laws.count[term]
    if kind == SMOOTH_STEP:
        return 2
    turns = np.abs((theta[first + 2] * (b - a)).real) * (laws.count[term] if kind == SINE_POWER else 1)
    return int(2.0 * turns)


@inlined
def _end_of_piece(laws, theta, term, i, pieces, a, b):
    """End of piece i on the way from a to b; those that lie beside the way have no length."""
    if i == pieces:
        return b
    if laws.kind[term] in (HARMONIC, SINE_POWER):
        return a + (b - a) * ((i + 1.0) / (pieces + 1.0))
    forwards = b.real > a.real
    place = theta[laws.theta[term] + (i if forwards else pieces - 1 - i)]
    if (place.real <= a.real) == forwards:
        return a
    if (place.real >= b.real) == forwards:
        return b
    return place + 0.0 * a


@inlined
def _area(c, k, first, count, x):
    """c_0 x + c_1 x^2 / 2 + ..."""
    f = 0.0 * (at(c, first, k) + x)
    for i in range(count - 1, -1, -1):
        f = (f + at(c, first + i, k) / (i + 1.0)) * x
    return f


@kernel
def positive_area(s):
    """Integral of the smooth positive part, and that part."""
    area, (p, _, _, _) = 0.0 * s, smooth_positive(s)
    if s.real >= 1.0:
        area = 0.5 * s * (s - 1.0) + 0.15
    elif s.real > 0.0:
        area = s * s * s * s * (0.25 - 0.1 * s)
    return area, p


@kernel
def one_sided_area(theta, first, x):
    """Integral of ``laws.one_sided``."""
    w, slope = theta[first + 1], theta[first + 2]
    area, _ = positive_area((x - theta[first]) / w)
    return slope * w * w * area


vary_one_sided_area, pull_one_sided_area = by_numbers(one_sided_area, ByHand(positive_area, 2))


@kernel
def potential(laws, theta, law, x):
    """Integral of a law, the law and its slope."""
    value, slope, _ = law_value(laws, theta, law, x)
    return law_integral(laws, theta, law, x), value, slope


@kernel
def potential_variation(laws, theta, dtheta, k, law, x):
    """Variation k of the three at fixed x."""
    own, slope, _ = law_variation(laws, theta, dtheta, k, law, x)
    return law_integral_variation(laws, theta, dtheta, k, law, x), own, slope


@kernel
def pull_potential(laws, theta, law, x, k, stored, value, slope, hat_out):
    """Add the pull-back of adjoints of the three."""
    pull_law_integral(laws, theta, law, x, k, stored, hat_out)
    pull_law(laws, theta, law, x, k, value, slope, 0.0 * value, hat_out)


POTENTIAL = ByHand(potential, 3, potential_variation, pull_potential)
