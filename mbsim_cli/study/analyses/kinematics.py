"""Kinematics: a motion that laws give wholly, and the forces that keep to it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Taped
from mbsim_cli.study.diagnostics.health import DrivenHealth


class Kinematics(Taped):
    """Samples of a motion, each solved for itself."""

    without = ("formulation", "integrator", "tolerance", "accuracy", "memory")

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Any]:
        """The samples."""
        from mbsim_cli.solve.kinematics.analysis import kinematics

        return kinematics(problem, theta=theta, tape=tape)

    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """Each sample for itself."""
        from mbsim_cli.solve.adjoint.whole_run import pull_back
        from mbsim_cli.solve.initial import assemble

        if tape.initial.dtheta.shape[1] < problem.theta_rho.shape[1]:  # parameters that the run knew nothing of
            tape.initial = assemble(problem, motion_only=True)
        return pull_back(problem, tape, count, seen, between, reacting)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> DrivenHealth:
        """Drift, iterations, and singular positions."""
        return DrivenHealth(problem.options, problem.names)
