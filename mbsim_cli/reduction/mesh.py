"""Meshes: cells, the surface, sets of nodes, and their files."""

from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.quarantine import fault_of
from mbsim_cli.reduction.data import Array, Refused

# Cells of meshes as data: reference nodes and the monomials that their shape functions are made of.

Exponents = tuple[tuple[int, ...], ...]


class Cell(NamedTuple):
    """A kind of cell; names and order of nodes are those of meshio (VTK)."""

    nodes: tuple[tuple[float, ...], ...]  # in reference coordinates
    exponents: Exponents
    simplex: bool
    points: int  # of a Gauss rule in each direction that integrates mass and stiffness
    faces: tuple[tuple[int, ...], ...]  # local nodes of the sides, edges of plane cells
    face_kind: str

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return len(self.nodes[0])

    def shape(self, xi: Array) -> Array:
        """Shape functions (g, nodes) at reference points (g, dimension)."""
        return _monomials(xi, self.exponents) @ self._coefficients()

    def gradient(self, xi: Array) -> Array:
        """Derivatives of the shape functions by reference coordinates (g, nodes, dimension)."""
        monomials = [
            [powers[axis] * np.prod(xi ** np.maximum(powers - one, 0), axis=1) for powers in np.array(self.exponents)]
            for axis, one in enumerate(np.eye(self.dimension, dtype=int))
        ]
        return np.stack([np.stack(each, 1) @ self._coefficients() for each in monomials], -1)

    def _coefficients(self) -> Array:
        return np.linalg.inv(_monomials(np.array(self.nodes, dtype=float), self.exponents))

    def rule(self) -> tuple[Array, Array]:
        """Points (g, dimension) and weights (g) of Gauss's rule; for simplices that of the cube (0, 1)^d is folded."""
        x, w = np.polynomial.legendre.leggauss(self.points)
        points = np.array(list(product(x, repeat=self.dimension)))
        weights = np.array([np.prod(part) for part in product(w, repeat=self.dimension)])
        if self.simplex:
            points, weights, left = (points + 1) / 2, weights / 2**self.dimension, np.ones(len(points))
            for axis in range(self.dimension):
                points[:, axis] = left * points[:, axis]
                weights = weights * left
                left = left - points[:, axis]
        return points, weights


def _monomials(xi: Array, exponents: Exponents) -> Array:
    return np.stack([np.prod(xi ** np.array(powers), axis=1) for powers in exponents], 1)


def _up_to(dimension: int, degree: int) -> Exponents:
    return tuple(p for p in product(range(degree + 1), repeat=dimension) if sum(p) <= degree)


def _serendipity(dimension: int) -> Exponents:
    """Monomials whose superlinear degree is at most two (serendipity elements)."""
    return tuple(p for p in product(range(3), repeat=dimension) if sum(q for q in p if q > 1) <= 2)


def _with_middles(corners: Sequence[tuple[float, ...]], edges: Sequence[tuple[int, int]]) -> tuple:
    middles = (tuple((a + b) / 2 for a, b in zip(corners[i], corners[j], strict=True)) for i, j in edges)
    return (*corners, *middles)


_TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
_TETRAHEDRON = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_QUAD = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
_HEX = tuple((*corner, z) for z in (-1.0, 1.0) for corner in _QUAD)
_LOOP3, _LOOP4 = ((0, 1), (1, 2), (2, 0)), ((0, 1), (1, 2), (2, 3), (3, 0))
_TET_EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
_HEX_EDGES = (*_LOOP4, *((i + 4, j + 4) for i, j in _LOOP4), *((i, i + 4) for i in range(4)))
_TET_FACES = ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3))
_HEX_FACES = ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def _completed(faces: Sequence[tuple[int, ...]], corners: int, edges: Sequence[tuple[int, int]]) -> tuple:
    """Faces with their mid-edge nodes."""
    middle = {frozenset(edge): corners + i for i, edge in enumerate(edges)}
    rounds = ((face, zip(face, (*face[1:], face[0]), strict=True)) for face in faces)
    if len(faces[0]) == 2:
        return tuple((*face, middle[frozenset(face)]) for face in faces)
    return tuple((*face, *(middle[frozenset(edge)] for edge in around)) for face, around in rounds)


CELLS: dict[str, Cell] = {
    "triangle": Cell(_TRIANGLE, _up_to(2, 1), True, 2, _LOOP3, "line"),
    "triangle6": Cell(
        _with_middles(_TRIANGLE, _LOOP3), _up_to(2, 2), True, 3, _completed(_LOOP3, 3, _LOOP3), "line3"
    ),
    "quad": Cell(_QUAD, tuple(product(range(2), repeat=2)), False, 2, _LOOP4, "line"),
    "quad8": Cell(_with_middles(_QUAD, _LOOP4), _serendipity(2), False, 3, _completed(_LOOP4, 4, _LOOP4), "line3"),
    "tetra": Cell(_TETRAHEDRON, _up_to(3, 1), True, 3, _TET_FACES, "triangle"),
    "tetra10": Cell(
        _with_middles(_TETRAHEDRON, _TET_EDGES), _up_to(3, 2), True, 4, _completed(_TET_FACES, 4, _TET_EDGES),
        "triangle6",
    ),
    "hexahedron": Cell(_HEX, tuple(product(range(2), repeat=3)), False, 2, _HEX_FACES, "quad"),
    "hexahedron20": Cell(
        _with_middles(_HEX, _HEX_EDGES), _serendipity(3), False, 3, _completed(_HEX_FACES, 8, _HEX_EDGES), "quad8"
    ),
    "line": Cell(((-1.0,), (1.0,)), _up_to(1, 1), False, 2, (), ""),
    "line3": Cell(((-1.0,), (1.0,), (0.0,)), _up_to(1, 2), False, 3, (), ""),
}  # fmt: skip
SOLID = tuple(kind for kind, cell in CELLS.items() if cell.dimension > 1)


@cache
def tabulated(kind: str) -> tuple[Array, Array, Array]:
    """Shape functions (g, nodes), their reference gradients (g, nodes, d) and weights (g) at the Gauss points."""
    cell = CELLS[kind]
    xi, weights = cell.rule()
    return cell.shape(xi), cell.gradient(xi), weights


# Meshes of one kind of cell; places may be complex, for derivatives by sizes.


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


@dataclass(frozen=True)
class ShapedMesh:
    """Points (N, 3), cells (ne, nodes of a cell) of one of meshio's kinds, displacements by each shape (n, N, 3)."""

    points: Array
    cells: Array
    kind: str
    shapes: Array
    fields: Mapping[str, Array] = field(default_factory=dict)  # numbers of the cells (ne) by name


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


# Visible faces of a mesh: plane cells and beams themselves, of solids the faces of a single cell; and edges.

CORNERS = {"triangle": 3, "triangle6": 3, "quad": 4, "quad8": 4, "line": 2, "line3": 2}
MOST_EDGES = 1000  # that are drawn; of more, those at borders and folds only
FOLD = 0.9  # cosine of the angle between faces that makes a fold


def skin(cells: Array, kind: str) -> tuple[Array, Array]:
    """Corners (f, corners) of the faces on the surface, and their cells (f,)."""
    if kind in CORNERS:
        return cells[:, : CORNERS[kind]], np.arange(len(cells))
    cell = CELLS[kind]
    corners = CORNERS[cell.face_kind]
    faces = cells[:, [face[:corners] for face in cell.faces]]
    flat = faces.reshape(-1, corners)
    _, first, count = np.unique(np.sort(flat, 1), axis=0, return_index=True, return_counts=True)
    seen = np.sort(first[count == 1])
    return flat[seen], seen // len(cell.faces)


def drawn_edges(points: Array, cells: Array, kind: str) -> Array:
    """Ends (edges, 2) of the lines that a mesh is drawn by."""
    faces = skin(cells, kind)[0]
    if faces.shape[1] == 2:
        return faces
    sides = np.stack([faces, np.roll(faces, -1, 1)], -1)
    edges, of, count = np.unique(np.sort(sides.reshape(-1, 2), 1), axis=0, return_inverse=True, return_counts=True)
    if len(edges) <= MOST_EDGES:
        return edges
    a, b, c = (points[faces[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    total = np.zeros((len(edges), 3))
    np.add.at(total, of.ravel(), np.repeat(normal, faces.shape[1], 0))
    # the sum of two normals at an angle is 2 cos of its half
    folded = np.linalg.norm(total, axis=1) < np.sqrt(2 * (1 + FOLD))
    return edges[(count != 2) | folded]


CLOSE = 1e-6  # of the mesh's extent: coordinates this close are the same


class Selection(NamedTuple):
    """Selection of the nodes of a set: ranges by axis (0, 1, 2), a group's name, or the node nearest to a point."""

    ranges: Mapping[int, tuple[float, float]] = {}
    group: str | None = None
    nearest: tuple[float, ...] | None = None


def nodes_of(mesh: Mesh, selection: Selection, place: tuple[str | int, ...]) -> Array:
    """Nodes of a set, in order; raise Refused if it is empty."""
    points = mesh.points.real
    if selection.nearest is not None:
        return np.array([np.argmin(((points - np.array(selection.nearest)) ** 2).sum(1))])
    if selection.group is not None:
        if selection.group not in mesh.groups:
            known = ", ".join(mesh.groups) or "none"
            raise Refused((*place, "group"), f"the mesh has no group {selection.group!r}", f"its groups: {known}")
        return np.unique(mesh.groups[selection.group])
    inside = np.ones(len(points), bool)
    for axis, (low, high) in selection.ranges.items():
        margin = CLOSE * mesh.extent
        inside &= (points[:, axis] >= low - margin) & (points[:, axis] <= high + margin)
    if not inside.any():
        low, high = points.min(0), points.max(0)
        span = ", ".join(f"{'xyz'[a]} {low[a]:g} to {high[a]:g}" for a in range(3))
        raise Refused(place, "no node of the mesh lies there", f"it spans {span} m")
    return np.flatnonzero(inside)


def weights_of(mesh: Mesh, nodes: Array) -> Array:
    """Weights of a set's nodes, sum 1: lengths or areas of the sides that they make up; equal where they make none."""
    cell = CELLS.get(mesh.kind)
    if cell is None or not cell.faces:
        return np.full(len(nodes), 1 / len(nodes))
    weights, chosen = np.zeros(len(mesh.points), mesh.points.dtype), np.zeros(len(mesh.points), bool)
    chosen[nodes] = True
    touching = mesh.cells[chosen[mesh.cells].any(1)]
    shape, gradient, of_points = tabulated(cell.face_kind)
    for face in cell.faces:
        sides = touching[:, face]
        sides = sides[chosen[sides].all(1)]
        tangents = np.einsum("sia,gir->sgar", mesh.points[sides], gradient)
        if tangents.shape[-1] == 1:
            size = np.sqrt((tangents[..., 0] ** 2).sum(-1))
        else:
            size = np.sqrt((np.cross(tangents[..., 0], tangents[..., 1]) ** 2).sum(-1))
        np.add.at(weights, sides, np.einsum("gi,sg,g->si", shape, size, of_points))  # of the shape functions
    found = weights[nodes]
    total = found.sum()
    return found / total if total else np.full(len(nodes), 1 / len(nodes))


def read_mesh(path: Path) -> Mesh:
    """Read the cells of highest dimension, which are to be of one kind; groups of nodes, cells and sides are sets."""
    found = _read(path)
    filled = [block for block in found.cells if len(block.data)]
    highest = max((block.dim for block in filled), default=0)
    kinds = sorted({block.type for block in filled if block.dim == highest})
    if len(kinds) != 1 or kinds[0] not in SOLID:
        known = ", ".join(SOLID)
        raise InputOutputError(f"{path} has cells {', '.join(kinds) or 'of no kind'}; one kind of {known} is wanted")
    points = _points(path, found)
    cells = np.vstack([block.data for block in filled if block.type == kinds[0]]).astype(int)
    _require_points(path, cells, len(points), "a cell")
    parts: dict[str, list[Array]] = {}
    named = list(found.point_sets.items())
    for name, blocks in found.cell_sets.items():
        for block, chosen in zip(found.cells, blocks, strict=False):
            if chosen is not None and len(chosen) and "gmsh:" not in name:
                named.append((name, block.data[np.asarray(chosen, dtype=int)]))
    for name, nodes in named:
        _require_points(path, np.asarray(nodes), len(points), f"group {name!r}")
        parts.setdefault(name, []).append(np.asarray(nodes, dtype=int).ravel())
    groups = {name: np.unique(np.concatenate(nodes)) for name, nodes in parts.items()}
    return _compact(Mesh(points, cells, kinds[0], groups=groups), path)


def read_surface(path: Path) -> tuple[Array, Array]:
    """Points (n, 3) and triangles (m, 3) of a surface in space; quadrilaterals are split."""
    found = _read(path)
    points = _points(path, found)
    faces = [np.asarray(block.data)[:, 0 : {"triangle": 3, "quad": 4}.get(block.type, 0)] for block in found.cells]
    triangles = [face[:, [0, k, k + 1]] for face in faces for k in range(1, face.shape[1] - 1)]
    if not triangles:
        raise InputOutputError(f"{path} has no triangles")
    whole = np.concatenate(triangles).astype(int)
    _require_points(path, whole, len(points), "a triangle")
    return points, whole


def _read(path: Path) -> Any:
    """The contents of a file as meshio reads them; raises InputOutputError, UsageError."""
    try:
        import meshio
    except ImportError as error:
        raise UsageError("mesh files need meshio: install the extra fem, in a clone by pip install '.[fem]'") from error
    if not path.is_file():
        raise InputOutputError(f"there is no file {path}")

    def read(path: Path) -> Any:
        said = StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                return meshio.read(path)
        except SystemExit as error:  # meshio prints why, and ends the program
            raise ValueError(next(filter(None, said.getvalue().splitlines()), "").removeprefix("Error: ")) from error

    fault = fault_of(path, read)  # readers of some formats never end at the end of a file that was cut off
    if fault:
        raise InputOutputError(f"{path} is no mesh that meshio reads: {fault.replace('HDF5', 'meshio')}")
    try:
        return read(path)
    except Exception as error:  # of any reader
        raise InputOutputError(f"{path} is no mesh that meshio reads: {' '.join(str(error).split())}") from error


def _points(path: Path, found: Any) -> Array:
    """Points (n, 3)."""
    given = np.asarray(found.points, dtype=float)
    if given.ndim != 2 or given.shape[1] > 3 or not len(given):
        raise InputOutputError(f"{path} has no points in a plane or in space")
    if not np.isfinite(given).all():
        raise InputOutputError(f"{path} has points whose coordinates are not finite")
    points = np.zeros((len(given), 3))
    points[:, : given.shape[1]] = given
    return points


def _require_points(path: Path, nodes: Array, count: int, what: str) -> None:
    """Raise InputOutputError for node numbers out of range."""
    wrong = nodes[(nodes < 0) | (nodes >= count)] if nodes.size else nodes
    if wrong.size:
        raise InputOutputError(f"{path}: {what} has point {int(wrong.flat[0])}, and there are points 0 to {count - 1}")


def _compact(mesh: Mesh, path: Path) -> Mesh:
    """The mesh without nodes that no cell has; raise InputOutputError for cells off the plane, or there twice."""
    used = np.unique(mesh.cells)
    height = np.abs(mesh.points[used, 2]).max()
    if mesh.dimension == 2 and height > CLOSE * mesh.extent:
        raise InputOutputError(f"{path} is a plane mesh that leaves the plane z = 0, by {height:g} of its units")
    _, first, which = np.unique(np.sort(mesh.cells, 1), axis=0, return_index=True, return_inverse=True)
    twice = np.flatnonzero(first[which.ravel()] != np.arange(len(mesh.cells)))
    if len(twice):
        again, before = twice[0], first[which.ravel()[twice[0]]]
        raise InputOutputError(f"{path} has a cell twice, {before} and {again}; remove one of them")
    place = np.full(len(mesh.points), -1)
    place[used] = np.arange(len(used))
    groups = {name: kept for name, nodes in mesh.groups.items() if len(kept := place[nodes][place[nodes] >= 0])}
    points = mesh.points[used] * [1, 1, mesh.dimension == 3]
    return Mesh(points, place[mesh.cells], mesh.kind, groups=groups)


def write_vtu(path: Path, mesh: ShapedMesh, points: Array, vectors: Mapping, fields: Mapping) -> None:
    """Write the cells of a mesh for viewers, with ``points`` (N, 3), vectors (N, 3) there, and numbers of the cells."""
    try:
        import meshio
    except ImportError as error:
        hint = "install the extra fem, in a clone by pip install '.[fem]'"
        raise UsageError(f"a .vtu file needs meshio: {hint}") from error
    cell_data = {name: [values] for name, values in fields.items()}
    found = meshio.Mesh(points, [(mesh.kind, mesh.cells)], point_data=dict(vectors), cell_data=cell_data)
    found.write(path, file_format="vtu")
