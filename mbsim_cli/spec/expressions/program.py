"""``Program``: a scalar expression as steps on numbers or whole arrays, with the exact derivatives by all its inputs.

Derivatives go backwards through the steps, so that all of them together cost little more than the value, however many
components a vector has.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbsim_cli.spec.expressions.elementary import Elementary

Step = tuple[Elementary, tuple[int, ...]]  # an operation, and the places of its arguments


class Program:
    """Inputs stand at the first places, and each step adds one; the expression is the value at ``result``."""

    def __init__(self, inputs: int, steps: Sequence[Step], result: int):
        self._inputs = inputs
        self._reached = _reached(inputs, steps, result)
        self._steps, self._result = _without_gaps(inputs, steps, result, self._reached)
        self._selects = any(operation.name == "select" for operation, _ in self._steps)

    def reads(self, place: int) -> bool:
        """Whether an input has an influence."""
        return place in self._reached

    def value(self, inputs: Sequence[Any]) -> Any:
        """Value at the inputs: numbers or arrays of one shape, real or complex; nothing warns of what is not finite."""
        with np.errstate(all="ignore"):
            return self._values(inputs)[self._result]

    def gradient(self, inputs: Sequence[Any]) -> list[Any]:
        """Derivatives by each input, numbers or arrays; 0 by those that have no influence."""
        return self.value_and_gradient(inputs)[1]

    def value_and_gradient(self, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Both in one pass."""
        with np.errstate(all="ignore"):
            values = self._values(inputs)
            covectors: list[Any] = [None] * len(values)
            covectors[self._result] = np.float64(1.0)
            for place in range(len(values) - 1, self._inputs - 1, -1):
                operation, operands = self._steps[place - self._inputs]
                arguments = [values[k] for k in operands]
                for k, operand in enumerate(operands):
                    pulled = operation.pull(k, covectors[place], values[place], *arguments)
                    if self._selects:  # what is not chosen may have no slope
                        pulled = np.where(np.equal(covectors[place], 0.0), 0.0, pulled)
                    covectors[operand] = pulled if covectors[operand] is None else covectors[operand] + pulled
        return values[self._result], [0.0 if found is None else found for found in covectors[: self._inputs]]

    def _values(self, inputs: Sequence[Any]) -> list[Any]:
        values = [np.asarray(value)[()] for value in inputs]  # infinite where Python's own numbers would raise
        for operation, operands in self._steps:
            values.append(operation.value(*(values[k] for k in operands)))
        return values


def _reached(inputs: int, steps: Sequence[Step], result: int) -> frozenset[int]:
    """Places that the result depends on."""
    found, waiting = {result}, [result]
    while waiting:
        place = waiting.pop()
        fresh = set(steps[place - inputs][1]) - found if place >= inputs else set()
        found |= fresh
        waiting.extend(fresh)
    return frozenset(found)


def _without_gaps(inputs: int, steps: Sequence[Step], result: int, reached: frozenset[int]) -> tuple[list[Step], int]:
    """The steps that are needed, and the place of the result among them."""
    moved = {place: place for place in range(inputs)}
    kept: list[Step] = []
    for place, (operation, operands) in enumerate(steps, inputs):
        if place in reached:
            moved[place] = inputs + len(kept)
            kept.append((operation, tuple(moved[operand] for operand in operands)))
    return kept, moved[result]
