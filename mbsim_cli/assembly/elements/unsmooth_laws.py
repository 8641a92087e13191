"""Laws of time that are not smooth: those that an integrator cannot handle, and the event times of its steps.

A jump of the rate of a law that drives a coordinate is an impulse, which also moves coordinates that are not driven.
Formulations of open trees prescribe the rates of driven coordinates and integrate the others, so that they would miss
the impulse; steps of ALI3-P spread it. Steps of ALI3-P end where slopes or accelerations change at times that
parameters move.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil, floor, inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.laws import WITHIN
from mbsim_cli.errors import counted
from mbsim_cli.kernels.drivers.stepping import MEETS
from mbsim_cli.kernels.elements.laws import law_third, law_value, law_variation
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Options, Problem, Split
from mbsim_cli.solve.breakpoints import (
    WHOLE,
    Breakpoint,
    breakpoints_of_law,
    breakpoints_of_laws,
    grouped,
    groups_in_run,
    laws_of_forces,
    laws_of_time,
    laws_that_move,
    movable,
)
from mbsim_cli.solve.sides import shift_of, sides_of
from mbsim_cli.spec.model_file import ModelFile

if TYPE_CHECKING:
    from mbsim_cli.assembly.packing import Packing

JUMP = 1e-6  # of a value or rate, over the largest one of the law, that counts as one
ASIDE = 1e-6  # of the duration: interval of a difference of rates that gives an acceleration
NEXT = 1e-3  # of the time to the next breakpoint: that interval, at most
ROUNDED_TIME = 1e-10  # of the duration: that interval, at least
FAR = 1e-2  # of the duration: distance from a breakpoint at which the size of accelerations is taken
HALFWAY = 0.4  # of the time to the next breakpoint: that distance, at most
ACCELERATION_JUMP = 1e-4  # over these accelerations, that counts as a jump
SLIGHT = 1e-3  # of the largest rate of a law: a jump below this is not warned of
ALIKE = 1e-9  # relative difference of rates of breakpoints that counts as zero
ROUNDED = 1e-14  # of the largest rate by any parameter: round-off
SMOOTHER = (
    "begin and end such a law with a rate of zero, as smooth_step does, or let it continue by `extrapolate: linear`"
)
CLOSE = 1e-6  # of an output interval: shortest time between changes over which time points inside steps are read
LONG = 1e3  # shifts of a breakpoint: the same, so that time points lie farther inside steps than shifts
SAMPLES = 101  # times at which the largest rate of a law is searched, and breakpoints between which it is
TWO, FOUR = 2, 4  # time points on each side of a split: a line through fewer than four misses small corners


class Edge(NamedTuple):
    """Breakpoints of a law at one time, its rates (5,) on both sides, as from ``_rates``, and its largest rate."""

    law: int
    points: list[Breakpoint]
    before: np.ndarray
    behind: np.ndarray
    largest: float

    @property
    def rate_jumps(self) -> bool:
        """Whether the rate of the law jumps."""
        before, behind = self.before[0], self.behind[0]
        return bool(abs(before - behind) > JUMP * max(self.largest, abs(before), abs(behind)))

    @property
    def acceleration_jumps(self) -> bool:
        """Whether its second derivative does, as differences of rates show."""
        near = [(4.0 * r[1] - 3.0 * r[0] - r[2]) / 2.0 for r in (-self.before, self.behind)]
        far = [r[4] - r[3] for r in (-self.before, self.behind)]
        return bool(abs(near[1] - near[0]) > ACCELERATION_JUMP * max(map(abs, near + far)))


def with_event_times(problem: Problem, packing: "Packing", wanted: Sequence[str]) -> Problem:
    """The problem with the times at which its laws change, for parameters ``wanted`` of gradients; records issues."""
    model, options, file, system = problem.model, problem.options, packing.model_file, packing.system
    if options.analysis == "forward_dynamics":
        if options.integrated:
            check_driving_laws(problem, system.issue)
        else:
            check_jumping_forces(problem, file.calls, system.issue)
        of_time, everywhere = np.append(laws_of_forces(model), model.constraints.law), np.full(len(problem.theta), True)
        if breakpoints_of_laws(model.laws, problem.theta, everywhere, of_time):  # most models have none
            by_all = problem.theta_rho  # by all parameters: runs with and without gradients take the same steps
            if (every := list(file.parameters)) != list(wanted):
                by_all = system.theta.jacobian(every, {*model.laws.theta.tolist(), *model.laws.window.tolist()})
            stops = () if options.integrated else event_times_of(problem, by_all)
            problem = replace(problem, stops=stops, movable=np.any(by_all, axis=1), jumps=jumps_of(problem))
            if options.integrated and (one_sided := packing.packed.signals.one_sided):
                check_sides(problem, one_sided, system.issue)
    if problem.summed:
        problem = replace(problem, splits=splits_of(problem, of_sums=True))
    if any(objective.reads_single_times for objective in file.objectives.values()):
        problem = replace(problem, value_splits=splits_of(problem, of_sums=False))
    return problem


def check_driving_laws(problem: Problem, issue: Callable[..., None]) -> None:
    """Report laws whose rates jump, and simultaneous jumps of accelerations that parameters would separate."""
    driving = list(driving_edges(problem))
    for law, points, before, behind, _ in (edge for edge in driving if edge.rate_jumps):
        message = f"the rate of the law jumps from {before[0]:.6g} to {behind[0]:.6g} at {points[0].time:.6g} s"
        hint = "formulations of open trees know no impulses; make it smooth, or use formulation: ali3p-rtdyn1"
        issue(problem.names.laws[law], message, hint)
    law_of = acceleration_jumps(driving)
    for group in _moved_apart(law_of, problem.options.end, problem.theta_rho):
        message = f"accelerations jump at {group[0].time:.6g} s by several laws, and parameters move these apart"
        issue(problem.names.laws[law_of[group[0]]], message, "let them jump a little apart")


def check_jumping_forces(problem: Problem, calls: Container[str], issue: Callable[..., None]) -> None:
    """Report laws of forces that jump at times which parameters move: the trapezoidal rule halves derivatives by these.

    A piece of a step that ends at a jump has the mean of both sides there, whatever its length. Forces that show
    ``calls`` of laws move nothing.
    """
    forces = enumerate(problem.names.forces)
    moving = {*problem.model.forces.law[[f for f, name in forces if name not in calls], 0].tolist()}
    reported = set(laws_of_forces(problem.model).tolist()) - moving - {*laws_of_time(problem.model.signals).tolist()}
    for law, group, before, behind in _jumping_forces(problem):
        if law not in reported and (when := _moved_instant(problem, group)):
            reported.add(law)
            jump = f"the force jumps from {before:.4g} to {behind:.4g} {when}"
            message = f"{jump}: steps of the trapezoidal rule halve the derivatives by it"
            hint = "use formulation: recursive, or ali1p-rtdyn1 with loops; or let the force be continuous"
            issue(problem.names.laws[law], message, hint)


def check_sides(problem: Problem, laws: Sequence[int], issue: Callable[..., None]) -> None:
    """Report laws of forces that runs beside an output time read where they are undefined, of those of ``laws``."""
    shifted = set[int]().union(*(sides.shifts for sides in sides_of(problem)))
    for law in laws:
        for point in breakpoints_of_law(problem.model.laws, problem.theta, movable(problem), law):
            when = _moved_instant(problem, [point])
            if when and not shifted.isdisjoint(point.numbers):
                message = f"the force jumps {when}, and is undefined beyond it: its derivatives need both sides"
                issue(problem.names.laws[law], message, "define it there, or let the time lie between output times")


def _jumping_forces(
    problem: Problem, order: int = 0, *, varied: bool = False
) -> Iterator[tuple[int, list[Breakpoint], float, float]]:
    """Laws of forces and their breakpoints at times during a run at which they jump, and their values on both sides.

    With ``order`` 1 their first derivatives; if ``varied``, also where derivatives by parameters jump, but for those
    that move the times.
    """
    laws, theta = problem.model.laws, problem.theta
    for law in dict.fromkeys(laws_of_forces(problem.model).tolist()):
        edges = _edges(problem, law)
        groups = groups_in_run(edges, problem.options.end)
        largest = _largest(problem, law, order) if groups else 0.0
        dtheta = _along(problem, edges) if groups and varied else None
        largest_variation = 0.0 if dtheta is None else _largest(problem, law, order, dtheta)
        for group in groups:
            times = _beside(problem, group)
            before, behind = (law_value(laws, theta, law, time)[order] for time in times)
            if abs(behind - before) > JUMP * max(abs(before), abs(behind), largest):
                yield law, group, before, behind
            elif dtheta is not None:
                one, other = (float(law_variation(laws, theta, dtheta, 0, law, time)[order]) for time in times)
                if abs(other - one) > JUMP * max(abs(one), abs(other), largest_variation):
                    yield law, group, before, behind


def _along(problem: Problem, edges: Sequence[Breakpoint]) -> np.ndarray:
    """Derivatives (len(theta), 1) of theta along a direction of all parameters but those that move the edges."""
    p = problem.theta_rho.shape[1]
    moving = problem.theta_rho[[number for point in edges for number in point.numbers]].any(axis=0)
    # neither alike nor in line, so that neither steps nor slopes cancel
    weights = np.where(moving, 0.0, 0.5 + 0.618 * np.arange(p) ** 2 % 1.0)
    return np.asarray(problem.theta_rho @ weights)[:, None]


def splits_of(problem: Problem, *, of_sums: bool) -> tuple[Split, ...]:
    """Times at which integrals are split: accelerations jump, and time points lie on each side until other changes.

    Two of them on each side, or four beside corners of accelerations, but for adaptive steps, which end at changes and
    have time points inside. Where the rate of a driving law jumps, integrals have its impulse, which steps spread. If
    not ``of_sums``, all jumps are found but those of comparisons that sums alone read. Corners of forces are found too,
    and of accelerations over given motions; sums need them neither where time points inside steps serve them, nor by
    ALI3-P, whose accelerations ring behind corners.
    """
    options = problem.options
    if options.analysis not in ("forward_dynamics", "inverse_dynamics", "kinematics"):
        return ()
    driving = _driving(problem)
    edges = list(driving_edges(problem))
    impulses = {point for edge in edges if edge.rate_jumps for point in edge.points}
    of_forces = (laws_of_forces(problem.model) if of_sums else laws_that_move(problem)).tolist()
    jumps_of_forces = (group for law, group, *_ in _jumping_forces(problem, varied=True) if law in of_forces)
    jumping = acceleration_jumps(edges).keys() | {point for group in jumps_of_forces for point in group}
    by_steps = of_sums and options.analysis == "forward_dynamics"
    bend = not by_steps or (options.integrated and not options.adaptive)
    bending = _jumping_forces(problem, 1, varied=True) if bend else ()
    corners = {point for law, group, *_ in bending for point in group if law in of_forces}
    bends = list(_bends(problem, driving)) if options.analysis != "forward_dynamics" else []
    of_all = [*driving.tolist(), *of_forces]
    points = bends + [point for law in dict.fromkeys(of_all) for point in _edges(problem, law)]
    groups, near = groups_in_run(points, options.end), max(WHOLE * options.step, 5.0 * shift_of(options))
    smooth, found = set(bends), []
    every = [-inf, *(group[0].time for group in groups), inf]
    others = [-inf, *(group[0].time for group in groups if not smooth.issuperset(group)), inf]
    for group in groups:
        jumps = [point for point in group if point in jumping]
        sharp = jumps or [point for point in group if point in corners]
        split = sharp or [point for point in group if point in smooth]
        if not split or not impulses.isdisjoint(group):
            continue
        # corners of accelerations nearby must not leave other changes too few time points
        for times, least in ((every, FOUR), (others, TWO)) if sharp else ((every, FOUR),):
            time = group[0].time
            before, behind = times[bisect_left(times, time) - 1], times[bisect_right(times, time)]
            spans = (before + near, time - near), (time + near, behind - near)
            if (sharp and not of_sums) or all(_is_enough(span, options, least) for span in spans):
                found.append(Split(split[0].numbers, *spans, corner=not jumps))
                break
    return tuple(found)


def _bends(problem: Problem, driving: np.ndarray) -> Iterator[Breakpoint]:
    """Breakpoints that parameters move, at which accelerations of driving laws have a corner."""
    laws, numbers, moved = problem.model.laws, problem.theta, np.array(problem.theta_rho.any(axis=1))
    for law in dict.fromkeys(driving.tolist()):
        for group in groups_in_run(breakpoints_of_law(laws, numbers, moved, law), problem.options.end):
            before, behind = (law_third(laws, numbers, law, time) for time in _beside(problem, group))
            if abs(behind - before) > JUMP * max(abs(before), abs(behind)):
                yield from group


def _is_enough(span: tuple[float, float], options: Options, points: int) -> bool:
    """Whether so many time points lie in a span of time, or those inside a step that an integrator chooses."""
    if options.analysis == "forward_dynamics" and options.adaptive:
        least = max(CLOSE * options.step, LONG * shift_of(options))
        return min(span[1], options.end) - max(span[0], 0.0) > least
    low, high = max(span[0], 0.0) / options.step, min(span[1] / options.step, options.end / options.step + WHOLE)
    return floor(high) - ceil(low) >= points - 1


def _driving(problem: Problem) -> np.ndarray:
    """Laws that drive coordinates."""
    return (problem.model.constraints if problem.prescribed is None else problem.prescribed).law


def acceleration_jumps(driving: Iterable[Edge]) -> dict[Breakpoint, int]:
    """Breakpoints at which accelerations of driven coordinates jump, and their laws."""
    return {point: edge.law for edge in driving if edge.acceleration_jumps for point in edge.points}


def driving_edges(problem: Problem) -> Iterator[Edge]:
    """Edges of the laws that drive coordinates."""
    for law in dict.fromkeys(_driving(problem).tolist()):
        yield from _edges_of(problem, law, groups_in_run(_edges(problem, law), problem.options.end))


def _edges_of(problem: Problem, law: int, groups: list[list[Breakpoint]]) -> Iterator[Edge]:
    """Edges of a law, of whose breakpoints those at one time are a group."""
    times = [-inf, *_times(problem, law), inf] if groups else []
    largest = _largest(problem, law) if groups else 0.0
    for group in groups:
        before, behind = _beside(problem, group)
        gap = min(before - times[bisect_left(times, before) - 1], times[bisect_right(times, behind)] - behind)
        sides = _rates(problem, law, group, gap)
        yield Edge(law, group, sides[0], sides[1], largest)


def event_times_of(problem: Problem, by_all: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Event times of laws, at which steps of ALI3-P end; each is a sum of numbers of theta, given by their indices.

    Only times that numbers of the file move are listed; ``by_all`` (len(theta), q) are derivatives by its parameters.
    Steps do not end where forces keep two continuous derivatives, for these do not reduce their order. Nor do they end
    where the rate of a driving law jumps, or several accelerations jump at times that parameters move apart.
    """
    model, moved, found = problem.model, np.array(by_all.any(axis=1)), dict[tuple[float, bytes], tuple[int, ...]]()
    of_forces, driving = (
        set(breakpoints_of_laws(model.laws, problem.theta, moved, laws))
        for laws in (laws_that_move(problem), model.constraints.law)
    )
    edges = list(driving_edges(problem))
    crossed = {point for edge in edges if edge.rate_jumps for point in edge.points}
    crossed = crossed.union(*_moved_apart(acceleration_jumps(edges), problem.options.end, by_all))
    ending = {point for point in of_forces if not point.smooth} | driving
    for point in sorted(ending - crossed):
        row = by_all[list(point.numbers)].sum(axis=0)
        if row.any():
            found.setdefault((point.time, row.tobytes()), point.numbers)
    return tuple(found.values())


def _moved_apart(points: Iterable[Breakpoint], end: float, by: np.ndarray) -> Iterator[list[Breakpoint]]:
    """Breakpoints at one time that parameters move apart, of those at which accelerations jump."""
    for group in groups_in_run(list(points), end):
        rows = [by[point.numbers[0]] for point in group]
        if not np.allclose(rows, rows[0], rtol=ALIKE, atol=ROUNDED * np.abs(rows).max(initial=0.0)):
            yield group


def jumps_of(problem: Problem) -> frozenset[int]:
    """Indices in theta of times at which the rate or acceleration of a driving law, or the law of a force, jumps."""
    end, near = problem.options.end, MEETS * problem.options.end
    moving = set(laws_that_move(problem).tolist())
    found = {point.numbers[0] for law, group, *_ in _jumping_forces(problem) if law in moving for point in group}
    for law in set(problem.model.constraints.law.tolist()) - {NONE}:
        edges = [point for point in _edges(problem, law) if near < point.time <= end + near]
        for edge in _edges_of(problem, law, grouped(edges, near)):
            if edge.rate_jumps or edge.acceleration_jumps:
                found |= {point.numbers[0] for point in edge.points}
    return frozenset(found)


def unsmooth_laws(problem: Problem, model_file: ModelFile, steep: Sequence[tuple[str, int]]) -> list[str]:
    """Warnings about rates of driving laws that jump, and about derivatives by times at which laws are not smooth.

    Some of these times lie inside steps of ALI3-P; integrals are not split with fewer than two time points to a side.
    ``steep`` are paths of expressions with an infinite slope, and the times as places in theta.
    """
    options = problem.options
    stepped = options.analysis == "forward_dynamics" and not options.integrated
    summed = any(objective.is_sum for objective in model_file.objectives.values())
    edges, warnings = list(driving_edges(problem)), list[str]()

    def warn(law: int, message: str, hint: str) -> None:
        warnings.append(str(model_file.issue(problem.names.laws[law], message, hint)))

    jumping = acceleration_jumps(edges)
    groups = _moved_apart(jumping, options.end, problem.theta_rho) if stepped or summed else ()
    apart = {point for group in groups for point in group}
    for edge in edges:
        law, group = edge.law, edge.points
        when = _moved_instant(problem, group)
        if sentence := _of_jump(problem, edge, when):
            warn(law, sentence, SMOOTHER)
        if when and not apart.isdisjoint(group):
            which = "derivatives by it are" if stepped else "derivatives by it of integrals and smooth maxima are"
            lack = f"{which} wrong where parameters move these apart, however short steps are"
            warn(law, f"accelerations jump by several laws {when}: {lack}", "let them jump a little apart")
    jumps = [(edge.law, edge.points) for edge in edges if summed and edge.acceleration_jumps]
    jumps += [(law, group) for law, group, *_ in (_jumping_forces(problem) if summed else ())]
    points = {point for _, group in jumps for point in group}
    together = {point for group in _moved_apart(points, options.end, problem.theta_rho) for point in group} - apart
    split = [problem.theta[list(each.numbers)].sum() for each in problem.splits]
    for law, group in jumps:
        when = _moved_instant(problem, group)
        if when and not np.isclose(split, group[0].time, rtol=0.0, atol=MEETS * options.end).any():
            message = f"signals jump {when}, with fewer than two time points until another change, the start or the end"
            lack = "derivatives by it of integrals and smooth maxima lack the jump"
            warn(law, f"{message}: {lack}", "take a shorter step")
        elif when and not together.isdisjoint(group):
            lack = "derivatives by it of integrals and smooth maxima are wrong where parameters move these apart"
            warn(law, f"signals jump by several laws {when}: {lack}", "let them jump a little apart")
    if any(not each.is_sum and each.kind in ("maximum", "minimum", "at") for each in model_file.objectives.values()):
        warnings += _between_output_times(problem)
    for law, time in _jumps_at_end(problem) if model_file.objectives else ():
        end = f"and the analysis ends at {options.duration:g} s, between output times"
        message = f"accelerations jump at {time:g} s, in the last step, {end}: objectives are continued across the jump"
        warn(law, message, "let whole steps make up the duration")
    for law in dict.fromkeys(_driving(problem).tolist() if options.analysis == "forward_dynamics" else ()):
        if group := [point for point in _edges(problem, law) if abs(point.time) <= MEETS * options.end]:
            before, behind = _rates(problem, law, group)
            if before[0] == 0.0 and abs(behind[0]) > SLIGHT * _largest(problem, law):  # by a window, or a held table
                start = f"the law begins at 0 s with a rate of {behind[0]:.4g}, behind a rest"
                sentence = f"{start}: the mechanism starts in motion, and the impulse before is left out"
                warn(law, sentence, SMOOTHER)
    for path, number in steep:
        time = float(problem.theta[number].real)
        when = _moved_instant(problem, [Breakpoint(time, (number,), False)])
        if when and 0.0 <= time <= options.end:
            message = f"the slope of the expression is infinite {when}: derivatives by it are inaccurate"
            warnings.append(str(model_file.issue(path, message, "let it end with a finite slope")))
    return warnings


def _between_output_times(problem: Problem) -> list[str]:
    """A sentence on jumps of accelerations behind which laws change again before the next output time, if any.

    An output time on a jump shows what holds behind it.
    """
    step, spans = problem.options.step, [split.behind for split in problem.value_splits if not split.corner]
    missed = [low for low, high in spans if high < inf and floor(high / step) < ceil(low / step - 2.0 * WHOLE)]
    if not missed:
        return []
    others = f", and at {counted(len(missed) - 1, 'other time')}," if missed[1:] else ""
    sentence = f"accelerations jump at {missed[0]:.6g} s{others} and laws change again before the next output time"
    return [f"{sentence}: largest values, and values at a time, do not see what lies between; take a shorter step"]


def _jumps_at_end(problem: Problem) -> Iterator[tuple[int, float]]:
    """Laws and times of jumps in the last step, or behind it, of an analysis that ends between output times."""
    options = problem.options
    if abs(options.duration - options.end) <= WHOLE * options.step:
        return
    longer = replace(problem, options=replace(options, duration=options.end + 2.0 * options.step))
    edges = (edge for edge in driving_edges(longer) if edge.rate_jumps or edge.acceleration_jumps)
    jumps = [(edge.law, edge.points[0].time) for edge in edges]
    for law, time in [*jumps, *((law, group[0].time) for law, group, *_ in _jumping_forces(longer))]:
        if options.end - options.step < time < options.duration:
            yield law, time


def _of_jump(problem: Problem, edge: Edge, when: str) -> str:
    """A sentence, or none, on a rate of a driving law that jumps during a run, ``when`` parameters move it."""
    options, before, behind = problem.options, edge.before, edge.behind
    largest = max(edge.largest, np.abs(before).max(), np.abs(behind).max())
    if options.integrated or not abs(behind[0] - before[0]) > SLIGHT * largest:
        return ""
    place = when or f"at {edge.points[0].time:.6g} s"
    jump = f"the rate of the law jumps from {before[0]:.4g} to {behind[0]:.4g} {place}"
    if options.analysis == "inverse_dynamics":
        return f"{jump}: torques lack its impulse"
    more = ", and derivatives by this time are wrong, however short they are" if when else ""
    return f"{jump}: steps spread its impulse, so that reactions there grow as steps get shorter{more}"


def _largest(problem: Problem, law: int, order: int = 1, dtheta: np.ndarray | None = None) -> float:
    """Largest rate of a law during a run, also of short pulses, or for ``order`` 0 largest value.

    With ``dtheta`` (len(theta), 1) the largest derivative of these along it.
    """
    laws, theta, end = problem.model.laws, problem.theta, problem.options.end
    ends = np.array(sorted({0.0, *(time for time in _times(problem, law) if 0.0 < time < end), end}))
    ends = ends[:: -(-len(ends) // SAMPLES)]  # of long tables
    times = [*np.linspace(0.0, end, SAMPLES), *(ends[:-1] + np.outer(WITHIN, np.diff(ends))).ravel()]
    if dtheta is None:
        numbers = [law_value(laws, theta, law, t)[order] for t in times]
    else:
        numbers = [law_variation(laws, theta, dtheta, 0, law, t)[order] for t in times]
    return float(np.nanmax(np.abs(numbers), initial=0.0))


def _moved_instant(problem: Problem, group: Sequence[Breakpoint]) -> str:
    """The time and the parameters that it depends on, in words; empty if it depends on none."""
    rows = problem.theta_rho[[point.numbers[0] for point in group]]
    by = np.array(problem.names.parameters)[rows.any(axis=0)]
    return f"at {group[0].time:.6g} s, a time that depends on {', '.join(by)}" if by.size else ""


def _times(problem: Problem, law: int) -> list[float]:
    """Times of all breakpoints of a law, in order."""
    points = breakpoints_of_law(problem.model.laws, problem.theta, np.full(len(problem.theta), True), law)
    return sorted(point.time for point in points)


def _edges(problem: Problem, law: int) -> list[Breakpoint]:
    """Breakpoints of a law where it may have fewer than two continuous derivatives."""
    points = breakpoints_of_law(problem.model.laws, problem.theta, movable(problem), law)
    return [point for point in points if not point.smooth]


def _beside(problem: Problem, group: Sequence[Breakpoint]) -> tuple[float, float]:
    least = 1e-14 * problem.options.end
    return group[0].time - least, group[-1].time + least


def _rates(problem: Problem, law: int, group: Sequence[Breakpoint], gap: float = inf) -> np.ndarray:
    """Rates of a law on both sides of a point (2, 5): there, two near, two farther; ``gap`` to the next breakpoint."""
    end = problem.options.end
    aside, far = max(min(ASIDE * end, NEXT * gap), ROUNDED_TIME * end), min(FAR * end, HALFWAY * gap)
    away = np.array([0.0, aside, 2.0 * aside, far, far + aside])
    before, behind = _beside(problem, group)
    laws, sides = problem.model.laws, (before - away, behind + away)
    return np.array([[law_value(laws, problem.theta, law, t)[1] for t in side] for side in sides])
