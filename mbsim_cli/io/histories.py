"""Histories of a result as tables of other programs: CSV, Parquet, MATLAB, netCDF."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io.target import checked, replaced


class Column(NamedTuple):
    """Numbers (N,) along time."""

    name: str
    unit: str
    values: np.ndarray


def check_table(path: Path, *, force: bool) -> Path:
    """Return the resolved target, or raise where a table must not or cannot be written: nothing tells whose one is."""
    return checked(path, force, lambda _: False, "table.csv", "a table")


def write_table(target: Path, kind: str, columns: Sequence[Column], *, title: str, force: bool) -> None:
    """Write columns, the first of which is the time; raises InputOutputError, and UsageError without a library."""
    write = {"csv": _csv, "parquet": _parquet, "mat": _mat, "netcdf": _netcdf}[kind]
    with replaced(target, is_own=lambda _: False, force=force) as path:
        try:
            write(path, columns, title)
        except (ValueError, TypeError) as error:
            raise InputOutputError(f"cannot write {target}: {error}") from error


def _csv(path: Path, columns: Sequence[Column], title: str) -> None:
    """A line of names, then numbers with all their digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in columns])
        writer.writerows(zip(*(column.values.tolist() for column in columns), strict=True))


def _parquet(path: Path, columns: Sequence[Column], title: str) -> None:
    """Units stand in the metadata of the fields."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow; in a clone of mbsim: pip install '.[tables]'") from None
    fields = [pyarrow.field(c.name, pyarrow.float64(), metadata={"unit": c.unit}) for c in columns]
    schema = pyarrow.schema(fields, metadata={"title": title})
    table = pyarrow.table([pyarrow.array(c.values) for c in columns], schema=schema)
    pyarrow.parquet.write_table(table, path)


def _mat(path: Path, columns: Sequence[Column], title: str) -> None:
    """``time`` (N, 1), ``values`` (N, k) with cell arrays ``names`` and ``units``: names of MATLAB hold no dots."""
    from scipy.io import savemat

    time, *rest = columns
    data: dict[str, Any] = {
        "title": title,
        "time": time.values[:, None],
        "values": np.column_stack([column.values for column in rest]) if rest else np.zeros((len(time.values), 0)),
        "names": np.array([column.name for column in rest], dtype=object),
        "units": np.array([column.unit for column in rest], dtype=object),
    }
    with path.open("wb") as file:
        savemat(file, data, do_compression=True)


def _netcdf(path: Path, columns: Sequence[Column], title: str) -> None:
    """netCDF-3 with 64-bit offsets: a variable for each column, with its unit."""
    from scipy.io import netcdf_file

    with path.open("wb") as stream, netcdf_file(stream, "w", version=2) as file:
        file.title = title.encode()
        file.createDimension("time", len(columns[0].values))
        for column in columns:
            variable = file.createVariable(column.name.replace("/", "_"), "f8", ("time",))
            variable[:] = column.values
            variable.units = (column.unit or "1").encode()
