"""Files of standard input data of flexible bodies, with an optional mesh."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import mbsim_cli
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.guard import FormatError, attribute, fault_in, looked_at, naming, require_format, require_plain, walk
from mbsim_cli.io.layout import COMPRESSED, texts
from mbsim_cli.io.provenance import storable
from mbsim_cli.quarantine import FATAL
from mbsim_cli.reduction.data import OF_NODES, SHAPES, Node, StandardInput, Taylor, shape_of
from mbsim_cli.reduction.mesh import CELLS, ShapedMesh
from mbsim_cli.reduction.sid_reader import faults


def _require_mesh(file: h5py.File) -> None:
    """Raise FormatError for a mesh of the body (``/mesh``) whose datasets have inconsistent shapes."""
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
        raise FormatError("mesh/cells name points that do not exist")


def _fields(group: h5py.Group) -> list[tuple[str, h5py.Dataset]]:
    found = group.get("fields")
    if found is None:
        return []
    if not isinstance(found, h5py.Group) or not all(isinstance(item, h5py.Dataset) for item in found.values()):
        raise FormatError("mesh/fields is no group of numbers")
    return list(found.items())


# Standard input data as HDF5 (``*.sid.h5``): full tensors by name, with their design derivatives.
#
# ``/J/M0``, ``/J/M1``, ``/J/M2`` are the coefficients of a term. ``/J/dM0``, ``/J/dM1``, ``/J/dM2`` are their
# derivatives by the design variables in ``/design/name``, along the first axis. Terms of nodes are stacked along a
# first axis, which follows that of the design variables.

FORMAT = "mbsim-sid"
FORMAT_VERSION = 1
ORDERS = ("M0", "M1", "M2")
MOST_DIMENSIONS = 6  # design variable, node, two orders of q, and those of a tensor
MOST_MODES = 1000


def write_sid(path: Path, sid: StandardInput, facts: Mapping[str, str], mesh: ShapedMesh | None = None) -> None:
    """Write a body, and the mesh that it was reduced from; ``facts`` are further attributes. Raises OSError."""
    with h5py.File(path, "w", locking=False) as file:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        origin = {"generator": f"mbsim {mbsim_cli.__version__}", "created": created, "comment": sid.comment}
        file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "units": "SI"})
        file.attrs.update({name: storable(text) for name, text in {**origin, **facts}.items()})
        _write_texts(file, "mode/name", sid.modes or [f"{i + 1}" for i in range(sid.n)])
        file["mode/frequency"] = sid.frequencies()
        file["mode/frequency"].attrs["unit"] = "Hz"
        _write_texts(file, "warnings", sid.warnings)
        _write_texts(file, "node/name", [node.name for node in sid.nodes])
        _write_texts(file, "design/name", list(sid.design))
        rows = [dict(_stacked(derivative)) for derivative in sid.design.values()]
        for name, term in _stacked(sid):
            for order, entries in enumerate(term):
                if entries is None:
                    continue
                file[f"{name}/{ORDERS[order]}"] = entries
                if rows:
                    zero = np.zeros_like(entries)
                    found = np.array([zero if row[name][order] is None else row[name][order] for row in rows])
                    file.create_dataset(f"{name}/d{ORDERS[order]}", data=found, compression="gzip", shuffle=True)
        if mesh is not None:
            file.create_group("mesh").attrs["kind"] = mesh.kind
            for name, values in (("points", mesh.points), ("cells", mesh.cells.astype(int)), ("shapes", mesh.shapes)):
                file.create_dataset(f"mesh/{name}", data=values, **COMPRESSED)
            file["mesh/points"].attrs["unit"] = "m"
            for name, values in mesh.fields.items():
                file[f"mesh/fields/{name}"] = values


def read_shaped_mesh(path: Path) -> ShapedMesh | None:
    """The mesh in a file of a body; None where it has none. Raises InputOutputError."""
    with looked_at(path, _require_sid, "holds no standard input data") as file:
        if "mesh" not in file:
            return None
        group = file["mesh"]
        points, cells, shapes = (group[name][()] for name in ("points", "cells", "shapes"))
        fields = {name: dataset[()] for name, dataset in group["fields"].items()} if "fields" in group else {}
        return ShapedMesh(points, cells, str(group.attrs["kind"]), shapes, fields)


def _write_texts(file: h5py.File, path: str, entries: Iterable[str]) -> None:
    file.create_dataset(path, data=np.array(list(entries), dtype=object), dtype=h5py.string_dtype())


def _stacked(sid: StandardInput) -> Iterator[tuple[str, Taylor]]:
    """Yield the terms of the body by their groups; those of nodes are stacked along a first axis."""
    for name in SHAPES:
        yield name, getattr(sid, name)
    for name in OF_NODES if sid.nodes else ():
        of_nodes = (getattr(node, name) for node in sid.nodes)
        yield f"node/{name}", Taylor(*map(_stack, zip(*of_nodes, strict=True)))


def _stack(coefficients: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Coefficients of all nodes along a first axis, zeros for None; None if all are None."""
    known = next((entries for entries in coefficients if entries is not None), None)
    if known is None:
        return None
    return np.array([np.zeros_like(known) if entries is None else entries for entries in coefficients])


def is_sid(path: Path) -> bool:
    """Whether a file holds standard input data; raise InputOutputError if HDF5 crashes or hangs on it."""
    fault = fault_in(path, partial(require_format, kind=FORMAT))
    if fault in FATAL:
        raise InputOutputError(f"{path} is damaged: {fault}")
    return not fault


def read_sid(path: Path) -> StandardInput:
    """Read a body; raise InputOutputError where the file holds none, or is damaged."""
    with looked_at(path, _require_sid, "holds no standard input data") as file:
        sid = _terms(file, "", None)
        modes, warnings = (tuple(texts(file.get(name))) for name in ("mode/name", "warnings"))
        design = {name: _terms(file, "d", row) for row, name in enumerate(texts(file["design/name"]))}
        sid = replace(sid, modes=modes, warnings=warnings, comment=file.attrs.get("comment", ""), design=design)
        for name, message in faults(sid):
            raise FormatError(f"{name}: {message}")
        return sid


def _require_sid(file: h5py.File) -> None:
    """Raise FormatError unless a file has the format that ``write_sid`` writes."""
    require_format(file, FORMAT)
    version = attribute(file, "format_version")
    if version != FORMAT_VERSION:
        raise FormatError(f"it is of version {version} of the format, and this mbsim reads {FORMAT_VERSION}")
    datasets = dict(walk(file))
    for name, dataset in datasets.items():
        with naming(name):
            require_plain(dataset, MOST_DIMENSIONS)
    _require_shapes(datasets)
    names = texts(file["design/name"])
    if len(set(names)) < len(names):
        raise FormatError("design/name has a name twice")
    _require_mesh(file)


def _require_shapes(datasets: Mapping[str, h5py.Dataset]) -> None:
    if "Me/M0" not in datasets or len(datasets["Me/M0"].shape) != 2:
        raise FormatError("Me/M0 is missing, or no matrix")
    n = datasets["Me/M0"].shape[0]
    if not 1 <= n <= MOST_MODES:
        raise FormatError(f"it has {n} modes, not 1 to {MOST_MODES}")
    nodes, designs = (_count(datasets, name) for name in ("node/name", "design/name"))
    wanted: dict[str, tuple[str, tuple[int, ...]]] = {name: (name, ()) for name in SHAPES}
    wanted |= {f"node/{name}": (name, (nodes,)) for name in (OF_NODES if nodes else ())}
    for path, (name, first) in wanted.items():
        if f"{path}/M0" not in datasets:
            raise FormatError(f"{path}/M0 is missing")
        for order, coefficient in enumerate(ORDERS):
            shape = (*first, *shape_of(name, n, order))
            _require_shape(datasets, f"{path}/{coefficient}", shape)
            _require_shape(datasets, f"{path}/d{coefficient}", (designs, *shape))


def _count(datasets: Mapping[str, h5py.Dataset], name: str) -> int:
    if name not in datasets or len(datasets[name].shape) != 1 or h5py.check_string_dtype(datasets[name].dtype) is None:
        raise FormatError(f"{name} is missing, or no list of texts")
    return datasets[name].shape[0]


def _require_shape(datasets: Mapping[str, h5py.Dataset], path: str, shape: tuple[int, ...]) -> None:
    if path in datasets:
        if datasets[path].shape != shape or datasets[path].dtype.kind != "f":
            raise FormatError(f"{path} is {datasets[path].shape}, not numbers of shape {shape}")
        if not np.isfinite(datasets[path][()]).all():
            raise FormatError(f"{path} holds numbers that are not finite")


def _terms(file: h5py.File, prefix: str, row: int | None) -> StandardInput:
    """Terms, or their derivatives by one design variable."""
    terms: dict[str, Any] = {name: _taylor(file[name], prefix, row) for name in SHAPES}
    names = texts(file["node/name"])
    stacked = {name: _taylor(file[f"node/{name}"], prefix, row) for name in (OF_NODES if names else ())}
    nodes = tuple(
        Node(label, **{name: term.map(lambda entries, i=i: entries[i]) for name, term in stacked.items()})
        for i, label in enumerate(names)
    )
    return StandardInput(**terms, nodes=nodes)


def _taylor(group: h5py.Group, prefix: str, row: int | None) -> Taylor:
    """A term, or with the ``prefix`` d its derivatives by the design variable ``row``."""
    zero = None if prefix == "" else np.zeros_like(group["M0"][()])
    names, place = [prefix + order for order in ORDERS], () if row is None else row
    found = [group[name][place] if name in group else None for name in names]
    return Taylor(found[0] if found[0] is not None else zero, *found[1:])
