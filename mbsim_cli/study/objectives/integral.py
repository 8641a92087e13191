"""An objective that is an integral over time."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.continuation import weighed
from mbsim_cli.study.objectives.stream import Stream, trapezoidal
from mbsim_cli.study.objectives.uncertainty import IntegralErrors


class Integral(Stream):
    """Integral over time."""

    def __init__(self, objective: Objective, p: int):
        super().__init__(objective, p)
        self._value, self._gradient = 0.0, np.zeros(p)
        self._errors = IntegralErrors(p)

    def take(self, time, value, derivative, shift):
        weights = trapezoidal(time)
        self._value = self._value + weights @ value
        self._gradient = self._gradient + weights @ derivative
        self._errors.add((time, value, derivative, shift), weights)

    def weights(self, time):
        rest = self.rest.integral
        found = trapezoidal(time).astype(rest.dtype)
        found[-len(rest) :] += rest
        return found

    @property
    def uncertainty(self):
        return self._errors.of_integral.plus(abs(self.end - self.start) * self.drift)

    @property
    def value(self):
        return self._value + weighed(self.rest.integral, self._tail[1])

    @property
    def gradient(self):
        rest, (_, value, derivative) = self.rest, self._tail
        return self._gradient + weighed(rest.integral, derivative) + self.by_end(weighed(rest.value, value))
