"""How kernels are given things: groups of arrays by reference, views of arrays, constants as any number."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.compiler.simd import as_column, flat

compiled_only = pytest.mark.skipif(COMPILER != "linking", reason="what the linking compiler does")


class Inner(NamedTuple):
    a: np.ndarray
    factor: float


class Outer(NamedTuple):
    inner: Inner
    b: np.ndarray
    count: int
    couple: tuple  # not a named one


@kernel
def scale_rows(group, out):
    """Reads fields of all depths, and hands a group on."""
    for i in range(group.count):
        out[i] = group.inner.factor * group.inner.a[i] + group.b[i, 1]
    add_both(group.inner, group.couple, out)


@kernel
def add_both(inner, couple, out):
    """Takes a group within a group, and a plain tuple of groups."""
    for i in range(inner.a.size):
        out[i] += couple[0].a[i] * couple[1].factor
        inner.a[i] = -1.0


@entry
def fill(group, other, out):
    """An entry with two groups of one type."""
    scale_rows(group, out)
    scale_rows(other, other.b[0])


def groups():
    """Two groups with numbers of their own."""
    rng = np.random.default_rng(3)

    def inner():
        return Inner(rng.normal(size=4), rng.normal())

    return [Outer(inner(), rng.normal(size=(4, 4)), 3, (inner(), inner())) for _ in range(2)]


def test_fields_of_a_reference_are_those_of_the_group():
    given, kept = groups(), groups()
    out = np.zeros(4)
    fill(*given, out)
    for group, before, found in zip(given, kept, (out, given[1].b[0]), strict=True):
        first, second = before.couple
        expected = np.where(found is out, 0.0, before.b[0])
        expected[:3] = before.inner.factor * before.inner.a[:3] + before.b[:3, 1]
        if found is not out:  # its first row is written while it is read
            expected[1] = before.inner.factor * before.inner.a[1] + before.b[1, 1]
        np.testing.assert_allclose(found, expected + first.a * second.factor, rtol=1e-14)
        assert np.all(group.inner.a == -1.0), "arrays are shared"


@compiled_only
def test_a_field_that_a_group_lacks_is_an_error_of_types():
    @entry
    def wrong(group):
        return group.inner.c[0]

    with pytest.raises(TypingError, match="attribute 'c'"):
        wrong(groups()[0])


@kernel
def power(x, k):
    """A constant k."""
    return x**k


@compiled_only
def test_a_kernel_is_not_compiled_for_each_constant():
    from mbsim_cli.kernels.compiler import compiling
    from mbsim_cli.kernels.compiler.entry import FORMS, KERNELS

    compiling.introduce(KERNELS, FORMS)
    dispatcher = compiling.dispatchers[power]
    for constant in (2, 3):
        dispatcher.get_call_template((numba.types.float64, numba.types.literal(constant)), {})
    assert [signature[1] for signature in dispatcher.overloads] == [numba.types.int64]


@entry
def write_views(x, out):
    """All of x twice over, through both views."""
    row, column = flat(x), as_column(x)
    for i in range(row.size):
        row[i] *= 2.0
        out[i] = column[i, 0] + column.shape[1]


@pytest.mark.parametrize("shape", [(6,), (2, 3), (2, 1, 3), (0, 3)])
def test_views_share_their_numbers(shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    before, out = x.copy(), np.zeros(x.size)
    write_views(x, out)
    np.testing.assert_array_equal(x, 2.0 * before)
    np.testing.assert_array_equal(out, x.ravel() + 1.0)


@compiled_only
def test_views_are_of_contiguous_arrays_only():
    with pytest.raises(TypingError, match="follow one another"):
        write_views(np.zeros((4, 4))[:, ::2], np.zeros(8))
