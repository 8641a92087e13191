"""Forces on one body that depend on its motion, tyres and drag: wrench about the origin and its variation."""

from mbsim_cli.kernels.algebra.rot3 import rotate
from mbsim_cli.kernels.algebra.vec3 import add3, cross3, load3, load3_of
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, pose_of
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.elements.drag import drag_variation, drag_wrench
from mbsim_cli.kernels.elements.measures import moved, point_of, vary_point
from mbsim_cli.kernels.elements.tyre import keep_contact, kept_contact, tyre_contact, tyre_variation, tyre_wrench
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import AXIS


@inlined
def follows_motion(kind):
    """Whether the force depends on the motion of its body alone."""
    return kind == Force.DRAG or is_tyre(kind)


@inlined
def is_tyre(kind):
    """Whether the force is a tyre's."""
    return kind == Force.TYRE_MAGIC_FORMULA or kind == Force.TYRE_LINEAR


@inlined
def find_contact(model, theta, f, kin):
    """Contact of the tyre of force f; left in ``kin`` for whatever varies it."""
    forces = model.forces
    b = model.pairs.b[forces.pair[f]]
    R, r = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    contact = tyre_contact(forces.kind[f], model.laws, theta, forces.theta[f], forces.law[f, 0], R, r, V)
    keep_contact(contact, kin.contacts[f])
    return contact


@inlined
def motion_wrench(model, theta, f, kin):
    """Wrench of a tyre, by its contact in ``kin``, or drag."""
    if is_tyre(model.forces.kind[f]):
        return tyre_wrench(kept_contact(kin.contacts[f]))
    return drag_of(model, theta, f, kin)


@inlined
def drag_of(model, theta, f, kin):
    """Wrench of a drag."""
    b = model.pairs.b[model.forces.pair[f]]
    R, r = pose_of(kin, b)
    x = point_of(R, r, load3(theta, model.forces.theta[f]))
    return drag_wrench(theta, model.forces.theta[f], x, moved(at_origin(kin.V, kin, b), x))


@inlined
def vary_tyre(theta, o, contact, own, eta, k, R, V, N, N1):
    """``Change`` of a tyre by the wheel's pose twist N with rate N', and direction k of ``eta`` of centre and axis."""
    c = vary_point(contact.center, V, N, N1, rotate(R, load3_of(eta, 0, k)))
    d_axis = add3(cross3(N[0], contact.axis), rotate(R, load3_of(eta, AXIS, k)))
    d_turning = add3(N1[0], cross3(N[0], contact.w))
    return tyre_variation(theta, o, contact, own, c.delta, d_axis, c.delta_rate, d_turning)


@inlined
def vary_drag(theta, o, eta, k, R, r, V, N, N1):
    """Variation of the wrench of a drag; ``eta`` varies its block."""
    x = vary_point(point_of(R, r, load3(theta, o)), V, N, N1, rotate(R, load3_of(eta, 0, k)))
    return drag_variation(theta, eta, k, o, x.x, x.rate, x.delta, x.delta_rate)
