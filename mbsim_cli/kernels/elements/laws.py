"""Laws: a value and its two derivatives, and how the three vary with the coefficients.

``laws`` is ``model.layout.Laws``, the coefficients stand in ``theta``; x is time (s) or what the law is a law of.
"""

import numpy as np

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.model.codes import Law

CONSTANT = int(Law.CONSTANT)
POLYNOMIAL = int(Law.POLYNOMIAL)
HARMONIC = int(Law.HARMONIC)
SMOOTH_STEP = int(Law.SMOOTH_STEP)


@kernel
def law_value(laws, theta, k, x):
    """Value, first and second derivative of law k at x."""
    kind, first, count = laws.kind[k], laws.theta[k], laws.count[k]
    zero = 0.0 * (theta[first] + x)
    if kind == CONSTANT:
        return theta[first] + zero, zero, zero
    if kind == POLYNOMIAL:
        return _horner(theta, first, count, x, zero)
    if kind == HARMONIC:
        return _harmonic(theta, first, x)
    if kind == SMOOTH_STEP:
        return _smooth_step(theta, first, x, zero)
    row, t = _spline_piece(theta, first, count, x)
    return _cubic(theta, row, t)


@kernel
def law_variation(laws, theta, dtheta, k, x):
    """Derivatives of value, first and second derivative at fixed x in the direction ``dtheta``."""
    kind, first, count = laws.kind[k], laws.theta[k], laws.count[k]
    zero = 0.0 * (theta[first] + dtheta[first] + x)
    if kind == CONSTANT:
        return dtheta[first] + zero, zero, zero
    if kind == POLYNOMIAL:
        return _horner(dtheta, first, count, x, zero)
    if kind == HARMONIC:
        return _harmonic_variation(theta, dtheta, first, x)
    if kind == SMOOTH_STEP:
        return _smooth_step_variation(theta, dtheta, first, x, zero)
    return _spline_variation(theta, dtheta, first, count, x)


@kernel
def _horner(c, first, count, x, zero):
    """Polynomial c_0 + c_1 x + ... and derivatives; linear in c, so it serves both functions."""
    f, df, half = zero, zero, zero
    for i in range(first + count - 1, first - 1, -1):
        half = half * x + df
        df = df * x + f
        f = f * x + c[i]
    return f, df, 2.0 * half


@kernel
def _harmonic(theta, first, x):
    a, w = theta[first + 1], theta[first + 2]
    angle = w * x + theta[first + 3]
    s, c = np.sin(angle), np.cos(angle)
    return theta[first] + a * s, a * w * c, -a * w * w * s


@kernel
def _harmonic_variation(theta, dtheta, first, x):
    a, w = theta[first + 1], theta[first + 2]
    da, dw = dtheta[first + 1], dtheta[first + 2]
    angle = w * x + theta[first + 3]
    dangle = dw * x + dtheta[first + 3]
    s, c = np.sin(angle), np.cos(angle)
    return (
        dtheta[first] + da * s + a * c * dangle,
        (da * w + a * dw) * c - a * w * s * dangle,
        -(da * w * w + 2.0 * a * w * dw) * s - a * w * w * c * dangle,
    )


@kernel
def _smooth_step(theta, first, x, zero):
    """y_0 + (y_1 - y_0) p(s) with the quintic p = 10 s^3 - 15 s^4 + 6 s^5, s = (x - x_0) / (x_1 - x_0)."""
    x0, x1, y0, y1 = theta[first], theta[first + 1], theta[first + 2], theta[first + 3]
    if x.real <= x0.real:
        return y0 + zero, zero, zero
    if x.real >= x1.real:
        return y1 + zero, zero, zero
    p, dp, ddp, _ = _quintic((x - x0) / (x1 - x0))
    rise, slope = y1 - y0, 1.0 / (x1 - x0)
    return y0 + rise * p, rise * dp * slope, rise * ddp * slope * slope


@kernel
def _smooth_step_variation(theta, dtheta, first, x, zero):
    x0, x1, y0, y1 = theta[first], theta[first + 1], theta[first + 2], theta[first + 3]
    if x.real <= x0.real:
        return dtheta[first + 2] + zero, zero, zero
    if x.real >= x1.real:
        return dtheta[first + 3] + zero, zero, zero
    slope = 1.0 / (x1 - x0)
    s = (x - x0) * slope
    stretch = -(dtheta[first + 1] - dtheta[first]) * slope
    ds = -dtheta[first] * slope + s * stretch
    dslope = slope * stretch
    p, dp, ddp, dddp = _quintic(s)
    rise, drise = y1 - y0, dtheta[first + 3] - dtheta[first + 2]
    return (
        dtheta[first + 2] + drise * p + rise * dp * ds,
        (drise * dp + rise * ddp * ds) * slope + rise * dp * dslope,
        (drise * ddp + rise * dddp * ds) * slope * slope + 2.0 * rise * ddp * slope * dslope,
    )


@kernel
def _quintic(s):
    """p = 10 s^3 - 15 s^4 + 6 s^5 and three derivatives."""
    return (
        s * s * s * (10.0 + s * (6.0 * s - 15.0)),
        30.0 * s * s * (1.0 - s) * (1.0 - s),
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
        60.0 + s * (360.0 * s - 360.0),
    )


@kernel
def _spline_piece(theta, first, count, x):
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
def _cubic(c, row, t):
    a, b, d, e = c[row], c[row + 1], c[row + 2], c[row + 3]
    return ((a * t + b) * t + d) * t + e, (3.0 * a * t + 2.0 * b) * t + d, 6.0 * a * t + 2.0 * b


@kernel
def _spline_variation(theta, dtheta, first, count, x):
    """The coefficients vary, and the left end of the piece moves."""
    row, t = _spline_piece(theta, first, count, x)
    dt = -dtheta[first + (row - first - count) // 4]
    _, df, ddf = _cubic(theta, row, t)
    v, dv, ddv = _cubic(dtheta, row, t)
    return v + df * dt, dv + ddf * dt, ddv + 6.0 * theta[row] * dt
