"""Functions that numpy does not continue analytically, written so that the complex step works."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel, overload, types


def atan2(y, x):
    """Angle of (x, y); for complex arguments the analytic continuation off the real axis."""
    if isinstance(y, complex | np.complexfloating) or isinstance(x, complex | np.complexfloating):
        return _atan2_complex(y, x)
    return np.arctan2(y, x)


def _atan2_complex(y, x):
    yr, xr = y.real, x.real
    return np.arctan2(yr, xr) + 1j * (xr * y.imag - yr * x.imag) / (xr * xr + yr * yr)


@overload(atan2)
def _atan2_compiled(y, x):
    if isinstance(y, types.Complex) or isinstance(x, types.Complex):

        def complex_step(y, x):
            yr, xr = y.real, x.real
            return np.arctan2(yr, xr) + 1j * (xr * y.imag - yr * x.imag) / (xr * xr + yr * yr)

        return complex_step

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
