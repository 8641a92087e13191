"""Files of parameter studies (HDF5) and of the results of fits (JSON)."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

import mbsim_cli
from mbsim_cli.errors import InputOutputError, reason_of
from mbsim_cli.io.guard import STUDY, FormatError, attribute, is_text, looked_at, require_plain, walk
from mbsim_cli.io.layout import COMPRESSED, TEXT, Scales, component_axis, texts
from mbsim_cli.io.target import FileKind, Sink, begins, is_of_format, replaced
from mbsim_cli.model.units import quotient
from mbsim_cli.plain_data import plain
from mbsim_cli.system import BINARY, open_regular

VERSION = 1
FACTS = ("model", "mbsim_version")  # attributes that reports print


@dataclass(frozen=True)
class StudyTable:
    """N cases of v varied parameters: k objectives with derivatives by p parameters; mappings are units by name."""

    varied: Mapping[str, str]
    objectives: Mapping[str, str]
    parameters: Mapping[str, str]
    design: np.ndarray  # (N, v)
    results: np.ndarray  # (N, k), NaN of cases that are not done
    gradients: np.ndarray  # (N, k, p)
    status: np.ndarray  # (N,) exit code of each case, -1 where it is missing
    seconds: np.ndarray  # (N,)
    reasons: Sequence[str]  # (N,) the reason of a failure, or warnings, of each case
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    plan: str = ""


def write_study(
    target: Path, table: StudyTable, sensors: Mapping[str, tuple[Sequence[str], str]], tracks: Callable[[], Iterable]
) -> None:
    """Write a study, replacing an earlier one; raises InputOutputError.

    ``sensors`` are labels of components, and units. Each call of ``tracks`` yields their histories in many cases anew:
    the number of a ``case``, its ``time`` (T,) [s] and a ``record`` (T, w) with the columns of all sensors.
    """
    if os.path.lexists(target) and not is_study(target):
        raise InputOutputError(f"{target} is no collected study, or is damaged; move it away, and collect again")
    with replaced(target, STUDY_FILE) as path:
        handle = os.open(path, os.O_RDWR | BINARY)
        try:
            sink = Sink(handle)
            with h5py.File(sink, "w", track_order=True) as file:
                scales = Scales(file)
                _write_table(scales, table)
                if sensors:
                    _write_tracks(scales, sensors, tracks, len(table.design))
                scales.close()
            if sink.error is not None:
                raise sink.error
        except (RuntimeError, ValueError) as error:
            raise InputOutputError(f"cannot write {target}: {error}") from error
        finally:
            os.close(handle)


is_study = partial(is_of_format, kind=STUDY)
STUDY_FILE = FileKind("a collected study", "study.h5", is_study)


class StudyContent(NamedTuple):
    """The drawable content of N cases: v varied parameters and k objectives, by name with their units."""

    name: str
    varied: Mapping[str, str]
    objectives: Mapping[str, str]
    design: np.ndarray  # (N, v)
    results: np.ndarray  # (N, k), NaN of cases that are not done
    slopes: np.ndarray | None = None  # (N, k, v) derivatives of objectives by varied parameters, NaN where unknown
    facts: Mapping[str, str | int | float] = {}
    plan: str = ""  # JSON, empty where the file has none


def read_study(path: Path) -> StudyContent:
    """Read a collected study from an untrusted file; raises InputOutputError."""
    with looked_at(path, _require_study, "is no collected study") as file:
        varied, design = _read_table(file, "varied", "design")
        objectives, results = _read_table(file, "objective", "result")
        slopes = _slopes(file, list(varied), results.shape) if "gradient" in file else None
        facts = {name: value for name in FACTS if (value := attribute(file, name)) is not None}
        plan = file["meta/plan"].asstr(errors="replace")[()] if "meta/plan" in file else ""
        name = str(attribute(file, "study") or "")
        return StudyContent(name, varied, objectives, design, results, slopes, facts, plan)


def _slopes(file: h5py.File, varied: Sequence[str], shape: tuple[int, ...]) -> np.ndarray:
    """Derivatives (N, k, v) of objectives by the varied parameters, NaN where the file has none."""
    parameters, gradient = texts(file["parameter"]), np.asarray(file["gradient"][()], dtype=float)
    if gradient.shape != (*shape, len(parameters)):
        raise FormatError("gradient does not have the shape of its labels")
    found = np.full((*shape, len(varied)), np.nan)
    for column, name in enumerate(varied):
        if name in parameters:
            found[..., column] = gradient[..., parameters.index(name)]
    return found


def _require_study(file: h5py.File) -> None:
    """Raise FormatError where datasets are missing, of other shapes or types, or unsafe to read."""
    if attribute(file, "format") != STUDY or attribute(file, "format_version") != VERSION:
        raise FormatError(f"it is no study of version {VERSION} of the format")
    found = dict(walk(file))  # without links to other files
    count = len(_require_dataset(found, "case", 1))
    for names, numbers in (("varied", "design"), ("objective", "result")):
        if names in found or numbers in found:
            shape = (count, len(_require_dataset(found, names, 1)))
            units = _require_dataset(found, f"{numbers}_unit", 1)
            if _require_dataset(found, numbers, 2).shape != shape or units.shape != shape[1:]:
                raise FormatError(f"{numbers} does not have the shape of its labels")
    for name, of_text in (("varied", True), ("design", False), ("objective", True), ("result", False)):
        if name in found and is_text(found[name].dtype) != of_text:
            raise FormatError(f"{name} holds {'no texts' if of_text else 'no numbers'}")
    if "gradient" in found:
        gradient, parameter = _require_dataset(found, "gradient", 3), _require_dataset(found, "parameter", 1)
        if is_text(gradient.dtype) or not is_text(parameter.dtype):
            raise FormatError("gradient holds no numbers, or has no parameters")
    if "meta/plan" in found and not is_text(_require_dataset(found, "meta/plan", 0).dtype):
        raise FormatError("meta/plan holds no text")


def _require_dataset(found: Mapping[str, h5py.Dataset], name: str, dimensions: int) -> h5py.Dataset:
    """A dataset that is safe to read; raises FormatError where it is missing or of other dimensions."""
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


def _write_table(scales: Scales, table: StudyTable) -> None:
    scales.file.attrs.update({"format": STUDY, "format_version": VERSION} | dict(table.attributes))
    scales.axis("case", np.arange(len(table.design)))
    for name, units in (("varied", table.varied), ("objective", table.objectives), ("parameter", table.parameters)):
        if units:
            scales.axis(name, list(units))

    def store(name: str, values: np.ndarray, axes: tuple[str, ...], units: Sequence) -> None:
        """Store numbers of each case, and their units along the other axes."""
        scales.store(name, values, ("case", *axes), **COMPRESSED)
        scales.store(f"{name}_unit", np.array(units, dtype=object), axes, dtype=TEXT)

    store("design", table.design, ("varied",), list(table.varied.values()))
    scales.store("status", table.status, ("case",), **COMPRESSED)
    scales.store("seconds", table.seconds, ("case",), "s", **COMPRESSED)
    scales.store("reason", list(table.reasons), ("case",), dtype=TEXT)
    if table.objectives:
        store("result", table.results, ("objective",), list(table.objectives.values()))
    if table.objectives and table.parameters:
        quotients = [[quotient(unit, by) for by in table.parameters.values()] for unit in table.objectives.values()]
        store("gradient", table.gradients, ("objective", "parameter"), quotients)
    scales.file.create_dataset("meta/plan", data=table.plan, dtype=TEXT)


def _write_tracks(scales: Scales, sensors: Mapping, tracks: Callable[[], Iterable], cases: int) -> None:
    """Store histories of sensors: along time if all cases have the same time points, else along their index."""
    longest, common = common_times(track.time for track in tracks())
    axis = "time" if common else "instant"
    scales.axis(axis, longest if common else np.arange(len(longest)), "s" if common else None)

    def empty(name: str, shape: tuple[int, ...], axes: tuple[str, ...], unit: str) -> h5py.Dataset:
        """A dataset with a chunk for each case; cases that are never written are NaN."""
        stored: dict[str, Any] = {"shape": (cases, *shape), "dtype": "f8", "fillvalue": np.nan}
        if cases and all(shape):  # HDF5 has no empty chunks
            stored |= {"chunks": (1, *shape)} | COMPRESSED
        return scales.store(f"sensors/{name}", None, ("case", *axes), unit, **stored)

    times = None if common else empty("time", (len(longest),), (axis,), "s")
    shown, first = [], 0
    for name, (components, unit) in sensors.items():
        along = component_axis(name, tuple(components))
        if along not in scales.file:
            scales.axis(along, list(components))
        dataset = empty(name, (len(longest), len(components)), (axis, along), unit)
        shown.append((dataset, slice(first, first + len(components))))
        first += len(components)
    for track in tracks():
        count = len(track.time)
        if times is not None:
            times[track.case, :count] = track.time
        for dataset, columns in shown:
            dataset[track.case, :count] = track.record[:, columns]


def common_times(times: Iterable[np.ndarray]) -> tuple[np.ndarray, bool]:
    """The longest of some arrays of times (T,), and whether all are equal; at most two are in memory."""
    longest, common = np.zeros(0), True
    for count, time in enumerate(times):
        common = common and (not count or np.array_equal(time, longest))
        longest = time.copy() if len(time) > len(longest) else longest
    return longest, common


FIT, FIT_VERSION = "mbsim-fit", 1
READINGS = ("time", "measured", "computed", "residuals")  # keys of a column of measurements; all of one length
_NUMBERS = ("start", "value", "standard_error")  # of a parameter; null where a number is not determined

is_fit = partial(begins, pattern=re.compile(f'{{"format": "{FIT}"'.encode()))
FIT_FILE = FileKind("a fit", "fit.json", is_fit)


def write_fit(target: Path, report: Mapping[str, Any], *, force: bool) -> None:
    """Write a fit's report with its ``readings`` as JSON, replacing an earlier one; raises InputOutputError."""
    head = {"format": FIT, "format_version": FIT_VERSION, "mbsim_version": mbsim_cli.__version__}
    text = json.dumps(plain(head | dict(report)), allow_nan=False)
    with replaced(target, FIT_FILE, force=force) as path:
        path.write_text(text + "\n", "utf-8")


def read_fit(path: Path) -> dict[str, Any]:
    """The report that ``write_fit`` wrote, its readings as arrays; raises InputOutputError."""
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
        raise InputOutputError(f"cannot read {path}: {reason_of(error)}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputOutputError(f"{path} is no fit that mbsim wrote, or is damaged") from error
    return found
