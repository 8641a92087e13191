"""Forward dynamics: the motion that forces cause."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.model.flexible import is_consistent
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Taped
from mbsim_cli.study.diagnostics.health import Health, HealthFromRest


class ForwardDynamics(Taped):
    """Motion from a start, step by step."""

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Any]:
        """Every step is an instant: objectives need them all."""
        from mbsim_cli.solve.forward import forward

        return forward(at_every_step(problem), theta=theta, tape=tape)

    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """One sweep back through time; the mean of two for parameters that need both sides of a change of laws."""
        from mbsim_cli.solve.sides import pulled_back

        def sweep(beside: Problem, theta: np.ndarray, watched: Any) -> Any:
            other = self.tape(problem)
            for _ in self.solve(problem, theta=theta, tape=other):
                between()
            return self._swept(beside, other, count, watched, between, reacting)

        def alone(watched: Any) -> Any:
            return self._swept(problem, tape, count, watched, between, reacting)

        theta = tape.initial.theta if np.iscomplexobj(tape.initial.theta) else problem.theta
        return pulled_back(problem, theta, seen, alone, sweep)

    @staticmethod
    def _swept(problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool) -> Any:
        from mbsim_cli.solve.adjoint.whole_run import pull_back
        from mbsim_cli.solve.initial import assemble
        from mbsim_cli.solve.natural.start import start_of

        if tape.initial.dtheta.shape[1] < problem.theta_rho.shape[1]:  # parameters that the run knew nothing of
            tape.initial = start_of(problem)[1] if problem.options.natural else assemble(problem)
        return pull_back(problem, tape, count, seen, between, reacting)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> Health:
        """Drift, energy, iterations; where it starts at an equilibrium, whether that is stable."""
        watched = HealthFromRest if problem.options.start == "equilibrium" else Health
        return watched(problem.options, problem.names, keeps_energy(problem), problem.touching)


def keeps_energy(problem: Problem) -> bool:
    """Whether the equations of motion do: of bodies whose terms have all identities but those of bodies that stiffen.

    Derivation: docs/theory/flexible_bodies.md, sections 2 and 5.
    """
    tree: Any = problem.model.tree
    if not hasattr(tree, "deviation"):
        return True
    bodies = zip(tree.block, tree.deviation, np.diff(tree.elastic), strict=True)
    return all(second == NONE or is_consistent(problem.theta, first, second, int(n)) for first, second, n in bodies)


def at_every_step(problem: Problem) -> Problem:
    """The problem whose blocks have every step as an instant."""
    return replace(problem, options=replace(problem.options, output_interval=1))
