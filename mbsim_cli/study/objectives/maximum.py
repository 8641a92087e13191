"""An objective that is a smooth maximum over time."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.continuation import weighed
from mbsim_cli.study.objectives.stream import Stream, trapezoidal
from mbsim_cli.study.objectives.uncertainty import IntegralErrors, Uncertainty


class Maximum(Stream):
    """Smooth maximum log(mean over time of exp(s f)) / s; exponents are kept relative to the largest seen."""

    def __init__(self, objective: Objective, p: int):
        super().__init__(objective, p)
        self._top, self._sum, self._moment, self._slope = -np.inf, 0.0, 0.0, np.zeros(p)
        self._errors = IntegralErrors(p)

    def take(self, time, value, derivative, shift):
        exponent = self.objective.sharpness * value
        top = max(self._top, float(exponent.real.max()))
        shrink = np.exp(self._top - top)
        weights, share = trapezoidal(time), np.exp(exponent - top)
        weight = weights * share
        self._errors.add((time, share, share[:, None] * derivative, shift), weights, shrink)
        self._sum = shrink * self._sum + weight.sum()
        self._moment = shrink * self._moment + weight @ value
        self._slope = shrink * self._slope + weight @ derivative
        self._top = top

    def weights(self, time):
        if self.still:
            return np.ones(1)
        rest = self.rest.integral
        found = trapezoidal(time).astype(rest.dtype)
        found[-len(rest) :] += rest
        return found / self._total

    def share(self, value):
        return np.ones(1) if self.still else np.exp(self.objective.sharpness * value - self._top)

    @property
    def _last_weights(self):
        """exp(s f) of the last instants, as the sums hold it."""
        return np.exp(self.objective.sharpness * self._tail[1] - self._top)

    @property
    def _total(self):
        return self._sum + weighed(self.rest.integral, self._last_weights)

    @property
    def value(self):
        if self.still:
            return self._tail[1][-1]
        return (self._top + np.log(self._total / (self.end - self.start))) / self.objective.sharpness

    @property
    def largest(self):
        """The largest value at an instant."""
        return self._tail[1][-1] if self.still else self._top / self.objective.sharpness

    @property
    def gradient(self):
        rest, (_, value, derivative) = self.rest, self._tail
        if self.still:
            return derivative[-1]
        sharpness, weight, total = self.objective.sharpness, self._last_weights, self._total
        slope = self._slope + weighed(rest.integral, weight[:, None] * derivative)
        moment = self._moment + weighed(rest.integral, weight * value)
        by_sharpness = (moment / total - self.value) / sharpness
        by_end = (weighed(rest.value, weight) / total - 1.0 / (self.end - self.start)) / sharpness
        explicit = by_sharpness * np.asarray(self.objective.sharpness_rho)[: self.p]
        return slope / total + explicit + self.by_end(by_end)

    @property
    def uncertainty(self):
        if self.still:
            return Uncertainty(0.0, np.zeros(self.p), 0.0, np.zeros(self.p))
        found = self._errors.of_smooth_maximum(self._sum, self._slope / self._sum, self.objective.sharpness)
        return found.plus(self.drift)
