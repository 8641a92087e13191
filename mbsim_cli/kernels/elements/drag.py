"""Drag: a force at a point of a body against its velocity through the air, F = -c |v| v."""

import numpy as np

from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, axpy3, cross3, dot3, load3, load3_of, scale3, sub3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.model.layout import AIR, DRAG

SLOW = 1e-6  # (m/s)^2: |v| = sqrt(v . v + SLOW) has a derivative at rest


@kernel
def drag_wrench(theta, o, x, rate):
    """Wrench about the origin; x the point, ``rate`` its velocity."""
    v = sub3(rate, load3(theta, o + AIR))
    F = scale3(-theta[o + DRAG] * np.sqrt(dot3(v, v) + SLOW), v)
    return (cross3(x, F), F)


@kernel
def drag_variation(theta, eta, k, o, x, rate, dx, d_rate):
    """Variation of the wrench with the point, its velocity and direction k of the numbers ``eta`` of the block."""
    v, dv = sub3(rate, load3(theta, o + AIR)), sub3(d_rate, load3_of(eta, AIR, k))
    speed = np.sqrt(dot3(v, v) + SLOW)
    c, dc = theta[o + DRAG], at(eta, DRAG, k)
    F = scale3(-c * speed, v)
    dF = axpy3(-dc * speed - c / speed * dot3(v, dv), v, scale3(-c * speed, dv))
    return (add3(cross3(dx, F), cross3(x, dF)), dF)


@kernel
def pull_drag(theta, o, x, rate, k, hat, hat_out):
    """Covectors of the point and of its velocity, from one of the wrench; adds to hat (len(theta), p) those of numbers.

    Not that of where the point stands in the body: it comes with the point's.
    """
    v, c = sub3(rate, load3(theta, o + AIR)), theta[o + DRAG]
    speed = np.sqrt(dot3(v, v) + SLOW)
    n, f = hat[0], add3(hat[1], cross3(hat[0], x))
    along = dot3(v, f)
    v_hat = axpy3(-c / speed * along, v, scale3(-c * speed, f))
    add3_to(hat_out, o + AIR, k, scale3(-1.0, v_hat))
    add_to(hat_out, o + DRAG, k, -speed * along)
    return cross3(scale3(-c * speed, v), n), v_hat
