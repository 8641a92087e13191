"""Meshes of one kind of cell; places may be complex, for derivatives by sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mbsim_cli.reduction.cells import CELLS
from mbsim_cli.reduction.data import Array


@dataclass(frozen=True)
class Mesh:
    """Points (N, 3) and cells (ne, nodes of a cell) of a kind; ``alike``: all cells have the first one's shape."""

    points: Array
    cells: Array
    kind: str
    alike: bool = False
    groups: Mapping[str, Array] = field(default_factory=dict)  # nodes by name

    @property
    def dimension(self) -> int:
        """2: a plate in the plane z = 0, 3: a solid, 1: a beam."""
        return CELLS[self.kind].dimension

    @property
    def centres(self) -> Array:
        """Centres of the cells (ne, 3)."""
        return self.points[self.cells].mean(1)

    @property
    def extent(self) -> float:
        """Largest size along an axis, m."""
        return float(np.ptp(self.points.real, axis=0).max())


def grid(origin: Sequence, size: Sequence, elements: Sequence[int]) -> Mesh:
    """Bricks, or rectangles where there are two sizes; the last direction counts fastest in nodes and cells."""
    axes = [o + s * np.linspace(0.0, 1.0, n + 1) for o, s, n in zip(origin, size, elements, strict=True)]
    points = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], 1)
    steps = np.cumprod([1, *(n + 1 for n in reversed(elements[1:]))])[::-1]
    first = np.add.reduce(np.meshgrid(*(np.arange(n) * s for n, s in zip(elements, steps, strict=True)), indexing="ij"))
    kind = "quad" if len(elements) == 2 else "hexahedron"
    corners = [sum(s for s, c in zip(steps, corner, strict=True) if c > 0) for corner in CELLS[kind].nodes]
    cells = first.ravel()[:, None] + np.array(corners)
    flat = np.hstack([points, np.zeros((len(points), 3 - points.shape[1]))])
    return Mesh(flat, cells, kind, alike=True)


def line(origin: Sequence, length, elements: int) -> Mesh:
    """Nodes and cells of a beam along x."""
    points = np.array(origin) + np.outer(np.linspace(0.0, 1.0, elements + 1), [length, 0.0, 0.0])
    first = np.arange(elements)
    return Mesh(points, np.stack([first, first + 1], 1), "line", alike=True)
