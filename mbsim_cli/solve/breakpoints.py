"""Event times: breakpoints of laws of time, the pieces of steps between them, and onsets of forces."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.drivers.stepping import MEETS, Breakpoints
from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.kernels.integrators.onsets import DEFLECTION, ELONGATION, LOAD, PENETRATION, RATE, SLIDING, Onsets
from mbsim_cli.model.codes import APPLIED, BENDING, CONTACTS, TYRES, Force, Law, Operation
from mbsim_cli.model.layout import NONE, ONSET, STRIBECK, TYRE_STIFFNESS, Laws, Model, NoSignals
from mbsim_cli.model.problem import Options, Problem

T = 2  # place of t in a tape
WHOLE = 1e-9  # of a step: above the round-off of sums of steps


def _reading(signals: Any) -> Iterator[tuple[int, int]]:
    """Expressions that read t, and their first steps."""
    for u, (first, last) in enumerate(pairwise([] if isinstance(signals, NoSignals) else signals.first_step.tolist())):
        if first < last and signals.code[first] == Operation.ADD and signals.operand[first, 0] == T:
            yield u, first


def laws_of_time(signals: Any) -> np.ndarray:
    """Laws (k,) that expressions evaluate at t."""
    found: list[int] = []
    for u, first in _reading(signals):
        steps = slice(first, signals.first_step[u + 1])
        of_time = (signals.code[steps] == Operation.LAW) & (signals.operand[steps, 0] == signals.steps[u])
        found += signals.operand[steps, 1][of_time].tolist()
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)


def terms_of(laws: Laws, law: int) -> Iterator[int]:
    """Indices of the terms whose sum is the law, its own first; empty for NONE."""
    while law != NONE:
        yield int(law)
        law = int(laws.next[law])


def ends(laws: Laws, theta: np.ndarray, k: int) -> tuple[float, float] | None:
    """First and last argument of the table of term k; None where it has no end."""
    first, count = laws.theta[k], laws.count[k]
    if laws.kind[k] != Law.SPLINE or not np.isnan(theta[first + count]):
        return None
    return float(theta[first + 2].real), float(theta[first + count - 2].real)


def going_on(laws: Laws, theta: np.ndarray) -> np.ndarray:
    """Theta in which tables that end are extrapolated with the slopes at their ends."""
    found = theta.copy()
    for k in range(len(laws.kind)):
        if ends(laws, theta, k) is not None:
            first, count = laws.theta[k], laws.count[k]
            knots, cubics = found[first : first + count], found[first + count : first + 5 * count - 4].reshape(-1, 4)
            cubics[0] = [0.0, 0.0, cubics[1, 2], cubics[1, 3] - cubics[1, 2] * (knots[1] - knots[0])]
            a, b, slope, value = cubics[-2]
            h = knots[-2] - knots[-3]
            cubics[-1] = [0.0, 0.0, (3.0 * a * h + 2.0 * b) * h + slope, ((a * h + b) * h + slope) * h + value]
    return found


JUMP = 1e-6  # of the values and slopes of a table, relative, that counts as one
BESIDE = 8.0 * np.finfo(float).eps  # of a time: round-off of the sum of a time and a step


class Breakpoint(NamedTuple):
    """A breakpoint: time, s; offsets in theta whose sum it is; whether two derivatives are continuous there."""

    time: float
    numbers: tuple[int, ...]
    smooth: bool


def breakpoints_of(problem: Problem, theta: np.ndarray) -> Breakpoints:
    """All breakpoints of a run except those at its start; at its end only those that parameters move.

    Stages before a breakpoint at the end use the formula before it, so a parameter that moves it moves the end, too.
    """
    model, options, moved = problem.model, problem.options, movable(problem)
    near, rows = MEETS * options.end, []
    of_forces, driving = (
        breakpoints_of_laws(model.laws, theta.real, moved, laws)
        for laws in (laws_of_forces(model), model.constraints.law)
    )
    for group in groups_in_run(of_forces + driving, options.end):
        first, last = group[0].time, group[-1].time
        row = options.step * round(last / options.step)
        at = last if options.adaptive or abs(row - last) > near else row
        chosen = next((point for point in group if point in driving), group[0])  # forces do not
        rows.append((at, first - BESIDE * first, last + BESIDE * last, chosen.numbers[0]))  # steps begin at zero there
    ending = [point for point in of_forces + driving if abs(point.time - options.end) <= near]
    if any(moved[number] for point in ending for number in point.numbers):
        first = min(point.time for point in ending)
        early = min(first, options.end) - BESIDE * first
        rows.append((options.end, early, early, ending[0].numbers[0]))
    time, before, behind, number = np.array(rows, float).reshape(-1, 4).T.copy()
    return Breakpoints(time, before, behind, number.astype(np.int64))


def movable(problem: Problem) -> np.ndarray:
    """Mask (len(theta),) of the numbers that any parameter of the file changes, with or without gradients."""
    moved = np.asarray(problem.theta_rho.any(axis=1))
    return moved if problem.movable is None else moved | problem.movable


def laws_of_forces(model: Model) -> np.ndarray:
    """Laws (k,) of time of forces, or of their expressions, including NONE."""
    return np.concatenate([_laws_of_elements(model), laws_of_time(model.signals)])


def _laws_of_elements(model: Model) -> np.ndarray:
    """Laws (k,) of time that multiply or are forces; the first law of tyres and of spheres on roads is the road."""
    return model.forces.law[np.isin(model.forces.kind, (Force.ALONG_MEASURE, *APPLIED)), 0]


def laws_that_move(problem: Problem) -> np.ndarray:
    """``laws_of_forces`` but for those of comparisons of t that sums over time alone read."""
    laws = laws_of_forces(problem.model)
    return laws[[law not in problem.summed_laws for law in laws.tolist()]]


def groups_in_run(breakpoints: Iterable[Breakpoint], end: float) -> list[list[Breakpoint]]:
    """Breakpoints within a run to ``end`` in order of time, in groups that differ by round-off only."""
    near = MEETS * end
    return grouped([point for point in breakpoints if near < point.time < end - near], near)


def grouped(breakpoints: Sequence[Breakpoint], near: float) -> list[list[Breakpoint]]:
    """Breakpoints in order of time, in groups whose neighbours are at most ``near`` apart, s."""
    groups = list[list[Breakpoint]]()
    for point in sorted(breakpoints):
        if groups and point.time - groups[-1][-1].time <= near:
            groups[-1].append(point)
        else:
            groups.append([point])
    return groups


def breakpoints_of_laws(laws: Laws, theta: np.ndarray, moved: np.ndarray, heads: np.ndarray) -> list[Breakpoint]:
    """Breakpoints of the laws ``heads`` (k,), each law once; see ``breakpoints_of_law``."""
    return [point for law in dict.fromkeys(heads.tolist()) for point in breakpoints_of_law(laws, theta, moved, law)]


def breakpoints_of_law(laws: Laws, theta: np.ndarray, moved: np.ndarray, law: int) -> list[Breakpoint]:
    """Breakpoints of all terms of a law, some twice; ``moved`` (len(theta),) is as from ``movable``."""
    found = []
    for term in terms_of(laws, law):
        window = laws.window[term]
        low, high = (-np.inf, np.inf) if window == NONE else theta[window : window + 2]
        found += [point for point in _of_term(laws, theta, moved, term) if low <= point.time <= high]
    return found


def _of_term(laws: Laws, theta: np.ndarray, moved: np.ndarray, k: int) -> Iterator[Breakpoint]:
    first, count, window = int(laws.theta[k]), int(laws.count[k]), int(laws.window[k])
    edges, smooth = [window, window + 1] if window != NONE else [], []
    match Law(laws.kind[k]):
        case Law.SMOOTH_STEP:
            smooth = [first, first + 1]
        case Law.ONE_SIDED:
            yield Breakpoint(float((theta[first] + theta[first + 1]).real), (first, first + 1), smooth=True)
            smooth = [first]
        case Law.SPLINE:  # the outermost breakpoints are of straight lines that go on
            last = first + count - 2
            edges += [first + 1, last]
            edges += [first + 2 + int(k) for k in _jumping(theta, moved, first, count)]
            smooth = sorted({first + 2 + int(k) for k in np.flatnonzero(moved[first + 2 : last])}.difference(edges))
    for numbers, is_smooth in ((edges, False), (smooth, True)):
        for number in numbers:
            yield Breakpoint(float(theta[number].real), (int(number),), is_smooth)


def _jumping(theta: np.ndarray, moved: np.ndarray, first: int, count: int) -> np.ndarray:
    """Inner breakpoints of a table, from its second row on, at which its value or its slope jumps: not of splines.

    Those of lines and steps that parameters move count whatever their values are: derivatives jump there.
    """
    x, pieces = theta[first : first + count].real, slice(first + count, first + 5 * count - 4)
    cubics, own = theta[pieces].real.reshape(-1, 4), moved[pieces].reshape(-1, 4)
    a, b, c, d = cubics.T
    h = np.diff(x)
    value, slope = ((a * h + b) * h + c) * h + d, (3.0 * a * h + 2.0 * b) * h + c
    inner = slice(1, count - 3)  # pieces behind which a row of the table ends that is neither the first nor the last
    gaps = np.abs(d[2:-1] - value[inner]), np.abs(c[2:-1] - slope[inner])
    sizes = np.nanmax(np.abs(d), initial=0.0), np.nanmax(np.abs(c), initial=0.0)
    curves = own[:, :2] | (cubics[:, :2] != 0.0)
    curved, varied = np.asarray(curves.any(axis=1)), np.asarray(own[:, 2:].any(axis=1))
    may_jump = (varied[inner] | varied[2:-1]) & ~(curved[inner] | curved[2:-1])
    return np.flatnonzero((gaps[0] > JUMP * sizes[0]) | (gaps[1] > JUMP * sizes[1]) | may_jump)


class EventTime(NamedTuple):
    """An event time, s, and the offsets in theta whose sum it is (empty for output times)."""

    time: float
    numbers: tuple[int, ...] = ()

    def late(self, theta: np.ndarray) -> complex:
        """Imaginary part of the time under a complex step of theta, as a complex number."""
        return complex(0.0, sum(theta[number].imag for number in self.numbers))

    def varied(self, dtheta: np.ndarray) -> np.ndarray:
        """Its derivatives (p,)."""
        if not self.numbers:  # as those of all steps that are divided because forces begin in them
            return np.zeros(dtheta.shape[1], dtheta.dtype)
        return np.asarray(dtheta[list(self.numbers)].sum(axis=0))


class Piece(NamedTuple):
    """A piece of a step between two event times."""

    begin: EventTime
    end: EventTime

    def is_short(self, step: float) -> bool:
        """Whether the piece is too short to compute the accelerations at its end from positions."""
        at_law = bool(self.begin.numbers or self.end.numbers)
        return at_law and self.end.time - self.begin.time < SHORT * step

    @property
    def halves(self) -> tuple["Piece", "Piece"]:
        """The two halves of the piece."""
        middle = EventTime(0.5 * (self.begin.time + self.end.time))
        return Piece(self.begin, middle), Piece(middle, self.end)

    def length(self, theta: np.ndarray) -> complex | float:
        """Its length, complex where theta is."""
        length = self.end.time - self.begin.time
        return length + self.end.late(theta) - self.begin.late(theta) if np.iscomplexobj(theta) else length

    def varied(self, dtheta: np.ndarray) -> np.ndarray:
        """Derivatives (p,) of its length."""
        return self.end.varied(dtheta) - self.begin.varied(dtheta)

    def control(self, control: Control, theta: np.ndarray) -> Control:
        """The control of a step of this length; after a breakpoint, accelerations are projected by the mass matrix."""
        inert = control.mass_projection or bool(self.end.numbers)
        length = self.length(theta)
        h: Any = length if isinstance(control.h, complex) else length.real
        return control._replace(h=h, until=self.end.time, mass_projection=inert)


SHORT = 1e-3  # of a step


def with_complex_step(control: Control, problem: Problem, theta: np.ndarray) -> Control:
    """The control with a complex step length if pieces may vary, so that one compiled loop serves steps and pieces."""
    h: Any = complex(control.h) if problem.stops and np.iscomplexobj(theta) else control.h
    return control._replace(h=h)


def pieces_of(problem: Problem, theta: np.ndarray) -> dict[int, list[Piece]]:
    """The pieces of those steps, by their number, that are made in pieces."""
    step, total = problem.options.step, round(problem.options.duration / problem.options.step)
    found = dict[int, list[Piece]]()
    stops = (EventTime(sum(float(theta[k].real) for k in numbers), numbers) for numbers in problem.stops)
    for stop in sorted(stop for stop in stops if 0.0 < stop.time < (total + 1) * step):
        number = int(np.ceil(stop.time / step))  # a step includes its end
        while (number - 1) * step >= stop.time:
            number -= 1
        while number * step < stop.time:
            number += 1
        if number <= total:
            before = found.setdefault(number, [Piece(EventTime((number - 1) * step), EventTime(number * step))])
            last = before.pop()
            before += [Piece(last.begin, stop), Piece(stop, last.end)]
    return found


class LawRates(NamedTuple):
    """Rates of the numbers of laws of time, dtheta/dt = D theta + d, by which a law at t + dt is one at t."""

    row: np.ndarray  # of D
    column: np.ndarray
    factor: np.ndarray
    moved: np.ndarray  # where d is -1: arguments of which a law is one of their distance to time
    added: np.ndarray  # where d is 1: numbers that expressions add to time

    def rate(self, theta: np.ndarray) -> np.ndarray:
        """Theta'."""
        out = self._times(theta)
        out[self.moved] -= 1.0
        out[self.added] += 1.0
        return out

    def at(self, late: complex, theta: np.ndarray) -> np.ndarray:
        """Theta whose laws have the values of the given ones a time ``late`` later."""
        return theta + late * self.rate(theta) if late else theta

    def varied(self, late: complex, dtheta: np.ndarray) -> np.ndarray:
        """Its derivatives from those of theta (len(theta), p)."""
        return dtheta + late * self._times(dtheta) if late else dtheta

    def pulled(self, late: complex, adjoint: np.ndarray) -> np.ndarray:
        """Adjoints (len(theta), p) of theta from those of the shifted one."""
        if not late:
            return adjoint
        out = adjoint.copy()
        np.add.at(out, self.column, late * self.factor[:, None] * adjoint[self.row])
        return out

    def _times(self, x: np.ndarray) -> np.ndarray:
        out, factor = np.zeros_like(x), self.factor.reshape(-1, *[1] * (x.ndim - 1))
        np.add.at(out, self.row, factor * x[self.column])
        return out


def law_rates(model: Model) -> LawRates:
    """The shift of the laws of time of a model."""
    entries: list[tuple[int, int, float]] = []
    moved: list[int] = []
    heads = {*_laws_of_elements(model).tolist(), *model.constraints.law.tolist()}
    for term in sorted({term for law in heads for term in terms_of(model.laws, law)}):
        first, count = int(model.laws.theta[term]), int(model.laws.count[term])
        match Law(model.laws.kind[term]):
            case Law.POLYNOMIAL:
                entries += [(first + k, first + k + 1, k + 1.0) for k in range(count - 1)]
            case Law.HARMONIC | Law.SINE_POWER:
                entries.append((first + 3, first + 2, 1.0))
            case Law.SMOOTH_STEP:
                moved += [first, first + 1]
            case Law.ONE_SIDED:
                moved.append(first)
            case Law.SPLINE:
                moved += range(first, first + count)
    row, column, factor = np.array(entries).reshape(-1, 3).T
    signals: Any = model.signals
    added = [signals.theta[u] + signals.operand[first, 1] - signals.numbers[u] for u, first in _reading(signals)]
    return LawRates(row.astype(int), column.astype(int), factor, np.array(moved, int), np.array(added, np.int64))


Onset = tuple[int, int, float, float, int]  # force, argument, low, high, side of contact


def onsets_of(model: Model, theta: np.ndarray, steps: float = Options.onset_steps) -> Onsets:
    """Onsets of tyres, contacts, stops, dry friction and steps of force, to be passed in ``steps`` steps."""
    force, argument, low, high, side = np.array(list(_onsets(model, theta.real)), float).reshape(-1, 5).T.copy()
    k = force.size
    return Onsets(
        force.astype(np.int64), argument.astype(np.int64), low, high, side.astype(np.int64),
        np.array([steps]), np.full(k, np.nan), np.zeros(k), np.zeros(k),
    )  # fmt: skip


def begins_unseen(problem: Problem) -> bool:
    """Whether forces, but for dry friction, may jump or begin within steps although no gap of the problem closes."""
    closing, theta = {gap.force for gap in problem.gaps}, problem.theta.real
    return any(
        argument == ELONGATION and not (side and force in closing)
        for force, argument, _, _, side in _onsets(problem.model, theta)
    )


def bends(problem: Problem) -> bool:
    """Whether forces or driving laws may have corners within steps: by expressions, tables, or laws of time.

    Steps of Runge-Kutta methods end at those of laws of time, others at those that ``Problem.stops`` lists, and at
    those that lie on a whole step.
    """
    model, theta, options = problem.model, problem.theta.real, problem.options
    laws, moved = model.laws, movable(problem)
    heads = np.concatenate([laws_of_forces(model), model.constraints.law])
    of_time = {term for law in heads.tolist() for term in terms_of(laws, law)}
    others = {*np.flatnonzero(laws.kind == Law.SPLINE).tolist()} - of_time  # setdiff1d would import numpy.ma
    if any(_jumping(theta, moved, int(laws.theta[k]), int(laws.count[k])).size for k in others):
        return True
    if not isinstance(model.signals, NoSignals) and np.isin(model.signals.code, BENDING).any():
        return True
    points = breakpoints_of_laws(laws, theta, moved, heads) if not options.integrated else []
    edges = [point for point in points if not point.smooth and point.numbers not in problem.stops]
    steps = [point.time / options.step for group in groups_in_run(edges, options.end) for point in group]
    return any(abs(count - round(count)) > WHOLE * max(1.0, count) for count in steps)


def _onsets(model: Model, theta: np.ndarray) -> Iterator[Onset]:
    forces = model.forces
    for f, kind in enumerate(forces.kind.tolist()):
        if kind in TYRES:
            stiffness, onset = theta[forces.theta[f] + np.array([TYRE_STIFFNESS, ONSET])].tolist()
            yield f, DEFLECTION, 0.0, onset, 1
            yield f, LOAD, 0.0, stiffness * onset, 0
        if kind in CONTACTS:  # whose force begins smoothly
            yield f, PENETRATION, 0.0, np.inf, 1
            yield f, SLIDING, 0.0, float(theta[forces.theta[f] + STRIBECK]), 0
        if kind == Force.ALONG_MEASURE:
            yield from ((f, ELONGATION, *each) for each in _ranges(model.laws, theta, int(forces.law[f, 1])))
            ranges = list(_ranges(model.laws, theta, int(forces.law[f, 2])))
            yield from ((f, RATE, low, high, 0) for low, high, _ in ranges)
            if len(ranges) > 1:  # dry friction turns round between its bends
                yield f, RATE, min(low for low, _, _ in ranges), max(high for _, high, _ in ranges), 0


def _ranges(laws: Laws, theta: np.ndarray, law: int) -> Iterator[tuple[float, float, int]]:
    """Ranges of the argument in which a law bends, and the side of a stop on which it acts (0: no stop)."""
    for term in terms_of(laws, law):
        first, second = theta[laws.theta[term] :][:2].tolist()
        if laws.kind[term] == Law.SMOOTH_STEP:
            yield min(first, second), max(first, second), 0
        if laws.kind[term] == Law.ONE_SIDED:
            yield min(first, first + second), max(first, first + second), 1 if second > 0.0 else -1
