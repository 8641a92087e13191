"""Tables as splines."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.errors import InputOutputError, counted
from mbsim_cli.spec.geometry import Scalar
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import suggest

# Natural cubic splines through tables, and their continuation beyond the tables' ends.
#
# A table has no values beyond its ends: without ``extrapolate`` the law is NaN there, which ends an analysis that
# evaluates it; ``hold`` keeps the value of the last row, ``linear`` continues with its slope.

ROUND_OFF = 1e-9  # of the table's length: distance beyond the ends that is allowed
UNKNOWN = (float("nan"),) * 4


def continued(x: Sequence[Scalar], y: Sequence[Scalar], extrapolate: str) -> list[Scalar]:
    """Breakpoints, then the cubics of the natural spline through (x, y) and of what continues it on both sides."""
    return extended(x, spline(x, y), extrapolate)


def extended(
    x: Sequence[Scalar], cubics: Sequence[Scalar], extrapolate: str, last: Scalar | None = None
) -> list[Scalar]:
    """Breakpoints, cubics between x and those that continue them on both sides; ``last`` is the value at the end."""
    slope_first, first = cubics[2], cubics[3]
    a, b, slope, value = cubics[-4:]
    h = x[-1] - x[-2]
    slope_last = (3.0 * a * h + 2.0 * b) * h + slope
    last = ((a * h + b) * h + slope) * h + value if last is None else last
    if extrapolate == "hold":
        return [x[0] - 1.0, *x, x[-1] + 1.0, 0.0, 0.0, 0.0, first, *cubics, 0.0, 0.0, 0.0, last]
    if extrapolate == "linear":
        before = [0.0, 0.0, slope_first, first - slope_first]
        return [x[0] - 1.0, *x, x[-1] + 1.0, *before, *cubics, 0.0, 0.0, slope_last, last]
    beyond = ROUND_OFF * (x[-1] - x[0])
    knots = [x[0] - 1.0 - beyond, x[0] - beyond, *x[:-1], x[-1] + beyond, x[-1] + 1.0 + beyond]
    return [*knots, *UNKNOWN, 0.0, 0.0, slope_first, first - beyond * slope_first, *cubics, *UNKNOWN]


def breakpoints(rows: int, extrapolate: str) -> int:
    """Number of breakpoints of a table that ``continued`` continues."""
    return rows + (3 if extrapolate == "none" else 2)


def spline(x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """Cubics of the natural spline through (x, y), highest power first; analytic in both."""
    intervals = range(len(x) - 1)
    h = [x[i + 1] - x[i] for i in intervals]
    slope = [(y[i + 1] - y[i]) / h[i] for i in intervals]
    upper, right = [0.0], [0.0]
    for i in intervals[1:]:
        pivot = 2.0 * (h[i - 1] + h[i]) - h[i - 1] * upper[-1]
        upper.append(h[i] / pivot)
        right.append((6.0 * (slope[i] - slope[i - 1]) - h[i - 1] * right[-1]) / pivot)
    curvature = [0.0] * len(x)  # zero at both ends; by the Thomas algorithm
    for i in reversed(intervals[1:]):
        curvature[i] = right[i] - upper[i] * curvature[i + 1]
    pieces = list[Scalar]()
    for i in intervals:
        a, b = curvature[i], curvature[i + 1]
        pieces += [(b - a) / (6.0 * h[i]), 0.5 * a, slope[i] - h[i] * (2.0 * a + b) / 6.0, y[i]]
    return pieces


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
Reader = Callable[..., Mapping[str, np.ndarray]]  # of a path and, where one is stated, a delimiter


class Tables:
    """Reads each table file once; ``issue`` takes path, message and hint. Tables stand at paths of the model."""

    def __init__(self, model_file: ModelFile, read: Reader | None, issue: Callable[..., None]):
        self._model_file, self._read, self._issue = model_file, read, issue
        self._known: dict[tuple[Path, str | None], Mapping[str, np.ndarray]] = {}

    def columns(self, table: Any, path: str) -> Mapping[str, np.ndarray]:
        """All columns of a table's file; none where it cannot be read."""
        place = f"{path}.file"
        key = (self._model_file.source.file_at(place, table.file), table.delimiter)
        if key not in self._known:
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
            self._issue(place, f"the table has {counted(len(values), 'row')}, and needs two at least")
        return values

    def column(self, table: Any, path: str, quantity: str, suffix: str = "") -> np.ndarray:
        """Values of a quantity as stored; a single zero if they are missing or not finite."""
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
