"""Where steps of ALI3-P end between instants: where a law of time changes, at a time that parameters move.

A step in which there is such a time is made in pieces. What a piece ends at, and how long it is, depends on the numbers
that the time is the sum of. Derivation: docs/theory/ali3p.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, Laws, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.signals import added_to_time


class Bound(NamedTuple):
    """A time, and the offsets in theta of what it is the sum of; none of an instant of the results."""

    time: float
    numbers: tuple[int, ...] = ()

    @property
    def before(self) -> float:
        """The last time before."""
        return float(np.nextafter(self.time, -np.inf))

    def late(self, theta: np.ndarray) -> complex:
        """What it varies by under a complex step, an imaginary number."""
        return complex(0.0, sum(theta[number].imag for number in self.numbers))

    def varied(self, dtheta: np.ndarray) -> np.ndarray:
        """Its derivatives (p,)."""
        return np.asarray(dtheta[list(self.numbers)].sum(axis=0))


class Piece(NamedTuple):
    """A piece of a step."""

    begin: Bound
    end: Bound

    def is_short(self, step: float) -> bool:
        """Whether it is too short for accelerations that its end has by its position."""
        at_law = bool(self.begin.numbers or self.end.numbers)
        return at_law and self.end.time - self.begin.time < SHORT * step

    @property
    def halves(self) -> tuple["Piece", "Piece"]:
        """The same as two pieces."""
        middle = Bound(0.5 * (self.begin.time + self.end.time))
        return Piece(self.begin, middle), Piece(middle, self.end)

    def length(self, theta: np.ndarray) -> complex | float:
        """Its length, complex where theta is."""
        length = self.end.time - self.begin.time
        return length + self.end.late(theta) - self.begin.late(theta) if np.iscomplexobj(theta) else length

    def varied(self, dtheta: np.ndarray) -> np.ndarray:
        """Derivatives (p,) of its length."""
        return self.end.varied(dtheta) - self.begin.varied(dtheta)

    def control(self, control: Control, theta: np.ndarray) -> Control:
        """What a step of this length is made by: projected accelerations behind a stop are those of forces there."""
        inert = control.mass_projection or bool(self.end.numbers)
        length = self.length(theta)
        h = length if isinstance(control.h, complex) else length.real
        return control._replace(h=h, until=self.end.time, mass_projection=inert)


SHORT = 1e-3  # of a step


def stopping(control: Control, problem: Problem, theta: np.ndarray) -> Control:
    """The control of a run that steps in pieces may follow: a complex one has one type of steps, for one loop."""
    return control._replace(h=complex(control.h)) if problem.stops and np.iscomplexobj(theta) else control


def pieces_of(problem: Problem, theta: np.ndarray) -> dict[int, list[Piece]]:
    """The pieces of those steps, by their number, that are made in pieces."""
    step, total = problem.options.step, round(problem.options.duration / problem.options.step)
    found = dict[int, list[Piece]]()
    for stop in sorted(Bound(sum(float(theta[k].real) for k in numbers), numbers) for numbers in problem.stops):
        number = _step_to(stop.time, step)
        if 1 <= number <= total:
            before = found.setdefault(number, [Piece(Bound((number - 1) * step), Bound(number * step))])
            last = before.pop()
            before += [Piece(last.begin, stop), Piece(stop, last.end)]
    return found


def _step_to(time: float, step: float) -> int:
    """Number of the step that a time lies in; an instant is the end of one."""
    number = int(np.ceil(np.clip(time / step, -1.0, 1e15)))
    while (number - 1) * step >= time:
        number -= 1
    while number * step < time:
        number += 1
    return number


class Later(NamedTuple):
    """How numbers of laws of time change with time, dtheta/dt = D theta + d: laws at t + dt are others at t."""

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
        """Theta at which laws are what they are at theta so much later."""
        return theta + late * self.rate(theta) if late else theta

    def varied(self, late: complex, dtheta: np.ndarray) -> np.ndarray:
        """Its derivatives from those of theta (len(theta), p)."""
        return dtheta + late * self._times(dtheta) if late else dtheta

    def pulled(self, late: complex, covector: np.ndarray) -> np.ndarray:
        """Covectors (len(theta), p) of theta from those of theta then."""
        if not late:
            return covector
        out = covector.copy()
        np.add.at(out, self.column, late * self.factor[:, None] * covector[self.row])
        return out

    def _times(self, x: np.ndarray) -> np.ndarray:
        out, factor = np.zeros_like(x), self.factor.reshape(-1, *[1] * (x.ndim - 1))
        np.add.at(out, self.row, factor * x[self.column])
        return out


def later(model: Model) -> Later:
    """How the laws of time of a model change."""
    entries: list[tuple[int, int, float]] = []
    moved: list[int] = []
    for term in sorted(_terms(model.laws, {*model.forces.law[:, 0].tolist(), *model.constraints.law.tolist()})):
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
    return Later(row.astype(int), column.astype(int), factor, np.array(moved, int), added_to_time(model.signals))


def _terms(laws: Laws, first: set[int]) -> set[int]:
    """All terms of laws that begin with these."""
    found = set[int]()
    for term in first:
        while term != NONE:
            found.add(term)
            term = int(laws.next[term])
    return found
