"""Sets of columns as spans of neighbours, so that what is done to a set is done to eight columns at a time.

A span is a block of columns and the bits of those that belong to the set. Sets are the paths of the pairs, then for
each body its branch (its own columns and those that carry it), then its subtree (its own columns and those it carries).
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.structure import once_a_model
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import WIDTH, padded, together


class Spans(NamedTuple):
    """Spans of all sets, one set after the other; columns are as many as ``simd.together`` tells."""

    first: np.ndarray  # (sets + 1,) into the others
    column: np.ndarray  # first column of the block
    on_a: np.ndarray  # bits of the columns on the branch of a
    on_b: np.ndarray  # of those on the branch of b, or of a set without sides


@inlined
def branch_of(model, i):
    """Number of the set of columns that carry body i."""
    return model.pairs.a.size + i


@inlined
def subtree_of(model, i):
    """Number of the set of columns that body i carries."""
    return model.pairs.a.size + model.tree.parent.size + i


@inlined
def before(c, column):
    """Bits of a block's columns that stand before column c."""
    return (1 << min(max(c - column, 0), WIDTH)) - 1


@once_a_model
def spans(model, dtype):
    """Find the spans of a model's sets."""
    width, n = together(dtype), model.tree.column_kind.size
    room = padded(n) - width
    count, rows = [0], []
    for columns, on_b in _sets(model):
        order = np.argsort(columns)
        columns, on_b = columns[order], on_b[order]
        while columns.size:
            inside = np.searchsorted(columns, columns[0] + width)
            start = min(columns[0], room)
            bits = 1 << (columns[:inside] - start)
            rows.append((start, bits[~on_b[:inside]].sum(), bits[on_b[:inside]].sum()))
            columns, on_b = columns[inside:], on_b[inside:]
        count.append(len(rows))
    return Spans(np.array(count, np.int64), *np.array(rows, np.int64).reshape(-1, 3).T.copy())


def _sets(model):
    """Columns of each set, and which of them are on the branch of b."""
    pairs, tree = model.pairs, model.tree
    for pair in range(pairs.a.size):
        own = slice(pairs.first[pair], pairs.first[pair + 1])
        yield pairs.column[own], pairs.sign[own] > 0
    own_columns = [np.arange(*tree.first_column[i : i + 2]) for i in range(tree.parent.size)]
    branch, subtree = list(own_columns), list(own_columns)
    for i, parent in enumerate(tree.parent):
        if parent >= 0:
            branch[i] = np.concatenate([branch[parent], branch[i]])
    for i in range(tree.parent.size - 1, -1, -1):
        if tree.parent[i] >= 0:
            subtree[tree.parent[i]] = np.concatenate([subtree[tree.parent[i]], subtree[i]])
    for columns in (*branch, *subtree):
        yield columns, np.ones(columns.size, bool)
