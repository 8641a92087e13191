"""Writes a result while the run goes on, or at the end of a short one; memory is bounded by what is held."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io import field_results, optimization, packing, skeleton
from mbsim_cli.io.facts import Findings, ObjectiveResult, Origin
from mbsim_cli.io.held import Held
from mbsim_cli.io.scales import Scales
from mbsim_cli.io.sink import Sink
from mbsim_cli.io.target import may_replace, only_by_force
from mbsim_cli.io.temporary import Occupied, create
from mbsim_cli.io.thinning import Thinning
from mbsim_cli.model.problem import Block, instants_of
from mbsim_cli.model.units import quotients
from mbsim_cli.system import cached_property


class ResultWriter:
    """Streams blocks into a temporary file; ``finish`` gives it its name, ``keep_partial`` one that says what it is.

    ``target`` has passed ``target.check_target`` with the same ``force`` and ``protected`` files.
    """

    def __init__(
        self,
        target: Path,
        origin: Origin,
        force: bool = False,
        protected: tuple[Path, ...] = (),
    ):
        self.target = target
        self._origin, self._rows = origin, origin.variables
        self._thinning = Thinning(origin.every)
        self._stored = self._first = 0  # rows in the file, and those of the first block
        self._repeating: list[bool] = []  # of the variables, as the first block tells
        self.end = 0.0  # latest instant, s
        self._last: Block | None = None  # the latest instant, while it is not stored
        self._may_go: Callable[..., bool] = partial(may_replace, protected=protected)
        self._force = force
        self._temporary = create(target)
        self.removed = self._temporary.removed  # what killed runs had left
        self._sink = Sink(self._temporary.handle)
        self._held = Held(origin.instants)
        self._variables: list[h5py.Dataset] = []  # of the rows, from the first of them on

    @cached_property
    def _scales(self) -> Scales:
        """Axes of the file, which is opened and gets all that does not grow; short runs have ended by then."""
        file = h5py.File(self._sink, "w", track_order=True, **skeleton.CACHE)
        skeleton.describe(file, self._origin.provenance)
        scales = Scales(file)
        origin = self._origin
        skeleton.label(scales, origin.names, origin.sensors, origin.parameters, self._rows, origin.instants)
        return scales

    @property
    def _file(self) -> h5py.File:
        return self._scales.file

    def append(self, block: Block) -> None:
        """Store the next instants."""
        count = len(block.time)
        picked, kept = self._thinning.of(count)
        if count:
            self.end = float(block.time[-1])
            self._last = None if kept else instants_of(block, [-1])  # the solver may write over its block
        with self._failures():
            if self._origin.every > 1 and not self._repeating:
                self._judge(self._columns(block))
            self._store(block if self._origin.every == 1 else instants_of(block, picked))

    def whole(self, columns: Sequence[np.ndarray]) -> None:
        """Store time and all variables (N, ...) of a run that is over, those instants that are stored."""
        with self._failures():
            self._judge(columns[1:])
            self._write(columns)

    def _columns(self, block: Block) -> list[np.ndarray]:
        return [row.of(block) for row in self._rows]

    def _judge(self, columns: Sequence[np.ndarray]) -> None:
        """Find out what repeats."""
        self._repeating = [skeleton.repeats(values) for values in columns]

    def _store(self, block: Block) -> None:
        """Hold or write the next rows."""
        columns = [block.time, *self._columns(block)]
        self._first = self._first or len(block.time)
        if not self._held.take(columns):
            self._release()
            self._write(columns)

    def _release(self) -> h5py.File:
        """The file with all rows that were held."""
        if len(self._held):
            self._write(self._held.release())
        return self._file

    def _write(self, columns: Sequence[np.ndarray]) -> None:
        """Write the next rows of time and of all that goes along with it."""
        if not self._repeating:
            self._judge([values[: self._first] for values in columns[1:]])
        if not self._variables:
            self._grow()
        for _ in packing.extend([self._file["time"], *self._variables], self._stored, columns):
            self._require_written()
        self._stored += len(columns[0])

    def _grow(self) -> None:
        """Create what grows along time; compressed where it repeats."""
        for row, repeating in zip(self._rows, self._repeating or repeat(False), strict=False):
            grown = skeleton.growing(self._scales, row, len(self._rows), self._origin.instants, repeating)
            self._variables.append(grown)

    def findings(self, findings: Findings) -> None:
        """Store what the run has led to; ``finish`` takes the rest."""
        self.fields(findings.fields)
        self.objectives(findings.objectives)
        if findings.history is not None:
            self.optimization(findings.history)
        self.multipliers(findings.multipliers, findings.undetermined, findings.undetermined_sensors)

    def objectives(self, results: Sequence[ObjectiveResult]) -> None:
        """Store values and gradients."""
        with self._failures():
            file = self._release()
            for result in results:
                group = file.create_group(f"objectives/{result.name}", track_order=True)
                group.attrs["description"] = result.description
                group["value"] = float(result.value)
                skeleton.set_unit(group["value"], result.unit)
                group.attrs["method"] = result.method
                if result.flags:
                    skeleton.listed(group, "flags", result.flags)
                if result.undefined:
                    skeleton.reasons(self._scales, group, result.undefined)
                self._derivatives(group, "gradient", result, result.gradient)
                of_elements = {"gradient_fields": result.by_fields, "discretisation_fields": result.off_by_fields}
                for kind, fields in of_elements.items():
                    for name, numbers in fields.items():
                        stored = group.create_dataset(f"{kind}/{name}", data=numbers)
                        self._scales.attach(stored, (field_results.element_axis(name),))
                        skeleton.set_unit(stored, result.unit)
                if result.discretisation is not None:
                    group["discretisation"] = float(result.discretisation.value)
                    skeleton.set_unit(group["discretisation"], result.unit)
                    self._derivatives(group, "gradient_discretisation", result, result.discretisation.gradient)

    def _derivatives(self, group: h5py.Group, name: str, result: ObjectiveResult, values: np.ndarray | None) -> None:
        """Store numbers (p,) in the units of a gradient, where there are any."""
        if values is not None and len(values):
            stored = group.create_dataset(name, data=np.asarray(values, dtype=float))
            stored.attrs["method"] = result.method
            self._scales.attach(stored, ("parameter",))
            units = quotients((result.unit,), self._origin.names.parameter_units)[0]
            skeleton.set_units(self._scales, stored, ("parameter",), units)

    def multipliers(
        self, descriptions: Mapping[str, str], undetermined: Sequence[str], sensors: Mapping[str, str]
    ) -> None:
        """Say what multipliers are, and which of them and of the sensors that read them are one choice of many."""
        with self._failures():
            file = self._release()
            skeleton.note_multipliers(file, descriptions, undetermined)
            for name, reason in sensors.items():
                file[f"sensors/{name}"].attrs["undetermined"] = reason

    def fields(self, fields: Sequence[field_results.FieldOn]) -> None:
        """Store fields that gradients are taken by, and their meshes; before the objectives."""
        with self._failures():
            self._release()
            field_results.store(self._scales, fields)

    def optimization(self, history: optimization.History) -> None:
        """Store what an optimisation has tried, of which this is the best."""
        with self._failures():
            self._release()
            optimization.store(self._scales, history)

    def finish(
        self,
        timing: Mapping[str, float],
        warnings: Sequence[str] = (),
        work: Mapping[str, int] | None = None,
        discretisation: Mapping[str, Any] | None = None,
    ) -> Path:
        """Close the file and give it the target's name; what stood there before is replaced in one move.

        ``work`` is what an integrator counted in the whole run, ``discretisation`` what is known of the motion's error.
        """
        with self._failures():
            self._release()
            for name, entries in (("work", work), ("discretisation", discretisation)):
                if entries:
                    known = {key: value for key, value in entries.items() if value is not None}
                    skeleton.table(self._file["meta"], name, known)
            self._complete(timing, warnings, "complete")
        return self._publish()

    def _publish(self) -> Path:
        """Give the complete result its name, or keep it under another that is told."""
        try:
            return self._temporary.publish(self.target, partial(self._may_go, force=self._force))
        except Occupied:
            reason = f"{self.target} has appeared meanwhile, and {only_by_force()}"
        except OSError as error:
            reason = f"cannot write {self.target}: {error.strerror or error}"
        kept = self._temporary.keep("complete", self._may_go)
        failure = InputOutputError(f"{reason}; the complete result is kept in {kept}")
        failure.__dict__["kept"] = str(kept)
        raise failure

    def keep_partial(self, reason: str) -> Path | None:
        """Close an unfinished result under a name that says so, or drop it where it holds nothing."""
        if self._stored == 0 and not len(self._held):
            self.discard()
            return None
        with self._failures():
            self._complete({}, (reason,), "partial")
        return self._temporary.keep("partial", self._may_go)

    def _complete(self, timing: Mapping[str, float], warnings: Sequence[str], status: str) -> None:
        if self._last is not None:
            self._store(self._last)
        self._release()
        if not self._variables:
            self._grow()
        skeleton.table(self._file["meta"], "timing", timing, dict.fromkeys(timing, "s"))
        if warnings:
            skeleton.listed(self._file["meta"], "warnings", warnings)
        self._file.attrs["status"] = status
        self._file.close()
        self._require_written()
        self._temporary.sync()

    def discard(self) -> None:
        """Remove what was written."""
        if "_scales" in vars(self):
            with contextlib.suppress(Exception):  # the failure that led here was reported
                self._file.close()
        self._temporary.discard()

    def _require_written(self) -> None:
        if self._sink.error is not None:
            raise self._sink.error

    @contextlib.contextmanager
    def _failures(self):
        """Turn what the system and HDF5 raise into a sentence, and leave no file behind."""
        try:
            yield
            self._require_written()
        except (OSError, RuntimeError, ValueError) as error:
            self.discard()
            reason = getattr(error, "strerror", None) or error
            raise InputOutputError(f"cannot write {self.target}: {reason}; nothing is kept of the run") from error
