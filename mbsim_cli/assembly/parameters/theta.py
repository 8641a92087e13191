"""The vector theta, filled block by block; each block knows how to compute itself again.

A block's function reads the model file's numbers, so evaluating it under a complex step gives its exact derivative;
only blocks that read a number which depends on the parameter are evaluated for it.
"""

from collections.abc import Callable, Container, Sequence
from copy import copy
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import STEP, Numbers
from mbsim_cli.assembly.parameters.vectors import Scalar

Function = Callable[[], Sequence[Scalar]]


class Theta:
    """Growing list of blocks."""

    def __init__(self, numbers: Numbers):
        self.numbers = numbers
        self._blocks: list[tuple[int, Function, frozenset]] = []
        self._values: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, function: Function) -> int:
        """Append the block that ``function`` computes; return its offset."""
        offset = len(self._values)
        with self.numbers.recorded() as read:
            self._values.extend(function())
        self._blocks.append((offset, function, frozenset(read)))
        return offset

    def values(self) -> np.ndarray:
        """Theta (size,)."""
        return np.array(self._values, dtype=float)

    def renewed(self, changed: frozenset[Any]) -> "Theta":
        """The same where some numbers have changed; raises what their blocks raise."""
        found = copy(self)
        found._values, found._blocks = self._values.copy(), self._blocks.copy()
        for place, (offset, function, read) in enumerate(self._blocks):
            if not read.isdisjoint(changed):
                with self.numbers.recorded() as now:
                    block = function()
                found._values[offset : offset + len(block)] = block
                found._blocks[place] = offset, function, frozenset(now)
        return found

    def beside(self, environment: Any, parameters: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Theta (size,) and d theta / d rho (size, p) where another environment gives the numbers."""
        with self.numbers.reading(environment):
            values = np.concatenate([np.asarray(function(), dtype=float) for _, function, _ in self._blocks])
            return values, self.jacobian(parameters)

    def jacobian(self, parameters: Sequence[str], blocks: Container[int] | None = None) -> np.ndarray:
        """d theta / d rho (size, p), if need be of blocks at some offsets alone."""
        by_parameter = np.zeros((len(self._values), len(parameters)))
        readers: dict[Any, list[int]] = {}  # blocks by the numbers that they read
        for place, (_, _, read) in enumerate(self._blocks if parameters else ()):
            for number in read:
                readers.setdefault(number, []).append(place)
        try:
            for k, parameter in enumerate(parameters):
                stepped = self.numbers.step_along(parameter)
                for place in sorted({place for number in stepped for place in readers.get(number, ())}):
                    offset, function, _ = self._blocks[place]
                    if blocks is not None and offset not in blocks:
                        continue
                    block = np.asarray(function(), dtype=complex)
                    by_parameter[offset : offset + len(block), k] = block.imag / STEP
        finally:
            self.numbers.step_along(None)
        return by_parameter
