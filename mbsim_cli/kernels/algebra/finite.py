"""Whether numbers are finite: whole contiguous arrays, which processors compare eight numbers at a time."""

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.views import flat


@kernel
def is_finite(a):
    """Whether all numbers of an array of any shape are finite; only of those is the difference to themselves zero."""
    x, found = flat(a), True
    for i in range(x.size):
        found &= x[i] - x[i] == 0.0
    return found
