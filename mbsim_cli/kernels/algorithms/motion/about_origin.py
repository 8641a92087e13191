"""Bodies as elements see them: poses and motions about the global origin, forces on them, their part of the tangent."""

from mbsim_cli.kernels.algebra.spatial import (
    accumulate,
    accumulate2,
    add6,
    cross_force,
    dot6,
    motion_at,
    motion_at2,
    only6,
    rows_at,
    scale6,
    shift_force,
    shift_motion,
    six_at,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import is_zero3, row3, row9, scale3
from mbsim_cli.kernels.algorithms.motion.workspace import COLUMN_S, COLUMN_Y, OWN_S
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block


@inlined
def pose_of(kin, i):
    """Rotation matrix and origin of body i (GROUND too)."""
    return row9(kin.R, i), row3(kin.r, i, 0)


@inlined
def poses_of(pairs, kin, pair):
    """Poses of both bodies of a pair."""
    a, b = pairs.a[pair], pairs.b[pair]
    return (row9(kin.R, a), row3(kin.r, a, 0)), (row9(kin.R, b), row3(kin.r, b, 0))


@inlined
def at_origin(array, kin, i):
    """Motion of body i about the global origin."""
    return shift_motion(motion_at(array, i), scale3(-1.0, row3(kin.ref, i, 0)))


@inlined
def at_origin2(array, kin, i, k):
    """Variation k of body i about the global origin."""
    x, d = motion_at2(array, i, k), scale3(-1.0, row3(kin.ref, i, 0))
    return x if is_zero3(d) else shift_motion(x, d)  # often: all bodies may have one reference point


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
def apply_between(array, kin, a, b, s, wrench):
    """Add s times a force about the origin to body b, and take it from body a."""
    accumulate(array, b, s, shift_force(wrench, row3(kin.ref, b, 0)))
    accumulate(array, a, -s, shift_force(wrench, row3(kin.ref, a, 0)))


@inlined
def apply_to_body2(array, kin, i, k, s, wrench):
    """Add s times a force about the origin to body i in direction k."""
    d = row3(kin.ref, i, 0)
    accumulate2(array, i, k, s, wrench if is_zero3(d) else shift_force(wrench, d))


@inlined
def apply_between2(array, kin, a, b, k, s, from_a, carried):
    """Add s times the variation k of a force on b and against a, as the bodies see it.

    ``from_a`` is what body a sees of it, ``carried`` what its carrying along with the twist of b against a makes of it.
    """
    apply_to_body2(array, kin, a, k, -s, from_a)
    apply_to_body2(array, kin, b, k, s, sub6(from_a, carried))


# Contribution of an element between two bodies to T, for the columns of one span of its path at a time.
#
# ``Composite.columns`` holds the twists S of the columns and their rates Y about the global origin. Theory:
# docs/theory/newton_matrix.md.


@inlined
def span_twists(comp, gamma, s):
    """Twists gamma S of the columns of span s on the branches of a and b, zero for the others, and their rates Y."""
    column, on_a, on_b = at(comp.spans.column, s), at(comp.spans.on_a, s), at(comp.spans.on_b, s)
    k = block(comp.columns, column)
    N, Y = scale6(gamma, rows_at(comp.columns, COLUMN_S, k)), rows_at(comp.columns, COLUMN_Y, k)
    return only6(N, on_a), only6(N, on_b), only6(Y, on_a), only6(Y, on_b)


@inlined
def before(c, column):
    """Bits of a block's columns that stand before column c."""
    return (1 << min(max(c - column, 0), WIDTH)) - 1


@inlined
def spread(pairs, pair, comp, s, N, W, from_a, T_out):
    """Add to T the variation of the wrench W on b by the twists N of span s; ``from_a`` is what body a sees of it.

    Row i of the path takes -S_i . dW; columns on its branch above i carry column i along, and W by N x* W.
    """
    spans = comp.spans
    first, on_a, on_b = at(spans.column, s), at(spans.on_a, s), at(spans.on_b, s)
    carried = cross_force(N, W)
    k, dW = block(T_out, first), add6(from_a, only6(carried, on_a))
    for i in range(at(pairs.first, pair), at(pairs.first, pair + 1)):
        c, below_b = at(pairs.column, i), at(pairs.sign, i) > 0
        above = (on_b if below_b else on_a) & before(c, first)
        power = dot6(six_at(comp.own, c, OWN_S), sub6(dW, only6(carried, above)))
        add_to(T_out, c, k, (-1.0 if below_b else 1.0) * power)
