"""What an optimisation has found, for people, for programs and for its result file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbsim_cli.io.optimization import History
from mbsim_cli.study.optimizing.design import FEASIBLE, Designs
from mbsim_cli.study.optimizing.optimality import ACTIVE


def line_of(designs: Designs) -> str:
    """The best design so far, in a line."""
    trial = designs.best
    beyond = f", {_beyond(designs)}" if trial.violation > FEASIBLE else ""
    value, residual = trial.found[designs.objective], trial.optimality.residual
    return f"analysis {len(designs.trials)}: {designs.objective} {value:.8g}, optimality {residual:.1e}{beyond}"


def _beyond(designs: Designs) -> str:
    """By how much the best design misses the limit that it misses most, in the limit's unit."""
    limit = designs.missed
    return f"{limit.name} beyond its limit by {abs(designs.best.found[limit.name] - limit.value):.1e}"


def doubts_of(designs: Designs, ended: str) -> list[str]:
    """What a reader should know of a search that ``ended`` before an optimum."""
    if not ended:
        return []
    best, variables = designs.best, designs.variables
    worst = best.optimality.worst
    place = variables.names[worst] if worst < len(variables.names) else "an element of a field"
    told = f"the optimality conditions hold to {best.optimality.residual:.1e} ({place}), not to {designs.tolerance:g}"
    return [f"{told}: {ended}"]


def history_of(designs: Designs, units: Mapping[str, str], facts: Mapping[str, str]) -> History:
    """All designs that were tried."""
    trials, variables = designs.trials, designs.variables
    best = next(i for i, trial in enumerate(trials, 1) if trial is designs.best)
    wanted, count = "minimized" if designs.sign > 0 else "maximized", len(variables.names)
    return History(
        {**facts, wanted: designs.objective, "best": best},
        dict(zip(variables.names, variables.units, strict=True)),
        np.stack([variables.low, variables.high], 1)[:count],
        np.array([trial.values[:count] for trial in trials]),
        units,
        np.array([[trial.found[name] for name in units] for trial in trials]),
        np.array([trial.violation for trial in trials]),
        np.array([trial.optimality.residual for trial in trials]),
        [trial.failure for trial in trials],
    )


def report_of(designs: Designs, history: History, units: Mapping[str, str]) -> dict[str, Any]:
    """Plain data of what was varied and kept, as --json prints them."""
    best = designs.best
    return {
        **history.facts,
        "unit": units[designs.objective],
        "start": designs.trials[0].found[designs.objective],
        "value": best.found[designs.objective],
        "analyses": len(designs.trials),
        "failed_analyses": sum(bool(trial.failure) for trial in designs.trials),
        "optimality": best.optimality.residual,
        "violation": best.violation,
        "variables": {name: _variable(designs, i) for i, name in enumerate(designs.variables.names)},
        "fields": {name: _field(designs, place) for name, place in designs.variables.fields.items()},
        "constraints": _constraints(designs, units),
    }


def _variable(designs: Designs, i: int) -> dict[str, Any]:
    """The i-th parameter, the end of its range that it is at, and the one that holds it: it gains nothing there."""
    variables, held, u = designs.variables, designs.best.optimality.of_ranges[i], designs.best.u[i]
    return {
        "start": float(variables.start[i]),
        "value": float(designs.best.values[i]),
        "bounds": [float(variables.low[i]), float(variables.high[i])],
        "unit": variables.units[i],
        "at": "lower" if u < ACTIVE else "upper" if u > 1.0 - ACTIVE else "",
        "held_by": "" if held == 0 else "upper" if held > 0 else "lower",
    }


def _field(designs: Designs, place: slice) -> dict[str, Any]:
    """A field, by what its elements come to."""
    start, best = designs.variables.start[place], designs.best.values[place]
    return {
        "elements": len(best),
        "start": float(start.mean()),
        "mean": float(best.mean()),
        "least": float(best.min()),
        "largest": float(best.max()),
    }


def _constraints(designs: Designs, units: Mapping[str, str]) -> list[dict[str, Any]]:
    """Limits, and how the optimum changes with them."""
    first, best = designs.trials[0], designs.best
    return [
        {
            "objective": limit.name,
            "limit": limit.words,
            "start": first.found[limit.name],
            "value": best.found[limit.name],
            "unit": units[limit.name],
            "active": bool(m != 0),
            "sensitivity": float(m),
        }
        for limit, m in zip(designs.limits, designs.multipliers(best), strict=True)
    ]
