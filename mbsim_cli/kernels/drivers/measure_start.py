"""Values of measures at the start, for numbers that take them."""

from mbsim_cli.kernels.algorithms.open_trees.open_tree import drive, vary_drive
from mbsim_cli.kernels.algorithms.systems.contract import measure, move, place, vary_bodies_of, vary_measure
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.compiler.simd import block, put, width
from mbsim_cli.kernels.integrators.runge_kutta import put_on_manifold


@entry
def measure_start(model, theta, open_tree, directions, state, sens, kin, tw, wanted, value_out, d_value_out):
    """Measures ``wanted`` (k,) of the driven, unit start, value (k,), and their variations (k, p)."""
    drive(model, theta, 0.0, open_tree, state.z, state.zd)
    vary_drive(model, theta, directions.dtheta, 0.0, open_tree, state.z, state.zd, sens.z, sens.zd)
    put_on_manifold(model, theta, 0.0, directions, open_tree, state, sens)
    place(model, theta, state.z, True, kin)
    move(model, theta, state.z, state.zd, state.zdd, kin)
    dtheta, touch = directions.dtheta, directions.touch
    vary_bodies_of(
        model, theta, dtheta, touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, tw
    )  # fmt: skip
    for i in range(wanted.size):
        value_out[i] = measure(model, theta, wanted[i], state, kin)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            value = vary_measure(model, theta, dtheta, touch, wanted[i], g, k, state, sens, kin, tw)
            put(d_value_out, i, k, value)
