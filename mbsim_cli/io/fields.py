"""Fields of design variables in a result: ``/fields``, and the meshes of their bodies, ``/mesh``."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.io.guard import FormatError, opened
from mbsim_cli.io.layout import Scales, element_axis


class FieldOnMesh(NamedTuple):
    """Numbers (ne,) of a field before its filter, one per element, and the mesh of the body."""

    name: str
    values: np.ndarray
    body: str
    points: np.ndarray  # (N, 3) in the body's frame
    cells: np.ndarray  # (ne, nodes of a cell)
    kind: str


def store_fields(scales: Scales, fields: Sequence[FieldOnMesh]) -> None:
    """Write values and meshes; a field of several bodies is stored once."""
    file = scales.file
    if fields:
        scales.axis("axis", ("x", "y", "z"))
    for field in fields:
        element = element_axis(field.name)
        if element not in file:
            scales.axis(element, np.arange(len(field.values)), "1")
            scales.store(f"fields/{field.name}", field.values, (element,), "1")
        mesh = f"mesh/{field.body}"
        file.create_group(mesh).attrs.update({"kind": field.kind, "field": field.name})
        point, corner = f"point_of_{field.body}", f"corner_of_{field.body}"
        scales.axis(point, np.arange(len(field.points)), "1")
        scales.axis(corner, np.arange(field.cells.shape[1]), "1")
        scales.store(f"{mesh}/points", field.points, (point, "axis"), "m")
        scales.store(f"{mesh}/cells", field.cells.astype(np.int64), (element, corner), "1")


def fields_of(path: Path, checked: bool = False) -> dict[str, FieldOnMesh]:
    """Fields of a result by name, and derivatives of objectives by ``OBJECTIVE.FIELD``; raises InputOutputError.

    ``checked`` as in ``ResultFile``.
    """
    found: dict[str, FieldOnMesh] = {}
    with opened(path, checked) as file:
        for body, mesh in file["mesh"].items() if "mesh" in file else ():
            name = mesh.attrs["field"]
            points, cells, kind = _read_mesh(mesh)
            objectives = file.get("objectives", ())
            paths = {name: f"fields/{name}"}
            paths |= {f"{of}.{name}": f"objectives/{of}/gradient_fields/{name}" for of in objectives}
            for label, place in paths.items():
                if place in file and file[place].shape == (len(cells),) and label not in found:
                    found[label] = FieldOnMesh(label, file[place][()], body, points, cells, kind)
    return found


def _read_mesh(mesh: h5py.Group) -> tuple[np.ndarray, np.ndarray, str]:
    """Points, cells and kind of a mesh; raise FormatError where these are inconsistent."""
    from mbsim_cli.reduction.mesh import CELLS

    points, cells, kind = mesh["points"][()], mesh["cells"][()], mesh.attrs["kind"]
    if kind not in CELLS or cells.shape[1:] != (len(CELLS[kind].nodes),) or points.shape[1:] != (3,):
        raise FormatError(f"{mesh.name} is no mesh")
    if cells.dtype.kind not in "iu" or (cells.size and not 0 <= cells.min() <= cells.max() < len(points)):
        raise FormatError(f"{mesh.name}: its cells name points that there are not")
    return points, cells, kind
