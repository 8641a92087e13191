"""Small motions about an equilibrium or a steady motion: their modes, and how they answer to inputs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Analysis, Diagnostics
from mbsim_cli.study.diagnostics.modal_health import ModalHealth, ResponseHealth

NO_ADJOINT = "small motions have no adjoint"  # asked for before, by whoever lets the user choose


class Modes(Analysis):
    """One instant, and the modes about it."""

    without = ("formulation", "integrator", "tolerance", "step", "accuracy", "duration", "memory")

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """The one instant; numbers are those of the problem."""
        from mbsim_cli.solve.linear.analysis import modes

        return modes(problem)

    def tape(self, problem: Problem) -> Any:
        """There is none."""
        raise AnalysisError(NO_ADJOINT)

    def taped(self, problem: Problem, tape: Any) -> Iterator[Any]:
        """There is none."""
        raise AnalysisError(NO_ADJOINT)

    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """There is none."""
        raise AnalysisError(NO_ADJOINT)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> Diagnostics:
        """Stability, equal eigenvalues, motions that are not steady."""
        return ModalHealth(problem, objectives)


class FrequencyResponse(Modes):
    """One instant, and how small motions about it answer to inputs."""

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """The one instant; numbers are those of the problem."""
        from mbsim_cli.solve.linear.response import responses

        return responses(problem)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> Diagnostics:
        """Stability, and resonances without damping."""
        return ResponseHealth(problem, objectives)
