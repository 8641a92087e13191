"""The prescribed motion of inverse dynamics, and how accurately table rows determine accelerations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from mbsim_cli.assembly.elements.laws import LawTable
from mbsim_cli.assembly.elements.measures import ConstraintTable
from mbsim_cli.assembly.parameters.tables import Tables
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.errors import some_of
from mbsim_cli.model.codes import EULER_PARAMETERS
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Drives, Prescribed
from mbsim_cli.spec.analysis import InverseDynamics
from mbsim_cli.spec.analysis import MotionTable as TableOfMotion
from mbsim_cli.spec.geometry import Scalar
from mbsim_cli.spec.reading.messages import suggest

EVEN = 1e-2  # by how much steps of time may differ, relative
AT_ONCE = 100_000  # numbers of columns whose splines are computed together
FEW = 8  # rows below which nothing is checked
ROUND_OFF = 1e-12  # of values: smaller differences count as zero
WHOLE = 1e-9  # by how much a row may lie behind the end, relative


def scatter(time: np.ndarray, values: np.ndarray) -> float:
    """Standard deviation of the scatter of values (N,), or 0 if it does not dominate their second differences.

    Independent scatter s in every row has fourth differences of sqrt(70) s and second differences of sqrt(6) s in the
    mean square; a smooth motion has hardly any fourth differences. Scatter dominates if the fourth differences exceed
    the second ones, as they also do in motions with less than 6 rows in a period.
    """
    steps = np.diff(time)
    if not _judged(steps):
        return 0.0
    second, fourth = (float(np.sqrt(np.mean(np.diff(values, k) ** 2))) for k in (2, 4))
    return fourth / np.sqrt(70.0) if fourth > max(second, ROUND_OFF * np.abs(values).max()) else 0.0


def acceleration_errors(time: np.ndarray, columns: np.ndarray, duration: float) -> np.ndarray:
    """Largest errors and sizes (2, k) of second derivatives of columns (N, k) until the duration.

    The error of cubic splines is proportional to the square of the distance of rows, and about ten times larger at the
    ends: splines through every other row have four times the error.
    """
    found = np.zeros((2, columns.shape[1]))
    if len(columns) < FEW or not columns.shape[1]:
        return found
    from scipy.interpolate import CubicSpline  # slow to import, and laws need none

    met, many = (time >= 0.0) & (time <= duration * (1.0 + WHOLE)), max(1, AT_ONCE // len(columns))
    for begin in range(0, columns.shape[1], many):
        some, (errors, sizes) = columns[:, begin : begin + many], found[:, begin : begin + many]  # views, filled below
        second = CubicSpline(time, some)(time, 2)
        for first in {0, (len(time) - 1) % 2}:  # so that both ends are met
            coarse = CubicSpline(time[first::2], some[first::2])(time[first::2], 2)
            error = np.abs(coarse - second[first::2])[met[first::2]].max(axis=0, initial=0.0) / 3.0
            np.maximum(errors, error, out=errors)
        at_rest = ROUND_OFF * np.abs(some).max(axis=0) / np.diff(time).min() ** 2
        sizes[:] = np.maximum(at_rest, np.abs(second[met]).max(axis=0, initial=0.0))
    return found


def contradiction(time: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """Relative differences of position and velocity changes from those by velocities and accelerations, of rows (3, N).

    By Hermite's rule (h^5 q5 / 720) and, over two rows, Simpson's (h^5 q6 / 90), in the mean square.
    """
    steps = np.diff(time)
    if not _judged(steps):
        return 0.0, 0.0
    h, (q, v, a) = steps.mean(), rows
    ways = h * (v[:-1] + v[1:]) / 2.0 + h**2 * (a[:-1] - a[1:]) / 12.0
    gains = h * (a[:-2] + 4.0 * a[1:-1] + a[2:]) / 3.0
    return _unlike(np.diff(q), ways, np.abs(q).max()), _unlike(v[2:] - v[:-2], gains, np.abs(v).max())


def _judged(steps: np.ndarray) -> bool:
    """Whether there are enough rows, with even steps (N - 1,), to estimate derivatives by differences."""
    return len(steps) + 1 >= FEW and not np.ptp(steps) > EVEN * steps.mean()


def _unlike(changes: np.ndarray, expected: np.ndarray, size: float) -> float:
    """Relative difference of changes from those expected, in the mean square, without round-off of a ``size``."""
    off, whole = (float(np.sqrt(np.mean(each**2))) for each in (changes - expected, changes))
    return off / max(whole, ROUND_OFF**0.5 * size, np.finfo(float).tiny)


PATH = "analysis.motion"
TABLE = f"{PATH}.table"
FEWER = "loops and constraints leave fewer freedoms than coordinates"
LEFT = 1e-2  # of accelerations: estimated error above which there is a warning
CONTRADICTS = 2e-2  # relative difference of changes from those by rates
SMALL = 1e-3  # of the largest acceleration of a table: least size that errors are compared with
_SUFFIXES = ("", ".velocity", ".acceleration")


class MotionTable:
    """Assigns to every column of the tree its law, or its column in a table."""

    def __init__(self, system: System, laws: LawTable):
        self._system, self._laws, self._loops = system, laws, False
        self._analysis = cast(InverseDynamics, system.model_file.analysis)
        self._spec = self._analysis.motion
        self._tables: Tables = system.tables
        self._columns: Mapping[str, np.ndarray] = {}
        self._rows: dict[str, int] = {}  # of a mechanism with loops: constraints that give the motion
        if self._spec.table is not None:
            self._columns = self._tables.columns(self._spec.table, TABLE)

    def add_constraints(self, constraints: ConstraintTable, duration: float) -> None:
        """Prescribe the motion of a mechanism with loops by constraints, which exert no force in the analysis."""
        self._loops, known = True, self._system.coordinates_of_joints
        if self._spec.all is not None:
            self._system.issue(f"{PATH}.all", FEWER, "give laws to as many coordinates as there are freedoms")
        if self._spec.table is not None and not self._listed:
            hint = "name as many coordinates under columns as there are freedoms"
            self._system.issue(TABLE, FEWER, hint)
        for name in sorted({*self._spec.laws, *self._listed}):
            path = f"{PATH}.laws.{name}" if name in self._spec.laws else f"{TABLE}.columns.{name}"
            if name not in known:
                self._system.issue(path, f"there is no coordinate {name!r}", suggest(name, known))
                continue
            with self._system.at(path):
                measure = constraints.measures.coordinate(name, PATH)
                law, start = self._law(name), self._start(name, duration)
                self._rows[name] = constraints.add(f"motion {name}", measure, start, law)
            self._system.stands_at[f"constraints.motion {name.partition('.')[0]}"] = path

    @property
    def _listed(self) -> list[str]:
        """Coordinates that the table gives a mechanism with loops: those that its columns name."""
        table = self._spec.table
        return [] if table is None else [name for name in table.columns if name not in table.arguments]

    def _start(self, name: str, duration: float) -> Callable[[], tuple[Scalar]]:
        """Initial value of a coordinate in the table; zero if a law prescribes it."""
        if name in self._spec.laws:
            return lambda: (0.0,)
        from mbsim_cli.solve.inverse.analysis import hermite, with_slopes  # what other analyses need not load

        time, table = self._read([name], duration)
        value = hermite(time, with_slopes(time, table), np.zeros(1))[0][0, 0] if table.size else 0.0
        factor, numbers = self._table.scale.get(name), self._system.geometry.numbers
        return lambda: (value * (1.0 if factor is None else numbers(factor)),)

    @property
    def _table(self) -> TableOfMotion:
        """The table of the file, which must have one."""
        assert self._spec.table is not None
        return self._spec.table

    def drives(self, constraints: ConstraintTable) -> Drives:
        """Equations that prescribe the motion of a mechanism with loops, and its drives; records issues."""
        system, analysis = self._system, self._analysis
        rows = {name: constraints.names.index(f"motion {name}") for name in self._rows}
        for index, name in enumerate(self._spec.constraints):
            if (row := self._declared(constraints, name, f"{PATH}.constraints[{index}]")) is not None:
                rows[name] = row
        coordinates = {name: system.coordinate(name) for name in self._rows}
        for name in self._listed:
            if name in coordinates and coordinates[name].column == NONE:
                hint = f"{coordinates[name].uncut}; or give it a law"
                system.issue(f"{TABLE}.columns.{name}", f"{name!r} belongs to a joint that is cut", hint)
        driven = analysis.drives or [name for name, found in coordinates.items() if found.column != NONE]
        found = [self._drive(name, f"analysis.drives[{index}]") for index, name in enumerate(driven)]
        if not system.issues:
            self._check_count(driven, len(rows))
        for name in set(analysis.weights) - set(driven):
            system.issue(f"analysis.weights.{name}", f"{name!r} is no drive", suggest(name, driven))
        weights = self._or_one([analysis.weights.get(name) for name in driven])
        columns = [system.number_of(coordinates[name]) if name in coordinates else NONE for name in rows]
        listed = set(self._listed) - set(self._spec.laws)
        return Drives(
            row=np.array(list(rows.values()), dtype=np.int64),
            column=np.array(columns, dtype=np.int64),
            sign=np.array([float(coordinates[name].sign) if name in coordinates else 1.0 for name in rows]),
            tabled=np.array([k for k, name in enumerate(rows) if name in listed], dtype=np.int64),
            drive=np.array(found, dtype=np.int64),
            weight=weights,
        )

    def _declared(self, constraints: ConstraintTable, name: str, path: str) -> int | None:
        """The equation of a constraint with a law."""
        spec = self._system.model_file.constraints.get(name)
        if spec is None:
            self._system.issue(path, f"unknown constraint {name!r}", suggest(name, self._system.model_file.constraints))
        elif getattr(spec, "law", None) is None:
            self._system.issue(path, f"{name!r} has no law, so it gives no motion", "add a law, or leave it out here")
        elif name in constraints.names:
            return constraints.names.index(name)
        return None

    def _drive(self, name: str, path: str) -> int:
        """Column of a driven coordinate."""
        system = self._system
        if name not in (known := system.coordinates_of_joints):
            system.issue(path, f"there is no coordinate {name!r}", suggest(name, known))
            return 0
        coordinate = system.coordinate(name)
        if coordinate.column == NONE:
            system.issue(path, f"{name!r} belongs to a joint that is cut, and cannot be driven", coordinate.uncut)
        return max(system.number_of(coordinate), 0)

    def _check_count(self, driven: Sequence[str], freedoms: int) -> None:
        """Record an issue unless there are as many drives as laws, or more and a rule that distributes forces."""
        analysis, issue = self._analysis, self._system.issue
        counted = f"drives: {len(driven)}, freedoms: {freedoms}"
        if len(set(driven)) < len(driven):
            issue("analysis.drives", "a coordinate stands twice")
        if len(driven) < freedoms:
            hint = "name as many coordinates as the motion gives, or leave freedoms to forward_dynamics"
            issue("analysis.drives" if analysis.drives else PATH, f"{counted}; too few to follow any motion", hint)
        elif len(driven) > freedoms and analysis.redundancy is None:
            issue("analysis.drives", f"{counted}: the motion leaves forces open", "add redundancy: least_norm")
        elif len(driven) == freedoms and analysis.redundancy is not None:
            issue("analysis.redundancy", f"{counted}: there is nothing to share out", "leave redundancy out")
        if analysis.weights and analysis.redundancy is None:
            issue("analysis.weights", "weights share out what more drives than freedoms leave open", "add redundancy")

    def prescribed(self, duration: float, torque_rows: tuple[tuple[int, float], ...]) -> Prescribed:
        """The motion; records an issue for every coordinate without law or column."""
        names = [f"{joint}.{column.coordinate}" for joint, column in self._system.coordinates]
        law = [self._law(name) for name in names]
        from_table = [i for i, name in enumerate(names) if self._in_table(name)]
        for i, (name, (_, column)) in enumerate(zip(names, self._system.coordinates, strict=True)):
            lacks = law[i] == NONE or (name not in self._spec.laws and column.kind in EULER_PARAMETERS)
            if lacks and not self._loops and i not in from_table:
                self._missing(name, column)
        if (given := self._spec.table) is not None:
            read = {*(names[i] for i in from_table), *self._rows, *given.arguments}
            for key in ("columns", "scale"):
                for name in set(getattr(given, key)) - read:
                    why = "a law gives its motion" if name in self._spec.laws else "the table has no such column"
                    self._system.issue(f"{TABLE}.{key}.{name}", f"{name!r} is not read from the table: {why}")
        for name in sorted(set(self._spec.laws) - {*names, *self._rows}):
            self._system.issue(f"{PATH}.laws.{name}", f"there is no coordinate {name!r}", suggest(name, names))
        tabled = [names[i] for i in from_table]
        time, table = self._read(tabled, duration)
        if len(table) > 1:
            self._warn_of_contradictions(tabled, time, table)
        else:
            self._warn_of_rows(tabled, time, table[0], duration)
        factors = self._or_one([self._table.scale.get(name) for name in tabled])
        return Prescribed(
            law=np.array(law, dtype=np.int64),
            sign=np.array([float(column.sign) for _, column in self._system.coordinates]),
            table_column=np.array(from_table, dtype=np.int64),
            table_time=time,
            table=table,
            table_scale=factors,
            extrapolate="none" if self._spec.table is None else self._spec.table.extrapolate,
            torque_rows=torque_rows,
        )

    def _law(self, name: str) -> int:
        if name in self._spec.laws:
            return self._laws.number(self._spec.laws[name], f"{PATH}.laws.{name}")
        if self._loops or self._in_table(name):
            return NONE
        return self._laws.number(self._spec.all, f"{PATH}.all")

    def _in_table(self, name: str) -> bool:
        if self._spec.table is None or name in self._spec.laws:
            return False
        if self._loops:
            return name in self._listed
        return name in self._spec.table.columns or name in self._columns

    def _missing(self, name: str, column: Any) -> None:
        if self._spec.table is not None and self._columns:
            message = f"nothing gives the motion of {name!r}: the table has no such column"
            hint = suggest(name, list(self._columns)) or "name its column under columns"
            self._system.issue(TABLE, message, hint)
        elif column.kind in EULER_PARAMETERS:
            hint = "laws or table give all four, of unit length together"
            self._system.issue(PATH, f"nothing gives the motion of the Euler parameter {name!r}", hint)
        elif self._spec.table is None:
            hint = "give it a law under laws, or one for all"
            self._system.issue(PATH, f"nothing gives the motion of {name!r}", hint)

    def _read(self, names: list[str], duration: float) -> tuple[np.ndarray, np.ndarray]:
        spec = self._spec.table
        if spec is None:
            return np.zeros(0), np.zeros((1, 0, 0))
        suffixes = (_SUFFIXES if spec.derivatives == "table" else _SUFFIXES[:1]) if names else ()
        time = self._tables.argument(spec, TABLE)
        if "time" in spec.scale:
            time = float(self._system.geometry.numbers(spec.scale["time"]).real) * time
        read = [[self._tables.column(spec, TABLE, name, suffix) for name in names] for suffix in suffixes]
        if len(time) > 1:
            slack = 1e-9 * duration if spec.extrapolate == "none" else np.inf
            if time[0] > slack or time[-1] < duration - slack:
                message = f"the table covers {time[0]:g} s to {time[-1]:g} s, the analysis 0 s to {duration:g} s"
                hint = "times count from the start of the analysis; extrapolate: hold or linear continues it"
                self._system.issue(TABLE, message, hint)
        whole = all(len(values) == len(time) for row in read for values in row)
        if not whole or not read:
            return time, np.zeros((1, len(time), 0))
        return time, np.array([np.column_stack(row) for row in read])

    def _warn_of_rows(self, names: list[str], time: np.ndarray, table: np.ndarray, duration: float) -> None:
        """Warn of columns whose rows do not determine accelerations; an invalid ``table`` has no columns."""
        columns = dict(zip(names, table.T, strict=False))
        found = {name: scatter(time, values) for name, values in columns.items()}
        if rough := [name for name, size in found.items() if size > 0.0]:
            scattered = f"scatter by about {found[rough[0]]:.2g}, or lie too far apart"
            what = f"{scattered}: accelerations are those of the scatter; smooth a measured motion before"
            self._warn_of(rough, what)
        smooth = [name for name in columns if name not in rough]
        off, sizes = acceleration_errors(time, table[:, [name not in rough for name in columns]], duration)
        sizes = np.maximum(sizes, SMALL * sizes.max(initial=0.0))
        errors = {name: error / size for name, error, size in zip(smooth, off, sizes, strict=True) if error > 0.0}
        if coarse := sorted((name for name in errors if errors[name] > LEFT), key=errors.__getitem__, reverse=True):
            estimated = f"leave accelerations an estimated error of {100 * errors[coarse[0]]:.2g} %"
            helps = "as they lie too far apart or scatter; rows before and behind the analysis help at its ends"
            self._warn_of(coarse, f"{estimated}, {helps}")

    def _warn_of_contradictions(self, names: list[str], time: np.ndarray, table: np.ndarray) -> None:
        """Warn of columns of rates that differ from the derivatives of their positions."""
        found = {name: contradiction(time, table[:, :, k]) for k, name in enumerate(names)}
        for k, (rates, of) in enumerate((("velocities", "positions"), ("accelerations", "velocities"))):
            if wrong := [name for name, off in found.items() if off[k] > CONTRADICTS]:
                why = "look at units, columns and signs; or rows lie too far apart"
                self._warn_of(wrong, f"hold {rates} that their {of} contradict by {found[wrong[0]][k]:.0%}: {why}")

    def _warn_of(self, names: list[str], what: str) -> None:
        """A warning that begins with the first of some columns."""
        self._system.warnings.append(f"rows of {some_of(names, 1)} in {self._table.file} {what}")

    def _or_one(self, given: Sequence[Any]) -> np.ndarray:
        """Indices in theta of numbers of the file, which are 1 where None stands."""
        numbers = self._system.geometry.numbers
        first = self._system.theta.add(lambda: [1.0 if number is None else numbers(number) for number in given])
        return first + np.arange(len(given))
