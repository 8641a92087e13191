"""The interface of every kind of analysis: its solver, its diagnostics and its adjoint."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mbsim_cli.model.problem import Problem


class Diagnostics(Protocol):
    """Watches the blocks of an analysis go by."""

    @property
    def drifts(self) -> bool:
        """Whether constraints are violated by more than round-off."""

    @property
    def drift(self) -> float:
        """Largest violation of a constraint, m or 1."""

    @property
    def steps(self) -> int:
        """Steps taken."""

    def gradients_solved(self, error: float) -> None:
        """Take in the relative size of what gradients that come after the run leave unsolved."""

    @property
    def work(self) -> Any:
        """Counts of an integrator by name; empty without one."""

    @property
    def report(self) -> dict[str, Any]:
        """Diagnostics as ``run --json`` prints them."""

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences on what is out of the ordinary."""

    def add(self, block: Any) -> None:
        """Take the next instants in."""


class Analysis(ABC):
    """A kind of analysis: how its problem is solved, watched, stored and verified."""

    without: tuple[str, ...] = ()  # options of ``Settings`` that it has no use for
    inverse = False  # whether its blocks are those of inverse dynamics

    @abstractmethod
    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """Every instant, in blocks; ``theta`` may replace the numbers of the problem, also by complex ones."""

    @abstractmethod
    def tape(self, problem: Problem) -> Any:
        """A record of a run for its adjoint; its ``time`` are all instants (N,) after the run."""

    @abstractmethod
    def taped(self, problem: Problem, tape: Any) -> Iterator[Any]:
        """Every instant, in blocks, kept by the tape."""

    @abstractmethod
    def pull_back(
        self, problem: Problem, tape: Any, count: int, seen: Any, between: Callable[[], None], reacting: bool
    ) -> Any:
        """``solve.adjoint.pulled.Pulled`` of ``count`` numbers by covectors of what they see."""

    @abstractmethod
    def diagnostics(self, problem: Problem, objectives: Sequence[Any]) -> Diagnostics:
        """Diagnostics that watch a run of it."""

    def verify(self, model: str, assembled: Any, seed: int) -> Iterator[Any]:
        """Comparisons of ``mbsim check`` that this kind of analysis alone can make."""
        yield from ()

    def stores_sensitivities(self, problem: Problem) -> bool:
        """Whether its blocks have derivatives by parameters."""
        return problem.theta_rho.shape[1] > 0 and problem.options.sensitivity != "adjoint"


class Taped(Analysis):
    """An analysis whose one solver also keeps, on a tape, what its adjoint needs."""

    @abstractmethod
    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Any]:
        """Every instant, in blocks, at other numbers or kept by a tape."""

    def blocks(self, problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
        """Every instant, in blocks."""
        return self.solve(problem, theta=theta)

    def tape(self, problem: Problem) -> Any:
        """All instants, or checkpoints, within the memory allowed."""
        from mbsim_cli.solve.tape import Tape

        return Tape(problem.options.memory)

    def taped(self, problem: Problem, tape: Any) -> Iterator[Any]:
        """Every instant, in blocks, kept by the tape."""
        return self.solve(problem, tape=tape)
