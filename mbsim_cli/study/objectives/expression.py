"""An objective that is an expression of others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.study.objectives.uncertainty import Uncertainty


class Expression:
    """Expression of other objectives."""

    def __init__(self, objective: Objective, p: int, parts: Mapping[str, Any]):
        self.objective, self.p, self.parts = objective, p, parts

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in."""
        for part in self.parts.values():
            part.add(block, shift)

    def _arguments(self):
        operands = {name: np.reshape(part.value, (1, 1)) for name, part in self.parts.items()}
        return operands, np.zeros(1), self.objective.values

    @property
    def value(self):
        return self.objective.integrand.value(*self._arguments())[0]

    @property
    def streams(self):
        """Objectives along time that the value is made of, and its derivatives by them; after the run."""
        found = []
        for name, partial in self.objective.integrand.linearised(*self._arguments()).by_sensor.items():
            found += [(partial[0, 0] * factor, stream) for factor, stream in self.parts[name].streams]
        return found

    @property
    def gradient(self):
        total = np.zeros(self.p)
        _, by_operand, explicit = self.objective.integrand.linearised(*self._arguments())
        for name, partial in by_operand.items():
            total = total + partial[0, 0] * self.parts[name].gradient
        return total + [explicit[name][0] if name in explicit else 0.0 for name in self.objective.parameters[: self.p]]

    @property
    def uncertainty(self):
        """Of the operands, along the expression's derivatives; its curvature is left out."""
        total, scale = np.zeros((2, 1 + self.p)), 0.0
        for name, partial in self.objective.integrand.linearised(*self._arguments()).by_sensor.items():
            part = self.parts[name].uncertainty
            rows = np.append(part.value, part.gradient), np.append(part.size, part.gradient_size)
            total += np.abs(partial[0, 0]) * np.abs(rows)
            scale += abs(partial[0, 0]) * part.scale
        return Uncertainty(total[0, 0], total[0, 1:], total[1, 0], total[1, 1:], scale)


class Minimum(Expression):
    """Smooth minimum: what is left of the smooth maximum of the opposite."""

    @property
    def largest(self):
        """The smallest value at an instant."""
        return -next(iter(self.parts.values())).largest
