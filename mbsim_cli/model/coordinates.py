"""Coordinates of a system as its tree has them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from mbsim_cli.model.codes import BETWEEN_BODIES, SENSOR_WIDTH, Column, Sensor
from mbsim_cli.model.layout import (
    GROUND,
    NONE,
    FlexibleNatural,
    FlexibleTree,
    Followers,
    Forces,
    Model,
    Natural,
    Signals,
    Tree,
)

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


def place_of_columns(tree: FlexibleTree, theta: Sequence[Any] | np.ndarray, z: Any) -> np.ndarray:
    """Columns (columns,) at the coordinates z (n,)."""
    return motion_of_columns(tree, theta, z, 0.5) @ np.asarray(z)


def motion_of_columns(tree: FlexibleTree, theta: Sequence[Any] | np.ndarray, z: Any, share: float = 1.0) -> np.ndarray:
    """Rows (columns, n) of L plus a share of P q at the coordinates z (n,), for columns L q + q . P q / 2.

    With a ``share`` of 1 these are the derivatives E: columns move by E times the rates of the coordinates.
    """
    first = of_columns(tree, tree.elastic[tree.node_body])
    count = np.diff(tree.elastic)[tree.node_body]
    rows = [np.array(theta[start : start + n]) for start, n in zip(tree.shape, count, strict=True)]
    for v in np.flatnonzero(tree.bend != NONE):
        start, n = tree.bend[v], count[v]
        P = np.array(theta[start : start + n * n]).reshape(n, n)
        rows[v] = rows[v] + share * (P @ np.asarray(z)[first[v] : first[v] + n])
    E = np.zeros((tree.column_kind.size, tree.column.size), np.result_type(float, *rows))
    E[tree.column, np.arange(tree.column.size)] = 1.0
    for column, start, row in zip(tree.node, first, rows, strict=True):
        E[column, start : start + row.size] = row
    return E


# Parts of a mechanism, which nothing connects.


def connected(n: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Number (n,) of the first of those, of n things, that each is connected with: each ``a`` (k,) with its ``b`` (k,).

    O((n + k) log n).
    """
    first = np.arange(n)
    while True:
        before, least = first.copy(), np.minimum(first[a], first[b])
        for which in (a, b, before[a], before[b]):
            np.minimum.at(first, which, least)
        first = first[first]
        if np.array_equal(first, before):
            return first


def at_rest(tree: Tree | FlexibleTree) -> np.ndarray:
    """Whether each body is rigid and fixed to the ground, maybe through others; and true for the ground (nb + 1,)."""
    fixed = np.diff(tree.first_column) == 0
    if isinstance(tree, FlexibleTree):
        fixed[tree.flexible] = False
    bodies = np.flatnonzero(fixed)
    return np.roll(connected(1 + tree.parent.size, 1 + bodies, 1 + tree.parent[bodies]) == 0, -1)  # GROUND is -1


def parts_of_bodies(model: Model) -> np.ndarray:
    """Number (nb,) of the part of the mechanism of each body: joints and constraints connect those of one part.

    Each body at rest is a part of its own, for it is ground to the others.
    """
    tree, measures, pairs, constraints = model.tree, model.measures, model.pairs, model.constraints
    between = among(measures.kind[constraints.measure], BETWEEN_BODIES)
    pair = measures.pair[constraints.measure]
    ends = [(np.arange(tree.parent.size), tree.parent), (pairs.a[pair[between]], pairs.b[pair[between]])]
    for measure in constraints.measure[~between]:
        bodies = tree.column_body[measures.coordinate[measures.first[measure] : measures.first[measure + 1]]]
        ends.append((bodies[1:], bodies[:-1]))
    if isinstance(constraints.followers, Followers):
        follows = np.flatnonzero(constraints.followers.column != NONE)
        bodies = tree.column_body[constraints.followers.column[follows]]
        ends += [(bodies, pairs.a[pair[follows]]), (bodies, pairs.b[pair[follows]])]
    a, b = map(np.concatenate, zip(*ends, strict=True))
    moves = ~at_rest(tree)
    inner = moves[a] & moves[b]
    return connected(tree.parent.size, a[inner], b[inner])


# Which columns of the equations expressions of the motion bring together.


def with_forces(model: Model, first: int, end: int) -> Model:
    """The model with some of its forces alone, and what they read of expressions."""
    found = model._replace(forces=Forces(*(array[first:end] for array in model.forces)))
    if isinstance(model.signals, Signals):
        found = found._replace(signals=model.signals._replace(of_force=model.signals.of_force[first:end]))
    return found


def with_bodies(model: Model) -> Model:
    """The model whose expressions know the bodies that they read by its measures: coordinates may have become such."""
    signals, found = model.signals, set[int]()
    if not isinstance(signals, Signals):
        return model
    for kind, body, index in zip(signals.kind, signals.body, signals.index, strict=True):
        if kind != Sensor.MEASURE:
            found |= {int(body), int(index)} if kind == Sensor.ALONG else {int(body)}
        elif model.measures.kind[index] in BETWEEN_BODIES:
            pair = model.measures.pair[index]
            found |= {int(model.pairs.a[pair]), int(model.pairs.b[pair])}
    return model._replace(signals=signals._replace(bodies=np.array(sorted(found - {GROUND}), np.int64)))


def columns_read(model, columns_of_body, columns_of_measure):
    """Columns of the tangent that each signal's force meets: its own, and those that move what the signal reads.

    ``columns_of_body(body)`` and ``columns_of_measure(measure)`` list the columns that move each.
    """
    signals = model.signals
    if not isinstance(signals, Signals):
        return
    sensors = [int(s) for s in range(signals.kind.size) for _ in range(SENSOR_WIDTH[Sensor(int(signals.kind[s]))])]
    for f, components in enumerate(signals.of_force):
        for u in components[components != NONE]:
            read = {sensors[row] for row in signals.input[signals.first_input[u] : signals.first_input[u + 1]]}
            if not read:
                continue
            measure = model.forces.measure[f]
            own = (
                columns_of_measure(measure) if measure != NONE else columns_of_body(model.pairs.b[model.forces.pair[f]])
            )
            found = [own]
            for s in read:
                if signals.kind[s] == Sensor.MULTIPLIER:
                    continue
                if signals.kind[s] == Sensor.MEASURE:
                    found.append(columns_of_measure(signals.index[s]))
                    continue
                found.append(columns_of_body(signals.body[s]))
                if signals.kind[s] == Sensor.ALONG:
                    found.append(columns_of_body(signals.index[s]))
            yield np.unique(np.concatenate(found)).astype(np.int64)


# Which codes of an enumeration are among a few, for whole arrays of them, and which numbers are not.

MOST = 256  # codes of an enumeration


def among(codes: np.ndarray, few: tuple[int, ...]) -> np.ndarray:
    """Whether each code (k,) is one of a few; ``numpy.isin`` finds the same, and takes ten times as long."""
    return _table(few)[codes]


def all_but(count: int, few: Sequence[int] | np.ndarray) -> np.ndarray:
    """Numbers below a count that are not among a few; ``numpy.setdiff1d`` finds the same, in ten times the time."""
    left = np.ones(count, bool)
    left[few] = False
    return np.flatnonzero(left)


@cache
def _table(few: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(MOST, bool)
    found[list(few)] = True
    return found
