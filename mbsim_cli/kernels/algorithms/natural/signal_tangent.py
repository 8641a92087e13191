"""What expressions add to the tangent in natural coordinates; see ``equations.signal_tangent``."""

from inspect import signature

from mbsim_cli.kernels.algebra.spatial import scale6
from mbsim_cli.kernels.algebra.vec3 import cross3, row3, scale3, sub3
from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.equations.constraints import coordinate_slope
from mbsim_cli.kernels.algorithms.equations.signal_tangent import find_slopes, set_motion, unit_force
from mbsim_cli.kernels.algorithms.natural.bodies import columns_of
from mbsim_cli.kernels.algorithms.natural.work_variation import add_power
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, width
from mbsim_cli.kernels.elements.measures import is_geometric
from mbsim_cli.model.layout import GROUND, NONE, NoSignals

TWIST, RATE = 0, 6  # rows of ``tangent.Seeds.columns``


@kernel
def _natural_part(model, theta, t, beta, gamma, state, kin, own, T_out):
    signals, seeds = model.signals, kin.signals.seeds
    if signals.kind.size == 0:
        return
    for first in range(0, T_out.shape[0], width(T_out)):
        k, o, start = block(T_out, first), block(seeds.z, 0), first // WIDTH * WIDTH
        for r in range(signals.bodies.size):
            b = signals.bodies[r]
            still = 0.0 * at(seeds.z, 0, o)
            none = (still, still, still), (still, still, still)
            set_motion(seeds, kin, b, o, none, none)
            for s in range(own.first[b], own.first[b + 1]):
                if own.start[s] == start:
                    c = block(own.columns, WIDTH * (s - own.first[b]) + first - start)
                    set_motion(seeds, kin, b, o, _six(own.columns, b, TWIST, c), _six(own.columns, b, RATE, c))
        find_slopes(model, theta, t, beta, gamma, state.z, state.zd, first, kin)
        for f in range(model.forces.kind.size):
            for j in range(3):
                u = signals.of_force[f, j]
                if u != NONE:
                    _rows(model, theta, state.z, f, j, k, at(seeds.value, u, o), kin, T_out)


@inlined
def _six(columns, i, row, k):
    return (
        (at(columns, i, row, k), at(columns, i, row + 1, k), at(columns, i, row + 2, k)),
        (at(columns, i, row + 3, k), at(columns, i, row + 4, k), at(columns, i, row + 5, k)),
    )


@inlined
def _rows(model, theta, z, f, j, k, slope, kin, T_out):
    measures, m = model.measures, model.forces.measure[f]
    if m != NONE and not is_geometric(measures.kind[m]):
        for i in range(measures.first[m], measures.first[m + 1]):
            add_to(T_out, measures.coordinate[i], k, -coordinate_slope(measures, theta, m, i, z) * slope)
    else:
        pair, L = unit_force(model, theta, f, j, kin)
        dW = scale6(slope, L)
        _take(model, theta, model.pairs.b[pair], k, dW, kin, T_out)
        _take(model, theta, model.pairs.a[pair], k, scale6(-1.0, dW), kin, T_out)


@inlined
def _take(model, theta, i, k, dW, kin, T_out):
    """Take the work of a wrench on body i from its rows."""
    if i != GROUND:
        n, f = dW
        R, r = columns_of(kin.pose, i), row3(kin.pose, i, 0)
        half = scale3(-0.5, sub3(n, cross3(r, f)))
        on_columns = cross3(half, R[0]), cross3(half, R[1]), cross3(half, R[2])
        add_power(model.tree, theta, i, k, scale3(-1.0, f), on_columns, T_out)


class _Without:
    @staticmethod
    def add_natural_signal_tangent(model, theta, t, beta, gamma, state, kin, own, T_out):
        pass


class _With:
    @staticmethod
    def add_natural_signal_tangent(model, theta, t, beta, gamma, state, kin, own, T_out):
        _natural_part(model, theta, t, beta, gamma, state, kin, own, T_out)


add_natural_signal_tangent = by_type(
    "model.signals",
    "add_natural_signal_tangent",
    "Add to T what expressions do; ``own`` are the seeds of the tangent, with the columns of all bodies.",
    signature(_With.add_natural_signal_tangent),
    lambda kind: (_Without if kind is NoSignals else _With).add_natural_signal_tangent,
)
