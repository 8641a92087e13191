"""Symmetric matrices as six numbers (xx, yy, zz, xy, xz, yz), and full ones by rows, as tuples."""

from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def less_tilde(A, c):
    """A symmetric matrix less c x, by rows."""
    return (
        A[0],
        A[3] + c[2],
        A[4] - c[1],
        A[3] - c[2],
        A[1],
        A[5] + c[0],
        A[4] + c[1],
        A[5] - c[0],
        A[2],
    )


@inlined
def axpy_nine(s, A, B):
    """s A + B of matrices by rows."""
    return (
        s * A[0] + B[0],
        s * A[1] + B[1],
        s * A[2] + B[2],
        s * A[3] + B[3],
        s * A[4] + B[4],
        s * A[5] + B[5],
        s * A[6] + B[6],
        s * A[7] + B[7],
        s * A[8] + B[8],
    )


@inlined
def axpy_six(s, A, B):
    """s A + B of symmetric matrices."""
    return (
        s * A[0] + B[0],
        s * A[1] + B[1],
        s * A[2] + B[2],
        s * A[3] + B[3],
        s * A[4] + B[4],
        s * A[5] + B[5],
    )


@inlined
def scale_six(s, A):
    """s A of a symmetric matrix."""
    return s * A[0], s * A[1], s * A[2], s * A[3], s * A[4], s * A[5]


@inlined
def scale_nine(s, A):
    """s A of a matrix by rows."""
    return s * A[0], s * A[1], s * A[2], s * A[3], s * A[4], s * A[5], s * A[6], s * A[7], s * A[8]


@inlined
def less_six(A, B):
    """A - B of symmetric matrices."""
    return A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4], A[5] - B[5]


@inlined
def pair_six(x, y):
    """What the six entries of a symmetric A are multiplied by in x . A y."""
    return (
        x[0] * y[0],
        x[1] * y[1],
        x[2] * y[2],
        x[0] * y[1] + x[1] * y[0],
        x[0] * y[2] + x[2] * y[0],
        x[1] * y[2] + x[2] * y[1],
    )


@inlined
def products(w):
    """What the six entries of a symmetric A are multiplied by in w . A w."""
    return w[0] * w[0], w[1] * w[1], w[2] * w[2], 2.0 * w[0] * w[1], 2.0 * w[0] * w[2], 2.0 * w[1] * w[2]


@inlined
def dot_six(A, s):
    """Sum of the products of six numbers."""
    return A[0] * s[0] + A[1] * s[1] + A[2] * s[2] + A[3] * s[3] + A[4] * s[4] + A[5] * s[5]
