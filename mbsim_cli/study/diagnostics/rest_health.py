"""Diagnostics of a static equilibrium."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.study.diagnostics.health import Health
from mbsim_cli.system import cached_property

UNSTABLE = "the smallest disturbance drives the mechanism away from it"


class RestHealth:
    """The same for a static equilibrium: whether it is stable, and what no force decides."""

    drifts, drift = False, 0.0
    steps = 0
    work: Mapping[str, int] = MappingProxyType({})

    def __init__(self, problem: Problem, objectives: Sequence[Any]):
        self._problem = problem
        self._integrals = [objective.name for objective in objectives if objective.kind == "integral"]
        self._block: Block | None = None

    def gradients_solved(self, error: float) -> None:
        """Nothing is left unsolved: no iteration solves for gradients."""

    def add(self, block: Block) -> None:
        """Take the one instant in."""
        self._block = block

    @cached_property
    def report(self) -> dict[str, Any]:
        """Diagnostics as ``run --json`` prints them."""
        assert self._block is not None
        found, names = self._block.rest[0], self._problem.names.coordinates
        free = [column for column in found.held if column not in self._problem.hold]
        squares = found.modes.eigenvalues
        return {
            "stability": "stable" if found.modes.stable else "unstable",
            "neutral_coordinates": [names[column] for column in free],
            "natural_frequencies": (np.sqrt(squares[squares.real > 0.0].real) / (2.0 * np.pi)).tolist(),
            "iterations": found.iterations,
            "drift": float(self._block.drift[0, 0]),
        }

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary."""
        found = [f"objective {name} integrates over no time, and is zero; final: reads it" for name in self._integrals]
        if self.report["stability"] == "unstable":
            found.append(f"the equilibrium is unstable: {UNSTABLE}")
        return found


class HealthFromRest(Health):
    """Of a motion that starts at an equilibrium: whether that is a stable one, too."""

    _stable = True

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        if len(block.time) and block.rest[0] is not None:
            self._stable = block.rest[0].modes.stable
        super().add(block)

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is out of the ordinary."""
        own = [] if self._stable else [f"the motion starts at an unstable equilibrium: {UNSTABLE}"]
        return own + super().warnings
