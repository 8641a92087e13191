"""What integrators make of laws of time that are not smooth.

A jump of the rate of a law that drives a coordinate is an impulse, which moves what is not driven too. Formulations of
open trees take the rates that laws prescribe and integrate all others, so that they would leave it out. Steps of others
go across the instants at which slopes change: derivatives by these are off by a share of a step.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mbsim_cli.assembly.elements.laws import law_at
from mbsim_cli.model.layout import Laws
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.open_trees.kinks import Kink, groups_of, kinks_of_law

Edge = tuple[int, list[Kink], np.ndarray, np.ndarray]  # of a law: kinks, and rates on both sides
JUMP = 1e-6  # of a rate, that counts as one
ASIDE = 1e-6  # of the duration: between instants whose rates tell an acceleration
FAR = 1e-2  # of the duration: how far around a kink accelerations tell how large they are
LEAP = 1e-4  # of these, that counts as a leap


def check_driving_laws(problem: Problem, issue: Callable[..., None]) -> None:
    """Report laws whose rates jump, and leaps of accelerations at one instant that parameters would part."""
    driving = list(_driving(problem))
    for law, group, before, behind in driving:
        if _jumps(before, behind):
            message = f"the rate of the law jumps from {before[0]:.6g} to {behind[0]:.6g} at {group[0].time:.6g} s"
            hint = "formulations of open trees know no impulses; make it smooth, or use formulation: ali3p-rtdyn1"
            issue(problem.names.laws[law], message, hint)
    by_kink = _leaping(driving)
    for group in groups_of(list(by_kink), problem.options.end):
        rows = [problem.theta_rho[kink.number] for kink in group]
        if any((row != rows[0]).any() for row in rows):
            message = f"accelerations leap at {group[0].time:.6g} s by several laws, and parameters move these apart"
            issue(problem.names.laws[by_kink[group[0]]], message, "let them leap a little apart, or use ali3p-rtdyn1")


def leaping(problem: Problem) -> dict[Kink, int]:
    """Instants at which accelerations of driven coordinates leap, and their laws."""
    return _leaping(_driving(problem))


def _leaping(driving: Iterable[Edge]) -> dict[Kink, int]:
    return {kink: law for law, group, before, behind in driving if _leaps(before, behind) for kink in group}


def _driving(problem: Problem) -> Iterator[Edge]:
    """Laws of constraints, their edges, and rates on both sides of these."""
    laws, numbers, end = problem.model.laws, problem.theta.tolist(), problem.options.end
    moved = np.array(problem.theta_rho.any(axis=1))
    for law in dict.fromkeys(problem.model.constraints.law.tolist()):
        for group in groups_of(_edges(problem, moved, law), end):
            yield law, group, *_rates(laws, numbers, law, group, end)


def unsmooth_laws(problem: Problem, model_file: Any) -> list[str]:
    """Warnings about instants at which laws are not smooth, where parameters move these and derivatives lack something.

    Steps of ALI3-P go across them, and sums over instants go across what leaps with accelerations.
    """
    model, options, names = problem.model, problem.options, np.array(problem.names.parameters)
    moved, theta, warnings = np.array(problem.theta_rho.any(axis=1)), problem.theta.tolist(), []
    crossed = options.analysis == "forward_dynamics" and not options.open_tree
    summed = any(objective.kind in ("integral", "maximum") for objective in model_file.objectives.values())
    driving = set((model.constraints if problem.prescribed is None else problem.prescribed).law.tolist())
    for law in dict.fromkeys([*model.forces.law[:, 0].tolist(), *driving]):
        for group in groups_of(_edges(problem, moved, law), options.end):
            by = names[problem.theta_rho[[kink.number for kink in group]].any(axis=0)]
            if not by.size:
                continue
            before, behind = _rates(model.laws, theta, law, group, options.end)
            jumps, leaps = _jumps(before, behind), law in driving and _leaps(before, behind)
            when, said = f"at {group[0].time:.6g} s, an instant that depends on {', '.join(by)}", []
            if crossed and (jumps or leaps):
                lack = "derivatives by it are off by a share of the step, which no estimate sees"
                remedy = "take short steps or smooth laws, or for open trees formulation: recursive"
                said.append((f"the law is not smooth within a step, {when}: {lack}", remedy))
            if summed and leaps:
                lack = "derivatives by it of integrals and smooth maxima over these, or over forces, lack the leap"
                said.append((f"accelerations leap {when}: {lack}", "take laws with two continuous derivatives"))
            warnings += [str(model_file.issue(problem.names.laws[law], *each)) for each in said]
    return warnings


def _edges(problem: Problem, moved: np.ndarray, law: int) -> list[Kink]:
    """Kinks of a law where it may have fewer than two continuous derivatives."""
    return [kink for kink in kinks_of_law(problem.model.laws, problem.theta, moved, law) if not kink.smooth]


def _rates(laws: Laws, theta: Sequence[float], law: int, group: Sequence[Kink], end: float) -> np.ndarray:
    """Rates of a law on both sides of a kink (2, 5): there, at two instants nearby, and at two farther away."""
    away = end * np.array([0.0, ASIDE, 2.0 * ASIDE, FAR, FAR + ASIDE])
    first, last = group[0].time, group[-1].time
    least = 1e-14 * end
    sides = (first - least - away, last + least + away)
    return np.array([[law_at(laws, theta, law, t + 1e-30j).imag / 1e-30 for t in side] for side in sides])


def _jumps(before: np.ndarray, behind: np.ndarray) -> bool:
    """Whether such rates differ."""
    return bool(abs(before[0] - behind[0]) > JUMP * max(1.0, abs(before[0]), abs(behind[0])))


def _leaps(before: np.ndarray, behind: np.ndarray) -> bool:
    """Whether the accelerations that such rates tell differ."""
    near = [(4.0 * r[1] - 3.0 * r[0] - r[2]) / 2.0 for r in (-before, behind)]
    far = [r[4] - r[3] for r in (-before, behind)]
    return bool(abs(near[1] - near[0]) > LEAP * max(map(abs, near + far)))
