"""An objective that is a value at the end."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.stream import Stream, weighed
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
