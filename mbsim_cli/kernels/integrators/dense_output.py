"""Dense output: the motion inside a step, as polynomials in the share x of the step that has passed.

y(x) = y_0 + x (f_0 + (1 - x) (f_1 + x (f_2 + (1 - x) (f_3 + ...)))); with the weights of the method, order 7.
Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), section II.6.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel, merged

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
    _form(h, weights, state.z, trial.z, stages.zd, last, dense_out.z)
    _form(h, weights, state.zd, trial.zd, stages.zdd, last, dense_out.zd)
    for k in range(sens.z.shape[1]):
        _form(h, weights, sens.z[:, k], d_trial.z[:, k], stages.dzd[:, :, k], last, dense_out.dz[:, :, k])
        _form(h, weights, sens.zd[:, k], d_trial.zd[:, k], stages.dzdd[:, :, k], last, dense_out.dzd[:, :, k])


@kernel
def _form(h, weights, start, end, rates, last, out):
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


@merged
def interpolate(x, dense, state_out, sens_out):
    """Coordinates, rates and their sensitivities at the share x of the step."""
    _interpolate(x, dense.z0, dense.z, state_out.z)
    _interpolate(x, dense.zd0, dense.zd, state_out.zd)
    for k in range(sens_out.z.shape[1]):
        _interpolate(x, dense.dz0[:, k], dense.dz[:, :, k], sens_out.z[:, k])
        _interpolate(x, dense.dzd0[:, k], dense.dzd[:, :, k], sens_out.zd[:, k])


@kernel
def _interpolate(x, start, terms, out):
    for c in range(out.size):
        value = 0.0 * start[c]
        for i in range(terms.shape[0] - 1, -1, -1):
            value = (value + terms[i, c]) * (x if i % 2 == 0 else 1.0 - x)
        out[c] = start[c] + value
