"""``resting_variation`` with bodies that deform: M x + Phi_z^T multiplier of a system without velocities."""

from mbsim_cli.kernels.algorithms.equations.resting_variation import rest_inwards, rest_outwards, rest_pull
from mbsim_cli.kernels.algorithms.flexible.bodies import resting_force, vary_resting_force
from mbsim_cli.kernels.algorithms.motion.bodies import apply_to_body, apply_to_body2, at_origin, at_origin2
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.compiler.simd import block, width


@merged
def vary_flexible_resting(
    model, theta, dtheta, touch, lines, z, dz, kin, comp, tw, load, other_load, rest, other
):  # fmt: skip
    """Fill dG of both systems; needs ``vary_kinematics`` and the gradient lines (m, LINE_SIZE)."""
    rest_outwards(model.tree, theta, dtheta, touch, z, dz, kin, load.x, other_load.x, rest, other)
    rest_pull(
        model.constraints.measure, model.measures, model.pairs, theta, dtheta, touch.measure, lines, z, dz, kin, tw.N,
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
        A = at_origin(rest.A, kin, i)
        apply_to_body(rest.F, kin, i, 1.0, resting_force(tree, theta, f, A, z, x, kin, comp))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            dA = at_origin2(rest.N2, kin, i, k)
            dF = vary_resting_force(tree, theta, dtheta, touch, f, g, k, A, dA, z, x, dz, kin, comp, rest.dG)
            apply_to_body2(rest.dF, kin, i, k, 1.0, dF)
