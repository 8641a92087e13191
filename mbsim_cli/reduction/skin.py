"""What is seen of a mesh: plane cells and beams themselves, of solids the faces that no other cell has."""

import numpy as np

from mbsim_cli.reduction.cells import CELLS
from mbsim_cli.reduction.data import Array

CORNERS = {"triangle": 3, "triangle6": 3, "quad": 4, "quad8": 4, "line": 2, "line3": 2}


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
