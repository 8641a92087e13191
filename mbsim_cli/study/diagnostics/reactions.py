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
            found = np.isnan(block.sensors).any(axis=0)
            self._unknown = found | self._unknown if self._unknown.size else found

    @property
    def sensors(self) -> list[str]:
        """Sensors with components that are not determined."""
        return [name for name, rows in self._rows.items() if self._unknown.any() and self._unknown[rows].any()]

    @property
    def objectives(self) -> list[str]:
        """Objectives that read what is not determined."""
        return [objective.name for objective in self._objectives if self._unknown.any() and self._reads(objective)]

    def _reads(self, objective: Any) -> bool:
        if objective.operands:
            return any(self._reads(operand) for operand in objective.operands)
        return any(
            self._unknown[objective.sensors[name]][list(read)].any()
            for name, read in objective.integrand.components.items()
        )

    @property
    def warnings(self) -> list[str]:
        """Sentences on components and objectives that are no numbers."""
        found = [
            f"{name}.{label}"
            for name, rows in self._rows.items()
            if self._unknown.any()
            for label, unknown in zip(self._components[name], self._unknown[rows], strict=True)
            if unknown
        ]
        if not found:
            return []
        because = f": {_listed(self._redundant)} follow from other equations" if self._redundant else ""
        return [
            f"redundant constraints leave {_listed(found)} undetermined{because}; {REMEDY}",
            *(f"objective {name} reads undetermined reactions, and is no number" for name in self.objectives),
        ]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
