"""Fields that gradients are taken by, in a result: ``/fields``, and the meshes that they stand on, ``/mesh``."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.io.plain import FormatError
from mbsim_cli.io.reader import opened
from mbsim_cli.io.scales import Scales
from mbsim_cli.io.skeleton import TEXT, set_unit
from mbsim_cli.reduction.cells import CELLS


class FieldOn(NamedTuple):
    """Numbers (ne) of a field, before its filter, and the mesh of the body whose elements they are of."""

    name: str
    values: np.ndarray
    body: str
    points: np.ndarray  # (N, 3) in the body's frame
    cells: np.ndarray  # (ne, nodes of a cell)
    kind: str


def store(scales: Scales, fields: Sequence[FieldOn]) -> None:
    """Write values and meshes; a field of several bodies stands once."""
    file = scales.file
    if fields:
        file.create_dataset("axis", data=["x", "y", "z"], dtype=TEXT).make_scale("axis")
    for field in fields:
        element = element_axis(field.name)
        if element not in file:
            _numbered(scales, element, len(field.values))
            values = file.create_dataset(f"fields/{field.name}", data=field.values)
            scales.attach(values, (element,))
            set_unit(values, "1")
        group = file.create_group(f"mesh/{field.body}")
        group.attrs["kind"], group.attrs["field"] = field.kind, field.name
        point, corner = f"point_of_{field.body}", f"corner_of_{field.body}"
        _numbered(scales, point, len(field.points))
        _numbered(scales, corner, field.cells.shape[1])
        points = group.create_dataset("points", data=field.points)
        scales.attach(points, (point, "axis"))
        set_unit(points, "m")
        scales.attach(group.create_dataset("cells", data=field.cells.astype(np.int64)), (element, corner))
        set_unit(group["cells"], "1")


class OnMesh(NamedTuple):
    """Points (N, 3), cells (ne, nodes of a cell) of a kind, and numbers of the cells (ne)."""

    points: np.ndarray
    cells: np.ndarray
    kind: str
    values: np.ndarray


def fields_of(path: Path) -> dict[str, OnMesh]:
    """Fields of a result by name, and by OBJECTIVE.FIELD derivatives of objectives; raises InputOutputError."""
    found: dict[str, OnMesh] = {}
    with opened(path) as file:
        for mesh in file["mesh"].values() if "mesh" in file else ():
            name = mesh.attrs["field"]
            points, cells, kind = _checked(mesh)
            objectives = file.get("objectives", ())
            paths = {name: f"fields/{name}"}
            paths |= {f"{of}.{name}": f"objectives/{of}/gradient_fields/{name}" for of in objectives}
            for label, place in paths.items():
                if place in file and file[place].shape == (len(cells),) and label not in found:
                    found[label] = OnMesh(points, cells, kind, file[place][()])
    return found


def _checked(mesh: h5py.Group) -> tuple[np.ndarray, np.ndarray, str]:
    """Points, cells and kind of a mesh; raise FormatError where they do not fit."""
    points, cells, kind = mesh["points"][()], mesh["cells"][()], mesh.attrs["kind"]
    if kind not in CELLS or cells.shape[1:] != (len(CELLS[kind].nodes),) or points.shape[1:] != (3,):
        raise FormatError(f"{mesh.name} is no mesh")
    if cells.dtype.kind not in "iu" or (cells.size and not 0 <= cells.min() <= cells.max() < len(points)):
        raise FormatError(f"{mesh.name}: its cells name points that there are not")
    return points, cells, kind


def element_axis(field: str) -> str:
    """Name of the axis of a field's elements."""
    return f"element_of_{field}"


def _numbered(scales: Scales, name: str, count: int) -> None:
    dataset = scales.file.create_dataset(name, data=np.arange(count))
    dataset.make_scale(name)
    set_unit(dataset, "1")
