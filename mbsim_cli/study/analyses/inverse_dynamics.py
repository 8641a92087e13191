"""Inverse dynamics: the torques that a motion takes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Analysis
from mbsim_cli.study.diagnostics.health import TorqueHealth


class InverseDynamics(Analysis):
    """Torques along a given motion, with all their derivatives."""

    without = ("formulation", "integrator", "tolerance", "memory")
    inverse = True

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """The instants of the motion; numbers are those of the problem."""
        from mbsim_cli.solve.inverse.analysis import inverse

        return inverse(problem)

    def tape(self, problem: Problem) -> Any:
        """The times of the motion."""
        from mbsim_cli.solve.adjoint.inverse_dynamics import TorqueTape

        return TorqueTape()

    def taped(self, problem: Problem, tape: Any) -> Iterator[Any]:
        """The instants of the motion, without derivatives."""
        return tape.blocks(problem)

    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """Each instant for itself."""
        if problem.drives is not None:
            from mbsim_cli.solve.adjoint.inverse_loops import pull_back_loops

            return pull_back_loops(problem, count, seen, between, reacting)
        from mbsim_cli.solve.adjoint.inverse_dynamics import pull_back

        return pull_back(problem, count, seen, between, reacting)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> TorqueHealth:
        """The largest torque."""
        return TorqueHealth(problem)

    def verify(self, model: str, assembled: Any, seed: int) -> Iterator[Any]:
        """Derivatives of torques by the motion and by parameters."""
        from mbsim_cli.study.verification.torques import torque_directions

        if assembled.problem.drives is not None:  # its objectives are compared, which read them
            return iter(())
        return torque_directions(model, assembled, seed)

    def stores_sensitivities(self, problem: Problem) -> bool:
        """Derivatives by the motion need no parameters."""
        return problem.options.sensitivity == "ddm"
