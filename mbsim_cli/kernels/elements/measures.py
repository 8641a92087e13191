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
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, dot3, load3, point_of, rotate, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import APART, MEASURE_SIZE, N_A, P_A, P_B, U_A, U_B


class Variation(NamedTuple):
    """A point or direction with its time derivative, a variation, and the rate of that variation."""

    x: tuple
    rate: tuple
    delta: tuple
    delta_rate: tuple


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
    """Variation of the line of x, u, numbers held, as a sees b turn by the twist N; the rate if N is the velocity."""
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
def line(kind, x, u):
    """Gradient line L of factors x, u: a force line, or the couple of two directions."""
    force_line = is_force_line(kind)
    return (cross3(x, u), u if force_line else scale3(0.0, u))


@inlined
def wrap_angle(value, near=0.0):
    """An angle by as many turns more or less as bring it nearest to another one; beside 0 that is within pi."""
    return value - 2.0 * np.pi * np.round((value.real - near) / (2.0 * np.pi))


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


# The numbers of measures ----------------------------------------------------------------------------------------------
#
# g with its line, and g'', as values, of which ``kernels/derive`` makes the derivatives by a measure's own numbers.
#
# (w, v) and (alpha, a) are the velocity and the acceleration of body b as body a sees them. Adjoints are those of
# column k; those of numbers in body axes are added to ``hat_out`` (len(theta), p).


@inlined
def projection(theta, o, Ra, ra, Rb, rb):
    """g and its line."""
    g, x, u = measure_value(Measure.PROJECTION, theta, o, ((Ra, ra), (Rb, rb)))
    return g, line(Measure.PROJECTION, x, u)


@inlined
def distance(theta, o, Ra, ra, Rb, rb, apart):
    x = point_of(Rb, rb, load3(theta, o + P_B))
    d = sub3(x, point_of(Ra, ra, load3(theta, o + P_A)))
    g = np.sqrt(dot3(d, d) + apart * apart)
    return g, line(Measure.DISTANCE, x, scale3(1.0 / g, d))


@inlined
def dot(theta, o, Ra, ra, Rb, rb):
    g, x, u = measure_value(Measure.DOT, theta, o, ((Ra, ra), (Rb, rb)))
    return g, line(Measure.DOT, x, u)


@inlined
def angle(theta, o, Ra, ra, Rb, rb):
    g, x, u = measure_value(Measure.ANGLE, theta, o, ((Ra, ra), (Rb, rb)))
    return g, line(Measure.ANGLE, x, u)


@inlined
def second_projection(theta, o, Ra, ra, Rb, rb, w, v, alpha, a):
    """g''."""
    _, x2 = _point_rates(((w, v), (alpha, a)), point_of(Rb, rb, load3(theta, o + P_B)))
    return dot3(rotate(Ra, load3(theta, o + U_A)), x2)


@inlined
def second_distance(theta, o, Ra, ra, Rb, rb, w, v, alpha, a):
    x = point_of(Rb, rb, load3(theta, o + P_B))
    d, (d1, d2) = sub3(x, point_of(Ra, ra, load3(theta, o + P_A))), _point_rates(((w, v), (alpha, a)), x)
    g = np.sqrt(dot3(d, d))
    g1 = dot3(d, d1) / g
    return (dot3(d1, d1) + dot3(d, d2) - g1 * g1) / g


@inlined
def second_dot(theta, o, Ra, ra, Rb, rb, w, v, alpha, a):
    _, x2 = _direction_rates(((w, v), (alpha, a)), rotate(Rb, load3(theta, o + U_B)))
    return dot3(rotate(Ra, load3(theta, o + U_A)), x2)


@inlined
def second_angle(theta, o, Ra, ra, Rb, rb, w, v, alpha, a):
    x, (u, m) = rotate(Rb, load3(theta, o + U_B)), plane(theta, o, Ra)
    x1, x2 = _direction_rates(((w, v), (alpha, a)), x)
    c, s, c1, s1 = dot3(u, x), dot3(m, x), dot3(u, x1), dot3(m, x1)
    i = 1.0 / (c * c + s * s)
    g1 = i * (c * s1 - s * c1)
    return i * (c * dot3(m, x2) - s * dot3(u, x2) - 2.0 * g1 * (c * c1 + s * s1))


def _by_numbers(value):
    """Kernels that vary a value with the measure's own numbers, and pull it back."""
    held = {"Ra": 9, "ra": 3, "Rb": 9, "rb": 3, "w": 3, "v": 3, "alpha": 3, "a": 3, "apart": 1}
    found = Derivatives(value, {}, ("theta", "o"), held=held)
    return found.vary, found.pull


vary_projection, pull_projection = _by_numbers(projection)
vary_distance, pull_distance = _by_numbers(distance)
vary_dot, pull_dot = _by_numbers(dot)
vary_angle, pull_angle = _by_numbers(angle)
vary_second_projection, pull_second_projection = _by_numbers(second_projection)
vary_second_distance, pull_second_distance = _by_numbers(second_distance)
vary_second_dot, pull_second_dot = _by_numbers(second_dot)
vary_second_angle, pull_second_angle = _by_numbers(second_angle)


@inlined
def vary_numbers(kind, theta, o, eta, k, poses):
    """Variation of g and of its line with the measure's own numbers, in the direction k of ``eta`` (15, p)."""
    own, ((Ra, ra), (Rb, rb)) = theta[o : o + MEASURE_SIZE], poses
    if kind == Measure.PROJECTION:
        return vary_projection(own, 0, Ra, ra, Rb, rb, eta, k)
    if kind == Measure.DISTANCE:
        return vary_distance(own, 0, Ra, ra, Rb, rb, own[APART], eta, k)
    if kind == Measure.DOT:
        return vary_dot(own, 0, Ra, ra, Rb, rb, eta, k)
    return vary_angle(own, 0, Ra, ra, Rb, rb, eta, k)


@inlined
def second_by_numbers(kind, theta, o, eta, k, poses, V, A):
    """Variation of g'' with the same numbers; V and A are those of body b as body a sees them."""
    own, ((Ra, ra), (Rb, rb)) = theta[o : o + MEASURE_SIZE], poses
    if kind == Measure.PROJECTION:
        return vary_second_projection(own, 0, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], eta, k)
    if kind == Measure.DISTANCE:
        return vary_second_distance(own, 0, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], eta, k)
    if kind == Measure.DOT:
        return vary_second_dot(own, 0, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], eta, k)
    return vary_second_angle(own, 0, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], eta, k)


@kernel
def pull_numbers(kind, theta, o, k, poses, g_hat, L_hat, hat_out):
    """Add what adjoints of g and of its line are of the measure's own numbers: the transpose of ``vary_numbers``."""
    (Ra, ra), (Rb, rb) = poses
    if kind == Measure.PROJECTION:
        pull_projection(theta, o, Ra, ra, Rb, rb, (g_hat, L_hat), k, hat_out)
    elif kind == Measure.DISTANCE:
        pull_distance(theta, o, Ra, ra, Rb, rb, theta[o + APART], (g_hat, L_hat), k, hat_out)
    elif kind == Measure.DOT:
        pull_dot(theta, o, Ra, ra, Rb, rb, (g_hat, L_hat), k, hat_out)
    else:
        pull_angle(theta, o, Ra, ra, Rb, rb, (g_hat, L_hat), k, hat_out)


@kernel
def pull_second(kind, theta, o, k, poses, V, A, hat, hat_out):
    """Add what an adjoint of g'' is of the measure's own numbers: the transpose of ``second_by_numbers``."""
    (Ra, ra), (Rb, rb) = poses
    if kind == Measure.PROJECTION:
        pull_second_projection(theta, o, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], hat, k, hat_out)
    elif kind == Measure.DISTANCE:
        pull_second_distance(theta, o, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], hat, k, hat_out)
    elif kind == Measure.DOT:
        pull_second_dot(theta, o, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], hat, k, hat_out)
    else:
        pull_second_angle(theta, o, Ra, ra, Rb, rb, V[0], V[1], A[0], A[1], hat, k, hat_out)
