"""Functions that numpy does not continue analytically, written so that the complex step works."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import overload, types


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
