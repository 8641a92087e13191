"""Sparsity and spans, which follow from the structure of a model alone: found once for each model."""

from functools import lru_cache, wraps
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.simd import WIDTH, padded, together
from mbsim_cli.model.coordinates import columns_read, kinds, moved_by
from mbsim_cli.model.layout import NONE, FlexibleTree, Followers

LATEST = 16  # results that are kept


class _Identity:
    """A model as a key; it lives as long as the key, so that no other takes its identity."""

    def __init__(self, model):
        self.model = model

    def __hash__(self):
        return id(self.model)

    def __eq__(self, other):
        return self.model is other.model


def once_a_model(find):
    """Decorator of ``find(model, ...)``: results are shared, and not to be written to."""

    @lru_cache(maxsize=LATEST)
    def found(key, *rest):
        return find(key.model, *rest)

    @wraps(find)
    def shared(model, *rest):
        return found(_Identity(model), *rest)

    return shared


# Where the matrices of a mechanism can differ from zero, and where elimination fills them in.
#
# Coordinates meet on a common branch, in a constraint, and along the path of a force element. Eliminated from the tips
# to the ground, one at a time, a tree fills in nothing (Featherstone 2005); panels of three, loops and elements add
# little.


def blocks_of(columns):
    """First columns of the blocks that hold any of them."""
    return np.flatnonzero(np.bincount(columns // WIDTH)) * WIDTH


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
    if isinstance(model.constraints.followers, Followers):
        yield from _constraint_columns(model)

    yield from columns_read(
        model,
        lambda body: branch[body] if body >= 0 else np.zeros(0, np.int64),
        lambda measure: _measure_columns(model, measure),
    )


def _constraint_columns(model):
    """Columns of every equation, its follower last."""
    found = [_measure_columns(model, measure) for measure in model.constraints.measure]
    return with_followers(model, found)


def with_followers(model, columns):
    """The columns of every equation, followers added."""
    followers = model.constraints.followers
    if not isinstance(followers, Followers):
        return columns
    return [np.append(own, c) if c != NONE else own for own, c in zip(columns, followers.column, strict=True)]


def _measure_columns(model, measure):
    pairs, measures = model.pairs, model.measures
    if (pair := measures.pair[measure]) != NONE:
        return pairs.column[pairs.first[pair] : pairs.first[pair + 1]]
    return measures.coordinate[measures.first[measure] : measures.first[measure + 1]]


def lists(rows):
    """Concatenated rows, and where each begins."""
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    return first, np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)


# Sets of columns as spans of neighbours, so that what is done to a set is done to eight columns at a time.
#
# A span is a block of columns and the bits of those that belong to the set. Sets are the paths of the pairs, then for
# each body its branch (its own columns and those that carry it), then its subtree (its own columns and those it
# carries).


class Spans(NamedTuple):
    """Spans of all sets, one set after the other; columns are as many as ``simd.together`` tells."""

    first: np.ndarray  # (sets + 1,) into the others
    column: np.ndarray  # first column of the block
    on_a: np.ndarray  # bits of the columns on the branch of a
    on_b: np.ndarray  # of those on the branch of b, or of a set without sides


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


# Structure of T + J^T alpha J for elimination of three coordinates at a time: components of one point or vector, or
# coordinates of one joint.
#
# Coordinates next to each other that meet different others are taken together all the same: what one of them does not
# meet is a zero that is worked on.


class Panels(NamedTuple):
    """Panels of three coordinates, see ``algebra.linear_solve``, and coordinates of constraints."""

    first: np.ndarray  # (panels + 1,) into neighbour
    neighbour: np.ndarray  # coordinates below a panel that it meets when eliminated from the last one down, upwards
    block_first: np.ndarray  # (panels + 1,) into block
    block: np.ndarray  # first columns of the blocks of WIDTH columns that hold the neighbours
    whole_first: np.ndarray  # (n + 1,) into whole
    whole: np.ndarray  # first columns of the blocks of WIDTH columns that hold anything of row i
    row_first: np.ndarray  # (m + 1,) into row_column
    row_column: np.ndarray  # coordinates that constraint r depends on
    wide_first: np.ndarray  # (m + 1,) into wide
    wide: np.ndarray  # first columns of the blocks of WIDTH columns that hold the coordinates of constraint r
    wide_bits: np.ndarray  # which columns of the block are among them, the first one's bit last


@once_a_model
def tree_panels(model):
    """Find the structure of T + J^T alpha J and of J of a tree."""
    n = kinds(model.tree).size
    meets = np.zeros((n, n), bool)
    for columns in _groups(model):
        coordinates = moved_by(model.tree, columns)
        meets[np.ix_(coordinates, coordinates)] = True
    return panels_of(meets, [moved_by(model.tree, columns) for columns in _constraint_columns(model)])


def panels_of(meets, rows):
    """Panels from what coordinates meet (n, n), which is filled in, and the coordinates of each constraint."""
    n = len(meets)
    found, meets = [], meets | np.eye(n, dtype=bool)
    for k in range(n - 3, -1, -3):
        neighbours = np.flatnonzero(meets[k : k + 3, :k].any(axis=0))
        together = np.concatenate([neighbours, np.arange(k, k + 3)])
        meets[np.ix_(together, together)] = True
        found.append(neighbours)
    meets[: n % 3, : n % 3] = True
    found.reverse()
    blocks, whole = list(map(blocks_of, found)), [blocks_of(np.flatnonzero(row)) for row in meets]
    wide_first, wide = lists(list(map(blocks_of, rows)))
    owner = np.repeat(np.arange(len(rows)), np.diff(wide_first))
    bits = [sum(1 << int(c - b) for c in rows[r] if b <= c < b + WIDTH) for r, b in zip(owner, wide, strict=True)]
    of_rows = *lists(rows), wide_first, wide, np.array(bits, np.int64)
    return Panels(*lists(found), *lists(blocks), *lists(whole), *of_rows)
