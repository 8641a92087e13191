"""Access to the state of a body as elements need it: about the global origin."""

from mbsim_cli.kernels.algebra.rot3 import row9
from mbsim_cli.kernels.algebra.spatial import (
    accumulate,
    accumulate2,
    motion_at,
    motion_at2,
    scale6,
    shift_force,
    shift_force2,
    shift_motion,
    shift_motion2,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import row3, scale3
from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def pose_of(kin, i):
    """Rotation matrix and origin of body i (GROUND too)."""
    return row9(kin.R, i), row3(kin.r, i, 0)


@inlined
def at_origin(array, kin, i):
    """Motion of body i about the global origin."""
    return shift_motion(motion_at(array, i), scale3(-1.0, row3(kin.ref, i, 0)))


@inlined
def at_origin2(array, kin, i, k):
    """Variation k of body i about the global origin."""
    return shift_motion2(motion_at2(array, i, k), scale3(-1.0, row3(kin.ref, i, 0)))


@inlined
def between2(array, kin, a, b, k):
    """Variation k of body b against body a, about the global origin."""
    return sub6(at_origin2(array, kin, b, k), at_origin2(array, kin, a, k))


@inlined
def column_at_origin(array, tree, kin, c):
    """Column c about the global origin."""
    return shift_motion(motion_at(array, c), scale3(-1.0, row3(kin.ref, tree.column_body[c], 0)))


@inlined
def apply_to_body(array, kin, i, s, wrench):
    """Add s times a force about the origin to body i."""
    accumulate(array, i, s, shift_force(wrench, row3(kin.ref, i, 0)))


@inlined
def apply_to_body2(array, kin, i, k, s, wrench):
    """Add s times a force about the origin to body i in direction k."""
    accumulate2(array, i, k, s, shift_force2(wrench, row3(kin.ref, i, 0)))


@inlined
def apply_between2(array, kin, a, b, k, s, seen, carried):
    """Add s times the variation k of a force on b and against a, as the bodies see it.

    ``seen`` is what body a sees of it, ``carried`` what its carrying along with the twist of b against a makes of it.
    """
    apply_to_body2(array, kin, a, k, -s, seen)
    apply_to_body2(array, kin, b, k, s, sub6(seen, carried))


@inlined
def no_motion(like):
    """A zero motion of the type of ``like``."""
    return scale6(0.0, like)
