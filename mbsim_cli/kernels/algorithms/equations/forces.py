"""Forces of elements and constraints on the bodies, and on the coordinates directly."""

from mbsim_cli.kernels.algebra.spatial import dot6, motion_at, sub6
from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.equations.along_measures import along, find_along, is_along
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_measure, coordinate_rates, coordinate_slope
from mbsim_cli.kernels.algorithms.equations.motion_forces import (
    bodies_of,
    find_motion_force,
    motion_wrench,
)
from mbsim_cli.kernels.algorithms.equations.signal_reading import reads_signals
from mbsim_cli.kernels.algorithms.motion.bodies import apply_to_body, at_origin, pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.measures import is_force_line, is_geometric, line, measure_value, unwrapped
from mbsim_cli.model.codes import Axes, Force
from mbsim_cli.model.layout import NONE


@kernel
def clear_wrenches(W, Q):
    """Start a new sum of forces."""
    clear(W)
    clear(Q)


@kernel
def forces_of_elements(model, theta, t, z, zd, kin, W_out, Q_out):
    """Add the forces of all elements to the bodies W (nb + 1, 6) and the coordinates Q (n,).

    Leaves them in ``kin.kept``.
    """
    for f in range(model.forces.kind.size):
        if is_along(model.forces.kind[f]):
            _force_along_measure(model, theta, t, z, zd, kin, f, W_out, Q_out)
        else:
            add_force_on_bodies(model, theta, t, f, kin, W_out)


@inlined
def add_force_on_bodies(model, theta, t, f, kin, W_out):
    """Add the force f to its bodies, and leave it in ``kin.kept``."""
    find_motion_force(model, theta, t, f, kin)
    a, b = bodies_of(model, f)
    apply_to_body(W_out, kin, b, 1.0, motion_wrench(kin, f))
    apply_to_body(W_out, kin, a, -1.0, motion_wrench(kin, f))


@inlined
def _force_along_measure(model, theta, t, z, zd, kin, f, W_out, Q_out):
    measures = model.measures
    k = model.forces.measure[f]
    if is_geometric(measures.kind[k]):
        g, g1, L = measure_and_rate(model, theta, k, kin)
        find_along(model, theta, t, f, g, g1, kin)
        Q, _, _ = along(model, theta, t, f, kin)
        pair = measures.pair[k]
        apply_to_body(W_out, kin, model.pairs.b[pair], Q, L)
        apply_to_body(W_out, kin, model.pairs.a[pair], -Q, L)
    else:
        g = coordinate_measure(measures, theta, k, z)
        g1, _ = coordinate_rates(measures, theta, k, z, zd, zd)
        find_along(model, theta, t, f, g, g1, kin)
        Q, _, _ = along(model, theta, t, f, kin)
        for j in range(measures.first[k], measures.first[k + 1]):
            Q_out[measures.coordinate[j]] += Q * coordinate_slope(measures, theta, k, j, z)


@inlined
def measure_and_rate(model, theta, k, kin):
    """Value, rate and gradient line of a geometric measure."""
    measures = model.measures
    pair, kind = measures.pair[k], measures.kind[k]
    a, b = model.pairs.a[pair], model.pairs.b[pair]
    Ra, ra = pose_of(kin, a)
    Rb, rb = pose_of(kin, b)
    g, x, u = measure_value(kind, theta, measures.theta[k], Ra, ra, Rb, rb)
    g = unwrapped(kind, g, kin.expected[k])
    L = line(is_force_line(kind), x, u)
    return g, dot6(sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a)), L), L


@inlined
def is_dead_load(model, f):
    """Whether the force is constant in global axes, and so has a potential."""
    forces = model.forces
    return (
        not reads_signals(model, f)
        and forces.kind[f] == Force.POINT_FORCE
        and forces.axes[f] == Axes.GLOBAL
        and forces.law[f, 0] == NONE
    )


@kernel
def constraint_forces(model, theta, z, kin, multiplier, line_in, W_out, Q_out):
    """Add -Phi_z^T multiplier, as forces on the bodies and on the coordinates."""
    measures = model.measures
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        if is_geometric(measures.kind[k]):
            L = motion_at(line_in, i)
            pair = measures.pair[k]
            apply_to_body(W_out, kin, model.pairs.b[pair], -multiplier[i], L)
            apply_to_body(W_out, kin, model.pairs.a[pair], multiplier[i], L)
        else:
            for j in range(measures.first[k], measures.first[k + 1]):
                Q_out[measures.coordinate[j]] -= multiplier[i] * coordinate_slope(measures, theta, k, j, z)
