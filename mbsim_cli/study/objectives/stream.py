"""What accumulators of all objectives along time share: blocks joined to each other, and the end of the analysis."""

from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.study.objectives.continuation import INSTANTS, Continuation, continuation
from mbsim_cli.study.objectives.integrand import integrand_of
from mbsim_cli.study.objectives.uncertainty import Spread, Uncertainty


def trapezoidal(time: np.ndarray) -> np.ndarray:
    """Weights (B,) of the trapezoidal rule."""
    half, weights = 0.5 * np.diff(time), np.zeros(len(time))
    weights[:-1] = half
    weights[1:] += half
    return weights


class Stream:
    """Adds blocks; joins each to the last instant of the one before, so that no interval is lost."""

    def __init__(self, objective: Objective, p: int):
        self.objective, self.p = objective, p
        self._tail: tuple[np.ndarray, ...] = ()  # time, value, derivative of the last instants
        self.start = 0.0
        self._ahead: float | None = None  # by how much time the motion is ahead at the last instant
        self._spread = Spread(p)
        self._rest: Continuation | None = None  # where it is known

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in; ``shift`` (B,) is by how much time their motion is ahead, None if not known."""
        self._rest = None
        time = block.time
        fresh = (time, *integrand_of(self.objective, block))
        if self._tail:
            joined = tuple(map(np.concatenate, zip(self._tail, fresh, strict=True)))
            first = len(self._tail[0]) - 1
        else:
            joined, first, self.start = fresh, 0, time[0]
        self._tail = tuple(column[-INSTANTS:].copy() for column in joined)
        time, value, derivative = (column[first:] for column in joined)
        shifts = np.zeros(len(time))
        if shift is not None:
            shifts[len(time) - len(shift) :] = shift
            shifts[: len(time) - len(shift)] = self._ahead
        self._ahead = None if shift is None else float(shifts[-1])
        self._spread.add(value, derivative)
        self.take(time, value, derivative, shifts)

    def take(self, time: np.ndarray, value: np.ndarray, derivative: np.ndarray, shift: np.ndarray) -> None:
        """Take a connected run of instants in."""
        raise NotImplementedError

    @property
    def drift(self) -> np.ndarray:
        """Errors (1 + p,) of constants of a motion that has any: what is ahead of time does not change them."""
        return self._spread.of_constants if self._ahead else np.zeros(1 + self.p)

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        raise NotImplementedError

    @property
    def streams(self) -> list[tuple[float, "Stream"]]:
        """Objectives along time that the value is made of, and its derivatives by them."""
        return [(1.0, self)]

    def weights(self, time: np.ndarray) -> np.ndarray:
        """Derivatives (N,) of the value by the signal at all instants ``time`` (N,), but for ``share``."""
        raise NotImplementedError

    def share(self, value: np.ndarray) -> np.ndarray:
        """Factors (B,) of these where the signal has a value (B,); after the run."""
        return np.ones(len(value))

    @property
    def still(self) -> bool:
        """Whether there is but one instant."""
        return self._tail[0][-1] == self.start

    @property
    def end(self) -> complex:
        """End of the analysis, s."""
        last = self._tail[0][-1]
        return last if self.objective.end is None or self.still else self.objective.end

    @property
    def rest(self) -> Continuation:
        """Weights of the last instants in what lies between them and the end."""
        if self._rest is None:
            self._rest = continuation(self._tail[0], self.end)
        return self._rest

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        by_parameter = np.asarray(self.objective.end_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() and not self.still else np.zeros(self.p)
