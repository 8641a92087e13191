"""What gradients by two exact methods take, estimated before a run, in units of the time that it takes without them.

Both take eight columns at a time: the direct method parameters, the adjoint objectives. The factors are means of what
``benchmarks/adjoint.py`` measures, of mechanisms of 5 to 43 coordinates; what both methods share is left out.
"""

from typing import NamedTuple

from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.problem import Problem

TOGETHER = 8
STAGES = 5  # of a step of an open tree, at least
# of forward dynamics, over the motion: a block of parameters along with it; a sweep back, and what more objectives add
PARAMETERS, SWEEP, FURTHER = 0.7, 1.4, 0.7
STEPPED, SWEPT = 1.4, 2.2  # the same of open trees
AGAIN = 0.6  # the motion made once more, where there is no memory for all of it: objectives are not
# of an equilibrium, over one evaluation along eight directions
SEARCH, VARIED, PULLED = 10.0, 0.35, 3.0
# of inverse dynamics, over the torques: entries of their matrices; instants and their coordinates pulled back
ENTRY, INSTANT, COORDINATE = 0.042, 2.5, 0.14


class Costs(NamedTuple):
    """Times of gradients by each method, beyond that of the analysis alone, over it."""

    ddm: float
    adjoint: float

    @property
    def quicker(self) -> str:
        """The method that takes less; the direct one where both take the same."""
        return "adjoint" if self.adjoint < self.ddm else "ddm"

    def sentence(self) -> str:
        """Both, in words."""
        other = "ddm" if self.quicker == "adjoint" else "adjoint"
        times = {name: f"{1.0 + getattr(self, name):.1f}" for name in self._fields}
        return f"about {times[self.quicker]} times the analysis alone, and {times[other]} by {other}"


def costs_of(problem: Problem, objectives: int, memory: float) -> Costs:
    """Costs of gradients of so many objectives by a problem's parameters; ``memory`` bytes may hold its instants."""
    n, p = kinds(problem.model.tree).size, problem.theta_rho.shape[1]
    blocks, further = -(-p // TOGETHER), max(0, -(-objectives // TOGETHER) - 1)
    kind = problem.options.analysis
    if kind == "equilibrium":
        search = SEARCH * -(-n // TOGETHER)
        return Costs(VARIED * blocks / search, PULLED * (1 + further) / search)
    if kind == "inverse_dynamics":
        return Costs(ENTRY * (2 * n + p), (INSTANT + COORDINATE * n) * (1 + 0.5 * further))
    again = AGAIN if steps_of(problem) * _bytes_of_instant(problem) > memory else 0.0
    if problem.options.open_tree:
        return Costs(STEPPED * blocks, SWEPT * (1 + further) + again)
    return Costs(PARAMETERS * blocks, SWEEP + FURTHER * further + again)


def steps_of(problem: Problem) -> int:
    """Steps of an analysis; none of an equilibrium."""
    return round(problem.options.duration / problem.options.step)


def _bytes_of_instant(problem: Problem) -> int:
    """What an adjoint keeps of an instant."""
    model = problem.system.model if problem.options.natural else problem.model
    n, m = kinds(model.tree).size, model.constraints.measure.size
    rates = 2 * STAGES * n if problem.options.open_tree else 0
    return 8 * (5 * n + rates + 4 * m + int(model.sensors.first[-1]) + 8)
