"""Forces between frames of two bodies: bushings. Models without any compile nothing of them.

As body a of the pair sees it, a bushing sees a point c and axes A, B, C of body b, their velocity v and angular
velocity w, and a point p with axes X, Y, Z of a. What ``motion_forces`` asks is chosen by the type of
``model.bushings``, since
the derivatives of a bushing are as much machine code as those of all other forces together.
"""

from inspect import signature
from typing import NamedTuple

from mbsim_cli.kernels.algebra.rot3 import rotate, unrotate
from mbsim_cli.kernels.algebra.spatial import add6, cross_force, cross_motion, sub6
from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, cross3, load3, load3_of, scale3, sub3
from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.equations.measure_pull_back import between
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, pose_of
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.elements import bushing
from mbsim_cli.kernels.elements.measures import moved, point_of
from mbsim_cli.model.layout import AXES_A, AXES_B, POINT_A, NoBushings

_keep, _pull = bushing.DERIVATIVES.keep, bushing.DERIVATIVES.pull_kept
_vary, _vary_fixed = bushing.DERIVATIVES.vary_kept, bushing.DERIVATIVES.vary_fixed_kept


class FramePair(NamedTuple):
    """What an element between two frames sees, or its variation: point and axes on b, its motion, the same on a."""

    c: tuple
    v: tuple
    w: tuple
    p: tuple
    X: tuple
    Y: tuple
    Z: tuple
    A: tuple
    B: tuple
    C: tuple


@inlined
def bodies_of(model, f):
    """Bodies a and b of a force."""
    pair = model.forces.pair[f]
    return model.pairs.a[pair], model.pairs.b[pair]


@inlined
def _frames(model, theta, f, kin):
    """The frames of an element between two."""
    a, b = bodies_of(model, f)
    o = model.forces.theta[f]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    V = sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a))
    c = point_of(Rb, rb, load3(theta, o))
    return FramePair(
        c,
        moved(V, c),
        V[0],
        point_of(Ra, ra, load3(theta, o + POINT_A)),
        rotate(Ra, load3(theta, o + AXES_A)),
        rotate(Ra, load3(theta, o + AXES_A + 3)),
        rotate(Ra, load3(theta, o + AXES_A + 6)),
        rotate(Rb, load3(theta, o + AXES_B)),
        rotate(Rb, load3(theta, o + AXES_B + 3)),
        rotate(Rb, load3(theta, o + AXES_B + 6)),
    )


@inlined
def _find(model, theta, f, kin):
    x, o = _frames(model, theta, f, kin), model.forces.theta[f]
    law = model.forces.law
    _keep(model.laws, law, f, theta, o, x.c, x.v, x.w, x.p, x.X, x.Y, x.Z, x.A, x.B, x.C, kin.kept[f])


@inlined
def _vary_frames(model, theta, f, kin, N, N1):
    """Variation of the frames, as a sees b turn and move by N with rate N'; numbers are held."""
    _, b = bodies_of(model, f)
    x, still = _frames(model, theta, f, kin), scale3(0.0, N[0])
    dV, dc = add6(N1, cross_motion(N, at_origin(kin.V, kin, b))), moved(N, x.c)
    return FramePair(
        dc,
        add3(moved(dV, x.c), cross3(x.w, dc)),
        dV[0],
        still,
        still,
        still,
        still,
        cross3(N[0], x.A),
        cross3(N[0], x.B),
        cross3(N[0], x.C),
    )


@inlined
def _own_frames(model, theta, dtheta, f, k, kin, d):
    """The same with the element's own numbers in direction k, added to ``d``."""
    a, b = bodies_of(model, f)
    o = model.forces.theta[f]
    Ra, _ = pose_of(kin, a)
    Rb, _ = pose_of(kin, b)
    dc = rotate(Rb, load3_of(dtheta, o, k))
    w = sub3(at_origin(kin.V, kin, b)[0], at_origin(kin.V, kin, a)[0])
    return FramePair(
        add3(d.c, dc),
        add3(d.v, cross3(w, dc)),
        d.w,
        rotate(Ra, load3_of(dtheta, o + POINT_A, k)),
        rotate(Ra, load3_of(dtheta, o + AXES_A, k)),
        rotate(Ra, load3_of(dtheta, o + AXES_A + 3, k)),
        rotate(Ra, load3_of(dtheta, o + AXES_A + 6, k)),
        add3(d.A, rotate(Rb, load3_of(dtheta, o + AXES_B, k))),
        add3(d.B, rotate(Rb, load3_of(dtheta, o + AXES_B + 3, k))),
        add3(d.C, rotate(Rb, load3_of(dtheta, o + AXES_B + 6, k))),
    )


@inlined
def _vary_wrench(model, theta, f, kin, N, N1):
    m, law, o = _vary_frames(model, theta, f, kin, N, N1), model.forces.law, model.forces.theta[f]
    kept = kin.kept[f]
    return _vary_fixed(model.laws, law, f, theta, o, kept, m.c, m.v, m.w, m.p, m.X, m.Y, m.Z, m.A, m.B, m.C)[0]


@inlined
def _vary_all(model, theta, dtheta, f, k, kin, N, N1):
    m = _own_frames(model, theta, dtheta, f, k, kin, _vary_frames(model, theta, f, kin, N, N1))
    law, o, kept = model.forces.law, model.forces.theta[f], kin.kept[f]
    return _vary(model.laws, law, f, theta, o, kept, dtheta, k, m.c, m.v, m.w, m.p, m.X, m.Y, m.Z, m.A, m.B, m.C)


@inlined
def _pull_frames(model, theta, f, k, kin, hat, quantities_hat, cov_out):
    a, b = bodies_of(model, f)
    o, x, hats = model.forces.theta[f], _frames(model, theta, f, kin), (hat, quantities_hat)
    pulled = _pull(model.laws, model.forces.law, f, theta, o, kin.kept[f], hats, k, cov_out.theta)
    c, v, w, p, X, Y, Z, A, B, C = pulled
    H = (add3(cross3(x.c, v), w), v)
    c = add3(c, cross3(v, x.w))
    turn = add3(add3(cross3(x.c, c), cross3(x.A, A)), add3(cross3(x.B, B), cross3(x.C, C)))
    between(cov_out.P, a, b, k, 1.0, add6((turn, c), cross_force(at_origin(kin.V, kin, b), H)))
    between(cov_out.D, a, b, k, 1.0, H)
    Ra, _ = pose_of(kin, a)
    Rb, _ = pose_of(kin, b)
    add3_to(cov_out.theta, o, k, unrotate(Rb, c))
    add3_to(cov_out.theta, o + AXES_B, k, unrotate(Rb, A))
    add3_to(cov_out.theta, o + AXES_B + 3, k, unrotate(Rb, B))
    add3_to(cov_out.theta, o + AXES_B + 6, k, unrotate(Rb, C))
    add3_to(cov_out.theta, o + POINT_A, k, unrotate(Ra, p))
    add3_to(cov_out.theta, o + AXES_A, k, unrotate(Ra, X))
    add3_to(cov_out.theta, o + AXES_A + 3, k, unrotate(Ra, Y))
    add3_to(cov_out.theta, o + AXES_A + 6, k, unrotate(Ra, Z))


class _Without:
    """Never called; gives what has the types of the others."""

    @staticmethod
    def find(model, theta, f, kin):
        pass

    @staticmethod
    def vary_wrench(model, theta, f, kin, N, N1):
        still = scale3(0.0, N[0])
        return still, still

    @staticmethod
    def vary_all(model, theta, dtheta, f, k, kin, N, N1):
        still = scale3(0.0, N[0])
        zero = still[0]
        return (still, still), (zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero)

    @staticmethod
    def pull(model, theta, f, k, kin, hat, quantities_hat, cov_out):
        pass


class _With:
    @staticmethod
    def find(model, theta, f, kin):
        _find(model, theta, f, kin)

    @staticmethod
    def vary_wrench(model, theta, f, kin, N, N1):
        return _vary_wrench(model, theta, f, kin, N, N1)

    @staticmethod
    def vary_all(model, theta, dtheta, f, k, kin, N, N1):
        return _vary_all(model, theta, dtheta, f, k, kin, N, N1)

    @staticmethod
    def pull(model, theta, f, k, kin, hat, quantities_hat, cov_out):
        _pull_frames(model, theta, f, k, kin, hat, quantities_hat, cov_out)


def _chosen(name, public, text):
    """The function ``name`` of models with bushings, or without."""
    shape = signature(getattr(_With, name))
    return by_type(
        "model.bushings", public, text, shape, lambda kind: getattr(_Without if kind is NoBushings else _With, name)
    )


find_bushing = _chosen("find", "find_bushing", "Leave the bushing f, and its slopes, in ``kin.kept``.")
vary_bushing_wrench = _chosen(
    "vary_wrench", "vary_bushing_wrench", "Variation of the wrench by the twist N and its rate; numbers are held."
)
vary_bushing_and_quantities = _chosen(
    "vary_all", "vary_bushing_and_quantities", "Variation of the wrench and of the quantities in direction k."
)
pull_bushing_force = _chosen(
    "pull", "pull_bushing_force", "Add the pull-back of covectors of the wrench and of the quantities."
)
