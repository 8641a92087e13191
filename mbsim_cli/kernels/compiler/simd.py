"""Eight directions at once: a number type whose arithmetic compiles to vector instructions.

Kernels that vary something in many directions are written once, for one direction k. ``block(a, g)`` makes of the
position g in a loop over columns an index of eight directions, ``at(a, i, k)`` reads them from row i, and ``put``
writes them; between the two, formulas see a number. The last axis of such arrays is contiguous, and ``padded`` tells
how long it must be; a block may begin anywhere, and ``only`` keeps some of its directions. Complex numbers, plain
Python and the plain compiler take one direction at a time: ``width`` is 1 and k an int. So do loops over ``numbers`` of
a single column. These are the forms for one direction; ``compiler.simd_compiled`` has those for eight directions, and
views of arrays without a call.
"""

import math
from typing import Any

import numpy as np

from mbsim_cli.kernels.compiler.arguments import address
from mbsim_cli.kernels.compiler.choice import COMPILER

WIDTH = 8
_LINE = 64  # bytes of a cache line


def padded(p: int) -> int:
    """Length of the last axis that holds p directions."""
    return -(-p // WIDTH) * WIDTH


def fitting(count: int) -> int:
    """Length of the last axis that holds so many adjoints: seven zeros beside a single one would be waste."""
    return 1 if count == 1 else padded(count)


def numbers(p: int, dtype: Any) -> np.ndarray:
    """Numbers (p,) of columns, for ``width`` and ``block``: integers where one column is taken at a time."""
    return np.zeros(p, dtype if p % WIDTH == 0 else np.int64)


def together(dtype: Any) -> int:
    """The ``width`` in kernels of arrays of a kind of number."""
    return WIDTH if np.dtype(dtype) == np.float64 and COMPILER == "linking" else 1


def zeros(shape: tuple, dtype: Any) -> np.ndarray:
    """Zeros that begin on a cache line: eight numbers across two lines take twice as long to read."""
    return _on_a_line(np.zeros, shape, dtype)


def empty(shape: tuple, dtype: Any) -> np.ndarray:
    """The same, not cleared."""
    return _on_a_line(np.empty, shape, dtype)


def _on_a_line(make: Any, shape: tuple, dtype: Any) -> np.ndarray:
    count = math.prod(shape)
    if not count:
        return make(shape, dtype)
    size = np.dtype(dtype).itemsize
    room = make(count + _LINE // size, dtype)
    first = -address(room) % _LINE // size
    return room[first : first + count].reshape(shape)


def width(array):
    """Number of directions that one index stands for."""
    return 1


def block(array, g):
    """Index of the directions from g on."""
    return g


def at(array, *index):
    """Entry of an array; the last index may stand for several directions."""
    return array[index]


def put(array, *rest):
    """Write the last argument to an entry."""
    array[rest[:-1]] = rest[-1]


def add_to(array, *rest):
    """Add the last argument to an entry."""
    array[rest[:-1]] += rest[-1]


def add_product(array, *rest):
    """Add the product of the last two arguments to an entry; lanes round once."""
    array[rest[:-2]] += rest[-2] * rest[-1]


def only(x, bits):
    """x in the directions whose bit is set, the first one's last; zero in the others."""
    return x if bits & 1 else 0.0


def squares(x):
    """Square of the absolute value, in each direction."""
    return x.real * x.real + x.imag * x.imag


def total(x):
    """Sum over the directions."""
    return x


def largest(x):
    """Largest over the directions."""
    return x


# Eight cases at once: a number that stands for the same quantity of eight runs, each with parameters of its own.
#
# Kernels that are generic in their kind of number take arrays of ``CASES`` as they take complex ones: the formulas of
# all cases then compile to vector instructions, each lane with the arithmetic that the case has alone, to the last bit.
# A branch needs one answer: where a comparison holds in some lanes only, compiled code raises ``Parted``. Where each
# lane may have its own, ``below`` and ``at_most`` give the bits of those that a comparison holds in, and ``select``
# chooses by them. ``compiler.simd_compiled`` tells numba of them.

CASES = np.dtype([("lanes", np.float64, (WIDTH,))])
EVERY = 2**WIDTH - 1  # the bits of all lanes
TOGETHER = WIDTH if COMPILER == "linking" else 1  # cases that one loop takes


class Parted(Exception):
    """A comparison that does not have the same answer in all lanes."""


def below(x, y):
    """Bits of the lanes in which x < y."""
    return EVERY if x < y else 0


def at_most(x, y):
    """Bits of the lanes in which x <= y."""
    return EVERY if x <= y else 0


def select(bits, x, y):
    """x in the lanes whose bits are set, y in the others."""
    return x if bits & 1 else y


def lanes_of(array: np.ndarray) -> np.ndarray:
    """The same memory as plain numbers (..., WIDTH)."""
    return array["lanes"] if array.dtype == CASES else array


def widened(group: Any) -> Any:
    """Arrays of numbers, or named tuples of such, for eight cases that all have those given; others stay."""
    if isinstance(group, tuple):
        return type(group)(*map(widened, group))
    if not isinstance(group, np.ndarray) or group.dtype != np.float64:
        return group
    lanes = zeros((*group.shape, WIDTH), np.float64)
    lanes[...] = group[..., None]
    return lanes.view(CASES).reshape(group.shape)


# Contiguous arrays seen in another shape -----------------------------------------------------------------------------


def flat(array):
    """All numbers of an array in one row (size,)."""
    return array.reshape(-1)


def as_column(array):
    """All numbers of an array as one column (size, 1)."""
    return array.reshape(-1, 1)
