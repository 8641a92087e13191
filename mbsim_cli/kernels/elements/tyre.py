"""Tyre: contact of a wheel with a road, wrench on the wheel, and its variation.

The road under the wheel centre c gives height h(x), slope h' and curvature h''. Vertical load by deflection
and its rate, along the gradient of the deflection, so that a spring alone does no work on a closed path; slip
forces by the velocity of the wheel's point at the road, in the plane of the road. Every function is finite
and has continuous derivatives, also for a lifted, locked or standing wheel. docs/theory/tyres.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.complex_safe import atan2
from mbsim_cli.kernels.algebra.rot3 import rotate
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import at
from mbsim_cli.kernels.elements.laws import law_value, law_variation, quintic, smooth_positive
from mbsim_cli.kernels.elements.measures import moved, point_of
from mbsim_cli.model.codes import Force, TyreQuantity
from mbsim_cli.model.layout import (
    AXIS,
    FRICTION,
    ONSET,
    RADIUS,
    SHAPE_B,
    SHAPE_C,
    SLIP_X,
    SLIP_Y,
    SLOW,
    TYRE_DAMPING,
    TYRE_STIFFNESS,
)

SMALL_SLIP = 1e-6  # square of the slip below which the Magic Formula is a straight line
SMALL_FORCE = 1.0  # N^2: a linear tyre without load has no friction limit to divide by
UPRIGHT = 1e-12  # square of the sine between spin axis and road normal where a wheel lies flat
MAGIC = int(Force.TYRE_MAGIC_FORMULA)


class Contact(NamedTuple):
    """A tyre at an instant: what its wrench is made of, with the derivatives of its scalar functions.

    ``keep_contact`` and ``kept_contact`` name its fields once more.
    """

    center: tuple
    axis: tuple  # spin axis e
    v: tuple  # velocity of the centre
    w: tuple  # angular velocity of the wheel
    normal: tuple  # n
    t: tuple  # forward
    s: tuple  # to the left
    g: tuple  # w x n
    slide: tuple  # velocity of the wheel's point at the road
    point: tuple  # where the force acts
    force: tuple
    slope: float  # h' of the road
    curvature: float  # h''
    gap: float  # centre above road
    load: float  # vertical load
    load_by_deflection: float
    load_by_rate: float
    q: float  # sqrt(1 + h'^2)
    length: float  # 1 / |e x n|
    roll: float  # rolling speed
    D: float  # the same, never zero
    slip_x: float
    slip_y: float
    f_x: float  # slips times their stiffness
    f_y: float
    Q: float  # slip force over f
    Q_load: float
    Q_square: float  # by f . f
    normal_load: float
    deflection: float
    force_x: float
    force_y: float


CONTACT_SIZE = 54  # numbers of a ``Contact``


class Own(NamedTuple):
    """Variations with the tyre's and the road's own numbers at fixed motion of the wheel."""

    height: float
    slope: float
    radius: float
    load: float
    Q: float
    slip_x: float  # of the stiffnesses
    slip_y: float
    slow: float


class Change(NamedTuple):
    """Variation of a tyre."""

    wrench: tuple  # about the origin
    normal_load: float
    slip_x: float
    slip_y: float
    force_x: float
    force_y: float
    deflection: float


@kernel
def touching(s):
    """Quintic from 0 to 1 over the onset, and its slope."""
    zero = 0.0 * s
    if s.real <= 0.0:
        return zero, zero
    if s.real >= 1.0:
        return 1.0 + zero, zero
    p, dp, _, _ = quintic(s)
    return p, dp


@kernel
def _vertical(theta, o, deflection, rate):
    """Load step(u / w) pos(k u + c u'), and its derivatives by deflection u and rate u'; never negative."""
    k, c, w = theta[o + TYRE_STIFFNESS], theta[o + TYRE_DAMPING], theta[o + ONSET]
    share, d_share = touching(deflection / w)
    p, dp, _, _ = smooth_positive((k * deflection + c * rate) / (k * w))
    pressed = k * w * p
    return share * pressed, d_share / w * pressed + share * dp * k, share * dp * c


@kernel
def deflection_energy(theta, o, deflection):
    """Energy of the deflection u, the integral of the load at rest; its derivatives by u, stiffness and onset w.

    k w^2 T(u / w), T the integral of the step times the smooth positive part.
    """
    k, w = theta[o + TYRE_STIFFNESS], theta[o + ONSET]
    s = deflection / w
    T, dT = 0.0 * s, 0.0 * s
    if s.real >= 1.0:
        T, dT = 9.0 / 70.0 + 0.5 * s * (s - 1.0), s - 0.5
    elif s.real > 0.0:
        power = s * s * s * s * s * s
        T = power * s * (10.0 / 7.0 + s * (-2.5 + s * (1.5 - 0.3 * s)))
        dT = power * (10.0 + s * (-20.0 + s * (13.5 - 3.0 * s)))
    return k * w * w * T, k * w * dT, w * w * T, k * (2.0 * w * T - deflection * dT)


@inlined
def _vertical_own(theta, dtheta, j, o, deflection, rate):
    """Variation of the load with stiffness, damping and onset."""
    k, c, w = theta[o + TYRE_STIFFNESS], theta[o + TYRE_DAMPING], theta[o + ONSET]
    dk, dc, dw = at(dtheta, o + TYRE_STIFFNESS, j), at(dtheta, o + TYRE_DAMPING, j), at(dtheta, o + ONSET, j)
    share, d_share = touching(deflection / w)
    x = (k * deflection + c * rate) / (k * w)
    p, dp, _, _ = smooth_positive(x)
    d_pressed = (dk * w + k * dw) * (p - x * dp) + dp * (dk * deflection + dc * rate)
    return share * d_pressed - d_share * deflection / (w * w) * dw * k * w * p


@kernel
def _friction(kind, theta, o, load, square):
    """Q of the slip force Q f, with its derivatives by the normal load and by f . f."""
    limit = theta[o + FRICTION] * load
    if kind == MAGIC:
        B, C = theta[o + SHAPE_B], theta[o + SHAPE_C]
        slip = np.sqrt(square + SMALL_SLIP)
        angle = C * atan2(B * slip, 1.0 + 0.0 * slip)
        G, dG = np.sin(angle), np.cos(angle) * C * B / (1.0 + B * B * slip * slip)
        return limit * G / slip, theta[o + FRICTION] * G / slip, 0.5 * limit * (dG - G / slip) / (slip * slip)
    total = 1.0 / np.sqrt(limit * limit + square + SMALL_FORCE)
    cube = total * total * total
    return limit * total, theta[o + FRICTION] * (square + SMALL_FORCE) * cube, -0.5 * limit * cube


@inlined
def _friction_own(kind, theta, dtheta, j, o, load, square):
    """Variation of Q with friction and shape at fixed load and f."""
    d_limit = at(dtheta, o + FRICTION, j) * load
    if kind == MAGIC:
        B, C = theta[o + SHAPE_B], theta[o + SHAPE_C]
        slip = np.sqrt(square + SMALL_SLIP)
        a = atan2(B * slip, 1.0 + 0.0 * slip)
        dB, dC = at(dtheta, o + SHAPE_B, j), at(dtheta, o + SHAPE_C, j)
        dG = np.cos(C * a) * (dC * a + C * slip / (1.0 + B * B * slip * slip) * dB)
        return (d_limit * np.sin(C * a) + theta[o + FRICTION] * load * dG) / slip
    limit = theta[o + FRICTION] * load
    total = 1.0 / np.sqrt(limit * limit + square + SMALL_FORCE)
    return d_limit * (square + SMALL_FORCE) * total * total * total


@kernel
def tyre_contact(kind, laws, theta, o, road, R, r, V):
    """The tyre of block o on law ``road``; R, r pose of the wheel, V its motion about the origin."""
    c, e = point_of(R, r, load3(theta, o)), rotate(R, load3(theta, o + AXIS))
    v, w = moved(V, c), V[0]
    height, slope, curvature = law_value(laws, theta, road, c[0])
    gap = c[2] - height
    deflection = theta[o + RADIUS] - gap
    load, by_deflection, by_rate = _vertical(theta, o, deflection, slope * v[0] - v[2])
    q = np.sqrt(1.0 + slope * slope)
    n = (-slope / q, 0.0 * q, 1.0 / q)
    b = cross3(e, n)
    length = 1.0 / np.sqrt(dot3(b, b) + UPRIGHT)
    t = scale3(length, b)
    s = cross3(n, t)
    g = cross3(w, n)
    slide = axpy3(-gap, g, v)
    roll = gap * dot3(g, t)
    D = np.sqrt(roll * roll + theta[o + SLOW] * theta[o + SLOW])
    slip_x, slip_y = -dot3(slide, t) / D, -dot3(slide, s) / D
    f_x, f_y = theta[o + SLIP_X] * slip_x, theta[o + SLIP_Y] * slip_y
    normal_load = load * q
    Q, Q_load, Q_square = _friction(kind, theta, o, normal_load, f_x * f_x + f_y * f_y)
    force = axpy3(normal_load, n, axpy3(Q * f_x, t, scale3(Q * f_y, s)))
    return Contact(
        c, e, v, w, n, t, s, g, slide, axpy3(-gap, n, c), force, slope, curvature, gap, load, by_deflection, by_rate,
        q, length, roll, D, slip_x, slip_y, f_x, f_y, Q, Q_load, Q_square, normal_load, deflection, Q * f_x, Q * f_y,
    )  # fmt: skip


@inlined
def keep_contact(contact, out):
    """Write a contact to out (54,)."""
    k = contact
    out[0], out[1], out[2] = k.center
    out[3], out[4], out[5] = k.axis
    out[6], out[7], out[8] = k.v
    out[9], out[10], out[11] = k.w
    out[12], out[13], out[14] = k.normal
    out[15], out[16], out[17] = k.t
    out[18], out[19], out[20] = k.s
    out[21], out[22], out[23] = k.g
    out[24], out[25], out[26] = k.slide
    out[27], out[28], out[29] = k.point
    out[30], out[31], out[32] = k.force
    out[33], out[34], out[35] = k.slope, k.curvature, k.gap
    out[36], out[37], out[38] = k.load, k.load_by_deflection, k.load_by_rate
    out[39], out[40], out[41], out[42] = k.q, k.length, k.roll, k.D
    out[43], out[44], out[45], out[46] = k.slip_x, k.slip_y, k.f_x, k.f_y
    out[47], out[48], out[49] = k.Q, k.Q_load, k.Q_square
    out[50], out[51], out[52], out[53] = k.normal_load, k.deflection, k.force_x, k.force_y


@inlined
def kept_contact(k):
    """The contact in k (54,)."""
    return Contact(
        load3(k, 0), load3(k, 3), load3(k, 6), load3(k, 9), load3(k, 12), load3(k, 15), load3(k, 18), load3(k, 21),
        load3(k, 24), load3(k, 27), load3(k, 30), k[33], k[34], k[35], k[36], k[37], k[38], k[39], k[40], k[41], k[42],
        k[43], k[44], k[45], k[46], k[47], k[48], k[49], k[50], k[51], k[52], k[53],
    )  # fmt: skip


@inlined
def tyre_wrench(contact):
    """Wrench on the wheel about the origin."""
    return (cross3(contact.point, contact.force), contact.force)


@inlined
def tyre_own(kind, laws, theta, dtheta, j, o, road, contact):
    """Variations with the numbers of the tyre and of the road in direction j."""
    height, slope, _ = law_variation(laws, theta, dtheta, j, road, contact.center[0])
    rate = contact.slope * contact.v[0] - contact.v[2]
    square = contact.f_x * contact.f_x + contact.f_y * contact.f_y
    return Own(
        height,
        slope,
        at(dtheta, o + RADIUS, j),
        _vertical_own(theta, dtheta, j, o, contact.deflection, rate),
        _friction_own(kind, theta, dtheta, j, o, contact.normal_load, square),
        at(dtheta, o + SLIP_X, j),
        at(dtheta, o + SLIP_Y, j),
        at(dtheta, o + SLOW, j),
    )


@inlined
def no_own(zero):
    """``Own`` of a tyre whose numbers do not vary."""
    return Own(zero, zero, zero, zero, zero, zero, zero, zero)


@inlined
def tyre_variation(theta, o, contact, own, dc, de, dv, dw):
    """Variation when centre, axis, the centre's velocity and the angular velocity vary by dc, de, dv, dw."""
    k = contact
    dh1 = k.curvature * dc[0] + own.slope
    d_gap = dc[2] - k.slope * dc[0] - own.height
    d_deflection = own.radius - d_gap
    d_rate = dh1 * k.v[0] + k.slope * dv[0] - dv[2]
    d_load = k.load_by_deflection * d_deflection + k.load_by_rate * d_rate + own.load
    by_q, by_D = 1.0 / k.q, 1.0 / k.D
    dq = k.slope * by_q * dh1
    d_normal = d_load * k.q + k.load * dq
    dn = (-by_q * (dh1 + k.normal[0] * dq), 0.0 * dq, -by_q * k.normal[2] * dq)
    db = add3(cross3(de, k.normal), cross3(k.axis, dn))
    dt = scale3(k.length, axpy3(-dot3(k.t, db), k.t, db))
    ds = add3(cross3(dn, k.t), cross3(k.normal, dt))
    dg = add3(cross3(dw, k.normal), cross3(k.w, dn))
    d_slide = sub3(dv, axpy3(d_gap, k.g, scale3(k.gap, dg)))
    d_roll = d_gap * dot3(k.g, k.t) + k.gap * (dot3(dg, k.t) + dot3(k.g, dt))
    stretch = (k.roll * d_roll + theta[o + SLOW] * own.slow) * (by_D * by_D)
    d_slip_x = -(dot3(d_slide, k.t) + dot3(k.slide, dt)) * by_D - k.slip_x * stretch
    d_slip_y = -(dot3(d_slide, k.s) + dot3(k.slide, ds)) * by_D - k.slip_y * stretch
    df_x = theta[o + SLIP_X] * d_slip_x + own.slip_x * k.slip_x
    df_y = theta[o + SLIP_Y] * d_slip_y + own.slip_y * k.slip_y
    dQ = k.Q_load * d_normal + 2.0 * k.Q_square * (k.f_x * df_x + k.f_y * df_y) + own.Q
    dF_x, dF_y = dQ * k.f_x + k.Q * df_x, dQ * k.f_y + k.Q * df_y
    dF = axpy3(d_normal, k.normal, axpy3(dF_x, k.t, scale3(dF_y, k.s)))
    dF = add3(dF, axpy3(k.normal_load, dn, axpy3(k.force_x, dt, scale3(k.force_y, ds))))
    d_point = sub3(dc, axpy3(d_gap, k.normal, scale3(k.gap, dn)))
    wrench = (add3(cross3(d_point, k.force), cross3(k.point, dF)), dF)
    return Change(wrench, d_normal, d_slip_x, d_slip_y, dF_x, dF_y, d_deflection)


@inlined
def tyre_quantity(tyre, which):
    """One of ``TyreQuantity``, of a ``Contact`` or of its ``Change``."""
    if which == TyreQuantity.NORMAL_LOAD:
        return tyre.normal_load
    if which == TyreQuantity.LONGITUDINAL_SLIP:
        return tyre.slip_x
    if which == TyreQuantity.LATERAL_SLIP:
        return tyre.slip_y
    if which == TyreQuantity.LONGITUDINAL_FORCE:
        return tyre.force_x
    if which == TyreQuantity.LATERAL_FORCE:
        return tyre.force_y
    return tyre.deflection
