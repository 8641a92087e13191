"""Writes a result while the run goes on; memory is bounded by one block."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io import skeleton
from mbsim_cli.io.layout import inverse_variables, variables
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.target import partial_name, temporary_beside
from mbsim_cli.model.names import Names
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import quotients


class ObjectiveResult(NamedTuple):
    """An objective's value and, with sensitivities, its gradient (p,)."""

    name: str
    value: float
    unit: str
    gradient: np.ndarray | None = None
    method: str = "none"
    description: str = ""


class ResultWriter:
    """Streams blocks into a temporary file; ``finish`` gives it its name, ``keep_partial`` one that says what it is.

    ``target`` has passed ``target.check_target``; ``sensors`` tells the rows of the record that each sensor fills;
    every ``every``-th instant is stored, and the last;
    ``inverse`` tells blocks of inverse dynamics. Without ``sensitivities`` blocks have no parameter axis, though
    gradients of objectives may come from elsewhere.
    """

    def __init__(
        self,
        target: Path,
        names: Names,
        sensors: Mapping[str, slice],
        parameters: skeleton.Parameters,
        provenance: Provenance,
        every: int = 1,
        sensitivities: bool = True,
        inverse: bool = False,
    ):
        self.target = target
        self._parameter_units = names.parameter_units
        self._every = every
        self._seen = self._stored = 0
        self.end = 0.0  # latest instant, s
        self._last: Block | None = None  # the latest instant, while it is not stored
        self._temporary = temporary_beside(target)
        with self._failures():
            self._file = h5py.File(self._temporary, "w", track_order=True, locking="best-effort", **skeleton.CACHE)
            skeleton.describe(self._file, provenance)
            rows = (inverse_variables if inverse else variables)(names, sensors, sensitivities)
            skeleton.label(self._file, names, sensors, parameters, rows)
            self._variables = [(row, skeleton.growing(self._file, row)) for row in rows]

    def append(self, block: Block) -> None:
        """Store the next instants."""
        count = len(block.time)
        picked = slice((-self._seen) % self._every, None, self._every)
        self._seen += count
        if count:
            self.end = float(block.time[-1])
            self._last = None if (self._seen - 1) % self._every == 0 else _instants(block, slice(-1, None))
        with self._failures():
            self._store(block if self._every == 1 else _instants(block, picked))

    def _store(self, block: Block) -> None:
        end = self._stored + len(block.time)
        for values, dataset in [(block.time, self._file["time"])] + [(row.of(block), d) for row, d in self._variables]:
            dataset.resize(end, axis=0)
            dataset[self._stored : end] = values
        self._stored = end

    def objectives(self, results: Sequence[ObjectiveResult]) -> None:
        """Store values and gradients."""
        with self._failures():
            for result in results:
                group = self._file.create_group(f"objectives/{result.name}", track_order=True)
                group.attrs["description"] = result.description
                group["value"] = float(result.value)
                skeleton.set_unit(group["value"], result.unit)
                group.attrs["method"] = result.method
                if result.gradient is not None and len(result.gradient):
                    gradient = group.create_dataset("gradient", data=np.asarray(result.gradient, dtype=float))
                    gradient.attrs["method"] = result.method
                    skeleton.attach(gradient, ("parameter",))
                    skeleton.set_units(gradient, ("parameter",), quotients((result.unit,), self._parameter_units)[0])

    def finish(
        self, timing: Mapping[str, float], warnings: Sequence[str] = (), work: Mapping[str, int] | None = None
    ) -> Path:
        """Close the file and give it the target's name; what stood there before is replaced in one move.

        ``work`` is what an integrator counted in the whole run.
        """
        with self._failures():
            if work:
                skeleton.table(self._file["meta"], "work", work)
            self._complete(timing, warnings, "complete")
            self._temporary.replace(self.target)
        return self.target

    def keep_partial(self, reason: str) -> Path | None:
        """Close an unfinished result under a name that says so, or drop it where it holds nothing."""
        if self._stored == 0:
            self.discard()
            return None
        with self._failures():
            self._complete({}, (reason,), "partial")
            return self._temporary.replace(partial_name(self.target))

    def _complete(self, timing: Mapping[str, float], warnings: Sequence[str], status: str) -> None:
        if self._last is not None:
            self._store(self._last)
        skeleton.table(self._file["meta"], "timing", timing, dict.fromkeys(timing, "s"))
        if warnings:
            self._file["meta"].create_dataset("warnings", data=list(warnings), dtype=skeleton.TEXT)
        self._file.attrs["status"] = status
        self._file.close()

    def discard(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(Exception):  # a full disk fails here a second time; the first failure was reported
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _failures(self):
        """Turn what HDF5 raises into a sentence, and leave no file behind."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            self.discard()
            raise InputOutputError(f"cannot write {self.target}: {error}") from error


def _instants(block: Block, picked: slice) -> Block:
    return type(block)(*(values[picked] for values in block))
