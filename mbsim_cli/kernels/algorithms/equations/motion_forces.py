"""Forces that depend on the motion of a body against another one or the ground: tyres, drag, contacts, bushings.

The ports between bodies and elements. As body a of its pair sees it, an element sees a point c of body b, an axis e
fixed in b, the velocity v of the point and the angular velocity w of b; contacts also see a point p and a normal n of
a. Elements between two frames see point and three axes on both bodies. All return a wrench on b about the origin, and
quantities that sensors read. ``find_motion_force`` leaves value and slopes in ``kin.kept``, from which variations and
pull-backs at this state are made. All vectors have global axes.

An element of a new kind is a line in each of the functions that choose by kind.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.rot3 import rotate, unrotate
from mbsim_cli.kernels.algebra.spatial import add6, cross_force, cross_motion, sub6
from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, cross3, load3, load3_of, scale3
from mbsim_cli.kernels.algorithms.equations.bushings import (
    bodies_of,
    find_bushing,
    pull_bushing_force,
    vary_bushing_and_quantities,
    vary_bushing_wrench,
)
from mbsim_cli.kernels.algorithms.equations.measure_pull_back import between
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.contact import ON_PLANE, ON_SPHERE
from mbsim_cli.kernels.elements.drag import keep_drag, pull_drag, vary_drag, vary_drag_fixed
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import moved, point_of
from mbsim_cli.kernels.elements.tyre import keep_tyre, pull_tyre, vary_tyre, vary_tyre_fixed
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import (
    AXIS,
    N_OTHER,
    P_OTHER,
    RADIUS,
)

keep_on_plane, keep_on_sphere = ON_PLANE.keep, ON_SPHERE.keep
vary_on_plane, vary_on_sphere = ON_PLANE.vary_kept, ON_SPHERE.vary_kept
vary_on_plane_fixed, vary_on_sphere_fixed = ON_PLANE.vary_fixed_kept, ON_SPHERE.vary_fixed_kept
pull_on_plane, pull_on_sphere = ON_PLANE.pull_kept, ON_SPHERE.pull_kept


class Seen(NamedTuple):
    """What an element sees, or its variation, or covectors of it."""

    c: tuple
    e: tuple
    v: tuple
    w: tuple
    p: tuple
    n: tuple


@inlined
def follows_motion(kind):
    """Whether the force depends on the motion of a body against another one or the ground."""
    return kind == Force.DRAG or has_quantities(kind)


@inlined
def has_quantities(kind):
    """Whether sensors read more of the force than its wrench."""
    return is_tyre(kind) or kind == Force.SPHERE_ON_PLANE or kind == Force.SPHERE_ON_SPHERE or kind == Force.BUSHING


@inlined
def is_tyre(kind):
    """Whether the force is a tyre's."""
    return kind == Force.TYRE_MAGIC_FORMULA or kind == Force.TYRE_LINEAR


@inlined
def seen_by_element(kind, theta, o, Ra, ra, Rb, rb, V):
    """What the element of block o sees; V is the motion of b against a."""
    c, e = point_of(Rb, rb, load3(theta, o)), rotate(Rb, load3(theta, o + AXIS))
    if kind == Force.SPHERE_ON_PLANE or kind == Force.SPHERE_ON_SPHERE:
        p, n = point_of(Ra, ra, load3(theta, o + P_OTHER)), rotate(Ra, load3(theta, o + N_OTHER))
    else:
        p, n = scale3(0.0, c), scale3(0.0, c)
    return Seen(c, e, moved(V, c), V[0], p, n)


@inlined
def _seen(model, theta, f, kin):
    a, b = bodies_of(model, f)
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    V = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
    return seen_by_element(model.forces.kind[f], theta, model.forces.theta[f], Ra, ra, Rb, rb, V)


@inlined
def find_motion_force(model, theta, f, kin):
    """Leave the force f, and its slopes, in ``kin.kept``."""
    kind, law, o = model.forces.kind[f], model.forces.law[f, 0], model.forces.theta[f]
    if kind == Force.BUSHING:
        find_bushing(model, theta, f, kin)
        return
    x, kept = _seen(model, theta, f, kin), kin.kept[f]
    if is_tyre(kind):
        keep_tyre(kind, model.laws, theta, o, law, x.c, x.e, x.v, x.w, kept)
    elif kind == Force.DRAG:
        keep_drag(theta, o, x.c, x.v, kept)
    elif kind == Force.SPHERE_ON_PLANE:
        keep_on_plane(theta, o, x.c, x.e, x.v, x.w, x.p, x.n, kept)
    else:
        keep_on_sphere(theta, o, x.c, x.v, x.w, x.p, x.n, kept)


@inlined
def tyre_deflection(model, theta, f, kin):
    """How far the road presses a tyre in, negative above the road, and its rate."""
    o, x = model.forces.theta[f], _seen(model, theta, f, kin)
    height, slope, _ = law_value(model.laws, theta, model.forces.law[f, 0], x.c[0])
    return theta[o + RADIUS] - (x.c[2] - height), slope * x.v[0] - x.v[2]


@inlined
def penetration(kin, f):
    """How far a contact is pressed in, negative where bodies are apart, and its rate. Needs ``find_motion_force``."""
    return kin.kept[f, 11], kin.kept[f, 10]


@inlined
def sliding_speed(model, theta, f, kin):
    """Sliding speed of a contact, NaN where it does not touch. Needs ``find_motion_force``."""
    q = kin.kept[f]
    return q[7] if q[6].real > 0.0 else np.nan + 0.0 * q[7]


@inlined
def motion_wrench(kin, f):
    """Wrench on b about the origin, as ``find_motion_force`` has left it."""
    return load3(kin.kept[f], 0), load3(kin.kept[f], 3)


@inlined
def quantities_of(kin, f):
    """Quantities of a tyre or contact, as ``find_motion_force`` has left them."""
    q = kin.kept[f]
    return (q[6], q[7], q[8], q[9], q[10], q[11], q[12], q[13], q[14], q[15], q[16], q[17], q[18], q[19])


@inlined
def _padded(wrench_and_quantities):
    """The same with zeros for quantities that only bushings have."""
    wrench, q = wrench_and_quantities
    zero = 0.0 * q[0]
    return wrench, q + (zero, zero, zero, zero, zero, zero)


# Variation ------------------------------------------------------------------------------------------------------------


@inlined
def _vary_seen(model, theta, f, kin, N, N1, own):
    """Variation of what the element sees, as a sees b turn and move by N with rate N'; ``own`` is that by numbers."""
    _, b = bodies_of(model, f)
    x, V = _seen(model, theta, f, kin), at_origin(kin.V, kin, b)
    dV = add6(N1, cross_motion(N, V))
    dc = add3(moved(N, x.c), own.c)
    return Seen(
        dc,
        add3(cross3(N[0], x.e), own.e),
        add3(moved(dV, x.c), cross3(x.w, dc)),
        dV[0],
        own.p,
        own.n,
    )


@inlined
def vary_motion_wrench(model, theta, f, kin, N, N1):
    """Variation of the wrench, as a sees it, by the twist N of b against a and its rate N'; numbers are held."""
    kind, law, o = model.forces.kind[f], model.forces.law[f, 0], model.forces.theta[f]
    still, kept = scale3(0.0, N[0]), kin.kept[f]
    if kind == Force.BUSHING:
        return vary_bushing_wrench(model, theta, f, kin, N, N1)
    d = _vary_seen(model, theta, f, kin, N, N1, Seen(still, still, still, still, still, still))
    if is_tyre(kind):
        return vary_tyre_fixed(kind, model.laws, theta, o, law, kept, d.c, d.e, d.v, d.w)[0]
    if kind == Force.DRAG:
        return vary_drag_fixed(theta, o, kept, d.c, d.v)
    if kind == Force.SPHERE_ON_PLANE:
        return vary_on_plane_fixed(theta, o, kept, d.c, d.e, d.v, d.w, d.p, d.n)[0]
    return vary_on_sphere_fixed(theta, o, kept, d.c, d.v, d.w, d.p, d.n)[0]


@inlined
def vary_motion_wrench_along(model, theta, dtheta, touched, f, k, kin, N, N1):
    """The same in direction k, with the numbers of the force if ``touched``."""
    if not touched:
        return vary_motion_wrench(model, theta, f, kin, N, N1)
    if model.forces.kind[f] == Force.DRAG:
        d = _vary_seen(model, theta, f, kin, N, N1, _own(model, dtheta, f, k, kin))
        return vary_drag(theta, model.forces.theta[f], kin.kept[f], dtheta, k, d.c, d.v)
    return vary_with_quantities(model, theta, dtheta, f, k, kin, N, N1)[0]


@inlined
def vary_with_quantities(model, theta, dtheta, f, k, kin, N, N1):
    """Variation of the wrench and of the quantities in direction k."""
    kind, law, o = model.forces.kind[f], model.forces.law[f, 0], model.forces.theta[f]
    if kind == Force.BUSHING:
        return vary_bushing_and_quantities(model, theta, dtheta, f, k, kin, N, N1)
    d, kept = _vary_seen(model, theta, f, kin, N, N1, _own(model, dtheta, f, k, kin)), kin.kept[f]
    if is_tyre(kind):
        return _padded(vary_tyre(kind, model.laws, theta, o, law, kept, dtheta, k, d.c, d.e, d.v, d.w))
    if kind == Force.SPHERE_ON_PLANE:
        return _padded(vary_on_plane(theta, o, kept, dtheta, k, d.c, d.e, d.v, d.w, d.p, d.n))
    return _padded(vary_on_sphere(theta, o, kept, dtheta, k, d.c, d.v, d.w, d.p, d.n))


@inlined
def _own(model, dtheta, f, k, kin):
    """Variation of what the element sees with its own numbers, in direction k; velocities do not."""
    a, b = bodies_of(model, f)
    Ra, _ = pose_of(kin, a)
    Rb, _ = pose_of(kin, b)
    kind, o = model.forces.kind[f], model.forces.theta[f]
    dc, de = rotate(Rb, load3_of(dtheta, o, k)), rotate(Rb, load3_of(dtheta, o + AXIS, k))
    still = scale3(0.0, dc)
    if kind == Force.SPHERE_ON_PLANE or kind == Force.SPHERE_ON_SPHERE:
        dp, dn = rotate(Ra, load3_of(dtheta, o + P_OTHER, k)), rotate(Ra, load3_of(dtheta, o + N_OTHER, k))
    else:
        dp, dn = still, still
    return Seen(dc, de, still, still, dp, dn)


# Pull-back ------------------------------------------------------------------------------------------------------------


@kernel
def pull_motion_force(model, theta, f, k, kin, hat, quantities_hat, cov_out):
    """Add the pull-back of covectors of the wrench, as a sees it, and of the quantities."""
    a, b = bodies_of(model, f)
    if model.forces.kind[f] == Force.BUSHING:
        pull_bushing_force(model, theta, f, k, kin, hat, quantities_hat, cov_out)
        return
    o, x = model.forces.theta[f], _seen(model, theta, f, kin)
    of = _pull_element(model, theta, f, k, kin, hat, quantities_hat, cov_out.theta)
    H = (add3(cross3(x.c, of.v), of.w), of.v)
    c = add3(of.c, cross3(of.v, x.w))
    P = add6((add3(cross3(x.c, c), cross3(x.e, of.e)), c), cross_force(at_origin(kin.V, kin, b), H))
    between(cov_out.P, a, b, k, 1.0, P)
    between(cov_out.D, a, b, k, 1.0, H)
    Ra, _ = pose_of(kin, a)
    Rb, _ = pose_of(kin, b)
    kind = model.forces.kind[f]
    add3_to(cov_out.theta, o, k, unrotate(Rb, c))
    add3_to(cov_out.theta, o + AXIS, k, unrotate(Rb, of.e))
    if kind == Force.SPHERE_ON_PLANE or kind == Force.SPHERE_ON_SPHERE:
        add3_to(cov_out.theta, o + P_OTHER, k, unrotate(Ra, of.p))
        add3_to(cov_out.theta, o + N_OTHER, k, unrotate(Ra, of.n))


@inlined
def _pull_element(model, theta, f, k, kin, hat, quantities_hat, theta_out):
    """Covectors of what the element sees; adds those of its own numbers."""
    kind, law, o, kept = model.forces.kind[f], model.forces.law[f, 0], model.forces.theta[f], kin.kept[f]
    hats, none = (hat, quantities_hat[:8]), scale3(0.0, hat[0])
    if is_tyre(kind):
        c, e, v, w = pull_tyre(kind, model.laws, theta, o, law, kept, hats, k, theta_out)
        return Seen(c, e, v, w, none, none)
    if kind == Force.DRAG:
        c, v = pull_drag(theta, o, kept, hat, k, theta_out)
        return Seen(c, none, v, none, none, none)
    if kind == Force.SPHERE_ON_PLANE:
        c, e, v, w, p, n = pull_on_plane(theta, o, kept, hats, k, theta_out)
        return Seen(c, e, v, w, p, n)
    c, v, w, p, n = pull_on_sphere(theta, o, kept, hats, k, theta_out)
    return Seen(c, none, v, w, p, n)


@inlined
def no_quantities(zero):
    """Covectors, all zero, of quantities."""
    return (zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero)


@inlined
def with_quantity(hats, which, c):
    """The covectors of quantities, with c added to one of them."""
    zero = 0.0 * c
    return (
        hats[0] + (c if which == 0 else zero), hats[1] + (c if which == 1 else zero),
        hats[2] + (c if which == 2 else zero), hats[3] + (c if which == 3 else zero),
        hats[4] + (c if which == 4 else zero), hats[5] + (c if which == 5 else zero),
        hats[6] + (c if which == 6 else zero), hats[7] + (c if which == 7 else zero),
        hats[8] + (c if which == 8 else zero), hats[9] + (c if which == 9 else zero),
        hats[10] + (c if which == 10 else zero), hats[11] + (c if which == 11 else zero),
        hats[12] + (c if which == 12 else zero), hats[13] + (c if which == 13 else zero),
    )  # fmt: skip
