"""Bushing: elastic and damping forces in six directions between two frames, one on each body.

The first frame sees the second one at the displacement d and turned by the rotation vector phi. With x = (d, phi) the
generalised force is Q = F_0 - K (x - x_0) - C x' - laws(x - x_0), K and C symmetric, and the moment follows from Q by
the rates of phi. Without C the forces have a potential at any rotation below half a turn. docs/theory/bushing.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import atan2
from mbsim_cli.kernels.algebra.spatial import dot_six
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, dot3, load6, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.derive.trace import branching
from mbsim_cli.kernels.elements import element
from mbsim_cli.kernels.elements.element import QUANTITIES, Element
from mbsim_cli.kernels.elements.law_integrals import POTENTIAL, potential
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import (
    AXES_A,
    AXES_B,
    BUSHING_DAMPING,
    BUSHING_LAWS,
    BUSHING_SIZE,
    BUSHING_STIFFNESS,
    POINT_A,
    PRELOAD,
    UNLOADED,
)

SMALL_TURN = 1e-3  # square of tan(phi) below which the rotation vector is a series
SMALL_SQUARE = 0.25  # rad^2: the same of its rates
HALF_TURN = 1e-24  # square of a sine: rotation vectors are finite there
ROWS = (  # entries of a symmetric 6 x 6 matrix, by the order of its upper triangle
    (0, 1, 2, 3, 4, 5),
    (1, 6, 7, 8, 9, 10),
    (2, 7, 11, 12, 13, 14),
    (3, 8, 12, 15, 16, 17),
    (4, 9, 13, 16, 18, 19),
    (5, 10, 14, 17, 19, 20),
)


@branching()
@kernel
def angle_over_sine(square, cosine):
    """phi / sin(phi) of a rotation, from the square of its sine and its cosine."""
    x = square / (cosine * cosine + HALF_TURN)
    if cosine.real > 0.0 and x.real < SMALL_TURN:
        return (1.0 - x * (1.0 / 3.0 - x * (0.2 - x * (1.0 / 7.0 - x / 9.0)))) / cosine
    sine = np.sqrt(square + HALF_TURN)
    return atan2(sine, cosine) / sine


@branching()
@kernel
def rate_factor(s):
    """(1 - phi/2 cot(phi/2)) / phi^2 of s = phi^2."""
    if s.real < SMALL_SQUARE:
        high = 1.0 / 1209600.0 + s * (1.0 / 47900160.0 + s * (691.0 / 1307674368000.0 + s / 74724249600.0))
        return 1.0 / 12.0 + s * (1.0 / 720.0 + s * (1.0 / 30240.0 + s * high))
    half = 0.5 * np.sqrt(s)
    return (1.0 - half * np.cos(half) / np.sin(half)) / s


@inlined
def product_of_row(theta, o, row, x):
    """One row of a symmetric matrix times x."""
    return (
        theta[o + row[0]] * x[0] + theta[o + row[1]] * x[1] + theta[o + row[2]] * x[2]
        + theta[o + row[3]] * x[3] + theta[o + row[4]] * x[4] + theta[o + row[5]] * x[5]
    )  # fmt: skip


@inlined
def product6(theta, o, x):
    """A symmetric 6 x 6 matrix, its upper triangle by rows at o, times x."""
    return (
        product_of_row(theta, o, ROWS[0], x), product_of_row(theta, o, ROWS[1], x),
        product_of_row(theta, o, ROWS[2], x), product_of_row(theta, o, ROWS[3], x),
        product_of_row(theta, o, ROWS[4], x), product_of_row(theta, o, ROWS[5], x),
    )  # fmt: skip


@inlined
def in_frame(X, Y, Z, a):
    """Components of a along three axes."""
    return (dot3(X, a), dot3(Y, a), dot3(Z, a))


@inlined
def rotation_vector(X, Y, Z, A, B, C):
    """Rotation vector from the axes X, Y, Z to A, B, C, along the former."""
    turn = (0.5 * (dot3(Z, B) - dot3(Y, C)), 0.5 * (dot3(X, C) - dot3(Z, A)), 0.5 * (dot3(Y, A) - dot3(X, B)))
    cosine = 0.5 * (dot3(X, A) + dot3(Y, B) + dot3(Z, C) - 1.0)
    return scale3(angle_over_sine(dot3(turn, turn), cosine), turn)


@kernel
def bushing(laws, law, f, theta, o, c, v, w, p, X, Y, Z, A, B, C):
    """Wrench about the origin on the second body, and the bushing's quantities; its laws stand in row f of ``law``.

    p and the axes X, Y, Z are those of the first frame, c and A, B, C of the second; v is the velocity of c, and w the
    angular velocity, as the first body sees them. The quantities are force and torque along the first frame's axes,
    about c, the energy and the power into it, then displacement and rotation vector.
    """
    d, phi = in_frame(X, Y, Z, sub3(c, p)), rotation_vector(X, Y, Z, A, B, C)
    d1, turning = in_frame(X, Y, Z, v), in_frame(X, Y, Z, w)
    factor = rate_factor(dot3(phi, phi))
    twist = cross3(phi, turning)
    phi1 = add3(axpy3(-0.5, twist, turning), scale3(factor, cross3(phi, twist)))
    e = (
        d[0] - theta[o + UNLOADED], d[1] - theta[o + UNLOADED + 1], d[2] - theta[o + UNLOADED + 2],
        phi[0] - theta[o + UNLOADED + 3], phi[1] - theta[o + UNLOADED + 4], phi[2] - theta[o + UNLOADED + 5],
    )  # fmt: skip
    rates = (d1[0], d1[1], d1[2], phi1[0], phi1[1], phi1[2])
    preload = load6(theta, o + PRELOAD)
    u0, f0, _ = potential(laws, theta, law[f, BUSHING_LAWS + 0], e[0])
    u1, f1, _ = potential(laws, theta, law[f, BUSHING_LAWS + 1], e[1])
    u2, f2, _ = potential(laws, theta, law[f, BUSHING_LAWS + 2], e[2])
    u3, f3, _ = potential(laws, theta, law[f, BUSHING_LAWS + 3], e[3])
    u4, f4, _ = potential(laws, theta, law[f, BUSHING_LAWS + 4], e[4])
    u5, f5, _ = potential(laws, theta, law[f, BUSHING_LAWS + 5], e[5])
    s0, s1, s2, s3, s4, s5 = product6(theta, o + BUSHING_STIFFNESS, e)
    l0, l1, l2, l3, l4, l5 = product6(theta, o + BUSHING_DAMPING, rates)
    held = (
        preload[0] - s0 - f0, preload[1] - s1 - f1, preload[2] - s2 - f2,
        preload[3] - s3 - f3, preload[4] - s4 - f4, preload[5] - s5 - f5,
    )  # fmt: skip
    F = (held[0] - l0, held[1] - l1, held[2] - l2)
    Q = (held[3] - l3, held[4] - l4, held[5] - l5)
    twisted = cross3(phi, Q)
    M = add3(axpy3(0.5, twisted, Q), scale3(factor, cross3(phi, twisted)))
    force = add3(scale3(F[0], X), axpy3(F[1], Y, scale3(F[2], Z)))
    moment = add3(scale3(M[0], X), axpy3(M[1], Y, scale3(M[2], Z)))
    energy = 0.5 * dot_six((s0, s1, s2, s3, s4, s5), e) + (u0 + u1 + u2 + u3 + u4 + u5) - dot_six(preload, e)
    power = -dot_six(held, rates)
    quantities = (F[0], F[1], F[2], M[0], M[1], M[2], energy, power, d[0], d[1], d[2], phi[0], phi[1], phi[2])
    return (add3(moment, cross3(c, force)), force), quantities


FRAMES = {
    "c": element.point(),
    "v": element.velocity("c"),
    "w": element.turning(),
    "p": element.point_of_first(POINT_A),
    **{name: element.axis_of_first(AXES_A + 3 * k) for k, name in enumerate("XYZ")},
    **{name: element.axis(AXES_B + 3 * k) for k, name in enumerate("ABC")},
}
ELEMENT = Element(bushing, (Force.BUSHING,), FRAMES, BUSHING_SIZE, QUANTITIES, rules=(POTENTIAL,))
