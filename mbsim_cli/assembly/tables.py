"""Tables that a model file refers to: their columns, and what is wrong with them, with its place in the file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.spec.suggestions import suggest

Reader = Callable[[Path], Mapping[str, np.ndarray]]


class Tables:
    """Reads each file once; ``issue`` takes path, message and hint."""

    def __init__(self, model_file: Any, read: Reader | None, issue: Callable[..., None]):
        self._model_file, self._read, self._issue = model_file, read, issue
        self._known: dict[Path, Mapping[str, np.ndarray]] = {}

    def columns(self, file: str, path: str) -> Mapping[str, np.ndarray]:
        """All columns of a file that is named at a path of the model; none where it cannot be read."""
        place = Path(self._model_file.source.locate(path)[0]).parent / file
        if place not in self._known:
            self._model_file.source.tables[place] = None
            try:
                self._known[place] = {} if self._read is None else self._read(place)
            except InputOutputError as error:
                self._issue(path, str(error))
                self._known[place] = {}
        return self._known[place]

    def column(self, columns: Mapping[str, np.ndarray], name: str, path: str) -> np.ndarray:
        """Values of a column; one zero where there is none, or it holds what is no number."""
        values = columns.get(name)
        if values is None:
            if columns:
                hint = suggest(name, list(columns)) or f"columns: {', '.join(list(columns)[:6])}"
                self._issue(path, f"the table has no column {name!r}", hint)
            return np.zeros(1)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            self._issue(path, f"column {name!r} of the table holds {values[wrong[0]]} in row {wrong[0] + 1}")
            return np.zeros(1)
        return values

    def times(self, columns: Mapping[str, np.ndarray], name: str, path: str) -> np.ndarray:
        """Values of the column of times, which must increase; one zero where they do not."""
        times = self.column(columns, name, path)
        if name not in columns:
            return times
        wrong = np.flatnonzero(np.diff(times) <= 0.0)
        if len(wrong):
            row = int(wrong[0])
            message = f"the times of the table must increase, but {times[row + 1]:g} s follows {times[row]:g} s"
            self._issue(path, message, f"rows {row + 1} and {row + 2}")
            return np.zeros(1)
        if len(times) < 2:
            self._issue(path, f"the table has {len(times)} row{'s' * (len(times) != 1)}, and needs two at least")
        return times
