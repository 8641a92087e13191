"""Inertias that coordinates have of their own: of rotors behind gears, and of states, whose coordinate moves no body.

G gains a z'' on the coordinate's row, M and the tangent gain a on its diagonal. Where bodies deform, columns of joints
stand for coordinates.
"""

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width


@kernel
def add_armature_forces(model, theta, zdd, G_out):
    """Add a z'' to G (n,)."""
    for i in range(model.armatures.coordinate.size):
        c = model.armatures.coordinate[i]
        G_out[c] += theta[model.armatures.theta[i]] * zdd[c]


@kernel
def add_armature_mass(model, theta, M_out):
    """Add a to the diagonal of M, or of the tangent by accelerations, (n, n or more)."""
    for i in range(model.armatures.coordinate.size):
        c = model.armatures.coordinate[i]
        M_out[c, c] += theta[model.armatures.theta[i]]


@kernel
def set_armatures(model, theta, own_out):
    """Fill own (n,) with a, zero where a coordinate has none."""
    for c in range(own_out.size):
        own_out[c] = 0.0
    for i in range(model.armatures.coordinate.size):
        own_out[model.armatures.coordinate[i]] += theta[model.armatures.theta[i]]


@kernel
def vary_armatures(model, theta, dtheta, zdd, dzdd, dG_out):
    """Add the variation of a z'' to dG (n, p)."""
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            add_to(dG_out, c, k, theta[o] * at(dzdd, c, k) + at(dtheta, o, k) * zdd[c])


@kernel
def vary_armatures_alone(model, dtheta, zdd, dG_out):
    """Add the variation of a z'' at fixed z'' to dG (n, p)."""
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            add_to(dG_out, c, k, at(dtheta, o, k) * zdd[c])


@kernel
def pull_armatures(model, theta, zdd, virtual, cov_out):
    """Add the pull-back of mu a z''."""
    for i in range(model.armatures.coordinate.size):
        c, o = model.armatures.coordinate[i], model.armatures.theta[i]
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            mu = at(virtual.mu, c, k)
            add_to(cov_out.zdd, c, k, theta[o] * mu)
            add_to(cov_out.theta, o, k, zdd[c] * mu)


@inlined
def armature_kinetic(model, theta, zd):
    """Kinetic energy, without states, which have none."""
    total = 0.0 * theta[0]
    for i in range(model.armatures.coordinate.size):
        if model.armatures.stored[i]:
            rate = zd[model.armatures.coordinate[i]]
            total += 0.5 * theta[model.armatures.theta[i]] * rate * rate
    return total


@inlined
def vary_armature_kinetic(model, theta, dtheta, k, zd, sens):
    """Variation k of the kinetic energy."""
    total = 0.0 * at(dtheta, 0, k)
    for i in range(model.armatures.coordinate.size):
        if model.armatures.stored[i]:
            c, o = model.armatures.coordinate[i], model.armatures.theta[i]
            total += 0.5 * zd[c] * zd[c] * at(dtheta, o, k) + theta[o] * zd[c] * at(sens.zd, c, k)
    return total


@inlined
def pull_armature_kinetic(model, theta, k, hat, zd, cov_out):
    """Add the pull-back of the kinetic energy."""
    for i in range(model.armatures.coordinate.size):
        if model.armatures.stored[i]:
            c, o = model.armatures.coordinate[i], model.armatures.theta[i]
            add_to(cov_out.zd, c, k, theta[o] * zd[c] * hat)
            add_to(cov_out.theta, o, k, 0.5 * zd[c] * zd[c] * hat)
