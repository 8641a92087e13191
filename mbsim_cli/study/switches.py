"""Sums over time whose integrands choose their formula by a sign that the motion changes between time points.

There a sum is split: sensors go along the polynomial through the time points, a number of the integrand passes zero at
a share theta of the interval, and the rule of quadrature is taken on each side. So the sum follows the motion of theta.
Derivation: docs/theory/resolution.md, section 3.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbsim_cli.assembly.objectives import Jump, Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.solve.blocks import SHARES, WEIGHTS
from mbsim_cli.study import quadrature
from mbsim_cli.study.quadrature import TimePoints

BESIDE = 1e-9  # of an interval, by which sides are evaluated apart from a switch: they shall be on their sides
HALVINGS = 40  # after which a bracket is shorter than that by far
STEADY = 1e-9  # of the largest size of a number: smaller changes in an interval are round-off about zero
EVEN = 1e-6  # of an interval, by which that before may be longer or shorter, where a parabola passes through both
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


class Splits(NamedTuple):
    """What splitting c intervals adds to an integral: integrals over k points in each, by n switches in each.

    ``w`` numbers of sensors are read, at m time points, and there are p parameters.
    """

    moments: np.ndarray  # (c, n) s
    rows: np.ndarray  # (c, m) numbers of the time points
    read: np.ndarray  # (w,) columns of the sensors
    basis: np.ndarray  # (c, k, m) weights of the time points in values at the points
    weights: np.ndarray  # (c, k) in the integral, s; those of the rule without a split count against
    weights_by_share: np.ndarray  # (c, n, k) their derivatives by the shares of the switches
    points_by_share: np.ndarray  # (n, k) those of the points
    values: np.ndarray  # (c, k) of the integrand
    by_sensor: np.ndarray  # (c, k, w)
    by_parameter: np.ndarray  # (p, c, k)
    rate: np.ndarray  # (c, k) derivatives by the points' shares of the interval
    share_by_sensor: np.ndarray  # (c, n, m, w) derivatives of the shares of the switches by sensors at the time points
    share_by_parameter: np.ndarray  # (c, n, p)

    def signal(self, d_sensors: np.ndarray) -> np.ndarray:
        """The integrand and its derivatives (1 + p, c, k) at the points, from those (c, m, w, p) of sensors."""
        through = np.einsum("ckw,ckm,cmwp->pck", self.by_sensor, self.basis, d_sensors, optimize=True)
        return np.concatenate([self.values[None], self.by_parameter + through])

    def through_shares(self, summand: np.ndarray, slope: Any, d_sensors: np.ndarray) -> np.ndarray:
        """Derivatives (c, p), through the shares, of integrals of a function (c, k) of the integrand with a slope."""
        d_shares = self.share_by_parameter + np.einsum("cnmw,cmwp->cnp", self.share_by_sensor, d_sensors)
        return np.einsum("cn,cnp->cp", self._by_shares(summand, slope), d_shares)

    def by_sensors(self, summand: np.ndarray, slope: Any) -> np.ndarray:
        """Derivatives (c, m, w) of the same by the sensors at the time points."""
        direct = np.einsum("ck,ckm,ckw->cmw", self.weights * slope, self.basis, self.by_sensor, optimize=True)
        return direct + np.einsum("cn,cnmw->cmw", self._by_shares(summand, slope), self.share_by_sensor)

    def _by_shares(self, summand: np.ndarray, slope: Any) -> np.ndarray:
        """Derivatives (c, n) of the same by the shares."""
        of_weights = np.einsum("cnk,ck->cn", self.weights_by_share, summand)
        return of_weights + (self.weights * slope * self.rate) @ self.points_by_share.T


_AtPoints = list[tuple[Splits, np.ndarray, np.ndarray]]


class Switches:
    """Finds where the switches of an integrand change their signs, and splits integrals by p parameters there."""

    def __init__(self, objective: Objective, p: int):
        integrand = objective.integrand
        self._objective, self._parameters, self.all = objective, objective.parameters[:p], integrand.switches
        self._largest = [0.0] * len(self.all)  # sizes so far; smaller changes than a part of these are round-off
        self._known: tuple[np.ndarray, ...] = ()  # times, sensors, derivatives of what is read, at the last two points
        # columns (w,) of the sensors
        columns = [(name, k) for name, components in integrand.components.items() for k in components]
        self.read = np.array([objective.sensors[name].start + k for name, k in columns], int)

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

    def splits(self, intervals: Intervals) -> list[Splits]:
        """The splits of intervals in which the integrand changes its formula, by their numbers of switches."""
        if not len(intervals.rows):
            return []
        passed = zip(*(self._passed(switch, intervals) for switch in self.all), strict=True)
        which, shares, by_sensor, by_parameter = map(np.concatenate, passed)
        order = np.lexsort([shares.real, which])
        numbers, first, counts = np.unique(which[order], return_index=True, return_counts=True)
        found = []
        for n in np.unique(counts):
            some = order[first[counts == n][:, None] + np.arange(n)]  # (c, n)
            found.append(
                self._split(intervals, numbers[counts == n], shares[some], by_sensor[some], by_parameter[some])
            )
        return found

    def _passed(self, switch: Any, intervals: Intervals) -> tuple[np.ndarray, ...]:
        """Intervals and shares (N,) where a switch is zero; their derivatives (N, m, w) by sensors and (N, p)."""
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
        by_points = -np.einsum("nm,nw->nmw", intervals.rule.basis(share), by_sensor) / rate[:, None, None]
        return which, share, by_points, -(by_parameter / rate).T

    def between(self, block: Block, points: TimePoints, jumps: Sequence[Jump]) -> tuple[_AtPoints, _AtPoints]:
        """Splits of the new intervals between time points, and of pairs that end with one of these.

        Each with the times (c, m) and the derivatives (c, m, w, p) of what is read. Rows count from the first new
        interval. Sensors go along a parabola through the time point before, too, if it is as far away.
        """
        latest = block.time, block.sensors, block.d_sensors[:, self.read]
        before = self._known or tuple(each[:0] for each in latest)
        time, sensors, d_sensors = (np.concatenate(pair) for pair in zip(before, latest, strict=True))
        self._known = tuple(each[-2:].copy() for each in (time, sensors, d_sensors))
        lengths, begin = quadrature.intervals(time, jumps), len(time) - len(points.time)
        passed = self.pass_between(time, sensors) & (lengths != 0.0)
        even = np.append(False, np.abs(np.diff(lengths)) <= EVEN * lengths[1:])  # each as long as that before
        fresh = np.arange(len(lengths)) >= begin
        ends = (points.number - begin + np.arange(len(lengths))) % 2 == 1  # of pairs

        def of(rule: Rule, which: np.ndarray, lengths: np.ndarray) -> _AtPoints:
            numbers = np.flatnonzero(which & fresh)
            rows = numbers[:, None] + np.arange(2 - len(rule.nodes), 2)
            found = self.splits(Intervals(rule, rows, lengths[numbers], time, sensors))
            return [(each._replace(rows=each.rows - begin), time[each.rows], d_sensors[each.rows]) for each in found]

        alone = of(CURVED, passed & even, lengths) + of(STRAIGHT, passed & ~even, lengths)
        return alone, of(PAIR, ends & even & (passed | np.roll(passed, 1)), 2.0 * lengths)

    def inside(self, time: np.ndarray, length: np.ndarray, sensors: np.ndarray) -> list[Splits]:
        """The splits of steps, from time points (N,) inside these with weights in integrals."""
        rows, passed = np.arange(len(time)).reshape(-1, len(SHARES)), np.flatnonzero(self.pass_between(time, sensors))
        steps = np.unique(np.append(passed, passed + 1) // len(SHARES))
        return self.splits(Intervals(INSIDE, rows[steps], length[rows[steps]].sum(axis=1), time, sensors))

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
        along = np.einsum("km,kmw->kw", slopes, intervals.sensors[points][:, :, self.read])
        rate = (by_sensor * along).sum(axis=1) + found.by_time * (slopes * intervals.time[points]).sum(axis=1)
        return found.value, by_sensor, np.reshape(by_parameter, (len(self._parameters), len(shares))), rate

    def _split(
        self,
        intervals: Intervals,
        which: np.ndarray,
        shares: np.ndarray,
        by_sensor: np.ndarray,
        by_parameter: np.ndarray,
    ) -> Splits:
        """The splits of intervals (c,) at shares (c, n), with their derivatives by sensors and parameters."""
        rule, rows, length = intervals.rule, intervals.rows[which], intervals.length[which]
        c, n, m = *shares.shape, len(rule.shares)
        ends = np.zeros((c, 1))
        begin, end = np.hstack([ends, _within(shares + BESIDE)]), np.hstack([_within(shares - BESIDE), ends + 1.0])
        parts = (end - begin)[..., None]
        points, weights = begin[..., None] + parts * rule.shares, parts * rule.weights  # (c, n + 1, m)
        points_by_share, weights_by_share = np.zeros((2, n, n + 2, m))
        for k in range(n):
            points_by_share[k, k : k + 2] = rule.shares, 1.0 - rule.shares
            weights_by_share[k, k : k + 2] = rule.weights, -rule.weights
        points = np.hstack([points.reshape(c, -1), ends + rule.shares])
        weights = length[:, None] * np.hstack([weights.reshape(c, -1), ends - rule.weights])
        of_points = self._linearised(
            self._objective.integrand, intervals, np.repeat(which, points.shape[1]), points.ravel()
        )
        values, by_sensors, explicit, rate = of_points
        return Splits(
            np.einsum("cnm,cm->cn", rule.basis(shares.real.ravel()).reshape(c, n, -1), intervals.time[rows]),
            rows,
            self.read,
            rule.basis(points.ravel()).reshape(*points.shape, -1),
            weights,
            np.multiply.outer(length, weights_by_share.reshape(n, -1)),
            points_by_share.reshape(n, -1),
            values.reshape(points.shape),
            by_sensors.reshape(*points.shape, -1),
            explicit.reshape(-1, *points.shape),
            rate.reshape(points.shape),
            by_sensor,
            by_parameter,
        )


def _within(shares: np.ndarray) -> np.ndarray:
    """Shares whose real part is held between 0 and 1."""
    return shares - shares.real + np.clip(shares.real, 0.0, 1.0)
