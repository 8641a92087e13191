"""Lanes: the same small quantity for many instants or directions at once, one row a component, (k, LANES).

Arrays of lanes are fields of constant shape in structured rows. Then the compiler knows all strides, and turns a loop
over lanes around scalar formulas into vector instructions.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel


def rows_of(lanes, dtype=np.float64, **components):
    """Type of a structured row whose fields have the given numbers of components."""
    return np.dtype([(name, dtype, (k, lanes)) for name, k in components.items()])


@kernel
def get3(x, l):
    """Three rows of lane l."""
    return (x[0, l], x[1, l], x[2, l])


@kernel
def get6(x, l):
    """Spatial vector of lane l."""
    return ((x[0, l], x[1, l], x[2, l]), (x[3, l], x[4, l], x[5, l]))


@kernel
def get_symmetric(x, l):
    """Symmetric matrix of lane l."""
    return (x[0, l], x[1, l], x[2, l], x[3, l], x[4, l], x[5, l])


@kernel
def get9(x, l):
    """3 x 3 matrix of lane l."""
    return (x[0, l], x[1, l], x[2, l], x[3, l], x[4, l], x[5, l], x[6, l], x[7, l], x[8, l])


@kernel
def put3(x, l, a):
    """Write three rows."""
    x[0, l], x[1, l], x[2, l] = a


@kernel
def put6(x, l, a):
    """Write a spatial vector."""
    x[0, l], x[1, l], x[2, l] = a[0]
    x[3, l], x[4, l], x[5, l] = a[1]


@kernel
def put9(x, l, a):
    """Write a 3 x 3 matrix."""
    x[0, l], x[1, l], x[2, l], x[3, l], x[4, l], x[5, l], x[6, l], x[7, l], x[8, l] = a
