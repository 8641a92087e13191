"""Spans of columns: every set is covered once, by as few blocks as its gaps allow, inside the padded row."""

from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.kernels.algorithms.elimination.structure import spans
from mbsim_cli.kernels.compiler.simd import padded, together

PARENT = np.array([-1, 0, 1, 0, 2, 3])
FIRST = np.array([0, 7, 8, 12, 13, 14, 18])


def branch(i):
    """Columns of body i and of those that carry it."""
    own = list(range(FIRST[i], FIRST[i + 1]))
    return own if PARENT[i] < 0 else branch(PARENT[i]) + own


@pytest.mark.parametrize("dtype", [float, complex])
def test_sets_are_covered(dtype):
    table = PairTable(list(PARENT), list(FIRST))
    ends = [(-1, 4), (5, 4), (3, 3), (1, 2)]
    for a, b in ends:
        table.number(a, b)
    tree = SimpleNamespace(parent=PARENT, first_column=FIRST, column_kind=np.zeros(FIRST[-1]))
    found = spans(SimpleNamespace(tree=tree, pairs=table.table()), dtype)
    carried = [
        [c for j in range(6) if set(branch(i)) <= set(branch(j)) for c in range(*FIRST[j : j + 2])] for i in range(6)
    ]
    columns = [set(branch(a) if a >= 0 else ()) for a, _ in ends], [set(branch(b)) for _, b in ends]
    expected = [(a - b, b - a) for a, b in zip(*columns, strict=True)]
    expected += [(set(), set(each)) for each in (*map(branch, range(6)), *carried)]
    assert len(found.first) == len(expected) + 1
    for number, sides in enumerate(expected):
        own = range(found.first[number], found.first[number + 1])
        for bits, wanted in zip((found.on_a, found.on_b), sides, strict=True):
            listed = [found.column[s] + lane for s in own for lane in range(together(dtype)) if bits[s] >> lane & 1]
            assert sorted(listed) == sorted(wanted)
    assert (found.column + together(dtype) <= padded(FIRST[-1])).all()
    if together(dtype) > 1:  # gaps and sides do not begin a new block: 0-7, 8-11 and 13; then 7-14, 15-17
        assert list(found.column[: found.first[2]]) == [0, 8, 7, 15]
