"""Columns of a tree with bodies that deform, by the coordinates of the system: z_c = E z.

A column of a joint and that of an elastic coordinate is a coordinate; one of a node is a linear form L q of the elastic
coordinates of its body, with numbers of theta. Rates go the same way; what acts on columns acts on coordinates by E^T,
and matrices of columns become such of coordinates by E on both sides. Only ``rows`` of E are gone through, those of
nodes. E varies with theta by L, and is constant in time, but for nodes that stiffen: what these add is in
``stiffened_nodes``. Derivation: docs/theory/flexible_bodies.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import clear
from mbsim_cli.kernels.algorithms.flexible.stiffened_nodes import (
    add_stiffened_accelerations,
    elastic_of,
    place_stiffened,
    pull_stiffened,
    pull_stiffened_virtual,
    rate_stiffened,
    vary_stiffened,
    vary_stiffened_rows,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import WIDTH, add_to, at, block, padded, put, width, zeros


class ColumnMotion(NamedTuple):
    """Motion of all columns, nc of them, its variations, or covectors of it."""

    z: np.ndarray  # (nc,) or (nc, p)
    zd: np.ndarray
    zdd: np.ndarray


class ColumnEquations(NamedTuple):
    """The equations of motion in columns."""

    G: np.ndarray  # (nc,)
    Q: np.ndarray  # (nc,)
    T: np.ndarray  # (nc, wider than nc) tangent, or mass matrix
    x: np.ndarray  # (2, nc) accelerations of two systems at rest
    nodes: np.ndarray  # (n, nv) E^T M at the columns of nodes: what their accelerations take of each coordinate
    rates: np.ndarray  # (n, nv) the same of M + C, where nodes stiffen


def column_motion(tree, dtype=np.float64):
    """Allocate ColumnMotion."""
    return ColumnMotion(*(np.zeros(tree.column_kind.size, dtype) for _ in range(3)))


def column_changes(tree, p, dtype=np.float64):
    """Allocate ColumnMotion of p directions, ``simd.padded``."""
    return ColumnMotion(*(zeros((tree.column_kind.size, p), dtype) for _ in range(3)))


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
def move_columns(tree, theta, rows, zd, zdd, out):
    """Rates of all columns by those of the coordinates."""
    apply_columns(tree, rows, zd, out.zd)
    apply_columns(tree, rows, zdd, out.zdd)
    rate_stiffened(tree, theta, zd, out.zdd)


@kernel
def spread_columns(tree, rows, each, dz, out):
    """E dz, out (nc, p): changes of columns by those of coordinates alone; ``each`` (p,) as of Covectors."""
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
def vary_columns(tree, theta, rows, dtheta, state, change, out):
    """Variations of the motion of all columns by those of coordinates, ``change`` (dz, dz', dz''), and of theta."""
    vary_linear(tree, rows, dtheta, state.z, change.z, out.z)
    vary_linear(tree, rows, dtheta, state.zd, change.zd, out.zd)
    vary_linear(tree, rows, dtheta, state.zdd, change.zdd, out.zdd)
    vary_stiffened(tree, theta, dtheta, state, change, out)


@kernel
def vary_linear(tree, rows, dtheta, z, dz, out):
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
def pull_columns(tree, theta, rows, z, zd, zdd, cov):
    """Take covectors of the columns' motion, which are cleared, to coordinates and numbers."""
    pull_stiffened(tree, theta, z, zd, zdd, cov)
    _pull_shapes(tree, cov.each, z, cov.columns.z, cov.theta)
    _pull_shapes(tree, cov.each, zd, cov.columns.zd, cov.theta)
    _pull_shapes(tree, cov.each, zdd, cov.columns.zdd, cov.theta)
    pull_rows(tree, rows, cov.each, cov.columns.z, cov.z)
    pull_rows(tree, rows, cov.each, cov.columns.zd, cov.zd)
    pull_rows(tree, rows, cov.each, cov.columns.zdd, cov.zdd)


@kernel
def _pull_shapes(tree, each, z, hat, theta_out):
    """Add to the numbers of nodes covectors hat (nc, p) of the columns that they move by z."""
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o, c = tree.shape[v], tree.node[v]
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            for j in range(n):
                add_to(theta_out, o + j, k, z[first + j] * at(hat, c, k))


@kernel
def pull_virtual(tree, theta, z, G, virtual, cov):
    """Add to numbers of nodes, and coordinates, what they are in (E mu) . G, mu of the virtual motion."""
    for v in range(tree.node.size):
        _, first, n = elastic_of(tree, v)
        o, own = tree.shape[v], G[tree.node[v]]
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            for j in range(n):
                add_to(cov.theta, o + j, k, own * at(virtual.mu, first + j, k))
    pull_stiffened_virtual(tree, theta, z, G, virtual, cov)
