"""Common parts of the time loops of open trees: the size of the first step, one time point by itself."""

from mbsim_cli.kernels.algorithms.open_trees.open_tree import drive, vary_drive
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, merged
from mbsim_cli.kernels.compiler.simd import block, put, width
from mbsim_cli.kernels.drivers import stepping
from mbsim_cli.kernels.drivers.stepping import TIME
from mbsim_cli.kernels.integrators.runge_kutta import put_on_manifold, size_of

TINY = 1e-300  # a first step of zero would be looked for again


@merged
def guess(control, clock, end, state, probe):
    """A short explicit Euler step into ``probe``, which shows how fast rates change; return its length.

    It stays within the run and the longest step: near rest the rates alone allow any length, and tables end.
    """
    first = size_of(control, state.z, state.z) + size_of(control, state.zd, state.zd)
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    h = 1e-6 if first < 1e-5 or rate < 1e-5 else 0.01 * first / rate
    h = min(h, stepping.LONGEST * end, end - clock[TIME])
    for c in range(state.z.size):
        probe.z[c] = state.z[c] + h * state.zd[c]
        probe.zd[c] = state.zd[c] + h * state.zdd[c]
    return h


@merged
def first_step(control, h, state, probe):
    """Length of the first step, after a guess of length h (Hairer, Norsett, Wanner (1993), section II.4)."""
    for c in range(state.z.size):
        probe.z[c] = probe.zd[c] - state.zd[c]
        probe.zd[c] = probe.zdd[c] - state.zdd[c]
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    change = size_of(control, probe.z, state.z) + size_of(control, probe.zd, state.zd)
    steepest = max(rate, change / h)
    if steepest <= 1e-15:
        return max(1e-6, 1e-3 * h)
    return max(TINY, min(100.0 * h, (0.01 / steepest) ** control.exponent))


@entry
def measure_start(model, theta, open_tree, directions, state, sens, kin, tw, wanted, value_out, d_value_out):
    """Measures ``wanted`` (k,) of the driven, unit start, for numbers that take them: value (k,), variations (k, p)."""
    dtheta = directions.dtheta
    drive(model, theta, 0.0, open_tree, state.z, state.zd)
    vary_drive(model, theta, dtheta, 0.0, open_tree, state.z, state.zd, sens.z, sens.zd)
    put_on_manifold(model, theta, 0.0, directions, open_tree, state, sens)
    system.place(model, theta, state.z, True, kin)
    system.move(model, theta, state, kin)
    system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
    for i in range(wanted.size):
        value_out[i] = system.measure(model, theta, wanted[i], state, kin)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            value = system.vary_measure(model, theta, directions, wanted[i], g, k, state, sens, kin, tw)
            put(d_value_out, i, k, value)
