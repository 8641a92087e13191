"""Fields on meshes, as pictures show them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.io.field_results import OnMesh, fields_of
from mbsim_cli.io.sid_file import read_shaped_mesh
from mbsim_cli.io.target import is_result
from mbsim_cli.reduction.skin import skin
from mbsim_cli.study.pictures.selection import hint


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
