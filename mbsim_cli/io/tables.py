"""Tables: numbers read from CSV and HDF5; histories written as CSV, Parquet, MATLAB and netCDF."""

import csv
import warnings
from collections import Counter, UserDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import h5py
import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io import guard
from mbsim_cli.io.target import FileKind, replaced
from mbsim_cli.system import open_regular

HDF5_SUFFIXES = (".h5", ".hdf5", ".hdf")
MOST_NAMED = 20
_DELIMITERS = (";", "\t", "|")  # never part of a name in a file separated by commas
_RATES = {"position": "", "velocity": ".velocity", "acceleration": ".acceleration"}


class Columns(UserDict[str, Any]):
    """Columns (K,) by name; one that cannot be read is a message, raised as InputOutputError when it is looked up."""

    def __getitem__(self, name: str) -> np.ndarray:
        found = self.data[name]
        if isinstance(found, str):
            raise InputOutputError(found)
        return found


def read_table(path: Path, delimiter: str = ",", empty: bool = False) -> Mapping[str, np.ndarray]:
    """Return the columns (K,) of a CSV or HDF5 file by name; raise InputOutputError where it cannot be read.

    ``delimiter`` is that of CSV files; a blank stands for any number of blanks and tabs. With ``empty`` an empty cell
    is NaN, otherwise wrong.
    """
    try:
        open_regular(path).close()
        if path.suffix.lower() in HDF5_SUFFIXES:
            return guard.read_checked(path, _hdf5_columns)
        return _read_csv(path, delimiter, empty)
    except UnicodeDecodeError as error:
        raise InputOutputError(f"cannot read {path}: it is no text in UTF-8; save it as such") from error
    except (*guard.DAMAGED, csv.Error) as error:
        reason = getattr(error, "strerror", None) or guard.message_of(error)
        raise InputOutputError(f"cannot read {path}: {reason}") from error


def read_numbers(path: Path, dataset: str) -> np.ndarray:
    """Return a numeric dataset of an HDF5 file, of any shape; raise InputOutputError where it cannot be read."""

    def read(file: h5py.File) -> np.ndarray:
        item = file.get(dataset)
        if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "iuf":
            known: list[str] = []
            file.visititems(lambda name, one: known.append(name) if isinstance(one, h5py.Dataset) else None)
            has = f"it has {', '.join(known[:MOST_NAMED])}" if known else "it has none"
            raise guard.FormatError(f"there is no dataset of numbers {dataset!r}; {has}")
        return np.asarray(item[()], dtype=float)

    try:
        open_regular(path).close()
        return guard.read_checked(path, read)
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except guard.DAMAGED as error:
        raise InputOutputError(f"cannot read {path}: {guard.message_of(error)}") from error


def _read_csv(path: Path, delimiter: str, empty: bool) -> Mapping[str, np.ndarray]:
    """Numbers below one line of names; lines that begin with # before it are skipped."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        comments = sum(1 for _ in takewhile(lambda line: line.startswith("#"), stream))
    with path.open(newline="", encoding="utf-8-sig") as stream:
        for _ in range(comments):
            next(stream)
        names = next(stream, "").split() if delimiter == " " else _cells(stream, delimiter)
        if not names:
            raise ValueError("it is empty; its first line names the columns")
        for name in filter(None, names):
            if names.count(name) > 1:
                raise ValueError(f"two of its columns have the name {name!r}")
        for other in _DELIMITERS if len(names) == 1 else ():
            if other in names[0]:
                stated = f"a model file states delimiter: {dumps(other)} beside it"
                raise ValueError(f"its first line is one name with {other!r} in it; {stated}")
        try:
            numbers = _numbers(stream, delimiter, len(names))
        except ValueError:
            return _read_sound_columns(path, names, delimiter, comments + 1, empty)
    return dict(zip(names, numbers, strict=True))


def _read_sound_columns(path: Path, names: list[str], delimiter: str, above: int, empty: bool) -> Columns:
    """The columns of a file, some of which hold texts or ``empty`` cells; ``above`` lines precede them."""
    faults = _faults_of_columns(path, names, delimiter, above, empty)
    good = [place for place, name in enumerate(names) if name not in faults]
    with path.open(newline="", encoding="utf-8-sig") as stream:
        for _ in range(above):
            next(stream)
        numbers = iter(_numbers(stream, delimiter, len(good), good, empty) if good else ())
    return Columns({name: f"cannot read {path}: {faults[name]}" if name in faults else next(numbers) for name in names})


def _numbers(
    stream: TextIO, delimiter: str, count: int, columns: list[int] | None = None, empty: bool = False
) -> np.ndarray:
    """The columns (count, K) of a file, or those listed; ValueError for cells that are no numbers, or another count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numpy warns of files without rows, which callers report
        between, quote = (None, None) if delimiter == " " else (delimiter, '"')
        read = (lambda cell: float(cell.strip() or "nan")) if empty else None
        rows = np.loadtxt(
            stream, ndmin=2, comments=None, delimiter=between, quotechar=quote, usecols=columns, converters=read
        )
    if rows.size and rows.shape[1] != count:
        raise ValueError
    return rows.T.reshape(count, -1)


def _cells(lines: Iterable[str], delimiter: str) -> list[str]:
    """The cells of the next line."""
    return [cell.strip() for cell in next(csv.reader(lines, delimiter=delimiter, skipinitialspace=True), [])]


def _faults_of_columns(path: Path, names: list[str], delimiter: str, above: int, empty: bool) -> dict[str, str]:
    """By column, a message on its cells that are no numbers; ValueError for lines with another number of cells."""
    faults: dict[str, str] = {}
    wrong = Counter[str]()
    with path.open(newline="", encoding="utf-8-sig") as stream:
        for count, line in enumerate(stream, start=1):
            if count <= above or not line.strip():
                continue
            cells = line.split() if delimiter == " " else _cells([line], delimiter)
            if len(cells) != len(names):
                hint = "; decimals stand behind a point" if delimiter == "," and len(cells) == 2 * len(names) else ""
                raise ValueError(f"{len(names)} names stand over {len(cells)} columns in line {count}{hint}")
            for name, cell in zip(names, cells, strict=True):
                if _is_number(cell) or (empty and not cell):
                    continue
                wrong[name] += 1
                if name not in faults:
                    hint = "; decimals stand behind a point" if _is_number(cell.replace(",", ".")) else ""
                    what = f"holds {cell!r}, which is not a number" if cell else "is empty"
                    faults[name] = f"column {name!r} {what}, in line {count}{hint}"
    several = {name: f"{faults[name]}; {count} of its cells are wrong" for name, count in wrong.items() if count > 1}
    return faults | several


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text  # float also accepts underscores and digits of other scripts


def _hdf5_columns(file: h5py.File) -> dict[str, np.ndarray]:
    """One-dimensional datasets of the root group; of a result of mbsim also the coordinates and their rates."""
    columns: dict[str, np.ndarray] = {}
    for name in file:
        item = file[name] if isinstance(file.get(name, getlink=True), h5py.HardLink) else None
        if isinstance(item, h5py.Dataset) and item.ndim == 1 and item.dtype.kind in "fiu":
            guard.require_plain(item)
            columns[name] = np.asarray(item[()], dtype=float)
    if guard.attribute(file, "format") == guard.FORMAT:
        guard.require_result(file)
        names = [name.decode() for name in file["coordinates/name"][()]]
        for kind, suffix in _RATES.items():
            # names of coordinates that are stored negated begin with a minus sign
            for name, values in zip(names, file[f"coordinates/{kind}"][()].T, strict=True):
                sign = -1.0 if name.startswith("-") else 1.0
                columns[name.removeprefix("-") + suffix] = sign * values
    return columns


class Column(NamedTuple):
    """Numbers or texts (N,), one per row."""

    name: str
    unit: str
    values: np.ndarray


TABLE = FileKind("a table", "table.csv", lambda _: False)  # a table has no mark of its program


def write_table(target: Path, kind: str, columns: Sequence[Column], *, title: str, force: bool) -> None:
    """Write columns, time first; raises InputOutputError, and UsageError where a library is missing."""
    write = {"csv": _write_csv, "parquet": _write_parquet, "mat": _write_mat, "netcdf": _write_netcdf}[kind]
    with replaced(target, TABLE, force=force) as path:
        try:
            write(path, columns, title)
        except (ValueError, TypeError) as error:
            raise InputOutputError(f"cannot write {target}: {error}") from error


def _write_csv(path: Path, columns: Sequence[Column], title: str) -> None:
    """A line of names, then numbers with full precision."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in columns])
        writer.writerows(zip(*(column.values.tolist() for column in columns), strict=True))


def _write_parquet(path: Path, columns: Sequence[Column], title: str) -> None:
    """Units stand in the metadata of the fields."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow; in a clone of mbsim: pip install '.[tables]'") from None
    arrays = [pyarrow.array(c.values) for c in columns]
    fields = [pyarrow.field(c.name, a.type, metadata={"unit": c.unit}) for c, a in zip(columns, arrays, strict=True)]
    schema = pyarrow.schema(fields, metadata={"title": title})
    pyarrow.parquet.write_table(pyarrow.table(arrays, schema=schema), path)


def _write_mat(path: Path, columns: Sequence[Column], title: str) -> None:
    """``time`` (N, 1), ``values`` (N, k) with cell arrays ``names`` and ``units``: MATLAB forbids dots in names."""
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


def _write_netcdf(path: Path, columns: Sequence[Column], title: str) -> None:
    """netCDF-3 with 64-bit offsets: a variable for each column, with its unit."""
    from scipy.io import netcdf_file

    with path.open("wb") as stream, netcdf_file(stream, "w", version=2) as file:
        file.title = title.encode()
        file.createDimension("time", len(columns[0].values))
        for column in columns:
            name = column.name.replace("/", "_").encode().decode("latin-1")  # scipy encodes it so: UTF-8 in the file
            variable = file.createVariable(name, "f8", ("time",))
            variable[:] = column.values
            variable.units = (column.unit or "1").encode()
