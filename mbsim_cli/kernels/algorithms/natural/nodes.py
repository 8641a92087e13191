"""Nodes of bodies that deform, in natural coordinates: equations that weld them to their body.

A node is a body without mass, with a linear map of its own. How it stands against the frame of the body that deforms is
told by measures, those of displacements and of rotations about x, then y, then z, each of which is zeta = L q +
q . P q / 2 of the elastic coordinates, or its sine: Phi = measure - s(zeta); P is of nodes that stiffen. The measure's
part is that of all equations; here is what s(zeta) adds. Derivation: docs/theory/natural_coordinates.md.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.measures import wrap_angle
from mbsim_cli.model.layout import NONE


@inlined
def _form(tree, v):
    """First elastic coordinate of weld v, one behind the last, and the offset of L."""
    f = tree.weld_body[v]
    return tree.elastic[f], tree.elastic[f + 1], tree.weld_shape[v]


@inlined
def _bent(tree, theta, v, c, x):
    """Entry of P x, x (n,), that belongs to coordinate c."""
    first, last, o = _form(tree, v)
    total = 0.0 * x[0] + 0.0 * theta[o]
    if tree.weld_bend[v] != NONE:
        row = tree.weld_bend[v] + (last - first) * (c - first)
        for d in range(first, last):
            total += theta[row + d - first] * x[d]
    return total


@inlined
def _bent2(tree, theta, dtheta, v, c, x, dx, k):
    """Variation k of it."""
    first, last, _ = _form(tree, v)
    total = 0.0 * at(dx, first, k)
    if tree.weld_bend[v] != NONE:
        row = tree.weld_bend[v] + (last - first) * (c - first)
        for d in range(first, last):
            total += theta[row + d - first] * at(dx, d, k) + x[d] * at(dtheta, row + d - first, k)
    return total


@inlined
def _row(tree, theta, v, z, c):
    """Derivative of zeta by coordinate c."""
    first, _, o = _form(tree, v)
    return theta[o + c - first] + _bent(tree, theta, v, c, z)


@inlined
def _row2(tree, theta, dtheta, v, z, dz, c, k):
    """Variation k of it."""
    first, _, o = _form(tree, v)
    return at(dtheta, o + c - first, k) + _bent2(tree, theta, dtheta, v, c, z, dz, k)


@inlined
def _value(tree, theta, v, z):
    """Zeta of weld v."""
    first, last, o = _form(tree, v)
    total = 0.0 * z[0] + 0.0 * theta[o]
    for c in range(first, last):
        total += (theta[o + c - first] + 0.5 * _bent(tree, theta, v, c, z)) * z[c]
    return total


@inlined
def _rates(tree, theta, v, z, zd, zdd):
    """First and second time derivative of zeta."""
    first, last, o = _form(tree, v)
    rate = 0.0 * z[0] + 0.0 * theta[o]
    second = rate
    for c in range(first, last):
        row = _row(tree, theta, v, z, c)
        rate += row * zd[c]
        second += row * zdd[c] + zd[c] * _bent(tree, theta, v, c, zd)
    return rate, second


@inlined
def _value2(tree, theta, dtheta, v, z, dz, k):
    """Variation k of zeta."""
    first, last, o = _form(tree, v)
    total = 0.0 * at(dz, first, k)
    for c in range(first, last):
        total += theta[o + c - first] * at(dz, c, k) + z[c] * at(dtheta, o + c - first, k)
        by_z = _bent(tree, theta, v, c, z)
        total += 0.5 * (by_z * at(dz, c, k) + z[c] * _bent2(tree, theta, dtheta, v, c, z, dz, k))
    return total


@inlined
def _rates2(tree, theta, dtheta, v, z, zd, zdd, dz, dzd, dzdd, k):
    """Variation k of its time derivatives."""
    first, last, _ = _form(tree, v)
    rate = 0.0 * at(dz, first, k)
    second = rate
    for c in range(first, last):
        row, change = _row(tree, theta, v, z, c), _row2(tree, theta, dtheta, v, z, dz, c, k)
        rate += row * at(dzd, c, k) + zd[c] * change
        second += row * at(dzdd, c, k) + zdd[c] * change
        by_speed = _bent(tree, theta, v, c, zd)
        second += by_speed * at(dzd, c, k) + zd[c] * _bent2(tree, theta, dtheta, v, c, zd, dzd, k)
    return rate, second


@inlined
def _function(tree, v, x):
    """s and its first three derivatives at x = zeta."""
    if tree.weld_sine[v] == 1:
        s, c = np.sin(x), np.cos(x)
        return s, c, -s, -c
    zero = 0.0 * x
    return x, 1.0 + zero, zero, zero


@inlined
def _function_at(tree, theta, v, z):
    """The same at the coordinates z."""
    return _function(tree, v, _value(tree, theta, v, z))


@kernel
def weld_nodes(model, theta, z, phi_out, jacobian_out):
    """Take s(zeta) from Phi (m,) and its derivatives from Phi_z (m, n)."""
    tree = model.tree
    for v in range(tree.weld.size):
        i = tree.weld[v]
        first, last, _ = _form(tree, v)
        s, s1, _, _ = _function_at(tree, theta, v, z)
        phi_out[i] = wrap_angle(model.measures.kind[model.constraints.measure[i]], phi_out[i] - s)
        for c in range(first, last):
            jacobian_out[i, c] -= s1 * _row(tree, theta, v, z, c)


@kernel
def move_welds(tree, theta, z, zd, zdd, phi1_out, phi2_out):
    """Take its time derivatives from Phi' and Phi'' (m,)."""
    for v in range(tree.weld.size):
        i = tree.weld[v]
        _, s1, s2, _ = _function_at(tree, theta, v, z)
        rate, second = _rates(tree, theta, v, z, zd, zdd)
        phi1_out[i] -= s1 * rate
        phi2_out[i] -= s1 * second + s2 * rate * rate


@kernel
def hold_welds(tree, theta, z, multiplier, Q_out):
    """Add to Q (n,) what welds do on the elastic coordinates."""
    for v in range(tree.weld.size):
        first, last, _ = _form(tree, v)
        pull = multiplier[tree.weld[v]] * _function_at(tree, theta, v, z)[1]
        for c in range(first, last):
            Q_out[c] += pull * _row(tree, theta, v, z, c)


@kernel
def add_weld_tangent(tree, theta, gamma, z, multiplier, T_out):
    """Add what that force varies by as elastic coordinates move by gamma."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE:
            first, last, _ = _form(tree, v)
            _, s1, s2, _ = _function_at(tree, theta, v, z)
            pull = -gamma * multiplier[tree.weld[v]]
            for c in range(first, last):
                for d in range(first, last):
                    T_out[c, d] += pull * s2 * _row(tree, theta, v, z, c) * _row(tree, theta, v, z, d)
                    if tree.weld_bend[v] != NONE:
                        o = tree.weld_bend[v] + (last - first) * (c - first)
                        T_out[c, d] += pull * s1 * theta[o + d - first]


@kernel
def vary_welds(tree, theta, dtheta, z, dz, out):
    """Take the variation of s(zeta) from that of Phi, out (m, p)."""
    for v in range(tree.weld.size):
        s1 = _function_at(tree, theta, v, z)[1]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            add_to(out, tree.weld[v], k, -s1 * _value2(tree, theta, dtheta, v, z, dz, k))


@kernel
def vary_weld_rates(tree, theta, dtheta, z, zd, zdd, dz, dzd, dzdd, first_out, second_out):
    """Take the variations of its time derivatives from those of Phi' and Phi'' (m, p)."""
    for v in range(tree.weld.size):
        _, s1, s2, s3 = _function_at(tree, theta, v, z)
        rate, second = _rates(tree, theta, v, z, zd, zdd)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            x = _value2(tree, theta, dtheta, v, z, dz, k)
            x1, x2 = _rates2(tree, theta, dtheta, v, z, zd, zdd, dz, dzd, dzdd, k)
            add_to(first_out, tree.weld[v], k, -(s1 * x1 + (s2 * rate) * x))
            change = s1 * x2 + (s2 * second + s3 * rate * rate) * x + (2.0 * s2 * rate) * x1
            add_to(second_out, tree.weld[v], k, -change)


@inlined
def _slopes(tree, theta, v, z, zd):
    """s' and s'' zeta' of weld v."""
    _, s1, s2, _ = _function_at(tree, theta, v, z)
    return s1, s2 * _rates(tree, theta, v, z, zd, zd)[0]


@inlined
def _by_speed(tree, theta, v, slopes, z, zd, c):
    """Derivative of what is taken from Phi'' by the velocity of coordinate c alone."""
    s1, turned = slopes
    return 2.0 * (turned * _row(tree, theta, v, z, c) + s1 * _bent(tree, theta, v, c, zd))


@kernel
def vary_welds_with_velocity(factor, tree, theta, z, zd, dzd, second_out):
    """Take ``factor`` times the variation of its second derivative with velocities dzd alone from Phi'' (m, p)."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE:
            (first, last, _), slopes = _form(tree, v), _slopes(tree, theta, v, z, zd)
            for c in range(first, last):
                share = -factor * _by_speed(tree, theta, v, slopes, z, zd, c)
                for g in range(0, dzd.shape[1], width(dzd)):
                    k = block(dzd, g)
                    add_to(second_out, tree.weld[v], k, share * at(dzd, c, k))


@kernel
def vary_weld_forces(tree, theta, dtheta, z, multiplier, dz, dG_out):
    """Add to dG (n, p) the variation of what multipliers of welds, which stay, do on the elastic coordinates."""
    for v in range(tree.weld.size):
        first, last, _ = _form(tree, v)
        _, s1, s2, _ = _function_at(tree, theta, v, z)
        pull = multiplier[tree.weld[v]]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            turned = (-pull * s2) * _value2(tree, theta, dtheta, v, z, dz, k)
            for c in range(first, last):
                change = (-pull * s1) * _row2(tree, theta, dtheta, v, z, dz, c, k)
                add_to(dG_out, c, k, turned * _row(tree, theta, v, z, c) + change)


@kernel
def pull_welds(tree, theta, z, nu, cov):
    """Add the pull-back of nu . Phi, nu (m, p), of what welds take from Phi."""
    for v in range(tree.weld.size):
        s1 = _function_at(tree, theta, v, z)[1]
        for g in range(0, nu.shape[1], width(nu)):
            k = block(nu, g)
            _pull_value(tree, theta, v, k, -s1 * at(nu, tree.weld[v], k), z, cov)


@inlined
def _pull_value(tree, theta, v, k, hat, z, cov):
    """Add the pull-back of hat . zeta."""
    first, last, o = _form(tree, v)
    for c in range(first, last):
        add_to(cov.z, c, k, _row(tree, theta, v, z, c) * hat)
        add_to(cov.theta, o + c - first, k, z[c] * hat)
    _pull_bend(tree, v, k, 0.5 * hat, z, z, cov.theta)


@inlined
def _pull_bend(tree, v, k, hat, x, y, theta_out):
    """Add the pull-back of hat times x . P y to P."""
    first, last, _ = _form(tree, v)
    if tree.weld_bend[v] != NONE:
        o = tree.weld_bend[v]
        for c in range(first, last):
            for d in range(first, last):
                add_to(theta_out, o, k, (x[c] * y[d]) * hat)
                o += 1


@kernel
def pull_weld_rates(tree, theta, z, zd, zdd, nu1, nu2, cov):
    """The same of nu1 . Phi' + nu2 . Phi''."""
    for v in range(tree.weld.size):
        i = tree.weld[v]
        _, s1, s2, s3 = _function_at(tree, theta, v, z)
        rate, second = _rates(tree, theta, v, z, zd, zdd)
        for g in range(0, nu1.shape[1], width(nu1)):
            k = block(nu1, g)
            hat, hat2 = -1.0 * at(nu1, i, k), -1.0 * at(nu2, i, k)
            by_value = (s2 * rate) * hat + (s2 * second + s3 * rate * rate) * hat2
            _pull_value(tree, theta, v, k, by_value, z, cov)
            _pull_motion(tree, theta, v, k, s1 * hat + (2.0 * s2 * rate) * hat2, s1 * hat2, z, zd, zdd, cov)


@inlined
def _pull_motion(tree, theta, v, k, hat1, hat2, z, zd, zdd, cov):
    """Add the pull-back of hat1 . zeta' + hat2 . zeta''."""
    first, last, o = _form(tree, v)
    for c in range(first, last):
        row, by_speed = _row(tree, theta, v, z, c), _bent(tree, theta, v, c, zd)
        add_to(cov.z, c, k, by_speed * hat1 + _bent(tree, theta, v, c, zdd) * hat2)
        add_to(cov.zd, c, k, row * hat1 + (2.0 * by_speed) * hat2)
        add_to(cov.zdd, c, k, row * hat2)
        add_to(cov.theta, o + c - first, k, zd[c] * hat1 + zdd[c] * hat2)
    _pull_bend(tree, v, k, hat1, zd, z, cov.theta)
    _pull_bend(tree, v, k, hat2, zdd, z, cov.theta)
    _pull_bend(tree, v, k, hat2, zd, zd, cov.theta)


@kernel
def pull_welds_velocity(tree, theta, z, zd, nu2, zd_out):
    """The transpose of ``vary_welds_with_velocity``: add to zd (n, p)."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1 or tree.weld_bend[v] != NONE:
            (first, last, _), slopes = _form(tree, v), _slopes(tree, theta, v, z, zd)
            for c in range(first, last):
                share = -_by_speed(tree, theta, v, slopes, z, zd, c)
                for g in range(0, nu2.shape[1], width(nu2)):
                    k = block(nu2, g)
                    add_to(zd_out, c, k, share * at(nu2, tree.weld[v], k))


@kernel
def pull_weld_forces(tree, theta, z, multiplier, virtual, cov):
    """Add the pull-back of what multipliers of welds, which stay, do on the elastic part of mu."""
    for v in range(tree.weld.size):
        first, last, o = _form(tree, v)
        _, s1, s2, _ = _function_at(tree, theta, v, z)
        pull = -multiplier[tree.weld[v]]
        for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
            k = block(virtual.mu, g)
            moved = 0.0 * at(virtual.mu, first, k)
            for c in range(first, last):
                mu = at(virtual.mu, c, k)
                moved += _row(tree, theta, v, z, c) * mu
                add_to(cov.theta, o + c - first, k, (pull * s1) * mu)
                if tree.weld_bend[v] != NONE:
                    row = tree.weld_bend[v] + (last - first) * (c - first)
                    for d in range(first, last):
                        add_to(cov.z, d, k, (pull * s1 * theta[row + d - first]) * mu)
                        add_to(cov.theta, row + d - first, k, (pull * s1 * z[d]) * mu)
            _pull_value(tree, theta, v, k, (pull * s2) * moved, z, cov)
