"""What an element between two bodies adds to T, for the columns of one span of its path at a time.

``Composite.columns`` holds the twists S of the columns and their rates Y about the global origin. Theory:
docs/theory/newton_matrix.md.
"""

from mbsim_cli.kernels.algebra.spatial import add6, cross_force, dot6, rows_at, scale6, six_at, sub6
from mbsim_cli.kernels.algorithms.elimination.spans import before
from mbsim_cli.kernels.algorithms.motion.workspace import COLUMN_S, COLUMN_Y, OWN_S
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at, block, only


@inlined
def only6(x, bits):
    """Spatial vector x in the directions whose bit is set."""
    (a, b, c), (d, e, f) = x
    return (
        (only(a, bits), only(b, bits), only(c, bits)),
        (only(d, bits), only(e, bits), only(f, bits)),
    )


@inlined
def span_twists(comp, q, s):
    """Twists q S of the columns of span s on the branches of a and b, zero for the others."""
    spans = comp.spans
    N = scale6(q, rows_at(comp.columns, COLUMN_S, block(comp.columns, at(spans.column, s))))
    return only6(N, at(spans.on_a, s)), only6(N, at(spans.on_b, s))


@inlined
def span_rates(comp, s):
    """Rates Y of those twists."""
    spans = comp.spans
    Y = rows_at(comp.columns, COLUMN_Y, block(comp.columns, at(spans.column, s)))
    return only6(Y, at(spans.on_a, s)), only6(Y, at(spans.on_b, s))


@inlined
def spread_seen(pairs, pair, comp, s, N, W, seen, T_out):
    """The same from the variation of W as body a sees it."""
    carried = cross_force(N, W)
    _spread(pairs, pair, comp, s, add6(seen, only6(carried, at(comp.spans.on_a, s))), carried, T_out)


@inlined
def spread(pairs, pair, comp, s, N, W, dW, T_out):
    """Add to T the variation dW of the wrench W on b by the twists N of span s."""
    _spread(pairs, pair, comp, s, dW, cross_force(N, W), T_out)


@inlined
def _spread(pairs, pair, comp, s, dW, carried, T_out):
    """Row i of the path takes -S_i . dW; columns on its branch above i carry column i along."""
    spans = comp.spans
    first, on_a, on_b = at(spans.column, s), at(spans.on_a, s), at(spans.on_b, s)
    k = block(T_out, first)
    for i in range(at(pairs.first, pair), at(pairs.first, pair + 1)):
        c, below_b = at(pairs.column, i), at(pairs.sign, i) > 0
        above = (on_b if below_b else on_a) & before(c, first)
        power = dot6(six_at(comp.own, c, OWN_S), sub6(dW, only6(carried, above)))
        add_to(T_out, c, k, (-1.0 if below_b else 1.0) * power)
