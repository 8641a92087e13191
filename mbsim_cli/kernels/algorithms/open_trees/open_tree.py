"""What the formulations for open trees share: coordinates that laws of time drive, and sets of Euler parameters.

A driven coordinate c obeys a z_c = target + law(t), with a the coefficient of its measure. Derivation:
docs/theory/open_trees.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements.law_pull_back import pull_law
from mbsim_cli.kernels.elements.laws import law_value, law_variation
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
    for i, k in enumerate(model.constraints.measure):
        if model.measures.kind[k] == Measure.COORDINATES:
            driver[of_columns(model.tree, model.measures.coordinate[model.measures.first[k]])] = i
    return OpenTree(driver, np.flatnonzero(kinds(model.tree) == Column.EULER_0).astype(np.int64))


@inlined
def coefficient_offset(model, i):
    """Where theta holds the coefficient a of constraint i."""
    return model.measures.theta[model.constraints.measure[i]]


@kernel
def drive(model, theta, t, open_tree, z, zd):
    """Set driven coordinates and their rates to what the laws prescribe."""
    for c in range(z.size):
        i = open_tree.driver[c]
        if i != NONE:
            a = theta[coefficient_offset(model, i)]
            law, law1, _ = law_value(model.laws, theta, model.constraints.law[i], t)
            z[c] = (theta[model.constraints.theta[i]] + law) / a
            zd[c] = law1 / a


@kernel
def driven_acceleration(model, theta, t, open_tree, zdd):
    """Set accelerations of driven coordinates."""
    for c in range(zdd.size):
        i = open_tree.driver[c]
        if i != NONE:
            _, _, law2 = law_value(model.laws, theta, model.constraints.law[i], t)
            zdd[c] = law2 / theta[coefficient_offset(model, i)]


@kernel
def vary_drive(model, theta, dtheta, t, open_tree, z, zd, dz, dzd):
    """Set variations of driven coordinates and rates, dz and dzd (n, p), in directions dtheta (len(theta), p)."""
    for c in range(z.size):
        i = open_tree.driver[c]
        if i != NONE:
            o = coefficient_offset(model, i)
            for k in range(dz.shape[1]):
                law, law1, _ = law_variation(model.laws, theta, dtheta, k, model.constraints.law[i], t)
                dz[c, k] = (dtheta[model.constraints.theta[i], k] + law - dtheta[o, k] * z[c]) / theta[o]
                dzd[c, k] = (law1 - dtheta[o, k] * zd[c]) / theta[o]


@kernel
def vary_driven_acceleration(model, theta, dtheta, t, open_tree, zdd, dzdd):
    """Set variations of accelerations of driven coordinates, dzdd (n, p)."""
    for c in range(zdd.size):
        i = open_tree.driver[c]
        if i != NONE:
            o = coefficient_offset(model, i)
            for k in range(dzdd.shape[1]):
                _, _, law2 = law_variation(model.laws, theta, dtheta, k, model.constraints.law[i], t)
                dzdd[c, k] = (law2 - dtheta[o, k] * zdd[c]) / theta[o]


@kernel
def pull_drive(model, theta, t, open_tree, z, zd, zdd, cov):
    """Transpose of ``vary_drive`` and ``vary_driven_acceleration``: what is driven depends on numbers alone."""
    for c in range(z.size):
        i = open_tree.driver[c]
        if i != NONE:
            o = coefficient_offset(model, i)
            for g in range(0, cov.each.size, width(cov.each)):
                k = block(cov.each, g)
                hat, hat1, hat2 = at(cov.z, c, k) / theta[o], at(cov.zd, c, k) / theta[o], at(cov.zdd, c, k) / theta[o]
                add_to(cov.theta, model.constraints.theta[i], k, hat)
                pull_law(model.laws, theta, model.constraints.law[i], t, k, hat, hat1, hat2, cov.theta)
                add_to(cov.theta, o, k, -1.0 * (z[c] * hat + zd[c] * hat1 + zdd[c] * hat2))
                put(cov.z, c, k, 0.0 * hat)
                put(cov.zd, c, k, 0.0 * hat)
                put(cov.zdd, c, k, 0.0 * hat)
