"""Readings as measured, and as the model computes them, with their derivatives by the parameters of a fit.

A column reads offset + scale * sensor(t - delay). All three may depend on parameters. The delay enters by the
derivative by time of the interpolated history, so that derivatives are those of what is computed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError, ModelError, UsageError, one_line
from mbsim_cli.io.tables import read_table
from mbsim_cli.solve.sides import WHERE_IT_JUMPS
from mbsim_cli.spec import studies
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.parameters import with_values
from mbsim_cli.spec.reading.messages import suggest
from mbsim_cli.study.assembling import automatic_of
from mbsim_cli.study.diagnostics.jumps import LACKING
from mbsim_cli.study.result import NEAREST, Result, interpolated

if TYPE_CHECKING:
    from mbsim_cli.study.model import Model


class MeasuredColumn(NamedTuple):
    """Readings (n,) of a column at times (n,), s, and its entry in the model file."""

    name: str
    given: studies.MeasuredColumn
    times: np.ndarray
    readings: np.ndarray
    unit: str = ""  # of the sensor, empty where the file scales it; known after the first run
    left_out: int = 0  # readings that lie outside of the run for some delay


class Measured(NamedTuple):
    """A measurement: its name, its entry in the model file, its columns and its table."""

    name: str
    given: studies.Measurement
    columns: tuple[MeasuredColumn, ...]
    path: Path


def measured_of(model_file: ModelFile, name: str) -> Measured:
    """Read a measurement but for what is NaN or outside of ``between``; raises ModelError and InputOutputError."""
    given, number = model_file.measurements[name], model_file.expressions.value
    path = model_file.source.file_at(("measurements", name, "file"), given.file)
    table = read_table(path, given.delimiter or ",", empty=True)
    times = _column(model_file, path, table, ("measurements", name, "time"), given.time)
    times = times * float(number(given.time_scale).real)
    if not np.isfinite(times).all():
        raise InputOutputError(f"{path}: the times in column {given.time!r} are not all finite numbers")
    used = np.ones(len(times), dtype=bool)
    if given.between is not None:
        first, last = (float(number(end).real) for end in given.between)
        near = 1e-12 * max(abs(first), abs(last))  # round-off of scaled times
        used = (times >= first - near) & (times <= last + near)
    columns = []
    for column, entry in given.columns.items():
        place = ("measurements", name, "columns", column)
        readings = _column(model_file, path, table, place, column)
        known = used & np.isfinite(readings)
        if not known.any():
            within = " within between" if given.between is not None else ""
            raise ModelError([model_file.source.issue(place, f"{path} has no readings{within}", key=True)])
        columns.append(MeasuredColumn(column, entry, times[known], readings[known]))
    return Measured(name, given, tuple(columns), path)


def _column(
    model_file: ModelFile, path: Path, table: Mapping[str, np.ndarray], place: tuple[str, ...], name: str
) -> np.ndarray:
    if name not in table:
        hint = suggest(name, list(table)) or f"columns: {', '.join(list(table)[:6])}"
        raise ModelError([model_file.source.issue(place, f"{path} has no column {name!r}", hint, key=True)])
    return table[name]


METHOD = "ddm"  # which differentiates histories
ROUND_OFF = 1e-9  # of the last time, that a reading may lie outside of the run


class Computed(NamedTuple):
    """Readings of the model (m,), and their derivatives (m, p)."""

    values: np.ndarray
    jacobian: np.ndarray


class Readings:
    """Readings of the model in the run of a measurement, as a function of values (p,) of the parameters ``names``.

    ``delays`` are the least and largest values of the parameters that delays depend on: readings that lie outside of
    the run for one of them are left out.
    """

    def __init__(self, model: "Model", measured: Measured, names: Sequence[str], delays: Mapping[str, Sequence[float]]):
        self.measured, self._names, self._delays = measured, tuple(names), delays
        texts = {name: number.text for name, number in measured.given.parameters.items()}
        file = with_values(model.file, texts) if texts else model.file
        automatic = automatic_of(file, model.settings)
        if not (automatic.step or automatic.tolerance):  # else fits do not read objectives, which have own warnings
            file = file.model_copy(update={"objectives": {}})
        by = [name for name in names if name not in texts]
        self._model, self.file = model.variant(file, model.settings, by), file
        self._own = [place for place, name in enumerate(names) if name not in texts]
        self._kept: tuple[MeasuredColumn, ...] | None = None
        self.jumps: list[str] = []  # warnings of the first run about jumps that derivatives lack
        self._first: tuple[bytes, Computed] | None = None

    @property
    def columns(self) -> tuple[MeasuredColumn, ...]:
        """The columns without readings that are left out; known after the first run."""
        return self.measured.columns if self._kept is None else self._kept

    def settle(self, start: np.ndarray) -> None:
        """Find out which readings lie within the run; what it computes serves the first evaluation."""
        self._first = start.tobytes(), self._run(start)

    def at(self, values: np.ndarray) -> Computed:
        """Readings of all columns, one behind the other; raises what ``Model.run`` does."""
        if self._first is not None and self._first[0] == values.tobytes():
            (_, found), self._first = self._first, None
            return found
        return self._run(values)

    def warnings(self, values: np.ndarray, sigmas: Sequence[float]) -> list[str]:
        """Warnings of the run, whose errors a second one estimates; and of interpolation, by the columns' noise."""
        result, rho = self._recorded(values, second_run=True)
        of_objectives = "objective ", "d "  # and their gradients, which no fit reads
        found, jumps = [warning for warning in result.warnings if not warning.startswith(of_objectives)], False
        for column, sigma in zip(self.columns, sigmas, strict=True):
            history = [self._history(result, column)]
            scale, _, times = self._placed(result, column, rho)
            jumps |= bool(self._own and np.isnan(result.sensitivity(column.given.sensor, times=times)).any())
            linear, cubic, best = (interpolated(result.time, times, history, nearest=n) for n in (2, 4, NEAREST))
            first, second = (float(np.abs(part - cubic).max()) for part in (linear, best))
            error = abs(scale) * second * min(second / first, 1.0) if first else 0.0
            if error > sigma:
                found.append(
                    f"readings of {self.measured.name}.{column.name} lie between steps, where interpolation has an "
                    f"estimated error of {error:.1g}, more than their sigma of {sigma:.1g}; try a shorter step"
                )
        return found if jumps else [warning for warning in found if not warning.startswith(WHERE_IT_JUMPS)]

    def _recorded(self, values: np.ndarray, *, second_run: bool) -> tuple[Result, dict[str, float]]:
        """The run with its own values, and these."""
        rho = {self._names[place]: float(values[place]) for place in self._own}
        # interpolated between steps, however many the file has stored
        return self._model.recorded(rho, {"sensitivity": METHOD}, 1, second_run=second_run), rho

    def _run(self, values: np.ndarray) -> Computed:
        result, rho = self._recorded(values, second_run=False)
        if self._kept is None:
            self._keep(result, rho)
            self.jumps = [warning for warning in result.warnings if LACKING in warning]
        parts = [self._column(result, column, rho) for column in self.columns]
        return Computed(*(np.concatenate(found) for found in zip(*parts, strict=True)))

    def _keep(self, result: Result, rho: Mapping[str, float]) -> None:
        """Leave out what lies outside of the run for some delay; raises ModelError where that is not for the delay."""
        first, last = result.time[0], result.time[-1]
        margin = ROUND_OFF * (1.0 + abs(last - first))
        within = []
        for column in self.measured.columns:
            least, most = self._delays_of(column, rho)
            inside = (column.times - most >= first - margin) & (column.times - least <= last + margin)
            if not inside.all() and least == most == 0.0:
                there = f"readings from {column.times.min():g} to {column.times.max():g} s lie outside of the run"
                hint = f"between: [{first:g}, {last:g}] leaves out the others, or let the analysis last longer"
                raise self._wrong(column, f"{there}, which covers {first:g} to {last:g} s", hint)
            if not inside.any():
                raise self._wrong(column, "with its delay no reading lies within the run")
            self._history(result, column)
            unit = result.unit(column.given.sensor) if column.given.scale.literal == 1.0 else ""
            times, readings, left_out = column.times[inside], column.readings[inside], int(np.count_nonzero(~inside))
            within.append(column._replace(times=times, readings=readings, unit=unit, left_out=left_out))
        self._kept = tuple(within)

    def _delays_of(self, column: MeasuredColumn, rho: Mapping[str, float]) -> tuple[float, float]:
        """Least and largest delay, taken at the corners of the parameters' ranges."""
        expressions, delay = self.file.expressions, column.given.delay
        corners: list[dict[str, float]] = [dict(rho)]
        for name in expressions.gradient(delay):
            if name in self._delays and name in rho:
                corners = [{**corner, name: end} for corner in corners for end in self._delays[name]]
        found = [float(np.real(expressions.value(delay, corner))) for corner in corners]
        return min(found), max(found)

    def _history(
        self, result: Result, column: MeasuredColumn, times: np.ndarray | None = None, *, rate: bool = False
    ) -> np.ndarray:
        """A history (n,) of one number; raises ModelError where the name is of none."""
        name = column.given.sensor
        try:
            found = result[name] if times is None else result.at(times, name, rate=rate)
        except KeyError as error:
            raise self._wrong(column, str(error.args[0]), key="sensor") from None
        if found.ndim != 1:
            labels = next(iter(result.labels(name).values()), ())
            hint = f"one of them, as {name}.{labels[0]}" if labels else None
            raise self._wrong(column, f"{name!r} has {found.shape[1]} columns: {', '.join(labels)}", hint, "sensor")
        return found

    def _placed(
        self, result: Result, column: MeasuredColumn, rho: Mapping[str, float]
    ) -> tuple[float, float, np.ndarray]:
        """Scale and offset of a column, and the times (n,) of the run that it reads."""
        given, value = column.given, self.file.expressions.value
        scale, offset, delay = (float(np.real(value(n, rho))) for n in (given.scale, given.offset, given.delay))
        return scale, offset, np.clip(column.times - delay, result.time[0], result.time[-1])

    def _column(self, result: Result, column: MeasuredColumn, rho: Mapping[str, float]) -> Computed:
        given, expressions = column.given, self.file.expressions
        scale, offset, times = self._placed(result, column, rho)
        shown = self._history(result, column, times)
        if (unknown := np.isnan(shown)).any():
            message = f"{given.sensor!r} has no value at {times[unknown][0]:g} s, as reactions that are not determined"
            raise self._wrong(column, message, "leave this column out", "sensor")
        jacobian = np.zeros((len(times), len(self._names)))
        if self._own:
            try:
                slopes = result.sensitivity(given.sensor, times=times)
            except UsageError as error:
                raise self._wrong(column, one_line(error), key="sensor") from None
            # what jumps at the time of a reading has no derivative by what moves the jump: others decide
            jacobian[:, self._own] = scale * np.where(np.isnan(slopes), 0.0, slopes)
        for number, factor in (
            (given.scale, lambda: shown),
            (given.offset, lambda: np.ones(len(times))),
            (given.delay, lambda: -scale * self._history(result, column, times, rate=True)),
        ):
            moved = {name: d for name, d in expressions.gradient(number, rho).items() if name in rho}
            by_number = factor() if moved else shown
            for name, derivative in moved.items():
                jacobian[:, self._names.index(name)] += derivative * by_number
        return Computed(offset + scale * shown, jacobian)

    def _wrong(self, column: MeasuredColumn, message: str, hint: str | None = None, key: str = "") -> ModelError:
        path = ("measurements", self.measured.name, "columns", column.name, *([key] if key else []))
        return ModelError([self.file.source.issue(path, message, hint, key=not key)])
