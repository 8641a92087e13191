"""Laws: a value and its two derivatives, and how the three vary with the coefficients.

``laws`` is ``model.layout.Laws``, the coefficients stand in ``theta``; x is time (s) or what the law is a law of.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, as_column, at
from mbsim_cli.kernels.derive.trace import ByHand
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE

CONSTANT = int(Law.CONSTANT)
POLYNOMIAL = int(Law.POLYNOMIAL)
HARMONIC = int(Law.HARMONIC)
SMOOTH_STEP = int(Law.SMOOTH_STEP)
SPLINE = int(Law.SPLINE)
SINE_POWER = int(Law.SINE_POWER)


@kernel
def law_value(laws, theta, law, x):
    """Value, first and second derivative of a law at x; zeros where it is NONE."""
    f = 0.0 * (theta[0] + x)
    df, ddf = f, f
    while law != NONE:
        g, dg, ddg = term_value(laws, theta, law, x)
        f, df, ddf = f + g, df + dg, ddf + ddg
        law = laws.next[law]
    return f, df, ddf


@kernel
def law_variation(laws, theta, dtheta, k, law, x):
    """Variation k of value, first and second derivative of a law at fixed x."""
    f = 0.0 * at(dtheta, 0, k)
    df, ddf = f, f
    while law != NONE:
        g, dg, ddg = term_variation(laws, theta, dtheta, k, law, x)
        f, df, ddf = f + g, df + dg, ddf + ddg
        law = laws.next[law]
    return f, df, ddf


@kernel
def law_third(laws, theta, law, x):
    """Third derivative of a law at x; that behind x where it jumps."""
    total = 0.0 * (theta[0] + x)
    while law != NONE:
        if not is_outside(laws, theta, law, x):
            total = total + _third_of_term(laws, theta, law, x)
        law = laws.next[law]
    return total


@kernel
def _third_of_term(laws, theta, term, x):
    kind, first, count = laws.kind[term], laws.theta[term], laws.count[term]
    zero = 0.0 * (theta[first] + x)
    if kind == CONSTANT:
        return zero
    if kind == POLYNOMIAL:
        f, df, half, sixth = zero, zero, zero, zero
        for i in range(first + count - 1, first - 1, -1):
            sixth, half, df, f = sixth * x + half, half * x + df, df * x + f, f * x + theta[i]
        return 6.0 * sixth
    if kind in (HARMONIC, SINE_POWER):
        w = theta[first + 2]
        n = count if kind == SINE_POWER else 1
        return theta[first + 1] * w * w * w * power_of_sine(n, w * x + theta[first + 3])[3]
    if kind == SMOOTH_STEP:
        x0, x1 = theta[first], theta[first + 1]
        if x.real <= x0.real or x.real >= x1.real:
            return zero
        slope = 1.0 / (x1 - x0)
        return (theta[first + 3] - theta[first + 2]) * quintic((x - x0) * slope)[3] * slope * slope * slope
    if kind == SPLINE:
        row, _ = spline_piece(theta, first, count, x)
        return 6.0 * theta[row] + zero
    w = theta[first + 1]
    return theta[first + 2] * smooth_positive((x - theta[first]) / w)[3] / (w * w) + zero


@kernel
def is_outside(laws, theta, term, x):
    """Whether x lies outside the window of a term; laws are continuous, so its ends need no derivative."""
    w = laws.window[term]
    return w != NONE and not theta[w].real <= x.real < theta[w + 1].real


@kernel
def term_value(laws, theta, term, x):
    """Value, first and second derivative of one term alone."""
    kind, first, count = laws.kind[term], laws.theta[term], laws.count[term]
    zero = 0.0 * (theta[first] + x)
    if is_outside(laws, theta, term, x):
        return zero, zero, zero
    if kind == CONSTANT:
        return theta[first] + zero, zero, zero
    if kind == POLYNOMIAL:
        return _horner(as_column(theta), 0, first, count, x, zero)
    if kind in (HARMONIC, SINE_POWER):
        return _sine(theta, first, count if kind == SINE_POWER else 1, x)
    if kind == SMOOTH_STEP:
        return _smooth_step(theta, first, x, zero)
    if kind == SPLINE:
        row, t = spline_piece(theta, first, count, x)
        return cubic(as_column(theta), 0, row, t)
    return _one_sided(theta, first, x)


@kernel
def term_variation(laws, theta, dtheta, k, term, x):
    """Variation k of the three at fixed x."""
    kind, first, count = laws.kind[term], laws.theta[term], laws.count[term]
    zero = 0.0 * at(dtheta, first, k)
    if is_outside(laws, theta, term, x):
        return zero, zero, zero
    if kind == CONSTANT:
        return at(dtheta, first, k), zero, zero
    if kind == POLYNOMIAL:
        return _horner(dtheta, k, first, count, x, zero)
    if kind in (HARMONIC, SINE_POWER):
        return _sine_variation(theta, dtheta, k, first, count if kind == SINE_POWER else 1, x)
    if kind == SMOOTH_STEP:
        return _smooth_step_variation(theta, dtheta, k, first, x, zero)
    if kind == SPLINE:
        return _spline_variation(theta, dtheta, k, first, count, x)
    return _one_sided_variation(theta, dtheta, k, first, x)


@kernel
def _horner(c, k, first, count, x, zero):
    """Polynomial c_0 + c_1 x + ... and derivatives; linear in c, so it serves both functions."""
    f, df, half = zero, zero, zero
    for i in range(first + count - 1, first - 1, -1):
        half = half * x + df
        df = df * x + f
        f = f * x + at(c, i, k)
    return f, df, 2.0 * half


@kernel
def _power(s, n):
    """s^n; zero for negative n, which stands with a factor zero."""
    p = (1.0 if n >= 0 else 0.0) + 0.0 * s
    for _ in range(n):
        p = p * s
    return p


@kernel
def power_of_sine(n, angle):
    """sin(angle)^n and three derivatives."""
    s, c = np.sin(angle), np.cos(angle)
    a, b, d = _power(s, n - 1), _power(s, n - 2), _power(s, n - 3)
    return (
        a * s,
        n * a * c,
        n * ((n - 1) * b * c * c - a * s),
        n * c * ((n - 1) * (n - 2) * d * c * c - (3 * n - 2) * a),
    )


@kernel
def _sine(theta, first, n, x):
    a, w = theta[first + 1], theta[first + 2]
    p, dp, ddp, _ = power_of_sine(n, w * x + theta[first + 3])
    return theta[first] + a * p, a * w * dp, a * w * w * ddp


@kernel
def _sine_variation(theta, dtheta, k, first, n, x):
    a, w = theta[first + 1], theta[first + 2]
    da, dw = at(dtheta, first + 1, k), at(dtheta, first + 2, k)
    dangle = dw * x + at(dtheta, first + 3, k)
    p, dp, ddp, dddp = power_of_sine(n, w * x + theta[first + 3])
    return (
        at(dtheta, first, k) + da * p + a * dp * dangle,
        (da * w + a * dw) * dp + a * w * ddp * dangle,
        (da * w * w + 2.0 * a * w * dw) * ddp + a * w * w * dddp * dangle,
    )


@kernel
def _smooth_step(theta, first, x, zero):
    """y_0 + (y_1 - y_0) p(s) with the quintic p = 10 s^3 - 15 s^4 + 6 s^5, s = (x - x_0) / (x_1 - x_0)."""
    x0, x1, y0, y1 = theta[first], theta[first + 1], theta[first + 2], theta[first + 3]
    if x.real <= x0.real:
        return y0 + zero, zero, zero
    if x.real >= x1.real:
        return y1 + zero, zero, zero
    p, dp, ddp, _ = quintic((x - x0) / (x1 - x0))
    rise, slope = y1 - y0, 1.0 / (x1 - x0)
    return y0 + rise * p, rise * dp * slope, rise * ddp * slope * slope


@kernel
def _smooth_step_variation(theta, dtheta, k, first, x, zero):
    x0, x1, y0, y1 = theta[first], theta[first + 1], theta[first + 2], theta[first + 3]
    if x.real <= x0.real:
        return at(dtheta, first + 2, k) + zero, zero, zero
    if x.real >= x1.real:
        return at(dtheta, first + 3, k) + zero, zero, zero
    slope = 1.0 / (x1 - x0)
    s = (x - x0) * slope
    stretch = -(at(dtheta, first + 1, k) - at(dtheta, first, k)) * slope
    ds = -at(dtheta, first, k) * slope + s * stretch
    dslope = slope * stretch
    p, dp, ddp, dddp = quintic(s)
    rise, drise = y1 - y0, at(dtheta, first + 3, k) - at(dtheta, first + 2, k)
    return (
        at(dtheta, first + 2, k) + drise * p + rise * dp * ds,
        (drise * dp + rise * ddp * ds) * slope + rise * dp * dslope,
        (drise * ddp + rise * dddp * ds) * slope * slope + 2.0 * rise * ddp * slope * dslope,
    )


@kernel
def quintic(s):
    """p = 10 s^3 - 15 s^4 + 6 s^5 and three derivatives."""
    return (
        s * s * s * (10.0 + s * (6.0 * s - 15.0)),
        30.0 * s * s * (1.0 - s) * (1.0 - s),
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
        60.0 + s * (360.0 * s - 360.0),
    )


@kernel
def spline_piece(theta, first, count, x):
    """Offset of the cubic that holds at x, and x from its left end; the end pieces reach to infinity."""
    low, high = 0, count - 1
    while high - low > 1:
        middle = (low + high) // 2
        if x.real >= theta[first + middle].real:
            low = middle
        else:
            high = middle
    return first + count + 4 * low, x - theta[first + low]


@kernel
def cubic(c, k, row, t):
    a, b, d, e = at(c, row, k), at(c, row + 1, k), at(c, row + 2, k), at(c, row + 3, k)
    return ((a * t + b) * t + d) * t + e, (3.0 * a * t + 2.0 * b) * t + d, 6.0 * a * t + 2.0 * b


@kernel
def _spline_variation(theta, dtheta, k, first, count, x):
    """The coefficients vary, and the left end of the piece moves."""
    row, t = spline_piece(theta, first, count, x)
    dt = -at(dtheta, first + (row - first - count) // 4, k)
    _, df, ddf = cubic(as_column(theta), 0, row, t)
    v, dv, ddv = cubic(dtheta, k, row, t)
    return v + df * dt, dv + ddf * dt, ddv + 6.0 * theta[row] * dt


@kernel
def smooth_positive(s):
    """s^3 - s^4/2 for 0 < s < 1, then s - 1/2: the positive part with two continuous derivatives; and three of them."""
    zero = 0.0 * s
    if s.real <= 0.0:
        return zero, zero, zero, zero
    if s.real >= 1.0:
        return s - 0.5, 1.0 + zero, zero, zero
    return s * s * s * (1.0 - 0.5 * s), s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s), 6.0 - 12.0 * s


SMOOTH_POSITIVE = ByHand(smooth_positive, 4)


@kernel
def _one_sided(theta, first, x):
    """Slope times w p((x - x_0) / w), p the smooth positive part, w the onset; the slope is that beyond it."""
    w, slope = theta[first + 1], theta[first + 2]
    p, dp, ddp, _ = smooth_positive((x - theta[first]) / w)
    return slope * w * p, slope * dp, slope * ddp / w


@kernel
def _one_sided_variation(theta, dtheta, k, first, x):
    w, slope = theta[first + 1], theta[first + 2]
    dw, dslope = at(dtheta, first + 1, k), at(dtheta, first + 2, k)
    s = (x - theta[first]) / w
    ds = -(at(dtheta, first, k) + s * dw) / w
    p, dp, ddp, dddp = smooth_positive(s)
    return (
        (dslope * w + slope * dw) * p + slope * w * dp * ds,
        dslope * dp + slope * ddp * ds,
        (dslope - slope * dw / w) * ddp / w + slope * dddp * ds / w,
    )


# Pull-backs -----------------------------------------------------------------------------------------------------------
#
# Pull-back of laws: adjoints of value, first and second derivative become one of the coefficients.
#
# The transpose of ``law_variation``. The adjoints are those of column k, x is held; ``hat_out`` (len(theta), p) is
# added to.


@kernel
def pull_law(laws, theta, law, x, k, f, df, ddf, hat_out):
    """Add the pull-back of adjoints f, df, ddf of a law at x; nothing where the law is NONE."""
    while law != NONE:
        pull_term(laws, theta, law, x, k, f, df, ddf, hat_out)
        law = laws.next[law]


LAW = ByHand(law_value, 3, law_variation, pull_law)


@kernel
def pull_term(laws, theta, term, x, k, f, df, ddf, hat_out):
    """Add the pull-back of one term alone."""
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
    """Pull back a polynomial whose coefficients, of rising power, stand from ``first`` on, ``step`` apart."""
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
    """Pull back to the coefficients of the piece at x, and to its left end."""
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
