"""Columns of a tree with bodies that deform, by the coordinates of the system: z_c = E z.

A column of a joint and that of an elastic coordinate is a coordinate; one of a node is a linear form L q of the elastic
coordinates of its body, with numbers of theta. Rates go the same way; what acts on columns acts on coordinates by E^T,
and matrices of columns become such of coordinates by E on both sides. Only ``rows`` of E are gone through, those of
nodes. E varies with theta by L, and is constant in time, but for nodes that stiffen: what these add stands
below. Derivation: docs/theory/flexible_bodies.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, padded, put, width, zeros


class ColumnEquations(NamedTuple):
    """The equations of motion in columns."""

    G: np.ndarray  # (nc,)
    Q: np.ndarray  # (nc,)
    T: np.ndarray  # (nc, wider than nc) tangent, or mass matrix
    x: np.ndarray  # (2, nc) accelerations of two systems at rest
    nodes: np.ndarray  # (n, nv) E^T M at the columns of nodes: what their accelerations take of each coordinate
    rates: np.ndarray  # (n, nv) the same of M + C, where nodes stiffen


def column_motion(tree, dtype=np.float64):
    """Allocate Motion of all columns."""
    return Motion(*(np.zeros(tree.column_kind.size, dtype) for _ in range(3)))


def column_changes(tree, p, dtype=np.float64):
    """Allocate Motion of all columns in p directions, ``simd.padded``."""
    return Motion(*(zeros((tree.column_kind.size, p), dtype) for _ in range(3)))


def column_equations(tree, dtype=np.float64):
    """Allocate ColumnEquations."""
    n, z = tree.column_kind.size, np.zeros
    nodes, rates = (z((tree.column.size, tree.node.size), dtype) for _ in range(2))
    return ColumnEquations(z(n, dtype), z(n, dtype), wide_rows(tree, n, dtype), z((2, n), dtype), nodes, rates)


def wide_rows(tree, rows, dtype=np.float64):
    """Allocate ``rows`` of nc numbers and more: rows of nodes are added to them in blocks, also behind the last one."""
    return zeros((rows, padded(tree.column_kind.size) + WIDTH), dtype)


def node_rows(tree, dtype=np.float64):
    """Allocate the rows of E of nodes, zeros behind the numbers of each."""
    return zeros((tree.node.size, padded(np.diff(tree.elastic).max(initial=0)) + WIDTH), dtype)


@kernel
def place_columns(tree, theta, z, rows_out, out):
    """All columns (nc,), and the rows of E."""
    for i in range(tree.column.size):
        out[at(tree.column, i)] = at(z, i)
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o, total = tree.shape[v], 0.0 * z[0]
        for j in range(n):
            put(rows_out, v, j, at(theta, o + j))
            total += at(theta, o + j) * at(z, first + j)
        out[tree.node[v]] = total
    place_stiffened(tree, theta, z, rows_out, out)


@kernel
def apply_columns(tree, rows, x, out):
    """E x, out (nc,)."""
    for i in range(tree.column.size):
        out[at(tree.column, i)] = at(x, i)
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        total = 0.0 * x[0]
        for j in range(n):
            total += at(rows, v, j) * at(x, first + j)
        out[tree.node[v]] = total


@kernel
def rates_of_columns(tree, theta, rows, zd, zdd, out):
    """Rates of all columns by those of the coordinates."""
    apply_columns(tree, rows, zd, out.zd)
    apply_columns(tree, rows, zdd, out.zdd)
    rate_stiffened(tree, theta, zd, out.zdd)


@kernel
def spread_columns(tree, rows, each, dz, out):
    """E dz, out (nc, p): changes of columns by those of coordinates alone; ``each`` (p,) as of Adjoints."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            put(out, tree.column[i], k, at(dz, i, k))
        for v in range(tree.node.size):
            _, first, n = elastic_of(tree, v)
            total = 0.0 * at(dz, 0, k)
            for j in range(n):
                total += rows[v, j] * at(dz, first + j, k)
            put(out, tree.node[v], k, total)


@kernel
def vary_motion_of_columns(tree, theta, rows, dtheta, state, change, out):
    """Variations of the motion of all columns by those of coordinates, ``change`` (dz, dz', dz''), and of theta."""
    vary_spread(tree, rows, dtheta, state.z, change.z, out.z)
    vary_spread(tree, rows, dtheta, state.zd, change.zd, out.zd)
    vary_spread(tree, rows, dtheta, state.zdd, change.zdd, out.zdd)
    vary_stiffened(tree, theta, dtheta, state, change, out)


@kernel
def vary_spread(tree, rows, dtheta, z, dz, out):
    """Variation E dz + dL z of E z where E is constant in time, out (nc, p)."""
    spread_columns(tree, rows, dtheta[0], dz, out)
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o, c = tree.shape[v], tree.node[v]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            for j in range(n):
                add_to(out, c, k, z[first + j] * at(dtheta, o + j, k))


@kernel
def rows_to_coordinates(tree, rows, G, out):
    """E^T G, out (n,)."""
    for i in range(tree.column.size):
        out[i] = at(G, at(tree.column, i))
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        own = G[tree.node[v]]
        for j in range(n):
            out[first + j] += at(rows, v, j) * own


@kernel
def vary_rows(tree, theta, rows, dtheta, z, dz, G, dG, out):
    """Variation E^T dG + dE^T G of E^T G, out (n, p)."""
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        for i in range(tree.column.size):
            put(out, i, k, at(dG, tree.column[i], k))
        for v in range(tree.node.size):
            _, first, n = elastic_of(tree, v)
            o, c = tree.shape[v], tree.node[v]
            own, change = G[c], at(dG, c, k)
            for j in range(n):
                add_to(out, first + j, k, rows[v, j] * change + own * at(dtheta, o + j, k))
    vary_stiffened_rows(tree, theta, dtheta, z, dz, G, out)


@kernel
def jacobian_to_coordinates(tree, rows, J, out):
    """J E, out (m, n); J, as wide as ``wide_rows``, is lost."""
    for r in range(J.shape[0]):
        _row_to_coordinates(tree, rows, J, r, out, r)


@inlined
def _row_to_coordinates(tree, rows, T, row, out, i):
    """Row i of ``out`` from a row of T, of which elastic columns take what moves nodes."""
    for f in range(tree.flexible.size):
        for g in range(0, tree.elastic[f + 1] - tree.elastic[f], width(T)):
            k = block(T, tree.elastic[f] + g)
            total = at(T, row, k)
            for v in range(tree.node.size):
                if at(tree.node_body, v) == f:  # behind a node's numbers stand zeros
                    total = total + at(T, row, at(tree.node, v)) * at(rows, v, block(rows, g))
            put(T, row, k, total)
    nodes = tree.node.size
    joints = tree.elastic[0] - nodes
    for j in range(joints):
        put(out, i, j, at(T, row, at(tree.column, j)))
    for j in range(joints, tree.column.size):
        put(out, i, j, at(T, row, j + nodes))


@kernel
def matrix_to_coordinates(tree, rows, T, out):
    """E^T T E, out (n, n) or wider; T, as wide as ``wide_rows``, is lost."""
    for f in range(tree.flexible.size):
        first, last = tree.elastic[f], tree.elastic[f + 1]
        for g in range(0, T.shape[0], width(T)):
            k = block(T, g)
            for c in range(first, last):
                total = at(T, c, k)
                for v in range(tree.node.size):
                    if at(tree.node_body, v) == f:
                        total = total + at(rows, v, c - first) * at(T, at(tree.node, v), k)
                put(T, c, k, total)
    for i in range(tree.column.size):
        _row_to_coordinates(tree, rows, T, at(tree.column, i), out, i)


@kernel
def keep_node_columns(tree, rows, M, out):
    """E^T M at the columns of nodes, out (n, nv)."""
    for v in range(tree.node.size):
        c = tree.node[v]
        for i in range(tree.column.size):
            out[i, v] = M[tree.column[i], c]
        for u in range(tree.node.size):
            _, first, n = elastic_of(tree, u)
            own = M[tree.node[u], c]
            for j in range(n):
                out[first + j, v] += rows[u, j] * own


@kernel
def add_changed_accelerations(tree, theta, dtheta, z, dz, nodes, x, out):
    """Add E^T M dE x to out (n, p): what nodes take that are moved otherwise; needs ``keep_node_columns``."""
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o = tree.shape[v]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            change = 0.0 * at(dtheta, 0, k)
            for j in range(n):
                change += x[first + j] * at(dtheta, o + j, k)
            for i in range(tree.column.size):
                add_to(out, i, k, nodes[i, v] * change)
    add_stiffened_accelerations(tree, theta, dtheta, z, dz, nodes, x, out)


@kernel
def pull_rows(tree, rows, each, hat, out):
    """Add E^T hat, hat (nc, p), to out (n, p); hat is cleared."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            add_to(out, i, k, at(hat, tree.column[i], k))
        for v in range(tree.node.size):
            _, first, n = elastic_of(tree, v)
            own = at(hat, tree.node[v], k)
            for j in range(n):
                add_to(out, first + j, k, rows[v, j] * own)
    clear(hat)


@kernel
def pull_columns(tree, theta, rows, z, zd, zdd, adj):
    """Take adjoints of the columns' motion, which are cleared, to coordinates and numbers."""
    pull_stiffened(tree, theta, z, zd, zdd, adj)
    _pull_shapes(tree, adj.each, z, adj.columns.z, adj.theta)
    _pull_shapes(tree, adj.each, zd, adj.columns.zd, adj.theta)
    _pull_shapes(tree, adj.each, zdd, adj.columns.zdd, adj.theta)
    pull_rows(tree, rows, adj.each, adj.columns.z, adj.z)
    pull_rows(tree, rows, adj.each, adj.columns.zd, adj.zd)
    pull_rows(tree, rows, adj.each, adj.columns.zdd, adj.zdd)


@kernel
def _pull_shapes(tree, each, z, hat, theta_out):
    """Add to the numbers of nodes adjoints hat (nc, p) of the columns that they move by z."""
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o, c = tree.shape[v], tree.node[v]
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            for j in range(n):
                add_to(theta_out, o + j, k, z[first + j] * at(hat, c, k))


@kernel
def pull_virtual(tree, theta, z, G, virtual, adj):
    """Add to numbers of nodes, and coordinates, what they are in (E mu) . G, mu of the virtual motion."""
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o, own = tree.shape[v], G[tree.node[v]]
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            for j in range(n):
                add_to(adj.theta, o + j, k, own * at(virtual.mu, first + j, k))
    pull_stiffened_virtual(tree, theta, z, G, virtual, adj)


# Stiffened nodes ------------------------------------------------------------------------------------------------------
#
# What nodes that stiffen add to ``node_columns``: their columns are L q + q . P q / 2, with symmetric P.
#
# So the rows of E are L + P q, and columns' accelerations E q'' + q' . P q'. Where no node stiffens, the loops here are
# empty. Derivation: docs/theory/flexible_bodies.md, section 8.


@inlined
def elastic_of(tree, v):
    """Of the body of node column v: column of its first elastic coordinate, that coordinate, how many there are."""
    f = tree.node_body[v]
    first = tree.elastic[f]
    return first, first - tree.node.size, tree.elastic[f + 1] - first


@inlined
def _bent(tree, w):
    """Number and column of node column w of those that stiffen, first coordinate and number of coordinates of its body,
    and where theta has its P."""
    v = tree.bent[w]
    _, first, n = elastic_of(tree, v)
    return v, tree.node[v], first, n, tree.bend[w]


@inlined
def _times(theta, o, n, j, q, first):
    """Row j of P q."""
    total = 0.0 * q[0]
    for i in range(n):
        total += at(theta, o + n * j + i) * at(q, first + i)
    return total


@inlined
def _times2(theta, o, n, j, dq, first, k):
    """Row j of P dq, in the directions k."""
    total = 0.0 * at(dq, 0, k)
    for i in range(n):
        total += theta[o + n * j + i] * at(dq, first + i, k)
    return total


@inlined
def _changed(dtheta, o, n, j, q, first, k):
    """Row j of dP q, in the directions k."""
    total = 0.0 * at(dtheta, 0, k)
    for i in range(n):
        total += q[first + i] * at(dtheta, o + n * j + i, k)
    return total


@kernel
def place_stiffened(tree, theta, z, rows_out, out):
    """Add P z to the rows of E, and half of it to the columns (nc,)."""
    for w in range(tree.bent.size):
        v, c, first, n, o = _bent(tree, w)
        for j in range(n):
            slope = _times(theta, o, n, j, z, first)
            add_to(rows_out, v, j, slope)
            out[c] += 0.5 * slope * at(z, first + j)


@kernel
def rate_stiffened(tree, theta, zd, out):
    """Add z' . P z' to the accelerations of columns (nc,)."""
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for j in range(n):
            out[c] += at(zd, first + j) * _times(theta, o, n, j, zd, first)


@kernel
def vary_stiffened(tree, theta, dtheta, state, change, out):
    """Add to variations of the columns' motion (nc, p) what E varies by with the coordinates, and with P."""
    z, zd, zdd = state.z, state.zd, state.zdd
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            for j in range(n):
                i = first + j
                by_numbers = _changed(dtheta, o, n, j, z, first, k)
                slope = by_numbers + _times2(theta, o, n, j, change.z, first, k)
                rate = _changed(dtheta, o, n, j, zd, first, k) + 2.0 * _times2(theta, o, n, j, change.zd, first, k)
                add_to(out.z, c, k, 0.5 * z[i] * by_numbers)
                add_to(out.zd, c, k, zd[i] * slope)
                add_to(out.zdd, c, k, zdd[i] * slope + zd[i] * rate)


@kernel
def vary_stiffened_rows(tree, theta, dtheta, z, dz, G, out):
    """Add (dE - dL)^T G to out (n, p)."""
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            for j in range(n):
                slope = _changed(dtheta, o, n, j, z, first, k) + _times2(theta, o, n, j, dz, first, k)
                add_to(out, first + j, k, G[c] * slope)


@kernel
def add_stiffened_accelerations(tree, theta, dtheta, z, dz, nodes, x, out):
    """Add E^T M (dE - dL) x to out (n, p)."""
    for w in range(tree.bent.size):
        v, _, first, n, o = _bent(tree, w)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            change = 0.0 * at(dtheta, 0, k)
            for j in range(n):
                slope = _changed(dtheta, o, n, j, z, first, k) + _times2(theta, o, n, j, dz, first, k)
                change += x[first + j] * slope
            for i in range(tree.column.size):
                add_to(out, i, k, nodes[i, v] * change)


@kernel
def vary_stiffened_speeds(factor, tree, theta, J, each, zd, dzd, out):
    """Add a factor times what Phi'' (m, p) changes by with velocities through the columns' accelerations."""
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            change = 0.0 * at(dzd, 0, k)
            for j in range(n):
                change += 2.0 * zd[first + j] * _times2(theta, o, n, j, dzd, first, k)
            for r in range(J.shape[0]):
                add_to(out, r, k, factor * J[r, c] * change)


@kernel
def add_stiffened_tangent(tree, theta, beta, gamma, zd, zdd, found, T_out):
    """Add to T (n, n) what E varies by with the coordinates.

    ``found`` has the residual of columns, and E^T M and E^T (M + C) at those of nodes.
    """
    for w in range(tree.bent.size):
        v, c, first, n, o = _bent(tree, w)
        for j in range(n):
            rate = _times(theta, o, n, j, zd, first)
            by_speed = gamma * rate
            by_acceleration = 2.0 * beta * rate + gamma * _times(theta, o, n, j, zdd, first) - by_speed
            for i in range(tree.column.size):
                T_out[i, first + j] += found.rates[i, v] * by_speed + found.nodes[i, v] * by_acceleration
            for i in range(n):
                T_out[first + i, first + j] += gamma * found.G[c] * theta[o + n * i + j]


@kernel
def pull_stiffened(tree, theta, z, zd, zdd, adj):
    """The transpose of ``vary_stiffened``, added to adjoints of coordinates and numbers."""
    of = adj.columns
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, adj.each.size, width(adj.each)):
            k = block(adj.each, g)
            by_z, by_zd, by_zdd = at(of.z, c, k), at(of.zd, c, k), at(of.zdd, c, k)
            for j in range(n):
                for i in range(n):
                    q, rate = z[first + i], zd[first + i]
                    by_slope = zd[first + j] * by_zd + zdd[first + j] * by_zdd
                    own = theta[o + n * j + i]
                    add_to(adj.z, first + i, k, own * by_slope)
                    add_to(adj.zd, first + i, k, 2.0 * own * zd[first + j] * by_zdd)
                    by_number = q * (0.5 * z[first + j] * by_z + by_slope) + rate * zd[first + j] * by_zdd
                    add_to(adj.theta, o + n * j + i, k, by_number)


@kernel
def pull_stiffened_virtual(tree, theta, z, G, virtual, adj):
    """Add what coordinates and P are in (E mu) . G."""
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            for j in range(n):
                own = G[c] * at(virtual.mu, first + j, k)
                for i in range(n):
                    add_to(adj.z, first + i, k, theta[o + n * j + i] * own)
                    add_to(adj.theta, o + n * j + i, k, z[first + i] * own)


@kernel
def pull_stiffened_speeds(tree, theta, J, each, zd, nu, zd_out):
    """The transpose of ``vary_stiffened_speeds`` with the factor 1."""
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            total = 0.0 * at(each, k)
            for r in range(J.shape[0]):
                total += J[r, c] * at(nu, r, k)
            for j in range(n):
                for i in range(n):
                    add_to(zd_out, first + i, k, 2.0 * zd[first + j] * theta[o + n * j + i] * total)
