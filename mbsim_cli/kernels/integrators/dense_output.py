"""Dense output: the motion inside a step, as polynomials in the share x of the step that has passed.

y(x) = y_0 + x (f_0 + (1 - x) (f_1 + x (f_2 + (1 - x) (f_3 + ...)))); with the weights of the method, order 7.
Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), section II.6.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged

TERMS = 7


class Dense(NamedTuple):
    """Coefficients f of the step taken last, and where it began."""

    z0: np.ndarray  # (n,)
    zd0: np.ndarray  # (n,)
    dz0: np.ndarray  # (n, p)
    dzd0: np.ndarray  # (n, p)
    z: np.ndarray  # (TERMS, n)
    zd: np.ndarray  # (TERMS, n)
    dz: np.ndarray  # (TERMS, n, p)
    dzd: np.ndarray  # (TERMS, n, p)


@merged
def form_dense(h, weights, state, sens, trial, d_trial, stages, last, dense_out):
    """Coefficients for the step from ``state`` to ``trial``, whose rates at the end are stage ``last``."""
    for c in range(state.z.size):
        dense_out.z0[c] = state.z[c]
        dense_out.zd0[c] = state.zd[c]
        for k in range(sens.z.shape[1]):
            dense_out.dz0[c, k] = sens.z[c, k]
            dense_out.dzd0[c, k] = sens.zd[c, k]
    form_terms(h, weights, state.z, trial.z, stages.zd, last, dense_out.z)
    form_terms(h, weights, state.zd, trial.zd, stages.zdd, last, dense_out.zd)
    for k in range(sens.z.shape[1]):
        form_terms(h, weights, sens.z[:, k], d_trial.z[:, k], stages.dzd[:, :, k], last, dense_out.dz[:, :, k])
        form_terms(h, weights, sens.zd[:, k], d_trial.zd[:, k], stages.dzdd[:, :, k], last, dense_out.dzd[:, :, k])


@kernel
def form_terms(h, weights, start, end, rates, last, out):
    """Terms (TERMS, n) of one quantity from its ends and its rates (S, n)."""
    for c in range(start.size):
        change = end[c] - start[c]
        out[0, c] = change
        out[1, c] = h * rates[0, c] - change
        out[2, c] = 2.0 * change - h * (rates[last, c] + rates[0, c])
        for i in range(weights.shape[0]):
            total = 0.0 * change
            for j in range(weights.shape[1]):
                total += weights[i, j] * rates[j, c]
            out[3 + i, c] = h * total


@kernel
def interpolate(at, begin, end, dense, state_out, sens_out):
    """Coordinates, rates and their sensitivities at a time within the step."""
    x = (at - begin) / (end - begin)
    interpolate_terms(x, dense.z0, dense.z, state_out.z)
    interpolate_terms(x, dense.zd0, dense.zd, state_out.zd)
    for k in range(sens_out.z.shape[1]):
        interpolate_terms(x, dense.dz0[:, k], dense.dz[:, :, k], sens_out.z[:, k])
        interpolate_terms(x, dense.dzd0[:, k], dense.dzd[:, :, k], sens_out.zd[:, k])


@kernel
def interpolate_terms(x, start, terms, out):
    """One quantity (n,) at the share x of the step."""
    for c in range(out.size):
        value = 0.0 * start[c]
        for i in range(terms.shape[0] - 1, -1, -1):
            value = (value + terms[i, c]) * (x if i % 2 == 0 else 1.0 - x)
        out[c] = start[c] + value


@kernel
def pull_interpolated(x, h, weights, last, hat, start_hat, end_hat, rates_hat):
    """Transpose of ``form_terms`` and ``interpolate_terms``: add hat (n, p) to both ends and rates (S, n, p)."""
    first, slope, bend, factor = x, x * (1.0 - x), x * x * (1.0 - x), x * x * (1.0 - x)
    change = first - slope + 2.0 * bend
    add_scaled(1.0 - change, hat, start_hat)
    add_scaled(change, hat, end_hat)
    add_scaled(h * (slope - bend), hat, rates_hat[0])
    add_scaled(-h * bend, hat, rates_hat[last])
    for i in range(weights.shape[0]):
        factor *= 1.0 - x if i % 2 == 0 else x
        for j in range(weights.shape[1]):
            if weights[i, j] != 0.0:
                add_scaled(h * factor * weights[i, j], hat, rates_hat[j])


# Motion inside a step from both of its ends: quintic in coordinates, cubic in rates.
#
# Rates have a polynomial of their own: that of coordinates, differentiated, would divide their error by the step.


class Ends(NamedTuple):
    """Both ends of the step taken last."""

    begin: Any  # State
    d_begin: Any  # Sensitivity
    end: Any
    d_end: Any


@kernel
def interpolate_between(at, begin, end, dense, state_out, sens_out):
    """Coordinates, rates and their sensitivities at a time within the step; ``dense`` are its ``Ends``."""
    h, a, b = end - begin, dense.d_begin, dense.d_end
    x = (at - begin) / h
    for k in range(sens_out.z.shape[1]):
        _quintic(
            x, h, a.z[:, k], a.zd[:, k], a.zdd[:, k], b.z[:, k], b.zd[:, k], b.zdd[:, k], sens_out.z[:, k]
        )  # fmt: skip
        _cubic(x, h, a.zd[:, k], a.zdd[:, k], b.zd[:, k], b.zdd[:, k], sens_out.zd[:, k])
    interpolate_motion(x, h, dense.begin, dense.end, state_out)


@merged
def interpolate_motion(x, h, begin, end, state_out):
    """``interpolate_between`` without sensitivities."""
    _quintic(x, h, begin.z, begin.zd, begin.zdd, end.z, end.zd, end.zdd, state_out.z)
    _cubic(x, h, begin.zd, begin.zdd, end.zd, end.zdd, state_out.zd)


@kernel
def _quintic(x, h, y0, d0, c0, y1, d1, c1, out):
    """Hermite polynomial of values y, first derivatives d and second ones c at both ends."""
    to_end, slope0, slope1, bend0, bend1 = _quintic_weights(x, h)
    for c in range(out.size):
        out[c] = y0[c] + (to_end * (y1[c] - y0[c]) + slope0 * d0[c] + slope1 * d1[c] + bend0 * c0[c] + bend1 * c1[c])


@inlined
def _quintic_weights(x, h):
    """Weights of the change, of both first derivatives and of both second ones."""
    xx, rest = x * x, 1.0 - x
    to_end = x * xx * (10.0 - x * (15.0 - 6.0 * x))
    slope0 = h * x * rest * rest * rest * (1.0 + 3.0 * x)
    slope1 = -h * x * xx * rest * (4.0 - 3.0 * x)
    bend0 = 0.5 * h * h * xx * rest * rest * rest
    bend1 = 0.5 * h * h * x * xx * rest * rest
    return to_end, slope0, slope1, bend0, bend1


@kernel
def _cubic(x, h, y0, d0, y1, d1, out):
    """Hermite polynomial of values y and first derivatives d at both ends."""
    to_end, slope0, slope1 = _cubic_weights(x, h)
    for c in range(out.size):
        out[c] = y0[c] + (to_end * (y1[c] - y0[c]) + slope0 * d0[c] + slope1 * d1[c])


@inlined
def _cubic_weights(x, h):
    """Weights of the change and of both first derivatives."""
    xx, rest = x * x, 1.0 - x
    return xx * (3.0 - 2.0 * x), h * x * rest * rest, -h * xx * rest


@kernel
def pull_between(x, h, z_hat, zd_hat, z0, zd0, zdd0, z1, zd1, zdd1):
    """Transpose of ``interpolate_between``: add to adjoints (n, p) of both ends."""
    to_end, slope0, slope1, bend0, bend1 = _quintic_weights(x, h)
    add_scaled(1.0 - to_end, z_hat, z0)
    add_scaled(to_end, z_hat, z1)
    add_scaled(slope0, z_hat, zd0)
    add_scaled(slope1, z_hat, zd1)
    add_scaled(bend0, z_hat, zdd0)
    add_scaled(bend1, z_hat, zdd1)
    to_end, slope0, slope1 = _cubic_weights(x, h)
    add_scaled(1.0 - to_end, zd_hat, zd0)
    add_scaled(to_end, zd_hat, zd1)
    add_scaled(slope0, zd_hat, zdd0)
    add_scaled(slope1, zd_hat, zdd1)
