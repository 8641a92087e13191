"""Euler parameters kept on the manifold: unit length, and rates tangent to the unit sphere."""

import numpy as np

from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import block, put, width
from mbsim_cli.kernels.elements.columns import load4, load4_of


@kernel
def normalise(tree, z, zd):
    """Bring Euler parameters to unit length, and their rates to the tangent of the unit sphere."""
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1 = load4(z, c), load4(zd, c)
        scale = 1.0 / np.sqrt(norm2(e))
        along = inner4(e, e1) * scale * scale
        for k in range(4):
            z[c + k] = scale * e[k]
            zd[c + k] = scale * (e1[k] - along * e[k])


@kernel
def vary_normalise(tree, z, zd, dz, dzd):
    """Variation of ``normalise``; z, zd (n,) are those before it, dz, dzd (n, p) are replaced."""
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1 = load4(z, c), load4(zd, c)
        scale = 1.0 / np.sqrt(norm2(e))
        square = scale * scale
        along = inner4(e, e1) * square
        for p in range(dz.shape[1]):
            de = (dz[c, p], dz[c + 1, p], dz[c + 2, p], dz[c + 3, p])
            de1 = (dzd[c, p], dzd[c + 1, p], dzd[c + 2, p], dzd[c + 3, p])
            shrink = -inner4(e, de) * square
            d_along = (inner4(de, e1) + inner4(e, de1)) * square + 2.0 * along * shrink
            for k in range(4):
                dz[c + k, p] = scale * (de[k] + shrink * e[k])
                tangent = e1[k] - along * e[k]
                dzd[c + k, p] = scale * (de1[k] - along * de[k] - d_along * e[k] + shrink * tangent)


@kernel
def pull_normalise(tree, each, z, zd, z_hat, zd_hat):
    """Transpose of ``vary_normalise``: covectors (n, p) of what ``normalise`` leaves become those of z, zd before.

    ``each`` are the ``simd.numbers`` of the columns.
    """
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1 = load4(z, c), load4(zd, c)
        scale = 1.0 / np.sqrt(norm2(e))
        square = scale * scale
        along = inner4(e, e1) * square
        tangent = (e1[0] - along * e[0], e1[1] - along * e[1], e1[2] - along * e[2], e1[3] - along * e[3])
        for g in range(0, each.size, width(each)):
            p = block(each, g)
            hat, hat1 = load4_of(z_hat, c, p), load4_of(zd_hat, c, p)
            by_along = -scale * inner4(e, hat1)
            by_shrink = scale * (inner4(e, hat) + inner4(tangent, hat1)) + 2.0 * along * by_along
            for k in range(4):
                put(zd_hat, c + k, p, scale * hat1[k] + square * e[k] * by_along)
                own = scale * (hat[k] - along * hat1[k])
                put(z_hat, c + k, p, own + square * (e1[k] * by_along - e[k] * by_shrink))
