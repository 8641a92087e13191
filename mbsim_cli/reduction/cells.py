"""Cells of meshes as data: reference nodes and the monomials that their shape functions are made of."""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from mbsim_cli.reduction.data import Array

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
        parts = [_derivatives(xi, self.exponents, axis) @ self._coefficients() for axis in range(self.dimension)]
        return np.stack(parts, -1)

    def _coefficients(self) -> Array:
        return np.linalg.inv(_monomials(np.array(self.nodes, dtype=float), self.exponents))

    def rule(self) -> tuple[Array, Array]:
        """Points (g, dimension) and weights (g) of the cell's Gauss rule."""
        return _on_simplex(self.dimension, self.points) if self.simplex else _on_cube(self.dimension, self.points)


def _monomials(xi: Array, exponents: Exponents) -> Array:
    return np.stack([np.prod(xi ** np.array(powers), axis=1) for powers in exponents], 1)


def _derivatives(xi: Array, exponents: Exponents, axis: int) -> Array:
    found = []
    for powers in exponents:
        lower = [p - (k == axis) for k, p in enumerate(powers)]
        found.append(powers[axis] * np.prod(xi ** np.maximum(lower, 0), axis=1))
    return np.stack(found, 1)


def _on_cube(dimension: int, count: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(count)
    points = np.array(list(product(x, repeat=dimension)))
    return points, np.array([np.prod(part) for part in product(w, repeat=dimension)])


def _on_simplex(dimension: int, count: int) -> tuple[Array, Array]:
    """Gauss points of the cube (0, 1)^d, folded onto the simplex."""
    cube, weights = _on_cube(dimension, count)
    cube, weights = (cube + 1) / 2, weights / 2**dimension
    points, left = np.empty_like(cube), np.ones(len(cube))
    for axis in range(dimension):
        points[:, axis] = left * cube[:, axis]
        weights = weights * left
        left = left - points[:, axis]
    return points, weights


def _up_to(dimension: int, degree: int) -> Exponents:
    return tuple(p for p in product(range(degree + 1), repeat=dimension) if sum(p) <= degree)


def _tensor(dimension: int) -> Exponents:
    return tuple(product(range(2), repeat=dimension))


def _serendipity(dimension: int) -> Exponents:
    """Monomials of at most second degree in what is above linear."""
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
    """Faces with the nodes in the middles of their edges."""
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
    "quad": Cell(_QUAD, _tensor(2), False, 2, _LOOP4, "line"),
    "quad8": Cell(_with_middles(_QUAD, _LOOP4), _serendipity(2), False, 3, _completed(_LOOP4, 4, _LOOP4), "line3"),
    "tetra": Cell(_TETRAHEDRON, _up_to(3, 1), True, 3, _TET_FACES, "triangle"),
    "tetra10": Cell(
        _with_middles(_TETRAHEDRON, _TET_EDGES), _up_to(3, 2), True, 4, _completed(_TET_FACES, 4, _TET_EDGES),
        "triangle6",
    ),
    "hexahedron": Cell(_HEX, _tensor(3), False, 2, _HEX_FACES, "quad"),
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
