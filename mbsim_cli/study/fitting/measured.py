"""Measurements as arrays: the columns of a file that the model is compared with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError, ModelError
from mbsim_cli.io.tables import read_table
from mbsim_cli.spec.reading.suggestions import suggest


class Column(NamedTuple):
    """Readings (n,) of a column at times (n,), s, and what the file says of it (``spec.fits.MeasuredColumn``)."""

    name: str
    given: Any
    times: np.ndarray
    readings: np.ndarray


class Measured(NamedTuple):
    """A measurement: its name, what the file says (``spec.fits.Measurement``), its columns and its table."""

    name: str
    given: Any
    columns: tuple[Column, ...]
    path: Path


def measured_of(model_file: Any, name: str) -> Measured:
    """Read a measurement that a model states; raises ModelError and InputOutputError.

    Readings that are NaN, and those outside of ``between``, are left out.
    """
    given, number = model_file.measurements[name], model_file.expressions.value
    path = Path(model_file.source.file).parent / given.file
    table = read_table(path, *([] if given.delimiter is None else [given.delimiter]))
    times = _column(model_file, path, table, ("measurements", name, "time"), given.time)
    times = times * float(number(given.time_scale).real)
    if not np.isfinite(times).all():
        raise InputOutputError(f"{path}: the times in column {given.time!r} are not all finite numbers")
    used = np.ones(len(times), dtype=bool)
    if given.between is not None:
        first, last = (float(number(end).real) for end in given.between)
        used = (times >= first) & (times <= last)
    columns = []
    for column, entry in given.columns.items():
        place = ("measurements", name, "columns", column)
        readings = _column(model_file, path, table, place, column)
        known = used & np.isfinite(readings)
        if not known.any():
            within = " within between" if given.between is not None else ""
            raise ModelError([model_file.source.issue(place, f"{path} has no readings{within}", key=True)])
        columns.append(Column(column, entry, times[known], readings[known]))
    return Measured(name, given, tuple(columns), path)


def _column(
    model_file: Any, path: Path, table: Mapping[str, np.ndarray], place: tuple[str, ...], name: str
) -> np.ndarray:
    if name not in table:
        hint = suggest(name, list(table)) or f"columns: {', '.join(list(table)[:6])}"
        raise ModelError([model_file.source.issue(place, f"{path} has no column {name!r}", hint, key=True)])
    return table[name]
