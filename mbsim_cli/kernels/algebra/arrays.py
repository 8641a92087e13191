"""Whole arrays: copied, cleared, scaled and added; and functions of real numbers that complex ones pass through."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel, overload, types
from mbsim_cli.kernels.compiler.simd import at, block, flat, total, width


@kernel
def clear(out):
    """out = 0."""
    x = flat(out)
    for i in range(x.size):
        x[i] = 0.0


@kernel
def set_identity(out):
    """out (n, n or more) = 1, zero elsewhere."""
    clear(out)
    for i in range(out.shape[0]):
        out[i, i] = 1.0


@kernel
def is_nothing(a):
    """Whether all numbers are zero."""
    x, found = flat(a), True
    for i in range(x.size):
        found = found and x[i] == 0.0
    return found


@kernel
def copy_to(a, out):
    """out = a."""
    x, y = flat(a), flat(out)
    for i in range(x.size):
        y[i] = x[i]


@kernel
def scaled(factor, a, out):
    """out = factor a; both may be one."""
    x, y = flat(a), flat(out)
    for i in range(x.size):
        y[i] = factor * x[i]


@kernel
def add_scaled(factor, a, out):
    """out += factor a."""
    x, y = flat(a), flat(out)
    for i in range(x.size):
        y[i] += factor * x[i]


@kernel
def largest_part(x):
    """Largest size of the real parts of x (n,); zero of none."""
    most = 0.0
    for r in range(x.size):
        most = max(most, np.abs(x[r].real))
    return most


# Whether numbers are finite: whole contiguous arrays, which processors compare eight numbers at a time.


@kernel
def is_finite(a):
    """Whether all numbers of an array of any shape are finite; only of those is the difference to themselves zero."""
    x, found = flat(a), True
    for i in range(x.size):
        found &= x[i] - x[i] == 0.0
    return found


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


# Complex numbers ------------------------------------------------------------------------------------------------------
#
# Functions that numpy does not continue analytically, written so that the complex step works.


def atan2(y, x):
    """Angle of (x, y); for complex arguments the analytic continuation off the real axis."""
    if isinstance(y, complex | np.complexfloating) or isinstance(x, complex | np.complexfloating):
        return _atan2_complex(y, x)
    return np.arctan2(y, x)


@kernel
def _atan2_complex(y, x):
    yr, xr = y.real, x.real
    return np.arctan2(yr, xr) + 1j * (xr * y.imag - yr * x.imag) / (xr * xr + yr * yr)


@overload(atan2)
def _atan2_compiled(y, x):
    if isinstance(y, types.Complex) or isinstance(x, types.Complex):
        return lambda y, x: _atan2_complex(y, x)
    return lambda y, x: np.arctan2(y, x)


def power(a, b):
    """a to the power b; for complex arguments to first order off the real axis, also at zero and below."""
    if isinstance(a, complex | np.complexfloating) or isinstance(b, complex | np.complexfloating):
        return _power_complex(a, b)
    return a**b


@kernel
def _power_complex(a, b):
    x, e = a.real, b.real
    y = x**e
    by_base = e * x ** (e - 1.0) if e != 0.0 else 0.0
    by_exponent = y * np.log(x) if x > 0.0 else 0.0
    return y + 1j * (by_base * a.imag + by_exponent * b.imag)


@overload(power)
def _power_compiled(a, b):
    if isinstance(a, types.Complex) or isinstance(b, types.Complex):
        return lambda a, b: _power_complex(a, b)
    return lambda a, b: a**b
