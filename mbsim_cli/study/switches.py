"""Sums over time whose integrands choose their formula by a sign that the motion changes between time points.

There a sum is split: sensors go along the polynomial through the time points, and a number of the integrand passes zero
at a share theta of the interval. Behind it the difference of both formulas is integrated, so that the sum follows the
motion of theta. Derivation: docs/theory/resolution.md, section 2.
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

BESIDE = 1e-9  # of an interval: switches that are nearer to each other count as one
HALVINGS = 40  # after which a bracket is shorter than that by far
STEADY = 1e-9  # of the largest size of a number: smaller changes in an interval are round-off about zero
ROUND_OFF = 1e-12  # the same, of what its sensors would give if nothing cancelled, with all their components
EVEN = 1e-6  # of an interval, by which that before may be longer or shorter, where a parabola passes through both
STEEP = 10.0  # times the difference of both formulas before a switch: not taken behind it where it is larger
POLE = 3.0  # times the difference at the end of an interval: formulas that differ more at the switch have a pole there
BEFORE, BEHIND = -1.0, 1.0  # parts of an interval, and signs of both formulas in their difference
GAP = 0.01  # of an interval: the most by which a number passes zero between polynomials that do not meet
CONTINUOUS = 1e-6  # of the change in an interval, which is left where a number passes zero, else it jumps across


class Rule:
    """A polynomial through the time points (m,) of intervals of length 1, and a rule of quadrature in these."""

    def __init__(self, nodes: ArrayLike, shares: ArrayLike, weights: ArrayLike):
        self.nodes, self.shares, self.weights = map(np.array, (nodes, shares, weights))
        self._coefficients = np.linalg.inv(np.vander(self.nodes, increasing=True))  # (m, m): powers by time points
        # shares between which signs are compared
        self.watched = np.array(sorted({0.0, *self.nodes[self.nodes >= 0.0].tolist(), 1.0}))

    def basis(self, shares: np.ndarray) -> np.ndarray:
        """Weights (k, m) of the time points in values at shares (k,) of an interval."""
        return np.vander(shares, len(self.nodes), increasing=True) @ self._coefficients

    def slopes(self, shares: np.ndarray) -> np.ndarray:
        """Weights (k, m) in derivatives by the share."""
        powers = np.arange(1, len(self.nodes))
        return (np.vander(shares, len(powers), increasing=True) * powers) @ self._coefficients[1:]

    def last_term(self, shares: np.ndarray, without: int) -> np.ndarray:
        """Weights (k, m) of the time points in the last term of Newton's polynomial, ``without`` the first points."""
        nodes, found = self.nodes[without:], np.zeros((len(shares), len(self.nodes)), shares.dtype)
        if len(nodes):
            divided = [1.0 / (node - np.delete(nodes, k)).prod() for k, node in enumerate(nodes)]
            found[:, without:] = np.multiply.outer((shares[:, None] - nodes[1:]).prod(axis=1), divided)
        return found


# The trapezoidal rule between time points, also with the time point before, and in pairs of intervals; Gauss's rule
# inside adaptive steps.
STRAIGHT = Rule((0.0, 1.0), (0.0, 1.0), (0.5, 0.5))
CURVED = Rule((-1.0, 0.0, 1.0), (0.0, 1.0), (0.5, 0.5))
PAIR = Rule((0.0, 0.5, 1.0), (0.0, 1.0), (0.5, 0.5))
INSIDE = Rule(SHARES, SHARES, WEIGHTS)


class Intervals(NamedTuple):
    """Sensors in intervals (c,) with time points (m,) each, whose numbers are ``rows``."""

    rule: Rule
    rows: np.ndarray  # (c, m)
    length: np.ndarray  # (c,) s
    time: np.ndarray  # (N,) s, of all time points
    sensors: np.ndarray  # (N, width)


class Splits(NamedTuple):
    """N splits, each an addition to an integral over k points, of the formulas before and behind a switch.

    The formula before goes on to the end of the interval; behind the switch the difference of both is added. So terms
    that both have do not count. ``w`` numbers of sensors are read, at m time points, and there are p parameters.
    """

    moments: np.ndarray  # (N,) s
    rows: np.ndarray  # (N, m) numbers of the time points
    basis: np.ndarray  # (N, k, m) weights of the time points in values at the points
    weights: np.ndarray  # (N, k) in the integral, s
    weights_by_share: np.ndarray  # (N, k) their derivatives by the share of the switch
    points_by_share: np.ndarray  # (N, k) those of the points
    values: np.ndarray  # (N, k) of both formulas
    by_sensor: np.ndarray  # (N, k, w)
    by_parameter: np.ndarray  # (N, k, p)
    rate: np.ndarray  # (N, k) derivatives by the points' shares of the interval
    share_by_sensor: np.ndarray  # (N, m, w) derivatives of the share of the switch by sensors at the time points
    share_by_parameter: np.ndarray  # (N, p)
    late: np.ndarray  # (N,) error of the share, by the fall of the last two terms of the polynomial
    last_terms: np.ndarray  # (N, 2, k) of the polynomial, and of that without the first time point, in the formulas

    def signal(self, d_sensors: np.ndarray) -> np.ndarray:
        """The formulas and their derivatives (1 + p, N, k) at the points, from those (N, m, w, p) of sensors."""
        through = np.einsum("nkw,nkm,nmwp->pnk", self.by_sensor, self.basis, d_sensors, optimize=True)
        return np.concatenate([self.values[None], np.moveaxis(self.by_parameter, 2, 0) + through])

    def through_shares(self, summand: np.ndarray, slope: Any, d_sensors: np.ndarray) -> np.ndarray:
        """Derivatives (N, p), through the shares, of integrals of a function (N, k) of the formulas with a slope."""
        d_shares = self.share_by_parameter + np.einsum("nmw,nmwp->np", self.share_by_sensor, d_sensors)
        return self.by_shares(summand, slope)[:, None] * d_shares

    def by_sensors(self, summand: np.ndarray, slope: Any) -> np.ndarray:
        """Derivatives (N, m, w) of the same by the sensors at the time points."""
        direct = np.einsum("nk,nkm,nkw->nmw", self.weights * slope, self.basis, self.by_sensor, optimize=True)
        return direct + self.by_shares(summand, slope)[:, None, None] * self.share_by_sensor

    def by_shares(self, summand: np.ndarray, slope: Any) -> np.ndarray:
        """Derivatives (N,) of the same by the shares."""
        of_points = self.weights * slope * self.rate * self.points_by_share
        return (self.weights_by_share * summand + of_points).sum(axis=1)

    def off(self, slope: Any) -> np.ndarray:
        """Errors (N,) of the same at given shares, by the fall of the last two terms of the polynomial."""
        last, before_last = np.abs(((self.weights * slope)[:, None] * self.last_terms).sum(axis=2)).T
        return _fallen(last, before_last)


class Between(NamedTuple):
    """Splits between time points, with times (N, m) and derivatives (N, m, w, p); rows count from the first new one."""

    alone: list[tuple[Splits, np.ndarray, np.ndarray]]  # of the new intervals
    pairs: list[tuple[Splits, np.ndarray, np.ndarray]]  # of pairs of intervals that end with one of these
    lost: np.ndarray  # which new intervals have other formulas at their ends, but no split, as beside a pole


class Passage(NamedTuple):
    """Where switches pass zero: N shares of intervals."""

    which: np.ndarray  # (N,) intervals
    shares: np.ndarray  # (N,)
    behind: np.ndarray  # (N,) first share at which the sign has changed
    by_sensor: np.ndarray  # (N, m, w) derivatives of the shares by sensors at the time points
    by_parameter: np.ndarray  # (N, p)
    late: np.ndarray  # (N,) as in ``Splits``
    beside: np.ndarray  # (N,) shares by which the number is beside zero for certain
    # (N,) shares from which on the polynomial is taken, negative where that of the step before does not meet it
    first: np.ndarray


class Switches:
    """Finds where the switches of an integrand change their signs, and splits integrals by p parameters there."""

    def __init__(self, objective: Objective, p: int):
        integrand = objective.integrand
        self._objective, self._parameters, self.all = objective, objective.parameters[:p], integrand.switches
        self._largest = np.zeros(len(self.all))  # sizes so far, below parts of which changes are round-off
        self._sensors = dict.fromkeys(integrand.sensors, 0.0)  # largest sizes of sensors so far
        self._round_off = np.zeros(len(self.all))  # of their numbers
        # times, sensors, derivatives of what is read, and signs as of ``_signs``, at the last two points
        self._known: tuple[np.ndarray, ...] = ()
        self._ends: dict[int, np.ndarray] = {}  # signs of all switches at the end of the last step, by run
        self._begins: dict[float, np.ndarray] = {}  # at the begin of each step, by the first time inside
        self._frozen: dict[tuple[int, ...], Any] = {}  # formulas by their choices
        # columns (w,) of the sensors
        columns = [(name, k) for name, components in integrand.components.items() for k in components]
        self.read = np.array([objective.sensors[name].start + k for name, k in columns], int)

    def between(self, block: Block, points: TimePoints, jumps: Sequence[Jump]) -> Between:
        """The splits between the time points of a block, along parabolas where the time before is as far away."""
        state = self._known[-1][-1] if self._known else None
        numbers = self._signs(*self._given(block.time, block.sensors), state, exact=True)
        latest = block.time, block.sensors, block.d_sensors[:, self.read], numbers
        before = self._known or tuple(each[:0] for each in latest)
        time, sensors, d_sensors, numbers = (np.concatenate(pair) for pair in zip(before, latest, strict=True))
        self._known = tuple(each[-2:].copy() for each in (time, sensors, d_sensors, numbers))
        lengths, begin, signs = quadrature.intervals(time, jumps), len(time) - len(points.time), numbers[:, 0]
        passed = (np.diff(signs, axis=0) != 0.0).any(axis=1) & (lengths != 0.0)
        even = np.append(False, np.abs(np.diff(lengths)) <= EVEN * lengths[1:])  # each as long as that before
        fresh = np.arange(len(lengths)) >= begin
        ends = (points.number - begin + np.arange(len(lengths))) % 2 == 1  # of pairs

        def of(rule: Rule, which: np.ndarray, step: int = 1) -> list[tuple[Splits, np.ndarray, np.ndarray]]:
            numbers = np.flatnonzero(which & fresh)
            rows = numbers[:, None] + np.arange(2 - len(rule.nodes), 2)
            around = np.stack([signs[numbers + 1 - step], signs[numbers + 1]], axis=1)
            found = self._split(Intervals(rule, rows, step * lengths[numbers], time, sensors), (0.0, 1.0), around)
            return [(found._replace(rows=found.rows - begin), time[found.rows], d_sensors[found.rows])] if found else []

        alone = of(CURVED, passed & even) + of(STRAIGHT, passed & ~even)
        lost = passed[begin:].copy()
        for some, _, _ in alone:
            lost[some.rows[:, -1] - 1] = False
        if lost.any():
            choices = self._objective.integrand.choices(*self._given(time, sensors))
            lost &= (np.diff(choices, axis=0) != 0).any(axis=1)[begin:]
        return Between(alone, of(PAIR, ends & even & (passed | np.roll(passed, 1)), 2), lost)

    def inside(
        self, time: np.ndarray, length: np.ndarray, sensors: np.ndarray, run: int | None = None
    ) -> Splits | None:
        """The splits of steps, from time points (N,) inside these with weights in integrals, in the order of a run.

        A step begins with the signs that the one before ends with, also where their polynomials do not meet; without a
        ``run`` these are looked up.
        """
        rows = np.arange(len(time)).reshape(-1, len(SHARES))
        steps, watched = len(rows), INSIDE.watched
        whole = Intervals(INSIDE, rows, length[rows].sum(axis=1), time, sensors)
        begin = self._begins.get(time[0]) if run is None else self._ends.get(run)
        if begin is None:
            begin = self._signs(*self._inputs(whole, np.zeros(len(watched), int), watched), None)[0]
        which, shares = np.repeat(np.arange(steps), len(watched) - 1), np.tile(watched[1:], steps)
        later = self._signs(*self._inputs(whole, which, shares), begin).reshape(steps, len(watched) - 1, *begin.shape)
        begins = np.concatenate([begin[None], later[:-1, -1]])
        if run is not None:
            self._ends[run] = later[-1, -1].copy()
            self._begins |= zip(time[rows[:, 0]].tolist(), begins, strict=True)
        signs = np.concatenate([begins[:, None], later], axis=1)[:, :, 0]
        some = np.flatnonzero((np.diff(signs, axis=1) != 0.0).any(axis=(1, 2)))
        return self._split(Intervals(INSIDE, rows[some], whole.length[some], time, sensors), watched, signs[some])

    def _given(self, time: np.ndarray, sensors: np.ndarray) -> tuple[Any, np.ndarray, Any]:
        """Inputs of the integrand at time points."""
        read = {name: sensors[:, self._objective.sensors[name]] for name in self._sensors}
        return read, time, self._objective.values

    def _signs(
        self, read: Any, time: np.ndarray, values: Any, begin: np.ndarray | None, exact: bool = False
    ) -> np.ndarray:
        """Signs that switches count with, and whether each may still change as round-off (N, 2, number of switches).

        ``begin`` (2, number of switches) are those of the time before, if there is one. Of time points, which are
        ``exact``, zero is a sign of its own.
        """
        for name, each in read.items():
            self._sensors[name] = _largest(each, self._sensors[name])
        found = np.zeros((len(time), 2, len(self.all)))
        for k, switch in enumerate(self.all):
            number = np.broadcast_to(np.real(switch.value(read, time, values)), len(time))
            self._largest[k] = _largest(number, self._largest[k])
            partials = switch.linearised({name: each[-1:] for name, each in read.items()}, time[-1:], values).by_sensor
            sizes = [np.nansum(np.abs(partial)) * self._sensors[name] for name, partial in partials.items()]
            self._round_off[k] = ROUND_OFF * np.nan_to_num(sum(sizes), posinf=0.0)
            large = np.abs(number) > 0.5 * max(STEADY * self._largest[k], self._round_off[k])
            before = [0.0, 0.0] if begin is None else begin[:, k].tolist()
            found[:, :, k] = _settled(np.sign(number), large, before, exact)
        return found

    def _split(self, intervals: Intervals, watched: Any, signs: np.ndarray) -> Splits | None:
        """The splits of intervals (c,) whose switches have signs (c, s, number of switches) at shares (s,)."""
        if not len(intervals.rows):
            return None
        parts = [self._passed(k, intervals, np.asarray(watched), signs[:, :, k]) for k in range(len(self.all))]
        passage = Passage(*map(np.concatenate, zip(*parts, strict=True)))
        order = np.lexsort([passage.shares.real, passage.which])
        passage = Passage(*(each[order] for each in passage))
        apart = (np.diff(passage.which) != 0) | (np.diff(passage.shares.real) > passage.beside[1:])
        passage = Passage(*(each[np.append(True, apart)[: len(order)]] for each in passage))
        sides = [np.clip(passage.shares.real + side * passage.beside, passage.first, 1.0) for side in (BEFORE, BEHIND)]
        choices = self._objective.integrand.choices
        before, behind = (choices(*self._inputs(intervals, passage.which, side)) for side in sides)
        changed = (before != behind).any(axis=1)
        if not changed.any():
            return None
        return self._of(intervals, Passage(*(each[changed] for each in passage)), (before[changed], behind[changed]))

    def _passed(self, k: int, intervals: Intervals, watched: np.ndarray, signs: np.ndarray) -> Passage:
        """Where switch k, with these signs (c, s) at shares (s,), passes zero."""
        switch, rule = self.all[k], intervals.rule

        def values(which: np.ndarray, shares: np.ndarray) -> np.ndarray:
            return np.real(switch.value(*self._inputs(intervals, which, shares)))

        which, first = np.nonzero(np.diff(signs, axis=1))
        low, high, before = watched[first], watched[first + 1], signs[which, first]
        begin, end = values(which, low), values(which, high)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            stays = np.sign(values(which, middle)) == before
            low, high = np.where(stays, middle, low), np.where(stays, high, middle)
        least = np.maximum(CONTINUOUS * np.abs(end - begin), self._round_off[k])
        passed = np.abs(values(which, high) - values(which, low)) <= least
        which, high, share, before = which[passed], high[passed], 0.5 * (low + high)[passed], before[passed]
        apart = (before != 0.0) & (0.0 not in rule.nodes)  # from the polynomial of the step before
        value, _, _, rate = self._linearised(switch, intervals, which, share)
        moves = np.isfinite(rate) & (np.real(rate) != 0.0)
        change = np.where(moves, -value / np.where(moves, rate, 1.0), 0.0)
        share = share + np.where((share > BESIDE) | (apart & (np.abs(change.real) <= GAP)), change, 0.0)
        _, by_sensor, by_parameter, rate = self._linearised(switch, intervals, which, share)
        # else it has no derivative there, as at rest, or where it is zero at the start of the run
        moves = np.isfinite(rate) & (np.real(rate) != 0.0) & (before != 0.0)
        slower, slope = np.where(moves, 1.0 / np.where(moves, rate, 1.0), 0.0), np.where(moves[:, None], by_sensor, 0.0)
        by_points = -np.einsum("nm,nw->nmw", rule.basis(share), slope) * slower[:, None, None]
        by_parameter = -np.where(moves[:, None], by_parameter, 0.0) * slower[:, None]
        points = intervals.sensors[intervals.rows[which]][:, :, self.read]
        terms = [rule.last_term(share, without) for without in (0, 1)]
        late = _fallen(*(np.abs(np.einsum("nw,nm,nmw->n", slope, term, points) * slower) for term in terms))
        beside = np.maximum(BESIDE, self._round_off[k] * np.abs(slower))
        return Passage(which, share, high, by_points, by_parameter, late, beside, -1.0 * apart)

    def _inputs(self, intervals: Intervals, which: np.ndarray, shares: np.ndarray) -> tuple[Any, np.ndarray, Any]:
        """Inputs of the integrand at shares (k,) of intervals (k,)."""
        basis, points = intervals.rule.basis(shares), intervals.rows[which]
        rows = {name: self._objective.sensors[name] for name in self._sensors}
        read = {name: np.einsum("km,kmw->kw", basis, intervals.sensors[points, row]) for name, row in rows.items()}
        return read, np.einsum("km,km->k", basis, intervals.time[points]), self._objective.values

    def _linearised(self, function: Any, intervals: Intervals, which: np.ndarray, shares: np.ndarray) -> Any:
        """Values (k,), derivatives by sensors (k, w) and parameters (k, p), and by shares (k,) of intervals (k,)."""
        found = function.linearised(*self._inputs(intervals, which, shares))
        parts = [found.by_sensor[name][:, list(used)] for name, used in self._objective.integrand.components.items()]
        by_sensor = np.hstack([np.zeros((len(shares), 0)), *parts])
        by_parameter = [found.by_parameter.get(name, np.zeros(len(shares))) for name in self._parameters]
        points, slopes = intervals.rows[which], intervals.rule.slopes(shares)
        along = np.einsum("km,kmw->kw", slopes, intervals.sensors[points][:, :, self.read])
        rate = (by_sensor * along).sum(axis=1) + found.by_time * (slopes * intervals.time[points]).sum(axis=1)
        return found.value, by_sensor, np.reshape(by_parameter, (len(self._parameters), len(shares))).T, rate

    def _of(self, intervals: Intervals, passage: Passage, choices: Sequence[np.ndarray]) -> Splits | None:
        """The splits at a passage between formulas with these choices (N, .), as far as these are finite.

        Both are integrated behind the switch, or before it where that is finite alone, or where their difference is
        much smaller there, as beside a pole. Where neither is finite, each is integrated on its own side. Those with a
        pole at the switch are left out.
        """
        behind, before = (self._evaluated(intervals, passage, choices, (part, part)) for part in (BEHIND, BEFORE))
        fine, size, tame = _difference(behind, 0, -1)
        also, other, calm = _difference(before, -1, 0)
        turned = also & calm & ~(fine & tame & (size <= STEEP * other))
        left = ~(fine | also)
        some = Passage(*(each[left] for each in passage))
        apart = self._evaluated(intervals, some, [each[left] for each in choices], (BEFORE, BEHIND), BESIDE)
        (first, second), half = np.split(np.abs(apart.values), 2, axis=1), len(intervals.rule.shares)
        smooth = (first[:, half - 1] <= POLE * first[:, 0]) & (second[:, 0] <= POLE * second[:, half - 1])
        parts = (behind, fine & tame & ~turned), (before, turned), (apart, _difference(apart, 0, 0)[0] & smooth)
        found = [[each[which] for each in splits] for splits, which in parts if which.any()]
        return Splits(*map(np.concatenate, zip(*found, strict=True))) if found else None

    def _evaluated(
        self,
        intervals: Intervals,
        passage: Passage,
        choices: Sequence[np.ndarray],
        parts: tuple[float, float],
        beside: float = 0.0,
    ) -> Splits:
        """The splits with both formulas on these parts of the interval, ``beside`` the switch by a share of it."""
        rule, which, n, r = intervals.rule, passage.which, len(passage.which), len(intervals.rule.shares)
        rows, length, none = intervals.rows[which], intervals.length[which][:, None], np.zeros((n, r))
        found, there = list[Any](), rule.shares >= passage.behind[:, None]
        for choice, part, sign in zip(choices, parts, (BEFORE, BEHIND), strict=True):
            # the rule on a part of the interval, in place of its points that lie there
            here = np.where(there == (part == BEHIND), rule.weights, 0.0)
            end = passage.shares + part * beside
            end = (end - end.real + np.clip(end.real, 0.0, 1.0))[:, None]  # whose real part is between 0 and 1
            long, points = (1.0 - end, end + (1.0 - end) * rule.shares) if part == BEHIND else (end, end * rule.shares)
            at = np.hstack([points, np.where(here, rule.shares, end)])
            weights = part * sign * np.hstack([long * rule.weights, -here])
            moved = np.hstack([none + (1.0 - rule.shares if part == BEHIND else rule.shares), none])
            by_share = -sign * np.hstack([none + rule.weights, none])
            found.append((at, weights, by_share, moved, *self._of_formulas(intervals, which, at, choice)))
        columns: Any = map(np.hstack, zip(*found, strict=True))
        every, of_points, of_share, moving, values, by_sensor, by_parameter, rate = columns
        near, m = intervals.sensors[rows][:, :, self.read], len(rule.nodes)
        terms = [rule.last_term(every.ravel(), without).reshape(n, 4 * r, m) for without in (0, 1)]
        last_terms = np.stack([np.einsum("nkw,nkm,nmw->nk", by_sensor, term, near) for term in terms], axis=1)
        moments = (rule.basis(passage.shares.real) * intervals.time[rows]).sum(axis=1)
        basis, sizes = rule.basis(every.ravel()).reshape(n, 4 * r, m), (length * of_points, length * of_share)
        of_formulas = values, by_sensor, by_parameter, rate
        of_switch = passage.by_sensor, passage.by_parameter, passage.late
        return Splits(moments, rows, basis, *sizes, moving, *of_formulas, *of_switch, last_terms)

    def _of_formulas(self, intervals: Intervals, which: np.ndarray, points: np.ndarray, choices: np.ndarray) -> Any:
        """As ``_linearised``, at points (N, k) of intervals (N,), of the formulas with choices (N, .)."""
        n, k = points.shape
        shapes = (), (len(self.read),), (len(self._parameters),), ()
        found = [np.zeros((n, k, *shape), points.dtype) for shape in shapes]
        for each in set(map(tuple, choices.tolist())):
            some = np.flatnonzero((choices == each).all(axis=1))
            if each not in self._frozen:
                self._frozen[each] = self._objective.integrand.frozen(each)
            new = self._linearised(self._frozen[each], intervals, np.repeat(which[some], k), points[some].ravel())
            types = (np.result_type(part, other) for part, other in zip(found, new, strict=True))
            found = [part.astype(dtype, copy=False) for part, dtype in zip(found, types, strict=True)]
            for part, other in zip(found, new, strict=True):
                part[some] = other.reshape(len(some), k, *other.shape[1:])
        return found


def _difference(splits: Splits, near: int, far: int) -> tuple[np.ndarray, ...]:
    """Whether splits (N,) are finite, how much both formulas differ at most, and whether that does not grow ``near``.

    This is the number of the point next to the switch, ``far`` of that at the end of the interval.
    """
    numbers = splits.values, splits.rate, splits.by_parameter, splits.by_sensor
    fine = np.logical_and.reduce([np.isfinite(each).all(axis=tuple(range(1, each.ndim))) for each in numbers])
    first, second = np.split(splits.values, 2, axis=1)
    sizes = np.abs(second - first)
    half = sizes.shape[1] // 2  # points of the rule; the others are time points
    return fine, sizes.max(axis=1), sizes[:, :half][:, near] <= POLE * sizes[:, :half][:, far]


def _fallen(last: np.ndarray, before_last: np.ndarray) -> np.ndarray:
    """Size of the terms behind the last of two (N,), if they go on to fall by the same ratio."""
    return last * np.minimum(np.divide(last, before_last, out=np.ones_like(last), where=before_last > 0.0), 1.0)


def _settled(signs: np.ndarray, large: np.ndarray, begin: Sequence[float], exact: bool) -> np.ndarray:
    """The signs (N,) that a number counts with, and whether these may still change where it is not ``large``: (N, 2).

    Once it is round-off, its sign changes once more at most: it passes zero in short steps, or comes to rest.
    """
    found = np.stack([signs, np.ones(len(signs))], axis=1)
    for first, end in np.flatnonzero(np.diff(large, prepend=True, append=True)).reshape(-1, 2).tolist():
        sign, may = found[first - 1] if first else begin
        other = signs[first:end] != sign if exact else signs[first:end] * sign < 0.0
        new = np.flatnonzero(other) if may else np.zeros(0, int)
        change = first + int(new[0]) if len(new) else end
        found[first:change] = sign, may
        found[change:end] = signs[min(change, end - 1)], 0.0
    return found


def _largest(values: np.ndarray, so_far: float) -> float:
    """The largest finite size of values, or that so far."""
    sizes = np.abs(np.real(values))
    return float(np.max(sizes, where=np.isfinite(sizes), initial=so_far))
