"""Everything about a mechanism at one instant: state, directions of differentiation, and the kernels' arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbsim_cli.kernels.compiler.jit import bound
from mbsim_cli.kernels.drivers.instants import Linearisation, close_loops, linearise, stand
from mbsim_cli.model.layout import Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate


class Instant:
    """A state to be evaluated; ``theta`` may be complex, ``dtheta`` is (len(theta), p), p ``padded``.

    One ``beside`` another has the same state and work arrays, and other directions.
    """

    def __init__(
        self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray, beside: "Instant | None" = None
    ) -> None:
        self.model = problem.model
        self.theta, self.dtheta = theta, dtheta
        self.at_center = allocate.control(problem.options, redundant=False).at_center
        self.dtype = theta.dtype.type
        self.n, self.m = allocate.sizes(self.model)[1:]
        self.p = dtheta.shape[1]
        self.state = beside.state if beside else allocate.state(self.model, self.dtype)
        self.sens = allocate.sensitivity(self.model, self.p, self.dtype)
        self.work = beside.work if beside else allocate.work_at_instant(self.model, self.theta)
        self.twists = allocate.twists_of(self.model, self.p, self.dtype)
        self.out: Linearisation = allocate.linearisation(self.model, self.p, self.dtype)
        first = self.model.tree.initial[0] + self.n
        self.d_rates = dtheta[first : first + self.n].copy()  # (n, p) derivatives of the declared velocities
        self.angles = self.work.turns.measure
        self.update_directions()

    def update_directions(self) -> None:
        """Note which numbers vary."""
        self.directions = allocate.directions(self.model, self.dtheta, self.dtype)
        self._evaluate = self._entry()

    def evaluate(self, t: float = 0.0) -> None:
        """Everything about the current state, along the current sensitivities."""
        self._evaluate(t)
        if self.angles.size:
            self.work.kin.expected[self.angles] = self.out.measures[self.angles].real

    def _entry(self) -> Callable[[float], Any]:
        """What evaluates, at a time."""
        work = self.work
        return bound(
            linearise, self.model, self.theta, 0.0, 0.0, self.at_center, self.directions, self.state, self.sens,
            work.kin, work.comp, work.eq, self.twists, self.out,
        )  # fmt: skip


class Geometry(Instant):
    """An instant of which constraints and measures alone are evaluated, not forces."""

    def _entry(self) -> Callable[[float], Any]:
        work = self.work
        return bound(
            close_loops, self.model, self.theta, self.at_center, self.directions, self.state, self.sens, work.kin,
            work.eq, self.twists, self.out,
        )  # fmt: skip


# Everything about a mechanism in natural coordinates at one instant, as ``solve.instant`` of a tree.


class Standing:
    """A state to be evaluated; ``dtheta`` is (len(theta), p), p ``padded``, and angles are read near ``expected``."""

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, expected: np.ndarray) -> None:
        self.model, self.theta, self.dtheta = model, theta, dtheta
        self.dtype = theta.dtype.type
        self.n, self.m = allocate.sizes(model)[1:]
        self.p = dtheta.shape[1]
        self.state, self.sens = allocate.state(model, self.dtype), allocate.sensitivity(model, self.p, self.dtype)
        self.work = allocate.work_at_instant(model, theta)
        self.work.kin.expected[:] = expected
        self.out = allocate.linearisation(model, self.p, self.dtype)
        self._twists = allocate.twists_of(model, self.p, self.dtype)
        self._stand = bound(
            stand, model, theta, False, allocate.directions(model, dtheta, self.dtype), self.state, self.sens,
            self.work.kin, self.work.comp, self.work.eq, self._twists, self.out,
        )  # fmt: skip

    def evaluate(self, t: float = 0.0) -> None:
        """Everything about the current state, along the current sensitivities."""
        self._stand(t)
