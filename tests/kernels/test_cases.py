"""Eight cases as one number: the bits that each of them has alone, and one answer of a comparison or none."""

import numpy as np
import pytest

from mbsim_cli.kernels._cases import CASES, lanes_of, widened
from mbsim_cli.kernels._choice import COMPILER
from mbsim_cli.kernels._jit import entry

pytestmark = pytest.mark.skipif(COMPILER != "linking", reason="others compute one case at a time")


@entry
def formulas(x, s, out):
    """Arithmetic that a processor may fuse, functions, and what depends on a branch."""
    a, b = x[0], x[1]
    out[0] = a * b - s * a + b / (a - 3) - -a.real
    out[1] = np.sin(a) * np.sqrt(np.abs(b)) + np.arctan2(a, s) - np.cos(b) + np.round(7.0 * a)
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


def test_arrays_of_cases():
    assert widened(np.arange(3)).dtype == np.int64
    wide = widened(np.array([[1.0, 2.0]]))
    assert wide.dtype == CASES and wide.shape == (1, 2) and (lanes_of(wide)[0, 1] == 2.0).all()
    assert wide.ctypes.data % 64 == 0
