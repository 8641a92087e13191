"""Meshes from files, and fields on meshes into files."""

from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.quarantine import fault_of
from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.mesh import CELLS, SOLID, Mesh
from mbsim_cli.reduction.reduce import ShapedMesh

# Meshes from files, by meshio (extra fem).


def read_mesh(path: Path) -> Mesh:
    """Read the cells of highest dimension, which are to be of one kind; groups of nodes, cells and sides are sets."""
    found = _read(path)
    kinds = sorted(
        {block.type for block in found.cells if block.type in SOLID}, key=lambda kind: -CELLS[kind].dimension
    )
    kinds = [kind for kind in kinds if CELLS[kind].dimension == CELLS[kinds[0]].dimension]
    if len(kinds) != 1:
        known = ", ".join(SOLID)
        raise InputOutputError(
            f"{path} has cells {', '.join(kinds) or 'of no known kind'}; one kind of {known} is wanted"
        )
    points = _points(path, found)
    cells = np.vstack([block.data for block in found.cells if block.type == kinds[0]]).astype(int)
    _require_points(path, cells, len(points), "a cell")
    for name, nodes in _named_nodes(found):
        _require_points(path, np.asarray(nodes), len(points), f"group {name!r}")
    groups = {name: np.unique(np.concatenate(parts)) for name, parts in _groups(found).items()}
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
    """What meshio finds in a file; raises InputOutputError, UsageError."""
    try:
        import meshio
    except ImportError as error:
        raise UsageError("mesh files need meshio: install the extra fem, in a clone by pip install '.[fem]'") from error
    if not path.is_file():
        raise InputOutputError(f"there is no file {path}")

    def read(path: Path) -> Any:
        with redirect_stdout(StringIO()):
            return meshio.read(path)

    fault = fault_of(path, read)  # readers of some formats go round for ever at the end of a file that was cut off
    if fault:
        raise InputOutputError(f"{path} is no mesh that meshio reads: {fault.replace('HDF5', 'meshio')}")
    try:
        return read(path)
    except (Exception, SystemExit) as error:  # of any reader
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
    """Raise InputOutputError where numbers of points are none."""
    wrong = nodes[(nodes < 0) | (nodes >= count)] if nodes.size else nodes
    if wrong.size:
        raise InputOutputError(f"{path}: {what} has point {int(wrong.flat[0])}, and there are points 0 to {count - 1}")


def _groups(found: Any) -> dict[str, list[Array]]:
    parts: dict[str, list[Array]] = {}
    for name, nodes in _named_nodes(found):
        parts.setdefault(name, []).append(np.asarray(nodes, dtype=int).ravel())
    return parts


def _named_nodes(found: Any) -> Iterator[tuple[str, Array]]:
    yield from found.point_sets.items()
    for name, blocks in found.cell_sets.items():
        for block, chosen in zip(found.cells, blocks, strict=False):
            if chosen is not None and len(chosen) and "gmsh:" not in name:
                yield name, block.data[np.asarray(chosen, dtype=int)]


def _compact(mesh: Mesh, path: Path) -> Mesh:
    """The mesh without nodes that no cell has."""
    used = np.unique(mesh.cells)
    if CELLS[mesh.kind].dimension == 2 and np.ptp(mesh.points[used, 2]):
        raise InputOutputError(f"{path} is a plane mesh that leaves the plane z = 0")
    place = np.full(len(mesh.points), -1)
    place[used] = np.arange(len(used))
    groups = {name: kept for name, nodes in mesh.groups.items() if len(kept := place[nodes][place[nodes] >= 0])}
    points = mesh.points[used] * [1, 1, CELLS[mesh.kind].dimension == 3]
    return Mesh(points, place[mesh.cells], mesh.kind, groups=groups)


# Meshes for viewers (VTU), by meshio (extra fem).


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
