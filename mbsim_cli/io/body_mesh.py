"""The mesh of a reduced body in its file: ``/mesh``."""

import h5py
import numpy as np

from mbsim_cli.io.plain import FormatError, attribute
from mbsim_cli.reduction.cells import CELLS
from mbsim_cli.reduction.shaped_mesh import ShapedMesh

PACKING = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


def write(file: h5py.File, mesh: ShapedMesh) -> None:
    """Write points, cells, shapes and fields."""
    group = file.create_group("mesh")
    group.attrs["kind"] = mesh.kind
    for name, values in (("points", mesh.points), ("cells", mesh.cells.astype(np.int64)), ("shapes", mesh.shapes)):
        group.create_dataset(name, data=values, **PACKING)
    group["points"].attrs["unit"] = "m"
    for name, values in mesh.fields.items():
        group.create_dataset(f"fields/{name}", data=values)


def read(file: h5py.File) -> ShapedMesh | None:
    """The mesh of a file that is sound; None where it has none."""
    if "mesh" not in file:
        return None
    group = file["mesh"]
    points, cells, shapes = (group[name][()] for name in ("points", "cells", "shapes"))
    fields = {name: dataset[()] for name, dataset in group["fields"].items()} if "fields" in group else {}
    return ShapedMesh(points, cells, str(group.attrs["kind"]), shapes, fields)


def require(file: h5py.File) -> None:
    """Raise FormatError for a mesh whose parts do not fit each other."""
    if "mesh" not in file:
        return
    group = file["mesh"]
    kind = attribute(group, "kind") if isinstance(group, h5py.Group) else None
    if kind not in CELLS:
        raise FormatError("mesh: it is of no known kind of cells")
    for name in ("points", "cells", "shapes"):
        if not isinstance(group.get(name), h5py.Dataset):
            raise FormatError(f"mesh/{name} is missing")
    points, cells, shapes = (group[name] for name in ("points", "cells", "shapes"))
    count, n = points.shape[:1], file["Me/M0"].shape[0]
    for name, dataset, shape, content in (
        ("points", points, (*count, 3), "f"),
        ("cells", cells, (*cells.shape[:1], len(CELLS[str(kind)].nodes)), "iu"),
        ("shapes", shapes, (n, *count, 3), "f"),
        *((f"fields/{name}", field, cells.shape[:1], "f") for name, field in _fields(group)),
    ):
        if dataset.shape != shape or dataset.dtype.kind not in content:
            raise FormatError(f"mesh/{name} is {dataset.shape}, not numbers of shape {shape}")
        if content == "f" and not np.isfinite(dataset[()]).all():
            raise FormatError(f"mesh/{name} holds numbers that are not finite")
    if cells.size and not 0 <= cells[()].min() <= cells[()].max() < points.shape[0]:
        raise FormatError("mesh/cells name points that there are not")


def _fields(group: h5py.Group) -> list[tuple[str, h5py.Dataset]]:
    found = group.get("fields")
    if found is None:
        return []
    if not isinstance(found, h5py.Group) or not all(isinstance(item, h5py.Dataset) for item in found.values()):
        raise FormatError("mesh/fields is no group of numbers")
    return list(found.items())
