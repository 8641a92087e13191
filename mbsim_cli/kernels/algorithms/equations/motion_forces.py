"""Forces on one body that depend on its motion, tyres and drag: the port between the body and its element.

An element sees a point c of its body, an axis e fixed in the body, the velocity v of the point and the angular velocity
w, and returns a wrench about the origin; tyres also return quantities that sensors read. ``find_motion_force`` leaves
value and slopes in ``kin.kept``, from which variations and pull-backs of the state are made. An element of a new kind
is a line in each of the four functions that choose by kind.
"""

from mbsim_cli.kernels.algebra.rot3 import rotate, unrotate
from mbsim_cli.kernels.algebra.spatial import accumulate2, motion_at
from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, cross3, load3, load3_of, scale3
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.drag import keep_drag, pull_drag, vary_drag, vary_drag_fixed
from mbsim_cli.kernels.elements.measure_pull_back import pull_point
from mbsim_cli.kernels.elements.measures import moved, point_of, vary_point
from mbsim_cli.kernels.elements.tyre import keep_tyre, pull_tyre, vary_tyre, vary_tyre_fixed
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import AXIS

WRENCH, QUANTITIES = 0, 6  # where they stand in ``kin.kept``


@inlined
def follows_motion(kind):
    """Whether the force depends on the motion of its body alone."""
    return kind == Force.DRAG or is_tyre(kind)


@inlined
def is_tyre(kind):
    """Whether the force is a tyre's."""
    return kind == Force.TYRE_MAGIC_FORMULA or kind == Force.TYRE_LINEAR


@inlined
def seen_by_element(theta, o, R, r, V):
    """Point, axis, velocity of the point and angular velocity, as the element of block o sees its body."""
    c = point_of(R, r, load3(theta, o))
    return c, rotate(R, load3(theta, o + AXIS)), moved(V, c), V[0]


@inlined
def find_motion_force(model, theta, f, kin):
    """Leave the force f, and its slopes, in ``kin.kept``."""
    forces = model.forces
    kind, law, o, b = forces.kind[f], forces.law[f, 0], forces.theta[f], model.pairs.b[forces.pair[f]]
    R, r = pose_of(kin, b)
    c, e, v, w = seen_by_element(theta, o, R, r, at_origin(kin.V, kin, b))
    if is_tyre(kind):
        keep_tyre(kind, model.laws, theta, o, law, c, e, v, w, kin.kept[f])
    else:
        keep_drag(theta, o, c, v, kin.kept[f])


@inlined
def motion_wrench(kin, f):
    """Wrench about the origin, as ``find_motion_force`` has left it."""
    return load3(kin.kept[f], WRENCH), load3(kin.kept[f], WRENCH + 3)


@inlined
def tyre_quantities(kin, f):
    """Quantities of a tyre, as ``find_motion_force`` has left them."""
    q = kin.kept[f]
    return (q[6], q[7], q[8], q[9], q[10], q[11], q[12], q[13])


@inlined
def _vary_seen(theta, o, kin, b, N, N1, shift, tilt):
    """Variation of what the element sees, by the twist N of the body's pose, its rate N', and own moves of c and e."""
    R, r = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    c, e, _, w = seen_by_element(theta, o, R, r, V)
    point = vary_point(c, V, N, N1, shift)
    return point.delta, add3(cross3(N[0], e), tilt), point.delta_rate, add3(N1[0], cross3(N[0], w))


@inlined
def vary_motion_wrench(model, theta, f, kin, N, N1):
    """Variation of the wrench by the twist N of the body's pose and its rate N'; numbers are held."""
    forces = model.forces
    kind, law, o, b = forces.kind[f], forces.law[f, 0], forces.theta[f], model.pairs.b[forces.pair[f]]
    still = scale3(0.0, N[0])
    dc, de, dv, dw = _vary_seen(theta, o, kin, b, N, N1, still, still)
    if is_tyre(kind):
        return vary_tyre_fixed(kind, model.laws, theta, o, law, kin.kept[f], dc, de, dv, dw)[0]
    return vary_drag_fixed(theta, o, kin.kept[f], dc, dv)


@inlined
def vary_motion_wrench_along(model, theta, dtheta, touched, f, k, kin, N, N1):
    """The same in direction k, with the numbers of the force if ``touched``."""
    if not touched:
        return vary_motion_wrench(model, theta, f, kin, N, N1)
    if is_tyre(model.forces.kind[f]):
        return vary_tyre_along(model, theta, dtheta, f, k, kin, N, N1)[0]
    o, b = model.forces.theta[f], model.pairs.b[model.forces.pair[f]]
    R, _ = pose_of(kin, b)
    dc, _, dv, _ = _vary_seen(theta, o, kin, b, N, N1, rotate(R, load3_of(dtheta, o, k)), scale3(0.0, N[0]))
    return vary_drag(theta, o, kin.kept[f], dtheta, k, dc, dv)


@inlined
def vary_tyre_along(model, theta, dtheta, f, k, kin, N, N1):
    """Variation of the wrench and of the quantities of a tyre in direction k."""
    forces = model.forces
    kind, law, o, b = forces.kind[f], forces.law[f, 0], forces.theta[f], model.pairs.b[forces.pair[f]]
    R, _ = pose_of(kin, b)
    shift, tilt = rotate(R, load3_of(dtheta, o, k)), rotate(R, load3_of(dtheta, o + AXIS, k))
    dc, de, dv, dw = _vary_seen(theta, o, kin, b, N, N1, shift, tilt)
    return vary_tyre(kind, model.laws, theta, o, law, kin.kept[f], dtheta, k, dc, de, dv, dw)


@kernel
def pull_motion_force(model, theta, f, k, kin, hat, quantities_hat, cov_out):
    """Add the pull-back of covectors of the wrench, global axes, and of the quantities (8) of a tyre."""
    forces = model.forces
    kind, law, o, b = forces.kind[f], forces.law[f, 0], forces.theta[f], model.pairs.b[forces.pair[f]]
    R, r = pose_of(kin, b)
    V = motion_at(kin.V, b)
    c, e, v, w = seen_by_element(theta, o, R, r, V)
    if is_tyre(kind):
        hats = (hat, quantities_hat)
        c_hat, e_hat, v_hat, w_hat = pull_tyre(
            kind, model.laws, theta, o, law, kin.kept[f], hats, k, cov_out.theta
        )  # fmt: skip
        turned = add3(cross3(e, e_hat), cross3(w, w_hat))
        accumulate2(cov_out.P, b, k, 1.0, _turn(turned))
        accumulate2(cov_out.D, b, k, 1.0, _turn(w_hat))
        add3_to(cov_out.theta, o + AXIS, k, unrotate(R, e_hat))
    else:
        c_hat, v_hat = pull_drag(theta, o, kin.kept[f], hat, k, cov_out.theta)
    P, D, shift = pull_point(c, v, V, c_hat, v_hat)
    accumulate2(cov_out.P, b, k, 1.0, P)
    accumulate2(cov_out.D, b, k, 1.0, D)
    add3_to(cov_out.theta, o, k, unrotate(R, shift))


@inlined
def _turn(a):
    """A covector of turns alone."""
    zero = 0.0 * a[0]
    return a, (zero, zero, zero)


@inlined
def no_quantities(zero):
    """Covectors, all zero, of the quantities of a tyre."""
    return (zero, zero, zero, zero, zero, zero, zero, zero)


@inlined
def with_quantity(hats, which, c):
    """The covectors of the quantities, with c added to one of them."""
    zero = 0.0 * c
    return (
        hats[0] + (c if which == 0 else zero), hats[1] + (c if which == 1 else zero),
        hats[2] + (c if which == 2 else zero), hats[3] + (c if which == 3 else zero),
        hats[4] + (c if which == 4 else zero), hats[5] + (c if which == 5 else zero),
        hats[6] + (c if which == 6 else zero), hats[7] + (c if which == 7 else zero),
    )  # fmt: skip
