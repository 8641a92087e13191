"""Where the matrices of a mechanism can differ from zero, and where elimination fills them in.

Coordinates meet on a common branch, in a constraint, and along the path of a force element. Eliminated from the tips
to the ground, a tree fills in nothing (Featherstone 2005); loops and elements add little.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.structure import once_a_model
from mbsim_cli.kernels.compiler.simd import WIDTH
from mbsim_cli.model.codes import BETWEEN_BODIES
from mbsim_cli.model.coordinates import kinds, moved_by
from mbsim_cli.model.layout import NONE, FlexibleTree
from mbsim_cli.model.signals import columns_read


class Sparsity(NamedTuple):
    """Neighbours of coordinates, and coordinates of constraints."""

    first: np.ndarray  # (n + 1,) into neighbour
    neighbour: np.ndarray  # coordinates i < k that k meets when eliminated from the last one down, upwards
    block_first: np.ndarray  # (n + 1,) into block
    block: np.ndarray  # first columns of the blocks of WIDTH columns that hold the neighbours
    above_first: np.ndarray  # (n + 1,) into above
    above: np.ndarray  # coordinates k > i of which i is a neighbour, downwards
    slot: np.ndarray  # where i stands among all neighbours
    row_first: np.ndarray  # (m + 1,) into row_column
    row_column: np.ndarray  # coordinates that constraint r depends on
    column_first: np.ndarray  # (n + 1,) into column_row
    column_row: np.ndarray  # constraints that depend on coordinate i


@once_a_model
def sparsity(model):
    """Find the structure of T + J^T alpha J and of J."""
    meets, rows = meetings(model)
    n = len(meets)
    neighbours = [np.zeros(0, np.int64)] * n
    for k in range(n - 1, -1, -1):
        neighbours[k] = np.flatnonzero(meets[k, :k])
        meets[np.ix_(neighbours[k], neighbours[k])] = True
    return structure_of(neighbours, rows)


def meetings(model):
    """Which coordinates of a tree meet each other (n, n), and the coordinates of each constraint."""
    n = kinds(model.tree).size
    meets = np.zeros((n, n), bool)
    for columns in _groups(model):
        coordinates = moved_by(model.tree, columns)
        meets[np.ix_(coordinates, coordinates)] = True
    return meets, [moved_by(model.tree, _measure_columns(model, measure)) for measure in model.constraints.measure]


def structure_of(neighbours, rows):
    """Sparsity from the neighbours of each coordinate and the coordinates of each constraint."""
    n = len(neighbours)
    first, neighbour = lists(neighbours)
    row_first, row_column = lists(rows)
    blocks = lists(list(map(blocks_of, neighbours)))
    above_first, above, slot = _transposed(first, neighbour, n)
    column_first, column_row, _ = _transposed(row_first, row_column, n)
    return Sparsity(
        first, neighbour, *blocks, above_first, above, slot, row_first, row_column, column_first, column_row
    )


def blocks_of(columns):
    """First columns of the blocks that hold any of them."""
    return np.unique(columns // WIDTH) * WIDTH


def _groups(model):
    """Sets of columns that all meet each other."""
    tree = model.tree
    branch = [np.zeros(0, np.int64)] * tree.parent.size
    leaf = np.ones(tree.parent.size, bool)
    leaf[tree.parent[tree.parent >= 0]] = False
    for i, parent in enumerate(tree.parent):
        own = np.arange(tree.first_column[i], tree.first_column[i + 1])
        branch[i] = own if parent < 0 else np.concatenate([branch[parent], own])
        if leaf[i]:
            yield branch[i]
    if isinstance(tree, FlexibleTree):
        for f, pair in enumerate(tree.pair):
            carrying = model.pairs.column[model.pairs.first[pair] : model.pairs.first[pair + 1]]
            yield np.concatenate([carrying, np.arange(tree.elastic[f], tree.elastic[f + 1])])
    for pair in range(model.pairs.a.size):
        yield model.pairs.column[model.pairs.first[pair] : model.pairs.first[pair + 1]]
    for measure in range(model.measures.kind.size):
        yield _measure_columns(model, measure)

    yield from columns_read(
        model,
        lambda body: branch[body] if body >= 0 else np.zeros(0, np.int64),
        lambda measure: _measure_columns(model, measure),
    )


def _measure_columns(model, measure):
    pairs, measures = model.pairs, model.measures
    if measures.kind[measure] in BETWEEN_BODIES and measures.pair[measure] != NONE:
        pair = measures.pair[measure]
        return pairs.column[pairs.first[pair] : pairs.first[pair + 1]]
    return measures.coordinate[measures.first[measure] : measures.first[measure + 1]]


def lists(rows):
    """Concatenated rows, and where each begins."""
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    return first, np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)


def _transposed(first, entry, n):
    """For each of n entries the lists that hold it, the last one first, and where in them it stands."""
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.lexsort((-owner, entry)).astype(np.int64)
    counts = np.bincount(entry, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), owner[order].astype(np.int64), order
