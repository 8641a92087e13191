"""Common parts of the formulations for open trees: coordinates that laws of time drive, and sets of Euler parameters.

A driven coordinate c obeys a z_c = target + law(t), with a the coefficient of its measure. Derivation:
docs/theory/open_trees.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.vectors import inner4, norm2
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.kernels.elements.columns import load4, load4_of
from mbsim_cli.kernels.elements.laws import law_value, law_variation, pull_law
from mbsim_cli.model.codes import Column, Measure
from mbsim_cli.model.coordinates import kinds, of_columns
from mbsim_cli.model.layout import NONE


class OpenTree(NamedTuple):
    """Driven coordinates, and where Euler parameters stand."""

    driver: np.ndarray  # (n,) constraint whose law prescribes the coordinate, or NONE; never an Euler parameter
    euler: np.ndarray  # (k,) first column of each set of Euler parameters


def open_tree(model):
    """Find the driven coordinates and the Euler parameters of a model without loops."""
    driver = np.full(kinds(model.tree).size, NONE, np.int64)
    for r, m in enumerate(model.constraints.measure):
        if model.measures.kind[m] == Measure.COORDINATES:
            driver[of_columns(model.tree, model.measures.coordinate[model.measures.first[m]])] = r
    return OpenTree(driver, np.flatnonzero(kinds(model.tree) == Column.EULER_0).astype(np.int64))


@inlined
def coefficient_offset(model, r):
    """Where theta holds the coefficient a of constraint r."""
    return model.measures.theta[model.constraints.measure[r]]


@kernel
def drive(model, theta, t, open_tree, z, zd):
    """Set driven coordinates and their rates to what the laws prescribe."""
    for c in range(z.size):
        r = open_tree.driver[c]
        if r != NONE:
            a = theta[coefficient_offset(model, r)]
            law, law1, _ = law_value(model.laws, theta, model.constraints.law[r], t)
            z[c] = (theta[model.constraints.theta[r]] + law) / a
            zd[c] = law1 / a


@kernel
def driven_acceleration(model, theta, t, open_tree, zdd):
    """Set accelerations of driven coordinates."""
    for c in range(zdd.size):
        r = open_tree.driver[c]
        if r != NONE:
            _, _, law2 = law_value(model.laws, theta, model.constraints.law[r], t)
            zdd[c] = law2 / theta[coefficient_offset(model, r)]


@kernel
def vary_drive(model, theta, dtheta, t, open_tree, z, zd, dz, dzd):
    """Set variations of driven coordinates and rates, dz and dzd (n, p), in directions dtheta (len(theta), p)."""
    for c in range(z.size):
        r = open_tree.driver[c]
        if r != NONE:
            o = coefficient_offset(model, r)
            for k in range(dz.shape[1]):
                law, law1, _ = law_variation(model.laws, theta, dtheta, k, model.constraints.law[r], t)
                dz[c, k] = (dtheta[model.constraints.theta[r], k] + law - dtheta[o, k] * z[c]) / theta[o]
                dzd[c, k] = (law1 - dtheta[o, k] * zd[c]) / theta[o]


@kernel
def vary_driven_acceleration(model, theta, dtheta, t, open_tree, zdd, dzdd):
    """Set variations of accelerations of driven coordinates, dzdd (n, p)."""
    for c in range(zdd.size):
        r = open_tree.driver[c]
        if r != NONE:
            o = coefficient_offset(model, r)
            for k in range(dzdd.shape[1]):
                _, _, law2 = law_variation(model.laws, theta, dtheta, k, model.constraints.law[r], t)
                dzdd[c, k] = (law2 - dtheta[o, k] * zdd[c]) / theta[o]


@kernel
def vary_reactions_of_drives(model, theta, dtheta, driver, reaction, x, d_reaction_out):
    """Variations (m, p) of the multipliers of drives, ``reaction`` (m,), from those of forces along axes, x (n, p)."""
    for c in range(driver.size):
        r = driver[c]
        if r != NONE:
            o = coefficient_offset(model, r)
            for k in range(d_reaction_out.shape[1]):
                d_reaction_out[r, k] = -(x[c, k] + reaction[r] * dtheta[o, k]) / theta[o]


@kernel
def pull_drive(model, theta, t, open_tree, z, zd, zdd, adj):
    """Transpose of ``vary_drive`` and ``vary_driven_acceleration``: driven coordinates depend on theta and t alone."""
    for c in range(z.size):
        r = open_tree.driver[c]
        if r != NONE:
            o = coefficient_offset(model, r)
            for g in range(0, adj.each.size, width(adj.each)):
                k = block(adj.each, g)
                hat, hat1, hat2 = at(adj.z, c, k) / theta[o], at(adj.zd, c, k) / theta[o], at(adj.zdd, c, k) / theta[o]
                add_to(adj.theta, model.constraints.theta[r], k, hat)
                pull_law(model.laws, theta, model.constraints.law[r], t, k, hat, hat1, hat2, adj.theta)
                add_to(adj.theta, o, k, -1.0 * (z[c] * hat + zd[c] * hat1 + zdd[c] * hat2))
                put(adj.z, c, k, 0.0 * hat)
                put(adj.zd, c, k, 0.0 * hat)
                put(adj.zdd, c, k, 0.0 * hat)


# Rows of an open tree's implicit equations that dynamics do not fill: norms of Euler parameters, driven coordinates.
#
# The unknown is an acceleration x that moves z by g^2 x and z' by g x. On the rows of a set of Euler parameters e
# stands
#
#     P G + s e n,    P = 1 - e e^T / e.e,    n = e.e'' + e'.e',
#
# with any weight s; driven coordinates do not move, x = 0. Derivation: docs/theory/integrators.md, section 4.


@kernel
def close_tangent(tree, g, state, G, T, weight_out):
    """Complete T (n, padded(n)) = dG/dx at the state with residual G (n,); weight (k,) of each norm equation."""
    gamma = g * g
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
        square = norm2(e)
        weight_out[s] = 0.0
        for i in range(4):
            weight_out[s] += np.abs(T[c + i, c + i].real) / square.real
        for j in range(T.shape[1]):
            along = inner4(e, (T[c, j], T[c + 1, j], T[c + 2, j], T[c + 3, j])) / square
            for i in range(4):
                T[c + i, j] -= along * e[i]
        moved = gamma * inner4(e, load4(G, c)) / square
        for i in range(4):
            T[c + i, c + i] -= moved
            for j in range(4):
                T[c + i, c + j] += e[i] * (
                    moved * e[j] / square + weight_out[s] * (e[j] + 2.0 * g * e1[j] + gamma * e2[j])
                )  # fmt: skip
    for c in range(T.shape[0]):
        if tree.driver[c] != NONE:
            for j in range(T.shape[1]):
                T[c, j] = 0.0
            T[c, c] = 1.0


@kernel
def close_residual(tree, state, G, weight, b_out):
    """Right-hand side b (n, 1) of a correction x: T x = b."""
    for c in range(G.size):
        b_out[c, 0] = -G[c] if tree.driver[c] == NONE else 0.0 * G[c]
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
        _set_along(e, c, -weight[s] * (inner4(e, e2) + norm2(e1)), 0, b_out)


@kernel
def close_variation(tree, state, G, weight, dz, dzd, dzdd, b):
    """Turn dG (n, p) in b into the right-hand side for the variation of x, with dz, dz', dz'' at x' = 0."""
    n, p = b.shape
    for c in range(n):
        for k in range(p):
            b[c, k] = -b[c, k] if tree.driver[c] == NONE else 0.0
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
        along = inner4(e, load4(G, c)) / norm2(e)
        for k in range(p):
            de, de1, de2 = load4_of(dz, c, k), load4_of(dzd, c, k), load4_of(dzdd, c, k)
            for i in range(4):
                b[c + i, k] += along * de[i]
            change = inner4(de, e2) + inner4(e, de2) + 2.0 * inner4(e1, de1)
            _set_along(e, c, -weight[s] * change, k, b)


@inlined
def _set_along(e, c, s, k, b_out):
    """Let s e be the part along e of four rows of column k."""
    change = s - inner4(e, load4_of(b_out, c, k)) / norm2(e)
    for i in range(4):
        b_out[c + i, k] += change * e[i]


@inlined
def unit(e, e1):
    """Euler parameters of unit length, with rates tangent to the unit sphere."""
    scale = 1.0 / np.sqrt(norm2(e))
    along = inner4(e, e1) * scale * scale
    a, b, c, d = e
    a1, b1, c1, d1 = e1
    rates = scale * (a1 - along * a), scale * (b1 - along * b), scale * (c1 - along * c), scale * (d1 - along * d)
    return (scale * a, scale * b, scale * c, scale * d), rates


UNIT = Derivatives(unit, {"e": 4, "e1": 4})
vary_unit_fixed, pull_unit = UNIT.vary_fixed, UNIT.pull


@kernel
def normalise(tree, z, zd):
    """Bring Euler parameters to unit length, and their rates to the tangent of the unit sphere."""
    for c in tree.euler:
        e, e1 = unit(load4(z, c), load4(zd, c))
        for j in range(4):
            z[c + j], zd[c + j] = e[j], e1[j]


@kernel
def vary_normalise(tree, z, zd, dz, dzd):
    """Variation of ``normalise``; z, zd (n,) are those before it, dz, dzd (n, p) are replaced."""
    for c in tree.euler:
        for k in range(dz.shape[1]):
            de, de1 = vary_unit_fixed(load4(z, c), load4(zd, c), load4_of(dz, c, k), load4_of(dzd, c, k))
            for j in range(4):
                dz[c + j, k], dzd[c + j, k] = de[j], de1[j]


@kernel
def pull_normalise(tree, each, z, zd, z_hat, zd_hat):
    """Turn adjoints (n, p) after ``normalise`` into those of z, zd before; ``each``: ``simd.numbers`` of columns."""
    for c in tree.euler:
        for g in range(0, each.size, width(each)):
            k = block(each, g)
            hat, hat1 = pull_unit(load4(z, c), load4(zd, c), (load4_of(z_hat, c, k), load4_of(zd_hat, c, k)))
            for j in range(4):
                put(z_hat, c + j, k, hat[j])
                put(zd_hat, c + j, k, hat1[j])
