"""Static equilibrium: the position in which forces balance."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Analysis
from mbsim_cli.study.diagnostics.health import RestHealth


class Equilibrium(Analysis):
    """One instant at rest."""

    without = ("formulation", "integrator", "tolerance", "step", "accuracy", "duration", "memory")

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """The one instant."""
        from mbsim_cli.solve.equilibrium.analysis import equilibrium

        return equilibrium(problem, theta=theta)

    def tape(self, problem: Problem) -> Any:
        """The instant and what it rests on."""
        from mbsim_cli.solve.tape import Tape

        return Tape()

    def taped(self, problem: Problem, tape: Any) -> Iterator[Any]:
        """The one instant, kept by the tape."""
        from mbsim_cli.solve.equilibrium.analysis import equilibrium

        return equilibrium(problem, tape=tape)

    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """One solution of the equilibrium's equations, transposed."""
        from mbsim_cli.solve.adjoint.equilibrium import pull_back
        from mbsim_cli.solve.equilibrium.analysis import equilibrium

        if tape.initial.dtheta.shape[1] < problem.theta_rho.shape[1]:  # parameters that the run knew nothing of
            tape = self.tape(problem)
            for _ in equilibrium(problem, tape=tape):
                pass
        return pull_back(problem, tape, count, seen, reacting)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> RestHealth:
        """Stability, natural frequencies, and what no force decides."""
        return RestHealth(problem, objectives)
