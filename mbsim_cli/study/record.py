"""The histories of a run, by the paths that they have in result files; here kept in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mbsim_cli.io.layout import WITH_RESPECT_TO, axes, inverse_variables, variables
from mbsim_cli.io.stored import Stored
from mbsim_cli.io.thinning import KeptRows
from mbsim_cli.model.units import in_words
from mbsim_cli.study.plan import Plan


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


@dataclass(frozen=True)
class FinishedRecord:
    """Histories of a run that is over."""

    axes: Mapping[str, Sequence[str]]
    variables: Mapping[str, Stored]
    by_fields: Mapping[str, Mapping[str, np.ndarray]]

    @property
    def paths(self) -> Sequence[str]:
        """Paths of all variables."""
        return list(self.variables)

    def variable(self, path: str) -> Stored:
        """A variable by its path; raises KeyError."""
        return self.variables[path]


class MemoryRecord:
    """Collects the blocks of a run; every ``output_interval``-th instant is kept, and the last."""

    def __init__(self, plan: Plan):
        problem, rows, names = plan.assembled.problem, plan.assembled.sensor_rows, plan.named.problem.names
        layout = inverse_variables if plan.analysis.inverse else variables
        self._rows = {row.path: row for row in layout(names, rows, plan.stores_sensitivities)}
        self.axes: dict[str, Sequence[str]] = dict(axes(names, rows))
        if any(WITH_RESPECT_TO in row.axes for row in self._rows.values()):
            self.axes[WITH_RESPECT_TO] = names.coordinates
        self._kept = KeptRows(problem.options.output_interval)
        self.by_fields: Mapping[str, Mapping[str, np.ndarray]] = {}  # known once the run has ended

    def add(self, block: Any) -> None:
        """Take the next instants in; they are copied."""
        self._kept.add([block.time, *(row.of(block) for row in self._rows.values())])

    @property
    def paths(self) -> Sequence[str]:
        """Paths of all variables."""
        return ["time", *self._rows]

    def variable(self, path: str) -> Stored:
        """A variable by its path; raises KeyError."""
        if path == "time":
            return Stored(self._kept.column(0), ("time",), "s")
        row = self._rows[path]
        values = self._kept.column(self.paths.index(path))
        return Stored(values, ("time", *row.axes), in_words(row.unit), () if row.by else row.units)

    def __reduce__(self) -> Any:
        """Pickled as what it holds; what picks that from blocks stays behind."""
        return FinishedRecord, (self.axes, {path: self.variable(path) for path in self.paths}, self.by_fields)
