"""Coordinates of a system as its tree has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.layout import FlexibleTree, Natural, Tree


def kinds(tree: Tree | FlexibleTree | Natural) -> np.ndarray:
    """Column (n,), as ``codes.Column``, that each coordinate moves; NONE of natural ones."""
    return tree.column_kind[tree.column] if isinstance(tree, FlexibleTree) else tree.column_kind


def of_columns(tree: Tree | FlexibleTree | Natural, columns: np.ndarray) -> np.ndarray:
    """Coordinates that columns stand for, none of which is one of a node."""
    return np.searchsorted(tree.column, columns) if isinstance(tree, FlexibleTree) else columns


def moved_by(tree: Tree | FlexibleTree | Natural, columns: np.ndarray) -> np.ndarray:
    """Coordinates (k,) that move columns: of a node all elastic ones of its body."""
    if not isinstance(tree, FlexibleTree):
        return columns
    nodes = np.isin(columns, tree.node)
    bodies = np.unique(tree.node_body[np.isin(tree.node, columns)])
    elastic = [np.arange(tree.elastic[f], tree.elastic[f + 1]) for f in bodies]
    return np.unique(of_columns(tree, np.concatenate([columns[~nodes], *elastic]).astype(np.int64)))


def motion_of_columns(tree: FlexibleTree, theta: Sequence[Any] | np.ndarray) -> np.ndarray:
    """E (columns, n): columns move by E times the coordinates."""
    ends = zip(tree.shape, np.diff(tree.elastic)[tree.node_body], strict=True)
    rows = [np.array(theta[first : first + count]) for first, count in ends]
    E = np.zeros((tree.column_kind.size, tree.column.size), np.result_type(float, *rows))
    E[tree.column, np.arange(tree.column.size)] = 1.0
    for column, body, row in zip(tree.node, tree.node_body, rows, strict=True):
        E[column, of_columns(tree, np.arange(tree.elastic[body], tree.elastic[body + 1]))] = row
    return E
