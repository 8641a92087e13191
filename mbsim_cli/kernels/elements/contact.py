"""Contact of a sphere or rim with a plane, of a sphere with a sphere or capsule: elastic, dissipative, with friction.

Normal force F = K d^e (1 + chi d'), d the penetration: Hunt-Crossley, with the dissipation chi of any law of
restitution, or damped over a depth as by Adams' IMPACT. Friction by Brown and McPhee: a regularised Coulomb law with
static and dynamic coefficient, smooth at rest, which creeps under load. Force and first derivative are continuous in d
where e > 1. docs/theory/contact.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, dot3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.derive.trace import branching
from mbsim_cli.kernels.elements.element import Element, axis, axis_of_first, point, point_of_first, turning, velocity
from mbsim_cli.kernels.elements.laws import SMOOTH_POSITIVE, smooth_positive
from mbsim_cli.model import layout
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import AXIS, CONTACT_SIZE, N_OTHER, P_OTHER

REST = 1e-12  # of the sliding speed over its scale, squared
PULL = 0.02  # of the elastic force: where dissipation would pull, the force goes to zero over this range
UPRIGHT = 1e-8  # square of the sine between axis and normal over which the lowest point of a rim moves to its centre
NO_FORCE = 1e-30  # N: damping is divided by the elastic force
CENTERED = 1e-24  # m^2: spheres about one centre have a direction, too


@branching()
@kernel
def power_of_positive(d, e):
    """d^e where d is positive, else 0."""
    if d.real <= 0.0:
        return 0.0 * (d + e)
    return np.exp(e * np.log(d))


@branching()
@kernel
def cubic_step(s):
    """Adams' STEP from 0 to 1."""
    if s.real <= 0.0:
        return 0.0 * s
    if s.real >= 1.0:
        return 1.0 + 0.0 * s
    return s * s * (3.0 - 2.0 * s)


@branching()
@kernel
def held_within(x, half):
    """The number nearest to x between -half and half."""
    if x.real > half.real:
        return half + 0.0 * x
    if x.real < -half.real:
        return -half + 0.0 * x
    return x + 0.0 * half


@kernel
def contact(theta, o, c, v, w, n, penetration):
    """Wrench about the origin on a sphere, and the contact's quantities.

    c, v are its centre and the centre's velocity, w its angular velocity, as the other body sees them; n is the normal
    out of the other body. The quantities are those of ``ContactQuantity``, the elastic energy, and the power into it.
    """
    K, e, rate = theta[o + layout.SPHERE_STIFFNESS], theta[o + layout.EXPONENT], -dot3(n, v)
    elastic = K * power_of_positive(penetration, e)
    # the positive part of 1 + chi d', exact from PULL / 2 on: contacts do not pull
    hindered = theta[o + layout.IMPACT_DAMPING] * cubic_step(penetration / theta[o + layout.IMPACT_DEPTH]) * rate
    share = 1.0 + theta[o + layout.DISSIPATION] * rate + hindered / (elastic + NO_FORCE)
    damped, _, _, _ = smooth_positive(share / PULL + 0.5)
    F = elastic * PULL * damped
    arm = scale3(0.5 * penetration - theta[o + layout.SPHERE_RADIUS], n)
    at_point = add3(v, cross3(w, arm))
    sliding = axpy3(-dot3(n, at_point), n, at_point)
    s = np.sqrt(dot3(sliding, sliding) / (theta[o + layout.STRIBECK] * theta[o + layout.STRIBECK]) + REST)
    peak = 0.25 * s * s + 0.75
    static = (theta[o + layout.STATIC] - theta[o + layout.DYNAMIC]) * s / (peak * peak)
    decay = np.exp(-8.0 * s)
    mu = theta[o + layout.DYNAMIC] * (1.0 - decay) / (1.0 + decay) + static  # tanh 4 s, finite for complex numbers too
    force = axpy3(F, n, scale3(-F * mu / (s * theta[o + layout.STRIBECK]), sliding))
    quantities = (
        F, s * theta[o + layout.STRIBECK], 0.0, mu * F, rate, penetration,
        K * power_of_positive(penetration, e + 1.0) / (e + 1.0), elastic * rate,
    )  # fmt: skip
    return (cross3(add3(c, arm), force), force), quantities


@kernel
def rim_on_plane(theta, o, c, e, v, w, p, n):
    """Contact with a plane of the other body through p, with normal n.

    The circle about c, across the axis e, carries spheres; of a single sphere e and the circle's radius are zero. The
    distance of the circle from the plane has a derivative where both are parallel, too.
    """
    across = axpy3(-dot3(n, e), e, n)
    size = np.sqrt(dot3(across, across) + UPRIGHT * dot3(e, e))
    radius = theta[o + layout.RIM_RADIUS]
    arm = scale3(-radius / size, across)
    distance = dot3(n, sub3(c, p)) - radius * size
    return contact(theta, o, add3(c, arm), add3(v, cross3(w, arm)), w, n, theta[o + layout.SPHERE_RADIUS] - distance)


@kernel
def sphere_on_capsule(theta, o, c, v, w, p, n):
    """Contact with a capsule of the other body about p, along n; of a sphere it has no length."""
    along = held_within(dot3(n, sub3(c, p)), theta[o + layout.HALF_LENGTH])
    d = sub3(c, axpy3(along, n, p))
    distance = np.sqrt(dot3(d, d) + CENTERED)
    penetration = theta[o + layout.SPHERE_RADIUS] + theta[o + layout.OTHER_RADIUS] - distance
    return contact(theta, o, c, v, w, scale3(1.0 / distance, d), penetration)


SPHERE = {"c": point(), "v": velocity("c"), "w": turning(), "p": point_of_first(P_OTHER), "n": axis_of_first(N_OTHER)}
ON_PLANE = Element(
    rim_on_plane, (Force.SPHERE_ON_PLANE,), {**SPHERE, "e": axis(AXIS)}, CONTACT_SIZE, 8, rules=(SMOOTH_POSITIVE,)
)
ON_SPHERE = Element(sphere_on_capsule, (Force.SPHERE_ON_SPHERE,), SPHERE, CONTACT_SIZE, 8, rules=(SMOOTH_POSITIVE,))
