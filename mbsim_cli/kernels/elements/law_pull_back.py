"""Pull-back of laws: covectors of value, first and second derivative become one of the coefficients.

The transpose of ``law_variation``. The covectors are those of column k, x is held; ``hat_out`` (len(theta), p) is added
to.
"""

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to
from mbsim_cli.kernels.compiler.views import as_column
from mbsim_cli.kernels.derive.trace import ByHand
from mbsim_cli.kernels.elements.laws import (
    CONSTANT,
    HARMONIC,
    POLYNOMIAL,
    SINE_POWER,
    SMOOTH_STEP,
    SPLINE,
    cubic,
    is_outside,
    law_value,
    law_variation,
    power_of_sine,
    quintic,
    smooth_positive,
    spline_piece,
)
from mbsim_cli.model.layout import NONE


@kernel
def pull_law(laws, theta, law, x, k, f, df, ddf, hat_out):
    """Add the pull-back of covectors f, df, ddf of a law at x; nothing where the law is NONE."""
    while law != NONE:
        pull_term(laws, theta, law, x, k, f, df, ddf, hat_out)
        law = laws.next[law]


LAW = ByHand(law_value, 3, law_variation, pull_law)


@kernel
def pull_term(laws, theta, term, x, k, f, df, ddf, hat_out):
    """Add that of one term alone."""
    kind, first, count = laws.kind[term], laws.theta[term], laws.count[term]
    if is_outside(laws, theta, term, x):
        return
    if kind == CONSTANT:
        add_to(hat_out, first, k, f)
    elif kind == POLYNOMIAL:
        _pull_powers(first, 1, count, x, k, f, df, ddf, hat_out)
    elif kind in (HARMONIC, SINE_POWER):
        _pull_sine(theta, first, count if kind == SINE_POWER else 1, x, k, f, df, ddf, hat_out)
    elif kind == SMOOTH_STEP:
        _pull_smooth_step(theta, first, x, k, f, df, ddf, hat_out)
    elif kind == SPLINE:
        _pull_spline(theta, first, count, x, k, f, df, ddf, hat_out)
    else:
        _pull_one_sided(theta, first, x, k, f, df, ddf, hat_out)


@inlined
def _pull_powers(first, step, count, x, k, f, df, ddf, hat_out):
    """Of a polynomial whose coefficients, of rising power, stand from ``first`` on, ``step`` apart."""
    power, dpower, ddpower = 1.0 + 0.0 * x, 0.0 * x, 0.0 * x
    for i in range(count):
        add_to(hat_out, first + step * i, k, power * f + dpower * df + ddpower * ddf)
        ddpower = x * ddpower + 2.0 * dpower
        dpower = x * dpower + power
        power = x * power


@inlined
def _pull_sine(theta, first, n, x, k, f, df, ddf, hat_out):
    a, w = theta[first + 1], theta[first + 2]
    p, dp, ddp, dddp = power_of_sine(n, w * x + theta[first + 3])
    angle = a * (dp * f + w * ddp * df + w * w * dddp * ddf)
    add_to(hat_out, first, k, f)
    add_to(hat_out, first + 1, k, p * f + w * dp * df + w * w * ddp * ddf)
    add_to(hat_out, first + 2, k, a * dp * df + 2.0 * a * w * ddp * ddf + x * angle)
    add_to(hat_out, first + 3, k, angle)


@inlined
def _pull_smooth_step(theta, first, x, k, f, df, ddf, hat_out):
    x0, x1, y0, y1 = theta[first], theta[first + 1], theta[first + 2], theta[first + 3]
    if x.real <= x0.real:
        add_to(hat_out, first + 2, k, f)
    elif x.real >= x1.real:
        add_to(hat_out, first + 3, k, f)
    else:
        slope = 1.0 / (x1 - x0)
        s, rise = (x - x0) * slope, y1 - y0
        p, dp, ddp, dddp = quintic(s)
        by_rise = p * f + dp * slope * df + ddp * slope * slope * ddf
        by_s = rise * (dp * f + ddp * slope * df + dddp * slope * slope * ddf)
        by_slope = rise * (dp * df + 2.0 * ddp * slope * ddf)
        stretch = s * by_s + slope * by_slope
        add_to(hat_out, first, k, slope * (stretch - by_s))
        add_to(hat_out, first + 1, k, -slope * stretch)
        add_to(hat_out, first + 2, k, f - by_rise)
        add_to(hat_out, first + 3, k, by_rise)


@inlined
def _pull_spline(theta, first, count, x, k, f, df, ddf, hat_out):
    """The coefficients of the piece at x, and its left end."""
    row, t = spline_piece(theta, first, count, x)
    _, slope, curvature = cubic(as_column(theta), 0, row, t)
    _pull_powers(row + 3, -1, 4, t, k, f, df, ddf, hat_out)
    by_t = slope * f + curvature * df + 6.0 * theta[row] * ddf
    add_to(hat_out, first + (row - first - count) // 4, k, -1.0 * by_t)


@inlined
def _pull_one_sided(theta, first, x, k, f, df, ddf, hat_out):
    w, slope = theta[first + 1], theta[first + 2]
    s = (x - theta[first]) / w
    p, dp, ddp, dddp = smooth_positive(s)
    by_s = slope * (w * dp * f + ddp * df + dddp / w * ddf)
    add_to(hat_out, first, k, -1.0 / w * by_s)
    add_to(hat_out, first + 1, k, slope * p * f - slope * ddp / (w * w) * ddf - s / w * by_s)
    add_to(hat_out, first + 2, k, w * p * f + dp * df + ddp / w * ddf)
