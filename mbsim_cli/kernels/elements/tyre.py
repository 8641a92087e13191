"""Tyre: contact of a wheel with a road, and the wrench on the wheel.

The road under the wheel centre c gives height h(x) and slope h'. Vertical load by deflection and its rate, along the
gradient of the deflection, so that a spring alone does no work on a closed path; slip forces by the velocity of the
wheel's point at the road, in the plane of the road. Every function is finite and has continuous derivatives, also for
a lifted, locked or standing wheel. docs/theory/tyres.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import atan2
from mbsim_cli.kernels.algebra.vectors import axpy3, cross3, dot3, scale3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.derive.trace import branching
from mbsim_cli.kernels.elements.element import Element, axis, point, turning, velocity
from mbsim_cli.kernels.elements.laws import LAW, SMOOTH_POSITIVE, law_value, smooth_positive
from mbsim_cli.model import layout
from mbsim_cli.model.codes import TYRES, Force

SMALL_SLIP = 1e-6  # square of the slip below which the Magic Formula is a straight line
SMALL_FORCE = 1e-12  # N^2: a linear tyre without load has no friction limit to divide by
UPRIGHT = 1e-12  # square of the sine between spin axis and road normal where a wheel lies flat
MAGIC = int(Force.TYRE_MAGIC_FORMULA)


@branching()
@kernel
def touching(s):
    """Quintic from 0 to 1 over the onset."""
    if s.real <= 0.0:
        return 0.0 * s
    if s.real >= 1.0:
        return 1.0 + 0.0 * s
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@branching()
@kernel
def stored(s):
    """Integral of ``touching`` times the smooth positive part."""
    if s.real <= 0.0:
        return 0.0 * s
    if s.real >= 1.0:
        return 9.0 / 70.0 + 0.5 * s * (s - 1.0)
    return s * s * s * s * s * s * s * (10.0 / 7.0 + s * (-2.5 + s * (1.5 - 0.3 * s)))


@branching("kind")
@kernel
def grip(kind, limit, B, C, square):
    """Q of the slip force Q f, from the friction limit and f . f."""
    if kind == MAGIC:
        slip = np.sqrt(square + SMALL_SLIP)
        return limit * np.sin(C * atan2(B * slip, 1.0 + 0.0 * slip)) / slip
    return limit / np.sqrt(limit * limit + square + SMALL_FORCE)


@kernel
def tyre(kind, laws, theta, o, road, c, e, v, w):
    """Wrench on the wheel about the origin, and the tyre's quantities; the tyre is that of block o on law ``road``.

    c, e are centre and spin axis of the wheel, v, w the velocity of its centre and its angular velocity. The quantities
    are those of ``TyreQuantity``, the energy of the deflection, and the power that goes into it.
    """
    height, slope, _ = law_value(laws, theta, road, c[0])
    gap = c[2] - height
    # load step(u / w) pos(k u + c u') by the deflection u and its rate; never negative
    deflection, rate = theta[o + layout.RADIUS] - gap, slope * v[0] - v[2]
    stiffness, onset = theta[o + layout.TYRE_STIFFNESS], theta[o + layout.ONSET]
    share = touching(deflection / onset)
    p, _, _, _ = smooth_positive((stiffness * deflection + theta[o + layout.TYRE_DAMPING] * rate) / (stiffness * onset))
    p_rest, _, _, _ = smooth_positive(deflection / onset)
    q = np.sqrt(1.0 + slope * slope)
    normal_load = share * (stiffness * onset * p) * q
    # normal, forward and left axis; velocity of the wheel's point at the road
    n = (-slope / q, 0.0 * q, 1.0 / q)
    b = cross3(e, n)
    t = scale3(1.0 / np.sqrt(dot3(b, b) + UPRIGHT), b)
    s = cross3(n, t)
    g = cross3(w, n)
    slide = axpy3(-gap, g, v)
    # slips by the rolling speed, which is never zero, and what they exert
    roll = gap * dot3(g, t)
    D = np.sqrt(roll * roll + theta[o + layout.SLOW] * theta[o + layout.SLOW])
    slip_x, slip_y = -dot3(slide, t) / D, -dot3(slide, s) / D
    f_x, f_y = theta[o + layout.SLIP_X] * slip_x, theta[o + layout.SLIP_Y] * slip_y
    Q = grip(
        kind, theta[o + layout.FRICTION] * normal_load, theta[o + layout.SHAPE_B], theta[o + layout.SHAPE_C],
        f_x * f_x + f_y * f_y,
    )  # fmt: skip
    force_x, force_y = Q * f_x, Q * f_y
    force = axpy3(normal_load, n, axpy3(force_x, t, scale3(force_y, s)))
    energy, power = stiffness * onset * onset * stored(deflection / onset), stiffness * onset * share * p_rest * rate
    quantities = (normal_load, slip_x, slip_y, force_x, force_y, deflection, energy, power)
    return (cross3(axpy3(-gap, n, c), force), force), quantities


WHEEL = {"c": point(), "e": axis(layout.AXIS), "v": velocity("c"), "w": turning()}
ELEMENT = Element(tyre, TYRES, WHEEL, layout.TYRE_SIZE, 8, rules=(LAW, SMOOTH_POSITIVE))
