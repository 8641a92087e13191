"""Laws: a value and its two derivatives, and how the three vary with the coefficients.

``laws`` is ``model.layout.Laws``, the coefficients stand in ``theta``; x is time (s) or what the law is a law of.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, as_column, at
from mbsim_cli.kernels.derive.trace import ByHand
from mbsim_cli.kernels.derive.write import Derivatives
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
        return sine(theta, first, count if kind == SINE_POWER else 1, x)
    if kind == SMOOTH_STEP:
        level = _level(theta, first, x)
        return rise(theta, first, x) if level == NONE else (theta[level] + zero, zero, zero)
    if kind == SPLINE:
        row, beyond = spline_piece(theta, first, count, x)
        return cubic(theta, row, beyond)
    return one_sided(theta, first, x)


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
        return vary_sine(theta, first, count if kind == SINE_POWER else 1, x, dtheta, k)
    if kind == SMOOTH_STEP:
        level = _level(theta, first, x)
        return vary_rise(theta, first, x, dtheta, k) if level == NONE else (at(dtheta, level, k), zero, zero)
    if kind == SPLINE:
        row, beyond = spline_piece(theta, first, count, x)
        return vary_cubic(theta, row, beyond, dtheta, k, -at(dtheta, _left_end(first, count, row), k))
    return vary_one_sided(theta, first, x, dtheta, k)


@kernel
def _horner(c, k, first, count, x, zero):
    """Polynomial c_0 + c_1 x + ... and derivatives; linear in c, so it serves value and variation."""
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
def sine(theta, first, n, x):
    """y_0 + a sin(w x + phase)^n."""
    a, w = theta[first + 1], theta[first + 2]
    p, dp, ddp, _ = power_of_sine(n, w * x + theta[first + 3])
    return theta[first] + a * p, a * w * dp, a * w * w * ddp


@inlined
def _level(theta, first, x):
    """Offset of the value before or behind a step, NONE where it rises."""
    if x.real <= theta[first].real:
        return first + 2
    return first + 3 if x.real >= theta[first + 1].real else NONE


@kernel
def rise(theta, first, x):
    """y_0 + (y_1 - y_0) p(s) with the quintic p = 10 s^3 - 15 s^4 + 6 s^5, s = (x - x_0) / (x_1 - x_0)."""
    x0, x1, y0, y1 = theta[first], theta[first + 1], theta[first + 2], theta[first + 3]
    p, dp, ddp, _ = quintic((x - x0) / (x1 - x0))
    height, slope = y1 - y0, 1.0 / (x1 - x0)
    return y0 + height * p, height * dp * slope, height * ddp * slope * slope


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


@inlined
def _left_end(first, count, row):
    """Offset of the breakpoint that the cubic at an offset begins at."""
    return first + (row - first - count) // 4


@kernel
def cubic(theta, row, x):
    a, b, c, d = theta[row], theta[row + 1], theta[row + 2], theta[row + 3]
    return ((a * x + b) * x + c) * x + d, (3.0 * a * x + 2.0 * b) * x + c, 6.0 * a * x + 2.0 * b


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
def one_sided(theta, first, x):
    """Slope times w p((x - x_0) / w), p the smooth positive part, w the onset; the slope is that beyond it."""
    w, slope = theta[first + 1], theta[first + 2]
    p, dp, ddp, _ = smooth_positive((x - theta[first]) / w)
    return slope * w * p, slope * dp, slope * ddp / w


def by_numbers(value, rule=None):
    """Kernels that vary a value of x with numbers of theta, and pull it back."""
    found = Derivatives(value, {}, ("theta", "first"), (rule,) if rule else (), held={"x": 1})
    return found.vary, found.pull


vary_sine, pull_sine = by_numbers(sine, ByHand(power_of_sine, 4))
vary_rise, pull_rise = by_numbers(rise, ByHand(quintic, 4))
CUBIC = Derivatives(cubic, {"x": 1}, ("theta", "row"))
vary_cubic, pull_cubic = CUBIC.vary, CUBIC.pull
vary_one_sided, pull_one_sided = by_numbers(one_sided, SMOOTH_POSITIVE)


# Pull-backs -----------------------------------------------------------------------------------------------------------
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
        power, dpower, ddpower = 1.0 + 0.0 * x, 0.0 * x, 0.0 * x
        for i in range(first, first + count):
            add_to(hat_out, i, k, power * f + dpower * df + ddpower * ddf)
            ddpower = x * ddpower + 2.0 * dpower
            dpower = x * dpower + power
            power = x * power
    elif kind in (HARMONIC, SINE_POWER):
        pull_sine(theta, first, count if kind == SINE_POWER else 1, x, (f, df, ddf), k, hat_out)
    elif kind == SMOOTH_STEP:
        level = _level(theta, first, x)
        if level == NONE:
            pull_rise(theta, first, x, (f, df, ddf), k, hat_out)
        else:
            add_to(hat_out, level, k, f)
    elif kind == SPLINE:
        row, beyond = spline_piece(theta, first, count, x)
        by_place = pull_cubic(theta, row, beyond, (f, df, ddf), k, hat_out)
        add_to(hat_out, _left_end(first, count, row), k, -1.0 * by_place)
    else:
        pull_one_sided(theta, first, x, (f, df, ddf), k, hat_out)
