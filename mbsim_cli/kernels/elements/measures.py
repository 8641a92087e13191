"""Geometric measures between two bodies: value, gradient line, and their variations.

The gradient of every measure with respect to a relative twist of b against a is a line: a force u through
the point x (PROJECTION, DISTANCE), or a couple x cross u of two directions (DOT, ANGLE). The line L =
(x cross u, u) or (x cross u, 0) is bilinear in x and u, so one set of product rules serves all kinds, and
a kind supplies x, u and how they vary. Rates follow from g' = L . (V_b - V_a). Vectors are about the
global origin. Derivation: docs/theory/measures.md. Source: paper 000, section 7.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import atan2
from mbsim_cli.kernels.algebra.spatial import moved
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    axpy3,
    cross3,
    dot3,
    length3,
    load3,
    load3_of,
    point_of,
    rotate,
    scale3,
    sub3,
    unrotate,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import APART, N_A, P_A, P_B, U_A, U_B


class Variation(NamedTuple):
    """A point or direction with its time derivative, a variation, and the rate of that variation."""

    x: tuple
    rate: tuple
    delta: tuple
    delta_rate: tuple


class Track(NamedTuple):
    """A point or direction with its first two time derivatives, and their variations."""

    x: tuple
    rate: tuple
    second: tuple
    delta: tuple
    delta_rate: tuple
    delta_second: tuple


@inlined
def is_force_line(kind):
    """Whether the gradient is a force line; else it is a couple."""
    return kind == Measure.PROJECTION or kind == Measure.DISTANCE


@inlined
def vary_point(x, V, N, N1, eta):
    """Variation of a body's point x: pose twist N with rate N1, own shift eta fixed in the body."""
    rate = moved(V, x)
    delta = add3(moved(N, x), eta)
    delta_rate = add3(moved(N1, x), add3(cross3(N[0], rate), cross3(V[0], eta)))
    return Variation(x, rate, delta, delta_rate)


@inlined
def vary_direction(u, V, N, N1, eta):
    """Variation of a body's direction u."""
    rate = cross3(V[0], u)
    delta = add3(cross3(N[0], u), eta)
    delta_rate = add3(cross3(N1[0], u), add3(cross3(N[0], rate), cross3(V[0], eta)))
    return Variation(u, rate, delta, delta_rate)


@inlined
def measure_value(kind, theta, o, poses):
    """Value g and the factors x, u of the gradient line; ``poses`` (R, r) are those of bodies a and b."""
    (Ra, ra), (Rb, rb) = poses
    if kind == Measure.PROJECTION:
        u = rotate(Ra, load3(theta, o + U_A))
        x = point_of(Rb, rb, load3(theta, o + P_B))
        return dot3(u, sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))), x, u
    if kind == Measure.DISTANCE:
        x = point_of(Rb, rb, load3(theta, o + P_B))
        d = sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))
        apart = theta[o + APART]
        g = np.sqrt(dot3(d, d) + apart * apart)
        return g, x, scale3(1.0 / g, d)
    u = rotate(Ra, load3(theta, o + U_A))
    w = rotate(Rb, load3(theta, o + U_B))
    if kind == Measure.DOT:
        return dot3(u, w), w, u
    u, m = plane(theta, o, Ra)
    c, s = dot3(u, w), dot3(m, w)
    return atan2(s, c), w, scale3(1.0 / (c * c + s * s), axpy3(c, m, scale3(-s, u)))


@inlined
def vary_line(kind, theta, o, Ra, g, x, u, N):
    """Variation of the line of factors x, u as body a sees b turn by the twist N; the measure's numbers stay.

    With the velocity of b against a for the twist it is the rate.
    """
    none = scale3(0.0, N[1])
    if is_force_line(kind):
        dx = moved(N, x)
        if kind == Measure.DISTANCE:
            du = scale3(1.0 / g, axpy3(-dot3(u, dx), u, dx))
            return (add3(cross3(dx, u), cross3(x, du)), du)
        return (cross3(dx, u), none)
    dw = cross3(N[0], x)
    by_w = cross3(dw, u)
    if kind == Measure.ANGLE:
        by_w = add3(by_w, cross3(x, _angle_slope_by_pose(theta, o, Ra, x, u, dw)))
    return (by_w, none)


@inlined
def _angle_slope_by_pose(theta, o, Ra, w, y, dw):
    """Variation of the factor y of an angle with the direction w of body b."""
    u, m = plane(theta, o, Ra)
    c, s = dot3(u, w), dot3(m, w)
    dc, ds = dot3(u, dw), dot3(m, dw)
    i = 1.0 / (c * c + s * s)
    return scale3(i, sub3(axpy3(dc, m, scale3(-ds, u)), scale3(2.0 * (c * dc + s * ds), y)))


@inlined
def plane(theta, o, Ra):
    """Axes u and m that an angle is measured from and towards."""
    u = rotate(Ra, load3(theta, o + U_A))
    return u, cross3(rotate(Ra, load3(theta, o + N_A)), u)


@inlined
def vary_numbers(kind, theta, o, eta, k, poses):
    """Variation of g and of its line with the measure's own numbers, in the direction k of ``eta`` (15, p)."""
    (Ra, ra), (Rb, _) = poses
    g, x, u = measure_value(kind, theta, o, poses)
    du = rotate(Ra, load3_of(eta, U_A, k))
    if is_force_line(kind):
        d = sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))
        dx = rotate(Rb, load3_of(eta, P_B, k))
        dd = sub3(dx, rotate(Ra, load3_of(eta, P_A, k)))
        dg = dot3(u, dd)
        if kind == Measure.DISTANCE:
            du = scale3(1.0 / g, axpy3(-dg, u, dd))
        else:
            dg += dot3(du, d)
        return dg, (add3(cross3(dx, u), cross3(x, du)), du)
    dw = rotate(Rb, load3_of(eta, U_B, k))
    if kind == Measure.DOT:
        dg = dot3(du, x) + dot3(u, dw)
    else:
        dg, du = _angle_by_numbers(theta, o, eta, k, Ra, x, u, dw, du)
    return dg, (add3(cross3(dw, u), cross3(x, du)), scale3(0.0, du))


@inlined
def _angle_by_numbers(theta, o, eta, k, Ra, w, y, dw, du):
    """Variations of an angle and of its factor y."""
    u, m = plane(theta, o, Ra)
    n, dn = rotate(Ra, load3(theta, o + N_A)), rotate(Ra, load3_of(eta, N_A, k))
    dm = add3(cross3(dn, u), cross3(n, du))
    c, s = dot3(u, w), dot3(m, w)
    dc, ds = dot3(du, w) + dot3(u, dw), dot3(dm, w) + dot3(m, dw)
    i = 1.0 / (c * c + s * s)
    dy = sub3(axpy3(dc, m, scale3(c, dm)), axpy3(ds, u, scale3(s, du)))
    return i * (c * ds - s * dc), scale3(i, sub3(dy, scale3(2.0 * (c * dc + s * ds), y)))


@inlined
def second_by_numbers(kind, theta, o, eta, k, poses, V, A):
    """Variation of g'' with the measure's own numbers, in the direction k of ``eta`` (15, p).

    V and A are the velocity and the acceleration of body b as body a sees them.
    """
    (Ra, ra), (Rb, rb) = poses
    if is_force_line(kind):
        x = _track(point_of(Rb, rb, load3(theta, o + P_B)), rotate(Rb, load3_of(eta, P_B, k)), V, A)
        if kind == Measure.DISTANCE:
            dd = sub3(x.delta, rotate(Ra, load3_of(eta, P_A, k)))
            return _length_variation(sub3(x.x, point_of(Ra, ra, load3(theta, o + P_A))), dd, x)
    else:
        turn, turn_rate = (V[0], scale3(0.0, V[1])), (A[0], scale3(0.0, A[1]))
        x = _track(rotate(Rb, load3(theta, o + U_B)), rotate(Rb, load3_of(eta, U_B, k)), turn, turn_rate)
    u, du = rotate(Ra, load3(theta, o + U_A)), rotate(Ra, load3_of(eta, U_A, k))
    if kind != Measure.ANGLE:
        return dot3(du, x.second) + dot3(u, x.delta_second)
    n, dn = rotate(Ra, load3(theta, o + N_A)), rotate(Ra, load3_of(eta, N_A, k))
    return _angle_variation(u, cross3(n, u), du, add3(cross3(dn, u), cross3(n, du)), x)


@inlined
def _track(x, delta, V, A):
    """A point of body b that varies in the body."""
    rate, delta_rate = moved(V, x), cross3(V[0], delta)
    delta_second = add3(cross3(A[0], delta), cross3(V[0], delta_rate))
    return Track(x, rate, add3(moved(A, x), cross3(V[0], rate)), delta, delta_rate, delta_second)


@inlined
def _length_variation(d, dd, x):
    """Variation of the second derivative of |d|, with d' = x'."""
    g = length3(d)
    g1, dg = dot3(d, x.rate) / g, dot3(d, dd) / g
    g2 = (dot3(x.rate, x.rate) + dot3(d, x.second) - g1 * g1) / g
    dg1 = (dot3(dd, x.rate) + dot3(d, x.delta_rate) - g1 * dg) / g
    by_second = dot3(dd, x.second) + dot3(d, x.delta_second)
    return (2.0 * dot3(x.rate, x.delta_rate) + by_second - 2.0 * g1 * dg1 - g2 * dg) / g


@inlined
def _angle_variation(u, m, du, dm, w):
    """Variation of the second derivative of the angle of w in the plane of u and m, which body a holds."""
    c, s, c1, s1, c2, s2 = (
        dot3(u, w.x),
        dot3(m, w.x),
        dot3(u, w.rate),
        dot3(m, w.rate),
        dot3(u, w.second),
        dot3(m, w.second),
    )
    dc, ds = dot3(du, w.x) + dot3(u, w.delta), dot3(dm, w.x) + dot3(m, w.delta)
    dc1, ds1 = dot3(du, w.rate) + dot3(u, w.delta_rate), dot3(dm, w.rate) + dot3(m, w.delta_rate)
    dc2, ds2 = dot3(du, w.second) + dot3(u, w.delta_second), dot3(dm, w.second) + dot3(m, w.delta_second)
    i = 1.0 / (c * c + s * s)
    q1, dq = 2.0 * (c * c1 + s * s1), 2.0 * (c * dc + s * ds)
    dq1 = 2.0 * (dc * c1 + c * dc1 + ds * s1 + s * ds1)
    g1 = i * (c * s1 - s * c1)
    g2 = i * (c * s2 - s * c2 - g1 * q1)
    dg1 = i * (dc * s1 + c * ds1 - ds * c1 - s * dc1 - g1 * dq)
    return i * (dc * s2 + c * ds2 - ds * c2 - s * dc2 - dg1 * q1 - g1 * dq1 - g2 * dq)


@inlined
def line(kind, x, u):
    """Gradient line L of factors x, u: a force line, or the couple of two directions."""
    force_line = is_force_line(kind)
    return (cross3(x, u), u if force_line else scale3(0.0, u))


@inlined
def wrap_angle(value):
    """Residual of an angle, brought into (-pi, pi]."""
    return value - 2.0 * np.pi * np.round(value.real / (2.0 * np.pi))


@inlined
def unwrapped(value, expected):
    """An angle by as many turns more or less as bring it nearest to the one expected."""
    return value - 2.0 * np.pi * np.round((value.real - expected) / (2.0 * np.pi))


@inlined
def factor_rates(kind, theta, o, Ra, g, x, u, a, b):
    """(x', x'') and (u', u'') of the factors of a line; a, b are the motions (V, A) of the bodies."""
    if kind == Measure.PROJECTION:
        return _point_rates(b, x), _direction_rates(a, u)
    if kind == Measure.DISTANCE:
        of_x, of_a = _point_rates(b, x), _point_rates(a, axpy3(-g, u, x))
        return of_x, _unit_rates(g, u, sub3(of_x[0], of_a[0]), sub3(of_x[1], of_a[1]))
    of_w = _direction_rates(b, x)
    if kind == Measure.DOT:
        return of_w, _direction_rates(a, u)
    return of_w, _angle_factor_rates(theta, o, Ra, x, u, of_w, a)


@inlined
def _point_rates(motion, x):
    """First and second time derivative of a point of a body."""
    V, A = motion
    rate = moved(V, x)
    return rate, add3(moved(A, x), cross3(V[0], rate))


@inlined
def _direction_rates(motion, u):
    """First and second time derivative of a direction of a body."""
    V, A = motion
    rate = cross3(V[0], u)
    return rate, add3(cross3(A[0], u), cross3(V[0], rate))


@inlined
def _unit_rates(g, u, d1, d2):
    """First and second time derivative of u = d / g, g = |d|, from those of d."""
    g1 = dot3(u, d1)
    u1 = scale3(1.0 / g, axpy3(-g1, u, d1))
    g2 = dot3(u, d2) + dot3(u1, d1)
    return u1, scale3(1.0 / g, sub3(d2, axpy3(g2, u, scale3(2.0 * g1, u1))))


@inlined
def _angle_factor_rates(theta, o, Ra, w, y, of_w, a):
    """First and second time derivative of the factor y = (c m - s u) / (c^2 + s^2) of an angle."""
    u, m = plane(theta, o, Ra)
    (u1, u2), (m1, m2), (w1, w2) = _direction_rates(a, u), _direction_rates(a, m), of_w
    c, s = dot3(u, w), dot3(m, w)
    c1, s1 = dot3(u1, w) + dot3(u, w1), dot3(m1, w) + dot3(m, w1)
    c2 = dot3(u2, w) + 2.0 * dot3(u1, w1) + dot3(u, w2)
    s2 = dot3(m2, w) + 2.0 * dot3(m1, w1) + dot3(m, w2)
    i, q1 = 1.0 / (c * c + s * s), 2.0 * (c * c1 + s * s1)
    q2 = 2.0 * (c1 * c1 + c * c2 + s1 * s1 + s * s2)
    p1 = sub3(axpy3(c1, m, scale3(c, m1)), axpy3(s1, u, scale3(s, u1)))
    by_m, by_u = axpy3(c2, m, axpy3(2.0 * c1, m1, scale3(c, m2))), axpy3(s2, u, axpy3(2.0 * s1, u1, scale3(s, u2)))
    y1 = scale3(i, axpy3(-q1, y, p1))
    return y1, scale3(i, sub3(sub3(by_m, by_u), axpy3(q2, y, scale3(2.0 * q1, y1))))


@inlined
def line_rates(kind, x, u, of_x, of_u):
    """First and second time derivative of the line of factors x, u, from those of the factors."""
    (x1, x2), (u1, u2) = of_x, of_u
    turn1 = add3(cross3(x1, u), cross3(x, u1))
    turn2 = add3(add3(cross3(x2, u), scale3(2.0, cross3(x1, u1))), cross3(x, u2))
    if is_force_line(kind):
        return (turn1, u1), (turn2, u2)
    return (turn1, scale3(0.0, u1)), (turn2, scale3(0.0, u2))


# Pull-backs -----------------------------------------------------------------------------------------------------------
#
# Pull-backs of points, directions and measures: transposes of the variations above.
#
# Adjoints are those of column k; those of numbers in body axes are added to ``hat_out`` (len(theta), p).


@inlined
def pull_point(x, rate, V, x_hat, rate_hat):
    """Adjoints of N, of N', and of the point's own shift, from those of a body's point and of its velocity."""
    turned = add3(cross3(x, x_hat), cross3(rate, rate_hat))
    return (turned, x_hat), (cross3(x, rate_hat), rate_hat), add3(x_hat, cross3(rate_hat, V[0]))


@inlined
def pull_second_of_point(x, rate, second, V, A, hat):
    """Adjoints of N, N', N'' and of the point's own shift, from that of its acceleration; A may lack gravity."""
    by_shift = add3(cross3(hat, A[0]), cross3(cross3(hat, V[0]), V[0]))
    by_rate = (scale3(2.0, cross3(rate, hat)), scale3(0.0, hat))
    return (cross3(second, hat), scale3(0.0, hat)), by_rate, (cross3(x, hat), hat), by_shift


@kernel
def pull_numbers(kind, theta, o, k, poses, g_hat, L_hat, hat_out):
    """Add what adjoints of g and of its line are of the measure's own numbers: the transpose of ``vary_numbers``."""
    (Ra, ra), (Rb, _) = poses
    g, x, u = measure_value(kind, theta, o, poses)
    x_hat, u_hat = cross3(u, L_hat[0]), cross3(L_hat[0], x)
    if is_force_line(kind):
        u_hat = add3(u_hat, L_hat[1])
        if kind == Measure.DISTANCE:
            d_hat = axpy3(1.0 / g, axpy3(-dot3(u, u_hat), u, u_hat), scale3(g_hat, u))
        else:
            d_hat = scale3(g_hat, u)
            d = sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))
            add3_to(hat_out, o + U_A, k, unrotate(Ra, axpy3(g_hat, d, u_hat)))
        add3_to(hat_out, o + P_A, k, unrotate(Ra, scale3(-1.0, d_hat)))
        add3_to(hat_out, o + P_B, k, unrotate(Rb, add3(x_hat, d_hat)))
    elif kind == Measure.DOT:
        add3_to(hat_out, o + U_A, k, unrotate(Ra, axpy3(g_hat, x, u_hat)))
        add3_to(hat_out, o + U_B, k, unrotate(Rb, axpy3(g_hat, u, x_hat)))
    else:
        _pull_angle(theta, o, k, Ra, Rb, x, u, g_hat, x_hat, u_hat, hat_out)


@inlined
def _pull_angle(theta, o, k, Ra, Rb, w, y, g_hat, w_hat, y_hat, hat_out):
    """Pull back an angle, the direction w and the factor y to the measure's numbers."""
    u, m = plane(theta, o, Ra)
    c, s = dot3(u, w), dot3(m, w)
    i, along = 1.0 / (c * c + s * s), 2.0 * dot3(y, y_hat)
    c_hat = i * (dot3(m, y_hat) - c * along - s * g_hat)
    s_hat = i * (c * g_hat - s * along - dot3(u, y_hat))
    m_hat, u_hat = axpy3(s_hat, w, scale3(i * c, y_hat)), axpy3(c_hat, w, scale3(-i * s, y_hat))
    w_hat = add3(w_hat, axpy3(c_hat, u, scale3(s_hat, m)))
    _pull_directions(theta, o, k, Ra, Rb, u, u_hat, m_hat, w_hat, hat_out)


@inlined
def _pull_directions(theta, o, k, Ra, Rb, u, u_hat, m_hat, w_hat, hat_out):
    """Pull back u, m = n x u and the direction w of body b to the measure's numbers."""
    n = rotate(Ra, load3(theta, o + N_A))
    add3_to(hat_out, o + U_A, k, unrotate(Ra, add3(u_hat, cross3(m_hat, n))))
    add3_to(hat_out, o + N_A, k, unrotate(Ra, cross3(u, m_hat)))
    add3_to(hat_out, o + U_B, k, unrotate(Rb, w_hat))


@kernel
def pull_second(kind, theta, o, k, poses, V, A, hat, hat_out):
    """Add what an adjoint of g'' is of the measure's own numbers: the transpose of ``second_by_numbers``.

    V and A are the velocity and the acceleration of body b as body a sees them.
    """
    (Ra, ra), (Rb, rb) = poses
    u = rotate(Ra, load3(theta, o + U_A))
    if is_force_line(kind):
        x = point_of(Rb, rb, load3(theta, o + P_B))
        rate = moved(V, x)
        second = add3(moved(A, x), cross3(V[0], rate))
        if kind == Measure.DISTANCE:
            d = sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))
            d_hat, rate_hat, second_hat = _pull_length(d, rate, second, hat)
            add3_to(hat_out, o + P_A, k, unrotate(Ra, scale3(-1.0, d_hat)))
            add3_to(hat_out, o + P_B, k, unrotate(Rb, add3(d_hat, _carried(V, A, rate_hat, second_hat))))
        else:
            second_hat = scale3(hat, u)
            add3_to(hat_out, o + U_A, k, unrotate(Ra, scale3(hat, second)))
            add3_to(hat_out, o + P_B, k, unrotate(Rb, _carried(V, A, scale3(0.0, second_hat), second_hat)))
    else:
        w = rotate(Rb, load3(theta, o + U_B))
        rate = cross3(V[0], w)
        second = add3(cross3(A[0], w), cross3(V[0], rate))
        if kind == Measure.DOT:
            second_hat = scale3(hat, u)
            add3_to(hat_out, o + U_A, k, unrotate(Ra, scale3(hat, second)))
            add3_to(hat_out, o + U_B, k, unrotate(Rb, _carried(V, A, scale3(0.0, second_hat), second_hat)))
        else:
            _pull_second_of_angle(theta, o, k, Ra, Rb, w, rate, second, V, A, hat, hat_out)


@inlined
def _carried(V, A, rate_hat, second_hat):
    """Adjoint of a shift in body b, from those of its first two time derivatives."""
    return add3(cross3(add3(rate_hat, cross3(second_hat, V[0])), V[0]), cross3(second_hat, A[0]))


@inlined
def _pull_length(d, rate, second, hat):
    """Adjoints of d, d' and d'' from that of the second derivative of |d|."""
    g = length3(d)
    g1 = dot3(d, rate) / g
    g2 = (dot3(rate, rate) + dot3(d, second) - g1 * g1) / g
    c = hat / g
    by_g1 = -2.0 * g1 / g * c  # over g once more
    by_g = -g2 * c - g1 * by_g1
    d_hat = axpy3(by_g / g, d, axpy3(by_g1, rate, scale3(c, second)))
    return d_hat, axpy3(2.0 * c, rate, scale3(by_g1, d)), scale3(c, d)


@inlined
def _pull_second_of_angle(theta, o, k, Ra, Rb, w, w1, w2, V, A, hat, hat_out):
    u, m = plane(theta, o, Ra)
    c, s, c1, s1, c2, s2 = dot3(u, w), dot3(m, w), dot3(u, w1), dot3(m, w1), dot3(u, w2), dot3(m, w2)
    i, q1 = 1.0 / (c * c + s * s), 2.0 * (c * c1 + s * s1)
    g1 = i * (c * s1 - s * c1)
    g2 = i * (c * s2 - s * c2 - g1 * q1)
    h = i * hat
    j = -i * q1 * h  # of g', over c^2 + s^2
    by_q, by_q1 = -2.0 * (g2 * h + g1 * j), -2.0 * g1 * h
    c_hat = s2 * h + s1 * j + c1 * by_q1 + c * by_q
    s_hat = s1 * by_q1 - c2 * h - c1 * j + s * by_q
    c1_hat, s1_hat = c * by_q1 - s * j, s * by_q1 + c * j
    c2_hat, s2_hat = -s * h, c * h
    u_hat = axpy3(c_hat, w, axpy3(c1_hat, w1, scale3(c2_hat, w2)))
    m_hat = axpy3(s_hat, w, axpy3(s1_hat, w1, scale3(s2_hat, w2)))
    rate_hat, second_hat = axpy3(c1_hat, u, scale3(s1_hat, m)), axpy3(c2_hat, u, scale3(s2_hat, m))
    w_hat = add3(axpy3(c_hat, u, scale3(s_hat, m)), _carried(V, A, rate_hat, second_hat))
    _pull_directions(theta, o, k, Ra, Rb, u, u_hat, m_hat, w_hat, hat_out)
