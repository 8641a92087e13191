"""A parameter study as Python programs see it: arrays over its cases, read from its folder."""

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.errors import UsageError, counted
from mbsim_cli.io.layout import component_axis
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.study_file import common_times
from mbsim_cli.model.units import attributes_of, quotient
from mbsim_cli.spec.reading.messages import Named, unknown
from mbsim_cli.study.listener import SILENT, DeferredInterrupts, Listener
from mbsim_cli.study.result import Result, installed, place_of
from mbsim_cli.study.sweep.collecting import columns_of, extract_result, table_of
from mbsim_cli.study.sweep.running import Forecast, Work, forecast_study, run_study
from mbsim_cli.study.sweep.store import data_of_cases, ledger_of
from mbsim_cli.study.sweep.study_folder import StudyFolder
from mbsim_cli.study.sweep.summary import summary_of
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    import pandas
    import xarray


class Study(Mapping[str, np.ndarray]):
    """N cases: a mapping from names to arrays, case first.

    ``study["L_s1"]`` are the values (N,) of a parameter that varies, ``study["psi1"]`` an objective (N,), NaN of cases
    that are not done, ``study["r2"]`` values of a sensor (N, T, components), or (N, T) of one number, where the study
    keeps it, at the times ``study["time"]``: (T,) s, or (N, T) where they differ. Raises KeyError for another name.

    ``varied``, ``objectives`` and ``parameters`` (that gradients are taken by) are names, and label the columns of
    ``design`` (N, v), ``results`` (N, k) and ``gradients`` (N, k, p). ``status`` (N,) is 0 of a case that is done, -1
    of one that is missing, else the exit code that ``mbsim run`` would have; ``reasons`` (N,) say why a case failed,
    and what it warned of; ``seconds`` (N,) what it took. ``report`` is what ``mbsim sweep --json`` prints.
    """

    __eq__ = object.__eq__  # arrays are not compared; a mapping would try
    __hash__ = object.__hash__

    def __init__(self, folder: str | PathLike[str], report: Mapping[str, Any] | None = None):
        """Read all that a folder holds; raises InputOutputError where it holds no study."""
        self.folder = Path(folder)
        ledger = ledger_of(StudyFolder(self.folder))
        table, plan = table_of(ledger), ledger.plan
        self.report = {"folder": str(folder)} | summary_of(ledger) if report is None else report
        self._table, self._sensors = table, {column.name: column for column in plan.sensors}
        self.varied, self.objectives = tuple(table.varied), tuple(table.objectives)
        self.parameters = tuple(table.parameters) if table.objectives else ()
        self.design, self.results, self.gradients = table.design, table.results, table.gradients
        self.status, self.seconds, self.reasons = table.status, table.seconds, list(table.reasons)

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.varied:
            return self.design[:, self.varied.index(name)]
        if name in self.objectives:
            return self.results[:, self.objectives.index(name)]
        if name == "time" and self._sensors:
            return self._histories[0]
        if name in self._sensors:
            values = self._sensor_values(name)
            return values[:, :, 0] if values.shape[2] == 1 else values
        raise KeyError(unknown("parameter, objective or sensor", name, self))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    @cached_property
    def _names(self) -> dict[str, None]:
        """Names of all arrays, in their order."""
        along = ["time", *self._sensors] if self._sensors else []
        return dict.fromkeys([*self.varied, *self.objectives, *along])

    def _ipython_key_completions_(self) -> list[str]:
        """The names that notebooks offer behind ``study[``."""
        return list(self)

    def unit(self, name: str) -> str:
        """Unit of a parameter, objective or sensor. Raises KeyError for another name."""
        units = {"time": "s"} | {column.name: column.unit for column in self._sensors.values()}
        found = {**units, **self._table.objectives, **self._table.varied}
        return Named("parameter, objective or sensor", found)[name]

    def sensitivity(self, name: str, parameter: str | None = None) -> np.ndarray:
        """Derivatives of an objective by a parameter (N,), or by all of ``parameters`` (N, p).

        They are in the unit of the objective over that of the parameter. Raises UsageError where there are none.
        """
        if name not in self.objectives:
            raise UsageError(f"there is no objective {name!r}; there are {', '.join(self.objectives) or 'none'}")
        derivatives = self.gradients[:, self.objectives.index(name)]
        return derivatives if parameter is None else derivatives[:, place_of(parameter, self.parameters)]

    def _sensor_values(self, name: str) -> np.ndarray:
        """Values of a sensor (N, T, components)."""
        ends = np.cumsum([len(column.components) for column in self._sensors.values()])
        return np.split(self._histories[1], ends[:-1], axis=2)[list(self._sensors).index(name)]

    @cached_property
    def _histories(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (T,), s, or (N, T) where they differ, and sensors (N, T, w) side by side, NaN where nothing is."""
        folder = StudyFolder(self.folder)
        tracks = list(data_of_cases(folder, ledger_of(folder)))
        longest, common = common_times(track.time for track in tracks)
        cases, width = len(self.design), sum(len(column.components) for column in self._sensors.values())
        time = np.full((cases, len(longest)), np.nan)
        record = np.full((cases, len(longest), width), np.nan)
        for track in tracks:
            time[track.case, : len(track.time)] = track.time
            record[track.case, : len(track.time)] = track.record
        return longest if common else time, record

    def forecast(
        self,
        workers: int = 1,
        *,
        shard: tuple[int, int] | None = None,
        case_timeout: float | None = None,
        listener: Listener = SILENT,
    ) -> Forecast:
        """The cost of the missing cases, estimated from a few without keeping them; arguments as of ``compute``."""
        return forecast_study(StudyFolder(self.folder), Work(workers, case_timeout, shard=shard), listener)

    def compute(
        self,
        workers: int = 1,
        *,
        failed: bool = False,
        shard: tuple[int, int] | None = None,
        dask: Any = None,
        case_timeout: float | None = None,
        max_failures: int | None = None,
        retry: int = 1,
        listener: Listener = SILENT,
    ) -> "Study":
        """Compute the missing cases, and failed ones again if ``failed``; return the study with all rows.

        ``workers`` is the number of processes: 1 is this one, 0 is one for each processor. ``dask`` is the address of a
        scheduler, or a client, whose workers take their place. A ``shard`` (I, N) is every N-th case from the I-th, for
        processes that share the folder. A case that takes more than ``case_timeout`` seconds has failed; one whose
        worker died is tried again ``retry`` times at once; more than ``max_failures`` that failed raise AnalysisError.
        Raises UsageError and InputOutputError; after Ctrl-C, KeyboardInterrupt behind a complete row.
        """
        work = Work(workers, case_timeout, dask, shard, failed, retry, max_failures)
        return Study(self.folder, run_study(StudyFolder(self.folder), work, DeferredInterrupts(listener)))

    def extract(self, case: int, path: str | PathLike[str] | None = None, *, force: bool = False) -> Result:
        """The result of a case of a study that keeps all (``keep="full"``), written to a file: FOLDER/case-CASE.h5.

        Raises UsageError where none is kept, and InputOutputError.
        """
        target = None if path is None else Path(path)
        written = extract_result(StudyFolder(self.folder), case, target, force=force)
        record = ResultFile(written, checked=True)
        return Result(record, record.report)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each case, with the columns of ``mbsim sweep collect --to csv``; UsageError without pandas."""
        return installed("pandas", "to_pandas").DataFrame(columns_of(self._table)).set_index("case")

    def to_xarray(self) -> "xarray.DataTree":
        """A tree of labelled arrays, as ``xarray.open_datatree`` reads ``study.h5``; UsageError without xarray."""
        xarray = installed("xarray", "to_xarray")
        labels = {"varied": self.varied, "objective": self.objectives, "parameter": self.parameters}
        coords: dict[str, Any] = {axis: list(names) for axis, names in labels.items() if names}
        table, coords["case"] = self._table, np.arange(len(self.design))
        found: dict[str, Any] = {
            "design": (("case", "varied"), self.design),
            "design_unit": (("varied",), list(table.varied.values())),
            "status": (("case",), self.status),
            "seconds": (("case",), self.seconds, attributes_of("s")),
            "reason": (("case",), self.reasons),
        }
        if self.objectives:
            found["result"] = ("case", "objective"), self.results
            found["result_unit"] = ("objective",), list(table.objectives.values())
        if self.parameters:
            units = [[quotient(own, by) for by in table.parameters.values()] for own in table.objectives.values()]
            found["gradient"] = ("case", "objective", "parameter"), self.gradients
            found["gradient_unit"] = ("objective", "parameter"), units
        groups = {}
        if self._sensors:
            time, histories = self["time"], dict[str, Any]()
            if time.ndim == 1:  # all cases have the same time points
                axis, coords["time"] = "time", ("time", time, attributes_of("s"))
            else:
                axis, coords["instant"] = "instant", np.arange(time.shape[1])
                histories["time"] = ("case", axis), time, attributes_of("s")
            for name, sensor in self._sensors.items():
                along = component_axis(name, tuple(sensor.components))
                coords[along] = list(sensor.components)
                histories[name] = ("case", axis, along), self._sensor_values(name), attributes_of(sensor.unit)
            groups["/sensors"] = xarray.Dataset(histories)
        return xarray.DataTree.from_dict({"/": xarray.Dataset(found, coords), **groups})

    def __repr__(self) -> str:
        counts = {"done": self.status == 0, "failed": self.status > 0, "missing": self.status < 0}
        words = [f"{count.sum()} {word}" for word, count in counts.items() if count.any()]
        lines = [f"<mbsim study in {self.folder}: {counted(len(self.design), 'case')}, {', '.join(words)}>"]
        for name in (*self.varied, *self.objectives):
            values = self[name][np.isfinite(self[name])]
            if len(values):
                lines.append(f"  {name}: {values.min():.8g} to {values.max():.8g} {self.unit(name)}".rstrip())
        return "\n".join(lines)
