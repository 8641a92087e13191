"""Spanning tree of the joint graph: which joints are cut, and the order of bodies.

The tree is breadth first from the ground, so branches are short and a loop is cut near its middle; joints that the
user forbids to cut (or whose coordinates the model uses) are then exchanged into it. Bodies are numbered depth
first, so that a branch, and every subtree, is a run of consecutive numbers.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.parameters.numbers import table
from mbsim_cli.model.layout import Pairs
from mbsim_cli.spec.geometry import GROUND_NAME

KEEP = 4  # the user forbids cutting
NEEDED = 3  # the model cannot do without the coordinates: independent, or coupled
MOVING = 2  # the model states initial velocities
PREFER = 1  # the model states initial positions


class Edge(NamedTuple):
    """A joint as an edge of the graph; ``freedom`` counts its coordinates."""

    name: str
    a: str
    b: str
    freedom: int
    priority: int = 0  # KEEP, NEEDED, MOVING, PREFER or 0
    cut: bool = False  # the user forces a cut


@dataclass(frozen=True)
class Topology:
    """Spanning tree: bodies parent before child, each with the joint that carries it."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]  # tree joint of each body
    parent: tuple[int, ...]  # -1 for the ground
    reversed: tuple[bool, ...]  # the joint's second body is the one nearer the ground
    cut: tuple[str, ...]  # names of cut joints, in the order of the file
    loops: tuple[tuple[str, ...], ...]  # joints of the loop that each cut joint closes, the cut joint first
    index: dict[str, int] = field(default_factory=dict)  # body name -> number, ground -> -1

    def depth(self) -> list[int]:
        """Number of joints between each body and the ground."""
        depths: list[int] = []
        for parent in self.parent:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        return depths


def span(bodies: Sequence[str], edges: Sequence[Edge]) -> tuple[Topology, list[str], list[str]]:
    """Return the tree, the bodies that no joint connects to the ground, and the joints that cannot be kept."""
    usable = [edge for edge in edges if not edge.cut]
    tree = _breadth_first(usable)
    refused = _exchange(tree, usable)
    reached = _parents(tree.values())
    bodies_in_order = _depth_first(bodies, reached)
    index = {GROUND_NAME: -1} | {body: i for i, body in enumerate(bodies_in_order)}
    carrying = [reached[body] for body in bodies_in_order]
    kept = {edge.name for edge in carrying}
    cut = tuple(edge for edge in edges if edge.name not in kept and edge.a in index and edge.b in index)
    topology = Topology(
        bodies=tuple(bodies_in_order),
        joints=tuple(edge.name for edge in carrying),
        parent=tuple(index[_other(edge, body)] for edge, body in zip(carrying, bodies_in_order, strict=True)),
        reversed=tuple(edge.a == body for edge, body in zip(carrying, bodies_in_order, strict=True)),
        cut=tuple(edge.name for edge in cut),
        loops=tuple((edge.name, *(e.name for e in _path(reached, edge.a, edge.b))) for edge in cut),
        index=index,
    )
    return topology, [body for body in bodies if body not in index], refused


def _other(edge: Edge, body: str) -> str:
    return edge.a if edge.b == body else edge.b


def _neighbours(edges: Sequence[Edge]) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {}
    for edge in edges:
        found.setdefault(edge.a, []).append(edge)
        found.setdefault(edge.b, []).append(edge)
    return found


def _breadth_first(edges: Sequence[Edge]) -> dict[str, Edge]:
    """Tree edges by name; among equally short ways to a body the one that leaves the freest joint to be cut."""
    neighbours = _neighbours(edges)
    reached, level, tree = {GROUND_NAME}, [GROUND_NAME], {}
    while level:
        ways = [(edge, body) for body in level for edge in neighbours.get(body, ()) if edge.name not in tree]
        ways.sort(key=lambda way: (-way[0].priority, way[0].freedom))
        level = []
        for edge, body in ways:
            child = _other(edge, body)
            if child not in reached:
                reached.add(child)
                level.append(child)
                tree[edge.name] = edge
    return tree


def _exchange(tree: dict[str, Edge], edges: Sequence[Edge]) -> list[str]:
    """Bring joints of higher priority into the tree; return the names of KEEP joints for which that is impossible."""
    refused, reached = [], _parents(tree.values())
    for edge in sorted(edges, key=lambda edge: -edge.priority):
        if edge.priority == 0 or edge.name in tree:
            continue
        if not {edge.a, edge.b} <= {GROUND_NAME, *reached}:
            continue
        loop = _path(reached, edge.a, edge.b)
        heights = {e.name: min(len(_to_ground(reached, body)) for body in (e.a, e.b)) for e in loop}  # above the ground
        weakest = min(loop, key=lambda e: (e.priority, -heights[e.name]), default=None)
        if weakest is not None and weakest.priority < edge.priority:
            del tree[weakest.name]
            tree[edge.name] = edge
            reached = _parents(tree.values())
        elif edge.priority == KEEP:
            refused.append(edge.name)
    return refused


def _parents(tree: Iterable[Edge]) -> dict[str, Edge]:
    """For every body that the tree reaches, the edge towards the ground."""
    neighbours = _neighbours(list(tree))
    reached: dict[str, Edge] = {}
    queue = deque([GROUND_NAME])
    while queue:
        body = queue.popleft()
        for edge in neighbours.get(body, ()):
            child = _other(edge, body)
            if child != GROUND_NAME and child not in reached and edge is not reached.get(body):
                reached[child] = edge
                queue.append(child)
    return reached


def _depth_first(bodies: Sequence[str], reached: dict[str, Edge]) -> list[str]:
    """Bodies in preorder, children in the order of the file."""
    children: dict[str, list[str]] = {}
    for body in bodies:
        if body in reached:
            children.setdefault(_other(reached[body], body), []).append(body)
    order, stack = [], list(reversed(children.get(GROUND_NAME, [])))
    while stack:
        body = stack.pop()
        order.append(body)
        stack.extend(reversed(children.get(body, [])))
    return order


def _to_ground(reached: dict[str, Edge], body: str) -> list[Edge]:
    edges = []
    while body != GROUND_NAME:
        edges.append(reached[body])
        body = _other(reached[body], body)
    return edges


def _path(reached: dict[str, Edge], a: str, b: str) -> list[Edge]:
    """Tree edges from a to b."""
    up, down = _to_ground(reached, a), _to_ground(reached, b)
    while up and down and up[-1] is down[-1]:
        up.pop()
        down.pop()
    return up + down[::-1]


class PairTable:
    """Collects pairs of bodies with the columns on the path between them; equal pairs are stored once."""

    def __init__(self, parent: Sequence[int], first_column: Sequence[int]):
        self._parent, self._first_column = parent, first_column
        self._number: dict[tuple[int, int], int] = {}
        self._paths: list[tuple[np.ndarray, int]] = []

    def number(self, a: int, b: int) -> int:
        """Number of the pair (a, b)."""
        key = (a, b)
        if key not in self._number:
            self._number[key] = len(self._paths)
            columns, below_b = self._path(a, b)
            self._paths.append((np.array(columns, dtype=np.int64), below_b))
        return self._number[key]

    def bodies(self, pair: int) -> tuple[int, int]:
        """Bodies of a pair."""
        return list(self._number)[pair]

    def columns(self, pair: int) -> np.ndarray:
        """Columns between the bodies of a pair."""
        return self._paths[pair][0]

    def table(self) -> Pairs:
        """The pairs as arrays."""
        first = np.cumsum([0, *(len(columns) for columns, _ in self._paths)])
        column = np.concatenate([np.zeros(0, dtype=np.int64), *(columns for columns, _ in self._paths)])
        sign = np.full(len(column), -1)
        for start, (_, below_b) in zip(first, self._paths, strict=False):
            sign[start : start + below_b] = 1
        a, b = zip(*self._number, strict=True) if self._number else ((), ())
        return table(Pairs, a=a, b=b, first=first, column=column, sign=sign)

    def _path(self, a: int, b: int) -> tuple[list[int], int]:
        """Columns from b up to the common ancestor, then from a up to it, and how many of them are on b's side."""
        up: list[int] = []
        down: list[int] = []
        while a != b:
            # a body has a higher number than all that carry it, so the higher one is never the common ancestor
            if a > b:
                up += self._columns_of(a)
                a = self._parent[a]
            else:
                down += self._columns_of(b)
                b = self._parent[b]
        return down + up, len(down)

    def _columns_of(self, body: int) -> range:
        return range(self._first_column[body + 1] - 1, self._first_column[body] - 1, -1)
