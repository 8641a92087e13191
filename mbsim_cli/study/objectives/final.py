"""Objectives that are values at one time: at the end, or at a time that is given."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.stream import Continuation, Stream, continuation, weighed
from mbsim_cli.study.objectives.uncertainty import Course, Uncertainty


class Final(Stream):
    """Value at the end."""

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._sizes = np.zeros(1 + p)

    def take(self, instants, rows):
        """The last instants are kept anyway."""
        self._sizes = np.maximum(self._sizes, np.abs(rows).max(axis=1))

    def weights(self, time):
        rest = self.rest.value
        found = np.zeros(len(time), rest.dtype)
        found[-len(rest) :] = rest
        return found

    @property
    def errors(self):
        """By the motion, and by what is continued to the end; there is no quadrature."""
        ahead = np.array([np.nan]) if self.course.ahead is None else self.course.ahead
        errors = np.abs(weighed(self.rest.rate, self._tail) * (ahead if len(ahead) == 1 + self.p else ahead[:1]))
        return Uncertainty.of(errors, self._sizes).plus(self.drift + self.beyond(lambda rest: rest.value))

    @property
    def value(self):
        return weighed(self.rest.value, self._tail[0])

    @property
    def gradient(self):
        rest = self.rest
        return weighed(rest.value, self._tail[1:]) + self.by_end(weighed(rest.rate, self._tail[0]))


BESIDE = 2  # instants on each side of a time, that a cubic polynomial passes through


class At(Stream):
    """Value at the time ``objective.end``, of a cubic polynomial through the instants around it."""

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._time, self._rows = np.zeros(0), np.zeros((1 + p, 0))  # around the time, or the last ones so far
        self._sizes = np.zeros(1 + p)

    def take(self, instants, rows):
        self._sizes = np.maximum(self._sizes, np.abs(rows).max(axis=1))
        known = int(len(self._time) > 0 and instants.time[0] == self._time[-1])
        if len(self._time) and not known:
            return  # the time has passed
        time = np.append(self._time, instants.time[known:])
        rows = np.concatenate([self._rows, rows[:, known:]], axis=1)
        near = _around(time, self.end.real)
        self._time, self._rows = time[near].copy(), rows[:, near].copy()

    @property
    def _there(self) -> Continuation:
        return continuation(self._time, self.end)

    def weights(self, time):
        near = _around(time, self.end.real)
        found = continuation(time[near], self.end).value
        weights = np.zeros(len(time), found.dtype)
        weights[near] = found
        return weights

    @property
    def errors(self):
        """By the motion, and by the polynomial: one instant fewer changes that."""
        errors = np.abs(weighed(self._there.rate, self._rows) * self._ahead)
        if len(self._time) > 1:
            fewer = slice(1, None) if abs(self._time[0] - self.end) > abs(self._time[-1] - self.end) else slice(-1)
            other = continuation(self._time[fewer], self.end).value
            errors = errors + np.abs(weighed(self._there.value, self._rows) - weighed(other, self._rows[:, fewer]))
        return Uncertainty.of(errors, self._sizes).plus(self.drift)

    @property
    def _ahead(self) -> np.ndarray | float:
        ahead = self.course.ahead
        if ahead is None:
            return 0.0
        return ahead if len(ahead) == 1 + self.p else ahead[:1]

    @property
    def value(self):
        return weighed(self._there.value, self._rows[0])

    @property
    def gradient(self):
        there = self._there
        return weighed(there.value, self._rows[1:]) + self.by_end(weighed(there.rate, self._rows[0]))


def _around(time: np.ndarray, moment: float) -> slice:
    """The instants beside a moment, up to four; the last ones where it lies ahead."""
    behind = int(np.searchsorted(time, moment, side="right"))
    first = max(0, min(behind - BESIDE, len(time) - 2 * BESIDE))
    return slice(first, first + 2 * BESIDE)
