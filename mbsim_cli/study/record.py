"""The histories of a run, by the paths that they have in result files; here kept in memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mbsim_cli.io.layout import WITH_RESPECT_TO, axes
from mbsim_cli.io.stored import Stored
from mbsim_cli.io.thinning import KeptRows
from mbsim_cli.model.units import in_words
from mbsim_cli.study.page import COMMAND, Page, page_of
from mbsim_cli.study.plan import Plan
from mbsim_cli.study.recording import origin_of
from mbsim_cli.study.run import Outcome


class Record(Protocol):
    """What a result holds along time."""

    @property
    def axes(self) -> Mapping[str, Sequence[str]]:
        """Labels along every axis but time."""

    @property
    def paths(self) -> Sequence[str]:
        """Paths of all variables, ``time`` among them."""

    def variable(self, path: str) -> Stored:
        """A variable; raises KeyError."""

    @property
    def by_fields(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Derivatives (ne,) by the elements of fields, by objective and field."""

    def save(self, path: Path, *, force: bool) -> None:
        """Write a result file; raises InputOutputError."""


class _OfRun:
    """Histories of a run of this program, whose page says all else."""

    page: Page
    paths: Sequence[str]

    def variable(self, path: str) -> Stored:
        """A variable by its path; raises KeyError."""
        raise NotImplementedError

    @property
    def by_fields(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Derivatives (ne,) by the elements of fields, by objective and field."""
        return {objective.name: objective.by_fields for objective in self.page.findings.objectives}

    def save(self, path: Path, *, force: bool) -> None:
        """Write the result file of the run; raises InputOutputError."""
        self.page.write(path, [self.variable(name).values for name in self.paths], force=force)


class FinishedRecord(_OfRun):
    """All of a run, as plain data."""

    def __init__(self, axes: Mapping[str, Sequence[str]], variables: Mapping[str, Stored], page: Page):
        self.axes, self._variables, self.page = axes, variables, page
        self.paths = list(variables)

    def variable(self, path: str) -> Stored:
        """A variable by its path; raises KeyError."""
        return self._variables[path]


class MemoryRecord(_OfRun):
    """Collects the blocks of a run; every ``every``-th time point is kept, and the last, None: as the file says."""

    def __init__(self, plan: Plan, every: int | None = None):
        origin = origin_of(plan, COMMAND)
        self._origin = origin = origin if every is None else origin._replace(every=every)
        self._rows = {row.path: row for row in origin.variables}
        self.paths = ["time", *self._rows]
        self.axes: dict[str, Sequence[str]] = dict(axes(origin.names, origin.sensors))
        if any(WITH_RESPECT_TO in row.axes for row in self._rows.values()):
            self.axes[WITH_RESPECT_TO] = origin.names.coordinates
        self._kept = KeptRows(origin.every)

    def add(self, block: Any) -> None:
        """Take the next instants in; they are copied."""
        self._kept.add([block.time, *(row.of(block) for row in self._rows.values())])

    def end(self, outcome: Outcome) -> None:
        """Take in what the run has led to."""
        self.page = page_of(outcome, self._origin)

    def variable(self, path: str) -> Stored:
        """A variable by its path; raises KeyError."""
        if path == "time":
            return Stored(self._kept.column(0), ("time",), "s")
        row = self._rows[path]
        values = self._kept.column(self.paths.index(path))
        return Stored(values, ("time", *row.axes), in_words(row.unit), () if row.by else row.units)

    def __reduce__(self) -> Any:
        """Pickled as what it holds; what picks that from blocks stays behind."""
        return FinishedRecord, (self.axes, {path: self.variable(path) for path in self.paths}, self.page)
