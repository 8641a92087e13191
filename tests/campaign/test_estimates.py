"""Errors that runs report, beside those that finer steps show: random mechanisms of all families."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from mbsim_cli.errors import MbsimError
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.diagnostics.discretisation import relative_norm, relative_of, values_of
from mbsim_cli.study.evaluation import by_fields, evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import Timing, plan_run
from mbsim_cli.study.run import run
from tests.campaign import flexible, generator, rich_flexible, richer

EACH, OF_FIELDS = 14, 30  # runs of a family
FACTOR = 5.0  # between estimated and true errors
NEARLY_EXACT = 1e-8  # errors below are round-off
DUST = 1e-20  # objectives below are round-off: squares of a moment that a spherical joint does not carry
KINDS = ("objective", "gradient", "field")
CRANK = {
    "mbsim": 1,
    "gravity": [0, -9.81, 0],
    "fields": {"p": {"value": "mean + wave*sin(2*pi*(2*x/0.4 + y/0.08 + 1/2))"}},
    "points": {"A": {"rod": [0, 0, 0]}, "B": {"rod": [1, 0, 0], "piston": [0, 0, 0]}},
    "vectors": {"z": {"all": [0, 0, 1]}, "x": {"all": [1, 0, 0]}},
    "joints": {
        "O": {
            "type": "revolute",
            "bodies": ["ground", "crank"],
            "point": "origin",
            "axis": "z",
            "initial": {"angle": 0},
        },
        "P": {
            "type": "revolute",
            "bodies": ["crank", "rod"],
            "point": ["pin", "A"],
            "axis": "z",
            "initial": {"angle": 0},
        },
        "Q": {"type": "revolute", "bodies": ["rod", "piston"], "point": "B", "axis": "z"},
        "R": {"type": "prismatic", "bodies": ["ground", "piston"], "point": "origin", "axis": "x"},
    },
    "laws": {"turn": {"type": "polynomial", "coefficients": [0, 0, 0, 0, "15*pi/4", "-9*pi/4", "3*pi/8"]}},
    "constraints": {"drive": {"type": "motion", "coordinate": "O.angle", "law": "turn"}},
    "sensors": {"U": {"type": "strain_energy", "body": "crank"}, "u": {"type": "deformation", "point": "crank.pin"}},
    "objectives": {"psi": {"integral": "2*U"}, "tip": {"integral": "dot(u, u)"}, "end": {"final": "U"}},
}


def crank_of_fields(seed: int) -> generator.Data:
    """A slider-crank that rings with more or less damping, with gradients by the densities of its crank."""
    random = np.random.default_rng(seed)
    flexible_crank = {
        "mesh": {"type": "rectangle", "size": [0.4, 0.08], "origin": [0, -0.04], "thickness": 0.01, "elements": [8, 2]},
        "material": "steel",
        "density": {"field": "p"},
        "sets": {"hub": {"x": 0}, "pin": {"x": 0.4}},
        "frame": {"fixed": "hub"},
        "modes": {"count": int(random.integers(1, 8))},
        "nodes": {"pin": {"set": "pin"}},
        "damping": {"beta": float(10 ** random.uniform(-7, -4))},
    }
    numbers = {"E": float(10 ** random.uniform(9.5, 11)), "rho": 2600, "mean": float(random.uniform(0.4, 0.7))}
    return CRANK | {
        "constants": {"wave": float(random.uniform(0, 0.28))},
        "parameters": numbers,
        "materials": {"steel": {"youngs_modulus": "E", "poisson_ratio": 0.3, "density": "rho"}},
        "bodies": {
            "crank": {"flexible": flexible_crank},
            "rod": {"shape": {"type": "rod", "length": 1, "mass": 1}},
            "piston": {"mass": 2},
        },
        "analysis": {
            "step": float(10 ** random.uniform(-4.3, -2.7)),
            "duration": float(random.uniform(0.3, 1.0)),
            "sensitivity": {"method": "adjoint", "parameters": "all", "fields": ["p"]},
        },
    }


def of_sensors(grow: Any, seed: int) -> generator.Data:
    """A mechanism with an objective of each of its sensors but reactions."""
    data = grow(seed)
    for name, sensor in data["sensors"].items():
        if sensor["type"] != "reaction" and not data["objectives"].get(f"o_{name}"):
            wide = sensor["type"] in (*rich_flexible.WIDE, "force")
            read = f"dot({name}, [0.3, -0.5, 0.7])" if wide else name
            data["objectives"][f"o_{name}"] = {"integral": read if len(data["objectives"]) % 2 else f"({read})**2"}
    return data


def families(file: Any) -> dict[str, Any]:
    """Functions of a seed, by name."""
    rigid = generator.FAMILIES | richer.FAMILIES
    elastic = {
        f"flexible {name}": partial(of_sensors, partial(grow, file=file)) for name, grow in flexible.FAMILIES.items()
    }
    rich = {f"flexible {name}": partial(grow, file=file) for name, grow in rich_flexible.RICH_FAMILIES.items()}
    return rigid | elastic | rich | {"fields": crank_of_fields, "inverse dynamics": given_motion}


LOOPS = (
    {},
    {"formulation": "ali3p-natural"},
    {"formulation": "ali3p-rtdyn0"},
    {"formulation": "ali1p-rtdyn1", "integrator": "rk4"},
    {"formulation": "ali1p-rtdyn1", "integrator": "dop853"},
)
TREES = (
    {},
    {"formulation": "recursive", "integrator": "rk4"},
    {"formulation": "ali3p-natural"},
    {"formulation": "recursive", "integrator": "dop853", "error_control": "sensitivities"},
    {"formulation": "recursive", "integrator": "esdirk"},
)


def stated(family: str, grow: Any, seed: int) -> generator.Data:
    """A model file with an analysis, the method and the step by the seed; a formulation of each kind in turn."""
    data = grow(seed)
    if family in ("fields", "inverse dynamics"):
        return data
    step = float(10 ** np.random.default_rng((seed, 17)).uniform(-3.3, -2))
    analysis = {"step": step, "duration": 0.4, "sensitivity": {"method": ("ddm", "adjoint", "none")[seed % 3]}}
    ways = TREES if "tree" in family else LOOPS
    way = ways[seed // 3 % len(ways)]
    for possible in (way, {key: way[key] for key in way if key != "error_control"}, {}):
        found = data | {"analysis": analysis | possible}
        try:
            plan_run(generator.load(found), Settings(), Timing(), SILENT)
        except MbsimError:
            continue
        return found
    return data | {"analysis": analysis}


def given_motion(seed: int) -> generator.Data:
    """An open tree along a given motion: torques, and what they add up to."""
    data = generator.open_tree(seed)
    random = np.random.default_rng((seed, 19))
    swing = {"type": "harmonic", "amplitude": 0.3, "angular_frequency": float(random.uniform(1, 20))}
    data |= {"sensors": {"tau": {"type": "torques"}}, "constraints": {}, "forces": {}}
    for joint in data["joints"].values():
        joint.pop("initial", None)
        if joint["type"] in ("spherical", "floating"):  # whose Euler parameters no law gives
            point = joint.get("point", "origin")
            joint |= {"type": "revolute", "point": point, "axis": "z"}
    data["laws"] = data.get("laws", {}) | {"swing": swing}
    alone = sum(generator.FREEDOM[joint["type"]] for joint in data["joints"].values()) == 1
    data["objectives"] = {"effort": {"integral": "tau**2" if alone else "dot(tau, tau)"}}
    return data | {
        "analysis": {
            "type": "inverse_dynamics",
            "sampling": float(10 ** random.uniform(-3, -1.7)),
            "duration": 1,
            "motion": {"all": "swing"},
            "sensitivity": {"method": ("ddm", "adjoint")[seed % 2]},
        }
    }


class Error(NamedTuple):
    """Relative errors of a number, or of derivatives by a field by their norm."""

    kind: str
    told: float
    true: float


def errors(data: generator.Data) -> Iterator[Error]:
    """Errors of all numbers of a run; what has none, or whose true error finer steps do not show, is left out.

    True ones are differences from a run with an eighth of the step; those of runs with a half and a quarter fall.
    """
    timing = Timing()
    plan = plan_run(generator.load(data), Settings(), timing, SILENT)._replace(second_run=True)
    outcome, assembled, problem = run(plan, timing, SILENT), plan.assembled, plan.assembled.problem

    def finer(parts: float) -> tuple[Any, Any]:
        options = replace(problem.options, step=problem.options.step / parts)
        if options.adaptive:
            less = (options.tolerance / parts**3, options.absolute_tolerance / parts**3)
            options = replace(options, tolerance=less[0], absolute_tolerance=less[1])
        results = evaluate(replace(problem, options=options), assembled.objectives)
        return results, by_fields(assembled.fields, results)

    runs, parameters = [(outcome.results, outcome.by_fields), *map(finer, (2, 4, 8))], values_of(plan.parameters)
    for name, found in outcome.results.items():
        if abs(found.value) < DUST:
            continue
        sizes = found.uncertainty.denominators(found.value, found.gradient, parameters)
        numbers = np.array([np.append(results[name].value, results[name].gradient) for results, _ in runs])
        with np.errstate(invalid="ignore", divide="ignore"):
            rows = np.abs(numbers[:-1] - numbers[1:]) / sizes, np.abs(numbers[0] - numbers[-1]) / sizes * 64 / 63
            known = rows[0][1] <= 0.7 * rows[0][0]
        told = relative_of(found, plan.parameters)
        for k in np.flatnonzero((known | (rows[0][0] < NEARLY_EXACT)) & np.isfinite(told) & np.isfinite(rows[1])):
            yield Error(KINDS[min(k, 1)], told[k], rows[1][k])
        for field, given in outcome.by_fields.get(name, {}).items():
            ours = [fields[name][field] for _, fields in runs]
            first, second = (relative_norm(a - b, given) for a, b in pairwise(ours[:3]))
            if second <= 0.7 * first:
                off = outcome.estimates.by_fields[name][field]
                yield Error("field", relative_norm(off, given), relative_norm(ours[0] - ours[-1], given))


def near(error: Error) -> bool:
    """Whether estimate and truth are alike; that more than all of a number is wrong need not be known better."""
    told, true = min(error.told, 1.0), min(error.true, 1.0)
    return max(told, true) < NEARLY_EXACT or true / FACTOR <= told <= FACTOR * true


def share(found: list[Error], holds: Any) -> float:
    return float(np.mean([holds(error) for error in found]))


@pytest.mark.slow
def test_a_few_mechanisms():
    for seed in (3, 7):
        found = list(errors(stated("loop in a plane", generator.FAMILIES["loop in a plane"], seed)))
        assert found and share(found, near) > 0.9


@pytest.mark.slow
def test_estimates_of_random_mechanisms(file):
    """Shown by -s, and in docs/theory/resolution.md."""
    every: list[Error] = []
    largest: list[Error] = []
    runs = 0
    for family, grow in families(file).items():
        for seed in range(OF_FIELDS if family == "fields" else EACH):
            try:
                found = list(errors(stated(family, grow, seed)))
            except MbsimError:
                continue
            runs += bool(found)
            every += found
            kinds = ([error for error in found if error.kind == kind] for kind in KINDS)
            largest += [
                Error(of[0].kind, max(error.told for error in of), max(error.true for error in of))
                for of in kinds
                if of
            ]
    print(f"{runs} runs")
    for title, rows in (("every number", every), ("the largest of a run", largest)):
        for kind in KINDS:
            of = [error for error in rows if error.kind == kind]
            alarms = share(of, lambda error: error.told > 1e-2 and error.true < 2e-3)
            missed = share(of, lambda error: error.told < 1e-2 and error.true > 5e-2)
            within = share(of, near)
            print(f"{title}, {kind}: {len(of)}, {within:.1%} near, {alarms:.1%} false alarms, {missed:.1%} missed")
            assert within > 0.94 and alarms <= 0.02
    assert runs >= 150
