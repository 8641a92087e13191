"""Laws and roads: kinds and coefficients, natural cubic splines included."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import pi
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers, table
from mbsim_cli.assembly.parameters.tables import breakpoints, continued, extended
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, Laws
from mbsim_cli.model.problem import Problem
from mbsim_cli.spec.geometry import Scalar

EVERYWHERE = 1e300  # end of a window that has none


@dataclass(frozen=True)
class Term:
    """A term of a law: its coefficients, and the window outside of which it is zero."""

    kind: Law
    count: int  # coefficients, breakpoints of a spline, or the power of a sine
    block: Callable[[], Sequence[Scalar]]
    window: Callable[[], tuple[Scalar, Scalar]] | None = None
    parts: Sequence[Callable[[], Sequence[Scalar]]] = ()  # the block in pieces that depend on few numbers each

    def within(self, start: Callable[[], Scalar], end: Callable[[], Scalar]) -> "Term":
        """The term, zero before start and from end on."""

        def window() -> tuple[Scalar, Scalar]:
            low, high = start(), end()
            if self.window is not None:
                own = self.window()
                low = own[0] if own[0].real > low.real else low
                high = own[1] if own[1].real < high.real else high
            return low, high

        return replace(self, window=window)

    def shifted(self, distance: Callable[[], Scalar]) -> "Term":
        """The term as a function of x - distance."""
        window = None
        if self.window is not None:
            own = self.window
            window = lambda: tuple(end + distance() for end in own())  # noqa: E731
        return Term(self.kind, self.count, lambda: _shift(self.kind, self.count, self.block(), distance()), window)


def spline_term(rows: int, table: Callable[[], tuple[Sequence[Scalar], Sequence[Scalar]]], extrapolate: str) -> Term:
    """The natural spline through a table of ``rows`` rows; ``table`` gives arguments and values."""
    return Term(Law.SPLINE, breakpoints(rows, extrapolate), lambda: continued(*table(), extrapolate))


class LawTable:
    """Collects laws; a named law is stored once, an inline one at each use."""

    def __init__(self, system: System):
        self._system = system
        self.names: list[str] = []
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._first: dict[tuple[str, bool], int] = {}

    def number(self, law: Any, path: str, *, of_time: bool = True) -> int:
        """Number of a law given by name, inline, or not at all (NONE).

        A law of time that also has another argument is stored twice: event times may shift its numbers of time.
        """
        if law is None:
            return NONE
        law, path = self._resolved(law, path)
        key = path, of_time
        if key not in self._first:
            self._first[key] = self.add(path, self._terms(law, path))
            if (path, not of_time) not in self._first:
                self._system.settle(partial(self._check_continuity, path, law, self._first[key]), by_theta=True)
        return self._first[key]

    def add(self, path: str, terms: Sequence[Term]) -> int:
        """Add the sum of terms under a path of the file; return its number."""
        theta, start = self._system.theta, len(self._rows)
        for k, term in enumerate(terms, start=1):
            window = NONE if term.window is None else theta.add(term.window)
            following = start + k if k < len(terms) else NONE
            offsets = [theta.add(part) for part in term.parts or (term.block,)]
            self._rows.append((int(term.kind), offsets[0], term.count, window, following))
            self.names.append(path)
        return start

    def table(self) -> Laws:
        """The laws as arrays."""
        kind, theta, count, window, following = zip(*self._rows, strict=True) if self._rows else ((),) * 5
        return table(Laws, kind=kind, theta=theta, count=count, window=window, next=following)

    def _resolved(self, law: Any, path: str) -> tuple[Any, str]:
        if isinstance(law, str):
            return self._system.model_file.laws[law], f"laws.{law}"
        return law, path

    def _terms(self, law: Any, path: str) -> list[Term]:
        """Terms whose sum a law is."""
        law, path = self._resolved(law, path)
        numbers = self._system.geometry.numbers
        match law.type:
            case "table":
                rows, curve = self._system.tables.curve(law, path, numbers)
                return [spline_term(rows, curve, law.extrapolate)]
            case "windowed":
                start, end = (lambda: numbers(law.start)), (lambda: numbers(law.end))
                return [term.shifted(start).within(start, end) for term in self._terms(law.law, f"{path}.law")]
            case "sum":
                return [term for part in law.laws for term in self._terms(part, f"{path}.laws")]
            case "piecewise":
                return [
                    term.within(partial(_end, numbers, law.breaks, k), partial(_end, numbers, law.breaks, k + 1))
                    for k, part in enumerate(law.laws)
                    for term in self._terms(part, f"{path}.laws")
                ]
            case "constant":
                return [Term(Law.CONSTANT, 1, lambda: (numbers(law.value),))]
            case "polynomial":
                return [Term(Law.POLYNOMIAL, len(law.coefficients), lambda: numbers.vector(law.coefficients))]
            case "harmonic":
                kind, count = (Law.SINE_POWER, law.power) if law.power > 1 else (Law.HARMONIC, 4)
                return [Term(kind, count, lambda: _sine(numbers, law))]
            case "smooth_step":
                return [Term(Law.SMOOTH_STEP, 4, lambda: numbers.vector((law.start, law.end, law.from_, law.to)))]
            case "one_sided":
                onset = lambda: numbers(law.onset) if law.side == "above" else -numbers(law.onset)  # noqa: E731
                return [Term(Law.ONE_SIDED, 3, lambda: (numbers(law.start), onset(), numbers(law.slope)))]
            case "spline" if law.between != "cubic":
                return [_joined(numbers, law)]
        given = lambda: (numbers.vector(law.arguments), numbers.vector(law.values))  # noqa: E731
        return [spline_term(len(law.values), given, law.extrapolate)]

    def _breaks(self, law: Any) -> Iterator[float]:
        """Ends of windows and pieces."""
        numbers = self._system.geometry.numbers
        given = (law.start, law.end) if law.type == "windowed" else law.breaks if law.type == "piecewise" else ()
        yield from (numbers(number).real for number in given)
        if law.type in ("sum", "piecewise"):
            for part in law.laws:
                yield from self._breaks(self._resolved(part, "")[0])

    def _check_continuity(self, path: str, law: Any, first: int, system: System) -> None:
        """Record an issue if a law composed of others jumps, by the values that it has on both sides."""
        places = np.array(sorted({*self._breaks(law)}))
        if not places.size:
            return
        laws, theta = self.table(), system.theta.values()
        gaps = np.diff(places)
        aside = [abs(place) or (gaps.max() if gaps.size else 1.0) for place in places[[0, -1]]]  # of both outer pieces
        ends = [places[0] - _ASIDE * aside[0], *places, places[-1] + _ASIDE * aside[1]]
        inside = ([a + x * (b - a) for x in WITHIN] for a, b in pairwise(ends))
        pieces = np.array([[law_value(laws, theta, first, x)[:2] for x in each] for each in inside])  # values, slopes
        sizes = np.nanmax(np.abs(pieces), axis=1, initial=0.0)
        for place, (size, slope) in zip(places, np.maximum(sizes[1:], sizes[:-1]), strict=True):
            here, there = (law_value(laws, theta, first, x)[0] for x in (np.nextafter(place, -np.inf), place))
            if abs(there - here) > _JUMP * max(size, abs(here), abs(there)) + _ROUNDED * slope * abs(place):
                message = f"the law is not continuous: it jumps from {here:g} to {there:g} at {place:g}"
                system.issue(path, message, "laws must meet where one takes over, and be zero at a window's ends")


def _end(numbers: Numbers, breaks: Sequence[Any], k: int) -> Scalar:
    """Start of piece k of a piecewise law."""
    if 1 <= k <= len(breaks):
        return numbers(breaks[k - 1])
    return EVERYWHERE if k else -EVERYWHERE


WITHIN = [k * 0.6180339887498949 % 1.0 for k in range(1, 8)]  # of a piece: where sizes are taken, in no rhythm
_ASIDE = 0.1  # of the argument: how far from the outermost break
_JUMP = 1e-6  # change that is a jump, over the largest value
_ROUNDED = 1e-12  # round-off of an argument


def _sine(numbers: Numbers, law: Any) -> tuple[Scalar, ...]:
    """Coefficients of a sine."""
    omega = numbers(law.angular_frequency) if law.frequency is None else 2.0 * pi * numbers(law.frequency)
    return (numbers(law.offset), numbers(law.amplitude), omega, numbers(law.phase))


def _joined(numbers: Numbers, law: Any) -> Term:
    """Straight lines, or steps, between the values of a table: cubics of which the upper coefficients are zero."""
    x, y, rows, steps = law.arguments, law.values, len(law.values), law.between == "constant"

    def piece(k: int) -> list[Scalar]:
        value = numbers(y[k])
        slope = 0.0 if steps else (numbers(y[k + 1]) - value) / (numbers(x[k + 1]) - numbers(x[k]))
        return [0.0, 0.0, slope, value]

    def held(k: int) -> list[Scalar]:
        return [0.0, 0.0, 0.0, numbers(y[k])]

    def knots() -> list[Scalar]:
        return [numbers(x[0]) - 1.0, *numbers.vector(x), numbers(x[-1]) + 1.0]

    def block() -> list[Scalar]:
        cubics = [c for k in range(rows - 1) for c in piece(k)]
        last = numbers(y[-1]) if steps else None
        return extended(numbers.vector(x), cubics, law.extrapolate, last)

    parts: list[Callable[[], Sequence[Scalar]]] = []
    if law.extrapolate == "hold":
        parts = [knots, partial(held, 0), *(partial(piece, k) for k in range(rows - 1)), partial(held, rows - 1)]
    return Term(Law.SPLINE, breakpoints(rows, law.extrapolate), block, parts=parts)


def _shift(kind: Law, count: int, c: Sequence[Scalar], distance: Scalar) -> list[Scalar]:
    """Coefficients of f(x - distance)."""
    moved = list(c)
    match kind:
        case Law.POLYNOMIAL:
            for first in range(count - 1):
                for k in range(count - 2, first - 1, -1):
                    moved[k] -= distance * moved[k + 1]
        case Law.HARMONIC | Law.SINE_POWER:
            moved[3] -= distance * moved[2]
        case Law.SMOOTH_STEP | Law.ONE_SIDED | Law.SPLINE:
            for k in range({Law.SMOOTH_STEP: 2, Law.ONE_SIDED: 1}.get(kind, count)):
                moved[k] += distance
    return moved


def check_start(problem: Problem, issue: Callable[..., None]) -> None:
    """Report laws of constraints whose tables do not include t = 0, where the mechanism is assembled."""
    laws, theta = problem.model.laws, problem.theta
    for law in dict.fromkeys(problem.model.constraints.law.tolist()):
        if law != NONE and np.isnan(law_value(laws, theta, law, 0.0)[0]):
            issue(problem.names.laws[law], "the table of a constraint must cover the start, time 0")


class RoadTable:
    """Gives roads as laws of x; a named road is stored once."""

    def __init__(self, system: System, laws: LawTable):
        self._system, self._laws, self._known = system, laws, dict[str, int]()

    def number(self, road: Any, path: str) -> int:
        """Number of the law of a road given by name, inline, or not at all: a plane at height 0."""
        if isinstance(road, str):
            path = f"roads.{road}"
        if road is None:
            path = "plane"
        if path not in self._known:
            terms = [Term(Law.CONSTANT, 1, lambda: (0.0,))] if road is None else self._terms(road, path)
            self._known[path] = self._laws.add(path, terms)
        return self._known[path]

    def _terms(self, road: Any, path: str) -> list[Term]:
        if isinstance(road, str):
            road, path = self._system.model_file.roads[road], f"roads.{road}"
        n = self._system.geometry.numbers
        match road.type:
            case "flat":
                return [Term(Law.CONSTANT, 1, lambda: (n(road.height),))]
            case "ramp":
                rise = Term(Law.ONE_SIDED, 3, lambda: (n(road.start), n(road.onset), n(road.slope)))
                level = Term(Law.ONE_SIDED, 3, lambda: (n(road.end), n(road.onset), -n(road.slope)))
                return [rise] if road.end is None else [rise, level]
            case "step":
                edge = lambda: (n(road.position), n(road.position) + n(road.width), 0.0, n(road.height))  # noqa: E731
                return [Term(Law.SMOOTH_STEP, 4, edge)]
            case "sinusoidal":
                wave = lambda: (n(road.offset), n(road.amplitude), 2 * pi / n(road.wavelength), n(road.phase))  # noqa: E731
                return [Term(Law.HARMONIC, 4, wave)]
            case "bumps":
                return [self._bump(road, position) for position in road.positions]
            case "sum":
                return [term for name in road.roads for term in self._terms(name, path)]
            case "table":
                rows, curve = self._system.tables.curve(road, path, n)
                return [spline_term(rows, curve, road.extrapolate)]
        return [spline_term(len(road.x), lambda: (n.vector(road.x), n.vector(road.z)), road.extrapolate)]

    def _bump(self, road: Any, position: Any) -> Term:
        n = self._system.geometry.numbers

        def block() -> tuple[Scalar, ...]:
            omega = pi / n(road.length)
            return 0.0, n(road.height), omega, -omega * n(position)

        return Term(Law.SINE_POWER, 3, block).within(lambda: n(position), lambda: n(position) + n(road.length))
