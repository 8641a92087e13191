"""Fields on meshes, as pictures show them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.io.sid_file import read_shaped_mesh
from mbsim_cli.reduction.skin import skin
from mbsim_cli.study.pictures.selection import hint


class DrawnField(NamedTuple):
    """Faces (f, corners) among points (N, 3), the cell (f) of each, and numbers of the cells (ne)."""

    points: np.ndarray
    faces: np.ndarray
    owner: np.ndarray
    values: np.ndarray


def field_of(path: Path, name: str) -> DrawnField:
    """A field in the file of a reduced body; raises UsageError where there is none of the name."""
    mesh = read_shaped_mesh(path)
    if mesh is None:
        raise UsageError(f"{path} has no mesh; mbsim reduce writes one with bodies that have elements")
    if name not in mesh.fields:
        known = ", ".join(mesh.fields) or "none"
        raise UsageError(f"{path} has no field {name!r}, it has {known}{hint(name, mesh.fields)}")
    return DrawnField(mesh.points, *skin(mesh.cells, mesh.kind), mesh.fields[name])
