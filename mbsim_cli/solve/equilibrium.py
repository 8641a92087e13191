"""Static equilibrium as an analysis: one instant at rest, with multipliers, sensors and gradients."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.forward import Simulation, require_assembled
from mbsim_cli.solve.initial import Placed, initial_of, place
from mbsim_cli.solve.pivots import split_of
from mbsim_cli.solve.resting import Equilibrium, settle
from mbsim_cli.solve.tape import Tape


class RestTape(Tape):
    """The one instant of an equilibrium, and what it rests on."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Equilibrium | None = None


def equilibrium(problem: Problem, *, theta: np.ndarray | None = None, tape: RestTape | None = None) -> Iterator[Block]:
    """Yield the equilibrium as a block of one instant; ``theta`` may replace the numbers, also by complex ones.

    A ``tape`` keeps what an adjoint needs. Raises AnalysisError where the mechanism cannot be assembled, or no
    equilibrium is found.
    """
    placed, found = _settled(problem, theta, vary=tape is None)
    start = placed.start
    rows = replace(split_of(start.work.eq.J, np.arange(start.n), np.arange(start.m)), rows=found.rows)
    initial = initial_of(placed.at_rest(problem, found.held), rows, found.held)
    if tape is not None:
        tape.initial, tape.found = initial, found
    block = Simulation(problem, initial, tape).first_block()
    drift = np.array([[np.abs(start.work.eq.phi.real).max(initial=0.0), 0.0, 0.0]])
    yield block._replace(iterations=np.array([found.iterations]), drift=drift)


def found_equilibrium(problem: Problem) -> Equilibrium:
    """What the equilibrium of a problem rests on: its modes, and the coordinates that keep their initial values."""
    return _settled(replace(problem, theta_rho=problem.theta_rho[:, :0]), None)[1]


def _settled(problem: Problem, theta: np.ndarray | None, *, vary: bool = True) -> tuple[Placed, Equilibrium]:
    placed = place(problem, theta)
    require_assembled(problem, placed.residual)
    return placed, settle(problem, placed.start, vary=vary)
