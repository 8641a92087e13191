"""Laws that change at instants of the results, between them, at the start and at the end: three derivations agree."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.errors import MbsimError
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import complex_steps
from tests.campaign.comparison import ALI3P, FLOOR, TIMES
from tests.campaign.generator import FILE, Data
from tests.campaign.richer import Profiled, profiled

AGREE = 1e-9  # of the largest derivative of an objective, by parameters in parts of themselves
LEAST = 1e-11  # of a derivative that is none
EACH, TOGETHER = 100, 10
ROUND_OFF = 4e-16  # of a position: what accelerations of a piece of a step have of it, times its length to the power -2
SHORT = 1e-3  # of a step: shorter pieces take accelerations from the equations of motion
RK4 = {"formulation": "recursive", "integrator": "rk4"}
# Complex steps iterate as often as values need, which may be once: their derivatives are off by one over the penalty.
HARD = [method | {"penalty": 1e13} for method in ALI3P]


class Broken(Profiled):
    """One whose laws change at instants of results, between them, at the start and at the end."""

    def _instant(self, low: float, high: float) -> str:
        name, step = super()._instant(low, high), TIMES["step"]
        on = round(self.instants[name] / step) * step
        way = self.random.integers(4)
        if way:  # else as it is, between two
            at = {0.01: 0.0, 0.13: TIMES["duration"]}.get(low, on) if way == 1 else on
            self.instants[name] = round(at, 9)
        return name


def mechanism(seed: int) -> Data:
    """A tree in three, which laws with such instants drive and push."""
    m = profiled(seed, Broken)
    m.observe()
    m.choose_parameters(2)
    return m.data


def gradients(data: Data, method: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Objectives with gradients by three derivations."""
    found = {}
    for way in ("ddm", "adjoint"):
        analysis = {**TIMES, **method, "sensitivity": {"method": way, "parameters": "all"}}
        file = spec.load(FILE, {}, texts={str(FILE): json.dumps({**data, "analysis": analysis})})
        assembled = build(file, Settings(), None)
        found[way] = evaluate(assembled.problem, assembled.objectives)
        if way == "ddm":
            found["complex step"] = dict(complex_steps(assembled, SILENT))
    return found


def agreement(data: Data, method: dict[str, Any]) -> float:
    """How near derivations agree: round-off of accelerations in the shortest piece of a step of ALI3-P counts, too.

    Derivatives by its length have half of the acceleration at its end, see docs/theory/ali3p.md, section 6. In one
    mechanism, pieces of 0.1, 0.15, 0.23, 0.4 and 2.5 ms gave 6e-9, 2e-8, 3e-9, 3e-10 and 4e-12 of a derivative.
    """
    if method is RK4:
        return AGREE
    step, moved = TIMES["step"], [value for name, value in data["parameters"].items() if name[0] == "t"]
    times = np.unique([*moved, *(step * np.arange(round(TIMES["duration"] / step) + 1))])
    lengths = np.diff(times)
    return AGREE + ROUND_OFF / lengths[lengths > SHORT * step].min() ** 2


def wrong_of(data: Data, method: dict[str, Any], counts: Counter) -> list[str]:
    """Derivatives in which two derivations differ."""
    found, wrong, enough = gradients(data, method), [], agreement(data, method)
    sizes = np.array([abs(value) or 1.0 for value in data["parameters"].values()])
    for name, direct in found["ddm"].items():
        known = ~np.isnan(direct.gradient)
        counts["jump with a sample"] += int((~known).sum())
        if (known != ~np.isnan(found["adjoint"][name].gradient)).any():
            wrong.append(
                f"{name}: NaN are {direct.gradient} directly, {found['adjoint'][name].gradient} by the adjoint"
            )
        largest = np.max(
            np.abs(direct.gradient[known]) * sizes[known], initial=FLOOR * abs(direct.value) + LEAST / AGREE
        )
        for way in ("adjoint", "complex step"):
            others = found[way][name].gradient
            off = np.abs(others - direct.gradient) * sizes / largest
            for k in np.flatnonzero(known & ~(off <= enough)):
                parameter = list(data["parameters"])[k]
                wrong.append(
                    f"d {name} / d {parameter}: {direct.gradient[k]:.12g}, by {way} {others[k]:.12g}, {off[k]:.1e}"
                )
        counts["derivatives"] += int(known.sum())
        counts["by instants"] += sum(
            np.abs(direct.gradient[k]) > 0 for k, p in enumerate(data["parameters"]) if p[0] == "t"
        )
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, EACH, TOGETHER))
def test_laws_that_break_on_instants(start, record_property):
    counts, wrong = Counter(), {}
    for seed in range(start, start + TOGETHER):
        try:
            if found := wrong_of(mechanism(seed), RK4 if seed % 4 == 3 else HARD[seed % 2], counts):
                wrong[seed] = found
        except MbsimError as error:
            counts["refused"] += 1
            print(f"{seed}: {error}")
    record_property("counts", f"laws that break: {dict(counts)}, other derivations differ: {list(wrong)}")
    assert not wrong, "\n".join(f"{seed}: {each}" for seed, found in wrong.items() for each in found)
    assert counts["by instants"] > TOGETHER
