"""Writes a result file while the analysis runs: buffers blocks, compresses them, and appends them to datasets."""

import contextlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np
from h5py import h5s

from mbsim_cli.errors import InputOutputError, leaving, reason_of
from mbsim_cli.io import layout
from mbsim_cli.io.findings import FieldOnMesh, History, store_fields, store_history, store_modes, store_responses
from mbsim_cli.io.layout import TEXT, KeptRows, Origin, Scales, element_axis, set_text, set_unit, texts, write_fixed
from mbsim_cli.io.target import Occupied, Sink, TemporaryFile, appeared, may_replace
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import quotients
from mbsim_cli.system import cached_property, helpful

if TYPE_CHECKING:
    from mbsim_cli.solve.linear.modes import Found
    from mbsim_cli.solve.linear.state_space import Responses


class ObjectiveResult(NamedTuple):
    """An objective's value and, with sensitivities, its gradient (p,), and their estimated discretisation errors."""

    name: str
    value: float
    unit: str
    gradient: np.ndarray | None = None
    method: str = "none"
    description: str = ""
    discretisation: np.ndarray | None = None  # errors (1 + p,) of the value and the gradient, or (1,) of the value
    undefined: Mapping[str, str] = {}  # reason of a missing derivative, by parameter
    flags: Sequence[str] = ()  # reasons why the value is not unique
    by_fields: Mapping[str, np.ndarray] = {}  # derivatives (ne,) by the elements of fields
    off_by_fields: Mapping[str, np.ndarray] = {}  # their estimated discretisation errors


class Findings(NamedTuple):
    """Content that is stored after the last time point: objectives, fields, multipliers, warnings, modes."""

    objectives: Sequence[ObjectiveResult]
    fields: Sequence[FieldOnMesh] = ()  # with respect to which gradients are computed
    multipliers: Mapping[str, str] = {}  # the meaning of each kind
    undetermined: Sequence[str] = ()  # equations whose multipliers are not unique
    undetermined_sensors: Mapping[str, str] = {}  # sensors that read them, with the reason
    warnings: Sequence[str] = ()
    work: Mapping[str, int] = {}  # counts of an integrator over the whole run
    discretisation: Mapping[str, Any] = {}  # errors of the motion
    modes: "Found | None" = None
    responses: "Responses | None" = None
    history: History | None = None  # of the optimisation whose best design this is


# Writing rows to datasets. Complete columns are compressed in parallel, identical ones once. HDF5 itself compresses
# serially, which takes longer than all other parts of writing a short run.

MOST_THREADS = 8
FEW = 500_000  # bytes below which threads do not pay


class Chunking(NamedTuple):
    """A column, with the shape and type of its chunks."""

    column: int  # id of the array
    shape: tuple[int, ...]
    dtype: np.dtype


def extend(datasets: Sequence[h5py.Dataset], first: int, columns: Sequence[np.ndarray]) -> Iterator[None]:
    """Write rows (B, ...) from ``first`` on, one dataset at a time, by low-level functions, which are faster."""
    chunkings: list[Chunking | None] = []  # None for columns that are not compressed, or continue a dataset
    for dataset, values in zip(datasets, columns, strict=True):
        compressed = first == 0 and dataset.id.get_create_plist().get_nfilters()
        chunkings.append(Chunking(id(values), dataset.chunks, dataset.dtype) if compressed else None)
    chunks = _compressed_chunks(chunkings, columns)
    for dataset, values, chunking in zip(datasets, columns, chunkings, strict=True):
        origin = [0] * (values.ndim - 1)
        if len(values):
            dataset.id.set_extent((first + len(values), *values.shape[1:]))
        if chunking is not None:
            for number, chunk in enumerate(chunks[chunking]):
                dataset.id.write_direct_chunk((number * chunking.shape[0], *origin), chunk)
        elif len(values):
            memory, place = h5s.ALL, h5s.ALL
            if first:
                memory, place = h5s.create_simple(values.shape), dataset.id.get_space()
                place.select_hyperslab((first, *origin), values.shape)
            dataset.id.write(memory, place, np.ascontiguousarray(values))
        yield


def _compressed_chunks(
    chunkings: Sequence[Chunking | None], columns: Sequence[np.ndarray]
) -> dict[Chunking, list[bytes]]:
    """Compressed chunks of columns."""
    wanted = {chunking: values for chunking, values in zip(chunkings, columns, strict=True) if chunking}

    def made(each: Callable[..., Iterable[bytes]]) -> dict[Chunking, list[bytes]]:
        begun = {
            chunking: each(partial(_compressed, values, chunking), range(0, len(values), chunking.shape[0]))
            for chunking, values in wanted.items()
        }
        return {chunking: list(chunks) for chunking, chunks in begun.items()}

    if sum(values.nbytes for values in wanted.values()) < FEW:
        return made(map)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(helpful(MOST_THREADS)) as pool:
        return made(pool.map)


def _compressed(values: np.ndarray, chunking: Chunking, first: int) -> bytes:
    """The chunk from row ``first`` on, compressed and padded with zeros; zlib releases the interpreter lock."""
    content = np.ascontiguousarray(values[first : first + chunking.shape[0]], chunking.dtype)
    if content.shape != chunking.shape:
        padding = np.zeros((chunking.shape[0] - len(content), *chunking.shape[1:]), chunking.dtype)
        content = np.concatenate([content, padding])
    return zlib.compress(content.data, layout.LEVEL)


# The writer. Short runs are written at the end, long ones block by block, so that memory is bounded. Writing short ones
# between blocks would evict the solver's data from the processor's caches, and keep no rows of a killed process.

MOST = 64 * 2**20  # bytes of a short run


class ResultWriter:
    """Writes blocks to a temporary file; ``finish`` renames it to ``target``, ``keep_partial`` to a partial result.

    ``target`` has passed ``target.check_target`` with the same ``force`` and ``protected`` files.
    """

    def __init__(self, target: Path, origin: Origin, force: bool = False, protected: tuple[Path, ...] = ()):
        self.target = target
        self._origin, self._rows = origin, origin.variables
        self._stored = 0  # rows in the file
        # for each variable, whether the first block has repeated numbers, so that it is worth compressing
        self._repeating: list[bool] = []
        self.end = 0.0  # latest time, s
        self._may_replace: Callable[..., bool] = partial(may_replace, protected=protected)
        self._force = force
        self._temporary = TemporaryFile(target)
        self.removed = self._temporary.removed  # files of killed runs that were deleted
        self._sink = Sink(self._temporary.handle)
        self._kept = KeptRows(origin.every)
        self._room: float | None = None  # bytes that may be in memory: those of the whole run, or none
        self._findings = Findings(())
        self._variables: list[h5py.Dataset] = []  # datasets of the histories; empty before the first row is written

    @cached_property
    def _scales(self) -> Scales:
        """Open the file and write everything of fixed size; return its axes. Short runs do this at the end."""
        file = h5py.File(self._sink, "w", track_order=True, **layout.CACHE)
        layout.write_origin(file, self._origin.provenance)
        scales = Scales(file)
        layout.write_axes(scales, self._origin)
        return scales

    @property
    def _file(self) -> h5py.File:
        return self._scales.file

    def append(self, block: Block) -> None:
        """Store the next time points."""
        if not len(block.time):
            return
        self.end = float(block.time[-1])
        with self._failures():
            columns = [block.time, *(row.of(block) for row in self._rows)]
            if self._room is None:
                self._repeating = list(map(layout.is_repetitive, columns[1:]))
                expected = sum(values.nbytes for values in columns) * self._origin.times / len(block.time)
                self._room = expected if expected <= MOST else 0.0
            self._kept.add(columns)
            if self._kept.size > self._room:
                self._room = 0.0
                self._write_kept(last=False)

    def whole(self, columns: Sequence[np.ndarray]) -> None:
        """Store time and all variables (N, ...) of a complete run, already thinned."""
        with self._failures():
            self._repeating = list(map(layout.is_repetitive, columns[1:]))
            self._write(columns)

    def _write_kept(self, *, last: bool = True) -> h5py.File:
        """Write the rows in memory, with the ``last`` one of the run if they end it; return the file."""
        if columns := self._kept.take(last=last):
            self._write(columns)
            if last:
                self._temporary.begin_sync()
        return self._file

    def _write(self, columns: Sequence[np.ndarray]) -> None:
        """Write the next rows of time and all histories."""
        if not self._variables:
            self._create_histories()
        for _ in extend([self._file["time"], *self._variables], self._stored, columns):
            self._require_written()
        self._stored += len(columns[0])

    def _create_histories(self) -> None:
        """Create the datasets of the histories, compressed if their numbers repeat."""
        for row, repeating in zip(self._rows, self._repeating or repeat(False), strict=False):
            grown = layout.create_history(self._scales, row, len(self._rows), self._origin.times, repeating)
            self._variables.append(grown)

    def findings(self, findings: Findings) -> None:
        """Store the results of the whole run; ``finish`` adds warnings and the work done."""
        self._findings = findings
        with self._failures():
            file, scales = self._write_kept(), self._scales
            store_fields(scales, findings.fields)
            for result in findings.objectives:
                _store_objective(scales, result, self._origin.names.parameter_units)
            if findings.history is not None:
                store_history(scales, findings.history)
            if findings.modes is not None:
                store_modes(scales, findings.modes)
            if findings.responses is not None:
                store_responses(scales, findings.responses)
            _describe_multipliers(file, findings)

    def finish(self, timing: Mapping[str, float]) -> Path:
        """Close the file and rename it to the target, replacing an earlier file atomically; return its path.

        Raises InputOutputError; a complete result that cannot be renamed is kept under another name, which that states.
        """
        found = self._findings
        with self._failures():
            self._write_kept()
            for name, entries in (("work", found.work), ("discretisation", found.discretisation)):
                if entries:
                    known = {key: value for key, value in entries.items() if value is not None}
                    layout.write_scalars(self._file["meta"], name, known)
            self._complete(timing, found.warnings, "complete")
        try:
            return self._temporary.publish(self.target, partial(self._may_replace, force=self._force))
        except Occupied:
            reason = appeared(self.target)
        except OSError as error:
            reason = f"cannot write {self.target}: {reason_of(error)}"
        kept = self._temporary.keep("complete", self._may_replace)
        raise leaving(InputOutputError(f"{reason}; the complete result is kept in {kept}"), kept=str(kept))

    def keep_partial(self, reason: str) -> Path | None:
        """Close an unfinished result and name it OUT.partial; discard it if it holds no rows."""
        if self._stored == 0 and not self._kept.size:
            self.discard()
            return None
        with self._failures():
            self._complete({}, (reason,), "partial")
        return self._temporary.keep("partial", self._may_replace)

    def _complete(self, timing: Mapping[str, float], warnings: Sequence[str], status: str) -> None:
        self._write_kept()
        if not self._variables:
            self._create_histories()
        layout.write_scalars(self._file["meta"], "timing", timing, dict.fromkeys(timing, "s"))
        if warnings:
            layout.write_texts(self._file["meta"], "warnings", warnings)
        self._file.attrs["status"] = status
        self._scales.close()
        self._require_written()
        self._temporary.sync()

    def discard(self) -> None:
        """Remove the temporary file."""
        if "_scales" in vars(self):
            with contextlib.suppress(Exception):  # the failure behind this call has been reported
                self._file.close()
        self._temporary.discard()

    def _require_written(self) -> None:
        if self._sink.error is not None:
            raise self._sink.error

    @contextlib.contextmanager
    def _failures(self):
        """A context that turns exceptions of the system and HDF5 into InputOutputError, and removes the file."""
        try:
            yield
            self._require_written()
        except (OSError, RuntimeError, ValueError) as error:
            self.discard()
            reason = getattr(error, "strerror", None) or error
            raise InputOutputError(f"cannot write {self.target}: {reason}; nothing is kept of the run") from error


def _store_objective(scales: Scales, result: ObjectiveResult, parameter_units: Sequence[str]) -> None:
    """Write the value of an objective, its derivatives, and their estimated errors."""
    place = f"objectives/{result.name}"
    group = scales.file.create_group(place, track_order=True)
    set_text(group, "description", result.description)
    set_unit(write_fixed(group, "value", float(result.value)), result.unit)
    set_text(group, "method", result.method)
    if result.flags:
        layout.write_texts(group, "flags", result.flags)
    if result.undefined:
        reasons = [result.undefined.get(name, "") for name in texts(scales.file["parameter"])]
        scales.store(f"{place}/undefined", reasons, ("parameter",), dtype=TEXT)

    def store_derivatives(name: str, values: np.ndarray | None) -> None:
        """Store numbers (p,) in the units of a gradient, if any."""
        if values is not None and len(values):
            units = quotients((result.unit,), parameter_units)[0]
            stored = scales.store(f"{place}/{name}", np.asarray(values, dtype=float), ("parameter",), units)
            set_text(stored, "method", result.method)

    store_derivatives("gradient", result.gradient)
    of_elements = {"gradient_fields": result.by_fields, "discretisation_fields": result.off_by_fields}
    for kind, fields in of_elements.items():
        for name, numbers in fields.items():
            scales.store(f"{place}/{kind}/{name}", numbers, (element_axis(name),), result.unit)
    if result.discretisation is not None:
        set_unit(write_fixed(group, "discretisation", float(result.discretisation[0])), result.unit)
        store_derivatives("gradient_discretisation", result.discretisation[1:])


def _describe_multipliers(file: h5py.File, findings: Findings) -> None:
    """Describe the kinds of multipliers, and mark those that are not unique, and the sensors that read them."""
    for kind, note in findings.multipliers.items():
        for path in (f"multipliers/{kind}", f"sensitivity/multipliers/{kind}"):
            if path in file:
                set_text(file[path], "description", note)
    if findings.undetermined:
        file["multipliers"].attrs["undetermined"] = ", ".join(findings.undetermined)
    for name, reason in findings.undetermined_sensors.items():
        file[f"sensors/{name}"].attrs["undetermined"] = reason
