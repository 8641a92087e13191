"""Whether the motion is stiff: what bounds the steps of an explicit method, accuracy or stability.

Two stages of ``dop853`` stand at the end of a step. They differ by little, mostly along the fastest modes, and so do
their accelerations: lambda^2 = |dz''| / |dz| for vibrations and for decays. Where h lambda lies near the end of the
method's region of stability in most steps, stability bounds them. Source: Hairer, Wanner, Solving Ordinary Differential
Equations II (1996), section IV.2, which compares the rates of both stages with their states.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation

STEPS = 120  # that are looked at, after the start
LAST = 40  # of them decide: the first ones grow
STABLE = 6.1  # h lambda of dop853, about
NEAR = 0.6  # share of it from which steps are as long as stability allows


class Pilot(NamedTuple):
    """What the first steps of ``dop853`` show."""

    end: float  # s, of the last step
    reach: float  # h lambda of most steps, over what is stable; NaN where no step succeeds
    breakpoints: int  # times of the run at which steps end, because laws change

    @property
    def stiff(self) -> bool:
        """Whether an implicit method may take longer steps."""
        return not self.reach < NEAR


def pilot(problem: Problem) -> Pilot:
    """Look at the first steps of the motion by ``dop853`` at the tolerances of the options."""
    options = replace(problem.options, sensitivity="none", integrator="dop853", error_control="motion")
    alone = replace(problem, options=options, theta_rho=problem.theta_rho[:, :0], ahead=None)
    simulation = OpenTreeSimulation(alone)
    breakpoints = simulation.work.kinks.time.size
    try:
        simulation.first_block()
    except AnalysisError:  # the run itself says why
        return Pilot(0.0, 0.0, breakpoints)
    steps = simulation.steps_ahead(STEPS)
    taken = [k for k in range(len(steps.time)) if steps.size[k] > 0.0]
    if not taken:
        return Pilot(0.0, np.nan, breakpoints)
    a, b = simulation.tableau.a, simulation.tableau.b
    last, weights = b.size, np.append(b, 0.0)
    weights[:-1] -= a[b.size - 1, : b.size]
    found = []
    for k in taken[-LAST:]:
        h, zd, zdd = steps.size[k], steps.zd[k, : last + 1], steps.zdd[k, : last + 1]
        moved, bent = np.linalg.norm(h * (weights @ zd)), np.linalg.norm(zdd[last] - zdd[last - 1])
        found.append(h * np.sqrt(bent / moved) if moved > 0.0 else 0.0)
    return Pilot(float(steps.end[taken[-1]]), float(np.median(found)) / STABLE, breakpoints)
