"""Fields on meshes of flexible bodies: as pictures, and as files for other viewers."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io.facts import OnMesh, fields_of
from mbsim_cli.io.sid_file import read_shaped_mesh
from mbsim_cli.io.target import is_result, is_vtk
from mbsim_cli.reduction.mesh import skin
from mbsim_cli.reduction.mesh_files import write_deformed
from mbsim_cli.reduction.reduce import ShapedMesh
from mbsim_cli.study.pictures.filming import Filming
from mbsim_cli.study.pictures.selection import hint

# Fields on meshes, as pictures show them.


class DrawnField(NamedTuple):
    """Faces (f, corners) among points (N, 3), the cell (f) of each, and numbers of the cells (ne)."""

    points: np.ndarray
    faces: np.ndarray
    owner: np.ndarray
    values: np.ndarray


def field_of(path: Path, name: str) -> DrawnField:
    """A field of a reduced body's file, or of a result, where OBJECTIVE.FIELD are derivatives by it.

    Raises UsageError where there is none of the name.
    """
    meshes = fields_of(path) if is_result(path) else _of_body(path)
    if name not in meshes:
        known = ", ".join(meshes) or "none"
        raise UsageError(f"{path} has no field {name!r}, it has {known}{hint(name, meshes)}")
    points, cells, kind, values = meshes[name]
    return DrawnField(points, *skin(cells, kind), values)


def _of_body(path: Path) -> dict[str, OnMesh]:
    mesh = read_shaped_mesh(path)
    if mesh is None:
        raise UsageError(f"{path} has no mesh; mbsim reduce writes one with bodies that have elements")
    return {name: OnMesh(mesh.points, mesh.cells, mesh.kind, values) for name, values in mesh.fields.items()}


# The meshes of a motion for viewers: a .vtu file a body and instant, and a .pvd file that has them all in time.


def folder_of(target: Path) -> Path:
    """The folder beside a .pvd file that holds its meshes; raises InputOutputError where it holds anything else."""
    folder = target.with_name(f"{target.stem}_vtu")
    if folder.exists() and not (folder.is_dir() and all(map(is_vtk, folder.iterdir()))):
        raise InputOutputError(f"{folder} is there and is no folder of meshes; name another output with -o")
    return folder


def write_collection(filming: Filming, target: Path, folder: Path, told: Callable[[int], None]) -> str:
    """Write meshes at all instants of a film into a folder; return the text of the .pvd file."""
    moving = filming.moving
    if not moving.meshes:
        raise UsageError(f"{filming.path} has no body with a mesh that a .pvd file could show")
    fields = {name: _fields(filming.path, mesh) for name, mesh in moving.meshes.items()}
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    rows = []
    try:
        for number, (time, z) in enumerate(zip(filming.time, filming.z, strict=True)):
            for part, (name, mesh) in enumerate(moving.meshes.items()):
                file = f"{name}-{number:05d}.vtu"
                places, displacements = moving.deformed(name, z)
                write_deformed(temporary / file, mesh, places, displacements, fields[name])
                place = quoteattr(f"{folder.name}/{file}")
                rows.append(f'<DataSet timestep="{float(time)!r}" part="{part}" name={quoteattr(name)} file={place}/>')
            told(number + 1)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n'
    return head + "\n".join(rows) + "\n</Collection>\n</VTKFile>\n"


def _fields(path: Path, mesh: ShapedMesh) -> dict[str, Any]:
    """Numbers of the cells: the body's field, filtered too, and derivatives of objectives by it, as OBJECTIVE.FIELD."""
    gradients = {
        label: found.values
        for label, found in fields_of(path, known=True).items()
        if label.rpartition(".")[2] in mesh.fields and len(found.values) == len(mesh.cells)
    }
    return {**mesh.fields, **gradients}
