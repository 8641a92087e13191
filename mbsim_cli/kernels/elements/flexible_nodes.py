"""A displacement or rotation of a node of a flexible body, zeta = L q + q . P q / 2, with derivatives.

A ``form`` tells where its numbers are: the first elastic coordinate of the body, how many there are, and the offsets in
theta of L and of P, symmetric, by rows; P is NONE where the node does not stiffen. Derivation:
docs/theory/flexible_bodies.md, section 8.
"""

from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.model.layout import NONE


@inlined
def bent(theta, form, j, x):
    """Entry j of P x, x (n,)."""
    first, n, L, P = form
    total = 0.0 * (x[first] + theta[L])
    if P != NONE:
        for i in range(n):
            total += at(theta, P + n * j + i) * at(x, first + i)
    return total


@inlined
def slope(theta, form, j, z):
    """Derivative of zeta by elastic coordinate j."""
    return at(theta, form[2] + j) + bent(theta, form, j, z)


@inlined
def zeta(theta, form, z):
    """Zeta at the coordinates z (n,)."""
    first, n, L, P = form
    total = 0.0 * (z[first] + theta[L])
    for j in range(n):
        total += at(theta, L + j) * at(z, first + j)
    for j in range(n if P != NONE else 0):
        total += 0.5 * bent(theta, form, j, z) * at(z, first + j)
    return total


@inlined
def zeta_rates(theta, form, motion):
    """First and second time derivative of zeta."""
    first, n, L, _ = form
    rate = 0.0 * (motion.z[first] + theta[L])
    second = rate
    for j in range(n):
        along, x1 = slope(theta, form, j, motion.z), motion.zd[first + j]
        rate += along * x1
        second += along * motion.zdd[first + j] + x1 * bent(theta, form, j, motion.zd)
    return rate, second


@inlined
def _bent2(theta, form, j, dx, k):
    """Entry j of P dx, in directions k."""
    first, n, _, P = form
    total = 0.0 * at(dx, first, k)
    if P != NONE:
        for i in range(n):
            total += theta[P + n * j + i] * at(dx, first + i, k)
    return total


@inlined
def _changed(dtheta, form, j, x, k):
    """Entry j of dP x, in directions k."""
    first, n, L, P = form
    total = 0.0 * at(dtheta, L, k)
    if P != NONE:
        for i in range(n):
            total += x[first + i] * at(dtheta, P + n * j + i, k)
    return total


@inlined
def vary_slope(theta, dtheta, form, j, z, dz, k):
    """Variation k of ``slope``."""
    own = at(dtheta, form[2] + j, k)
    return own + _changed(dtheta, form, j, z, k) + _bent2(theta, form, j, dz, k)


@inlined
def vary_zeta(theta, dtheta, form, motion, change, k):
    """Variations k of zeta and of its time derivatives."""
    (z, zd, zdd), (first, n, L, _) = motion, form
    x = 0.0 * at(dtheta, 0, k)
    x1 = x2 = x
    for j in range(n):
        i, along, own = first + j, slope(theta, form, j, z), at(dtheta, L + j, k)
        by_numbers = _changed(dtheta, form, j, z, k)
        changed = own + by_numbers + _bent2(theta, form, j, change.z, k)
        rate = _changed(dtheta, form, j, zd, k) + 2.0 * _bent2(theta, form, j, change.zd, k)
        x = x + along * at(change.z, i, k) + z[i] * (own + 0.5 * by_numbers)
        x1 = x1 + along * at(change.zd, i, k) + zd[i] * changed
        x2 = x2 + along * at(change.zdd, i, k) + zdd[i] * changed + zd[i] * rate
    return x, x1, x2


@inlined
def pull_zeta(theta, form, motion, k, hat, hat1, hat2, adj):
    """Add the pull-back of adjoints of zeta and of its time derivatives: the transpose of ``vary_zeta``."""
    (z, zd, zdd), (first, n, L, P) = motion, form
    for j in range(n):
        i = first + j
        along, by_rate = slope(theta, form, j, z), bent(theta, form, j, zd)
        add_to(adj.z, i, k, along * hat + by_rate * hat1 + bent(theta, form, j, zdd) * hat2)
        add_to(adj.zd, i, k, along * hat1 + (2.0 * by_rate) * hat2)
        add_to(adj.zdd, i, k, along * hat2)
        by_slope = z[i] * hat + zd[i] * hat1 + zdd[i] * hat2
        add_to(adj.theta, L + j, k, by_slope)
        if P != NONE:
            by_slope = by_slope - (0.5 * z[i]) * hat
            for m in range(n):
                by_number = z[first + m] * by_slope + (zd[i] * zd[first + m]) * hat2
                add_to(adj.theta, P + n * j + m, k, by_number)


@inlined
def pull_slopes(theta, form, z, k, hat, mu, adj):
    """Add the pull-back of ``hat`` times the rate of zeta by rates mu (n, p), which stay."""
    first, n, L, P = form
    for j in range(n):
        by = hat * at(mu, first + j, k)
        add_to(adj.theta, L + j, k, by)
        if P != NONE:
            for i in range(n):
                add_to(adj.z, first + i, k, theta[P + n * j + i] * by)
                add_to(adj.theta, P + n * j + i, k, z[first + i] * by)
