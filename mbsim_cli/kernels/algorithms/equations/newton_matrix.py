"""Tangent of the discrete equations of motion in one pass, M + beta C + gamma K with all parts of C and K.

With composites over subtrees, column k of joint i and an ancestor column j (or k itself),
    T_jk = S_j . (I X_k + B Y_k + gamma S_k x* F),     T_kj = (I S_k) . X_j + (B^T S_k) . Y_j,
X = S + 2 beta S' + gamma S'', Y = beta S + gamma S'; I, B, F belong to the subtree of i. Elements add their part
over the path between their bodies. Rows of T are formed eight columns at a time, by the spans of branches, subtrees and
paths. The trapezoidal rule has beta = h/2, gamma = h^2/4. Derivation: docs/theory/newton_matrix.md.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy6,
    cross_force,
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    rows_at,
    scale6,
    shift_force,
    shift_motion,
    six_at,
    store,
    store_rows,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    cross3,
    dot3,
    inner4,
    load3_of,
    norm2,
    rate_power,
    rotate,
    row3,
    row9,
    scale3,
    unrotate,
)
from mbsim_cli.kernels.algorithms.equations import constraints
from mbsim_cli.kernels.algorithms.equations.constraints import VALUE
from mbsim_cli.kernels.algorithms.equations.forces import measure_force_part, part_of_force_on_bodies
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import composite_inertia, own_rates
from mbsim_cli.kernels.algorithms.equations.signals import add_signal_tangent
from mbsim_cli.kernels.algorithms.motion.about_origin import before, span_twists, spread
from mbsim_cli.kernels.algorithms.motion.kinematics import euler_moment, offset_to_parent
from mbsim_cli.kernels.algorithms.motion.workspace import (
    COLUMN_S,
    COLUMN_UP,
    COLUMN_X,
    COLUMN_Y,
    OWN_DOWN,
    OWN_RATE,
    OWN_S,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, only
from mbsim_cli.kernels.elements.columns import load4
from mbsim_cli.model.codes import Column, Measure
from mbsim_cli.model.layout import NONE


@kernel
def newton_matrix(model, theta, t, beta, gamma, motion, lines, multiplier, kin, comp, T_out):
    """T (n, ``padded(n)``) in O(n d + elements); needs ``constraints``, ``element_forces`` and ``residual``."""
    clear(T_out)
    tree, forces = model.tree, model.forces
    _compose_columns(tree, beta, gamma, kin, comp)
    _add_inertia(model, comp, T_out)
    for c in range(motion.z.size):
        if tree.column_kind[c] == Column.EULER_0:
            _add_euler(tree, theta, c, gamma, motion.z, kin, comp, T_out)
    _add_constraints(model, theta, gamma, lines, multiplier, kin, comp, T_out)
    for f in range(forces.kind.size):
        if forces.measure[f] != NONE:
            measure_force_part(model, theta, beta, gamma, motion.z, f, kin, comp, T_out)
        else:
            part_of_force_on_bodies(model, theta, t, gamma, f, kin, comp, T_out)
    add_signal_tangent(model, theta, t, beta, gamma, motion, kin, comp, T_out)


@inlined
def _compose_columns(tree, beta, gamma, kin, comp):
    """Keep S, X, Y of all columns, and of the subtree of each column's body I X + B Y + gamma S x* F, I S, B^T S."""
    columns, own, rate = comp.columns, comp.own, comp.rate
    composite_inertia(tree, kin, comp)
    own_rates(tree, kin, comp)
    for i in range(tree.parent.size - 1, -1, -1):
        inertia, F = inertia_at(comp.inertia, i), motion_at(comp.F, i)
        K, p = row9(rate, i), row3(rate, i, 9)
        back = scale3(-1.0, row3(kin.ref, i, 0))
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            S, S1, S2 = motion_at(kin.S, c), motion_at(kin.S1, c), motion_at(kin.S2, c)
            X, Y = axpy6(gamma, S2, axpy6(2.0 * beta, S1, S)), axpy6(gamma, S1, scale6(beta, S))
            of_rate = (rotate(K, Y[0]), cross3(Y[0], p))
            up = axpy6(gamma, cross_force(S, F), add6(inertia_apply(inertia, X), of_rate))
            down, turned = inertia_apply(inertia, S), add3(unrotate(K, S[0]), cross3(p, S[1]))
            S, X, Y = shift_motion(S, back), shift_motion(X, back), shift_motion(Y, back)
            up, down = shift_force(up, back), shift_force(down, back)
            store_rows(columns, COLUMN_S, c, S)
            store_rows(columns, COLUMN_X, c, X)
            store_rows(columns, COLUMN_Y, c, Y)
            store_rows(columns, COLUMN_UP, c, up)
            store(own, c, S, OWN_S)
            store(own, c, down, OWN_DOWN)
            own[c, OWN_RATE], own[c, OWN_RATE + 1], own[c, OWN_RATE + 2] = turned
        # the couples x' x^T of a subtree about the parent's reference point, which lies -d away: x' (x + d)^T
        parent, d = tree.parent[i], offset_to_parent(tree, kin, i)
        trace = dot3(p, d)
        for r in range(3):
            rate[parent, 9 + r] += p[r]
            rate[parent, 4 * r] += trace
            for c in range(3):
                rate[parent, 3 * r + c] += K[3 * r + c] - p[r] * d[c]


@inlined
def _add_inertia(model, comp, T_out):
    """Add the rows of each body at the columns above it, and at its own and those that it carries."""
    columns, own, spans, tree, pairs = comp.columns, comp.own, comp.spans, model.tree, model.pairs.a.size
    for i in range(tree.parent.size):
        first, last = tree.first_column[i], tree.first_column[i + 1]
        branch, subtree = pairs + i, pairs + tree.parent.size + i  # numbers of their sets of spans
        for s in range(at(spans.first, branch), at(spans.first, branch + 1)):
            column = at(spans.column, s)
            j, bits = block(columns, column), at(spans.on_b, s)
            X, w = rows_at(columns, COLUMN_X, j), load3_of(columns, COLUMN_Y, j)
            for c in range(first, last):
                power = dot6(X, six_at(own, c, OWN_DOWN)) + dot3(w, row3(own, c, OWN_RATE))
                add_to(T_out, c, j, only(power, bits & before(c, column)))
        for s in range(at(spans.first, subtree), at(spans.first, subtree + 1)):
            column = at(spans.column, s)
            j, bits = block(columns, column), at(spans.on_b, s)
            up = rows_at(columns, COLUMN_UP, j)
            for c in range(first, last):
                power = dot6(six_at(own, c, OWN_S), up)
                add_to(T_out, c, j, only(power, bits & ~before(c, column)))


@inlined
def _add_euler(tree, theta, c, gamma, z, kin, comp, T_out):
    """Euler parameters of one joint, from c on, do not carry each other's columns, which change by themselves."""
    i = tree.column_body[c]
    total = sub6(motion_at(comp.F, i), motion_at(comp.W, i))
    for l in range(c, c + 3):
        carried = scale6(gamma, cross_force(motion_at(kin.S, l), total))
        for j in range(l + 1, c + 4):
            T_out[j, l] += dot6(motion_at(kin.S, j), carried)
    e, moment = load4(z, c), euler_moment(tree, theta, kin, i, total)
    s = 2.0 * gamma / norm2(e)
    for j in range(4):
        power = rate_power(moment, j)
        along = 2.0 * inner4(power, e) / norm2(e)
        for l in range(4):
            T_out[c + j, c + l] += s * (power[l] - along * e[l])


@inlined
def _add_constraints(model, theta, gamma, lines, multiplier, kin, comp, T_out):
    """Rows that follow one another and act between the same bodies are taken together."""
    measures, rows, pairs, spans, first = model.measures, model.constraints.measure, model.pairs, comp.spans, 0
    while first < rows.size:
        m = rows[first]
        last, pair = constraints.rows_of_pair(rows, measures, first)
        if pair != NONE:
            Ra = row9(kin.R, pairs.a[pair])
            W = scale6(-1.0, constraints.constraint_wrench(lines, multiplier, first, last))
            for s in range(spans.first[pair], spans.first[pair + 1]):
                Na, Nb, _, _ = span_twists(comp, gamma, s)
                dW = constraints.vary_constraint_wrench(
                    rows, measures, theta, lines, multiplier, first, last, Ra, sub6(Nb, Na)
                )
                spread(pairs, pair, comp, s, add6(Na, Nb), W, scale6(-1.0, dW), T_out)
        elif measures.kind[m] == Measure.EULER_NORM:
            for j in range(measures.first[m], measures.first[m + 1]):
                c = measures.coordinate[j]
                T_out[c, c] += 2.0 * gamma * multiplier[first]
        elif constraints.has_curve(measures, m):
            c = measures.coordinate[measures.first[m + 1] - 1]
            T_out[c, c] -= gamma * multiplier[first] * lines[first, VALUE]
        first = last
