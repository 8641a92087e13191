"""Columns of a tree with bodies that deform, by the coordinates of the system: z_c = E z.

A column of a joint and that of an elastic coordinate is a coordinate; one of a node is a linear form L q of the elastic
coordinates of its body, with numbers of theta. E is constant in time, so that rates go the same way; what acts on
columns acts on coordinates by E^T, and matrices of columns become such of coordinates by E on both sides. E varies with
theta by L. Only rows of L are gone through. Derivation: docs/theory/flexible_bodies.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import WIDTH, add_to, at, block, padded, put, width, zeros
from mbsim_cli.kernels.algebra.whole import clear


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


def column_motion(tree, dtype=np.float64):
    """Allocate ColumnMotion."""
    return ColumnMotion(*(np.zeros(tree.column_kind.size, dtype) for _ in range(3)))


def column_changes(tree, p, dtype=np.float64):
    """Allocate ColumnMotion of p directions, ``_simd.padded``."""
    return ColumnMotion(*(zeros((tree.column_kind.size, p), dtype) for _ in range(3)))


def column_equations(tree, dtype=np.float64):
    """Allocate ColumnEquations."""
    n, z = tree.column_kind.size, np.zeros
    nodes = z((tree.column.size, tree.node.size), dtype)
    T = zeros((n, padded(n) + WIDTH), dtype)  # rows of nodes are added to it in blocks, also behind its last column
    return ColumnEquations(z(n, dtype), z(n, dtype), T, z((2, n), dtype), nodes)


@inlined
def _elastic_of(tree, v):
    """Body of node column v, the column of its first elastic coordinate, that coordinate, and how many there are."""
    f = tree.node_body[v]
    first = tree.elastic[f]
    return first, first - tree.node.size, tree.elastic[f + 1] - first


@kernel
def place_columns(tree, theta, z, out):
    """z_c = E z, out (nc,)."""
    for i in range(tree.column.size):
        out[at(tree.column, i)] = at(z, i)
    for v in range(tree.node.size):
        _, first, n = _elastic_of(tree, v)
        o, total = tree.shape[v], 0.0 * z[0]
        for j in range(n):
            total += at(theta, o + j) * at(z, first + j)
        out[tree.node[v]] = total


@kernel
def move_columns(tree, theta, zd, zdd, out):
    """Rates of all columns by those of the coordinates."""
    place_columns(tree, theta, zd, out.zd)
    place_columns(tree, theta, zdd, out.zdd)


@kernel
def spread_columns(tree, theta, each, dz, out):
    """E dz, out (nc, p): changes of columns by those of coordinates alone; ``each`` (p,) as of Covectors."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            put(out, tree.column[i], k, at(dz, i, k))
        for v in range(tree.node.size):
            _, first, n = _elastic_of(tree, v)
            o, total = tree.shape[v], 0.0 * at(dz, 0, k)
            for j in range(n):
                total += theta[o + j] * at(dz, first + j, k)
            put(out, tree.node[v], k, total)


@kernel
def vary_columns(tree, theta, dtheta, z, dz, out):
    """Variation E dz + dE z of E z, out (nc, p)."""
    spread_columns(tree, theta, dtheta[0], dz, out)
    for v in range(tree.node.size):
        _, first, n = _elastic_of(tree, v)
        o, c = tree.shape[v], tree.node[v]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            for j in range(n):
                add_to(out, c, k, z[first + j] * at(dtheta, o + j, k))


@kernel
def rows_to_coordinates(tree, theta, G, out):
    """E^T G, out (n,)."""
    for i in range(tree.column.size):
        out[i] = at(G, at(tree.column, i))
    for v in range(tree.node.size):
        _, first, n = _elastic_of(tree, v)
        o, own = tree.shape[v], G[tree.node[v]]
        for j in range(n):
            out[first + j] += at(theta, o + j) * own


@kernel
def vary_rows(tree, theta, dtheta, G, dG, out):
    """Variation E^T dG + dE^T G of E^T G, out (n, p)."""
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        for i in range(tree.column.size):
            put(out, i, k, at(dG, tree.column[i], k))
        for v in range(tree.node.size):
            _, first, n = _elastic_of(tree, v)
            o, c = tree.shape[v], tree.node[v]
            own, change = G[c], at(dG, c, k)
            for j in range(n):
                add_to(out, first + j, k, theta[o + j] * change + own * at(dtheta, o + j, k))


@kernel
def jacobian_to_coordinates(tree, theta, J, out):
    """J E, out (m, n)."""
    for r in range(J.shape[0]):
        rows_to_coordinates(tree, theta, J[r], out[r])


@kernel
def matrix_to_coordinates(tree, theta, T, out):
    """E^T T E, out (n, n) or wider; T, as wide as ``ColumnEquations.T``, is lost."""
    for v in range(tree.node.size):
        first, _, n = _elastic_of(tree, v)
        o, c = tree.shape[v], tree.node[v]
        for j in range(n):
            factor = at(theta, o + j)
            for g in range(0, T.shape[1], width(T)):
                k = block(T, g)
                add_to(T, first + j, k, factor * at(T, c, k))
    for i in range(tree.column.size):
        row = at(tree.column, i)
        for v in range(tree.node.size):
            first, _, n = _elastic_of(tree, v)
            o, own = tree.shape[v], at(T, row, tree.node[v])
            for g in range(0, n, width(T)):  # behind a node's numbers stand zeros
                add_to(T, row, block(T, first + g), own * at(theta, block(theta, o + g)))
        for j in range(tree.column.size):
            put(out, i, j, at(T, row, at(tree.column, j)))


@kernel
def keep_node_columns(tree, theta, M, out):
    """E^T M at the columns of nodes, out (n, nv)."""
    for v in range(tree.node.size):
        c = tree.node[v]
        for i in range(tree.column.size):
            out[i, v] = M[tree.column[i], c]
        for u in range(tree.node.size):
            _, first, n = _elastic_of(tree, u)
            o, own = tree.shape[u], M[tree.node[u], c]
            for j in range(n):
                out[first + j, v] += theta[o + j] * own


@kernel
def add_changed_accelerations(tree, dtheta, nodes, x, out):
    """Add E^T M dE x to out (n, p): what nodes take that theta moves otherwise; needs ``keep_node_columns``."""
    for v in range(tree.node.size):
        _, first, n = _elastic_of(tree, v)
        o = tree.shape[v]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            change = 0.0 * at(dtheta, 0, k)
            for j in range(n):
                change += x[first + j] * at(dtheta, o + j, k)
            for i in range(tree.column.size):
                add_to(out, i, k, nodes[i, v] * change)


@kernel
def pull_rows(tree, theta, each, hat, out):
    """Add E^T hat, hat (nc, p), to out (n, p); hat is cleared."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            add_to(out, i, k, at(hat, tree.column[i], k))
        for v in range(tree.node.size):
            _, first, n = _elastic_of(tree, v)
            o, own = tree.shape[v], at(hat, tree.node[v], k)
            for j in range(n):
                add_to(out, first + j, k, theta[o + j] * own)
    clear(hat)


@kernel
def pull_columns(tree, theta, z, zd, zdd, cov):
    """Take covectors of the columns' motion, which are cleared, to coordinates and numbers."""
    _pull_shapes(tree, cov.each, z, cov.columns.z, cov.theta)
    _pull_shapes(tree, cov.each, zd, cov.columns.zd, cov.theta)
    _pull_shapes(tree, cov.each, zdd, cov.columns.zdd, cov.theta)
    pull_rows(tree, theta, cov.each, cov.columns.z, cov.z)
    pull_rows(tree, theta, cov.each, cov.columns.zd, cov.zd)
    pull_rows(tree, theta, cov.each, cov.columns.zdd, cov.zdd)


@kernel
def _pull_shapes(tree, each, z, hat, theta_out):
    """Add to the numbers of nodes covectors hat (nc, p) of the columns that they move by z."""
    for v in range(tree.node.size):
        _, first, n = _elastic_of(tree, v)
        o, c = tree.shape[v], tree.node[v]
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            for j in range(n):
                add_to(theta_out, o + j, k, z[first + j] * at(hat, c, k))


@kernel
def pull_virtual(tree, G, virtual, theta_out):
    """Add to the numbers of nodes what they are in (E mu) . G, mu of the virtual motion."""
    for v in range(tree.node.size):
        _, first, n = _elastic_of(tree, v)
        o, own = tree.shape[v], G[tree.node[v]]
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            for j in range(n):
                add_to(theta_out, o + j, k, own * at(virtual.mu, first + j, k))
