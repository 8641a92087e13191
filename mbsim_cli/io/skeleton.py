"""The parts of a result file that do not grow: origin, axes, tables; and empty datasets for those that do."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.io.datasets import TEXT, set_text
from mbsim_cli.io.format import FORMAT, FORMAT_VERSION
from mbsim_cli.io.layout import WITH_RESPECT_TO, Variable, axes
from mbsim_cli.io.provenance import Provenance, platform_facts, root_attributes, storable
from mbsim_cli.io.scales import Scales
from mbsim_cli.model.names import Names
from mbsim_cli.model.units import attributes_of, in_words

CHUNK_BYTES = 256 * 1024
# A chunk that several blocks fill is compressed once if the cache holds it; more would grow with the run.
CACHE = {"rdcc_nslots": 61, "rdcc_nbytes": 2 * CHUNK_BYTES, "rdcc_w0": 1.0}
MOST_CACHED = 512 * CHUNK_BYTES  # of all datasets together: with more of them chunks are smaller
MOST_ROWS = 16384  # of a chunk
LEVEL = 1
COMPRESSION = {"compression": "gzip", "compression_opts": LEVEL}  # what repeats does so as whole numbers: unshuffled
SECONDS = ("step", "duration")  # of the options; all others are plain numbers


class Parameters(NamedTuple):
    """Numbers of the parameters that gradients were computed for."""

    value: Sequence[float] = ()  # (p,)
    bounds: Sequence[tuple[float, float]] = ()  # (p, 2), NaN where there are none


def describe(file: h5py.File, provenance: Provenance) -> None:
    """Write root attributes and ``/meta``."""
    file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "status": "partial"})
    file.attrs.update(root_attributes(provenance))
    meta = file.create_group("meta", track_order=True)
    meta.create_dataset("model_file", data=storable(provenance.model_file), dtype=TEXT)
    meta.create_dataset("model_yaml", data=provenance.model_text, dtype=TEXT)
    tables = {
        "included": {storable(name): text for name, text in provenance.included.items()},
        "parameters": provenance.overrides,
        "options": provenance.options,
        "platform": platform_facts(),
    }
    for name, entries in tables.items():
        table(meta, name, entries, dict.fromkeys(SECONDS, "s"))


def table(
    parent: h5py.Group, name: str, entries: Mapping[str, object], units: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write a group of scalars, numbers with their unit; a slash in a name would nest groups."""
    group = parent.create_group(name, track_order=True)
    for key, value in entries.items():
        dataset = group.create_dataset(key.replace("/", "|"), data=value)
        if dataset.dtype.kind in "iuf":
            set_unit(dataset, units.get(key, "1"))


def listed(group: h5py.Group, name: str, texts: Sequence[str]) -> None:
    """Write texts that label themselves, for there is an axis for them alone."""
    group.create_dataset(name, data=list(texts), dtype=TEXT).make_scale(name)


def label(
    scales: Scales,
    names: Names,
    sensors: Mapping[str, slice],
    parameters: Parameters,
    rows: Sequence[Variable],
    instants: int,
) -> None:
    """Create the axes as dimension scales in the root, where netCDF readers find them for every group."""
    file = scales.file
    time = file.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(_chunk_of(instants, CHUNK_BYTES // 8),))
    set_unit(time, "s")
    time.make_scale("time")
    for name, entries in axes(names, sensors).items():
        file.create_dataset(name, data=list(entries), dtype=TEXT).make_scale(name)
    if any(WITH_RESPECT_TO in row.axes for row in rows):
        file.create_dataset(WITH_RESPECT_TO, data=list(names.coordinates), dtype=TEXT).make_scale(WITH_RESPECT_TO)
    if names.coordinates:
        _columns(scales, "coordinates", "coordinate", name=names.coordinates, unit=names.coordinate_units)
    if names.parameters:
        _parameters(scales, names, parameters)


def _parameters(scales: Scales, names: Names, parameters: Parameters) -> None:
    """Names, values, units and bounds of the parameters; bounds that the model does not state are NaN."""
    file, units = scales.file, names.parameter_units
    file.create_dataset("bound", data=["lower", "upper"], dtype=TEXT).make_scale("bound")
    _columns(scales, "parameters", "parameter", name=names.parameters, value=parameters.value, unit=units)
    bounds = np.asarray(parameters.bounds, dtype=float).reshape(-1, 2)
    scales.attach(file.create_dataset("parameters/bounds", data=bounds), ("parameter", "bound"))
    for name in ("value", "bounds"):
        set_unit(file[f"parameters/{name}"], in_words(units))


def _columns(scales: Scales, group: str, axis: str, **columns: Sequence) -> None:
    folder = scales.file.create_group(group, track_order=True)
    for name, entries in columns.items():
        dtype = "f8" if name == "value" else TEXT
        scales.attach(folder.create_dataset(name, data=list(entries), dtype=dtype), (axis,))


def reasons(scales: Scales, group: h5py.Group, undefined: Mapping[str, str]) -> None:
    """Write (p,) why there is no derivative by a parameter; empty texts where there is one."""
    parameters = (name.decode() for name in scales.file["parameter"][()])
    texts = [undefined.get(name, "") for name in parameters]
    scales.attach(group.create_dataset("undefined", data=texts, dtype=TEXT), ("parameter",))


def note_multipliers(file: h5py.File, descriptions: Mapping[str, str], undetermined: Sequence[str]) -> None:
    """Say what each kind of multipliers is, and of which equations they are one choice of many."""
    for kind, note in descriptions.items():
        for path in (f"multipliers/{kind}", f"sensitivity/multipliers/{kind}"):
            if path in file:
                file[path].attrs["description"] = note
    if undetermined:
        file["multipliers"].attrs["undetermined"] = ", ".join(undetermined)


def set_unit(dataset: h5py.Dataset, unit: str) -> None:
    """State a unit."""
    for name, text in attributes_of(unit).items():
        set_text(dataset, name, text)


def set_units(scales: Scales, dataset: h5py.Dataset, axes: Sequence[str], units: np.ndarray) -> None:
    """State the unit of all numbers of a dataset; where they differ all of them, and each under ``/units``.

    ``units`` run along ``axes``; an axis along which they are all the same has one entry.
    """
    set_unit(dataset, in_words(units))
    if units.size > 1:
        changing = [axis for axis, size in zip(axes, units.shape, strict=True) if size > 1]
        listed = scales.datasets.texts(f"units{dataset.name}", np.squeeze(units))
        scales.attach(listed, changing)


def _chunk_of(instants: int, most: int) -> int:
    """Rows of a chunk, at most so many: of equal chunks, for what a chunk has room for is written too."""
    most = max(1, min(MOST_ROWS, most))
    return -(-instants // -(-instants // most))


def repeats(values: np.ndarray) -> bool:
    """Whether more than a third of the numbers (B, ...) are those before them, in time or in their row.

    What does not repeat hardly becomes smaller: compressing it would take longer than all else that is written.
    """
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    bits = rows.view(f"i{rows.itemsize}")  # of equal bits: undetermined numbers repeat too
    same = bits[1:] == bits[:-1]
    same[:, 1:] |= bits[1:, 1:] == bits[1:, :-1]
    return np.count_nonzero(same) > same.size / 3


def growing(scales: Scales, row: Variable, of: int, instants: int, compressed: bool) -> h5py.Dataset:
    """Create an empty dataset along time, one ``of`` so many; its group keeps the order of names."""
    widths = tuple(map(scales.length, row.axes))
    chunk_bytes = min(CHUNK_BYTES, MOST_CACHED // of)
    steps = _chunk_of(instants, chunk_bytes // (8 * int(np.prod(widths))))
    dataset = scales.datasets.growing(row.path, widths, row.dtype, steps, COMPRESSION if compressed else {})
    scales.attach(dataset, ("time", *row.axes))
    set_units(scales, dataset, row.axes, row.unit)
    return dataset


def extend(dataset: h5py.Dataset, first: int, values: np.ndarray) -> None:
    """Write the next instants (B, ...) from a row on; indexing a dataset takes several times as long."""
    if len(values):
        content = np.ascontiguousarray(values)
        dataset.id.set_extent((first + len(content), *content.shape[1:]))
        if first == 0:
            dataset.id.write(h5py.h5s.ALL, h5py.h5s.ALL, content)
            return
        place = dataset.id.get_space()
        place.select_hyperslab((first, *(0 for _ in content.shape[1:])), content.shape)
        dataset.id.write(h5py.h5s.create_simple(content.shape), place, content)
