"""Coordinates of a system as its tree has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import FlexibleNatural, FlexibleTree, Natural, Tree

AnyTree = Tree | FlexibleTree | Natural | FlexibleNatural


def kinds(tree: AnyTree) -> np.ndarray:
    """Column (n,), as ``codes.Column``, that each coordinate moves; NONE of natural ones."""
    return tree.column_kind[tree.column] if isinstance(tree, FlexibleTree) else tree.column_kind


def are_elastic(tree: AnyTree) -> np.ndarray:
    """Which coordinates (n,) say how bodies deform."""
    if isinstance(tree, FlexibleNatural):
        return np.isin(np.arange(tree.column_kind.size), np.arange(tree.elastic[0], tree.elastic[-1]))
    return kinds(tree) == Column.ELASTIC


def of_columns(tree: AnyTree, columns: np.ndarray) -> np.ndarray:
    """Coordinates that columns stand for, none of which is one of a node."""
    return np.searchsorted(tree.column, columns) if isinstance(tree, FlexibleTree) else columns


def moved_by(tree: AnyTree, columns: np.ndarray) -> np.ndarray:
    """Coordinates (k,) that move columns: of a node all elastic ones of its body."""
    if not isinstance(tree, FlexibleTree):
        return columns
    nodes = np.isin(columns, tree.node)
    bodies = np.unique(tree.node_body[np.isin(tree.node, columns)])
    elastic = [np.arange(tree.elastic[f], tree.elastic[f + 1]) for f in bodies]
    return np.unique(of_columns(tree, np.concatenate([columns[~nodes], *elastic]).astype(np.int64)))


def motion_of_columns(tree: FlexibleTree, theta: Sequence[Any] | np.ndarray, z: Any) -> np.ndarray:
    """E (columns, n) at the coordinates z (n,): columns move by E times the rates of the coordinates."""
    return _by_coordinates(tree, theta, z, 1.0)


def place_of_columns(tree: FlexibleTree, theta: Sequence[Any] | np.ndarray, z: Any) -> np.ndarray:
    """Columns (columns,) at the coordinates z (n,)."""
    return _by_coordinates(tree, theta, z, 0.5) @ np.asarray(z)


def _by_coordinates(tree: FlexibleTree, theta: Sequence[Any] | np.ndarray, z: Any, share: float) -> np.ndarray:
    """Rows of L, and a share of P q, for columns that move by L q + q . P q / 2."""
    first = of_columns(tree, tree.elastic[tree.node_body])
    count = np.diff(tree.elastic)[tree.node_body]
    rows = [np.array(theta[start : start + n]) for start, n in zip(tree.shape, count, strict=True)]
    for v, start in zip(tree.bent, tree.bend, strict=True):
        n = count[v]
        P = np.array(theta[start : start + n * n]).reshape(n, n)
        rows[v] = rows[v] + share * (P @ np.asarray(z)[first[v] : first[v] + n])
    E = np.zeros((tree.column_kind.size, tree.column.size), np.result_type(float, *rows))
    E[tree.column, np.arange(tree.column.size)] = 1.0
    for column, start, row in zip(tree.node, first, rows, strict=True):
        E[column, start : start + row.size] = row
    return E
