"""The largest value along time, and where it is."""

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study.objectives.stream import Stream, weighed
from mbsim_cli.study.objectives.uncertainty import Course, Integrals, Uncertainty, trapezoidal

# What a signal and its derivatives do around the instant at which it is largest.


class Peak:
    """Estimates how far rows (1 + p, B), a signal and its derivatives, are off where the signal is largest.

    The largest value lies up to half an interval beside the largest instant. A signal exceeds its instants there by an
    eighth of their second difference; derivatives, which have no extremum, are off by half of their change.
    A signal that is largest at an end of the run is so at that instant.
    """

    def __init__(self, p: int):
        self._before = np.zeros((1 + p, 0))  # rows of the last instant but one
        self.error = np.zeros(1 + p)

    def add(self, rows: np.ndarray, largest: int | None) -> None:
        """Take rows in that begin with the last instant before; ``largest`` is None if none is above those before."""
        if largest is not None:
            near = rows[:, max(0, largest - 1) : largest + 2]
            self._look(near if largest else np.concatenate([self._before, near], axis=1))
        if rows.shape[1] > 1:
            self._before = rows[:, -2:-1].copy()

    def _look(self, near: np.ndarray) -> None:
        """Estimate from rows at the largest instant and beside it, if it has two sides."""
        self.error = np.zeros(len(near))
        if near.shape[1] == 3:
            steps = np.diff(near.real)
            self.error = 0.5 * np.abs(steps).max(axis=1)
            self.error[0] = abs(steps[0, 1] - steps[0, 0]) / 8.0


# An objective that is a smooth maximum over time.


class Maximum(Stream):
    """Smooth maximum log(mean over time of exp(s f)) / s; exponents are kept relative to the largest seen."""

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        self._top, self._moment = -np.inf, 0.0
        self._integrals = Integrals(p)  # of exp(s f), and of that times the derivatives
        self._peak = Peak(p)

    def take(self, instants, rows):
        exponent = self.objective.sharpness * rows[0]
        largest = int(np.argmax(exponent.real))
        self._peak.add(rows, largest if exponent.real[largest] >= self._top else None)
        top = max(self._top, float(exponent.real[largest]))
        shrink, share = np.exp(self._top - top), np.exp(exponent - top)
        shares = np.where(share == 0.0, 0.0, share * rows)  # what has no part in it need not be a number
        self._moment = shrink * self._moment + instants.weights[0] @ shares[0]
        shares[0] = share
        self._integrals.add(instants, shares, shrink)
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
        return np.exp(self.objective.sharpness * self._tail[0] - self._top)

    @property
    def _total(self):
        return self._integrals.value[0] + weighed(self.rest.integral, self._last_weights)

    @property
    def value(self):
        if self.still:
            return self._tail[0, -1]
        return (self._top + np.log(self._total / (self.end - self.course.start))) / self.objective.sharpness

    @property
    def largest(self):
        """The largest value at an instant."""
        return self._tail[0, -1] if self.still else self._top / self.objective.sharpness

    @property
    def gradient(self):
        rest, value, derivative = self.rest, self._tail[0], self._tail[1:]
        if self.still:
            return derivative[:, -1]
        sharpness, weight, total = self.objective.sharpness, self._last_weights, self._total
        slope = self._integrals.value[1:] + weighed(rest.integral, weight * derivative)
        moment = self._moment + weighed(rest.integral, weight * value)
        by_sharpness = (moment / total - self.value) / sharpness
        by_end = (weighed(rest.value, weight) / total - 1.0 / (self.end - self.course.start)) / sharpness
        explicit = by_sharpness * np.asarray(self.objective.sharpness_rho)[: self.p]
        return slope / total + explicit + self.by_end(by_end)

    @property
    def errors(self):
        if self.still:
            return Uncertainty(0.0, np.zeros(self.p), 0.0, np.zeros(self.p))
        intervals = self.course.intervals
        found = self._integrals.uncertainty_of_maximum(intervals, self.objective.sharpness)
        return found.plus(self._integrals.narrowness(intervals) * self._peak.error).plus(self.drift)
