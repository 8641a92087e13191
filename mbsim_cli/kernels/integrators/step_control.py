"""Error of a step and the size of the next one; sizes follow real parts only, so that derivatives are of fixed steps.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I (1993), sections II.4 and II.5.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import at, block, total, width

SAFETY = 0.9
SHRINK, GROW = 0.2, 10.0
TINY = 1e-300  # a first step of zero would be looked for again
STEPS, REJECTED, EVALUATIONS, JACOBIANS, FACTORISATIONS = range(5)  # what counters count


class ErrorControl(NamedTuple):
    """Bounds of the local error, and the order by which it falls; adaptive is false for fixed steps."""

    adaptive: bool
    relative: float
    absolute: float
    exponent: float  # 1 / (order of the error)
    sensitivities: bool  # whether their error counts too
    most: float  # steps that a run may try
    at_once: float  # steps that a call may try before it pauses


@kernel
def factor_of(error, exponent, rejected):
    """Factor by which a step may grow, from its error in units of the tolerance."""
    if error == 0.0:
        return GROW if not rejected else 1.0
    factor = SAFETY * error ** (-exponent)
    return min(1.0 if rejected else GROW, max(SHRINK, factor))


@kernel
def error_norm(control, h, weights, state, trial, sens, d_trial, stages):
    """Error of a step in units of the tolerance: root mean square over all coordinates and rates."""
    first, second, count = _errors(control, weights, state.z, trial.z, stages.zd)
    a, b, more = _errors(control, weights, state.zd, trial.zd, stages.zdd)
    error = _norm(h, first + a, second + b, count + more)
    if control.sensitivities:
        for k in range(sens.z.shape[1]):
            first, second, count = _errors(control, weights, sens.z[:, k], d_trial.z[:, k], stages.dzd[:, :, k])
            a, b, more = _errors(control, weights, sens.zd[:, k], d_trial.zd[:, k], stages.dzdd[:, :, k])
            error = max(error, _norm(h, first + a, second + b, count + more))
    return error


@kernel
def _errors(control, weights, start, end, rates):
    """Sums of squares of both estimates, scaled, and the number of terms."""
    first, second = 0.0, 0.0
    for c in range(start.size):
        scale = control.absolute + control.relative * max(np.abs(start[c].real), np.abs(end[c].real))
        a, b = 0.0, 0.0
        for j in range(weights.shape[1]):
            a += weights[0, j] * rates[j, c].real
            b += weights[1, j] * rates[j, c].real
        first += (a / scale) ** 2
        second += (b / scale) ** 2
    return first, second, start.size


@kernel
def _norm(h, first, second, count):
    """The fifth-order estimate, damped where the third-order one is much larger."""
    if first == 0.0:
        return 0.0 * second  # not a number stays one
    return h * first / np.sqrt((first + 0.01 * second) * count)


@kernel
def size_of(control, a, like):
    """Root mean square of a (n,) in units of the tolerance at ``like``."""
    total = 0.0
    for c in range(a.size):
        total += (a[c].real / (control.absolute + control.relative * np.abs(like[c].real))) ** 2
    return np.sqrt(total / max(1, a.size))


@kernel
def initial_step(control, rate_size, change_size, trial_step):
    """Length of the first step, from the sizes of the rates and of their change over a trial step."""
    steepest = max(rate_size, change_size / trial_step)
    if steepest <= 1e-15:
        return max(1e-6, 1e-3 * trial_step)
    return max(TINY, min(100.0 * trial_step, (0.01 / steepest) ** control.exponent))


@kernel
def trial_step_of(first_size, rate_size):
    """Length of an Euler step that tells how fast the rates change."""
    return 1e-6 if first_size < 1e-5 or rate_size < 1e-5 else 0.01 * first_size / rate_size


@kernel
def sum_of(a):
    """Sum of the real parts of a (n, p), p 1 or ``simd.padded``: finite if they all are."""
    if a.size == 0:
        return 0.0
    if a.shape[1] == 1:
        return _sum_of_column(a, 0)
    found = 0.0
    for g in range(0, a.shape[1], width(a)):
        found += _sum_of_column(a, block(a, g))
    return found


@kernel
def _sum_of_column(a, k):
    found = 0.0 * at(a, 0, k)
    for c in range(a.shape[0]):
        found += at(a, c, k)
    return total(found).real
