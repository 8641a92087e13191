"""Modes and static responses of a body, or the same with exact first derivatives along a change.

``Solved`` works on a real body and keeps the factor; ``Changed`` gives complex numbers whose imaginary parts are the
derivatives, by direct differentiation with that factor.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mbsim_cli.reduction.data import Array
from mbsim_cli.reduction.modes import Modes, Response, changed_shapes, lowest_modes
from mbsim_cli.reduction.system import Flexibility, System
from mbsim_cli.system import cached_property


class Solver(Protocol):
    """What a reduction needs to know of a body's displacements."""

    def modes(self) -> Array:
        """Shapes of the wanted modes (r, n)."""

    def static(self, F: Array) -> Array:
        """Responses (r, k) to loads."""


class Solved:
    """A real body; ``kept`` are the modes that are wanted, counted from 0."""

    def __init__(self, system: System, kept: Sequence[int]):
        self.system, self._kept = system, kept

    @cached_property
    def flexibility(self) -> Flexibility:
        """The factor."""
        return Flexibility(self.system)

    @cached_property
    def found(self) -> Modes:
        """The modes with their frequencies."""
        return lowest_modes(self.system, self.flexibility, self._kept)

    @cached_property
    def response(self) -> Response:
        """How the modes answer to changes."""
        return Response(self.system, self.flexibility, self.found)

    def modes(self) -> Array:
        """Shapes of the wanted modes (r, n)."""
        return self.found.shapes[:, self.found.kept]

    def static(self, F: Array) -> Array:
        """Responses (r, k) to loads; those of a free body hold it balanced and without rigid motion."""
        return self.flexibility.solve(F) if F.shape[1] else F


class Changed:
    """The body of a ``Solved`` with first-order changes: K, M and rigid motions whose imaginary parts are tiny."""

    def __init__(self, before: Solved, system: System):
        self._before, self._system = before, system

    def modes(self) -> Array:
        """Shapes with their derivatives; the span's basis turns as little as it can."""
        dV = changed_shapes(
            self._before.response, self._before.found, _imaginary(self._system.K), _imaginary(self._system.M)
        )
        return self._before.modes() + 1j * dV

    def static(self, F: Array) -> Array:
        """Responses with their derivatives: K dx = d(balanced load) - dK x, and no rigid motion before and after."""
        before = self._before
        x = before.static(np.ascontiguousarray(F.real))
        change = self._system.balanced(F).imag - _imaginary(self._system.K) @ x
        dx = before.flexibility.solve(change) if F.shape[1] else change
        return self._system.strained(x + 1j * dx)


def _imaginary(A):
    return A.imag if np.iscomplexobj(A.data) else 0 * A
