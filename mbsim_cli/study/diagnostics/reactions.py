"""Reactions that redundant constraints leave undetermined: which components, why, and which objectives read them."""

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

    def add(self, block: Block | InverseBlock) -> None:
        """Take the next instants in."""
        if self._wanted and len(block.time):
            found = np.logical_or.reduce(block.undetermined, axis=0)
            self._unknown = found | self._unknown if self._unknown.size else found

    @property
    def sensors(self) -> dict[str, str]:
        """Why components of sensors are not determined, by sensor."""
        return {
            name: f"{_listed(found)} not determined{self._because}; no number is shown"
            for name in self._rows
            if (found := self._components_of(name))
        }

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
        return [objective.name for objective in self._objectives if self._unknown.any() and self._reads(objective)]

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
            return []
        return [
            f"redundant constraints leave {_listed(found)} undetermined{self._because}; {REMEDY}",
            *(self._of_objective(objective) for objective in self._objectives if self._reads(objective)),
        ]

    def _of_objective(self, objective: Any) -> str:
        read = f"objective {objective.name} reads {_listed(self._reads(objective))}, and is no number"
        return f"{read}; components that are determined can be read alone, as R.force.x"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
