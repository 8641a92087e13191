"""Four neighbouring columns of a row at once, as a tuple: the compiler makes vectors of them."""

from mbsim_cli.kernels._jit import inlined


@inlined
def four(a, i, c):
    """Entries c .. c + 3 of row i."""
    return (a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3])


@inlined
def put_four(a, i, c, x):
    """Write entries c .. c + 3 of row i."""
    a[i, c], a[i, c + 1], a[i, c + 2], a[i, c + 3] = x


@inlined
def less_four(x, s, y):
    """x - s y."""
    return (x[0] - s * y[0], x[1] - s * y[1], x[2] - s * y[2], x[3] - s * y[3])


@inlined
def scale_four(s, x):
    """s x."""
    return (s * x[0], s * x[1], s * x[2], s * x[3])
