"""Reads what a result holds, for ``mbsim inspect``; its parts serve other readers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.guard import FormatError, require_result
from mbsim_cli.model.units import quotient
from mbsim_cli.quarantine import fault_of
from mbsim_cli.system import NO_HANDLES, open_regular


def summary(path: Path, known: bool = False) -> dict[str, Any]:
    """Return origin, size, objectives and datasets of a result; raise where the file is not one.

    One that is ``known`` has been checked, or is read in the process of somebody who accepts what HDF5 does there.
    """
    with opened(path, known) as file:
        return _summary(path, file)


# Exceptions of h5py for damaged content; content that passed the checks of the format raises no others.
DAMAGED = (OSError, KeyError, RuntimeError, ValueError, TypeError, MemoryError, FormatError)


@contextmanager
def opened(path: Path, known: bool = False) -> Iterator[h5py.File]:
    """Open a result to read; raise where the file is not one, or damaged where it is read.

    One that is ``known`` has been checked.
    """
    with looked_at(path, None if known else _require_result, "is not an mbsim result") as file:
        yield file


@contextmanager
def looked_at(path: Path, check: Callable[[Path], None] | None, complaint: str) -> Iterator[h5py.File]:
    """Open a file from anywhere that passes a ``check``; raise InputOutputError where it does not, or is damaged."""
    _require_readable(path)
    try:
        if check and (fault := fault_of(path, check)):
            raise FormatError(fault)
        with h5py.File(path, "r", locking="best-effort") as file:
            yield file
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno in NO_HANDLES:
            raise InputOutputError(f"cannot read {path}: Too many open files") from error
        raise InputOutputError(f"{path} {complaint}, or is damaged: {reason_of(error)}") from error


def _require_readable(path: Path) -> None:
    """Raise InputOutputError for what cannot be opened, which says nothing of what is in it."""
    try:
        open_regular(path).close()
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:  # a name with a zero
        raise InputOutputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _require_result(path: Path) -> None:
    with h5py.File(path, "r", locking="best-effort") as file:
        require_result(file)


def reason_of(error: BaseException) -> str:
    """The message of an exception of h5py, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _summary(path: Path, file: h5py.File) -> dict[str, Any]:
    time = file["time"]
    itself = {"file": str(path), "bytes": path.stat().st_size}
    return {
        **itself,
        **{name: _plain(value) for name, value in file.attrs.items() if name not in itself},
        "instants": len(time),
        "start": float(time[0]) if len(time) else None,
        "end": float(time[-1]) if len(time) else None,
        "coordinates": texts(file.get("coordinates/name")),
        "constraints": texts(file.get("constraint")),
        "parameters": parameters_of(file),
        "overrides": scalars(file.get("meta/parameters")),
        "options": scalars(file.get("meta/options")),
        "timing": scalars(file.get("meta/timing")),
        "work": scalars(file.get("meta/work")),
        "discretisation": scalars(file.get("meta/discretisation")),
        "platform": scalars(file.get("meta/platform")),
        "warnings": texts(file.get("meta/warnings")),
        "objectives": objectives_of(file),
        "datasets": _datasets(file),
    }


def parameters_of(file: h5py.File) -> dict[str, dict[str, Any]]:
    """Value, unit and bounds (None where there are none) of every parameter that gradients were computed for."""
    if "parameters" not in file:
        return {}
    group = file["parameters"]
    values, units = map(float, group["value"][()]), texts(group["unit"])
    bounds = group["bounds"][()].tolist() if "bounds" in group else [[np.nan]] * len(units)
    return {
        name: {"value": value, "unit": unit, "bounds": limits if np.isfinite(limits).all() else None}
        for name, value, unit, limits in zip(texts(group["name"]), values, units, bounds, strict=True)
    }


def column_units(file: h5py.File, path: str) -> list[str]:
    """Units of a dataset along time, one a column."""
    dataset = file[path]
    if f"units/{path}" in file:
        return texts(file[f"units/{path}"])
    return [dataset.attrs.get("unit", "")] * (dataset.shape[1] if dataset.ndim > 1 else 1)


def labels(dataset: h5py.Dataset, axis: int) -> tuple[str, ...]:
    """Labels along an axis of a dataset."""
    return tuple(texts(dataset.file[dataset.dims[axis].label]))


def objectives_of(file: h5py.File) -> dict[str, dict[str, Any]]:
    """Value, unit, method and gradient, where there is one, of every objective."""
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


def _datasets(file: h5py.File) -> dict[str, dict[str, Any]]:
    found = {}

    def visit(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("meta/"):
            axes = [dimension.label or "" for dimension in item.dims]
            found[name] = {"shape": list(item.shape), "axes": axes, "unit": item.attrs.get("unit", "")}

    file.visititems(visit)
    return found


def scalars(group: h5py.Group | None) -> dict[str, Any]:
    """Entries of a group of scalars."""
    return {name: _plain(item[()]) for name, item in group.items()} if group is not None else {}


def texts(dataset: h5py.Dataset | None) -> list[str]:
    """Entries of a list of texts."""
    return [entry.decode() for entry in dataset[()]] if dataset is not None else []


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
