"""What is seen of a mesh: plane cells and beams themselves, of solids the faces that no other cell has; and edges."""

import numpy as np

from mbsim_cli.reduction.cells import CELLS
from mbsim_cli.reduction.data import Array

CORNERS = {"triangle": 3, "triangle6": 3, "quad": 4, "quad8": 4, "line": 2, "line3": 2}
MOST_EDGES = 1000  # that are drawn; of more, those at borders and folds only
FOLD = 0.9  # cosine of the angle between faces that makes a fold


def skin(cells: Array, kind: str) -> tuple[Array, Array]:
    """Corners (f, corners) of the faces that are seen, and the cell (f) that each belongs to."""
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
