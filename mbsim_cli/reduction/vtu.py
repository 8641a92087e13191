"""Meshes for viewers (VTU), by meshio (extra fem)."""

from collections.abc import Mapping
from pathlib import Path

from mbsim_cli.errors import UsageError
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.shaped_mesh import ShapedMesh


def write_vtu(path: Path, mesh: ShapedMesh) -> None:
    """Write a mesh with its shapes as vectors of the points, and its fields as numbers of the cells."""
    shapes = {f"shape {i + 1}": shape for i, shape in enumerate(mesh.shapes)}
    _write(path, mesh, mesh.points, shapes, mesh.fields)


def write_deformed(path: Path, mesh: ShapedMesh, points: Array, displacements: Array, fields: Mapping) -> None:
    """Write a mesh whose points are elsewhere, with displacements (N, 3), and ``fields`` as numbers of the cells."""
    _write(path, mesh, points, {"displacement": displacements}, fields)


def _write(path: Path, mesh: ShapedMesh, points: Array, of_points: Mapping, of_cells: Mapping) -> None:
    try:
        import meshio
    except ImportError as error:
        raise UsageError(
            "a .vtu file needs meshio: install the extra fem, in a clone by pip install '.[fem]'"
        ) from error
    cell_data = {name: [values] for name, values in of_cells.items()}
    found = meshio.Mesh(points, [(mesh.kind, mesh.cells)], point_data=dict(of_points), cell_data=cell_data)
    found.write(path, file_format="vtu")
