"""Static equilibrium as an analysis: one instant at rest, with multipliers, sensors and gradients."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.equilibrium.resting import settle
from mbsim_cli.solve.forward import Simulation
from mbsim_cli.solve.initial import Initial, initial_of, place, require_assembled
from mbsim_cli.solve.redundancy import split_of
from mbsim_cli.solve.tape import Tape


def equilibrium(problem: Problem, *, theta: np.ndarray | None = None, tape: Tape | None = None) -> Iterator[Block]:
    """Yield the equilibrium as a block of one instant; ``theta`` may replace the numbers, also by complex ones.

    A ``tape`` keeps what an adjoint needs. Raises AnalysisError where the mechanism cannot be assembled, or no
    equilibrium is found.
    """
    initial, drift = settled(problem, theta, vary=tape is None)
    assert initial.rest is not None
    if tape is not None:
        tape.initial = initial
    block = Simulation(problem, initial, tape).first_block()
    yield block._replace(iterations=np.array([initial.rest.iterations]), drift=np.array([[drift, 0.0, 0.0]]))


def settled(problem: Problem, theta: np.ndarray | None = None, *, vary: bool = True) -> tuple[Initial, float]:
    """The equilibrium as a start, and the largest violation of a constraint there; raises AnalysisError."""
    placed = place(problem, theta)
    require_assembled(problem, placed.residual)
    start = placed.start
    found = settle(problem, start, vary=vary)
    rows = replace(split_of(start.work.eq.J, np.arange(start.n), np.arange(start.m)), rows=found.rows)
    initial = initial_of(placed.at_rest(problem, found), rows, found.held)
    return initial, float(np.abs(start.work.eq.phi.real).max(initial=0.0))
