"""Stored results: the content of a file, its variables by path, and histories and gradients for pictures."""

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from mbsim_cli.io.guard import attribute, naming, opened, require_origin, require_plain
from mbsim_cli.io.layout import KINEMATIC, Stored, column_units, texts
from mbsim_cli.io.target import check_target, replaced
from mbsim_cli.model.pictures import GradientOf, Series
from mbsim_cli.model.units import in_words, quotient
from mbsim_cli.system import cached_property

# Names of histories of coordinates and equations, as users write them: ``A.angle.velocity``, ``P2.x.lambda``.

MOTION = (*(f"coordinates/{kind}" for kind in KINEMATIC), "torque")
MULTIPLIERS = tuple(f"multipliers/{kind}" for kind in ("lambda", "sigma", "kappa"))
IN_COLUMNS = (*MOTION, *MULTIPLIERS)  # variables with one column per coordinate or equation


class Entry(NamedTuple):
    """A variable by its path, or a column of it; ``sign`` is -1 where a coordinate is stored negated."""

    path: str
    column: int | None = None  # None: all of them
    sign: float = 1.0
    units: tuple[str, ...] = ()  # one per component, where they are known
    components: tuple[str, ...] = ("value",)
    sensitivity: str = ""  # path of its derivatives by the parameters, empty if there are none

    @property
    def kind(self) -> str:
        """The kind of a history: sensor, coordinate, torque, multiplier or diagnostic."""
        return self.path.partition("/")[0].removesuffix("s")

    @property
    def unit(self) -> str:
        """The unit of the components, or their units separated by commas where they differ."""
        return in_words(self.units)


def columns(
    coordinates: Sequence[str], constraints: Sequence[str], paths: Collection[str]
) -> Iterator[tuple[str, Entry]]:
    """Yield the columns of the variables at ``paths``, by name."""
    for number, stored in enumerate(coordinates):
        name, sign = stored.removeprefix("-"), -1.0 if stored.startswith("-") else 1.0
        for path in paths:
            if path in MOTION:
                yield _named(name, path), Entry(path, number, sign)
    for path in paths:
        if path in MULTIPLIERS:
            yield from ((_named(name, path), Entry(path, number)) for number, name in enumerate(constraints))


def _named(name: str, path: str) -> str:
    kind = path.rpartition("/")[2]
    return name if kind == "position" else f"{name}.{kind}"


def derivatives_of(path: str) -> str:
    """Path of the derivatives of a variable by the parameters."""
    return "sensitivity/torque/parameter" if path == "torque" else f"sensitivity/{path}"


class StoredModel(NamedTuple):
    """The model as a run read it."""

    file: str
    texts: dict[str, str]  # of the file itself and of those that it includes
    overrides: dict[str, str]


META = ("options", "timing", "work", "discretisation", "platform")  # groups of scalars that reports include


class ResultFile:
    """A result file; parts are read on demand, and the file is open only meanwhile.

    ``checked``: the check of the format is skipped, since it was made before, or the caller trusts the file.
    Raises InputOutputError for other files, and where a damaged part is read.
    """

    def __init__(self, path: Path, checked: bool = False):
        self.path = path
        with opened(path, checked) as file:
            if checked:
                require_origin(file)
            self.title = str(attribute(file, "title") or "")  # name of the model

    def report(self) -> dict[str, Any]:
        """Origin, size, objectives and datasets: the report that ``mbsim inspect --json`` prints."""
        with opened(self.path, checked=True) as file:
            time = file["time"]
            itself = {"file": str(self.path), "bytes": self.path.stat().st_size}
            return {
                **itself,
                **{name: _python_value(value) for name, value in file.attrs.items() if name not in itself},
                "instants": len(time),
                "start": float(time[0]) if len(time) else None,
                "end": float(time[-1]) if len(time) else None,
                "coordinates": self.coordinates,
                "constraints": texts(file.get("constraint")),
                "parameters": self.parameters,
                "overrides": _scalars(file.get("meta/parameters")),
                **{name: _scalars(file.get(f"meta/{name}")) for name in META},
                "warnings": texts(file.get("meta/warnings")),
                "objectives": self.objectives,
                "datasets": {
                    name: {
                        "shape": list(item.shape),
                        "axes": [dimension.label or "" for dimension in item.dims],
                        "unit": item.attrs.get("unit", ""),
                    }
                    for name, item in _datasets(file)
                    if not name.startswith("meta/")
                },
            }

    @cached_property
    def _along_time(self) -> dict[str, tuple[str, ...]]:
        """Axes of all variables by path, ``time`` included, whose own dimension has no label."""
        with opened(self.path, checked=True) as file:
            dims = {name: tuple(dimension.label for dimension in item.dims) for name, item in _datasets(file)}
        return {"time": ("time",)} | {name: labels for name, labels in dims.items() if labels[:1] == ("time",)}

    @property
    def paths(self) -> Sequence[str]:
        """Paths of all variables, ``time`` included."""
        return list(self._along_time)

    @cached_property
    def axes(self) -> Mapping[str, Sequence[str]]:
        """Labels along every axis but time."""
        names = dict.fromkeys(axis for dims in self._along_time.values() for axis in dims[1:])
        with opened(self.path, checked=True) as file:
            return {axis: tuple(texts(file[axis])) for axis in names}

    def variable(self, path: str) -> Stored:
        """A variable by its path, one of ``paths``."""
        with opened(self.path, checked=True) as file, naming(path):
            dataset = file[path]
            require_plain(dataset)
            labels = tuple(dimension.label or path for dimension in dataset.dims)
            units = column_units(file, path) if dataset.ndim <= 2 else ()
            return Stored(np.asarray(dataset[()]), labels, dataset.attrs.get("unit", ""), units)

    @cached_property
    def time(self) -> np.ndarray:
        """Time points (N,), s."""
        with opened(self.path, checked=True) as file:
            return np.asarray(file["time"][()])

    @cached_property
    def coordinates(self) -> list[str]:
        """Names of the coordinates; a minus sign precedes those that are stored negated."""
        with opened(self.path, checked=True) as file:
            return texts(file.get("coordinates/name"))

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Value, unit and bounds (None if unbounded) of every parameter that gradients were computed for."""
        with opened(self.path, checked=True) as file:
            if "parameters" not in file:
                return {}
            group = file["parameters"]
            names, units = texts(group["name"]), texts(group["unit"])
            values, bounds = (group[name][()].tolist() for name in ("value", "bounds"))
            return {
                name: {"value": value, "unit": unit, "bounds": limits if np.isfinite(limits).all() else None}
                for name, value, unit, limits in zip(names, values, units, bounds, strict=True)
            }

    @cached_property
    def objectives(self) -> dict[str, dict[str, Any]]:
        """Value, unit, method and, if computed, gradient of every objective."""
        with opened(self.path, checked=True) as file:
            found = {}
            for name, group in file.get("objectives", {}).items():
                entry: dict[str, Any] = {"value": float(group["value"][()]), "unit": group["value"].attrs["unit"]}
                entry["method"] = group.attrs["method"]
                entry["flags"] = texts(group.get("flags"))
                if "gradient" in group:
                    numbers = map(float, group["gradient"][()])
                    names, units = texts(file["parameters/name"]), texts(file["parameters/unit"])
                    entry["gradient"] = dict(zip(names, numbers, strict=True))
                    entry["gradient_units"] = {n: quotient(entry["unit"], u) for n, u in zip(names, units, strict=True)}
                    why = texts(group.get("undefined"))
                    entry["undefined"] = {n: reason for n, reason in zip(names, why, strict=False) if reason}
                if "discretisation" in group:
                    errors = group["gradient_discretisation"][()] if "gradient_discretisation" in group else ()
                    by = dict(zip(texts(file.get("parameters/name")), map(float, errors), strict=False))
                    entry["discretisation"] = {"value": float(group["discretisation"][()]), "gradient": by}
                found[name] = entry
            return found

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Every history by name; a name that two kinds share is that of the first."""
        found: dict[str, Entry] = {}
        with opened(self.path, checked=True) as file:

            def add(name: str, entry: Entry, units: Sequence[str]) -> None:
                path, own = derivatives_of(entry.path), units if entry.column is None else (units[entry.column],)
                found.setdefault(name, entry._replace(units=tuple(own), sensitivity=path if path in file else ""))

            for name, dataset in file.get("sensors", {}).items():
                components = tuple(texts(file[dataset.dims[1].label]))
                add(name, Entry(path := f"sensors/{name}", components=components), column_units(file, path))
            paths = [path for path in IN_COLUMNS if path in file]
            units_of = {path: column_units(file, path) for path in paths}
            coordinates, constraints = texts(file.get("coordinates/name")), texts(file.get("constraint"))
            for name, entry in columns(coordinates, constraints, paths):
                add(name, entry, units_of[entry.path])
            for name in file.get("diagnostics", {}):
                add(name, Entry(path := f"diagnostics/{name}"), column_units(file, path))
        return found

    @cached_property
    def by_coordinates(self) -> list[str]:
        """Names of the coordinates and rates by which derivatives of torques are stored."""
        with opened(self.path, checked=True) as file:
            return [name for name, e in self.entries.items() if e.kind == "coordinate" and _of_torque(e) in file]

    def names(self, *kinds: str) -> list[str]:
        """Names of all histories, or of those of the given kinds."""
        return [name for name, entry in self.entries.items() if not kinds or entry.kind in kinds]

    def _values(self, path: str, entry: Entry, by: int | None = None) -> np.ndarray:
        """Values (N, k) or derivatives (N, k, p) of an entry; ``by``: only this column of the last axis."""
        with opened(self.path, checked=True) as file:
            values = np.asarray(file[path][()] if by is None else file[path][..., by], dtype=float)
        if values.ndim == 1:
            values = values[:, None]
        return values if entry.column is None else entry.sign * values[:, [entry.column]]

    def history(self, name: str) -> Series:
        """A history by its name."""
        entry = self.entries[name]
        return Series(name, entry.units, entry.components, self.time, self._values(entry.path, entry))

    def is_varied(self, name: str, by: str) -> bool:
        """Whether there are derivatives of a history by a parameter, or of a torque by a coordinate or its rate."""
        entry = self.entries[name]
        if by in self.parameters:
            return bool(entry.sensitivity)
        return entry.kind == "torque" and by in self.by_coordinates

    def sensitivity(self, name: str, by: str) -> Series:
        """Derivatives of a history by a parameter, or of a torque by a coordinate; ``is_varied`` must hold."""
        entry = self.entries[name]
        if by in self.parameters:
            unit = self.parameters[by]["unit"]
            values = self._values(entry.sensitivity, entry, list(self.parameters).index(by))
        else:
            moved = self.entries[by]
            (unit,) = moved.units
            values = moved.sign * self._values(_of_torque(moved), entry, moved.column)
        units = tuple(quotient(own, unit) for own in entry.units)
        return Series(f"d{name}/d{by}", units, entry.components, self.time, values)

    def derivatives(self, name: str) -> np.ndarray:
        """Derivatives (N, k, p) of a history by all parameters, in their order."""
        entry = self.entries[name]
        return self._values(entry.sensitivity, entry).reshape(len(self.time), -1, len(self.parameters))

    @property
    def gradients(self) -> dict[str, GradientOf]:
        """Gradients by objective, for objectives that have one."""
        rho = self.parameters
        names, units = tuple(rho), tuple(entry["unit"] for entry in rho.values())
        values = np.array([entry["value"] for entry in rho.values()])
        found = {}
        for name, entry in self.objectives.items():
            if "gradient" in entry:
                by = np.array(list(entry["gradient"].values()))
                found[name] = GradientOf(name, entry["unit"], entry["value"], names, units, values, by)
        return found

    @property
    def by_fields(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Derivatives (ne,) by the elements of a field, by objective and field."""
        with opened(self.path, checked=True) as file:
            return {
                name: {field: np.asarray(values[()]) for field, values in group.get("gradient_fields", {}).items()}
                for name, group in file.get("objectives", {}).items()
            }

    @property
    def model(self) -> StoredModel:
        """The model as the run read it."""
        with opened(self.path, checked=True) as file:
            name = file["meta/model_file"][()].decode()
            included = {key.replace("|", "/"): text for key, text in _scalars(file.get("meta/included")).items()}
            overrides = _scalars(file.get("meta/parameters"))
            return StoredModel(name, {name: file["meta/model_yaml"][()].decode()} | included, overrides)

    def motion(self) -> list[np.ndarray]:
        """Positions, velocities and accelerations (N, n) in the order of ``coordinates``, as stored."""
        if not self.coordinates:
            return [np.zeros((len(self.time), 0))]
        with opened(self.path, checked=True) as file:
            return [np.asarray(file[f"coordinates/{kind}"][()]) for kind in KINEMATIC]

    def save(self, path: Path, *, force: bool) -> None:
        """Write a copy; raises InputOutputError and UsageError."""
        with replaced(check_target(path, force=force), force=force) as written:
            shutil.copyfile(self.path, written)


def _of_torque(moved: Entry) -> str:
    """Path of the derivatives of torques by coordinates, or by their rates."""
    return f"sensitivity/torque/{moved.path.rpartition('/')[2]}"


def _datasets(file: h5py.File) -> list[tuple[str, h5py.Dataset]]:
    """All datasets by their paths, in the order of names."""
    found: list[tuple[str, h5py.Dataset]] = []
    file.visititems(lambda name, item: found.append((name, item)) if isinstance(item, h5py.Dataset) else None)
    return found


def _scalars(group: h5py.Group | None) -> dict[str, Any]:
    """Entries of a group of scalars."""
    return {name: _python_value(item[()]) for name, item in group.items()} if group is not None else {}


def _python_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
