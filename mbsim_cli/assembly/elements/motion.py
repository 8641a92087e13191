"""The motion that an inverse analysis follows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbsim_cli.assembly.elements.laws import LawTable
from mbsim_cli.assembly.elements.roughness import accelerations_left, contradiction, scatter
from mbsim_cli.assembly.parameters.tables import Tables
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import EULER_PARAMETERS
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Prescribed
from mbsim_cli.spec.reading.suggestions import suggest

PATH = "analysis.motion"
TABLE = f"{PATH}.table"
LEFT = 1e-2  # of accelerations: an estimated error that is warned of
CONTRADICTS = 2e-2  # relative difference of changes from what rates say
SMALL = 1e-3  # of the largest acceleration of a table: what is accelerated less is measured by that
_SUFFIXES = ("", ".velocity", ".acceleration")


class MotionTable:
    """Finds for every column of the tree its law, or its column in a table."""

    def __init__(self, system: System, laws: LawTable):
        self._system, self._laws = system, laws
        self._spec = system.model_file.analysis.motion
        self._tables: Tables = system.tables
        self._columns: Mapping[str, np.ndarray] = {}
        if self._spec.table is not None:
            self._columns = self._tables.columns(self._spec.table, TABLE)

    def prescribed(self, duration: float, torque_rows: tuple[tuple[int, float], ...]) -> Prescribed:
        """The motion; records an issue for every coordinate that nothing gives."""
        names = [f"{joint}.{column.coordinate}" for joint, column in self._system.coordinates]
        law = [self._law(name) for name in names]
        from_table = [i for i, name in enumerate(names) if self._in_table(name)]
        for i, (name, (_, column)) in enumerate(zip(names, self._system.coordinates, strict=True)):
            if i not in from_table and (law[i] == NONE or (name not in self._spec.laws and _is_euler(column))):
                self._missing(name, column)
        self._check_given({names[i] for i in from_table})
        for name in sorted(set(self._spec.laws) - set(names)):
            self._system.issue(f"{PATH}.laws.{name}", f"there is no coordinate {name!r}", suggest(name, names))
        time, table = self._read([names[i] for i in from_table], duration)
        tabled = [names[i] for i in from_table]
        if len(table) > 1:
            self._warn_of_contradictions(tabled, time, table)
        else:
            self._warn_of_rows(tabled, time, table[0], duration)
        return Prescribed(
            law=np.array(law, dtype=np.int64),
            sign=np.array([float(column.sign) for _, column in self._system.coordinates]),
            table_column=np.array(from_table, dtype=np.int64),
            table_time=time,
            table=table,
            table_scale=self._factors([names[i] for i in from_table]),
            extrapolate="none" if self._spec.table is None else self._spec.table.extrapolate,
            torque_rows=torque_rows,
        )

    def _law(self, name: str) -> int:
        if self._in_table(name):
            return NONE
        if name in self._spec.laws:
            return self._laws.number(self._spec.laws[name], f"{PATH}.laws.{name}")
        return self._laws.number(self._spec.all, f"{PATH}.all")

    def _in_table(self, name: str) -> bool:
        if self._spec.table is None or name in self._spec.laws:
            return False
        return name in self._spec.table.columns or name in self._columns

    def _missing(self, name: str, column: Any) -> None:
        if self._spec.table is not None and self._columns:
            hint = suggest(name, list(self._columns)) or "name its column under columns"
            self._system.issue(
                f"{PATH}.table", f"nothing gives the motion of {name!r}: the table has no such column", hint
            )
        elif _is_euler(column):
            hint = "laws or table give all four, of unit length together"
            self._system.issue(PATH, f"nothing gives the motion of the Euler parameter {name!r}", hint)
        elif self._spec.table is None:
            self._system.issue(
                PATH, f"nothing gives the motion of {name!r}", "give it a law under laws, or one for all"
            )

    def _read(self, names: list[str], duration: float) -> tuple[np.ndarray, np.ndarray]:
        spec = self._spec.table
        if spec is None:
            return np.zeros(0), np.zeros((1, 0, 0))
        suffixes = _SUFFIXES if spec.derivatives == "table" else _SUFFIXES[:1]
        time = self._tables.argument(spec, TABLE)
        if "time" in spec.scale:
            time = float(self._system.geometry.numbers(spec.scale["time"]).real) * time
        read = [
            [self._tables.column(spec, TABLE, name, suffix) for name in names] for suffix in (suffixes if names else ())
        ]
        if len(time) > 1:
            self._check_range(time, duration)
        whole = all(len(values) == len(time) for row in read for values in row)
        if not whole or not read:
            return time, np.zeros((1, len(time), 0))
        return time, np.array([np.column_stack(row) for row in read])

    def _warn_of_rows(self, names: list[str], time: np.ndarray, table: np.ndarray, duration: float) -> None:
        """Warn of columns whose accelerations rows do not tell; ``table`` has none of them where it is at fault."""
        columns = dict(zip(names, table.T, strict=False))
        found = {name: scatter(time, values) for name, values in columns.items()}
        if rough := [name for name, size in found.items() if size > 0.0]:
            scattered = f"scatter by about {found[rough[0]]:.2g}, or lie too far apart"
            self._warn_of(
                rough, f"{scattered}: accelerations are those of the scatter; smooth a measured motion before"
            )
        smooth = [name for name in columns if name not in rough]
        left, sizes = accelerations_left(time, table[:, [name not in rough for name in columns]], duration)
        sizes = np.maximum(sizes, SMALL * sizes.max(initial=0.0))
        errors = {name: error / size for name, error, size in zip(smooth, left, sizes, strict=True) if error > 0.0}
        if coarse := sorted((name for name in errors if errors[name] > LEFT), key=errors.__getitem__, reverse=True):
            estimated = f"leave accelerations an estimated error of {100 * errors[coarse[0]]:.2g} %"
            helps = "as they lie too far apart or scatter; rows before and behind the analysis help at its ends"
            self._warn_of(coarse, f"{estimated}, {helps}")

    def _warn_of_contradictions(self, names: list[str], time: np.ndarray, table: np.ndarray) -> None:
        """Warn of columns whose rates are not those of the columns that they belong to."""
        found = {name: contradiction(time, table[:, :, k]) for k, name in enumerate(names)}
        for k, (rates, of) in enumerate((("velocities", "positions"), ("accelerations", "velocities"))):
            if wrong := [name for name, off in found.items() if off[k] > CONTRADICTS]:
                why = "look at units, columns and signs; or rows lie too far apart"
                self._warn_of(wrong, f"hold {rates} that their {of} contradict by {found[wrong[0]][k]:.0%}: {why}")

    def _warn_of(self, names: list[str], what: str) -> None:
        """A warning that begins with the first of some columns."""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        self._system.warnings.append(f"rows of {names[0]}{more} in {self._spec.table.file} {what}")

    def _factors(self, names: list[str]) -> np.ndarray:
        """Indices in theta of the factors on coordinates of the table."""
        numbers = self._system.geometry.numbers
        given = [self._spec.table.scale.get(name) for name in names]
        first = self._system.theta.add(lambda: [1.0 if factor is None else numbers(factor) for factor in given])
        return first + np.arange(len(names))

    def _check_given(self, from_table: set[str]) -> None:
        """Record what is said of coordinates that the table does not give."""
        table = self._spec.table
        for key in ("columns", "scale") if table is not None else ():
            for name in set(getattr(table, key)) - {*from_table, *table.arguments}:
                by_law = "a law gives its motion" if name in self._spec.laws else "the table has no such column"
                self._system.issue(f"{TABLE}.{key}.{name}", f"{name!r} is not read from the table: {by_law}")

    def _check_range(self, time: np.ndarray, duration: float) -> None:
        slack = 1e-9 * max(duration, 1.0) if self._spec.table.extrapolate == "none" else np.inf
        if time[0] > slack or time[-1] < duration - slack:
            message = f"the table covers {time[0]:g} s to {time[-1]:g} s, the analysis 0 s to {duration:g} s"
            hint = "times count from the start of the analysis; extrapolate: hold or linear goes on"
            self._system.issue(f"{PATH}.table", message, hint)


def _is_euler(column: Any) -> bool:
    return column.kind in EULER_PARAMETERS
