"""Derivatives by parameters that move breakpoints of laws, where these lie on output times or several at one time.

A sample on an output time has two derivatives: one if the breakpoint comes earlier, one if it comes later. Each has an
error of first order in the step, their mean one of second order, and central differences give the mean. The same holds
where two laws have breakpoints at one time and a parameter moves one of them past the other.
Two runs, whose breakpoints come a little earlier and later, give the derivatives by such parameters: all breakpoints on
output times, so that a derivative does not depend on which others are asked for. Parameters that move the breakpoints
of one time in different ways have runs of their own; the run itself gives all other derivatives.
A sample that jumps on an output time has no derivative by a parameter that moves the jump: NaN.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.drivers.stepping import MEETS
from mbsim_cli.model.problem import Block, Options, Problem, instants_of
from mbsim_cli.solve.breakpoints import Breakpoint, breakpoints_of_laws, grouped, laws_that_move, movable

if TYPE_CHECKING:
    from mbsim_cli.solve.adjoint.readings import Pulled, Seen

BESIDE = 1e-11  # shift of a breakpoint to either side, over the step
ROUNDED = 1e3 * np.finfo(float).eps  # of the duration: the least that it may be
ALIKE = 1e-9  # relative difference of rates of breakpoints that counts as zero
JUMPS = 1e-6  # of the largest that a sensor shows: a difference between both sides that counts as a jump
WHERE_IT_JUMPS = "accelerations jump at"  # first words on derivatives that are missing at an output time

Run = Callable[[Problem, np.ndarray | None], Iterator[Block]]


class Jump(NamedTuple):
    """An output time, by its number, at which samples may jump, and the parameters that move the jump."""

    row: int
    columns: np.ndarray


class Sides(NamedTuple):
    """Parameters with one-sided derivatives, and the shifts of the breakpoints that they move."""

    columns: list[int]
    shifts: dict[int, float]  # of numbers in theta, to the later side
    corrections: dict[int, float]  # of numbers in theta, to the time that the sides lie beside
    jumps: list[Jump]

    def of(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Theta on both sides."""
        found = theta.copy(), theta.copy()
        for side, sign in zip(found, (-1.0, 1.0), strict=True):
            for number, shift in self.shifts.items():
                side[number] += self.corrections[number] + sign * shift
        return found


class Coincidence(NamedTuple):
    """Changes at one time, how fast each parameter moves them (k, q), and the output time or None."""

    breakpoints: list[Breakpoint]
    rates: np.ndarray
    row: int | None

    def direction(self, column: int) -> np.ndarray | None:
        """How a parameter moves them (k,), whatever its unit and sign, or None where no side is to be taken."""
        rates = self.rates[:, column]
        largest = np.abs(rates).max()
        if largest == 0.0 or (self.row is None and np.ptp(rates) <= ALIKE * largest):
            return None
        return np.asarray(rates / rates[np.argmax(np.abs(rates))])

    @property
    def alike(self) -> np.ndarray:
        """How they move beside those that a parameter moves elsewhere: together on output times, else not at all."""
        return np.full(len(self.breakpoints), 0.0 if self.row is None else 1.0)


def shift_of(options: Options) -> float:
    """Largest shift of a breakpoint to either side, s."""
    least = 10.0 * MEETS if options.integrated else ROUNDED  # steps of Runge-Kutta methods resolve no shorter times
    return max(BESIDE * options.step, least * options.end)


def sides_of(problem: Problem, theta: np.ndarray | None = None) -> list[Sides]:
    """The pairs of sides at which derivatives are computed; empty if no parameter needs one-sided derivatives."""
    theta = problem.theta if theta is None else theta
    if problem.options.differentiates and problem.theta_rho.any():
        by = problem.theta_rho.real
    elif np.iscomplexobj(theta):
        by = theta.imag[:, None]
    else:
        return []
    coincidences, found = _coincidences(problem, theta, by), list[tuple[Sides, list[np.ndarray]]]()
    for column in np.flatnonzero(np.any([m.rates.any(axis=0) for m in coincidences], axis=0)) if coincidences else ():
        ways = [coincidence.direction(int(column)) for coincidence in coincidences]
        if all(way is None for way in ways):
            continue
        shared = [m.alike if way is None else way for m, way in zip(coincidences, ways, strict=True)]
        for sides, its in found:
            if all(np.allclose(way, other, atol=ALIKE) for way, other in zip(its, shared, strict=True)):
                sides.columns.append(int(column))
                break
        else:
            found.append((Sides([int(column)], {}, {}, []), shared))
    beside = shift_of(problem.options)
    for sides, shared in found:
        for coincidence, way in zip(coincidences, shared, strict=True):
            if way.any():
                _add_shifts(sides, coincidence, beside * way, problem)
    return [sides for sides, _ in found]


def _add_shifts(sides: Sides, coincidence: Coincidence, shifts: np.ndarray, problem: Problem) -> None:
    """Add the shifts of the breakpoints of a coincidence to ``sides``."""
    breakpoints, row = coincidence.breakpoints, coincidence.row
    time = breakpoints[0].time if row is None else row * problem.options.step
    for point, shift in zip(breakpoints, shifts, strict=True):
        sides.shifts[point.numbers[0]], sides.corrections[point.numbers[0]] = float(shift), time - point.time
    if row is not None and any(point.numbers[0] in problem.jumps for point in breakpoints):
        columns = [k for k in sides.columns if coincidence.rates[:, k].any()]
        if columns:
            sides.jumps.append(Jump(row, np.array(columns)))


def _coincidences(problem: Problem, theta: np.ndarray, by: np.ndarray) -> list[Coincidence]:
    """Changes of laws that parameters may move, together within round-off, but for bends too small to end steps."""
    model, step, end = problem.model, problem.options.step, problem.options.end
    moved, near = movable(problem) | by.any(axis=1), MEETS * end
    driving, of_forces = (
        breakpoints_of_laws(model.laws, theta.real, moved, laws)
        for laws in (model.constraints.law, laws_that_move(problem))
    )
    bending = [*driving, *(point for point in of_forces if not point.smooth)]
    within = {point.numbers: point for point in bending if near < point.time <= end + near}
    found = []
    for group in grouped(list(within.values()), near):
        rates = np.array([by[list(point.numbers)].sum(axis=0) for point in group])
        row = round(group[0].time / step)
        on = all(abs(point.time - step * row) <= near for point in group)
        if moved[[number for point in group for number in point.numbers]].any() and (on or len(group) > 1):
            found.append(Coincidence(group, rates, row if on else None))
    return found


def jumped(problem: Problem) -> list[tuple[float, np.ndarray, str]]:
    """Output times at which laws jump, the parameters that move these, and why derivatives by them are missing."""
    names, found = problem.names.parameters, []
    for jump in (jump for sides in sides_of(problem) for jump in sides.jumps):
        columns = jump.columns[jump.columns < len(names)]
        if columns.size:
            by = " and ".join(names[k] for k in columns)
            time = jump.row * problem.options.step
            why = f"{WHERE_IT_JUMPS} {time:.6g} s, an output time, and {by} would move the jump: "
            found.append((time, columns, f"{why}what jumps there has no derivative; let it lie between output times"))
    return found


def mean_of(problem: Problem, theta: np.ndarray | None, sides: Sequence[Sides], run: Run) -> Iterator[Block]:
    """Yield blocks of the motion with the mean of both one-sided derivatives; ``run(theta)`` yields its blocks."""
    own = problem.theta if theta is None else theta
    stepped = theta is not None and np.iscomplexobj(theta)
    still = stepped or sum(len(each.columns) for each in sides) == problem.theta_rho.shape[1]
    options = replace(problem.options, sensitivity="none") if still else problem.options
    alone = replace(problem, options=options)
    runs = [run(alone, None if theta is None else theta.real)]
    runs += [run(problem, side) for each in sides for side in each.of(own)]
    pending: list[Any] = [None] * len(runs)
    magnitudes, inside = Magnitudes(), InsideSteps(sides)
    while True:
        for k, blocks in enumerate(runs):
            # once a round, so that points inside steps are yielded before the next output time
            if pending[k] is None or not len(pending[k].time):
                pending[k] = next(blocks, None)
                if pending[k] is None:
                    return
                if k > 0:
                    inside.add(k - 1, pending[k])
        rows = min(len(block.time) for block in pending)
        motion, *beside = (instants_of(block, slice(0, rows)) for block in pending)
        mean = _mean(motion, beside, sides, magnitudes, problem.options.step)
        yield mean._replace(inside=inside.taken())
        pending = [instants_of(block, slice(rows, None)) for block in pending]


class InsideSteps:
    """Time points inside the steps of both runs of all sides, by which integrals are summed, with equal weights.

    Steps do not cross the breakpoints of a side, so each side has the derivatives for its own order of breakpoints.
    Derivatives by the parameters of a pair come from this pair alone.
    """

    def __init__(self, sides: Sequence[Sides]) -> None:
        self._sides, self._found = sides, [list[Block]() for _ in range(2 * len(sides))]

    def add(self, run: int, block: Block) -> None:
        """Include those of a side; ``run`` is its number."""
        pairs = len(self._sides)
        for inside in block.inside:
            d_sensors = inside.d_sensors.copy()
            for k, each in enumerate(self._sides if d_sensors.shape[2] else ()):
                d_sensors[..., each.columns] *= pairs if k == run // 2 else 0.0
            self._found[run].append(inside._replace(d_sensors=d_sensors, length=inside.length / (2 * pairs)))

    def taken(self) -> tuple[Block, ...]:
        """The time points since the last call, of each run."""
        from mbsim_cli.solve.tape import joined  # most runs keep no tape

        found, self._found = self._found, [[instants_of(each, slice(0, 0)) for each in run[:1]] for run in self._found]
        return tuple(joined(run) for run in found if run)


def _mean(motion: Block, beside: list[Block], sides: Sequence[Sides], magnitudes: "Magnitudes", step: float) -> Block:
    """The motion with the mean of pairs of blocks' derivatives, or of their imaginary parts."""
    found, first = dict[str, Any](), beside[0]
    for name, own in motion._asdict().items():
        given = getattr(first, name)
        if name.startswith("d_") or name == "broken":
            whole = own if own.shape == given.shape else given  # the motion alone may have no derivatives
            found[name] = whole.copy()
            for each, early, late in zip(sides, beside[::2], beside[1::2], strict=True) if given.shape[-1] else ():
                a, b = (getattr(side, name)[..., each.columns] for side in (early, late))
                found[name][..., each.columns] = 0.5 * (a + b) if name.startswith("d_") else a
        elif name == "gradient_error":
            found[name] = np.max([own, *(getattr(side, name) for side in beside)], axis=0)
        elif name == "rest":
            found[name] = given
        elif isinstance(given, np.ndarray) and np.iscomplexobj(given):
            found[name] = own + 0.5j * (given.imag + getattr(beside[1], name).imag)
    for each, early, late in zip(sides, beside[::2], beside[1::2], strict=True):
        magnitudes.add(early)
        for jump in each.jumps:
            for row in np.flatnonzero(np.round(motion.time.real / step).astype(int) == jump.row):
                for name in Magnitudes.NAMES:
                    if found[f"d_{name.rstrip('_')}"].shape[-1]:
                        a, b = (getattr(side, name)[row].real for side in (early, late))
                        which = jumping(a, b, magnitudes.largest[name])
                        found[f"d_{name.rstrip('_')}"][row][np.ix_(which, jump.columns)] = np.nan
    return motion._replace(**found)


class Magnitudes:
    """Largest magnitudes of the numbers of a run so far, by their name in ``Block``."""

    NAMES = ("velocity", "acceleration", "lambda_", "sensors")

    def __init__(self) -> None:
        self.largest: dict[str, np.ndarray] = {}

    def add(self, block: Block) -> None:
        """Include the next time points."""
        for name in self.NAMES:
            rows = np.abs(getattr(block, name).real)
            largest = np.fmax.reduce(rows, axis=0, initial=0.0)
            self.largest[name] = np.fmax(self.largest.get(name, 0.0), largest)


def jumping(early: np.ndarray, late: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Indices (j,) of the numbers that jump between both sides."""
    return np.flatnonzero(np.abs(late - early) > JUMPS * largest)


class OwnAdjoints:
    """Adjoints of sensors along the run itself, which both sides pull back: integrands may be nonlinear in sensors."""

    def __init__(self, seen: "Seen") -> None:
        self._seen, self._found = seen, dict[int, tuple[tuple[int, ...], Any, np.ndarray]]()

    def __call__(self, first: int, record: Record, *length: np.ndarray) -> np.ndarray:
        """Adjoints (B, width, p), kept where they are not zero; those inside steps are as each run shows them."""
        hat = self._seen(first, record, *length)
        if length:
            return hat
        read: Any = np.nonzero(hat.any(axis=0))
        self._found[first] = hat.shape, read, hat[:, *read].copy()
        return hat

    def again(self, first: int, record: Record, *length: np.ndarray) -> np.ndarray:
        """The same, at the rows of a record of another run."""
        if length:
            return self._seen(first, record, *length)
        rows, found = len(record.time), np.zeros(0)
        for begin, (shape, read, values) in self._found.items():
            low, high = max(first, begin), min(first + rows, begin + shape[0])
            if low < high:
                found = found if found.size else np.zeros((rows, *shape[1:]), values.dtype)
                found[low - first : high - first, *read] = values[low - begin : high - begin]
        return found


class SideAdjoints:
    """Adjoints of sensors as ``seen`` gives them, and what sensors show at some time points on the way.

    ``own`` gives those of the side itself: they tell what is read also where a sensor vanishes on the other one.
    """

    def __init__(self, seen: "Seen", own: "Seen", rows: Sequence[int]) -> None:
        self._seen, self._own, self._rows = seen, own, rows
        self.largest: np.ndarray = np.zeros(0)
        self.shown: dict[int, np.ndarray] = {}
        self.read: dict[int, np.ndarray] = {}  # (width, p) which numbers see a sensor

    def __call__(self, first: int, record: Record, *length: np.ndarray) -> np.ndarray:
        """Adjoints (B, width, p)."""
        hat = self._seen(first, record, *length)
        if length:
            return hat
        largest = np.fmax.reduce(np.abs(record.sensors.real), axis=0, initial=0.0)
        self.largest = np.fmax(self.largest, largest) if self.largest.size else largest
        rows = [row for row in self._rows if first <= row < first + len(record.time)]
        own = self._own(first, record) if rows else hat
        for row in rows:
            self.shown[row] = record.sensors[row - first].real.copy()
            self.read[row] = self.read.get(row, False) | (hat[row - first] != 0.0) | (own[row - first] != 0.0)
        return hat


def pull_back_sides(
    problem: Problem, theta: np.ndarray, seen: "Seen", alone: "Callable[[Seen], Pulled]",
    sweep: "Callable[[Problem, np.ndarray, Seen], Pulled]",
) -> "Pulled":  # fmt: skip
    """Derivatives by the adjoint: of ``alone``, and the mean of two sweeps where parameters need both sides.

    ``sweep(problem, theta, seen)`` makes a run of another theta and sweeps back through it.
    """
    sides = sides_of(problem, theta)
    if not sides:
        return alone(seen)
    kept = OwnAdjoints(seen)
    found = alone(kept)
    for each in sides:
        recorded, pair = list[SideAdjoints](), list[Any]()
        for side in each.of(theta):
            recorded.append(SideAdjoints(kept.again, seen, [jump.row for jump in each.jumps]))
            pair.append(sweep(replace(problem, theta=side), side, recorded[-1]))
        gradient, mean = found.gradient.copy(), 0.5 * (pair[0].gradient + pair[1].gradient)
        gradient[each.columns] = mean[each.columns]
        early, late = recorded
        for jump in each.jumps:  # values that read a jump have no derivative by the parameters that move it
            if jump.row in early.shown and jump.row in late.shown:
                which = jumping(early.shown[jump.row], late.shown[jump.row], early.largest)
                read = (early.read[jump.row] | late.read[jump.row])[which].any(axis=0)[: gradient.shape[1]]
                gradient[np.ix_(jump.columns, read)] = np.nan
        error = max(found.error, *(one.error for one in pair))
        undefined = found.undefined | pair[0].undefined | pair[1].undefined
        found = replace(found, gradient=gradient, error=error, undefined=undefined)
    return found
