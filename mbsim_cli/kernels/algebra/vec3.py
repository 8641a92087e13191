"""Vectors of three as tuples: values in, value out, nothing allocated."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at


@inlined
def load3(array, offset):
    """Three consecutive entries of a flat array."""
    return (array[offset], array[offset + 1], array[offset + 2])


@inlined
def load3_of(array, offset, k):
    """Three consecutive rows of a matrix in direction k."""
    return (at(array, offset, k), at(array, offset + 1, k), at(array, offset + 2, k))


@inlined
def add3_to(array, offset, k, a):
    """Add a to three consecutive rows of a matrix in direction k."""
    add_to(array, offset, k, a[0])
    add_to(array, offset + 1, k, a[1])
    add_to(array, offset + 2, k, a[2])


@inlined
def row3(array, row, offset):
    """Three consecutive entries of a row of a matrix."""
    return (array[row, offset], array[row, offset + 1], array[row, offset + 2])


@inlined
def add3(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def sub3(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scale3(s, a):
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


@inlined
def axpy3(s, a, b):
    """s a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2])


@inlined
def dot3(a, b):
    """a . b, bilinear also for complex numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross3(a, b):
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def is_zero3(a):
    """Whether a vanishes exactly, also its imaginary part."""
    return a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0


@inlined
def length3(a):
    """sqrt(a . a), analytic also for complex numbers."""
    return np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
