"""Meshes for viewers (VTU), by meshio (extra fem)."""

from pathlib import Path

from mbsim_cli.errors import UsageError
from mbsim_cli.reduction.shaped_mesh import ShapedMesh


def write_vtu(path: Path, mesh: ShapedMesh) -> None:
    """Write a mesh with its shapes as vectors of the points, and its fields as numbers of the cells."""
    try:
        import meshio
    except ImportError as error:
        raise UsageError(
            "a .vtu file needs meshio: install the extra fem, in a clone by pip install '.[fem]'"
        ) from error
    shapes = {f"shape {i + 1}": shape for i, shape in enumerate(mesh.shapes)}
    fields = {name: [values] for name, values in mesh.fields.items()}
    found = meshio.Mesh(mesh.points, [(mesh.kind, mesh.cells)], point_data=shapes, cell_data=fields)
    found.write(path, file_format="vtu")
