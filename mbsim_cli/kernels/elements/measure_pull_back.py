"""Pull-backs of points, directions and measures: transposes of their variations in ``measures``.

Covectors are those of column k. What a covector is of numbers in body axes is added to ``hat_out`` (len(theta), p).
"""

from mbsim_cli.kernels.algebra.rot3 import rotate, unrotate
from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, axpy3, cross3, dot3, length3, load3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.measures import is_force_line, measure_value, moved, plane, point_of
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import N_A, P_A, P_B, U_A, U_B


@inlined
def pull_point(x, rate, V, x_hat, rate_hat):
    """Covectors of N, of N', and of the point's own shift, from those of a body's point and of its velocity."""
    turned = add3(cross3(x, x_hat), cross3(rate, rate_hat))
    return (turned, x_hat), (cross3(x, rate_hat), rate_hat), add3(x_hat, cross3(rate_hat, V[0]))


@inlined
def pull_second_of_point(x, rate, second, V, A, hat):
    """Covectors of N, N', N'' and of the point's own shift, from that of its acceleration; A may lack gravity."""
    by_shift = add3(cross3(hat, A[0]), cross3(cross3(hat, V[0]), V[0]))
    by_rate = (scale3(2.0, cross3(rate, hat)), scale3(0.0, hat))
    return (cross3(second, hat), scale3(0.0, hat)), by_rate, (cross3(x, hat), hat), by_shift


@kernel
def pull_numbers(kind, theta, o, k, Ra, ra, Rb, rb, g_hat, L_hat, hat_out):
    """Add what covectors of g and of its line are of the measure's own numbers: the transpose of ``vary_numbers``."""
    g, x, u = measure_value(kind, theta, o, Ra, ra, Rb, rb)
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
    """From covectors of an angle, of the direction w and of the factor y."""
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
    """From covectors of u, of m = n x u, and of the direction w of body b."""
    n = rotate(Ra, load3(theta, o + N_A))
    add3_to(hat_out, o + U_A, k, unrotate(Ra, add3(u_hat, cross3(m_hat, n))))
    add3_to(hat_out, o + N_A, k, unrotate(Ra, cross3(u, m_hat)))
    add3_to(hat_out, o + U_B, k, unrotate(Rb, w_hat))


@kernel
def pull_second(kind, theta, o, k, Ra, ra, Rb, rb, V, A, hat, hat_out):
    """Add what a covector of g'' is of the measure's own numbers: the transpose of ``second_by_numbers``.

    V and A are the velocity and the acceleration of body b as body a sees them.
    """
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
    """Covector of a shift in body b, from those of its first two time derivatives."""
    return add3(cross3(add3(rate_hat, cross3(second_hat, V[0])), V[0]), cross3(second_hat, A[0]))


@inlined
def _pull_length(d, rate, second, hat):
    """Covectors of d, d' and d'' from that of the second derivative of |d|."""
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
