"""Accelerations of an open tree, and their variations, at many states."""

from mbsim_cli.kernels.algorithms.open_trees.formulations import accelerate, vary_accelerations
from mbsim_cli.kernels.algorithms.open_trees.open_tree import drive, vary_drive
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.model.codes import Status


@entry
def accelerations(model, theta, open_tree, time, z, zd, dyn, zdd_out, reaction_out):
    """z'' (B, n) and multipliers of drivers (B, m) at z, zd (B, n), whose driven coordinates are set; a Status."""
    for row in range(time.size):
        t = time[row]
        drive(model, theta, t, open_tree, z[row], zd[row])
        if not accelerate(model, theta, t, z[row], zd[row], dyn, zdd_out[row], reaction_out[row]):
            return Status.SINGULAR.value
    return Status.OK.value


@entry
def accelerations_and_variations(
    model, theta, dtheta, touch, open_tree, time, z, zd, dz, dzd, dyn, zdd_out, reaction_out, dzdd_out, d_reaction_out
):
    """The same, and dz'' (B, n, p), d_reaction (B, m, p) for dz, dzd (B, n, p) and dtheta (len(theta), p)."""
    for row in range(time.size):
        t = time[row]
        drive(model, theta, t, open_tree, z[row], zd[row])
        vary_drive(model, theta, dtheta, t, open_tree, z[row], zd[row], dz[row], dzd[row])
        if not accelerate(model, theta, t, z[row], zd[row], dyn, zdd_out[row], reaction_out[row]):
            return Status.SINGULAR.value
        vary_accelerations(
            model, theta, dtheta, touch, t, z[row], zd[row], zdd_out[row], dz[row], dzd[row], dyn, dzdd_out[row],
            d_reaction_out[row],
        )  # fmt: skip
    return Status.OK.value
