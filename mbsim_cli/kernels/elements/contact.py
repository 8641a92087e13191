"""Contact of a sphere with a plane or with another sphere: elastic, dissipative, with friction.

Normal force F = K d^e (1 + chi d'), d the penetration: Hunt-Crossley, with the dissipation chi of any law of
restitution. Friction by Brown and McPhee: a regularised Coulomb law with static and dynamic coefficient, smooth at
rest, which creeps under load. Force and first derivative are continuous in d where e > 1. docs/theory/contact.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.derive.trace import branching
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.kernels.elements.laws import SMOOTH_POSITIVE, smooth_positive
from mbsim_cli.model.layout import (
    DISSIPATION,
    DYNAMIC,
    EXPONENT,
    OTHER_RADIUS,
    SPHERE_RADIUS,
    SPHERE_STIFFNESS,
    STATIC,
    STRIBECK,
)

REST = 1e-12  # of the sliding speed over its scale, squared
PULL = 0.02  # of the elastic force: where dissipation would pull, the force goes to zero over this range
CENTERED = 1e-24  # m^2: spheres about one centre have a direction, too


@branching()
@kernel
def power(d, e):
    """d^e where d is positive, else 0."""
    if d.real <= 0.0:
        return 0.0 * (d + e)
    return np.exp(e * np.log(d))


@kernel
def contact(theta, o, c, v, w, n, penetration):
    """Wrench about the origin on a sphere, and the contact's quantities.

    c, v are its centre and the centre's velocity, w its angular velocity, as the other body sees them; n is the normal
    out of the other body. The quantities are those of ``ContactQuantity``, the elastic energy, and the power into it.
    """
    K, e, rate = theta[o + SPHERE_STIFFNESS], theta[o + EXPONENT], -dot3(n, v)
    elastic = K * power(penetration, e)
    # the positive part of 1 + chi d', exact from PULL / 2 on: contacts do not pull
    damped, _, _, _ = smooth_positive((1.0 + theta[o + DISSIPATION] * rate) / PULL + 0.5)
    F = elastic * PULL * damped
    arm = scale3(0.5 * penetration - theta[o + SPHERE_RADIUS], n)
    at_point = add3(v, cross3(w, arm))
    sliding = axpy3(-dot3(n, at_point), n, at_point)
    s = np.sqrt(dot3(sliding, sliding) / (theta[o + STRIBECK] * theta[o + STRIBECK]) + REST)
    peak = 0.25 * s * s + 0.75
    static = (theta[o + STATIC] - theta[o + DYNAMIC]) * s / (peak * peak)
    decay = np.exp(-8.0 * s)
    mu = theta[o + DYNAMIC] * (1.0 - decay) / (1.0 + decay) + static  # tanh 4 s, finite for complex numbers too
    force = axpy3(F, n, scale3(-F * mu / (s * theta[o + STRIBECK]), sliding))
    quantities = (
        F,
        s * theta[o + STRIBECK],
        0.0,
        mu * F,
        0.0,
        penetration,
        K * power(penetration, e + 1.0) / (e + 1.0),
        elastic * rate,
    )
    return (cross3(add3(c, arm), force), force), quantities


@kernel
def sphere_on_plane(theta, o, c, v, w, p, n):
    """Contact with a plane of the other body through p, with normal n."""
    return contact(theta, o, c, v, w, n, theta[o + SPHERE_RADIUS] - dot3(n, sub3(c, p)))


@kernel
def sphere_on_sphere(theta, o, c, v, w, p):
    """Contact with a sphere of the other body about p."""
    d = sub3(c, p)
    distance = np.sqrt(dot3(d, d) + CENTERED)
    penetration = theta[o + SPHERE_RADIUS] + theta[o + OTHER_RADIUS] - distance
    return contact(theta, o, c, v, w, scale3(1.0 / distance, d), penetration)


SPHERE = {"c": 3, "v": 3, "w": 3, "p": 3}
ON_PLANE = Derivatives(sphere_on_plane, {**SPHERE, "n": 3}, ("theta", "o"), rules=(SMOOTH_POSITIVE,), room=96)
ON_SPHERE = Derivatives(sphere_on_sphere, SPHERE, ("theta", "o"), rules=(SMOOTH_POSITIVE,), room=96)
