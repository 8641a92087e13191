"""Event times: when comparisons of the motion make forces jump. Steps end there, and derivatives follow these times.

A comparison such as x < a, or a sign, that changes at times t_1, t_2... of a run is a law of time, constant between
them. Steps of Runge-Kutta methods end where such laws jump, and derivatives by these times are exact
(``theory/integrators.md``). So ``locate`` finds the times at which the difference g of what is compared is zero,

    g_k(T, rho) = 0,     dT/drho = -(dg/dT)^-1 dg/drho,

by Newton's method on whole runs, whose derivatives by the times T are those of any parameter, and has the model
assembled with these laws. Its motion then depends on parameters through the times, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from mbsim_cli.assembly.elements.signals import Switch
from mbsim_cli.errors import AnalysisError, counted
from mbsim_cli.model.codes import JUMPING, Operation
from mbsim_cli.model.layout import NONE, STEP
from mbsim_cli.model.problem import Branching, Problem
from mbsim_cli.solve.breakpoints import T, terms_of
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.diagnostics.jumps import Expressions
from mbsim_cli.study.evaluation import blocks_of
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.quadrature import TIMES, continuation

if TYPE_CHECKING:
    from mbsim_cli.assembly.problem import Assembled

MOST_EVENTS = 64  # of a run: more are of friction that holds, or of a relay that chatters
MOST_POINTS = 200_000  # time points of a run
ITERATIONS = 12  # of Newton's method
STARTS = 3  # of Newton's method, with the events that a run has shown in place of others
CONVERGED = 1e-9  # of the duration: changes of the times behind which they are right to round-off
FINER = 10  # time points of an adaptive integrator between two stored ones, at first
OFF = 3.0  # time points: the most that an event is off which Newton's method corrects
DENSER = 4  # times as many, while polynomials through them are not as accurate as the motion
POINTS = 3  # before an event and since the last one, at least
ALIKE = 1e-9  # relative difference of comparisons that are the same one


# Comparisons at which forces jump.

TRIED = 16  # motions at random, at which an expression is tried for a jump
CONTINUOUS = 1e-9  # of its size: a jump that is round-off


class Comparison(NamedTuple):
    """A comparison or a sign of the motion: a step of an expression."""

    branching: Branching
    step: int
    operands: tuple[int, ...]  # places of what is compared
    is_sign: bool

    def difference(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """What changes its sign where the comparison changes, from all places of the expression."""
        first, *second = (values[place] for place in self.operands)
        return first - second[0] if second else first

    def value(self, negative: bool) -> float:
        """What it gives where its difference is negative, or positive."""
        return (-1.0 if negative else 1.0) if self.is_sign else float(negative)


def jumping(problem: Problem) -> Iterator[Comparison]:
    """Comparisons of the motion at which expressions jump, as far as motions at random show."""
    expressions = Expressions(problem)
    for branching in problem.branchings:
        signals, u = expressions.signals, branching.signal
        for step in expressions.steps(u, JUMPING):
            is_sign = bool(signals.code[step] == Operation.SIGN)
            each = Comparison(branching, step, tuple(signals.operand[step, : 1 if is_sign else 2].tolist()), is_sign)
            places, codes = expressions.read_by(u, each.operands)
            of_motion = any(place < signals.numbers[u] and place != T for place in places)
            if of_motion and Operation.LAW not in codes and _jumps(expressions, each):
                yield each


def _jumps(expressions: Expressions, comparison: Comparison) -> bool:
    """Whether an expression differs on both sides of a comparison where motions at random pass it, or none does."""
    random, u = np.random.default_rng(0), comparison.branching.signal
    result = expressions.signals.result[u]
    start, way = random.normal(size=(2, len(comparison.branching.rows) + 1, TRIED))

    def g(share: np.ndarray) -> np.ndarray:
        return comparison.difference(expressions.values(u, start + share * way))

    with np.errstate(all="ignore"):
        before, share = np.zeros(TRIED), np.ones(TRIED)
        g_before, now = g(before), g(share)
        for _ in range(ITERATIONS):  # the secant method
            step = now * (share - before) / (now - g_before)
            before, share, g_before = share, share - np.where(np.isfinite(step), step, 0.0), now
            now, there = g(share), start + share * way
            passed = np.abs(now) <= CONTINUOUS * np.abs(there).max(axis=0)
            if passed.all():
                break
        one, other = (expressions.values(u, there, flipped)[result] for flipped in (NONE, comparison.step))
        size = np.nanmax(np.abs([one, expressions.values(u, start)[result]]), initial=0.0)
        differ = np.abs(one - other) > CONTINUOUS * (np.abs(one) + 1e3 * size)  # not where one side is undefined
    return bool(not passed.any() or differ[passed].any())


class Condition(NamedTuple):
    """Comparisons that change together, as the same one in two forces, and their differences over that of the first."""

    comparisons: tuple[int, ...]  # by number
    factors: tuple[float, ...]


class Event(NamedTuple):
    """A change of a condition."""

    time: float
    change: tuple[int, bool]  # the number of the condition, and whether its difference is negative from then on


class _WithLaws:
    """The model with laws of time in place of comparisons; ``rates`` (K, p) are derivatives of the times of events."""

    def __init__(
        self,
        assembled: "Assembled",
        comparisons: Sequence[Comparison],
        conditions: Sequence[Condition],
        events: Sequence[Event],
        rates: np.ndarray | None = None,
    ):
        from mbsim_cli.assembly.problem import build

        self.events, signals = events, cast(Any, assembled.problem.model.signals)
        names, switches = [parameter.key for parameter in assembled.parameters], {}
        changed = list[tuple[list[int], int]]()  # events of each switch, and its step
        for number, condition in enumerate(conditions):
            own = [k for k, event in enumerate(events) if event.change[0] == number]
            for each, factor in zip(condition.comparisons, condition.factors, strict=True) if own else ():
                comparison, u = comparisons[each], comparisons[each].branching.signal
                negative = [events[k].change[1] for k in own]
                values = [comparison.value(side == (factor > 0.0)) for side in (not negative[0], *negative)]
                by = [{} if rates is None else dict(zip(names, rates[k].tolist(), strict=True)) for k in own]
                step = comparison.step - int(signals.first_step[u])
                switches[u, step] = Switch(tuple(values), tuple(events[k].time for k in own), tuple(by))
                changed.append((own, comparison.step))
        self.assembled = build(assembled.model_file, **{**assembled.choices, "switches": switches})
        model: Any = self.assembled.problem.model
        self.times = np.zeros((self.assembled.problem.theta.size, len(events)))  # derivatives of theta by the times
        for own, step in changed:
            _, *terms = terms_of(model.laws, int(model.signals.operand[step, 1]))
            self.times[model.laws.window[terms], own] = 1.0


# Runs.


def _bare(problem: Problem, columns: np.ndarray, finer: int) -> Problem:
    """The problem with derivatives by ``columns`` (len(theta), q), at every time point, and without all objectives."""
    options = problem.options
    options = replace(
        options,
        step=options.step / (finer if options.adaptive else 1),
        output_interval=1,
        sensitivity="ddm" if columns.shape[1] else "none",
    )
    of_objectives: dict[str, Any] = {"moved": None, "expressed": (), "summed": False, "broken": ()}
    return replace(problem, options=options, theta_rho=columns, ahead=None, **of_objectives)


class _Run:
    """What comparisons of a problem read along a run: of the problem, or of that ``changed`` by events.

    Before the events it has derivatives by their times, and by parameters.
    """

    def __init__(
        self,
        problem: Problem,
        comparisons: Sequence[Comparison],
        listener: Listener,
        changed: _WithLaws | None = None,
        finer: int = FINER,
        by_parameters: bool = False,
    ):
        made, by = (changed.assembled.problem, changed.times) if changed else (problem, problem.theta_rho[:, :0])
        self._count, own = by.shape[1], np.zeros((problem.theta.size, by.shape[1]))
        if by_parameters:
            by, own = np.hstack([by, np.asarray(made.theta_rho)]), np.hstack([own, np.asarray(problem.theta_rho)])
        self._columns = own
        made = _bare(made, by, finer)
        compile_kernels(made, listener)
        self._problem, self._comparisons, self._expressions = problem, comparisons, Expressions(problem)
        span = (TIMES + 1) * made.options.step
        times = np.array([event.time for event in changed.events] if changed else [])
        rows = list[tuple[np.ndarray, np.ndarray, list[np.ndarray], list[np.ndarray]]]()
        with listener.progress("finding jumps of forces", made.options.duration) as show:
            for block in (block for block in blocks_of(made) if len(block.time)):
                ahead = times - block.time[:, None]
                near = np.flatnonzero(((ahead > 0.0) & (ahead < span)).any(axis=1))
                zeros, read = np.zeros((len(near), by.shape[1])), self._expressions.read
                values = [read(each.branching, block.time, block.sensors) for each in comparisons]
                varied = [read(each.branching, zeros, block.d_sensors[near]) for each in comparisons]
                rows.append((block.time, block.time[near], values, varied))
                show(float(block.time[-1]))
                listener.poll()
        all_times, near_times, *both = zip(*rows, strict=True)
        self._time, self._near = np.concatenate(all_times), np.concatenate(near_times)
        self._read, self._d_read = ([np.concatenate(each, 1) for each in zip(*part, strict=True)] for part in both)
        with np.errstate(all="ignore"):
            self._differences = [self._difference(*each) for each in zip(comparisons, self._read, strict=True)]

    def _difference(self, comparison: Comparison, read: np.ndarray) -> np.ndarray:
        """What a comparison compares (N,); where it is zero for one time point, that of the one before or behind."""
        g = comparison.difference(self._expressions.values(comparison.branching.signal, read))
        return np.where(g == 0.0, np.append(g[1:2], g[:-1]), g)

    @property
    def conditions(self) -> list[Condition]:
        """Comparisons whose differences are those of another one times a factor, together."""
        found = dict[int, list[tuple[int, float]]]()
        for number, g in enumerate(self._differences):
            for first in found:
                other = self._differences[first]
                factor = float(g[0] / other[0]) if other[0] else 0.0
                if factor and np.allclose(g, factor * other, rtol=ALIKE, atol=ALIKE * np.abs(g).max()):
                    found[first].append((number, factor))
                    break
            else:
                found[number] = [(number, 1.0)]
        return [Condition(*zip(*each, strict=True)) for each in found.values()]

    def events(self, conditions: Sequence[Condition]) -> list[Event]:
        """Changes of conditions in order of time; none where a difference stays at zero for a while."""
        time, found = self._time, list[Event]()
        for number, condition in enumerate(conditions):
            g = self._differences[condition.comparisons[0]]
            if not g.any():
                continue  # as of a body at rest
            if not g.all() or np.isnan(g).any():
                return []
            for k in np.flatnonzero((g[1:] < 0.0) != (g[:-1] < 0.0)):
                at = time[k] + (time[k + 1] - time[k]) * g[k] / (g[k] - g[k + 1])
                found.append(Event(float(at), (number, bool(g[k + 1] < 0.0))))
        return sorted(found)

    def passes(self, now: Sequence[Event], events: Sequence[Event]) -> bool:
        """Whether the changes of a run are ``events``: forces that change there may let others pass at other times."""
        near = OFF * np.diff(self._time).max()
        return [event.change for event in now] == [event.change for event in events] and all(
            abs(found.time - event.time) <= near for found, event in zip(now, events, strict=True)
        )

    def crossings(
        self, conditions: Sequence[Condition], events: Sequence[Event]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float] | None:
        """Differences (K,) at the times of events, and their derivatives by these (K, K) and by parameters (K, p).

        They are those of polynomials through time points before each. The last number is the largest error of a time
        by these, s, infinite where there are too few points since the event before. None where comparisons of a
        condition do not move together.
        """
        together, off = CONVERGED * self._time[-1], 0.0
        g, by = np.zeros(len(events)), np.zeros((len(events), self._columns.shape[1]))
        for k, (time, (number, _)) in enumerate(events):
            last = max((event.time for event in events[:k] if event.time < time - together), default=-1.0)
            rows = np.flatnonzero((self._time > last) & (self._time < time))[-TIMES:]
            if len(rows) < POINTS:
                return g, by, by, np.inf
            first, *others = (self._at(each, rows, time) for each in conditions[number].comparisons)
            for other, factor in zip(others, conditions[number].factors[1:], strict=True):
                if not np.allclose(other, factor * first, rtol=1e3 * ALIKE, atol=ALIKE * np.abs(other).max()):
                    return None
            g[k], rate, *by[k] = first
            by[k, k] += rate
            fewer = self._at(conditions[number].comparisons[0], rows[1:], time)[0]
            off = max(off, abs((g[k] - fewer) / rate) if rate else np.inf)
        return g, by[:, : self._count], by[:, self._count :], off

    def _at(self, number: int, rows: np.ndarray, time: float) -> np.ndarray:
        """What a comparison compares at a time, its rate, and its derivatives by the columns of the run."""
        there, comparison = continuation(self._time[rows], time), self._comparisons[number]
        read = self._read[number][:, rows]
        d_read = self._d_read[number][:, np.searchsorted(self._near, self._time[rows])]
        ways = np.column_stack([read @ there.rate, np.einsum("inc,n->ic", d_read, there.value)])
        of_theta = np.column_stack([np.zeros(len(self._columns)), self._columns])
        moved = Expressions(self._problem, self._problem.theta[:, None] + 1j * STEP * of_theta)
        at = (read @ there.value)[:, None] + 1j * STEP * ways
        found = comparison.difference(moved.values(comparison.branching.signal, at))
        return np.append(found.real[0], found.imag / STEP)


# Newton's method for the times.


def locate(assembled: "Assembled", listener: Listener) -> "Assembled":
    """The model whose steps end where comparisons of the motion make its forces jump; as it is if these are not found.

    Runge-Kutta methods integrate it.
    """
    comparisons = list(jumping(assembled.problem))
    try:
        return _located(assembled, comparisons, listener) if comparisons else assembled
    except (AnalysisError, np.linalg.LinAlgError):  # the analysis itself will report what fails
        return assembled


def _located(assembled: "Assembled", comparisons: Sequence[Comparison], listener: Listener) -> "Assembled":
    problem, finer, starts, is_near = assembled.problem, FINER, 1, False
    end = problem.options.end
    run = _Run(problem, comparisons, listener)
    conditions = run.conditions
    events = run.events(conditions)
    for _ in range(ITERATIONS):
        if not 0 < len(events) <= MOST_EVENTS or starts > STARTS or end / problem.options.step * finer > MOST_POINTS:
            return assembled
        changed = _WithLaws(assembled, comparisons, conditions, events)
        run = _Run(problem, comparisons, listener, changed, finer, is_near)
        now = run.events(conditions)
        if not run.passes(now, events):
            events, is_near, starts = now, False, starts + 1
            continue
        found = run.crossings(conditions, events)
        if found is None:  # comparisons that are alike, but depend on different parameters
            conditions = [Condition((number,), (1.0,)) for number in range(len(comparisons))]
            events, is_near, starts = run.events(conditions), False, starts + 1
            continue
        g, by_time, by_parameter, off = found
        is_coarse = problem.options.adaptive and off > problem.options.tolerance * end
        finer *= DENSER if is_coarse else 1
        if off == np.inf and is_coarse:
            is_near = False
            continue
        if off == np.inf:
            return assembled
        changes = np.linalg.solve(by_time, g)
        events = [event._replace(time=event.time - late) for event, late in zip(events, changes, strict=True)]
        if sorted(events) != events or not 0.0 < events[0].time <= events[-1].time < end:
            return assembled
        if is_near and not is_coarse:
            shown = f"{counted(len(events), 'jump')} of forces, the first at {events[0].time:.6g} s"
            listener.say(f"steps end at {shown}")
            rates = -np.linalg.solve(by_time, by_parameter)
            return _WithLaws(assembled, comparisons, conditions, events, rates).assembled
        is_near = not is_coarse and bool(np.abs(changes).max() <= CONVERGED * end)
    return assembled
