"""Forward dynamics: the motion that forces cause."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.model.problem import Problem
from mbsim_cli.study.analyses.analysis import Analysis
from mbsim_cli.study.diagnostics.health import Health


class ForwardDynamics(Analysis):
    """Motion from a start, step by step."""

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """Every step is an instant: objectives need them all."""
        from mbsim_cli.solve.forward import forward

        return forward(replace(problem, options=replace(problem.options, output_interval=1)), theta=theta)

    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> Health:
        """Drift, energy, iterations."""
        return Health(problem.options, problem.names)
