"""Reactions that are no numbers, undetermined or not found: which components, why, and which objectives read them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Block, InverseBlock, Problem

MOST = 12  # names in a sentence
REMEDY = "joints that leave room determine them"


class UnknownReactions:
    """Watches the reactions of a run go by; ``rows`` and ``redundant`` equations are for the sentences alone."""

    def __init__(
        self,
        problem: Problem,
        objectives: Sequence[Any],
        rows: Mapping[str, slice] | None = None,
        redundant: Sequence[str] = (),
    ):
        self._wanted = problem.reacting is not None
        self._objectives, self._rows, self._redundant = objectives, rows or {}, redundant
        self._components = dict(zip(problem.names.sensors, problem.names.sensor_components, strict=True))
        self._unknown: np.ndarray = np.zeros(0, bool)
        self._lost = Lost(self._components, self._rows)

    def add(self, block: Block | InverseBlock) -> None:
        """Take the next instants in."""
        undetermined = block.undetermined
        if isinstance(block, Block) and any(block.lost):
            self._lost.add(block)
            undetermined = undetermined[block.lost == None]  # noqa: E711, instant by instant
        if self._wanted and len(undetermined):
            found = np.logical_or.reduce(undetermined, axis=0)
            self._unknown = found | self._unknown if self._unknown.size else found

    @property
    def sensors(self) -> dict[str, str]:
        """Why components of sensors are not determined, by sensor."""
        undetermined = {
            name: f"{_listed(found)} not determined{self._because}; no number is shown"
            for name in self._rows
            if (found := self._components_of(name))
        }
        return self._lost.sensors | undetermined

    def _components_of(self, name: str) -> list[str]:
        """Components of a sensor that are not determined, as they are called in sentences."""
        if not self._unknown.any():
            return []
        marks = zip(self._components[name], self._unknown[self._rows[name]], strict=True)
        return [f"{name}.{label}" for label, unknown in marks if unknown]

    @property
    def _because(self) -> str:
        return f": {_listed(self._redundant)} follow from other equations" if self._redundant else ""

    @property
    def objectives(self) -> list[str]:
        """Objectives that read what is not determined."""
        return [
            objective.name
            for objective in self._objectives
            if (self._unknown.any() and self._reads(objective)) or self._lost.is_read_by(objective)
        ]

    def _reads(self, objective: Any) -> list[str]:
        """Components that an objective reads and that are not determined."""
        if objective.operands:
            return list(dict.fromkeys(one for operand in objective.operands for one in self._reads(operand)))
        return [
            f"{name}.{self._components[name][k]}"
            for name, read in objective.integrand.components.items()
            for k in read
            if self._unknown[objective.sensors[name]][k]
        ]

    @property
    def warnings(self) -> list[str]:
        """Sentences on components and objectives that are no numbers."""
        found = [component for name in self._rows for component in self._components_of(name)]
        if not found:
            return self._lost.warnings
        return [
            *self._lost.warnings,
            f"redundant constraints leave {_listed(found)} undetermined{self._because}; {REMEDY}",
            *(self._of_objective(objective) for objective in self._objectives if self._reads(objective)),
        ]

    def _of_objective(self, objective: Any) -> str:
        read = f"objective {objective.name} reads {_listed(self._reads(objective))}, and is no number"
        return f"{read}; components that are determined can be read alone, as R.force.x"


class Lost:
    """Watches for instants at which forces of constraints are not found, and sensors of them are no numbers."""

    def __init__(self, components: Mapping[str, Sequence[str]], rows: Mapping[str, slice]) -> None:
        self._components, self._rows = components, rows
        self._count, self._first = 0, ""
        self._columns: np.ndarray = np.zeros(0, bool)

    def add(self, block: Block) -> None:
        """Take instants in, some of which are such."""
        where = np.flatnonzero(block.lost)
        found = np.logical_or.reduce(block.undetermined[where], axis=0)
        self._first = self._first or f"first at t = {block.time[where[0]]:g} s, where they {block.lost[where[0]]}"
        self._columns = found | self._columns if self._count else found
        self._count += len(where)

    @property
    def sensors(self) -> dict[str, str]:
        """Why sensors are no numbers at some instants, by sensor."""
        return dict.fromkeys((name for name, rows in self._rows.items() if self._reads(rows)), self._sentence)

    def is_read_by(self, objective: Any) -> bool:
        """Whether an objective reads sensors that are no numbers at some instants."""
        if objective.operands:
            return any(map(self.is_read_by, objective.operands))
        return any(self._reads(objective.sensors[name]) for name in objective.integrand.components)

    def _reads(self, rows: slice) -> bool:
        return self._count > 0 and bool(self._columns[rows].any())

    @property
    def _sentence(self) -> str:
        return f"forces of constraints are no numbers at {self._count} instant{'s' * (self._count > 1)}, {self._first}"

    @property
    def warnings(self) -> list[str]:
        """A sentence, where there are such instants."""
        read = f"({_listed(list(self.sensors))}), nor is what reads them then"
        return [f"{self._sentence} {read}"] if self._count else []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
