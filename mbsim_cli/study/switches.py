"""Sums over time whose integrands choose their formula by a sign that the motion changes between time points.

There a sum is split: sensors go along the polynomial through the time points, a number of the integrand passes zero at
a share theta of the interval, and the rule of quadrature is taken on each side. So the sum follows the motion of theta.
Derivation: docs/theory/resolution.md, section 3.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.solve.blocks import SHARES, WEIGHTS

BESIDE = 1e-9  # of an interval, by which sides are evaluated apart from a switch: they shall be on their sides
HALVINGS = 40  # after which a bracket is shorter than that by far
STEADY = 1e-9  # of the largest size of a number: smaller changes in an interval are round-off about zero
CONTINUOUS = 1e-6  # of the change in an interval, which is left where a number passes zero, else it jumps across


class Rule:
    """A polynomial through the time points (m,) of intervals of length 1, and a rule of quadrature in these."""

    def __init__(self, nodes: ArrayLike, shares: ArrayLike, weights: ArrayLike):
        self.nodes, self.shares, self.weights = map(np.array, (nodes, shares, weights))
        self._coefficients = np.linalg.inv(np.vander(self.nodes, increasing=True))  # (m, m): powers by time points
        self.watched = np.unique([0.0, *self.nodes[self.nodes >= 0.0], 1.0])  # shares between which signs are compared

    def basis(self, shares: np.ndarray) -> np.ndarray:
        """Weights (k, m) of the time points in values at shares (k,) of an interval."""
        return np.vander(shares, len(self.nodes), increasing=True) @ self._coefficients

    def slopes(self, shares: np.ndarray) -> np.ndarray:
        """Weights (k, m) in derivatives by the share."""
        powers = np.arange(1, len(self.nodes))
        return (np.vander(shares, len(powers), increasing=True) * powers) @ self._coefficients[1:]


# The trapezoidal rule between time points, also with the time point before, and in pairs of intervals; Gauss's rule
# inside adaptive steps.
STRAIGHT = Rule((0.0, 1.0), (0.0, 1.0), (0.5, 0.5))
CURVED = Rule((-1.0, 0.0, 1.0), (0.0, 1.0), (0.5, 0.5))
PAIR = Rule((0.0, 0.5, 1.0), (0.0, 1.0), (0.5, 0.5))
INSIDE = Rule(SHARES, SHARES, WEIGHTS)


class Intervals(NamedTuple):
    """What objectives read in intervals (c,) with time points (m,) each, whose numbers are ``rows``."""

    rule: Rule
    rows: np.ndarray  # (c, m)
    length: np.ndarray  # (c,) s
    time: np.ndarray  # (N,) s, of all time points
    sensors: np.ndarray  # (N, width)

    @classmethod
    def of(
        cls, rule: Rule, numbers: np.ndarray, lengths: np.ndarray, time: np.ndarray, sensors: np.ndarray
    ) -> "Intervals":
        """Some of the intervals between successive time points, each of which ends an interval of the rule."""
        rows = numbers[:, None] + np.arange(2 - len(rule.nodes), 2)
        return cls(rule, rows, lengths[numbers], time, sensors)


class Split(NamedTuple):
    """What splitting an interval adds to an integral: an integral over points (k,) in it, by switches (n,).

    ``w`` numbers of sensors are read, at m time points, and there are p parameters.
    """

    moments: np.ndarray  # (n,) s
    rows: np.ndarray  # (m,) numbers of the time points
    read: np.ndarray  # (w,) columns of the sensors
    basis: np.ndarray  # (k, m) weights of the time points in values at the points
    weights: np.ndarray  # (k,) in the integral, s; those of the rule without a split count against
    weights_by_share: np.ndarray  # (n, k) their derivatives by the shares of the switches
    points_by_share: np.ndarray  # (n, k) those of the points
    values: np.ndarray  # (k,) of the integrand
    by_sensor: np.ndarray  # (k, w)
    by_parameter: np.ndarray  # (p, k)
    rate: np.ndarray  # (k,) derivatives by the points' shares of the interval
    share_by_sensor: np.ndarray  # (n, m, w) derivatives of the shares of the switches by sensors at the time points
    share_by_parameter: np.ndarray  # (n, p)

    def signal(self, d_sensors: np.ndarray) -> np.ndarray:
        """The integrand and its derivatives (1 + p, k) by parameters at the points, from those (m, w, p) of sensors."""
        through = np.einsum("kw,km,mwp->pk", self.by_sensor, self.basis, d_sensors)
        return np.vstack([self.values, self.by_parameter + through])

    def d_shares(self, d_sensors: np.ndarray) -> np.ndarray:
        """Derivatives (n, p) of the shares of the switches by parameters."""
        return self.share_by_parameter + np.einsum("nmw,mwp->np", self.share_by_sensor, d_sensors)

    def by_shares(self, summand: np.ndarray, slope: Any) -> np.ndarray:
        """Derivatives (n,) of the integral of a function (k,) of the integrand, with this slope."""
        return self.weights_by_share @ summand + self.points_by_share @ (self.weights * slope * self.rate)

    def by_sensors(self, summand: np.ndarray, slope: Any) -> np.ndarray:
        """Derivatives (m, w) of the same by the sensors at the time points."""
        direct = np.einsum("k,km,kw->mw", self.weights * slope, self.basis, self.by_sensor)
        return direct + np.einsum("n,nmw->mw", self.by_shares(summand, slope), self.share_by_sensor)


class Switches:
    """Finds where the switches of an integrand change their signs, and splits integrals by p parameters there."""

    def __init__(self, objective: Objective, p: int):
        integrand = objective.integrand
        self._objective, self._parameters, self.all = objective, objective.parameters[:p], integrand.switches
        self._largest = [0.0] * len(self.all)  # sizes so far; smaller changes than a part of these are round-off
        columns = [(name, k) for name, components in integrand.components.items() for k in components]
        self._read = np.array([objective.sensors[name].start + k for name, k in columns], int)

    def pass_between(self, time: np.ndarray, sensors: np.ndarray) -> np.ndarray:
        """Whether signs change between successive time points (N,), one after the other: (N - 1,)."""
        objective, found = self._objective, np.zeros(max(0, len(time) - 1), bool)
        read = {name: sensors[:, objective.sensors[name]] for name in objective.integrand.sensors}
        for k, switch in enumerate(self.all):
            values = np.real(switch.value(read, time, objective.values))
            self._largest[k] = np.fmax.reduce(np.abs(values), initial=self._largest[k])
            change = np.abs(np.diff(values))
            found |= (np.diff(np.sign(values)) != 0.0) & (change > STEADY * self._largest[k])
        return found

    def splits(self, intervals: Intervals) -> Iterator[Split]:
        """The splits of intervals in which the integrand changes its formula, in their order."""
        found = [each for switch in self.all if len(intervals.rows) for each in self._passed(switch, intervals)]
        for number in sorted({each[0] for each in found}):
            here = sorted((each for each in found if each[0] == number), key=lambda each: each[1].real)
            yield self._split(intervals, number, *(np.array(each) for each in list(zip(*here, strict=True))[1:]))

    def _passed(self, switch: Any, intervals: Intervals) -> Iterator[tuple[int, Any, np.ndarray, np.ndarray]]:
        """Interval and share where a switch is zero; derivatives of the share by sensors (m, w) and parameters (p,)."""
        watched, count = intervals.rule.watched, len(intervals.length)

        def values(which: np.ndarray, shares: np.ndarray) -> np.ndarray:
            return np.real(switch.value(*self._inputs(intervals, which, shares)))

        on = values(np.repeat(np.arange(count), len(watched)), np.tile(watched, count)).reshape(count, -1)
        which, first = np.nonzero(np.diff(np.sign(on)))
        low, high, begin, end = watched[first], watched[first + 1], on[which, first], on[which, first + 1]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            stays = np.sign(values(which, middle)) == np.sign(begin)
            low, high = np.where(stays, middle, low), np.where(stays, high, middle)
        left = np.abs(values(which, high) - values(which, low))
        passed = left <= CONTINUOUS * np.abs(end - begin)
        which, share = which[passed], 0.5 * (low + high)[passed]
        value, _, _, rate = self._linearised(switch, intervals, which, share)
        passed = np.real(rate) != 0.0
        which, share = which[passed], (share - value / np.where(passed, rate, 1.0))[passed]  # with its complex step
        _, by_sensor, by_parameter, rate = self._linearised(switch, intervals, which, share)
        for n, basis in enumerate(intervals.rule.basis(share)):
            by_points = -np.multiply.outer(basis, by_sensor[n]) / rate[n]
            yield int(which[n]), share[n], by_points, -by_parameter[:, n] / rate[n]

    def inside(self, time: np.ndarray, length: np.ndarray, sensors: np.ndarray) -> list[Split]:
        """The splits of steps, from time points (N,) inside these with weights in integrals."""
        rows, passed = np.arange(len(time)).reshape(-1, len(SHARES)), np.flatnonzero(self.pass_between(time, sensors))
        steps = np.unique(np.append(passed, passed + 1) // len(SHARES))
        return list(self.splits(Intervals(INSIDE, rows[steps], length[rows[steps]].sum(axis=1), time, sensors)))

    def _inputs(self, intervals: Intervals, which: np.ndarray, shares: np.ndarray) -> tuple[Any, np.ndarray, Any]:
        """What the integrand is given at shares (k,) of intervals (k,)."""
        basis, objective = intervals.rule.basis(shares), self._objective
        rows = {name: objective.sensors[name] for name in objective.integrand.sensors}
        points = intervals.rows[which]
        read = {name: np.einsum("km,kmw->kw", basis, intervals.sensors[points, row]) for name, row in rows.items()}
        return read, np.einsum("km,km->k", basis, intervals.time[points]), objective.values

    def _linearised(self, function: Any, intervals: Intervals, which: np.ndarray, shares: np.ndarray) -> Any:
        """Values (k,), derivatives by sensors (k, w) and parameters (p, k), and by shares (k,) of intervals (k,)."""
        found = function.linearised(*self._inputs(intervals, which, shares))
        parts = [found.by_sensor[name][:, list(used)] for name, used in self._objective.integrand.components.items()]
        by_sensor = np.hstack([np.zeros((len(shares), 0)), *parts])
        by_parameter = [found.by_parameter.get(name, np.zeros(len(shares))) for name in self._parameters]
        points, slopes = intervals.rows[which], intervals.rule.slopes(shares)
        along = np.einsum("km,kmw->kw", slopes, intervals.sensors[points][:, :, self._read])
        rate = (by_sensor * along).sum(axis=1) + found.by_time * (slopes * intervals.time[points]).sum(axis=1)
        return found.value, by_sensor, np.reshape(by_parameter, (len(self._parameters), len(shares))), rate

    def _split(
        self, intervals: Intervals, number: int, shares: np.ndarray, by_sensor: np.ndarray, by_parameter: np.ndarray
    ) -> Split:
        """The split of an interval at shares (n,), with their derivatives by sensors and parameters."""
        rule, n, m, rows = intervals.rule, len(shares), len(intervals.rule.shares), intervals.rows[number]
        begin, end = (_within(shares + side) for side in (BESIDE, -BESIDE))
        begin, end = np.append(0.0, begin), np.append(end, 1.0)
        parts = (end - begin)[:, None]
        points, weights = begin[:, None] + parts * rule.shares, parts * rule.weights
        moved_points, moved_weights = np.zeros((2, n, n + 2, m))
        for k in range(n):
            moved_points[k, k], moved_points[k, k + 1] = rule.shares, 1.0 - rule.shares
            moved_weights[k, k], moved_weights[k, k + 1] = rule.weights, -rule.weights
        points, weights = np.append(points, rule.shares), np.append(weights, -rule.weights)
        which = np.full(len(points), number)
        values, slopes, explicit, rate = self._linearised(self._objective.integrand, intervals, which, points)
        length = intervals.length[number]
        return Split(
            rule.basis(shares.real) @ intervals.time[rows],
            rows,
            self._read,
            rule.basis(points),
            length * weights,
            length * moved_weights.reshape(n, -1),
            moved_points.reshape(n, -1),
            values,
            slopes,
            explicit,
            rate,
            by_sensor,
            by_parameter,
        )


def _within(shares: np.ndarray) -> np.ndarray:
    """Shares whose real part is held between 0 and 1."""
    return shares - shares.real + np.clip(shares.real, 0.0, 1.0)
