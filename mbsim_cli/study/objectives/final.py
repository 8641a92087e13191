"""An objective that is a value at the end."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.continuation import weighed
from mbsim_cli.study.objectives.stream import Stream
from mbsim_cli.study.objectives.uncertainty import Uncertainty


class Final(Stream):
    """Value at the end."""

    def __init__(self, objective: Objective, p: int):
        super().__init__(objective, p)
        self._size, self._gradient_size = 0.0, np.zeros(p)

    def take(self, time, value, derivative, shift):
        """The last instants are kept anyway."""
        self._size = max(self._size, np.abs(value).max())
        self._gradient_size = np.maximum(self._gradient_size, np.abs(derivative).max(axis=0))

    def weights(self, time):
        rest = self.rest.value
        found = np.zeros(len(time), rest.dtype)
        found[-len(rest) :] = rest
        return found

    @property
    def uncertainty(self):
        """By the motion; there is no quadrature."""
        rate, (_, value, derivative) = self.rest.rate, self._tail
        ahead = np.nan if self._ahead is None else self._ahead
        error, by_parameters = (np.abs(weighed(rate, column) * ahead) for column in (value, derivative))
        return Uncertainty(float(error), by_parameters, self._size, self._gradient_size).plus(self.drift)

    @property
    def value(self):
        return weighed(self.rest.value, self._tail[1])

    @property
    def gradient(self):
        rest, (_, value, derivative) = self.rest, self._tail
        return weighed(rest.value, derivative) + self.by_end(weighed(rest.rate, value))
