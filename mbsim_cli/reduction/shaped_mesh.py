"""The mesh of a reduced body with what is drawn on it: displacements of its points, numbers of its cells."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.reduce import Reduced


@dataclass(frozen=True)
class ShapedMesh:
    """Points (N, 3), cells (ne, nodes of a cell) of one of meshio's kinds, displacements by each shape (n, N, 3)."""

    points: Array
    cells: Array
    kind: str
    shapes: Array
    fields: Mapping[str, Array] = field(default_factory=dict)  # numbers of the cells (ne) by name


def shaped_mesh(found: Reduced, fields: Mapping[str, Array]) -> ShapedMesh | None:
    """That of a body with elements; None of one by matrices, which has no cells."""
    structure = found.body.structure
    mesh = structure.mesh
    if not len(mesh.cells):
        return None
    d = structure.translations
    shapes = np.zeros((found.shapes.shape[1], len(mesh.points), 3))
    shapes[:, :, :d] = found.shapes.reshape(len(mesh.points), structure.per_node, -1)[:, :d].transpose(2, 0, 1)
    return ShapedMesh(mesh.points.real, mesh.cells, mesh.kind, shapes, fields)
