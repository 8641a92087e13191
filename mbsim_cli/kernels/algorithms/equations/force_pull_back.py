"""Pull-back of the power -W . U of all force elements under a virtual motion U: transposes ``vary_element_forces``.

Forces between bodies see relative motion only. What W . N'_U gives, N'_U the rate of the pose twist under U, is part of
``residual``; here W turns and moves with its body, and changes with motion and numbers. Spatial vectors are about the
global origin, where all bodies must have their reference points. Derivation: docs/theory/adjoint.md.
"""

from mbsim_cli.kernels.algebra.spatial import (
    axpy6,
    cross_force,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    sub6,
)
from mbsim_cli.kernels.algorithms.equations.along_measures import along, is_along, pull_along
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.measure_pull_back import (
    between,
    pull_coordinate_force,
    pull_coordinate_measure,
    pull_line,
)
from mbsim_cli.kernels.algorithms.equations.motion_forces import (
    bodies_of,
    motion_wrench,
    no_quantities,
    pull_motion_force,
)
from mbsim_cli.kernels.algorithms.equations.signal_reading import pull_to_signal
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import at, block, width
from mbsim_cli.kernels.elements.measures import is_geometric


@kernel
def pull_forces(model, theta, t, z, zd, kin, virtual, cov_out):
    """Add the pull-back of -W . U, and of -Q . mu of forces on coordinates; needs ``element_forces`` at the state."""
    for f in range(model.forces.kind.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            if not is_along(model.forces.kind[f]):
                _pull_motion_force(model, theta, t, f, k, kin, virtual, cov_out)
            elif is_geometric(model.measures.kind[model.forces.measure[f]]):
                _pull_along_measure(model, theta, t, f, k, kin, virtual, cov_out)
            else:
                _pull_along_coordinates(model, theta, t, f, k, z, zd, kin, virtual, cov_out)


@kernel
def _pull_along_measure(model, theta, t, f, k, kin, virtual, cov_out):
    m = model.forces.measure[f]
    pair = model.measures.pair[m]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    _, _, L = measure_and_rate(model, theta, m, kin)
    Q, by_g, by_g1 = along(model, theta, t, f, kin)
    Ua, Ub = motion_at2(virtual.U, a, k), motion_at2(virtual.U, b, k)
    Q_hat = -1.0 * dot6(sub6(Ub, Ua), L)
    rate_hat = by_g1 * Q_hat
    Ka = axpy6(-Q, Ua, scale6(rate_hat, motion_at(kin.V, a)))
    Kb = axpy6(-Q, Ub, scale6(rate_hat, motion_at(kin.V, b)))
    pull_line(model, theta, m, k, kin, by_g * Q_hat, Ka, Kb, cov_out)
    between(cov_out.D, a, b, k, 1.0, scale6(rate_hat, L))
    pull_along(model, theta, t, f, k, kin, Q_hat, cov_out.theta)
    pull_to_signal(model, f, k, Q_hat, cov_out)


@kernel
def _pull_along_coordinates(model, theta, t, f, k, z, zd, kin, virtual, cov_out):
    measures, m = model.measures, model.forces.measure[f]
    Q, by_g, by_g1 = along(model, theta, t, f, kin)
    Q_hat = 0.0 * at(virtual.mu, 0, k)
    for j in range(measures.first[m], measures.first[m + 1]):
        Q_hat -= coordinate_slope(measures, theta, m, j, z) * at(virtual.mu, measures.coordinate[j], k)
    pull_coordinate_measure(measures, theta, m, k, z, zd, zd, by_g * Q_hat, by_g1 * Q_hat, 0.0 * Q_hat, cov_out)
    pull_coordinate_force(measures, theta, m, k, z, -Q, virtual, cov_out)
    pull_along(model, theta, t, f, k, kin, Q_hat, cov_out.theta)
    pull_to_signal(model, f, k, Q_hat, cov_out)


@kernel
def _pull_motion_force(model, theta, t, f, k, kin, virtual, cov_out):
    a, b = bodies_of(model, f)
    Ua, Ub = motion_at2(virtual.U, a, k), motion_at2(virtual.U, b, k)
    between(cov_out.P, a, b, k, -1.0, cross_force(Ub, motion_wrench(kin, f)))
    pull_motion_force(model, theta, t, f, k, kin, sub6(Ua, Ub), no_quantities(0.0 * Ub[0][0]), cov_out)
