"""Variations of joint columns, carried by the twist of the frame they start from: docs/theory/variations.md (8)."""

from mbsim_cli.kernels.algebra.spatial import add6, axpy6, cross_motion, motion_at, motion_at2, shift_motion, store
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_own, offset_to_parent
from mbsim_cli.kernels.algorithms.motion.variation import parent_frame_twist
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import at
from mbsim_cli.kernels.elements.columns import euler_column_rate, is_euler, load4, load4_of
from mbsim_cli.model.codes import Column


@inlined
def column_variation(tree, theta, z, dz, kin, i, c, k, N, base):
    """dS of column c of body i: N is the twist before the column, base that before its Euler parameters."""
    S = motion_at(kin.S, c)
    if not is_euler(tree.column_kind[c]):
        return cross_motion(N, S)
    j = tree.column_kind[c] - Column.EULER_0
    local = euler_column_rate(load4(z, c - j), load4_of(dz, c - j, k), j)
    return add6(cross_motion(base, S), euler_own(tree, theta, kin, i, local))


@kernel
def vary_columns(tree, theta, dtheta, touch, z, dz, k, kin, tw, dS_out):
    """Variation k of all columns, dS (n, 6); needs ``vary_kinematics``. Cost O(n)."""
    for i in range(tree.parent.size):
        N = shift_motion(motion_at2(tw.N, tree.parent[i], k), offset_to_parent(tree, kin, i))
        if touch.geometry[i, k]:
            N = add6(N, parent_frame_twist(tree, theta, dtheta, k, kin, i))
        base = N
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            if tree.column_kind[c] == Column.EULER_0:
                base = N
            store(dS_out, c, column_variation(tree, theta, z, dz, kin, i, c, k, N, base))
            N = axpy6(at(dz, c, k), motion_at(kin.S, c), N)
