"""Static equilibrium: the position in which forces balance."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Taped
from mbsim_cli.study.diagnostics.health import RestHealth


class Equilibrium(Taped):
    """One instant at rest."""

    without = ("formulation", "integrator", "tolerance", "step", "accuracy", "duration", "memory")

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Any]:
        """The one instant."""
        from mbsim_cli.solve.equilibrium.analysis import equilibrium

        return equilibrium(problem, theta=theta, tape=tape)

    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """One solution of the equilibrium's equations, transposed."""
        from mbsim_cli.solve.adjoint.equilibrium import pull_back

        if tape.initial.dtheta.shape[1] < problem.theta_rho.shape[1]:  # parameters that the run knew nothing of
            tape = self.tape(problem)
            for _ in self.taped(problem, tape):
                pass
        return pull_back(problem, tape, count, seen, reacting)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> RestHealth:
        """Stability, natural frequencies, and what no force decides."""
        return RestHealth(problem, objectives)
