"""Largest values along time, how far the largest time point is from them, and smooth maxima."""

from typing import Any

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.study import quadrature
from mbsim_cli.study.objectives import Final, among
from mbsim_cli.study.quadrature import Beside, Continuation, Course, Side, beside, continuation, is_on, weighed
from mbsim_cli.study.streams import Stream, Uncertainty
from mbsim_cli.study.switches import Splits


class Maximum(Final):
    """Largest value along time: that of the parabola through the largest time point and those beside it.

    At the start, at the end and beside a jump it is that through three time points of one side, if it is largest
    between the first or last two. The parabola through the three time points nearest to a jump also gives the value
    there, before or behind it. The same holds at a corner, if the signal rises before it and falls behind it.
    There is no parabola where a signal stays at its largest value, as that of ``clip`` does: it would exceed the bound.
    Where the parabola is largest its rate vanishes, so that its gradient is that at a fixed time.
    """

    per_side = 3
    unknown = 0.0  # the rate vanishes where the parabola is largest

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        # times and rows of up to three time points before the last one
        self._before = np.zeros(0), np.zeros((1 + p, 0))
        self._time, self._rows = self._before  # of the largest time point, and of up to two on each side
        self._middle = 0  # which of these is the largest
        self._top = -np.inf

    def take(self, points, rows):
        super().take(points, rows)
        time, rows = np.append(self._before[0], points.time), np.concatenate([self._before[1], rows], axis=1)
        looked_at = 2 if len(self._before[0]) == 3 else 0  # with two time points behind them, or at the start
        largest = looked_at + int(np.argmax(rows[0, looked_at:].real))
        value, again = rows[0, largest].real, len(self._time) > 0 and time[largest] == self._time[self._middle]
        # the first of equal ones, whatever the blocks are; again: it may have time points behind it now
        if again or not len(self._time) or not (np.isnan(self._top) or value <= self._top):
            self._top = value
            near = slice(max(0, largest - 2), largest + 3)
            self._time, self._rows, self._middle = time[near].copy(), rows[:, near].copy(), largest - near.start
        self._before = time[-4:-1].copy(), rows[:, -4:-1].copy()

    @property
    def _at_end(self) -> bool:
        return self._time[self._middle] == self.course.last[-1] and self._moment is None

    @property
    def _piece(self) -> slice:
        """The time points on the side of the largest one of all jumps; on a jump that is alone."""
        at, time = self._time[self._middle], self._time
        near = [each for each in self._stored if each.jump.before[1] <= time[-1] and each.jump.behind[0] >= time[0]]
        near = [each for each in near if _may_be_largest(each)]
        if any(is_on(each.jump, at) for each in near):
            return slice(self._middle, self._middle + 1)
        return quadrature.piece([each.jump for each in near], self._time, at)

    @property
    def _three(self) -> slice:
        """The time points of the parabola."""
        near = self._piece
        first = max(near.start, min(self._middle - 1, near.stop - 3))
        return slice(first, min(first + 3, near.stop))

    @property
    def _moment(self) -> complex | None:
        """Where the parabola is largest, s; analytic in its values. None where that is not beside the largest value."""
        time, values = self._time[self._three], self._rows[0, self._three]
        behind = self._rows[0, self._middle : min(self._middle + 3, self._piece.stop)].real
        if len(time) < 3 or (len(behind) == 3 and (behind == self._top).all()):
            return None
        slopes = np.diff(values) / np.diff(time)
        bend = (slopes[1] - slopes[0]) / (time[2] - time[0])
        if not bend.real < 0.0:
            return None
        found = 0.5 * (time[0] + time[1] - slopes[0] / bend)
        last = self.end.real if time[2] == self.course.last[-1] else time[2]  # of a duration of no whole steps
        return found if time[0] < found.real < last else None

    @property
    def _at_jump(self) -> tuple[Beside, int] | None:
        """The jump and its side where the signal is largest; None where it is largest elsewhere.

        A time point on a jump has no derivative by what moves that, and is left out where others lie beside it.
        """
        found, (there, rows) = None, self._elsewhere
        near = [each for each in self._stored if not each.jump.corner or each.may_exceed(self._top)]
        known = [each for each in near if each.is_enough and _may_be_largest(each)]
        is_one = any(is_on(each.jump, self._time[self._middle]) for each in known)
        top = -np.inf if is_one else weighed(there.value, rows[0]).real
        for each in known:
            for k, side in enumerate(each.sides()):
                value = weighed(side.to_jump.value, side.rows[0]).real
                if value > top:
                    found, top = (each, k), value
        return found

    @property
    def _elsewhere(self) -> tuple[Continuation, np.ndarray]:
        """``read`` without jumps."""
        if self._at_end:
            return super().read
        if self._moment is None:
            alone = slice(self._middle, self._middle + 1)
            return continuation(self._time[alone], self._time[self._middle]), self._rows[:, alone]
        return continuation(self._time[self._three], self._moment), self._rows[:, self._three]

    @property
    def read(self):
        """Weights of the time points that the value is read from, and their rows (1 + p, B)."""
        if found := self._at_jump:
            side = found[0].sides()[found[1]]
            return side.to_jump, side.rows
        return self._elsewhere

    @property
    def gradient(self):
        there, rows = self.read
        if found := self._at_jump:
            return weighed(there.value, rows[1:]) + self._through(found[0].jump.time_rho, weighed(there.rate, rows[0]))
        return super().gradient if self._at_end else weighed(there.value, rows[1:])

    def weights(self, time):
        found = self.read[0].value
        if at_jump := self._at_jump:
            return among(len(time), beside(at_jump[0].jump, time, self.per_side)[at_jump[1]], found)
        if self._at_end:
            return super().weights(time)
        first = int(np.searchsorted(time, self._time[self._middle if len(found) == 1 else self._three.start]))
        return among(len(time), slice(first, first + len(found)), found)

    @property
    def errors(self):
        """By the motion, and by the parabola: one time point more on either side changes that.

        At the start, at the end and beside a jump it is compared with the time point there, at a jump with a line.
        """
        there, rows = self.read
        value, off = weighed(there.value, rows), np.zeros(1 + self.p)
        if found := self._at_jump:
            line = found[0].sides(1)[found[1]]
            off = np.abs(weighed(line.to_jump.value, line.rows) - value)
        elif self._at_end:
            return super().errors
        elif self._moment is not None:
            near = self._piece
            others = [slice(self._middle - 2, self._middle + 2), slice(self._middle - 1, self._middle + 3)]
            inside = near.start < self._middle < near.stop - 1
            for more in others if inside else [slice(self._middle, self._middle + 1)]:
                if more.start >= near.start and more.stop <= near.stop:
                    other = continuation(self._time[more], self._moment).value
                    off = np.maximum(off, np.abs(weighed(other, self._rows[:, more]) - value))
        return Uncertainty(self.by_motion + self.drift + off, self._sizes)


def _may_be_largest(beside: Beside) -> bool:
    """Whether a signal may be largest at a jump; at a corner only if it rises before it and falls behind it."""
    if not (beside.jump.corner and beside.is_enough):
        return not beside.jump.corner
    before, behind = (weighed(side.to_jump.rate, side.rows[0]).real for side in beside.sides())
    return bool(before > 0.0 > behind)


class Peak:
    """Estimates how far rows (1 + p, B), a signal and its derivatives, are off where the signal is largest.

    The largest value lies up to half an interval beside the largest sample. A signal exceeds its samples there by an
    eighth of their second difference; derivatives, which have no extremum, are off by half of their change.
    A signal that is largest at an end of the run is so at that time point.
    """

    def __init__(self, p: int):
        self._before = np.zeros((1 + p, 0))  # rows of the last time point but one
        self.error = np.zeros(1 + p)

    def add(self, rows: np.ndarray, largest: int | None) -> None:
        """Add rows that begin with the last time point before; ``largest`` is None if none is above earlier ones."""
        if largest is not None:
            near = rows[:, max(0, largest - 1) : largest + 2]
            near = near if largest else np.concatenate([self._before, near], axis=1)
            self.error = np.zeros(len(near))
            if near.shape[1] == 3:  # on both sides of the largest one
                steps = np.diff(near.real)
                self.error = 0.5 * np.abs(steps).max(axis=1)
                self.error[0] = abs(steps[0, 1] - steps[0, 0]) / 8.0
        if rows.shape[1] > 1:
            self._before = rows[:, -2:-1].copy()


STEEPEST = 300.0  # exponent: with it exp(s f) and its inverse are numbers, and their products with others


class SmoothMaximum(Stream):
    """Smooth maximum log(mean over time of exp(s f)) / s; exponents are kept relative to the largest so far."""

    sums = True

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        super().__init__(objective, p, course)
        assert objective.sharpness is not None
        self._sharpness = objective.sharpness
        self._top, self._moment = -np.inf, 0.0
        self.integrals = quadrature.Integrals(p)  # of exp(s f), and of that times the derivatives
        self._peak = Peak(p)

    def take(self, points, rows):
        shares, shrink = self._shares(rows, points.weights[0])
        self.integrals.add(points, shares, self._corners, shrink)

    def take_inside(self, length, rows, split, corners):
        shares, shrink = self._shares(rows, length)
        self.integrals.add_inside(length, shares, split, corners, shrink)

    def _shares(self, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, Any]:
        """exp(s f), and that times the derivatives; also the factor by which earlier sums shrink.

        ``weights`` are those of the time points in an integral.
        """
        exponent = self._sharpness * rows[0]
        largest = int(np.argmax(exponent.real))
        self._peak.add(rows, largest if exponent.real[largest] >= self._top else None)
        top = max(self._top, float(exponent.real[largest]))
        shrink, share = np.exp(self._top - top), np.exp(exponent - top)
        shares = np.where(share == 0.0, 0.0, share * rows)  # what has no part in it need not be a number
        self._moment = shrink * self._moment + weights @ shares[0]
        shares[0] = share
        self._top = top
        return shares, shrink

    def take_splits(self, splits, d_sensors):
        self._moment = self._moment + (self._weight_of(splits) * splits.values * splits.weights).sum()
        return super().take_splits(splits, d_sensors)

    def of_splits(self, splits, d_sensors):
        (weight, slope), signal = self.summand(splits), splits.signal(d_sensors)
        signal[0] = 1.0
        added = np.einsum("pnk,nk->np", signal, weight * splits.weights)
        added[:, 1:] += splits.through_shares(weight, slope, d_sensors) / self._sharpness
        return added

    def summand(self, splits):
        weight = self._weight_of(splits)
        return weight, self._sharpness * weight

    def weights_of_splits(self, splits):
        weight = self._weight_of(splits)
        return splits.by_sensors(weight / self._sharpness, weight), self._top / self._sharpness

    def _weight_of(self, splits: Splits) -> np.ndarray:
        """exp(s f) (N, k) at the points of splits."""
        return np.exp(self._sharpness * splits.values - self._top)

    @property
    def weight_inside(self):
        return 1.0 / self._total

    def weights(self, time):
        if self.still:
            return np.ones(1)
        return self.weights_of_integral(time) / self._total

    def share(self, value):
        return np.ones(1) if self.still else np.exp(self._sharpness * value - self._top)

    @property
    def _total(self):
        to_end = weighed(self.to_end.integral, self._summands(self._tail)[0])
        return self.integrals.sums[0, 0] + to_end + self.at_jumps(self._summands)[0][0]

    def _summands(self, rows: np.ndarray) -> np.ndarray:
        """exp(s f), that times the derivatives, and times f (2 + p, k) from rows (1 + p, k)."""
        weight = np.exp(self._sharpness * rows[0] - self._top)
        return np.vstack([weight, weight * rows[1:], weight * rows[0]])

    # The signal is extrapolated to a jump, not exp(s f), which may be steep; between the nearest time point and the
    # jump that has the trapezoidal rule. Weights are relative to exp(s f) at each time point.

    def _to_jump(self, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Weights (k,) of the signal at the jump, and of its rate; that of the nearest time point where it is steep."""
        value, rate = side.to_jump.value, side.to_jump.rate
        rise = np.real(self._sharpness * (weighed(value, side.rows[0]) - side.rows[0]))
        if np.abs(rise).max() <= STEEPEST:
            return value, rate
        alone = np.zeros(len(value))
        alone[side.nearest] = 1.0
        return alone, np.zeros(len(value))

    def weights_beside(self, side):
        value, _ = self._to_jump(side)
        used, found = np.flatnonzero(value), np.zeros(len(value), np.result_type(value, side.rows, self._sharpness))
        rise = weighed(value, side.rows[0]) - side.rows[0, used]
        found[used] = np.exp(self._sharpness * rise) * value[used]
        if self._inside:
            return side.late * found
        found = 0.5 * side.length * found
        found[side.nearest] += 0.5 * side.length
        return found

    def by_jump(self, side):
        value, of_rate = self._to_jump(side)
        sharpness, signal = self._sharpness, weighed(value, side.rows[0])
        at_jump, nearest = (np.exp(sharpness * f - self._top) for f in (signal, side.rows[0, side.nearest]))
        if self._inside:
            return side.sign * at_jump
        rate = sharpness * weighed(of_rate, side.rows[0])
        return side.sign * 0.5 * (at_jump + nearest) + 0.5 * side.length * at_jump * rate

    @property
    def value(self):
        if self.still:
            return self._tail[0, -1]
        return (self._top + np.log(self._total / (self.end - self.course.start))) / self._sharpness

    @property
    def largest(self):
        """The largest value at a time point."""
        return self._tail[0, -1] if self.still else self._top / self._sharpness

    @property
    def gradient(self):
        if self.still:
            return self._tail[1:, -1]
        sharpness, last, total = self._sharpness, self._summands(self._tail), self._total
        to_end, (at_jumps, by_times) = weighed(self.to_end.integral, last), self.at_jumps(self._summands)
        slope = self.integrals.sums[0, 1:] + to_end[1:-1] + at_jumps[1:-1]
        moment = self._moment + to_end[-1] + at_jumps[-1]
        by_sharpness = (moment / total - self.value) / sharpness
        by_end = (weighed(self.to_end.value, last[0]) / total - 1.0 / (self.end - self.course.start)) / sharpness
        explicit = by_sharpness * np.asarray(self.objective.sharpness_rho)[: self.p]
        return slope / total + by_times / (sharpness * total) + explicit + self.by_end(by_end)

    @property
    def errors(self):
        if self.still:
            return Uncertainty(*np.zeros((2, 1 + self.p)))
        total, absolute = np.real(self._total), self.integrals.errors(self.course.intervals)
        relative, slope = absolute / total, self.integrals.sums[0, 1:] / total
        by_value = np.abs(relative[:, 0] / self._sharpness).sum()
        by_slope = np.abs(relative[:, 1:] - np.multiply.outer(relative[:, 0], slope)).sum(axis=0)
        at_corners = self.integrals.at_corners / total
        by_value = max(by_value, at_corners[0] / abs(self._sharpness))
        by_slope = np.fmax(by_slope, at_corners[1:] + at_corners[0] * np.abs(slope))
        # 1 where the integral is that of a single time point, 0 where quadrature follows the integrand
        narrowness = float(np.minimum(1.0, 3.0 * np.abs(absolute[0, 0] / total)))
        at_jumps = self.errors_at_jumps(self._summands, self._sharpness) / total
        at_jumps[0] /= abs(self._sharpness)
        errors = np.append(by_value, by_slope) + at_jumps + narrowness * self._peak.error + self.drift
        return Uncertainty(errors, np.append(0.0, self.integrals.sizes[1:] / total))
