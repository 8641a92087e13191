"""Equations that share coordinates, against the components of the graph that links them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mbsim_cli.spec.expressions.named_numbers import connected

MOST = 12


@given(st.lists(st.lists(st.integers(0, MOST - 1), max_size=4), max_size=14))
def test_groups_are_connected_components(reads):
    owner = [row for row, which in enumerate(reads) for _ in which]
    size = len(reads) + MOST
    places = (owner, [len(reads) + coordinate for which in reads for coordinate in which])
    label = connected_components(coo_array((np.ones(len(owner)), places), shape=(size, size)), directed=False)[1]
    expected: dict[int, list[int]] = {}
    for row in range(len(reads)):
        expected.setdefault(int(label[row]), []).append(row)
    assert connected(reads) == list(expected.values())


def test_a_long_chain_is_one_group():
    assert connected([[k + 1, k] for k in range(20_000)]) == [list(range(20_000))]
    assert len(connected([[k] for k in range(20_000)])) == 20_000
