"""Whole contiguous arrays of any shape: one long loop over all numbers, where one for each row would cost more."""

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.views import flat


@kernel
def clear(out):
    """out = 0."""
    x = flat(out)
    for i in range(x.size):
        x[i] = 0.0


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
def scale(factor, out):
    """out *= factor."""
    x = flat(out)
    for i in range(x.size):
        x[i] *= factor


@kernel
def scaled(factor, a, out):
    """out = factor a."""
    x, y = flat(a), flat(out)
    for i in range(x.size):
        y[i] = factor * x[i]


@kernel
def add_scaled(factor, a, out):
    """out += factor a."""
    x, y = flat(a), flat(out)
    for i in range(x.size):
        y[i] += factor * x[i]


# Whether numbers are finite: whole contiguous arrays, which processors compare eight numbers at a time.


@kernel
def is_finite(a):
    """Whether all numbers of an array of any shape are finite; only of those is the difference to themselves zero."""
    x, found = flat(a), True
    for i in range(x.size):
        found &= x[i] - x[i] == 0.0
    return found
