"""Diagnostics of inverse dynamics."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mbsim_cli.model.problem import InverseBlock, Problem


class TorqueHealth:
    """The same for inverse dynamics: the largest torque, and where."""

    drifts, drift = False, 0.0
    warnings: tuple[str, ...] = ()
    work: Mapping[str, int] = MappingProxyType({})

    def __init__(self, problem: Problem):
        self._names = problem.names.coordinates
        self.steps = -1  # the first instant ends no step
        self._largest: tuple[float, str, float] = (0.0, "", 0.0)

    def gradients_solved(self, error: float) -> None:
        """Nothing is left unsolved: no iteration solves for gradients."""

    def add(self, block: InverseBlock) -> None:
        """Take the next instants in."""
        self.steps += len(block.time)
        sizes = np.abs(block.torque)
        if sizes.size and not sizes.max() < self._largest[0]:
            row, column = divmod(int(sizes.argmax()), sizes.shape[1])
            found = (float(sizes[row, column]), self._names[column], float(block.time[row]))
            self._largest = max(self._largest, found)

    @property
    def report(self) -> dict[str, Any]:
        """Diagnostics as ``run --json`` prints them."""
        return {"largest_torque": dict(zip(("size", "coordinate", "time"), self._largest, strict=True))}
