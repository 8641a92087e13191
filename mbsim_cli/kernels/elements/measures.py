"""Geometric measures between two bodies: value, gradient line, and their variations.

The gradient of every measure with respect to a relative twist of b against a is a line: a force u through
the point x (PROJECTION, DISTANCE), or a couple x cross u of two directions (DOT, ANGLE). The line L =
(x cross u, u) or (x cross u, 0) is bilinear in x and u, so one set of product rules serves all kinds, and
a kind supplies x, u and how they vary. Rates follow from g' = L . (V_b - V_a). Vectors are about the
global origin. Derivation: docs/theory/measures.md. Source: paper 000, section 7.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import inlined
from mbsim_cli.kernels.algebra.complex_safe import atan2
from mbsim_cli.kernels.algebra.rot3 import rotate
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, length3, load3, load3_of, scale3, sub3
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import N_A, P_A, P_B, U_A, U_B


class Variation(NamedTuple):
    """A point or direction with its time derivative, a variation, and the rate of that variation."""

    x: tuple
    rate: tuple
    delta: tuple
    delta_rate: tuple


class Seen(NamedTuple):
    """Motion of a body as another one sees it, about the origin: velocity, acceleration, and their variations."""

    V: tuple
    A: tuple
    N: tuple  # twist of the pose
    dV: tuple
    dA: tuple


class Track(NamedTuple):
    """A point or direction with its first two time derivatives, and their variations."""

    x: tuple
    rate: tuple
    second: tuple
    delta: tuple
    delta_rate: tuple
    delta_second: tuple


@inlined
def is_geometric(kind):
    """Whether the measure is one between bodies, rather than of coordinates."""
    return kind <= Measure.ANGLE


@inlined
def is_force_line(kind):
    """Whether the gradient is a force line; else it is a couple."""
    return kind == Measure.PROJECTION or kind == Measure.DISTANCE


@inlined
def point_of(R, r, local):
    """Global position of a point of a body."""
    return add3(r, rotate(R, local))


@inlined
def moved(V, x):
    """Velocity at x of the motion V about the origin."""
    return add3(V[1], cross3(V[0], x))


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
def measure_value(kind, theta, o, Ra, ra, Rb, rb):
    """Value g and the factors x, u of the gradient line."""
    if kind == Measure.PROJECTION:
        u = rotate(Ra, load3(theta, o + U_A))
        x = point_of(Rb, rb, load3(theta, o + P_B))
        return dot3(u, sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))), x, u
    if kind == Measure.DISTANCE:
        x = point_of(Rb, rb, load3(theta, o + P_B))
        d = sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))
        g = length3(d)
        return g, x, scale3(1.0 / g, d)
    u = rotate(Ra, load3(theta, o + U_A))
    w = rotate(Rb, load3(theta, o + U_B))
    if kind == Measure.DOT:
        return dot3(u, w), w, u
    u, m = _plane(theta, o, Ra)
    c, s = dot3(u, w), dot3(m, w)
    return atan2(s, c), w, scale3(1.0 / (c * c + s * s), axpy3(c, m, scale3(-s, u)))


@inlined
def vary_pose(kind, theta, o, Ra, ra, Rb, rb, N):
    """g, its line L, and the variations of both as body a sees b turn by the twist N; the measure's numbers stay.

    With the velocity of b against a for the twist these are rates.
    """
    g, x, u = measure_value(kind, theta, o, Ra, ra, Rb, rb)
    none = scale3(0.0, N[1])
    if is_force_line(kind):
        dx = moved(N, x)
        dg = dot3(u, dx)
        if kind == Measure.DISTANCE:
            du = scale3(1.0 / g, axpy3(-dg, u, dx))
            return g, dg, line(True, x, u), (add3(cross3(dx, u), cross3(x, du)), du)
        return g, dg, line(True, x, u), (cross3(dx, u), none)
    dw = cross3(N[0], x)
    dg, by_w = dot3(u, dw), cross3(dw, u)
    if kind == Measure.ANGLE:
        by_w = add3(by_w, cross3(x, _angle_slope_by_pose(theta, o, Ra, x, u, dw)))
    return g, dg, line(False, x, u), (by_w, none)


@inlined
def _angle_slope_by_pose(theta, o, Ra, w, y, dw):
    """Variation of the factor y of an angle with the direction w of body b."""
    u, m = _plane(theta, o, Ra)
    c, s = dot3(u, w), dot3(m, w)
    dc, ds = dot3(u, dw), dot3(m, dw)
    i = 1.0 / (c * c + s * s)
    return scale3(i, sub3(axpy3(dc, m, scale3(-ds, u)), scale3(2.0 * (c * dc + s * ds), y)))


@inlined
def _plane(theta, o, Ra):
    """Axes u and m that an angle is measured from and towards."""
    u = rotate(Ra, load3(theta, o + U_A))
    return u, cross3(rotate(Ra, load3(theta, o + N_A)), u)


@inlined
def vary_numbers(kind, theta, o, eta, k, Ra, ra, Rb, rb):
    """Variation of g and of its line with the measure's own numbers, in the direction k of ``eta`` (15, p)."""
    g, x, u = measure_value(kind, theta, o, Ra, ra, Rb, rb)
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
    u, m = _plane(theta, o, Ra)
    n, dn = rotate(Ra, load3(theta, o + N_A)), rotate(Ra, load3_of(eta, N_A, k))
    dm = add3(cross3(dn, u), cross3(n, du))
    c, s = dot3(u, w), dot3(m, w)
    dc, ds = dot3(du, w) + dot3(u, dw), dot3(dm, w) + dot3(m, dw)
    i = 1.0 / (c * c + s * s)
    dy = sub3(axpy3(dc, m, scale3(c, dm)), axpy3(ds, u, scale3(s, du)))
    return i * (c * ds - s * dc), scale3(i, sub3(dy, scale3(2.0 * (c * dc + s * ds), y)))


@inlined
def _held(R, theta, o, touched, eta, offset, k, like):
    """A direction that body a holds, and its variation, of the type of ``like``."""
    du = scale3(0.0, like)
    if touched:
        du = add3(du, rotate(R, load3_of(eta, offset, k)))
    return rotate(R, load3(theta, o + offset)), du


@inlined
def second_variation(kind, theta, o, touched, eta, k, Ra, ra, Rb, rb, seen):
    """Variation of g'' in the direction k of ``eta`` (15, p) and of the motion of body b as body a sees it."""
    if is_force_line(kind):
        x = _track(Rb, point_of(Rb, rb, load3(theta, o + P_B)), touched, eta, P_B, k, seen)
        if kind == Measure.DISTANCE:
            dd = x.delta
            if touched:
                dd = sub3(dd, rotate(Ra, load3_of(eta, P_A, k)))
            return _length_variation(sub3(x.x, point_of(Ra, ra, load3(theta, o + P_A))), dd, x)
    else:
        x = _track(Rb, rotate(Rb, load3(theta, o + U_B)), touched, eta, U_B, k, _turning(seen))
    u, du = _held(Ra, theta, o, touched, eta, U_A, k, x.delta)
    if kind != Measure.ANGLE:
        return dot3(du, x.second) + dot3(u, x.delta_second)
    n, dn = _held(Ra, theta, o, touched, eta, N_A, k, x.delta)
    return _angle_variation(u, cross3(n, u), du, add3(cross3(dn, u), cross3(n, du)), x)


@inlined
def _track(R, x, touched, eta, offset, k, seen):
    """A point of body b, which may vary in the body as well."""
    V, A, N, dV, dA = seen
    rate = moved(V, x)
    delta = moved(N, x)
    if touched:
        delta = add3(delta, rotate(R, load3_of(eta, offset, k)))
    delta_rate = add3(moved(dV, x), cross3(V[0], delta))
    turned = add3(cross3(A[0], delta), add3(cross3(dV[0], rate), cross3(V[0], delta_rate)))
    return Track(x, rate, add3(moved(A, x), cross3(V[0], rate)), delta, delta_rate, add3(moved(dA, x), turned))


@inlined
def _turning(seen):
    """The motion as directions follow it."""
    V, A, N, dV, dA = seen
    return Seen(_turn(V), _turn(A), _turn(N), _turn(dV), _turn(dA))


@inlined
def _turn(V):
    return (V[0], scale3(0.0, V[1]))


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
def line(force_line, x, u):
    """Gradient line L of factors x, u."""
    return (cross3(x, u), u if force_line else scale3(0.0, u))


@inlined
def wrap_angle(kind, value):
    """Residual of an angle, brought into (-pi, pi]; other measures pass unchanged."""
    if kind == Measure.ANGLE:
        return value - 2.0 * np.pi * np.round(value.real / (2.0 * np.pi))
    return value
