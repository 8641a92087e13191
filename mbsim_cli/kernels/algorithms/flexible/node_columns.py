"""Columns of a tree with bodies that deform, by the coordinates of the system: z_c = E z.

A column of a joint and that of an elastic coordinate is a coordinate; that of a node is a zeta of the elastic
coordinates of its body (``elements.flexible_nodes``). Rates go the same way; what acts on columns acts on coordinates
by E^T, and matrices of columns become such of coordinates by E on both sides. Only the ``rows`` of E that belong to
nodes are kept. Derivation: docs/theory/flexible_bodies.md.
"""

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.by_type import with_columns
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements.flexible_nodes import bent, pull_slopes, pull_zeta, slope, vary_slope, vary_zeta, zeta
from mbsim_cli.model.layout import NONE


@inlined
def _form(tree, v):
    """``elements.flexible_nodes`` of node column v."""
    f = tree.node_body[v]
    first, last = tree.elastic[f], tree.elastic[f + 1]
    return first - tree.node.size, last - first, tree.shape[v], tree.bend[v]


@inlined
def stiffens(tree):
    """Whether any node does."""
    found = False
    for v in range(tree.node.size):
        found = found or tree.bend[v] != NONE
    return found


@kernel
def place_columns(tree, theta, z, rows_out, out):
    """All columns (nc,), and the rows of E."""
    for i in range(tree.column.size):
        out[at(tree.column, i)] = at(z, i)
    for v in range(tree.node.size):
        form = _form(tree, v)
        for j in range(form[1]):
            put(rows_out, v, j, slope(theta, form, j, z))
        out[tree.node[v]] = zeta(theta, form, z)


@kernel
def apply_columns(tree, rows, x, out):
    """E x, out (nc,)."""
    for i in range(tree.column.size):
        out[at(tree.column, i)] = at(x, i)
    for v in range(tree.node.size):
        first, n, _, _ = _form(tree, v)
        total = 0.0 * x[0]
        for j in range(n):
            total += at(rows, v, j) * at(x, first + j)
        out[tree.node[v]] = total


@kernel
def rates_of_columns(tree, theta, rows, zd, zdd, out):
    """Rates of all columns by those of the coordinates."""
    apply_columns(tree, rows, zd, out.zd)
    apply_columns(tree, rows, zdd, out.zdd)
    for v in range(tree.node.size):
        form = _form(tree, v)
        if tree.bend[v] != NONE:
            for j in range(form[1]):
                out.zdd[tree.node[v]] += at(zd, form[0] + j) * bent(theta, form, j, zd)


@kernel
def spread_columns(tree, rows, each, dz, out):
    """E dz, out (nc, p): changes of columns by those of coordinates alone; ``each`` (p,) as of Adjoints."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            put(out, tree.column[i], k, at(dz, i, k))
        for v in range(tree.node.size):
            first, n, _, _ = _form(tree, v)
            total = 0.0 * at(dz, 0, k)
            for j in range(n):
                total += rows[v, j] * at(dz, first + j, k)
            put(out, tree.node[v], k, total)


@kernel
def vary_motion_of_columns(tree, theta, dtheta, motion, change, out):
    """Variations of the motion of all columns by those of coordinates, ``change`` (dz, dz', dz''), and of theta."""
    for g in range(0, dtheta.shape[1], width(dtheta)):
        k = block(dtheta, g)
        for i in range(tree.column.size):
            put(out.z, tree.column[i], k, at(change.z, i, k))
            put(out.zd, tree.column[i], k, at(change.zd, i, k))
            put(out.zdd, tree.column[i], k, at(change.zdd, i, k))
        for v in range(tree.node.size):
            x, x1, x2 = vary_zeta(theta, dtheta, _form(tree, v), motion, change, k)
            put(out.z, tree.node[v], k, x)
            put(out.zd, tree.node[v], k, x1)
            put(out.zdd, tree.node[v], k, x2)


@kernel
def rows_to_coordinates(tree, rows, G, out):
    """E^T G, out (n,)."""
    for i in range(tree.column.size):
        out[i] = at(G, at(tree.column, i))
    for v in range(tree.node.size):
        first, n, _, _ = _form(tree, v)
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
            form, own, change = _form(tree, v), G[tree.node[v]], at(dG, tree.node[v], k)
            for j in range(form[1]):
                by_row = own * vary_slope(theta, dtheta, form, j, z, dz, k)
                add_to(out, form[0] + j, k, rows[v, j] * change + by_row)


@kernel
def jacobian_to_coordinates(tree, rows, J, out):
    """J E, out (m, n); J, as wide as ``workspace.wide_rows``, is lost."""
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
    """E^T T E, out (n, n) or wider; T, as wide as ``workspace.wide_rows``, is lost."""
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
            first, n, _, _ = _form(tree, u)
            own = M[tree.node[u], c]
            for j in range(n):
                out[first + j, v] += rows[u, j] * own


@kernel
def add_changed_accelerations(tree, theta, dtheta, z, dz, nodes, x, out):
    """Add E^T M dE x to out (n, p): what nodes take that are moved otherwise; needs ``keep_node_columns``."""
    for v in range(tree.node.size):
        form = _form(tree, v)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            change = 0.0 * at(dtheta, 0, k)
            for j in range(form[1]):
                change += x[form[0] + j] * vary_slope(theta, dtheta, form, j, z, dz, k)
            for i in range(tree.column.size):
                add_to(out, i, k, nodes[i, v] * change)


@kernel
def pull_rows(tree, rows, each, hat, out):
    """Add E^T hat, hat (nc, p), to out (n, p); hat is cleared."""
    for g in range(0, each.size, width(each)):
        k = block(each, g)
        for i in range(tree.column.size):
            add_to(out, i, k, at(hat, tree.column[i], k))
        for v in range(tree.node.size):
            first, n, _, _ = _form(tree, v)
            own = at(hat, tree.node[v], k)
            for j in range(n):
                add_to(out, first + j, k, rows[v, j] * own)
    clear(hat)


@with_columns(lambda model, theta, state, adj: None)
def pull_columns(model, theta, state, adj):
    """Take adjoints of the columns' motion, which are cleared, to coordinates and numbers."""
    tree, motion, of = model.tree, motion_alone(state), adj.columns
    for g in range(0, adj.each.size, width(adj.each)):
        k = block(adj.each, g)
        for i in range(tree.column.size):
            add_to(adj.z, i, k, at(of.z, tree.column[i], k))
            add_to(adj.zd, i, k, at(of.zd, tree.column[i], k))
            add_to(adj.zdd, i, k, at(of.zdd, tree.column[i], k))
        for v in range(tree.node.size):
            c = tree.node[v]
            pull_zeta(theta, _form(tree, v), motion, k, at(of.z, c, k), at(of.zd, c, k), at(of.zdd, c, k), adj)
    clear(of.z)
    clear(of.zd)
    clear(of.zdd)


@with_columns(lambda model, theta, z, comp, virtual, adj: None)
def pull_virtual(model, theta, z, comp, virtual, adj):
    """Add to numbers of nodes, and coordinates, what they are in (E mu) . G, mu of the virtual motion."""
    tree, G = model.tree, comp.equations.G
    for v in range(tree.node.size):
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            pull_slopes(theta, _form(tree, v), z, k, G[tree.node[v]], virtual.mu, adj)


# Nodes that stiffen: E varies with the coordinates, so that columns have accelerations q' . P q' beside E q''.


@kernel
def vary_stiffened_speeds(factor, tree, theta, J, each, zd, dzd, out):
    """Add a factor times what Phi'' (m, p) changes by with velocities through the columns' accelerations."""
    for v in range(tree.node.size):
        form = _form(tree, v)
        if tree.bend[v] != NONE:
            for g in range(0, each.size, width(each)):
                k = block(each, g)
                change = 0.0 * at(dzd, 0, k)
                for j in range(form[1]):
                    change += 2.0 * bent(theta, form, j, zd) * at(dzd, form[0] + j, k)
                for r in range(J.shape[0]):
                    add_to(out, r, k, factor * J[r, tree.node[v]] * change)


@kernel
def pull_stiffened_speeds(tree, theta, J, each, zd, nu, zd_out):
    """The transpose of ``vary_stiffened_speeds`` with the factor 1."""
    for v in range(tree.node.size):
        form = _form(tree, v)
        if tree.bend[v] != NONE:
            for g in range(0, each.size, width(each)):
                k = block(each, g)
                total = 0.0 * at(each, k)
                for r in range(J.shape[0]):
                    total += J[r, tree.node[v]] * at(nu, r, k)
                for j in range(form[1]):
                    add_to(zd_out, form[0] + j, k, 2.0 * bent(theta, form, j, zd) * total)


@kernel
def add_stiffened_tangent(tree, theta, beta, gamma, zd, zdd, found, T_out):
    """Add to T (n, n) what E varies by with the coordinates.

    ``found`` has the residual of columns, and E^T M and E^T (M + C) at those of nodes.
    """
    for v in range(tree.node.size):
        form = _form(tree, v)
        first, n, _, P = form
        for j in range(n if P != NONE else 0):
            rate = bent(theta, form, j, zd)
            by_speed = gamma * rate
            by_acceleration = 2.0 * beta * rate + gamma * bent(theta, form, j, zdd) - by_speed
            for i in range(tree.column.size):
                T_out[i, first + j] += found.rates[i, v] * by_speed + found.nodes[i, v] * by_acceleration
            for i in range(n):
                T_out[first + i, first + j] += gamma * found.G[tree.node[v]] * theta[P + n * i + j]
