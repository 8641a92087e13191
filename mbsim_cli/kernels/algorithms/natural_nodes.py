"""Nodes of bodies that deform, in natural coordinates: equations that weld them to their body.

A node is a body without mass, with a linear map of its own. How it stands against the frame of the body that deforms is
told by measures, those of displacements and of rotations about x, then y, then z, each of which is a linear form L q of
the elastic coordinates, or its sine: Phi = measure - s(L q). The measure's part is that of all equations; here is what
s(L q) adds. Derivation: docs/theory/natural_coordinates.md.
"""

import numpy as np

from mbsim_cli.kernels._jit import inlined, kernel
from mbsim_cli.kernels._simd import add_to, at, block, width
from mbsim_cli.kernels.elements.measures import wrap_angle


@inlined
def _form(tree, v):
    """First elastic coordinate of weld v, one behind the last, and the offset of L."""
    f = tree.weld_body[v]
    return tree.elastic[f], tree.elastic[f + 1], tree.weld_shape[v]


@inlined
def _along(tree, theta, v, z):
    """L z of weld v."""
    first, last, o = _form(tree, v)
    total = 0.0 * z[0] + 0.0 * theta[o]
    for c in range(first, last):
        total += theta[o + c - first] * z[c]
    return total


@inlined
def _vary_along(tree, theta, dtheta, v, z, dz, k):
    """Variation k of L z."""
    first, last, o = _form(tree, v)
    total = 0.0 * at(dz, first, k)
    for c in range(first, last):
        total += theta[o + c - first] * at(dz, c, k) + z[c] * at(dtheta, o + c - first, k)
    return total


@inlined
def _function(tree, v, x):
    """s and its first three derivatives at x = L q."""
    if tree.weld_sine[v] == 1:
        s, c = np.sin(x), np.cos(x)
        return s, c, -s, -c
    zero = 0.0 * x
    return x, 1.0 + zero, zero, zero


@inlined
def _slope(tree, theta, v, z):
    """Derivative s' at the coordinates z."""
    return _function(tree, v, _along(tree, theta, v, z))[1]


@kernel
def weld_nodes(model, theta, z, phi_out, jacobian_out):
    """Take s(L q) from Phi (m,) and its derivatives from Phi_z (m, n)."""
    tree = model.tree
    for v in range(tree.weld.size):
        i = tree.weld[v]
        first, last, o = _form(tree, v)
        s, s1, _, _ = _function(tree, v, _along(tree, theta, v, z))
        phi_out[i] = wrap_angle(model.measures.kind[model.constraints.measure[i]], phi_out[i] - s)
        for c in range(first, last):
            jacobian_out[i, c] -= s1 * theta[o + c - first]


@kernel
def move_welds(tree, theta, z, zd, zdd, phi1_out, phi2_out):
    """Take its time derivatives from Phi' and Phi'' (m,)."""
    for v in range(tree.weld.size):
        i = tree.weld[v]
        _, s1, s2, _ = _function(tree, v, _along(tree, theta, v, z))
        rate = _along(tree, theta, v, zd)
        phi1_out[i] -= s1 * rate
        phi2_out[i] -= s1 * _along(tree, theta, v, zdd) + s2 * rate * rate


@kernel
def hold_welds(tree, theta, z, multiplier, Q_out):
    """Add to Q (n,) what welds do on the elastic coordinates."""
    for v in range(tree.weld.size):
        first, last, o = _form(tree, v)
        pull = multiplier[tree.weld[v]] * _slope(tree, theta, v, z)
        for c in range(first, last):
            Q_out[c] += pull * theta[o + c - first]


@kernel
def add_weld_tangent(tree, theta, gamma, z, multiplier, T_out):
    """Add what that force varies by as elastic coordinates move by gamma."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1:
            first, last, o = _form(tree, v)
            bend = -gamma * multiplier[tree.weld[v]] * _function(tree, v, _along(tree, theta, v, z))[2]
            for c in range(first, last):
                for d in range(first, last):
                    T_out[c, d] += bend * theta[o + c - first] * theta[o + d - first]


@kernel
def vary_welds(tree, theta, dtheta, z, dz, out):
    """Take the variation of s(L q) from that of Phi, out (m, p)."""
    for v in range(tree.weld.size):
        s1 = _slope(tree, theta, v, z)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            add_to(out, tree.weld[v], k, -s1 * _vary_along(tree, theta, dtheta, v, z, dz, k))


@kernel
def vary_weld_rates(tree, theta, dtheta, z, zd, zdd, dz, dzd, dzdd, first_out, second_out):
    """Take the variations of its time derivatives from those of Phi' and Phi'' (m, p)."""
    for v in range(tree.weld.size):
        _, s1, s2, s3 = _function(tree, v, _along(tree, theta, v, z))
        rate, second = _along(tree, theta, v, zd), _along(tree, theta, v, zdd)
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            x = _vary_along(tree, theta, dtheta, v, z, dz, k)
            x1 = _vary_along(tree, theta, dtheta, v, zd, dzd, k)
            x2 = _vary_along(tree, theta, dtheta, v, zdd, dzdd, k)
            add_to(first_out, tree.weld[v], k, -(s1 * x1 + (s2 * rate) * x))
            change = s1 * x2 + (s2 * second + s3 * rate * rate) * x + (2.0 * s2 * rate) * x1
            add_to(second_out, tree.weld[v], k, -change)


@kernel
def vary_welds_with_velocity(factor, tree, theta, z, zd, dzd, second_out):
    """Take ``factor`` times the variation of its second derivative with velocities dzd alone from Phi'' (m, p)."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1:
            first, last, o = _form(tree, v)
            s2 = _function(tree, v, _along(tree, theta, v, z))[2]
            share = 2.0 * factor * s2 * _along(tree, theta, v, zd)
            for g in range(0, dzd.shape[1], width(dzd)):
                k = block(dzd, g)
                for c in range(first, last):
                    add_to(second_out, tree.weld[v], k, -(share * theta[o + c - first]) * at(dzd, c, k))


@kernel
def vary_weld_forces(tree, theta, dtheta, z, multiplier, dz, dG_out):
    """Add to dG (n, p) the variation of what multipliers of welds, which stay, do on the elastic coordinates."""
    for v in range(tree.weld.size):
        first, last, o = _form(tree, v)
        _, s1, s2, _ = _function(tree, v, _along(tree, theta, v, z))
        pull = multiplier[tree.weld[v]]
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            turned = (-pull * s2) * _vary_along(tree, theta, dtheta, v, z, dz, k)
            for c in range(first, last):
                change = turned * theta[o + c - first] + (-pull * s1) * at(dtheta, o + c - first, k)
                add_to(dG_out, c, k, change)


@kernel
def pull_welds(tree, theta, z, nu, cov):
    """Add the pull-back of nu . Phi, nu (m, p), of what welds take from Phi."""
    for v in range(tree.weld.size):
        s1 = _slope(tree, theta, v, z)
        for g in range(0, nu.shape[1], width(nu)):
            k = block(nu, g)
            _pull_along(tree, theta, v, k, -s1 * at(nu, tree.weld[v], k), z, cov.z, cov.theta)


@inlined
def _pull_along(tree, theta, v, k, hat, z, z_out, theta_out):
    """Add the pull-back of hat . L z."""
    first, last, o = _form(tree, v)
    for c in range(first, last):
        add_to(z_out, c, k, theta[o + c - first] * hat)
        add_to(theta_out, o + c - first, k, z[c] * hat)


@kernel
def pull_weld_rates(tree, theta, z, zd, zdd, nu1, nu2, cov):
    """The same of nu1 . Phi' + nu2 . Phi''."""
    for v in range(tree.weld.size):
        i = tree.weld[v]
        _, s1, s2, s3 = _function(tree, v, _along(tree, theta, v, z))
        rate, second = _along(tree, theta, v, zd), _along(tree, theta, v, zdd)
        for g in range(0, nu1.shape[1], width(nu1)):
            k = block(nu1, g)
            hat, hat2 = -1.0 * at(nu1, i, k), -1.0 * at(nu2, i, k)
            by_z = (s2 * rate) * hat + (s2 * second + s3 * rate * rate) * hat2
            _pull_along(tree, theta, v, k, by_z, z, cov.z, cov.theta)
            _pull_along(tree, theta, v, k, s1 * hat + (2.0 * s2 * rate) * hat2, zd, cov.zd, cov.theta)
            _pull_along(tree, theta, v, k, s1 * hat2, zdd, cov.zdd, cov.theta)


@kernel
def pull_welds_velocity(tree, theta, z, zd, nu2, zd_out):
    """Add to zd (n, p) what second derivatives alone are of velocities, twice: ``vary_welds_with_velocity``."""
    for v in range(tree.weld.size):
        if tree.weld_sine[v] == 1:
            first, last, o = _form(tree, v)
            s2 = _function(tree, v, _along(tree, theta, v, z))[2]
            share = -2.0 * s2 * _along(tree, theta, v, zd)
            for g in range(0, nu2.shape[1], width(nu2)):
                k = block(nu2, g)
                for c in range(first, last):
                    add_to(zd_out, c, k, (share * theta[o + c - first]) * at(nu2, tree.weld[v], k))


@kernel
def pull_weld_forces(tree, theta, z, multiplier, virtual, cov):
    """Add the pull-back of what multipliers of welds, which stay, do on the elastic part of mu."""
    for v in range(tree.weld.size):
        first, last, o = _form(tree, v)
        _, s1, s2, _ = _function(tree, v, _along(tree, theta, v, z))
        pull = multiplier[tree.weld[v]]
        for g in range(0, virtual.mu.shape[1], width(virtual.mu)):
            k = block(virtual.mu, g)
            moved = 0.0 * at(virtual.mu, first, k)
            for c in range(first, last):
                moved += theta[o + c - first] * at(virtual.mu, c, k)
                add_to(cov.theta, o + c - first, k, (-pull * s1) * at(virtual.mu, c, k))
            _pull_along(tree, theta, v, k, (-pull * s2) * moved, z, cov.z, cov.theta)
