"""Eight cases as one number: the bits that each of them has alone, and one answer of a comparison or none."""

import numpy as np
import pytest

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.compiler.simd import (
    CASES,
    add_product,
    at,
    at_most,
    below,
    block,
    lanes_of,
    largest,
    select,
    squares,
    total,
    widened,
)

pytestmark = pytest.mark.skipif(COMPILER != "linking", reason="others compute one case at a time")


@entry
def formulas(x, s, out):
    """Arithmetic that a processor may fuse, functions, and what depends on a branch."""
    a, b = x[0], x[1]
    out[0] = a * b - s * a + b / (a - 3) - -a.real
    out[1] = np.sin(a) * np.sqrt(np.abs(b)) + np.arctan2(a, s) - np.cos(b) + np.round(7.0 * a)
    out[1] += total(squares(a)) - largest(s * b)  # of each case, which has one direction
    try:
        out[2] = 1.0 if s < b else 2.0
    except Exception:
        out[2] = 3.0


def test_each_lane_has_the_bits_of_a_single_number():
    numbers, together = np.random.default_rng(2).normal(size=(2, 8)), widened(np.zeros(2))
    numbers[1, 3] = np.nan
    lanes_of(together)[...] = numbers
    for s, answer in ((-9.0, 3.0), (9.0, 2.0)):  # what is no number is not greater either
        out = widened(np.zeros(3))
        formulas(together, s, out)
        for k in range(8):
            alone = np.zeros(3)
            formulas(np.array(numbers[:, k]), s, alone)
            np.testing.assert_array_equal(lanes_of(out)[:2, k], alone[:2])
            assert lanes_of(out)[2, k] == answer


@entry
def choices(x, out):
    """What each lane answers for itself, and a product that is added without being rounded."""
    a, b = x[0], x[1]
    out[0] = max(a, b.imag, abs(b))
    out[1] = select(below(a, b) | at_most(a, -2.0), a, 7.0)
    for _ in range(x.size):
        add_product(out, 2, -a, b)
    return below(a, b), at_most(b, a)


@entry
def of_one(x, y):
    return select(below(x, y), x, 7.0), at_most(x, y)


def test_each_lane_has_its_own_answer():
    numbers, together, out = np.random.default_rng(5).normal(size=(2, 8)), widened(np.zeros(2)), widened(np.zeros(3))
    numbers[:, 2], numbers[0, 4] = 0.5, -2.0
    lanes_of(together)[...] = numbers
    less, not_more = choices(together, out)
    a, b = numbers
    assert [less >> k & 1 for k in range(8)] == (a < b).tolist()
    assert [not_more >> k & 1 for k in range(8)] == (b <= a).tolist()
    expected = np.array([np.maximum(np.maximum(a, 0.0), np.abs(b)), np.where((a < b) | (a <= -2.0), a, 7.0)])
    np.testing.assert_array_equal(lanes_of(out)[:2], expected)
    for x, y in ((1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (np.nan, 2.0)):
        assert of_one(x, y) == (x if x < y else 7.0, 255 if x <= y else 0)
    lanes = np.zeros((1, 8))
    rounded_once(a, b, lanes)  # as directions are added
    np.testing.assert_array_equal(lanes_of(out)[2], lanes[0])


@entry
def rounded_once(a, b, out):
    k = block(out, 0)
    for _ in range(2):
        add_product(out, 0, k, -at(a, k), at(b, k))


def test_arrays_of_cases():
    assert widened(np.arange(3)).dtype == np.int64
    wide = widened(np.array([[1.0, 2.0]]))
    assert wide.dtype == CASES and wide.shape == (1, 2) and (lanes_of(wide)[0, 1] == 2.0).all()
    assert wide.ctypes.data % 64 == 0
