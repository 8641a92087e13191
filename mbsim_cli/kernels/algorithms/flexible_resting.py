"""``resting_variation`` with bodies that deform: M x + Phi_z^T multiplier of a system without velocities."""

from mbsim_cli.kernels._jit import kernel, merged
from mbsim_cli.kernels._simd import block, width
from mbsim_cli.kernels.algebra.rot3 import unrotate
from mbsim_cli.kernels.algebra.spatial import shift_motion
from mbsim_cli.kernels.algebra.vec3 import scale3
from mbsim_cli.kernels.algorithms.bodies import apply_to_body, apply_to_body2, at_origin, at_origin2, pose_of
from mbsim_cli.kernels.algorithms.flexible_bodies import to_origin
from mbsim_cli.kernels.algorithms.resting_variation import rest_inwards, rest_outwards, rest_pull
from mbsim_cli.kernels.elements.flexible import flexible_force
from mbsim_cli.kernels.elements.flexible_tangent import flexible_slopes
from mbsim_cli.kernels.elements.flexible_variation import vary_flexible


@merged
def vary_flexible_resting(
    model, theta, dtheta, touch, lines, z, dz, kin, comp, tw, load, other_load, rest, other
):  # fmt: skip
    """Fill dG of both systems; needs ``vary_kinematics`` and the gradient lines (m, LINE_SIZE)."""
    rest_outwards(model.tree, theta, dtheta, touch, z, dz, kin, load.x, other_load.x, rest, other)
    rest_pull(
        model.constraints.measure, model.measures, model.pairs, theta, dtheta, touch.measure, lines, dz, kin, tw.N,
        load.multiplier, other_load.multiplier, rest, other,
    )  # fmt: skip
    _flexible(model, theta, dtheta, touch, z, dz, kin, comp, load.x, rest)
    _flexible(model, theta, dtheta, touch, z, dz, kin, comp, other_load.x, other)
    rest_inwards(model.tree, theta, dtheta, touch, z, dz, kin, rest, other)


@kernel
def _flexible(model, theta, dtheta, touch, z, dz, kin, comp, x, rest):
    """Add what accelerations x (n,) take."""
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r = pose_of(kin, i)
        turning, shifting = shift_motion(at_origin(rest.A, kin, i), r)
        alpha, a = unrotate(R, turning), unrotate(R, shifting)
        still = scale3(0.0, alpha)
        wrench = flexible_force(
            tree, theta, f, still, alpha, a, z, comp.zero, x, kin.elastic, False, comp.scratch
        )  # fmt: skip
        flexible_slopes(tree, theta, f, still, alpha, a, comp.zero, x, kin.elastic, False)
        apply_to_body(rest.F, kin, i, 1.0, to_origin(R, r, wrench))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            turning, shifting = shift_motion(at_origin2(rest.N2, kin, i, k), r)
            dalpha, da = unrotate(R, turning), unrotate(R, shifting)
            seen = vary_flexible(
                tree, theta, dtheta, touch.flexible[f, g], f, k, still, alpha, a, z, comp.zero, x,
                scale3(0.0, dalpha), dalpha, da, dz, touch.still, touch.still, kin.elastic, False, rest.dG,
            )  # fmt: skip
            apply_to_body2(rest.dF, kin, i, k, 1.0, to_origin(R, r, seen))
