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
    m = cross3(rotate(Ra, load3(theta, o + N_A)), u)
    c, s = dot3(u, w), dot3(m, w)
    return atan2(s, c), w, scale3(1.0 / (c * c + s * s), axpy3(c, m, scale3(-s, u)))


@inlined
def measure_delta(kind, theta, o, eta, k, Ra, ra, Rb, rb, Na, Nb):
    """g and its variation under pose twists Na, Nb and direction k of ``eta`` (15, p), and those of the factors x, u.

    With velocities for twists and no ``eta`` these are rates.
    """
    if is_force_line(kind):
        a = point_of(Ra, ra, load3(theta, o + P_A))
        x = point_of(Rb, rb, load3(theta, o + P_B))
        da = add3(moved(Na, a), rotate(Ra, load3_of(eta, P_A, k)))
        dx = add3(moved(Nb, x), rotate(Rb, load3_of(eta, P_B, k)))
        d, dd = sub3(x, a), sub3(dx, da)
        if kind == Measure.DISTANCE:
            g = length3(d)
            u = scale3(1.0 / g, d)
            dg = dot3(u, dd)
            return g, dg, x, u, dx, scale3(1.0 / g, axpy3(-dg, u, dd))
        u, du = _turned(Ra, Na, theta, o + U_A, eta, U_A, k)
        return dot3(u, d), dot3(du, d) + dot3(u, dd), x, u, dx, du
    u, du = _turned(Ra, Na, theta, o + U_A, eta, U_A, k)
    w, dw = _turned(Rb, Nb, theta, o + U_B, eta, U_B, k)
    if kind == Measure.DOT:
        return dot3(u, w), dot3(du, w) + dot3(u, dw), w, u, dw, du
    n, dn = _turned(Ra, Na, theta, o + N_A, eta, N_A, k)
    m, dm = cross3(n, u), add3(cross3(dn, u), cross3(n, du))
    c, s = dot3(u, w), dot3(m, w)
    dc, ds = dot3(du, w) + dot3(u, dw), dot3(dm, w) + dot3(m, dw)
    i = 1.0 / (c * c + s * s)
    y = scale3(i, axpy3(c, m, scale3(-s, u)))
    dy = scale3(i, sub3(_combination(dc, m, c, dm, ds, u, s, du), scale3(2.0 * (c * dc + s * ds), y)))
    return atan2(s, c), i * (c * ds - s * dc), w, y, dw, dy


@inlined
def _turned(R, N, theta, o, eta, eta_o, k):
    """A direction of a body and its variation."""
    u = rotate(R, load3(theta, o))
    return u, add3(cross3(N[0], u), rotate(R, load3_of(eta, eta_o, k)))


@inlined
def measure_variation(kind, theta, o, eta, k, Ra, ra, Rb, rb, Va, Vb, Na, Na1, Nb, Nb1):
    """g, its variation, and the factors x, u of the line with rates and mixed derivatives.

    Direction k of ``eta`` (15, p) is the variation of the measure's block of theta.
    """
    if kind == Measure.PROJECTION:
        u = vary_direction(rotate(Ra, load3(theta, o + U_A)), Va, Na, Na1, rotate(Ra, load3_of(eta, U_A, k)))
        a = _point_variation(theta, o + P_A, eta, P_A, k, Ra, ra, Va, Na, Na1)
        x = _point_variation(theta, o + P_B, eta, P_B, k, Rb, rb, Vb, Nb, Nb1)
        d = sub3(x.x, a.x)
        return dot3(u.x, d), dot3(u.delta, d) + dot3(u.x, sub3(x.delta, a.delta)), x, u
    if kind == Measure.DISTANCE:
        a = _point_variation(theta, o + P_A, eta, P_A, k, Ra, ra, Va, Na, Na1)
        x = _point_variation(theta, o + P_B, eta, P_B, k, Rb, rb, Vb, Nb, Nb1)
        g, dg, u = _unit_variation(_difference(x, a))
        return g, dg, x, u
    u = vary_direction(rotate(Ra, load3(theta, o + U_A)), Va, Na, Na1, rotate(Ra, load3_of(eta, U_A, k)))
    w = vary_direction(rotate(Rb, load3(theta, o + U_B)), Vb, Nb, Nb1, rotate(Rb, load3_of(eta, U_B, k)))
    if kind == Measure.DOT:
        return dot3(u.x, w.x), dot3(u.delta, w.x) + dot3(u.x, w.delta), w, u
    n = vary_direction(rotate(Ra, load3(theta, o + N_A)), Va, Na, Na1, rotate(Ra, load3_of(eta, N_A, k)))
    g, dg, y = _angle_variation(u, _cross_variation(n, u), w)
    return g, dg, w, y


@inlined
def _point_variation(theta, o, eta, eta_o, k, R, r, V, N, N1):
    return vary_point(point_of(R, r, load3(theta, o)), V, N, N1, rotate(R, load3_of(eta, eta_o, k)))


@inlined
def _difference(b, a):
    return Variation(sub3(b.x, a.x), sub3(b.rate, a.rate), sub3(b.delta, a.delta), sub3(b.delta_rate, a.delta_rate))


@inlined
def _cross_variation(a, b):
    rate = add3(cross3(a.rate, b.x), cross3(a.x, b.rate))
    delta = add3(cross3(a.delta, b.x), cross3(a.x, b.delta))
    delta_rate = add3(
        add3(cross3(a.delta_rate, b.x), cross3(a.rate, b.delta)),
        add3(cross3(a.delta, b.rate), cross3(a.x, b.delta_rate)),
    )
    return Variation(cross3(a.x, b.x), rate, delta, delta_rate)


@inlined
def _unit_variation(d):
    """Length of d, its variation, and the unit vector along d."""
    g = length3(d.x)
    s = 1.0 / g
    u = scale3(s, d.x)
    g1, dg = dot3(u, d.rate), dot3(u, d.delta)
    u1 = scale3(s, axpy3(-g1, u, d.rate))
    du = scale3(s, axpy3(-dg, u, d.delta))
    dg1 = dot3(du, d.rate) + dot3(u, d.delta_rate)
    du1 = scale3(s, sub3(sub3(axpy3(-dg1, u, d.delta_rate), scale3(g1, du)), scale3(dg, u1)))
    return g, dg, Variation(u, u1, du, du1)


@inlined
def _angle_variation(u, m, w):
    """Angle of w in the plane of u and m, its variation, and the direction y with L = (w cross y, 0)."""
    c, s = dot3(u.x, w.x), dot3(m.x, w.x)
    c1, s1 = dot3(u.rate, w.x) + dot3(u.x, w.rate), dot3(m.rate, w.x) + dot3(m.x, w.rate)
    dc, ds = dot3(u.delta, w.x) + dot3(u.x, w.delta), dot3(m.delta, w.x) + dot3(m.x, w.delta)
    dc1 = _mixed(u, w)
    ds1 = _mixed(m, w)
    i = 1.0 / (c * c + s * s)
    q1, dq = 2.0 * (c * c1 + s * s1), 2.0 * (c * dc + s * ds)
    dq1 = 2.0 * (dc * c1 + c * dc1 + ds * s1 + s * ds1)
    y = scale3(i, axpy3(c, m.x, scale3(-s, u.x)))
    y1 = scale3(i, sub3(_combination(c1, m.x, c, m.rate, s1, u.x, s, u.rate), scale3(q1, y)))
    dy = scale3(i, sub3(_combination(dc, m.x, c, m.delta, ds, u.x, s, u.delta), scale3(dq, y)))
    second = add3(
        _combination(dc1, m.x, c1, m.delta, ds1, u.x, s1, u.delta),
        _combination(dc, m.rate, c, m.delta_rate, ds, u.rate, s, u.delta_rate),
    )
    dy1 = scale3(i, sub3(sub3(sub3(second, scale3(dq, y1)), scale3(q1, dy)), scale3(dq1, y)))
    return atan2(s, c), i * (c * ds - s * dc), Variation(y, y1, dy, dy1)


@inlined
def _mixed(a, b):
    """Variation of the rate of a . b."""
    return dot3(a.delta_rate, b.x) + dot3(a.rate, b.delta) + dot3(a.delta, b.rate) + dot3(a.x, b.delta_rate)


@inlined
def _combination(c1, m, c, m1, s1, u, s, u1):
    return sub3(axpy3(c1, m, scale3(c, m1)), axpy3(s1, u, scale3(s, u1)))


@inlined
def line(force_line, x, u):
    """Gradient line L of factors x, u."""
    return (cross3(x, u), u if force_line else scale3(0.0, u))


@inlined
def line_variation(force_line, x, u, dx, du):
    """Variation of L, and its rate when dx, du are rates."""
    return (add3(cross3(dx, u), cross3(x, du)), du if force_line else scale3(0.0, du))


@inlined
def line_rate_variation(force_line, x, u):
    """Variation of the rate of L, of factors given as ``Variation``."""
    couple = add3(
        add3(cross3(x.delta_rate, u.x), cross3(x.rate, u.delta)),
        add3(cross3(x.delta, u.rate), cross3(x.x, u.delta_rate)),
    )
    return (couple, u.delta_rate if force_line else scale3(0.0, u.delta_rate))


@inlined
def wrap_angle(kind, value):
    """Residual of an angle, brought into (-pi, pi]; other measures pass unchanged."""
    if kind == Measure.ANGLE:
        return value - 2.0 * np.pi * np.round(value.real / (2.0 * np.pi))
    return value
