"""Integrands of objectives over time, block by block, and estimated discretisation errors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.model.problem import Block
from mbsim_cli.solve.blocks import SHARES
from mbsim_cli.spec.expressions.integrand import TIME
from mbsim_cli.study import quadrature
from mbsim_cli.study.quadrature import Beside, Continuation, Course, Side, beside, weighed
from mbsim_cli.study.switches import Between, Splits, Switches

# Estimated discretisation errors of objectives. Derivation: docs/theory/resolution.md.
#
# A number x that is a sum of terms of magnitude S has the relative error e / max(|x|, CANCELS S): where terms cancel,
# x itself would be too small a measure. A derivative that cancels and hardly changes the value, as near an optimum, has
# the larger measure INSENSITIVE min(S, value / parameter). Round-off of x is ROUND_OFF times its value without
# cancellation.

CANCELS = 1e-2
INSENSITIVE = 0.1  # change of the value over a parameter's range or size, over the value, that counts fully
CONSTANT = 1e-3  # variation over size below which a signal counts as constant but for errors
ROUND_OFF = 1e-12  # relative
AT_REST = 2e-10  # variation over the same size below which a signal is at rest
ZERO = 1e-9  # derivative, over value / parameter, below which it is round-off


class Uncertainty(NamedTuple):
    """Estimated errors (1 + p,) of a value and of its derivatives by p parameters, the value first."""

    errors: np.ndarray
    sizes: np.ndarray  # (1 + p,) magnitudes of the terms that add up to the numbers
    scale: float = 0.0  # magnitude of the value if nothing cancelled in its integrand

    def _magnitudes(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Magnitudes (1 + p,) of a value and derivatives, and of their round-off."""
        numbers, parameters = np.append(value, gradient)[: len(self.errors)], parameters[: len(self.errors) - 1]
        of_parameters = np.where(parameters == 0.0, 1.0, np.abs(parameters))
        size = max(abs(value), CANCELS * self.sizes[0])
        zeros = np.append(0.0, ZERO * max(size, ROUND_OFF * self.scale) / of_parameters)
        round_off = np.maximum(zeros, ROUND_OFF * self.scale / np.append(1.0, of_parameters))
        magnitudes = np.maximum(np.abs(numbers), CANCELS * self.sizes)
        small = INSENSITIVE * np.minimum(self.sizes[1:], np.where(parameters == 0.0, 0.0, size / of_parameters))
        magnitudes[1:] = np.maximum(magnitudes[1:], small)
        return magnitudes, round_off

    def denominators(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Magnitudes (1 + p,) that errors are relative to, for derivatives by ``parameters`` (p,)."""
        return np.maximum(*self._magnitudes(value, gradient, parameters))

    def reported(self, value: float, gradient: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Errors (1 + p,); NaN for numbers that are round-off."""
        magnitudes, round_off = self._magnitudes(value, gradient, parameters)
        return np.where(magnitudes < round_off, np.nan, self.errors)

    def relative(
        self, value: float, gradient: np.ndarray, parameters: np.ndarray, ranges: np.ndarray | None = None
    ) -> np.ndarray:
        """Errors (1 + p,) relative to ``denominators``; NaN for numbers that are round-off.

        ``ranges`` (p,) are those of parameters, 0 where there is none. A derivative that hardly changes the value over
        its range has a part of the value over the range as denominator: at an optimum the derivative vanishes, and its
        error does not.
        """
        magnitudes, round_off = self._magnitudes(value, gradient, parameters)
        found, size = np.where(magnitudes < round_off, np.nan, self.errors), np.maximum(magnitudes, round_off)
        if ranges is not None:
            ranges, least = ranges[: len(size) - 1], INSENSITIVE * max(abs(value), CANCELS * self.sizes[0])
            size[1:] = np.maximum(size[1:], np.divide(least, ranges, out=np.zeros(len(ranges)), where=ranges > 0.0))
        unknown = np.isnan(found) | np.isnan(size)
        return np.divide(found, size, out=np.where(unknown, np.nan, 0.0), where=size > 0.0)

    def with_gradient(self, errors: np.ndarray, sizes: np.ndarray | None = None) -> "Uncertainty":
        """Replace the errors (p,) of derivatives, and their sizes if these are known."""
        sizes = np.append(self.sizes[0], np.zeros(len(errors)) if sizes is None else sizes)
        return self._replace(errors=np.append(self.errors[0], errors), sizes=sizes)


class Spread:
    """Variation over time of a signal and its derivatives by p parameters, as long as the signal may be constant."""

    def __init__(self, p: int):
        self._least, self._most = np.full(1 + p, np.inf), np.full(1 + p, -np.inf)
        self._scale = np.zeros(1 + p)
        self._varies = False  # then it is no constant of the motion, whatever follows

    def add(self, rows: np.ndarray, scale: float = 0.0) -> None:
        """Add rows (1 + p, B); ``scale`` is the magnitude of the signal if nothing cancelled in it."""
        if self._varies:
            return
        self._scale[0] = scale
        self._least = np.minimum(self._least, rows.real.min(axis=1))
        self._most = np.maximum(self._most, rows.real.max(axis=1))
        self._varies = not (self.of_constants[0] > 0.0 or self._least[0] == self._most[0])

    @property
    def of_constants(self) -> np.ndarray:
        """Variation (1 + p,) of a signal that looks like a constant of the motion; zero for other signals."""
        with np.errstate(invalid="ignore"):  # infinite numbers are no constants
            spread = self._most - self._least
        size = np.maximum(np.abs(self._least), np.abs(self._most))
        size = np.maximum(size, np.where(spread > AT_REST * self._scale, self._scale, 0.0))  # else it is at rest
        constant = spread <= CONSTANT * size
        return np.where(constant & constant[0], spread, 0.0)


APART = 1e-12  # of the largest value of a sensor: more than its round-off


class Signal(NamedTuple):
    """An integrand at B time points."""

    rows: np.ndarray  # (1 + p, B) expression, and its derivatives by p parameters
    by_sensor: Mapping[str, np.ndarray]  # derivatives (., w) by each sensor; the last row is that of the last time


def integrand_of(objective: Objective, block: Block) -> Signal:
    """The integrand of an objective at the time points of a block."""
    integrand, p = objective.integrand, block.d_sensors.shape[2]
    sensors = {name: block.sensors[:, objective.sensors[name]] for name in integrand.sensors}
    if not p:
        at_end = {name: values[-1:] for name, values in sensors.items()}
        found = integrand.linearised(at_end, block.time[-1:], objective.values)
        return Signal(integrand.value(sensors, block.time, objective.values)[None], found.by_sensor)
    found = integrand.linearised(sensors, block.time, objective.values)
    rows = np.zeros((1 + p, len(block.time)), found.value.dtype)
    rows[0] = found.value
    for name, partial in found.by_sensor.items():
        derivatives, read = block.d_sensors[:, objective.sensors[name]], list(integrand.components[name])
        if len(read) < partial.shape[1]:  # components that are not read may be NaN
            partial, derivatives = partial[:, read], derivatives[:, read]
        rows[1:] += np.einsum("bw,bwp->bp", partial, derivatives).T
    for k, name in enumerate(objective.parameters):
        if name in found.by_parameter:
            rows[1 + k] += found.by_parameter[name]
    return Signal(rows, found.by_sensor)


def with_expressed(expressed: Sequence[Objective], block: Block) -> Any:
    """The block with the numbers of sensors that are expressions of others, behind these."""
    if inside := getattr(block, "inside", ()):
        block = block._replace(inside=tuple(with_expressed(expressed, each) for each in inside))
    signals = [integrand_of(objective, block).rows for objective in expressed]
    rows = np.stack(signals, axis=1)  # (1 + p, k, B)
    unknown = np.zeros((rows.shape[2], rows.shape[1]), bool)
    for k, objective in enumerate(expressed):
        for name, read in objective.integrand.components.items():
            unknown[:, k] |= block.undetermined[:, objective.sensors[name]][:, list(read)].any(axis=1)
    return block._replace(
        sensors=np.concatenate([block.sensors, rows[0].T], axis=1),
        d_sensors=np.concatenate([block.d_sensors, rows[1:].transpose(2, 1, 0)], axis=1),
        undetermined=np.concatenate([block.undetermined, unknown], axis=1),
    )


class Scale:
    """Magnitude of an integrand if nothing cancelled in it: its derivatives times the largest values of sensors.

    Derivatives are those at the last time point; a sensor of several components counts as a whole.
    """

    def __init__(self, objective: Objective):
        self.value = 0.0  # also where it is not known
        self._objective = objective
        self._largest: dict[str, float] = {}
        self._last: tuple[dict[str, np.ndarray], np.ndarray] = {}, np.zeros(0)  # last values of sensors, and their time

    def add(self, block: Block, signal: Signal) -> None:
        """Add the next time points."""
        shown = {name: block.sensors[:, self._objective.sensors[name]] for name in signal.by_sensor}
        self._last = {name: values[-1:] for name, values in shown.items()}, block.time[-1:]
        for name, values in shown.items():
            self._largest[name] = np.fmax.reduce(np.abs(values.real), axis=None, initial=self._largest.get(name, 0.0))
        self.value = self._of(signal.by_sensor)

    @property
    def nearby(self) -> float:
        """The magnitude a little beside the last state: squares have round-off and no derivative where they vanish."""
        shown, time = self._last
        moved = {name: values + APART * self._largest[name] for name, values in shown.items()}
        found = self._objective.integrand.linearised(moved, time, self._objective.values)
        return max(self.value, self._of(found.by_sensor))

    def _of(self, by_sensor: Mapping[str, np.ndarray]) -> float:
        found = sum(np.abs(partial[-1]).sum() * self._largest[name] for name, partial in by_sensor.items())
        return float(found) if np.isfinite(found) else 0.0


class SplitWeights(NamedTuple):
    """What ``Stream.weights_of_splits`` gives of splits between time points."""

    time: np.ndarray  # (N, m) s
    read: np.ndarray  # (w,) columns of the sensors
    weights: np.ndarray  # (N, m, w)
    at: Any


class Stream:
    """Adds blocks; a signal and its derivatives by p parameters are rows (1 + p, B) at successive time points.

    Objectives of one run may share its ``course``.
    """

    # computed by each kind
    take: Callable[..., None]  # adds the signal at successive time points
    value: Any  # the objective, so far
    gradient: Any  # its derivatives (p,)
    errors: Any  # ``uncertainty`` without its scale
    # values where a kind does not compute them:
    reason = ""  # why there are no derivatives
    extent: Any = 1.0  # the objective of a constant signal of one
    weight_inside: Any = 0.0  # derivative of the value by the signal inside steps, over ``length``, without ``share``
    integrals: quadrature.Integrals
    sums = False  # whether it is a sum over time: of time points inside steps, where a run has them
    per_side = quadrature.TIMES  # time points on each side of a jump through which the signal is extrapolated to it

    def __init__(self, objective: Objective, p: int, course: Course | None = None):
        self.objective, self.p = objective, p
        self.course = Course() if course is None else course
        self._tail = np.zeros((1 + p, 0))  # rows of the last time points
        self._spread = Spread(p)
        self._scale = Scale(objective)
        self._inside = False  # whether a run has time points inside steps
        self.has_corners = False  # whether it is a sum over time whose integrand had corners between time points
        self._corners = quadrature.NO_CORNERS  # in which of the latest intervals
        self._latest: dict[str, np.ndarray] = {}  # time, and values of sensors, at the last two time points
        self._switches = Switches(objective, p) if self.sums and objective.integrand.switches else None
        self.splits, self.switched = list[SplitWeights](), list[float]()  # and times, s
        self._stored = [Beside(jump, p, self.per_side) for jump in objective.jumps]
        self._within = list[list[Beside]]()  # of time points inside steps, of each run
        if self.sums:
            self.course.jumps = objective.jumps

    def add(self, block: Block, shift: np.ndarray | None = None) -> None:
        """Add a block of time points, which may be empty; ``shift`` (1 + p, B) as of ``Course.points``."""
        inside = getattr(block, "inside", ())
        for run, points in enumerate(inside if self.sums else ()):
            if run == len(self._within):
                self._within.append([Beside(jump, self.p, quadrature.INSIDE) for jump in self.objective.jumps])
            if len(points.time):
                signal = integrand_of(self.objective, points)
                self._scale.add(points, signal)
                splits = self.splits_inside(points.time, points.length, points.sensors, run)
                numbers = [] if splits is None else (splits.rows[:, 0] // len(SHARES)).tolist()
                self.take_inside(points.length, signal.rows, numbers, self._corners_between_steps(points))
                if splits:
                    self.take_splits(splits, points.d_sensors[splits.rows[..., None], self.columns])
                    self.integrals.add_split(0.0, self.errors_of_splits(splits))
                for each in self._within[run]:
                    each.add(points.time, signal.rows)
        if not len(block.time):
            return
        points = self.course.points(block.time, shift)
        signal = integrand_of(self.objective, block)
        rows = np.concatenate([self._tail, signal.rows], axis=1)
        for each in self._stored:
            each.add(block.time, signal.rows)
        self._tail = rows[:, rows.shape[1] - len(self.course.last) :].copy()
        rows = rows[:, rows.shape[1] - len(points.time) :]
        self._scale.add(block, signal)
        self._spread.add(rows, self._scale.value)
        self._inside = bool(inside)
        if not (self.sums and self._inside):
            if self.sums:
                self._find_corners(block, points.lengths)
            between = self._switches.between(block, points, self.course.jumps) if self._switches else None
            if between:
                self._corners |= between.lost
            self.has_corners |= bool(self._corners.any())
            self.take(points, rows)
            if between:
                self._split_intervals(between, len(points.lengths))

    def splits_inside(
        self, time: np.ndarray, length: np.ndarray, sensors: np.ndarray, run: int | None = None
    ) -> Splits | None:
        """Splits of the steps of adaptive integrators: see ``Switches.inside``."""
        return self._switches.inside(time, length, sensors, run) if self._switches else None

    @property
    def columns(self) -> np.ndarray:
        """Columns (w,) of the sensors that splits read."""
        return self._switches.read if self._switches else np.zeros(0, int)

    def _split_intervals(self, between: Between, count: int) -> None:
        """Split intervals between time points, and say what that adds to the error by quadrature, pair by pair."""
        last = self.integrals.open
        added = {-1: last} if last.any() else {}  # by interval
        for some, time, d_sensors in between.alone:
            for number, each in zip((some.rows[:, -1] - 1).tolist(), self.take_splits(some, d_sensors), strict=True):
                added[number] = added.get(number, 0.0) + each
            self.splits.append(SplitWeights(time, self.columns, *self.weights_of_splits(some)))
        for some, _, d_sensors in between.pairs:
            changes = self.of_splits(some, d_sensors).sum(axis=0)
            for number in {*some.rows[:, 0].tolist(), *some.rows[:, 1].tolist()}:
                changes = changes - added.get(number, 0.0)
            self.integrals.add_split(0.0, changes / 3.0)
        if count:
            self.integrals.open = added.get(count - 1, np.zeros(1 + self.p))
            self.integrals.is_split = not {count - 1, count - 2}.isdisjoint(added)

    def _find_corners(self, block: Block, lengths: np.ndarray) -> None:
        """Find the intervals, with these lengths, in which the integrand has corners; not where it is split."""
        integrand, rows = self.objective.integrand, self.objective.sensors
        read = {TIME: block.time, **{name: block.sensors[:, rows[name]] for name in integrand.sensors}}
        if self._latest:
            read = {name: np.concatenate([self._latest[name], values]) for name, values in read.items()}
        self._latest = {name: values[-2:].copy() for name, values in read.items()}
        found = integrand.corners(read, read[TIME], self.objective.values)
        self._corners = found[len(found) - len(lengths) :] & (lengths != 0.0)

    def _corners_between_steps(self, points: Block) -> list[int]:
        """The steps, by number, between whose last time point inside and the next one the integrand has a corner."""
        integrand, rows = self.objective.integrand, self.objective.sensors
        read = {name: points.sensors[:, rows[name]] for name in integrand.sensors}
        found = integrand.corners(read, points.time, self.objective.values)
        return np.flatnonzero(found[len(SHARES) - 1 :: len(SHARES)]).tolist()

    def take_inside(self, length: np.ndarray, rows: np.ndarray, split: Sequence[int], corners: Sequence[int]) -> None:
        """Add the signal at time points inside steps, with weights ``length`` (B,); see ``Integrals.add_inside``."""

    def take_splits(self, splits: Splits, d_sensors: np.ndarray) -> np.ndarray:
        """Add what splitting intervals adds (N, 1 + p), and return it; ``d_sensors`` as of ``of_splits``."""
        added = self.of_splits(splits, d_sensors)
        self.switched += splits.moments.ravel().tolist()
        self.integrals.add_split(added.sum(axis=0))
        return added

    def of_splits(self, splits: Splits, d_sensors: np.ndarray) -> np.ndarray:
        """What splitting adds to sums (N, 1 + p), from derivatives (N, m, w, p) of the sensors that are read."""
        raise NotImplementedError

    def errors_of_splits(self, splits: Splits) -> np.ndarray:
        """Errors (1 + p,) of the sum by the polynomials of sensors: of the shares of switches, and of the points."""
        summand, slope = self.summand(splits)
        found = np.zeros(1 + self.p)
        found[0] = (np.abs(splits.late * splits.by_shares(summand, slope)) + splits.off(slope)).sum()
        return found

    def summand(self, splits: Splits) -> tuple[np.ndarray, Any]:
        """The summand (N, k) at the points of splits, and its derivative by the formulas."""
        raise NotImplementedError

    def weights_of_splits(self, splits: Splits) -> tuple[np.ndarray, Any]:
        """Derivatives (N, m, w) of the sum by sensors, and the value of the signal for ``of_value``."""
        raise NotImplementedError

    @property
    def drift(self) -> np.ndarray:
        """Errors (1 + p,) of a signal that should be constant: a motion ahead of time does not change it."""
        return self._spread.of_constants if np.any(self.course.ahead) else np.zeros(1 + self.p)

    def beyond(self, of: Callable[[Continuation], np.ndarray]) -> np.ndarray:
        """Errors (1 + p,) of the extrapolation to the end: its change with one time point fewer."""
        if len(self.course.last) < quadrature.TIMES:
            return np.zeros(1 + self.p)
        return np.abs(weighed(of(self.to_end), self._tail) - weighed(of(self._continued(1)), self._tail))

    @property
    def uncertainty(self) -> Uncertainty:
        """Estimated discretisation error; without the motion's share where that is not known."""
        found, scale = self.errors, self.extent * self._scale.value
        if max(abs(self.value), found.sizes[0]) <= ZERO * scale or not scale:
            scale = self.extent * self._scale.nearby
        return found._replace(scale=scale)

    @property
    def streams(self) -> list[tuple[float, "Stream"]]:
        """The objectives along time that the value depends on, and its derivatives by them."""
        return [(1.0, self)]

    def weights(self, time: np.ndarray) -> np.ndarray:
        """Derivatives (N,) of the value by the signal at all times ``time`` (N,), without ``share``."""
        raise NotImplementedError

    def share(self, value: np.ndarray) -> np.ndarray:
        """Factors (B,) of these where the signal has a value (B,); after the run."""
        return np.ones(len(value))

    def of_value(self, weights: np.ndarray, at: Any) -> np.ndarray:
        """Derivatives of the value, from those of the sum that ``weights_of_splits`` gives; after the run."""
        return self.weight_inside * self.share(np.array([at])) * weights

    def at_jumps(self, summand: Callable[[np.ndarray], np.ndarray], fewer: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """What jumps add to integrals (q,) of ``summand``, and to derivatives (p,) of the first by their times.

        ``summand`` gives what is integrated (q, k) from rows (1 + p, k) of the signal. Both sides of a jump are
        extrapolated from so many time points ``fewer``: from those inside steps where there are enough, of each run.
        """
        found, by_times = np.zeros(len(summand(self._tail))), np.zeros(self.p)
        for k, stored in enumerate(self._stored):
            within = [run[k] for run in self._within]
            runs = within if within and all(each.is_enough for each in within) else [stored]
            for side in (side for each in runs for side in each.sides(fewer, self.switched)):
                found = found + weighed(self.weights_beside(side), summand(side.rows)) / len(runs)
                by_times = by_times + self._through(stored.jump.time_rho, self.by_jump(side)) / len(runs)
        return found, by_times

    def weights_beside(self, side: Side) -> np.ndarray:
        """Weights (k,) of the time points beside a jump in an integral between the nearest one and the jump.

        Steps of adaptive integrators end at jumps: then it begins at the real part of the time of the jump.
        """
        raise NotImplementedError

    def by_jump(self, side: Side) -> Any:
        """Derivative of this integral by the time of the jump."""
        raise NotImplementedError

    def errors_at_jumps(self, summand: Callable[[np.ndarray], np.ndarray], per: complex = 1.0) -> np.ndarray:
        """Errors (1 + p,) of integrals of summands, less what derivatives through times are divided by ``per``."""
        (found, by_times), (other, by_other) = self.at_jumps(summand), self.at_jumps(summand, 1)
        errors = (found - other)[: 1 + self.p]
        errors[1:] += (by_times - by_other) / per
        return np.abs(errors)

    def weights_of_integral(self, time: np.ndarray) -> np.ndarray:
        """Weights (N,) of all stored time points in an integral; those between steps have none beside others inside."""
        to_end, stored = self.to_end.integral, () if self._inside else self._stored
        at_jumps = [tuple(map(self.weights_beside, each.sides(switched=self.switched))) for each in stored]
        found = np.zeros(len(time), np.result_type(float, to_end, *(each for pair in at_jumps for each in pair)))
        if not self._inside:
            found += quadrature.trapezoidal(quadrature.intervals(time, self.course.jumps))
        found[-len(to_end) :] += to_end
        for each, pair in zip(stored, at_jumps, strict=True):
            for side, weights in zip(beside(each.jump, time), pair, strict=True):
                found[side] += weights
        return found

    @property
    def still(self) -> bool:
        """Whether there is but one time point."""
        return self.course.last[-1] == self.course.start

    @property
    def end(self) -> complex:
        """End of the analysis, s."""
        last = self.course.last[-1]
        return last if self.objective.end is None or self.still else self.objective.end

    @property
    def to_end(self) -> Continuation:
        """Weights of the last time points in quantities between them and the end."""
        return self._continued(0)

    def _continued(self, fewer: int) -> Continuation:
        """The same, from so many time points fewer, but one; integrals are not continued across a jump.

        Values are where one time point lies behind it, which would give no rate.
        """
        last = self.course.last
        behind = max((int(np.searchsorted(last, each.jump.behind[0])) for each in self._stored), default=0)
        behind = max(behind, int(np.searchsorted(last, max(self.switched, default=-np.inf))))
        behind = behind if self.sums or len(last) - behind > 1 else 0
        first = min(fewer + behind, len(last) - 1)
        found = quadrature.continuation(last[first:], self.end)
        return found if not first else Continuation(*(np.pad(weights, (first, 0)) for weights in found))

    def by_end(self, rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through the end of the analysis, from that by the end."""
        return np.zeros(self.p) if self.still else self._through(self.objective.end_rho, rate)

    def _through(self, time_rho: Sequence[float], rate: Any) -> np.ndarray:
        """Derivatives (p,) of a quantity through a time, from that by the time."""
        by_parameter = np.asarray(time_rho)[: self.p]
        return rate * by_parameter if by_parameter.any() else np.zeros(self.p)
