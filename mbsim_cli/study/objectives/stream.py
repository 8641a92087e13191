"""What accumulators of all objectives along time share: their signals, joined block to block, and the end of a run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.study.objectives.continuation import Continuation, continuation, weighed
from mbsim_cli.study.objectives.course import INSTANTS, Course, Instants
from mbsim_cli.study.objectives.integrand import Scale, integrand_of
from mbsim_cli.study.objectives.uncertainty import NOUGHT, Spread, Uncertainty


class Stream:
    """Adds blocks; a signal and its derivatives by p parameters are rows (1 + p, B), in which instants follow closely.

    Objectives of one run may share its ``course``.
    """

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        self.objective, self.p = objective, p
        self.course = Course() if course is None else course
        self._tail = np.zeros((1 + p, 0))  # rows of the last instants
        self._spread = Spread(p)
        self._rest: Continuation | None = None  # where it is known
        self._scale = Scale(objective)

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Take the next instants in; ``shift`` (1 + p, B) as of ``Course.instants``."""
        self._rest = None
        instants = self.course.instants(block.time, shift)
        signal = integrand_of(self.objective, block)
        rows = np.concatenate([self._tail, signal.rows], axis=1)
        self._tail = rows[:, rows.shape[1] - len(self.course.last) :].copy()
        rows = rows[:, rows.shape[1] - len(instants.time) :]
        self._scale.add(block, signal)
        self._spread.add(rows, self._scale.value)
        self.take(instants, rows)

    def take(self, instants: Instants, rows: np.ndarray) -> None:
        """Take a connected run of instants in."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        """The objective, so far."""
        raise NotImplementedError

    @property
    def drift(self) -> np.ndarray:
        """Errors (1 + p,) of constants of a motion that has any: what is ahead of time does not change them."""
        return self._spread.of_constants if np.any(self.course.ahead) else np.zeros(1 + self.p)

    def beyond(self, of: Callable[[Continuation], np.ndarray]) -> np.ndarray:
        """Errors (1 + p,) of what signals are continued by: what one instant fewer would change."""
        if len(self.course.last) < INSTANTS:
            return np.zeros(1 + self.p)
        by_fewer = weighed(of(continuation(self.course.last[1:], self.end)), self._tail[:, 1:])
        return np.abs(weighed(of(self.rest), self._tail) - by_fewer)

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        errors, scale = self.errors, self.extent * self._scale.value
        if max(abs(self.value), errors.size) <= NOUGHT * scale or not scale:
            scale = self.extent * self._scale.beside
        return errors._replace(scale=scale)

    @property
    def errors(self) -> Uncertainty:
        """The same as far as signals tell."""
        raise NotImplementedError

    @property
    def extent(self) -> float:
        """What a constant signal of one adds up to."""
        return 1.0

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
        return self.course.last[-1] == self.course.start

    @property
    def end(self) -> complex:
        """End of the analysis, s."""
        last = self.course.last[-1]
        return last if self.objective.end is None or self.still else self.objective.end

    @property
    def rest(self) -> Continuation:
        """Weights of the last instants in what lies between them and the end."""
        if self._rest is None:
            self._rest = continuation(self.course.last, self.end)
        return self._rest

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        by_parameter = np.asarray(self.objective.end_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() and not self.still else np.zeros(self.p)
