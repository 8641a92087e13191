"""Structure of T + J^T alpha J where coordinates are eliminated three at a time: components of one point or vector.

So are those of trees with bodies that deform, whose elastic coordinates all meet each other. Coordinates next to each
other that meet different others are taken together all the same: what one of them does not meet is a zero that is
worked on.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.sparsity import blocks_of, lists, meetings
from mbsim_cli.kernels.algorithms.elimination.structure import once_a_model
from mbsim_cli.kernels.compiler.simd import WIDTH


class Panels(NamedTuple):
    """Panels of three coordinates, see ``algebra.panel_solve``, and coordinates of constraints."""

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
    return panels_of(*meetings(model))


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
    return Panels(*lists(found), *lists(blocks), *lists(whole), *lists(rows), *_wide_blocks(rows))


def _wide_blocks(rows):
    """Blocks of columns of each row, and which of their columns the row has."""
    first, block = lists(list(map(blocks_of, rows)))
    owner = np.repeat(np.arange(len(rows)), np.diff(first))
    bits = [sum(1 << int(c - b) for c in rows[r] if b <= c < b + WIDTH) for r, b in zip(owner, block, strict=True)]
    return first, block, np.array(bits, np.int64)
