"""Kinks: instants at which a law of time changes its formula, where steps of open trees end.

They are the ends of windows, of smooth steps and of tables, and rows of tables that straight lines or steps join.
Across rows of a spline two derivatives are continuous, so steps end there only where a parameter moves them.
Derivation: docs/theory/integrators.md.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.drivers.stepping import MEETS, Kinks
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, Laws, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.signals import laws_of_time

JUMP = 1e-6  # of the values and slopes of a table, relative, that counts as one
BESIDE = 8.0 * np.finfo(float).eps  # of a time: what the sum of a time and a step loses to round-off


class Kink(NamedTuple):
    """An instant, the offsets in theta of what it is the sum of, and whether two derivatives are continuous there."""

    time: float
    numbers: tuple[int, ...]
    smooth: bool


def kinks_of(problem: Problem, theta: np.ndarray) -> Kinks:
    """All kinks of a run but those at its start; of those at its end, where no step goes beyond them, moved ones.

    Towards one at the end stages lie before it, and so do accelerations there: what moves it moves the end, too.
    """
    model, options, moved = problem.model, problem.options, movable(problem)
    near, rows = MEETS * options.end, []
    of_forces, driving = (
        kinks_of_laws(model.laws, theta.real, moved, laws) for laws in (laws_of_forces(model), model.constraints.law)
    )
    for group in groups_of(of_forces + driving, options.end):
        first, last = group[0].time, group[-1].time
        row = options.step * round(last / options.step)
        time = last if options.adaptive or abs(row - last) > near else row
        leaps = next((kink for kink in group if kink in driving), group[0])  # forces do not
        rows.append((time, first - BESIDE * first, last + BESIDE * last, leaps.numbers[0]))  # steps begin at zero there
    ending = [kink for kink in of_forces + driving if abs(kink.time - options.end) <= near]
    if any(moved[number] for kink in ending for number in kink.numbers):
        first = min(kink.time for kink in ending)
        early = min(first, options.end) - BESIDE * first
        rows.append((options.end, early, early, ending[0].numbers[0]))
    time, before, behind, number = np.array(rows, float).reshape(-1, 4).T.copy()
    return Kinks(time, before, behind, number.astype(np.int64))


def movable(problem: Problem) -> np.ndarray:
    """Which numbers (len(theta),) parameters of the file move, whether derivatives by them are wanted or not."""
    moved = np.asarray(problem.theta_rho.any(axis=1))
    return moved if problem.movable is None else moved | problem.movable


def laws_of_forces(model: Model) -> np.ndarray:
    """Laws (k,) of time that forces have, themselves or in their expressions; NONE among them."""
    return np.concatenate([model.forces.law[:, 0], laws_of_time(model.signals)])


def groups_of(kinks: Sequence[Kink], end: float) -> list[list[Kink]]:
    """Kinks within a run to ``end`` in their order, together where no more than round-off is between them."""
    near = MEETS * end
    return together([kink for kink in kinks if near < kink.time < end - near], near)


def together(kinks: Sequence[Kink], near: float) -> list[list[Kink]]:
    """Kinks in their order, together where they are no farther apart than ``near``."""
    groups = list[list[Kink]]()
    for kink in sorted(kinks):
        if groups and kink.time - groups[-1][-1].time <= near:
            groups[-1].append(kink)
        else:
            groups.append([kink])
    return groups


def kinks_of_laws(laws: Laws, theta: np.ndarray, moved: np.ndarray, heads: np.ndarray) -> list[Kink]:
    """Kinks of the laws ``heads`` (k,), each law once; see ``kinks_of_law``."""
    return [kink for law in dict.fromkeys(heads.tolist()) for kink in kinks_of_law(laws, theta, moved, law)]


def kinks_of_law(laws: Laws, theta: np.ndarray, moved: np.ndarray, law: int) -> list[Kink]:
    """Kinks of all terms of a law, some twice; ``moved`` tells which numbers theta parameters move."""
    found = []
    while law != NONE:
        window = laws.window[law]
        low, high = (-np.inf, np.inf) if window == NONE else theta[window : window + 2]
        found += [kink for kink in _of_term(laws, theta, moved, law) if low <= kink.time <= high]
        law = int(laws.next[law])
    return found


def _of_term(laws: Laws, theta: np.ndarray, moved: np.ndarray, k: int) -> Iterator[Kink]:
    first, count, window = int(laws.theta[k]), int(laws.count[k]), int(laws.window[k])
    edges, smooth = [window, window + 1] if window != NONE else [], []
    match Law(laws.kind[k]):
        case Law.SMOOTH_STEP:
            smooth = [first, first + 1]
        case Law.ONE_SIDED:
            yield Kink(float((theta[first] + theta[first + 1]).real), (first, first + 1), smooth=True)
            smooth = [first]
        case Law.SPLINE:  # the outermost breakpoints are of straight lines that go on
            last = first + count - 2
            edges += [first + 1, last]
            edges += [first + 2 + int(k) for k in _jumping(theta, first, count)]
            smooth = [first + 2 + int(k) for k in np.flatnonzero(moved[first + 2 : last])]
            smooth = [number for number in smooth if number not in edges]
    for numbers, is_smooth in ((edges, False), (smooth, True)):
        for number in numbers:
            yield Kink(float(theta[number].real), (int(number),), is_smooth)


def _jumping(theta: np.ndarray, first: int, count: int) -> np.ndarray:
    """Inner breakpoints of a table, from its second row on, at which its value or its slope jumps: not of splines."""
    x = theta[first : first + count].real
    a, b, c, d = theta[first + count : first + count + 4 * (count - 1)].real.reshape(-1, 4).T
    h = np.diff(x)
    value, slope = ((a * h + b) * h + c) * h + d, (3.0 * a * h + 2.0 * b) * h + c
    inner = slice(1, count - 3)  # pieces behind which a row of the table ends that is neither the first nor the last
    gaps = np.abs(d[2:-1] - value[inner]), np.abs(c[2:-1] - slope[inner])
    sizes = np.nanmax(np.abs(d), initial=0.0), np.nanmax(np.abs(c), initial=0.0)
    return np.flatnonzero((gaps[0] > JUMP * sizes[0]) | (gaps[1] > JUMP * sizes[1]))
