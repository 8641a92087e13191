"""What nodes that stiffen add to ``node_columns``: their columns are L q + q . P q / 2, with symmetric P.

So the rows of E are L + P q, and columns' accelerations E q'' + q' . P q'. Where no node stiffens, the loops here are
empty. Derivation: docs/theory/flexible_bodies.md, section 8.
"""

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width


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
def pull_stiffened(tree, theta, z, zd, zdd, cov):
    """The transpose of ``vary_stiffened``, added to covectors of coordinates and numbers."""
    of = cov.columns
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, cov.each.size, width(cov.each)):
            k = block(cov.each, g)
            by_z, by_zd, by_zdd = at(of.z, c, k), at(of.zd, c, k), at(of.zdd, c, k)
            for j in range(n):
                for i in range(n):
                    q, rate = z[first + i], zd[first + i]
                    by_slope = zd[first + j] * by_zd + zdd[first + j] * by_zdd
                    own = theta[o + n * j + i]
                    add_to(cov.z, first + i, k, own * by_slope)
                    add_to(cov.zd, first + i, k, 2.0 * own * zd[first + j] * by_zdd)
                    by_number = q * (0.5 * z[first + j] * by_z + by_slope) + rate * zd[first + j] * by_zdd
                    add_to(cov.theta, o + n * j + i, k, by_number)


@kernel
def pull_stiffened_virtual(tree, theta, z, G, virtual, cov):
    """Add what coordinates and P are in (E mu) . G."""
    for w in range(tree.bent.size):
        _, c, first, n, o = _bent(tree, w)
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            for j in range(n):
                own = G[c] * at(virtual.mu, first + j, k)
                for i in range(n):
                    add_to(cov.z, first + i, k, theta[o + n * j + i] * own)
                    add_to(cov.theta, o + n * j + i, k, z[first + i] * own)


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
