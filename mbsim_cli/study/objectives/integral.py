"""Objectives that are integrals over time, and means."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.stream import Stream, weighed
from mbsim_cli.study.objectives.uncertainty import Course, Integrals, Uncertainty, trapezoidal


class Integral(Stream):
    """Integral over time."""

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._integrals = Integrals(p)

    def take(self, instants, rows):
        self._integrals.add(instants, rows)

    def weights(self, time):
        rest = self.rest.integral
        found = trapezoidal(time).astype(rest.dtype)
        found[-len(rest) :] += rest
        return found

    @property
    def errors(self):
        others = self.extent * self.drift + self.beyond(lambda rest: rest.integral)
        return self._integrals.uncertainty(self.course.intervals).plus(others)

    @property
    def extent(self):
        return abs(self.end - self.course.start)

    @property
    def _whole(self):
        """Integrals (1 + p,) until the end."""
        return self._integrals.value + weighed(self.rest.integral, self._tail)

    @property
    def value(self):
        return self._whole[0]

    @property
    def gradient(self):
        return self._whole[1:] + self.by_end(weighed(self.rest.value, self._tail[0]))


class Mean(Integral):
    """Mean over time: the integral over the duration; of one instant what there is."""

    @property
    def _duration(self):
        return self.end - self.course.start

    def weights(self, time):
        return np.ones(1) if self.still else super().weights(time) / self._duration

    @property
    def errors(self):
        if self.still:
            return Uncertainty(0.0, np.zeros(self.p), 0.0, np.zeros(self.p))
        found, duration = super().errors, abs(self._duration)
        return Uncertainty(*(part / duration for part in found))

    @property
    def value(self):
        return self._tail[0, -1] if self.still else super().value / self._duration

    @property
    def gradient(self):
        if self.still:
            return self._tail[1:, -1]
        return (super().gradient - self.by_end(self.value)) / self._duration
