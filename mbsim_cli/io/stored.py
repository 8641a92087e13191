"""The histories of a result file, read when they are asked for."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbsim_cli.io.reader import column_units, opened, texts
from mbsim_cli.io.target import check_target, is_result, replaced


class Stored(NamedTuple):
    """A dataset with the names of its axes, its unit, or units where they differ, and those of its columns."""

    values: np.ndarray  # (N, k), derivatives (N, k, p)
    axes: tuple[str, ...]
    unit: str
    units: Sequence[str] = ()  # (k,), or one of all; of derivatives none


class FileRecord:
    """What a result file holds along time; the file is open only while something is read."""

    def __init__(self, path: Path):
        self._path = path
        self._axes: dict[str, tuple[str, ...]] = {}
        self.paths = ["time"]  # the axis itself has no label
        with opened(path) as file:

            def visit(name: str, item: object) -> None:
                dims = [dimension.label for dimension in getattr(item, "dims", ())]
                if dims and dims[0] == "time":
                    self.paths.append(name)
                    self._axes.update({axis: () for axis in dims[1:]})

            file.visititems(visit)
            for axis in self._axes:
                self._axes[axis] = tuple(texts(file[axis]))

    @property
    def axes(self) -> Mapping[str, Sequence[str]]:
        """Labels along every axis but time."""
        return self._axes

    def variable(self, path: str) -> Stored:
        """A variable by its path; raises KeyError."""
        if path not in self.paths:
            raise KeyError(path)
        with opened(self._path, known=True) as file:
            dataset = file[path]
            labels = tuple(dimension.label or path for dimension in dataset.dims)
            units = column_units(file, path) if dataset.ndim <= 2 else ()
            return Stored(np.asarray(dataset[()]), labels, dataset.attrs.get("unit", ""), units)

    @property
    def by_fields(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Derivatives (ne,) by the elements of fields, by objective and field."""
        with opened(self._path, known=True) as file:
            return {
                name: {field: np.asarray(values[()]) for field, values in group.get("gradient_fields", {}).items()}
                for name, group in file.get("objectives", {}).items()
            }

    def save(self, path: Path, *, force: bool) -> None:
        """Write a copy; raises InputOutputError."""
        with replaced(check_target(path, force=force), is_own=is_result, force=force) as written:
            shutil.copyfile(self._path, written)
