"""What expressions add to the tangent where they read other things than the measure that their force acts along.

A force moves rows of its own path, and what its expression reads moves with columns of other paths: T loses the product
of the two. The slopes along eight columns at a time come from the variation of the sensors of the inputs. Derivation:
docs/theory/expressions.md.
"""

from inspect import signature

from mbsim_cli.kernels.algebra.spatial import dot6, rows_at, scale6, shift_motion, six_at
from mbsim_cli.kernels.algebra.vec3 import cross3, load3, row3, scale3
from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.motion_forces import in_axes
from mbsim_cli.kernels.algorithms.equations.sensor_variation import vary_sensors
from mbsim_cli.kernels.algorithms.equations.signals import MotionVariation, by_inputs, of_inputs
from mbsim_cli.kernels.algorithms.motion.bodies import only6, pose_of
from mbsim_cli.kernels.algorithms.motion.workspace import COLUMN_S, COLUMN_Y, OWN_S
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, put, width
from mbsim_cli.kernels.elements.measures import is_geometric, point_of
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import NONE, NoSignals


@kernel
def _tree_part(model, theta, t, beta, gamma, z, zd, kin, comp, T_out):
    signals, seeds = model.signals, kin.signals.seeds
    if signals.kind.size == 0:
        return
    for first in range(0, T_out.shape[0], width(T_out)):
        k, o = block(T_out, first), block(seeds.z, 0)
        for r in range(signals.bodies.size):
            b = signals.bodies[r]
            bits = kin.signals.reach[r, first // WIDTH] >> (first % WIDTH)
            S, Y = rows_at(comp.columns, COLUMN_S, k), rows_at(comp.columns, COLUMN_Y, k)
            set_motion(seeds, kin, b, o, only6(scale6(gamma, S), bits), only6(Y, bits))
        find_slopes(model, theta, t, beta, gamma, z, zd, first, kin)
        for f in range(model.forces.kind.size):
            for j in range(3):
                if signals.of_force[f, j] != NONE:
                    slope = at(seeds.value, signals.of_force[f, j], o)
                    _tree_rows(model, theta, z, f, j, k, slope, kin, comp, T_out)


@inlined
def set_motion(seeds, kin, b, o, N, N1):
    """Let body b move by twists and rates about the global origin."""
    _put_motion(seeds.N, b, o, shift_motion(N, row3(kin.ref, b, 0)))
    _put_motion(seeds.N1, b, o, shift_motion(N1, row3(kin.ref, b, 0)))


@inlined
def _put_motion(array, b, o, x):
    w, v = x
    put(array, b, 0, o, w[0])
    put(array, b, 1, o, w[1])
    put(array, b, 2, o, w[2])
    put(array, b, 3, o, v[0])
    put(array, b, 4, o, v[1])
    put(array, b, 5, o, v[2])


@inlined
def find_slopes(model, theta, t, beta, gamma, z, zd, first, kin):
    """Variations of all signals along the columns from ``first`` on, but for those by g and g', in ``seeds.value``."""
    signals, seeds = model.signals, kin.signals.seeds
    for j in range(width(seeds.z)):
        if first + j < z.size:
            seeds.z[first + j, j], seeds.zd[first + j, j] = gamma, beta
    sens = MotionVariation(seeds.z, seeds.zd, seeds.zdd, seeds.lam)
    vary_sensors(of_inputs(model), theta, seeds.dtheta, seeds.touch, t, z, zd, zd, sens, kin, seeds, seeds.inputs)
    for j in range(width(seeds.z)):
        if first + j < z.size:
            seeds.z[first + j, j], seeds.zd[first + j, j] = 0.0, 0.0
    o = block(seeds.z, 0)
    for u in range(signals.theta.size):
        put(seeds.value, u, o, by_inputs(signals, kin.signals.slope, seeds.inputs, u, o))


@inlined
def _tree_rows(model, theta, z, f, j, k, slope, kin, comp, T_out):
    """Take the force of one unit of component j of force f, times the slope, from the rows of its path."""
    measures, m = model.measures, model.forces.measure[f]
    if m != NONE and not is_geometric(measures.kind[m]):
        for i in range(measures.first[m], measures.first[m + 1]):
            add_to(T_out, measures.coordinate[i], k, -coordinate_slope(measures, theta, m, i, z) * slope)
    else:
        pair, L = unit_force(model, theta, f, j, kin)
        for i in range(model.pairs.first[pair], model.pairs.first[pair + 1]):
            c, sign = model.pairs.column[i], model.pairs.sign[i]
            add_to(T_out, c, k, -sign * dot6(six_at(comp.own, c, OWN_S), L) * slope)


@inlined
def unit_force(model, theta, f, j, kin):
    """Pair of a force on bodies, and the wrench about the origin of one unit of its component j."""
    m = model.forces.measure[f]
    if m != NONE:
        _, _, L = measure_and_rate(model, theta, m, kin)
        return model.measures.pair[m], L
    pair = model.forces.pair[f]
    R, r = pose_of(kin, model.pairs.b[pair])
    e = in_axes(model, f, R, (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0))
    if model.forces.kind[f] == Force.TORQUE:
        return pair, (e, scale3(0.0, e))
    return pair, (cross3(point_of(R, r, load3(theta, model.forces.theta[f])), e), e)


class _Without:
    @staticmethod
    def add_signal_tangent(model, theta, t, beta, gamma, z, zd, kin, comp, T_out):
        pass


class _With:
    @staticmethod
    def add_signal_tangent(model, theta, t, beta, gamma, z, zd, kin, comp, T_out):
        _tree_part(model, theta, t, beta, gamma, z, zd, kin, comp, T_out)


add_signal_tangent = by_type(
    "model.signals",
    "add_signal_tangent",
    "Add to T (n, padded(n)) of a tree what expressions do; needs the columns in ``comp``.",
    signature(_With.add_signal_tangent),
    lambda kind: (_Without if kind is NoSignals else _With).add_signal_tangent,
)
