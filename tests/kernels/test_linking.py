"""What entries are made of: the kernels that they call in the end, each of them once."""

import numpy as np
import pytest

from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import derived, entry, inlined, kernel

if COMPILER == "linking":
    from mbsim_cli.kernels.compiler.compiling import linked_code

pytestmark = pytest.mark.skipif(COMPILER != "linking", reason="what the linking compiler does")


@inlined
def twice(x):
    return x + x


@kernel
def twice_of_row(a, i):
    return twice(a[i]) * twice(np.sin(a[i])) * np.cos(a[i])


def sum_of_rows(a):
    """Too long to be inlined: forty calls."""
    total = 0.0
    for i in range(a.size):
        total += np.exp(a[i]) * np.sqrt(a[i]) + np.arctan(a[i]) * np.sinh(a[i]) + np.cosh(a[i]) * np.tan(a[i])
        total += np.exp(2 * a[i]) * np.sqrt(2 * a[i]) + np.arctan(2 * a[i]) * np.sinh(2 * a[i]) + np.tan(2 * a[i])
        total += np.exp(3 * a[i]) * np.sqrt(3 * a[i]) + np.arctan(3 * a[i]) * np.sinh(3 * a[i]) + np.tan(3 * a[i])
        total += np.exp(4 * a[i]) * np.sqrt(4 * a[i]) + np.arctan(4 * a[i]) * np.sinh(4 * a[i]) + np.tan(4 * a[i])
        total += np.exp(5 * a[i]) * np.sqrt(5 * a[i]) + np.arctan(5 * a[i]) * np.sinh(5 * a[i]) + np.tan(5 * a[i])
    return total


large = derived("large", lambda: sum_of_rows, called=True)


@inlined
def sum_of_all(a):
    """What it calls would follow it into its callers."""
    return large(a)


def test_entries_hold_what_is_called_and_no_more(monkeypatch):
    from mbsim_cli.kernels.compiler import compiling
    from mbsim_cli.kernels.compiler.linking import needed_by

    linked = []
    monkeypatch.setattr(compiling, "linked_code", lambda *given: linked.append(given[0]) or linked_code(*given))
    factor = 2.0

    def weighted_sum(a, b):
        """A closure: what it holds may differ the next time, so that it is compiled each time."""
        total = factor * sum_of_all(a)
        for i in range(a.size):
            total += twice_of_row(a, i) + twice_of_row(b, i)
        return total

    compiled = entry(weighted_sum)
    a, b = np.linspace(0.1, 0.2, 5), np.linspace(0.3, 0.4, 5)
    assert compiled(a, b) == pytest.approx(weighted_sum(a, b), rel=1e-14)
    factor = 3.0
    other = entry(weighted_sum.__class__(weighted_sum.__code__, globals(), closure=weighted_sum.__closure__))
    assert other(a, b) == pytest.approx(weighted_sum(a, b), rel=1e-14)  # not the one that was compiled before
    modules = [library._final_module for library in needed_by(linked[0])]
    held = [function.name for module in modules for function in module.functions if not function.is_declaration]
    for name, times in (("sum_of_rows", 1), ("sum_of_all", 0), ("5twice", 0)):
        assert sum(name in each for each in held) == times, held
