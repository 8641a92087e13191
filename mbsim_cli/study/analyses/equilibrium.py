"""Static equilibrium: the position in which forces balance."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Analysis
from mbsim_cli.study.diagnostics.rest_health import RestHealth


class Equilibrium(Analysis):
    """One instant at rest."""

    without = ("formulation", "integrator", "tolerance", "step", "accuracy", "duration")

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """The one instant."""
        from mbsim_cli.solve.equilibrium import equilibrium

        return equilibrium(problem, theta=theta)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> RestHealth:
        """Stability, natural frequencies, and what no force decides."""
        return RestHealth(problem, objectives)
