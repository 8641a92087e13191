"""Motion inside a step from both of its ends: quintic in coordinates, cubic in rates.

Rates have a polynomial of their own: that of coordinates, differentiated, would divide their error by the step.
"""

from mbsim_cli.kernels.algebra.whole import add_scaled
from mbsim_cli.kernels.compiler.jit import inlined, kernel, merged


@merged
def interpolate_between(x, h, begin, d_begin, end, d_end, state_out, sens_out):
    """Coordinates, rates and their sensitivities at the share x of a step of length h."""
    for k in range(sens_out.z.shape[1]):
        _quintic(
            x, h, d_begin.z[:, k], d_begin.zd[:, k], d_begin.zdd[:, k], d_end.z[:, k], d_end.zd[:, k], d_end.zdd[:, k],
            sens_out.z[:, k],
        )  # fmt: skip
        _cubic(x, h, d_begin.zd[:, k], d_begin.zdd[:, k], d_end.zd[:, k], d_end.zdd[:, k], sens_out.zd[:, k])
    interpolate_motion(x, h, begin, end, state_out)


@merged
def interpolate_motion(x, h, begin, end, state_out):
    """The same without sensitivities."""
    _quintic(x, h, begin.z, begin.zd, begin.zdd, end.z, end.zd, end.zdd, state_out.z)
    _cubic(x, h, begin.zd, begin.zdd, end.zd, end.zdd, state_out.zd)


@kernel
def _quintic(x, h, y0, d0, c0, y1, d1, c1, out):
    """Hermite polynomial of values y, first derivatives d and second ones c at both ends."""
    to_end, slope0, slope1, bend0, bend1 = _quintic_weights(x, h)
    for c in range(out.size):
        out[c] = y0[c] + (
            to_end * (y1[c] - y0[c]) + slope0 * d0[c] + slope1 * d1[c] + bend0 * c0[c] + bend1 * c1[c]
        )  # fmt: skip


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
    """Transpose of ``interpolate_between``: add to covectors (n, p) of both ends."""
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
