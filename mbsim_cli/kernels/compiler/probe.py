"""``python -m mbsim_cli.kernels.compiler.probe``: whether a compiler of kernels works with this version of numba.

One small entry uses all that kernels use: groups by reference, kernels of each kind, functions chosen by types, eight
directions at once, views. It is compiled, kept, and loaded; both forms have to give what numpy gives.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler import simd
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import entry, inlined, kernel, merged, overload
from mbsim_cli.kernels.compiler.watch import watch_compilation


class Inner(NamedTuple):
    rows: np.ndarray
    factor: float


class Group(NamedTuple):
    inner: Inner
    count: int


def doubled(x):
    """A function whose compiled form is chosen by types."""
    return x + x


@overload(doubled)
def _doubled(x):
    return lambda x: x + x


@kernel
def scaled(inner, i, k):
    """A row of a group, in the directions k."""
    return inner.factor * simd.at(inner.rows, i, k)


@inlined
def add_row(group, i, k, out):
    """Add what a row and its square give."""
    x = scaled(group.inner, i, k)
    simd.add_to(out, 0, k, x * x - 0.25 * doubled(x))
    simd.put(out, 1, k, simd.only(x, 5) + simd.total(simd.squares(x)) / simd.largest(simd.squares(x)))


@merged
def add_rows(group, k, out):
    """Add all rows."""
    for i in range(group.count):
        add_row(group, i, k, out)


def combine(group, out):
    """The entry: sums over rows, and over the view of them in one row and as one column."""
    for g in range(0, out.shape[1], simd.width(out)):
        add_rows(group, simd.block(out, g), out)
    row, column = simd.flat(group.inner.rows), simd.as_column(group.inner.rows)
    for i in range(row.size):
        out[2, 0] += row[i] + column[i, 0]
    return group.count, out[2, 0].real > 0.0


def _expected(rows: np.ndarray) -> np.ndarray:
    """Results of ``combine``, by numpy."""
    x, together = 1.5 * rows, simd.together(rows.dtype)
    last = x[-1].reshape(-1, together)
    squared = np.abs(last) ** 2
    chosen = np.where(5 >> np.arange(together) & 1, last, 0.0) + (squared.sum(axis=1) / squared.max(axis=1))[:, None]
    viewed = np.zeros_like(x[0])
    viewed[0] = 2.0 * rows.sum()
    return np.array([(x * x - 0.5 * x).sum(axis=0), chosen.ravel(), viewed])


def _faults(dtype: Any) -> list[str]:
    """Compile and load for a kind of number; what is wrong."""
    found = []
    for times in range(2):
        rows, out = simd.zeros((2, simd.padded(11)), dtype), simd.zeros((3, simd.padded(11)), dtype)
        rows[:] = np.sin(np.arange(rows.size)).reshape(rows.shape) + (2.0 if dtype is np.float64 else 2.0 + 0.5j)
        compiled: list[str] = []
        with watch_compilation(compiled.append):
            returned = entry(combine)(Group(Inner(rows, 1.5), 2), out)
        form = "a kept entry" if times else "a compiled entry"
        if COMPILER == "linking" and bool(compiled) == bool(times):
            found.append(f"{form} is compiled {len(compiled)} times")
        if returned != (2, True) or not np.allclose(out, _expected(rows), rtol=1e-12, atol=1e-12):
            found.append(f"{form} gives wrong numbers")
    return found


def main() -> int:
    """Exit code 0 where all is as it should be; else sentences on the error stream."""
    faults = _faults(np.float64) + _faults(np.complex128)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
