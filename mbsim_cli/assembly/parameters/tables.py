"""Tables that a model file refers to: their columns, and what is wrong with them, with its place in the file."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.errors import InputOutputError
from mbsim_cli.spec.reading.suggestions import suggest

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
Reader = Callable[..., Mapping[str, np.ndarray]]  # of a path and, where one is stated, a delimiter


class Tables:
    """Reads each file once; ``issue`` takes path, message and hint. Tables stand at paths of the model."""

    def __init__(self, model_file: Any, read: Reader | None, issue: Callable[..., None]):
        self._model_file, self._read, self._issue = model_file, read, issue
        self._known: dict[tuple[Path, str | None], Mapping[str, np.ndarray]] = {}

    def columns(self, table: Any, path: str) -> Mapping[str, np.ndarray]:
        """All columns of a table's file; none where it cannot be read."""
        place = f"{path}.file"
        key = (Path(self._model_file.source.locate(place)[0]).parent / table.file, table.delimiter)
        if key not in self._known:
            self._model_file.source.tables[key[0]] = None
            try:
                self._known[key] = {} if self._read is None else self._read(*(part for part in key if part is not None))
            except InputOutputError as error:
                self._issue(place, str(error))
                self._known[key] = {}
        return self._known[key]

    def argument(self, table: Any, path: str) -> np.ndarray:
        """Values of the argument, which must increase; one zero where they do not."""
        values = self.column(table, path, table.argument)
        name, known = table.column(table.argument), self.columns(table, path)
        if name not in known:
            return values
        place = f"{path}.columns.{table.argument}"
        wrong = np.flatnonzero(np.diff(values) <= 0.0)
        if len(wrong):
            row = int(wrong[0])
            message = f"column {name!r} of the table must increase, but {values[row + 1]:g} follows {values[row]:g}"
            self._issue(place, message, f"rows {row + 1} and {row + 2}")
            return np.zeros(1)
        if len(values) < 2:
            self._issue(place, f"the table has {len(values)} row{'s' * (len(values) != 1)}, and needs two at least")
        return values

    def column(self, table: Any, path: str, quantity: str, suffix: str = "") -> np.ndarray:
        """Values of a quantity as they stand; one zero where there are none, or what is no number among them."""
        known, name = self.columns(table, path), table.column(quantity) + suffix
        place = f"{path}.columns.{quantity}"
        try:
            values = known.get(name)
        except InputOutputError as error:
            self._issue(place, str(error))
            return np.zeros(1)
        if values is None:
            if known:
                hint = suggest(name, list(known)) or f"columns: {', '.join(list(known)[:6])}"
                if all(_NUMBER.fullmatch(column) for column in known):
                    hint = "its first line holds numbers; a line of names stands above them"
                self._issue(place, f"the table has no column {name!r}", hint)
            return np.zeros(1)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            self._issue(place, f"column {name!r} of the table holds {values[wrong[0]]} in row {wrong[0] + 1}")
            return np.zeros(1)
        return values

    def curve(self, table: Any, path: str, numbers: Numbers) -> tuple[int, Callable[[], tuple[list, list]]]:
        """Number of rows, and what gives argument and values of a table of one quantity, in SI units."""
        (quantity,) = table.values
        x, y = self.argument(table, path).tolist(), self.column(table, path, quantity).tolist()
        if not len(x) == len(y) > 1:
            return 2, lambda: ([0.0, 1.0], [0.0, 0.0])
        by_x, by_y = (table.scale.get(key) for key in (table.argument, quantity))
        return len(x), lambda: (_scaled(numbers, by_x, x), _scaled(numbers, by_y, y))


def _scaled(numbers: Numbers, factor: Any, values: list[float]) -> list[Scalar]:
    return values if factor is None else [numbers(factor) * value for value in values]
