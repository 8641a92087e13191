"""Pull-back of a tyre: the transposes of ``tyre_variation`` and ``tyre_own``, in reverse order of their lines."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.complex_safe import atan2
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, scale3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to
from mbsim_cli.kernels.elements.law_pull_back import pull_law
from mbsim_cli.kernels.elements.laws import smooth_positive
from mbsim_cli.kernels.elements.tyre import MAGIC, SMALL_FORCE, SMALL_SLIP, Change, Own, touching
from mbsim_cli.model.codes import TyreQuantity
from mbsim_cli.model.layout import (
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


class OfWheel(NamedTuple):
    """Covectors of what a tyre sees of its wheel."""

    center: tuple
    axis: tuple
    v: tuple  # velocity of the centre
    w: tuple  # angular velocity


@inlined
def of_wrench(hat):
    """The covectors of a ``Change`` of which only the wrench counts."""
    none = 0.0 * hat[0][0]
    return Change(hat, none, none, none, none, none, none)


@inlined
def no_change(zero):
    """Covectors, all zero, of a ``Change``."""
    none = (zero, zero, zero)
    return of_wrench((none, none))


@inlined
def with_force(hat, c):
    """The covectors of a ``Change`` with c added to that of the force."""
    n, f = hat.wrench
    return Change(
        (n, add3(f, c)), hat.normal_load, hat.slip_x, hat.slip_y, hat.force_x, hat.force_y, hat.deflection
    )  # fmt: skip


@inlined
def with_quantity(hat, which, c):
    """The covectors of a ``Change`` with c added to that of a ``TyreQuantity``."""
    load, slip_x, slip_y = hat.normal_load, hat.slip_x, hat.slip_y
    force_x, force_y, deflection = hat.force_x, hat.force_y, hat.deflection
    if which == TyreQuantity.NORMAL_LOAD:
        load = load + c
    elif which == TyreQuantity.LONGITUDINAL_SLIP:
        slip_x = slip_x + c
    elif which == TyreQuantity.LATERAL_SLIP:
        slip_y = slip_y + c
    elif which == TyreQuantity.LONGITUDINAL_FORCE:
        force_x = force_x + c
    elif which == TyreQuantity.LATERAL_FORCE:
        force_y = force_y + c
    else:
        deflection = deflection + c
    return Change(hat.wrench, load, slip_x, slip_y, force_x, force_y, deflection)


@inlined
def pull_tyre(theta, o, contact, hat):
    """Covectors of the wheel and of ``Own`` from those of a ``Change``."""
    k = contact
    by_q, by_D = 1.0 / k.q, 1.0 / k.D
    moment, _ = hat.wrench
    force = add3(hat.wrench[1], cross3(moment, k.point))
    point = cross3(k.force, moment)
    gap, n = -dot3(point, k.normal), scale3(-k.gap, point)
    # the force
    normal_load = hat.normal_load + dot3(force, k.normal)
    force_x, force_y = hat.force_x + dot3(force, k.t), hat.force_y + dot3(force, k.s)
    n = axpy3(k.normal_load, force, n)
    t, s = scale3(k.force_x, force), scale3(k.force_y, force)
    Q = k.f_x * force_x + k.f_y * force_y
    f_x, f_y = k.Q * force_x + 2.0 * k.Q_square * k.f_x * Q, k.Q * force_y + 2.0 * k.Q_square * k.f_y * Q
    normal_load = normal_load + k.Q_load * Q
    # the slips
    slip_x, slip_y = hat.slip_x + theta[o + SLIP_X] * f_x, hat.slip_y + theta[o + SLIP_Y] * f_y
    slide = axpy3(-by_D * slip_x, k.t, scale3(-by_D * slip_y, k.s))
    t, s = axpy3(-by_D * slip_x, k.slide, t), axpy3(-by_D * slip_y, k.slide, s)
    stretch = (-by_D * by_D) * (k.slip_x * slip_x + k.slip_y * slip_y)
    roll = k.roll * stretch
    gap = gap + dot3(k.g, k.t) * roll - dot3(slide, k.g)
    g = axpy3(k.gap * roll, k.t, scale3(-k.gap, slide))
    t = axpy3(k.gap * roll, k.g, t)
    # the axes
    w, n = cross3(k.normal, g), add3(n, cross3(g, k.w))
    n, t = add3(n, cross3(k.t, s)), add3(t, cross3(s, k.normal))
    b = scale3(k.length, axpy3(-dot3(k.t, t), k.t, t))
    axis, n = cross3(k.normal, b), add3(n, cross3(b, k.axis))
    h1 = -by_q * n[0]
    q = h1 * k.normal[0] - by_q * k.normal[2] * n[2] + k.load * normal_load
    # the load
    load = k.q * normal_load
    rate = k.load_by_rate * load
    h1 = h1 + k.slope * by_q * q + k.v[0] * rate
    deflection = hat.deflection + k.load_by_deflection * load
    gap = gap - deflection
    center = add3(point, (k.curvature * h1 - k.slope * gap, 0.0 * gap, gap))
    v = add3(slide, (k.slope * rate, 0.0 * rate, -1.0 * rate))
    own = Own(
        -1.0 * gap, h1, deflection, load, Q, k.slip_x * f_x, k.slip_y * f_y, theta[o + SLOW] * stretch
    )  # fmt: skip
    return OfWheel(center, axis, v, w), own


@kernel
def pull_tyre_own(kind, laws, theta, k, o, road, contact, own, hat_out):
    """Add to hat (len(theta), p) what covectors of ``Own``, in column k, are of numbers of the tyre and of the road."""
    pull_law(laws, theta, road, contact.center[0], k, own.height, own.slope, 0.0 * own.slope, hat_out)
    add_to(hat_out, o + RADIUS, k, own.radius)
    add_to(hat_out, o + SLIP_X, k, own.slip_x)
    add_to(hat_out, o + SLIP_Y, k, own.slip_y)
    add_to(hat_out, o + SLOW, k, own.slow)
    _pull_vertical(theta, k, o, contact, own.load, hat_out)
    _pull_friction(kind, theta, k, o, contact, own.Q, hat_out)


@inlined
def _pull_vertical(theta, k, o, contact, hat, hat_out):
    """From the covector of the load."""
    stiffness, c, w = theta[o + TYRE_STIFFNESS], theta[o + TYRE_DAMPING], theta[o + ONSET]
    deflection, rate = contact.deflection, contact.slope * contact.v[0] - contact.v[2]
    share, d_share = touching(deflection / w)
    x = (stiffness * deflection + c * rate) / (stiffness * w)
    p, dp, _, _ = smooth_positive(x)
    add_to(hat_out, o + TYRE_STIFFNESS, k, share * (w * (p - x * dp) + dp * deflection) * hat)
    add_to(hat_out, o + TYRE_DAMPING, k, share * dp * rate * hat)
    add_to(hat_out, o + ONSET, k, stiffness * (share * (p - x * dp) - d_share * deflection / w * p) * hat)


@inlined
def _pull_friction(kind, theta, k, o, contact, hat, hat_out):
    """From the covector of Q."""
    load, square = contact.normal_load, contact.f_x * contact.f_x + contact.f_y * contact.f_y
    limit = theta[o + FRICTION] * load
    if kind == MAGIC:
        B, C = theta[o + SHAPE_B], theta[o + SHAPE_C]
        slip = np.sqrt(square + SMALL_SLIP)
        a = atan2(B * slip, 1.0 + 0.0 * slip)
        slope = limit * np.cos(C * a)
        add_to(hat_out, o + FRICTION, k, load * np.sin(C * a) / slip * hat)
        add_to(hat_out, o + SHAPE_B, k, slope * C / (1.0 + B * B * slip * slip) * hat)
        add_to(hat_out, o + SHAPE_C, k, slope * a / slip * hat)
    else:
        total = 1.0 / np.sqrt(limit * limit + square + SMALL_FORCE)
        add_to(hat_out, o + FRICTION, k, load * (square + SMALL_FORCE) * total * total * total * hat)
