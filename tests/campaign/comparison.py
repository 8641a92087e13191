"""Gradients of whole analyses by the direct method against fourth-order differences, from the model file on.

The quotient D(h) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h has an error of order h^4, and round-off over h. Those
of h and h/2 share two analyses, and their distance bounds the error of the better one. Steps are tried from large to
small, and the one with the smallest bound is taken.

Derivatives hold the steps of adaptive integrators, which change with a parameter, and the errors of values with them.
Differences are no better than these errors allow: those of the tolerance, and reported ones of sums over time, as of a
norm of a velocity that passes zero, or of a smooth maximum within long steps.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbsim_cli import spec
from mbsim_cli.errors import MbsimError
from mbsim_cli.solve.resolution import NoSteps
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import evaluate
from tests.campaign.generator import FILE, Data

STEPS = (4e-3, 4e-4, 4e-5, 4e-6)  # of a parameter's size
AGREE = 1e-6  # of a derivative's size, where the differences are as good
ADJOINT = 1e-8  # of the largest derivative by a parameter's size, between adjoint and direct ones
SURE = 1e-3  # error of the differences, of a derivative's size, above which they tell nothing
SAFETY = 10.0
FLOOR = 1e-7  # of an objective's value over the parameter's size: what round-off leaves of a derivative that vanishes
AT_REST = 1e-12  # by a parameter's size: what is left of derivatives of velocities at rest, which are 1e-16 m/s
NOISE = 4e-10  # error of a value, relative, that changes with the lengths of adaptive steps at these tolerances
NOTHING = 1e-9  # a derivative that is none, whatever its unit: of squares of what Newton leaves of a reaction of zero

ALI3P = [{"formulation": name, "tolerance": 1e-13} for name in ("ali3p-rtdyn1", "ali3p-rtdyn0")]
ADAPTIVE = {"tolerance": 1e-12, "absolute_tolerance": 1e-12}
OPEN = [
    {"formulation": formulation, "integrator": integrator} | (ADAPTIVE if integrator != "rk4" else {})
    for formulation in ("recursive", "conventional", "partial_recursive")
    for integrator in ("rk4", "dop853", "esdirk")
]
TIMES = {"step": 5e-3, "duration": 0.15}
RESTING = [{"type": "equilibrium"}, ALI3P[0] | {"start": "equilibrium"}]

AGREES, UNDEFINED, REFUSED, UNSURE, WRONG = "agrees", "NaN with a reason", "refused", "differences unsure", "WRONG"


@dataclass(frozen=True)
class Verdict:
    """What became of one derivative, or of a whole analysis."""

    kind: str
    what: str = ""


class Analyses:
    """Whole analyses of one file by one method."""

    def __init__(self, data: Data, method: dict[str, Any], sensitivity: str = "ddm"):
        times = TIMES if "type" not in method else {}
        analysis = {**times, **method, "sensitivity": {"method": sensitivity, "parameters": "all"}}
        self.text = json.dumps({**data, "analysis": analysis})
        self.parameters: dict[str, float] = data["parameters"]

    def values(self, name: str, value: float) -> np.ndarray:
        """Objectives (k,) at another value of a parameter."""
        results = self._run([], {name: repr(value)})
        return np.array([result.value for result in results.values()])

    def gradients(self) -> dict[str, Any]:
        """Objectives with their gradients."""
        return self._run(None, {})

    def _run(self, parameters: list[str] | None, overrides: dict[str, str]) -> dict[str, Any]:
        file = spec.load(FILE, overrides, texts={str(FILE): self.text})
        assembled = build(file, Settings(), parameters)
        return evaluate(assembled.problem, assembled.objectives, resolution=NoSteps("", exact=False))


def verdicts(data: Data, method: dict[str, Any], dust: float = AGREE * NOTHING) -> Iterator[Verdict]:
    """Compare the derivatives of all objectives by all parameters; ``dust`` counts as none."""
    analyses = Analyses(data, method)
    try:
        results = analyses.gradients()
    except MbsimError as error:
        yield Verdict(REFUSED, str(error))
        return
    at = np.array([result.value for result in results.values()])
    known = ~np.isnan(at)  # what redundant constraints leave undetermined is no number
    yield from (Verdict(UNDEFINED, name) for name, is_number in zip(results, known, strict=True) if not is_number)
    adaptive = method.get("integrator", "rk4") != "rk4"
    for k, (name, value) in enumerate(analyses.parameters.items()):
        given = np.array([result.gradient[k] for result in results.values()])[known]
        reason = next(iter(results.values())).undefined.get(name, "")
        if np.isnan(given).any():
            yield Verdict(UNDEFINED if reason else WRONG, f"{name}: {reason or 'NaN without a reason'}")
            continue
        errors = np.array([result.uncertainty.errors[[0, 1 + k]] for result in results.values()])[known].T
        of_values = np.fmax(errors[0], NOISE * abs(at[known])) / (STEPS[0] * (abs(value) or 1.0))
        least = adaptive * np.fmax(errors[1], of_values)
        try:
            yield from _compared(analyses, name, value, given, at, known, dust, least)
        except MbsimError as error:
            yield Verdict(WRONG, f"d/d {name} is {given}, and an analysis beside it fails: {error}")


def verdicts_of_adjoint(data: Data, method: dict[str, Any], dust: float = AT_REST) -> Iterator[Verdict]:
    """Compare the derivatives by the adjoint with direct ones; ``dust``, by a parameter's size, counts as none."""
    analyses = Analyses(data, method)
    try:
        expected = analyses.gradients()
    except MbsimError as error:
        yield Verdict(REFUSED, str(error))
        return
    sizes = np.array([abs(value) or 1.0 for value in analyses.parameters.values()])
    try:
        results = Analyses(data, method, "adjoint").gradients()
    except MbsimError as error:
        yield Verdict(WRONG, f"the adjoint fails: {error}")
        return
    for name, direct in expected.items():
        found = results[name]
        if found.undefined.keys() != direct.undefined.keys():
            yield Verdict(WRONG, f"{name}: undefined by the adjoint {found.undefined}, else {direct.undefined}")
            continue
        least = FLOOR / AGREE * abs(direct.value) + dust / ADJOINT
        largest = np.nanmax(np.abs(direct.gradient) * sizes, initial=least)
        rows = zip(analyses.parameters, found.gradient, direct.gradient, sizes, strict=True)
        for parameter, a, b, size in rows:
            what = f"d {name} / d {parameter}: {a:.12g} by the adjoint, {b:.12g} directly"
            if np.isnan(a) or np.isnan(b):
                yield Verdict(UNDEFINED if np.isnan(a) and np.isnan(b) else WRONG, what)
            else:
                yield Verdict(AGREES if abs(a - b) <= ADJOINT * largest / size else WRONG, what)


def judged(
    family: Callable[[int], Data], seeds: Iterable[int], methods: list[dict[str, Any]], judge: Callable, **how: float
) -> tuple[Counter, list[str]]:
    """How often each verdict came of the mechanisms that a family makes, and what is wrong."""
    counts: Counter = Counter()
    wrong = []
    for seed in seeds:
        for method in methods:
            for verdict in judge(family(seed), method, **how):
                counts[verdict.kind] += 1
                if verdict.kind == WRONG:
                    wrong.append(f"{seed}, {' '.join(map(str, method.values()))}: {verdict.what}")
    return counts, wrong


def _compared(
    analyses: Analyses,
    name: str,
    value: float,
    given: np.ndarray,
    at: np.ndarray,
    known: np.ndarray,
    dust: float,
    least: np.ndarray,  # error of the differences
) -> Iterator[Verdict]:
    size = abs(value) or 1.0
    expected, error = differences(lambda change: analyses.values(name, value + change)[known], size)
    error = np.fmax(error, least)
    scale = np.maximum(np.maximum(abs(expected), abs(given)), FLOOR / AGREE * abs(at[known]) / size)
    scale += dust / AGREE / min(size, 1.0)
    for found, reference, bound, of in zip(given, expected, error, scale, strict=True):
        what = f"d/d {name}: {found:.12g}, differences {reference:.12g} +- {bound:.1e}"
        if abs(found - reference) <= AGREE * of + SAFETY * min(bound, SURE * of):
            yield Verdict(AGREES if bound <= SURE * of else UNSURE, what)
        else:
            yield Verdict(WRONG if bound <= SURE * of else UNSURE, what)


def differences(function: Any, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (k,) of functions at zero and bounds of their errors; each has the step that suits it best.

    Near a dead point a mechanism may exist for small changes only: steps that fail are left out, but for the smallest.
    """
    best, error = np.array([np.nan]), np.array([np.inf])
    for relative in STEPS:
        h = relative * size
        try:
            half, one, two = (function(x) - function(-x) for x in (h / 2, h, 2 * h))
        except MbsimError:
            if relative == STEPS[-1]:
                raise
            continue
        finer, coarser = (8 * half - one) / (6 * h), (8 * one - two) / (12 * h)
        bound = abs(finer - coarser)
        better = (bound < error) & ~(error <= AGREE * abs(best))  # among smaller steps round-off may agree by chance
        best, error = np.where(better, finer, best), np.where(better, bound, error)
        if (error <= AGREE * abs(best)).all():
            break
    return best, error
