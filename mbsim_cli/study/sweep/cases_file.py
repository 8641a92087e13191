"""Cases that stand in a file, a row for each."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.tables import read_table
from mbsim_cli.spec.reading.suggestions import suggest


def columns_of(stated: Any, folder: Path, parameters: Collection[str]) -> dict[str, np.ndarray]:
    """Columns (N,) by parameter of a file (``spec.studies.CasesFile``) that is named relative to a folder."""
    path = folder / stated.file
    found = read_table(path, *([] if stated.delimiter is None else [stated.delimiter]))
    wanted = stated.columns or {name: name for name in found}
    _require_parameters(path, wanted, parameters)
    columns = {name: _column(path, found, column) for name, column in wanted.items()}
    if len({len(values) for values in columns.values()}) > 1:
        raise InputOutputError(f"{path}: its columns differ in length; a case is a row of all of them")
    if not len(next(iter(columns.values()), ())):
        raise InputOutputError(f"{path} holds no cases; a line of names and a row for each case are wanted")
    for name in stated.scale:
        if name not in columns:
            raise InputOutputError(f"{path}: no column is read for {name!r}, which a scale is stated for")
    return columns


def _require_parameters(path: Path, wanted: Mapping[str, str], parameters: Collection[str]) -> None:
    for name in wanted:
        if name not in parameters:
            hint = suggest(name, sorted(parameters)) or "columns of the study names those that are read"
            raise InputOutputError(f"{path}: column {name!r} is no parameter of the model; {hint}")


def _column(path: Path, found: Mapping[str, np.ndarray], column: str) -> np.ndarray:
    if column not in found:
        hint = suggest(column, list(found)) or f"columns: {', '.join(list(found)[:6])}"
        raise InputOutputError(f"{path} has no column {column!r}; {hint}")
    values = found[column]
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise InputOutputError(f"{path}: column {column!r} holds {values[wrong[0]]} in row {wrong[0] + 1}")
    return values
