"""Eight directions as one number: the same arithmetic as numpy's, one direction at a time for complex numbers."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.compiler.simd import (
    WIDTH,
    add_to,
    at,
    block,
    largest,
    only,
    padded,
    put,
    squares,
    together,
    total,
    width,
    zeros,
)

pytestmark = pytest.mark.skipif(COMPILER != "linking", reason="others take one direction at a time")
rng = np.random.default_rng(8)


@kernel
def mixed(x, y, s):
    """Every operation, between directions and with plain numbers on either side."""
    total = 0.0  # a plain number that becomes one of directions
    total += x * y - s * x
    total -= y / s + 2 * x - 1.0 / y
    return -total + (s - y) * (x + 3)


@entry
def formulas(a, b, s, out):
    """Rows of out: ``mixed``, twice its sum, the sum of squares, how many directions are taken together, their sum.

    Then the largest square.
    """
    for g in range(0, a.shape[1], width(a)):
        k = block(a, g)
        put(out, 0, k, mixed(at(a, 0, k), at(b, 0, k), s))
        put(out, 1, k, 0.0)
        for _ in range(2):
            add_to(out, 1, k, at(out, 0, k))
        put(out, 2, k, total(squares(at(a, 0, k))))
        put(out, 3, k, width(a))
        put(out, 4, k, total(at(a, 0, k)))
        put(out, 5, k, largest(squares(at(a, 0, k))))


@entry
def of_bodies(a, i, out):
    """Rows of a body (nb, 6, p): -1 is the last."""
    for g in range(0, a.shape[2], width(a)):
        k = block(a, g)
        for c in range(6):
            put(out, c, k, at(a, i, c, k))


@pytest.mark.parametrize("count", [WIDTH, 3 * WIDTH])
@pytest.mark.parametrize("dtype", [float, complex])
def test_arithmetic(dtype, count):
    a, b = rng.uniform(1.0, 2.0, size=(2, 1, count)).astype(dtype)
    if dtype is complex:
        a = a + 1j * rng.normal(size=a.shape)
    out = zeros((6, count), dtype)
    formulas(a, b, 0.7, out)
    x, y, s = a[0], b[0], 0.7
    expected = -((x * y - s * x) - (y / s + 2 * x - 1.0 / y)) + (s - y) * (x + 3)
    assert np.allclose(out[0], expected, rtol=1e-14, atol=1e-14)
    assert np.allclose(out[1], 2 * out[0], rtol=1e-15)
    together = WIDTH if dtype is float else 1
    assert (out[3] == together).all()
    squares = (np.abs(x) ** 2).reshape(-1, together)
    assert np.allclose(out[2].real, np.repeat(squares.sum(axis=1), together), rtol=1e-14)
    assert np.allclose(out[5].real, np.repeat(squares.max(axis=1), together), rtol=1e-14)
    assert np.allclose(out[4], np.repeat(x.reshape(-1, together).sum(axis=1), together), rtol=1e-14)


def test_the_last_body_is_the_ground():
    a, out = rng.normal(size=(3, 6, WIDTH)), np.zeros((6, WIDTH))
    for i in (0, 2, -1):
        of_bodies(a, i, out)
        assert np.array_equal(out, a[i])


@entry
def chosen(a, bits, out):
    """Directions of a (1, p) whose bit is set."""
    for g in range(0, a.shape[1], width(a)):
        put(out, 0, block(a, g), only(at(a, 0, block(a, g)), bits >> g))


@pytest.mark.parametrize("dtype", [float, complex])
def test_some_directions_only(dtype):
    a, out = rng.normal(size=(1, 2 * WIDTH)).astype(dtype), zeros((1, 2 * WIDTH), dtype)
    a[0, 3] = np.nan  # what is left out does not count, whatever it is
    wanted = np.arange(2 * WIDTH) % 3 == 1
    chosen(a, int((wanted << np.arange(2 * WIDTH)).sum()), out)
    assert np.array_equal(out[0], np.where(wanted, a[0], 0.0))
    assert together(dtype) == (WIDTH if dtype is float else 1)


def test_directions_must_be_contiguous():
    a = rng.normal(size=(WIDTH, 4)).T
    with pytest.raises(TypingError, match="directions must be contiguous"):
        formulas(a, a, 0.7, np.zeros((4, WIDTH)))


def test_directions_must_fill_blocks():
    a = rng.normal(size=(1, WIDTH + 5))
    with pytest.raises(ValueError, match="directions must fill blocks of 8"):
        formulas(a, a, 0.7, np.zeros((4, WIDTH + 5)))


def test_room_for_directions():
    assert [padded(p) for p in (0, 1, 8, 9)] == [0, 8, 8, 16]
    for dtype in (float, complex):
        room = zeros((3, 5), dtype)
        assert room.shape == (3, 5) and room.dtype == dtype and not room.any() and room.flags.c_contiguous
        assert room.ctypes.data % 64 == 0
    assert zeros((2, 0), float).shape == (2, 0)
