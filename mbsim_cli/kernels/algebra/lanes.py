"""Lanes: the same small quantity for many time points or directions at once, one row a component, (k, LANES).

Arrays of lanes are fields of constant shape in structured rows. Then the compiler knows all strides, and turns a loop
over lanes around scalar formulas into vector instructions.
"""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel


def row_type(lanes, dtype=np.float64, **components):
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
def set3(x, l, a):
    """Write three rows."""
    x[0, l], x[1, l], x[2, l] = a


@kernel
def set6(x, l, a):
    """Write a spatial vector."""
    x[0, l], x[1, l], x[2, l] = a[0]
    x[3, l], x[4, l], x[5, l] = a[1]


@kernel
def set9(x, l, a):
    """Write a 3 x 3 matrix."""
    x[0, l], x[1, l], x[2, l], x[3, l], x[4, l], x[5, l], x[6, l], x[7, l], x[8, l] = a


# Sine and cosine without branches, so that a loop over lanes vectorises.
#
# The argument less the nearest multiple of pi/2 (which is held in three parts: Cody and Waite), then
# the polynomials of fdlibm for |x| <= pi/4. Error below 1.5 units in the last place for |x| <= ``WIDEST``.

WIDEST = 1e5
_PER_TURN = 2.0 / np.pi
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer
_PI_2_A = 1.57079632673412561417e00  # the first 33 bits of pi/2, the next 33, and the rest
_PI_2_B = 6.07710050630396597660e-11
_PI_2_C = 2.02226624879595063154e-21


@kernel
def sine_cosine(x):
    """(sin x, cos x) for real |x| <= ``WIDEST``; NaN for NaN."""
    quarter = (x * _PER_TURN + _ROUND) - _ROUND
    y = ((x - quarter * _PI_2_A) - quarter * _PI_2_B) - quarter * _PI_2_C
    z = y * y
    s = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08
    s = ((s * z + 2.75573137070700676789e-06) * z - 1.98412698298579493134e-04) * z
    s = y + y * z * ((s + 8.33333333332248946124e-03) * z - 1.66666666666666324348e-01)
    c = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09
    c = ((c * z - 2.75573143513906633035e-07) * z + 2.48015872894767294178e-05) * z
    c = 1.0 - 0.5 * z + z * z * ((c - 1.38888888888741095749e-03) * z + 4.16666666666666019037e-02)
    turn = quarter - 4.0 * ((0.25 * quarter + _ROUND) - _ROUND)  # -2 .. 2 quarter turns
    a = turn * (4.0 - turn * turn) * (1.0 / 3.0)  # sine and cosine of the quarter turns, exact: -1, 0 or 1
    b = (1.0 - a * a) * (1.0 - 0.5 * turn * turn)
    return b * s + a * c, b * c - a * s
