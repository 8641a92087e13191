"""The layout of a result file: its variables with their axes and units, groups, datasets and dimension scales."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5a, h5d, h5p, h5s, h5t

import mbsim_cli
from mbsim_cli.io.guard import FORMAT, FORMAT_VERSION
from mbsim_cli.io.provenance import Provenance, platform_facts, storable
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import RATES, attributes_of, force_on, in_words, quotients

WITH_RESPECT_TO = "with_respect_to"  # the coordinates again: HDF5 viewers require distinct names for the two axes
KINEMATIC = ("position", "velocity", "acceleration")
_KNOWN_AXES = {("value",): "scalar", ("x", "y", "z"): "component"}
_MULTIPLIERS = (("lambda", "lambda_", ""), ("sigma", "sigma", " s"), ("kappa", "kappa", ""))
_ENERGIES = (("kinetic_energy", "J"), ("potential_energy", "J"), ("power", "W"))


class Variable(NamedTuple):
    """A dataset that grows along time.

    ``units`` are those of the entries of the first axis after time (one for all, or one each). For derivatives, ``by``
    are the units of the last axis, and quotients of both are stored.
    """

    path: str
    axes: tuple[str, ...]  # after time
    of: Callable[[Block], np.ndarray]  # (B, ...)
    units: Sequence[str] = ("1",)
    by: Sequence[str] = ()
    dtype: str = "f8"

    @property
    def unit(self) -> np.ndarray:
        """Units along ``axes``, of size 1 along an axis where they are equal."""
        found = quotients(self.units, self.by or ("1",))
        return found.reshape(found.shape[: len(self.axes)])


class Stored(NamedTuple):
    """A dataset with the names of its axes and its units."""

    values: np.ndarray  # (N, k), derivatives (N, k, p)
    axes: tuple[str, ...]
    unit: str
    units: Sequence[str] = ()  # of the columns (k,), or one for all; empty for derivatives


def _components_of(names: Names, sensors: Mapping[str, slice]) -> dict[str, tuple[str, ...]]:
    """Labels of the components of each sensor."""
    every = zip(names.sensors, names.sensor_components, strict=True)
    return {name: components for name, components in every if name in sensors}


def component_axis(sensor: str, components: tuple[str, ...]) -> str:
    """Name of the axis of a sensor's components: ``scalar``, ``component`` of vectors, or one of this sensor."""
    return _KNOWN_AXES.get(components, f"component_of_{sensor}")


def element_axis(field: str) -> str:
    """Name of the axis of a field's elements."""
    return f"element_of_{field}"


def _coordinates(names: Names, inverse: bool):
    for kind, rate in zip(KINEMATIC, RATES, strict=True):
        path, units = f"coordinates/{kind}", _rated(names.coordinate_units, rate)
        yield Variable(path, ("coordinate",), attrgetter(kind), units)
        if not inverse:
            axes, value = ("coordinate", "parameter"), attrgetter(f"d_{kind}")
            yield Variable(f"sensitivity/{path}", axes, value, units, names.parameter_units)


def _multipliers(names: Names):
    forces = tuple(map(force_on, names.constraint_units))
    for kind, field, rate in _MULTIPLIERS:
        yield Variable(f"multipliers/{kind}", ("constraint",), attrgetter(field), _rated(forces, rate))
    path, axes = "sensitivity/multipliers/lambda", ("constraint", "parameter")
    yield Variable(path, axes, attrgetter("d_lambda"), forces, names.parameter_units)


def _torques(names: Names):
    torque = tuple(map(force_on, names.coordinate_units))
    yield Variable("torque", ("coordinate",), attrgetter("torque"), torque)
    for kind, rate in zip(KINEMATIC, RATES, strict=True):
        path, units = f"sensitivity/torque/{kind}", _rated(names.coordinate_units, rate)
        yield Variable(path, ("coordinate", WITH_RESPECT_TO), attrgetter(f"by_{kind}"), torque, units)
    path, axes = "sensitivity/torque/parameter", ("coordinate", "parameter")
    yield Variable(path, axes, attrgetter("by_parameter"), torque, names.parameter_units)


def _sensors(names: Names, sensors: Mapping[str, slice]):
    every = zip(names.sensors, names.sensor_units, strict=True)
    units = {name: (unit,) if isinstance(unit, str) else unit for name, unit in every}
    for name, components in _components_of(names, sensors).items():
        axis, rows = component_axis(name, components), sensors[name]
        yield Variable(f"sensors/{name}", (axis,), _columns("sensors", rows), units[name])
        path = f"sensitivity/sensors/{name}"
        yield Variable(path, (axis, "parameter"), _columns("d_sensors", rows), units[name], names.parameter_units)


def _diagnostics(names: Names):
    yield Variable("diagnostics/iterations", (), attrgetter("iterations"), dtype="i4")
    yield Variable("diagnostics/gradient_error", (), attrgetter("gradient_error"))
    for column, (kind, rate) in enumerate(zip(KINEMATIC, RATES, strict=True)):
        unit = in_words(_rated(names.constraint_units or ("1",), rate))
        yield Variable(f"diagnostics/drift_{kind}", (), _columns("drift", column), (unit,))
    for column, (kind, unit) in enumerate(_ENERGIES):
        yield Variable(f"diagnostics/{kind}", (), _columns("energy", column), (unit,))


def _rated(units: Sequence[str], rate: str) -> tuple[str, ...]:
    return tuple(unit + rate for unit in units)


def _columns(field: str, columns: slice | int) -> Callable[[Block], np.ndarray]:
    return lambda block: getattr(block, field)[:, columns]


class KeptRows:
    """Copies of the columns of a run at every n-th time point and the last; those that share memory are copied once."""

    def __init__(self, every: int):
        self._every, self._seen = every, 0
        self._parts: list[list[np.ndarray]] = []
        self._last: list[list[np.ndarray]] = []  # the latest row, if it is not stored
        self.size = 0  # bytes

    def add(self, columns: Sequence[np.ndarray]) -> None:
        """Copy the selected rows of the next arrays (B, ...)."""
        if not len(columns[0]):
            return
        self._parts.append(_copied(columns, slice(-self._seen % self._every, None, self._every)))
        self.size += sum(values.nbytes for values in self._parts[-1])
        self._seen += len(columns[0])
        self._last = [] if (self._seen - 1) % self._every == 0 else [_copied(columns, slice(-1, None))]

    def column(self, number: int) -> np.ndarray:
        """One of the arrays (N, ...) over all stored time points, N >= 1."""
        return np.concatenate([part[number] for part in (*self._parts, *self._last)])

    def take(self, *, last: bool) -> list[np.ndarray]:
        """Return and forget all arrays, one for those that share memory; the latest row only if it is the ``last``."""
        columns = list(zip(*self._parts, *(self._last if last else ()), strict=True))
        self._parts, self._last, self.size = [], [] if last else self._last, 0
        order = [tuple(map(id, parts)) for parts in columns]
        whole = dict(zip(order, columns, strict=True))
        columns.clear()
        found = {alike: np.concatenate(whole.pop(alike)) for alike in list(whole)}  # a copy of one array at a time
        return [found[alike] for alike in order]


def _copied(columns: Sequence[np.ndarray], rows: slice) -> list[np.ndarray]:
    copies: dict[tuple, np.ndarray] = {}
    found = []
    for values in columns:
        memory = values.__array_interface__["data"][0], values.strides, values.shape, values.dtype
        if memory not in copies:
            copies[memory] = np.array(values[rows])
        found.append(copies[memory])
    return found


# Datasets and attributes by the low-level functions of HDF5: equal to those of h5py, four times as fast.

TEXT = h5py.string_dtype()
_TEXT_TYPE = h5t.py_create(TEXT, logical=True)
_ONE = h5s.create(h5s.SCALAR)
SMALL = 4096  # bytes; HDF5 allows 64 KB


@lru_cache(maxsize=256)
def _properties(chunks: tuple[int, ...] = (), compressed: bool = False, compact: bool = False) -> h5p.PropDCID:
    """Properties of datasets, stored in chunks, in one piece, or ``compact`` beside their names."""
    found = h5p.create(h5p.DATASET_CREATE)
    found.set_obj_track_times(False)
    if compact:
        found.set_layout(h5d.COMPACT)
    if chunks:
        found.set_chunk(chunks)
    if compressed:
        found.set_deflate(LEVEL)  # bytes unshuffled: whole numbers repeat
    return found


def write_fixed(group: h5py.Group, name: str, values: Any, dtype: Any = None) -> h5py.Dataset:
    """Write a number, a text, or an array of fixed size; arrays of texts have the type ``TEXT``."""
    is_text = dtype is TEXT or isinstance(values, str)
    content = np.array(values, TEXT if is_text else dtype, order="C")
    kind = _TEXT_TYPE if is_text else h5t.py_create(content.dtype, logical=True)
    properties = _properties(compact=content.nbytes < SMALL)
    made = h5d.create(group.id, name.encode(), kind, h5s.create_simple(content.shape), properties)
    made.write(h5s.ALL, h5s.ALL, content)
    return h5py.Dataset(made)


def set_text(thing: h5py.Dataset | h5py.Group, name: str, text: str) -> None:
    """Give a dataset or group a new attribute, a text."""
    h5a.create(thing.id, name.encode(), _TEXT_TYPE, _ONE).write(np.array(text, TEXT))


_LABELS = h5t.py_create(h5py.string_dtype("ascii"), logical=True)
_REFERENCES = h5t.py_create(h5py.vlen_dtype(h5py.ref_dtype), logical=True)
_LISTED = np.dtype([("dataset", h5py.ref_dtype), ("dimension", "u4")], align=True)
MOST_LISTED = 1000  # datasets that a scale lists; HDF5 limits it to some 4000


class Scales:
    """A file that is written: its groups, and dimension scales in its root, cached because opening one takes long."""

    def __init__(self, file: h5py.File):
        self.file = file
        self._groups: dict[str, h5py.Group] = {"": file}
        self._scales: dict[str, h5py.Dataset] = {}
        self._listed: dict[str, list[tuple[h5py.Reference, int]]] = {}  # datasets and dimensions that each scale labels
        self._attributes: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}

    def _group(self, path: str, ordered: bool) -> h5py.Group:
        """The group at a path, created if missing; an ``ordered`` one lists names in the order of creation."""
        if path not in self._groups:
            folder, _, name = path.rpartition("/")
            parent = self._group(folder, ordered=True)
            self._groups[path] = parent[name] if name in parent else parent.create_group(name, track_order=ordered)
        return self._groups[path]

    def length(self, name: str) -> int:
        """Number of labels of an axis."""
        return len(self._scale(name))

    def _scale(self, name: str) -> h5py.Dataset:
        if name not in self._scales:
            self._scales[name], self._listed[name] = self.file[name], []
        return self._scales[name]

    def attach(self, dataset: h5py.Dataset, names: Sequence[str]) -> None:
        """Attach a scale to each dimension of a dataset, by attributes: HDF5 would rewrite the lists of scales."""
        key = tuple(names)
        if key not in self._attributes:
            references = np.empty(len(names), h5py.vlen_dtype(h5py.ref_dtype))
            references[:] = [np.array([self._scale(name).ref], h5py.ref_dtype) for name in names]
            self._attributes[key] = np.array([name.encode() for name in names], h5py.string_dtype("ascii")), references
        labels, references = self._attributes[key]
        space = h5s.create_simple((len(names),))
        h5a.create(dataset.id, b"DIMENSION_LABELS", _LABELS, space).write(labels)
        h5a.create(dataset.id, b"DIMENSION_LIST", _REFERENCES, space).write(references)
        for dimension, name in enumerate(names):
            if len(self._listed[name]) < MOST_LISTED:
                self._listed[name].append((dataset.ref, dimension))

    def close(self) -> None:
        """Close the file; before that list in each scale the datasets it labels, for programs that delete scales."""
        kind = h5t.py_create(_LISTED, logical=True)
        for name, listed in self._listed.items():
            if listed:
                space = h5s.create_simple((len(listed),))
                h5a.create(self._scale(name).id, b"REFERENCE_LIST", kind, space).write(np.array(listed, _LISTED))
        self.file.close()

    def axis(self, name: str, labels: Sequence[str] | np.ndarray, unit: str | None = None) -> None:
        """Create an axis with its labels: texts, or numbers in a unit."""
        dataset = write_fixed(self.file, name, labels, None if isinstance(labels, np.ndarray) else TEXT)
        dataset.make_scale(name)
        if unit is not None:
            set_unit(dataset, unit)

    def growing(
        self, path: str, widths: tuple[int, ...], dtype: str, rows: int, compressed: bool = False
    ) -> h5py.Dataset:
        """Create an empty dataset (0, *widths) that grows along its first axis, in chunks of ``rows`` rows."""
        folder, _, name = path.rpartition("/")
        space = h5s.create_simple((0, *widths), (h5s.UNLIMITED, *widths))
        kind, properties = h5t.py_create(np.dtype(dtype), logical=True), _properties((rows, *widths), compressed)
        return h5py.Dataset(h5d.create(self._group(folder, ordered=True).id, name.encode(), kind, space, properties))

    def store(
        self,
        path: str,
        values: Any,
        axes: Sequence[str],
        unit: str | Sequence | None = None,
        dtype: Any = None,
        **properties: Any,
    ) -> h5py.Dataset:
        """Create a dataset along axes, by h5py given ``properties``, with one unit or units as in ``set_units``."""
        folder, _, name = path.rpartition("/")
        group = self._group(folder, ordered=False)
        if properties:
            dataset = group.create_dataset(name, data=values, dtype=dtype, **properties)
        else:
            dataset = write_fixed(group, name, values, dtype)
        self.attach(dataset, axes)
        if isinstance(unit, str):
            set_unit(dataset, unit)
        elif unit is not None:
            set_units(self, dataset, axes, np.array(unit, dtype=object))
        return dataset


# Parts of a result file of fixed size (origin, axes, tables), and empty datasets for histories.

CHUNK_BYTES = 256 * 1024
# A chunk that is filled by several blocks is compressed only once if it stays in the cache.
CACHE = {"rdcc_nslots": 61, "rdcc_nbytes": 2 * CHUNK_BYTES, "rdcc_w0": 1.0}
MOST_CACHED = 512 * CHUNK_BYTES  # of all datasets together: chunks are smaller where there are many datasets
MOST_ROWS = 16384  # of a chunk
LEVEL = 1
COMPRESSED: dict[str, Any] = {"compression": "gzip", "compression_opts": LEVEL, "shuffle": True}  # by h5py
SECONDS = ("step", "duration")  # of the options; all others are plain numbers


class Parameters(NamedTuple):
    """Values and bounds of the parameters that gradients were computed for."""

    value: Sequence[float] = ()  # (p,)
    bounds: Sequence[tuple[float, float]] = ()  # (p, 2), NaN where the model states none


class Origin(NamedTuple):
    """Names, origin and size of the histories of a run.

    ``sensors`` maps names to the rows of the record that each sensor fills. Every ``every``-th time point and the last
    one are stored, about ``times`` in all. Without ``sensitivities`` histories have no derivatives, though objectives
    may have gradients, for example by the adjoint method.
    """

    names: Names
    sensors: Mapping[str, slice]
    parameters: Parameters
    provenance: Provenance
    every: int = 1
    times: int = MOST_ROWS
    sensitivities: bool = True
    inverse: bool = False  # whether blocks are those of inverse dynamics

    @property
    def variables(self) -> list[Variable]:
        """Every dataset along time, in the order of the format."""
        names, inverse = self.names, self.inverse
        rows = [*_coordinates(names, inverse), *(_torques(names) if inverse else _multipliers(names))]
        rows += [*_sensors(names, self.sensors), *(() if inverse else _diagnostics(names))]
        if not self.sensitivities:
            rows = [row for row in rows if not row.path.startswith("sensitivity")]
        known = self.axes
        return [row for row in rows if known.keys() >= set(row.axes)]

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Labels of every axis but time; axes without entries are omitted, for HDF5 viewers fail on them."""
        names = self.names
        labels = {"coordinate": names.coordinates, "constraint": names.constraints, "parameter": names.parameters}
        for name, components in _components_of(names, self.sensors).items():
            labels[component_axis(name, components)] = components
        if self.inverse and self.sensitivities:
            labels[WITH_RESPECT_TO] = names.coordinates
        return {name: entries for name, entries in labels.items() if entries}


def write_origin(file: h5py.File, provenance: Provenance) -> None:
    """Write root attributes and ``/meta``."""
    title = {"title": storable(provenance.title)} if provenance.title else {}
    file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "status": "partial"} | title)
    created, command = datetime.now(UTC).isoformat(timespec="seconds"), storable(provenance.command)
    file.attrs.update({"mbsim_version": mbsim_cli.__version__, "created": created, "command": command})
    file.attrs["model_sha256"] = hashlib.sha256(provenance.model_text.encode()).hexdigest()  # without included files
    meta = file.create_group("meta", track_order=True)
    write_fixed(meta, "model_file", storable(provenance.model_file))
    write_fixed(meta, "model_yaml", provenance.model_text)
    tables = {
        "included": {storable(name): text for name, text in provenance.included.items()},
        "parameters": provenance.overrides,
        "options": provenance.options,
        "platform": platform_facts(),
    }
    for name, entries in tables.items():
        write_scalars(meta, name, entries, dict.fromkeys(SECONDS, "s"))


def write_scalars(
    parent: h5py.Group, name: str, entries: Mapping[str, object], units: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write a group of scalars, numbers with their unit; | replaces slashes in names, which would nest groups."""
    group = parent.create_group(name, track_order=True)
    for key, value in entries.items():
        dataset = write_fixed(group, key.replace("/", "|"), value)
        if np.asarray(value).dtype.kind in "iuf":
            set_unit(dataset, units.get(key, "1"))


def write_texts(group: h5py.Group, name: str, texts: Sequence[str]) -> None:
    """Write texts as a dimension scale of their own."""
    write_fixed(group, name, texts, TEXT).make_scale(name)


def texts(dataset: h5py.Dataset | None) -> list[str]:
    """Entries of a list of texts."""
    return [entry.decode() for entry in dataset[()]] if dataset is not None else []


def write_axes(scales: Scales, origin: Origin) -> None:
    """Create the axes as dimension scales in the root group, where netCDF readers look for them."""
    file, names, parameters = scales.file, origin.names, origin.parameters
    time = scales.growing("time", (), "f8", _chunk_of(origin.times, CHUNK_BYTES // 8))
    set_unit(time, "s")
    time.make_scale("time")
    for name, entries in origin.axes.items():
        scales.axis(name, entries)
    if names.coordinates:
        _list_columns(scales, "coordinates", "coordinate", name=names.coordinates, unit=names.coordinate_units)
    if names.parameters:
        units = names.parameter_units
        scales.axis("bound", ("lower", "upper"))
        _list_columns(scales, "parameters", "parameter", name=names.parameters, value=parameters.value, unit=units)
        set_unit(file["parameters/value"], in_words(units))
        bounds = np.asarray(parameters.bounds, dtype=float).reshape(-1, 2)  # NaN where the model states none
        scales.store("parameters/bounds", bounds, ("parameter", "bound"), in_words(units))


def _list_columns(scales: Scales, group: str, axis: str, **columns: Sequence) -> None:
    scales.file.create_group(group, track_order=True)
    for name, entries in columns.items():
        scales.store(f"{group}/{name}", list(entries), (axis,), dtype="f8" if name == "value" else TEXT)


def set_unit(dataset: h5py.Dataset, unit: str) -> None:
    """State a unit."""
    for name, text in attributes_of(unit).items():
        set_text(dataset, name, text)


def set_units(scales: Scales, dataset: h5py.Dataset, axes: Sequence[str], units: np.ndarray) -> None:
    """Store the unit of a dataset as attribute; if units differ, also a dataset of them under ``/units``.

    ``units`` run along ``axes``, of size 1 along an axis where they are equal.
    """
    set_unit(dataset, in_words(units))
    if units.size > 1:
        changing = [axis for axis, size in zip(axes, units.shape, strict=True) if size > 1]
        scales.store(f"units{dataset.name}", np.squeeze(units), changing, dtype=TEXT)


def column_units(file: h5py.File, path: str) -> list[str]:
    """Units of a dataset along time, one per column."""
    dataset = file[path]
    if f"units/{path}" in file:
        return texts(file[f"units/{path}"])
    return [dataset.attrs.get("unit", "")] * (dataset.shape[1] if dataset.ndim > 1 else 1)


def _chunk_of(times: int, most: int) -> int:
    """Rows of a chunk, at most ``most``; chunks are nearly equal, for unused rows of the last one are written too."""
    most = max(1, min(MOST_ROWS, most))
    return -(-times // -(-times // most))


def is_repetitive(values: np.ndarray) -> bool:
    """Whether over a third of the numbers (B, ...) equal those before them in time or row: others hardly compress."""
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    bits = rows.view(f"i{rows.itemsize}")  # compares bits, so that NaN equals NaN
    same = bits[1:] == bits[:-1]
    same[:, 1:] |= bits[1:, 1:] == bits[1:, :-1]
    return np.count_nonzero(same) > same.size / 3


def create_history(scales: Scales, row: Variable, of: int, times: int, compressed: bool) -> h5py.Dataset:
    """Create an empty dataset for ``times`` time points; ``of`` is the number of such datasets in the file."""
    widths = tuple(map(scales.length, row.axes))
    chunk_bytes = min(CHUNK_BYTES, MOST_CACHED // of)
    steps = _chunk_of(times, chunk_bytes // (8 * int(np.prod(widths))))
    dataset = scales.growing(row.path, widths, row.dtype, steps, compressed)
    scales.attach(dataset, ("time", *row.axes))
    set_units(scales, dataset, row.axes, row.unit)
    return dataset
