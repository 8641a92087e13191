"""Files of parameter studies (HDF5) and of the findings of fits (JSON)."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

import mbsim_cli
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.guard import STUDY, FormatError, attribute, is_text, require_plain, walk
from mbsim_cli.io.layout import TEXT, attach, component_axis, set_unit
from mbsim_cli.io.results import looked_at, texts
from mbsim_cli.io.target import FileKind, is_of_format, replaced
from mbsim_cli.io.writer import Sink
from mbsim_cli.model.units import quotient
from mbsim_cli.system import BINARY, judged, open_regular

# All cases of a study in one HDF5 file, with labelled axes: how it is written, and read to be drawn.

VERSION = 1
FACTS = ("model", "mbsim_version")  # attributes that are shown
_COMPRESSED = {"compression": "gzip", "compression_opts": 1, "shuffle": True}


@dataclass(frozen=True)
class StudyTable:
    """N cases of v varied parameters: k objectives with derivatives by p parameters; names go with their units."""

    varied: Mapping[str, str]
    objectives: Mapping[str, str]
    parameters: Mapping[str, str]
    design: np.ndarray  # (N, v)
    results: np.ndarray  # (N, k), NaN of cases that are not done
    gradients: np.ndarray  # (N, k, p)
    status: np.ndarray  # (N,) exit code of each case, -1 where it is missing
    seconds: np.ndarray  # (N,)
    reasons: Sequence[str]  # (N,) why a case failed, and what it warned of
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    plan: str = ""


class Track(NamedTuple):
    """Histories of sensors in one case."""

    case: int
    time: np.ndarray  # (T,) s
    record: np.ndarray  # (T, w), sensors side by side


@dataclass(frozen=True)
class Tracks:
    """Tracks of many cases, given anew with every call of ``each``; of sensors the labels of components, and units."""

    sensors: Mapping[str, tuple[Sequence[str], str]]
    each: Callable[[], Iterable[Track]]


def write_study(target: Path, table: StudyTable, tracks: Tracks | None = None) -> None:
    """Write a study, in the place of an earlier one; raises InputOutputError."""
    if os.path.lexists(target) and not is_study(target):
        raise InputOutputError(f"{target} is no collected study, or is damaged; move it away, and collect again")
    with replaced(target, STUDY_FILE) as path:
        handle = os.open(path, os.O_RDWR | BINARY)
        try:
            sink = Sink(handle)
            with h5py.File(sink, "w", track_order=True) as file:
                _write_table(file, table)
                if tracks is not None:
                    _write_tracks(file, tracks, len(table.design))
            if sink.error is not None:
                raise sink.error
        except (RuntimeError, ValueError) as error:
            raise InputOutputError(f"cannot write {target}: {error}") from error
        finally:
            os.close(handle)


def is_study(path: Path) -> bool:
    """Whether a file is a collected study."""
    return is_of_format(path, STUDY)


STUDY_FILE = FileKind("a collected study", "study.h5", is_study)


class StudyContent(NamedTuple):
    """The drawable content of N cases: v varied parameters and k objectives, by name with their units."""

    name: str
    varied: Mapping[str, str]
    objectives: Mapping[str, str]
    design: np.ndarray  # (N, v)
    results: np.ndarray  # (N, k), NaN of cases that are not done
    slopes: np.ndarray | None = None  # (N, k, v) derivatives of objectives by varied parameters, NaN where unknown
    facts: Mapping[str, Any] = {}
    plan: str = ""  # JSON, empty where the file has none


def read_study(path: Path) -> StudyContent:
    """Read a collected study from anywhere; raises InputOutputError."""
    with looked_at(path, _require_study, "is no collected study") as file:
        varied, design = _read_table(file, "varied", "design")
        objectives, results = _read_table(file, "objective", "result")
        slopes = _slopes(file, list(varied), results.shape) if "gradient" in file else None
        facts = {name: value for name in FACTS if (value := attribute(file, name)) is not None}
        plan = file["meta/plan"].asstr(errors="replace")[()] if "meta/plan" in file else ""
        name = str(attribute(file, "study") or "")
        return StudyContent(name, varied, objectives, design, results, slopes, facts, plan)


def _slopes(file: h5py.File, varied: Sequence[str], shape: tuple[int, ...]) -> np.ndarray:
    """Derivatives (N, k, v) of objectives by the parameters that are varied, NaN by those that have none."""
    parameters, gradient = texts(file["parameter"]), np.asarray(file["gradient"][()], dtype=float)
    if gradient.shape != (*shape, len(parameters)):
        raise FormatError("gradient does not have the shape of its labels")
    found = np.full((*shape, len(varied)), np.nan)
    for column, name in enumerate(varied):
        if name in parameters:
            found[..., column] = gradient[..., parameters.index(name)]
    return found


def _require_study(file: h5py.File) -> None:
    """Raise FormatError where a file lacks what is drawn, or could not be read safely."""
    if attribute(file, "format") != STUDY or attribute(file, "format_version") != VERSION:
        raise FormatError(f"it is no study of version {VERSION} of the format")
    found = dict(walk(file))  # without links to other files
    count = len(_require_dataset(found, "case", 1))
    for names, numbers in (("varied", "design"), ("objective", "result")):
        if names in found or numbers in found:
            shape = (count, len(_require_dataset(found, names, 1)))
            if (
                _require_dataset(found, numbers, 2).shape != shape
                or _require_dataset(found, f"{numbers}_unit", 1).shape != shape[1:]
            ):
                raise FormatError(f"{numbers} does not have the shape of its labels")
    for name, of_text in (("varied", True), ("design", False), ("objective", True), ("result", False)):
        if name in found and is_text(found[name].dtype) != of_text:
            raise FormatError(f"{name} holds {'no texts' if of_text else 'no numbers'}")
    if "gradient" in found and (
        is_text(_require_dataset(found, "gradient", 3).dtype)
        or not is_text(_require_dataset(found, "parameter", 1).dtype)
    ):
        raise FormatError("gradient holds no numbers, or has no parameters")
    if "meta/plan" in found and not is_text(_require_dataset(found, "meta/plan", 0).dtype):
        raise FormatError("meta/plan holds no text")


def _require_dataset(found: Mapping[str, h5py.Dataset], name: str, dimensions: int) -> h5py.Dataset:
    """A dataset that can be read safely."""
    dataset = found.get(name)
    if dataset is None or dataset.shape is None or len(dataset.shape) != dimensions:
        raise FormatError(f"{name} is missing or of another shape")
    require_plain(dataset)
    return dataset


def _read_table(file: h5py.File, names: str, numbers: str) -> tuple[dict[str, str], np.ndarray]:
    """Names with units, and numbers (N, k)."""
    if names not in file:
        return {}, np.zeros((len(file["case"]), 0))
    found = zip(texts(file[names]), texts(file[f"{numbers}_unit"]), strict=True)
    return dict(found), np.asarray(file[numbers][()], dtype=float)


def _write_table(file: h5py.File, table: StudyTable) -> None:
    file.attrs.update({"format": STUDY, "format_version": VERSION} | dict(table.attributes))
    file.create_dataset("case", data=np.arange(len(table.design))).make_scale("case")
    for name, units in (("varied", table.varied), ("objective", table.objectives), ("parameter", table.parameters)):
        if units:
            file.create_dataset(name, data=list(units), dtype=TEXT).make_scale(name)
    _add(file, "design", table.design, ("case", "varied"))
    _units(file, "design", list(table.varied.values()), ("varied",))
    _add(file, "status", table.status, ("case",))
    _add(file, "seconds", table.seconds, ("case",))
    set_unit(file["seconds"], "s")
    attach(file.create_dataset("reason", data=list(table.reasons), dtype=TEXT), ("case",))
    if table.objectives:
        _add(file, "result", table.results, ("case", "objective"))
        _units(file, "result", list(table.objectives.values()), ("objective",))
    if table.objectives and table.parameters:
        _add(file, "gradient", table.gradients, ("case", "objective", "parameter"))
        quotients = [[quotient(unit, by) for by in table.parameters.values()] for unit in table.objectives.values()]
        _units(file, "gradient", quotients, ("objective", "parameter"))
    file.create_dataset("meta/plan", data=table.plan, dtype=TEXT)


def _add(file: h5py.File, name: str, values: np.ndarray, axes: tuple[str, ...]) -> None:
    attach(file.create_dataset(name, data=values, **_COMPRESSED), axes)


def _units(file: h5py.File, name: str, units: Sequence, axes: tuple[str, ...]) -> None:
    """Units of what a dataset holds, along its last axes."""
    attach(file.create_dataset(f"{name}_unit", data=np.array(units, dtype=object), dtype=TEXT), axes)


def _write_tracks(file: h5py.File, tracks: Tracks, cases: int) -> None:
    """Store what sensors showed: along the time where all cases have the same times, else along their number."""
    longest, common = common_times(track.time for track in tracks.each())
    axis = "time" if common else "instant"
    file.create_dataset(axis, data=longest if common else np.arange(len(longest))).make_scale(axis)
    if common:
        set_unit(file["time"], "s")
    else:
        _create_empty(file, "sensors/time", (cases, len(longest)), ("case", axis), "s")
    for name, (components, unit) in tracks.sensors.items():
        shape = (cases, len(longest), len(components))
        _create_empty(
            file, f"sensors/{name}", shape, ("case", axis, _component_axis(file, name, tuple(components))), unit
        )
    shown, first = [], 0  # datasets are looked up once
    for name, (components, _) in tracks.sensors.items():
        shown.append((file[f"sensors/{name}"], slice(first, first + len(components))))
        first += len(components)
    times = None if common else file["sensors/time"]
    for track in tracks.each():
        count = len(track.time)
        if times is not None:
            times[track.case, :count] = track.time
        for dataset, columns in shown:
            dataset[track.case, :count] = track.record[:, columns]


def common_times(times: Iterable[np.ndarray]) -> tuple[np.ndarray, bool]:
    """The longest of some arrays of times, and whether all are the same; only one is in memory."""
    longest, common = np.zeros(0), True
    for count, time in enumerate(times):
        common = common and (not count or np.array_equal(time, longest))
        longest = time.copy() if len(time) > len(longest) else longest
    return longest, common


def _component_axis(file: h5py.File, sensor: str, components: tuple[str, ...]) -> str:
    """Axis along what a sensor shows."""
    name = component_axis(sensor, components)
    if name not in file:
        file.create_dataset(name, data=list(components), dtype=TEXT).make_scale(name)
    return name


def _create_empty(file: h5py.File, name: str, shape: tuple[int, ...], axes: tuple[str, ...], unit: str) -> None:
    """An empty dataset with a chunk for each case; cases that are never written are NaN."""
    stored = {"chunks": (1, *shape[1:])} | _COMPRESSED if all(shape) else {}  # HDF5 has no chunks of nothing
    dataset = file.create_dataset(name, shape, "f8", fillvalue=np.nan, **stored)
    attach(dataset, axes)
    set_unit(dataset, unit)


# The findings of a fit with its readings, as a JSON file for ``mbsim report`` and other programs.

FIT, FIT_VERSION = "mbsim-fit", 1
READINGS = ("time", "measured", "computed", "residuals")  # of a column of readings, of one length
_NUMBERS = ("start", "value", "standard_error")  # of a parameter; null where a number is not determined


def is_fit(path: Path) -> bool:
    """Whether a file holds the findings of a fit."""
    return judged(path, lambda file: file.read(64).startswith(f'{{"format": "{FIT}"'.encode()))


FIT_FILE = FileKind("a fit", "fit.json", is_fit)


def write_fit(target: Path, report: Mapping[str, Any], *, force: bool) -> None:
    """Write a report of plain data with its ``readings``, in the place of an earlier one; raises InputOutputError."""
    head = {"format": FIT, "format_version": FIT_VERSION, "mbsim_version": mbsim_cli.__version__}
    text = json.dumps(_finite(head | dict(report)), allow_nan=False)
    with replaced(target, FIT_FILE, force=force) as path:
        path.write_text(text + "\n", "utf-8")


def _finite(value: Any) -> Any:
    """Plain data whose numbers JSON can say: those that are not finite are null."""
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _finite(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def read_fit(path: Path) -> dict[str, Any]:
    """The findings of a fit, its readings as arrays; raises InputOutputError."""
    try:
        with open_regular(path) as file:
            found = json.load(file)
        if found["format"] != FIT or found["format_version"] != FIT_VERSION:
            raise ValueError(f"it is no fit of version {FIT_VERSION} of the format")
        for readings in found["readings"]:
            readings |= {key: np.array(readings[key], dtype=float).reshape(-1) for key in READINGS}
            if len({len(readings[key]) for key in READINGS}) != 1:
                raise ValueError("its readings have several lengths")
        for entry in found["fit"]["parameters"].values():
            entry |= {key: np.nan if entry[key] is None else float(entry[key]) for key in _NUMBERS}
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputOutputError(f"{path} is no fit that mbsim wrote, or is damaged") from error
    return found
