"""An optimisation from its model file to the result of the best design."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, UsageError
from mbsim_cli.io.optimization import History
from mbsim_cli.io.target import check_target
from mbsim_cli.spec.moved import with_fields, with_gradients_by
from mbsim_cli.study.assembling import load, stated_method
from mbsim_cli.study.choice import AUTO
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.listener import Asking, Interrupted, Listener
from mbsim_cli.study.optimizing.design import FEASIBLE, Designs, Limit
from mbsim_cli.study.optimizing.methods import method_for, search
from mbsim_cli.study.optimizing.variables import Variables, variables_of
from mbsim_cli.study.plan import Plan, draft, plan_at
from mbsim_cli.study.recording import recorded
from mbsim_cli.study.run import Outcome, run
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing

GRADIENTS = ("ddm", "adjoint", AUTO)


def optimize(
    path: Path,
    name: str | None,
    output: Path | None,
    settings: Settings,
    *,
    evaluations: int | None = None,
    algorithm: str | None = None,
    command: str,
    listener: Listener,
    force: bool,
    begun: float | None = None,
) -> dict[str, Any]:
    """Optimise as a model file states under a name; write the result of the best design; return what --json prints."""
    timing = Timing()
    with timing.phase("load", begun):
        file = load(path, settings)
        name, given = stated(file, name)
        variables = variables_of(file, given.varied)
        settings = replace(settings, method=_gradients(file, settings, given))
        if given.fields:
            file = with_gradients_by(file, "adjoint", variables.names, given.fields)
        limits = limits_of(file, given)
        guard: dict[str, Any] = {"force": force, "protected": (*map(Path, file.source.texts), *file.source.tables)}
        output = output or Path(f"{path.stem}-{name}.h5")
        target = check_target(output, **guard)
    by = None if given.fields else variables.names  # with fields the file says so
    base = draft(file, settings, timing, by).plan(timing, listener)
    if given.fields:
        variables = variables.with_fields(_fields(file, base))
    method = method_for(algorithm or given.algorithm, len(variables.start))
    if method == "mma" and any(limit.equal for limit in limits):
        raise UsageError("mma keeps no equalities; choose slsqp")
    with timing.phase("compile"):
        base.compile(listener)

    def plan(values: np.ndarray, spent: Timing) -> Plan:
        changed, fields = variables.parts(values)
        moved = with_fields(file, fields) if fields else file
        return plan_at(moved, base.settings, changed, spent, Asking(listener), by)

    def analyse(values: np.ndarray) -> Mapping[str, Gradient]:
        spent = Timing()
        outcome = run(plan(values, spent), spent, Asking(listener))
        return by_all(outcome, variables) if variables.fields else outcome.results

    tolerance = float(file.expressions.value(given.tolerance).real)
    sign = 1.0 if given.minimize is not None else -1.0
    most = evaluations or given.evaluations
    designs = Designs(variables, given.objective, sign, limits, analyse, most, tolerance)
    with listener.shield():
        ended, stop = _searched(method, designs, timing, listener)
        if not designs.trials:
            raise stop or AnalysisError(ended)
        planned = plan(designs.best.values, timing)
        units = {objective.name: objective.unit for objective in planned.assembled.objectives}
        units |= {volume_of(field): "1" for field in variables.fields}
        history = _history(designs, units, {"name": name, "method": method, "ended": ended or "optimal"})
        outcome = recorded(planned, target, guard, command, timing, listener, history)
    report = outcome.report
    report["warnings"] = [*report["warnings"], *_doubts(designs, ended)]
    report = {"model": str(path), "output": str(output)} | report | {"optimization": _report(designs, history, units)}
    _leave(designs, stop, output, listener)
    return report


def stated(model_file: Any, name: str | None) -> tuple[str, Any]:
    """The optimisation of a name, or the only one; raises UsageError."""
    known = model_file.optimization
    if name is None and len(known) == 1:
        return next(iter(known.items()))
    if name not in known:
        asked = "name an optimization" if name is None else f"unknown optimization {name!r}"
        has = ", ".join(known) or "none: write one under optimization, as {calm: {minimize: OBJECTIVE}}"
        raise UsageError(f"{asked}: the model has {has}")
    return str(name), known[name]


def _gradients(model_file: Any, settings: Settings, given: Any) -> str:
    """The method of gradients: the caller's, else the file's where it is exact, else auto; of fields the adjoint."""
    if given.fields and settings.method not in (None, "adjoint", AUTO):
        raise UsageError(f"the adjoint alone gives gradients by fields, not {settings.method}")
    if given.fields:
        return "adjoint"
    method = settings.method or stated_method(model_file, settings)
    if settings.method is not None and method not in GRADIENTS:
        raise UsageError(f"an optimisation follows exact gradients: {', '.join(GRADIENTS)}, not {method}")
    return method if method in GRADIENTS else AUTO


def limits_of(model_file: Any, given: Any) -> list[Limit]:
    """Limits on objectives, and on the volumes of fields, that an optimisation states."""
    number, found = model_file.expressions.value, []
    volumes = {volume_of(field): limit for field, limit in given.volume.items()}
    for name, limit in (given.constraints | volumes).items():
        kinds = ((limit.at_least, -1.0, False), (limit.at_most, 1.0, False), (limit.equals, 1.0, True))
        for value, sign, equal in kinds:
            if value is not None:
                found.append(Limit(name, float(number(value).real), sign, equal, name in volumes))
    return found


def volume_of(field: str) -> str:
    """How limits and reports name the mean of a field over the volume."""
    return f"volume of {field}"


def _fields(model_file: Any, base: Plan) -> dict[str, tuple[np.ndarray, float, float]]:
    """Values (ne) of the fields that vary, and their bounds."""
    number, found = model_file.expressions.value, {}
    for given in base.assembled.fields:
        low, high = (float(number(bound).real) for bound in model_file.fields[given.name].bounds)
        found[given.name] = (given.body.mesh().fields[given.name], low, high)
    return found


def by_all(outcome: Outcome, variables: Variables) -> dict[str, Gradient]:
    """Objectives with derivatives (v,) by parameters and all elements of fields, and the fields' volumes."""
    found = {}
    for name, result in outcome.results.items():
        parts = [outcome.by_fields[name][field] for field in variables.fields]
        found[name] = replace(result, gradient=np.concatenate([result.gradient, *parts]))
    for given in outcome.plan.assembled.fields:
        mean, by_elements = given.body.share()
        gradient = np.zeros(len(variables.start))
        gradient[variables.fields[given.name]] = by_elements
        found[volume_of(given.name)] = Gradient(mean, gradient)
    return found


def _searched(method: str, designs: Designs, timing: Timing, listener: Listener) -> tuple[str, Interrupted | None]:
    """Why the search ended, nothing where it found an optimum; and what interrupted it."""
    best: list[Any] = [None]
    with timing.phase("solve"), listener.progress("optimizing", designs.most) as show:

        def tell(designs: Designs) -> None:
            show(len(designs.trials))
            if designs.best is not best[0]:
                best[0] = designs.best
                listener.say(_line(designs))

        designs.told = tell
        try:
            return search(method, designs), None
        except Interrupted as stop:
            return str(stop), stop


def _line(designs: Designs) -> str:
    trial = designs.best
    beyond = f", beyond limits by {trial.violation:.1e}" if trial.violation > FEASIBLE else ""
    value, residual = trial.found[designs.objective], trial.optimality.residual
    return f"analysis {len(designs.trials)}: {designs.objective} {value:.8g}, optimality {residual:.1e}{beyond}"


def _doubts(designs: Designs, ended: str) -> list[str]:
    if not ended:
        return []
    residual = designs.best.optimality.residual
    return [f"the optimality conditions hold to {residual:.1e}, not to {designs.tolerance:g}: {ended}"]


def _leave(designs: Designs, stop: Interrupted | None, output: Path, listener: Listener) -> None:
    """Raise what ended an optimisation too early, or that no design keeps to the limits; the result is written."""
    trial = designs.best
    if stop is not None:
        listener.warn(f"mbsim: the best of {len(designs.trials)} designs is kept in {output}")
        stop.__dict__["kept"] = str(output)
        raise stop
    if trial.violation > FEASIBLE:
        worst = int(np.argmax(np.where(trial.equal, np.abs(trial.excess), trial.excess)))
        limit = designs.limits[worst]
        failure = AnalysisError(
            f"no design was found within the limits: the best has {limit.name} {trial.found[limit.name]:.8g}, "
            f"which is to be {limit.words}; it is kept in {output}"
        )
        failure.__dict__["kept"] = str(output)
        raise failure


def _history(designs: Designs, units: Mapping[str, str], facts: Mapping[str, str]) -> History:
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


def _report(designs: Designs, history: History, units: Mapping[str, str]) -> dict[str, Any]:
    """Plain data of what was varied and kept, as --json prints them."""
    first, best, variables = designs.trials[0], designs.best, designs.variables
    ranges = best.optimality.of_ranges[: len(variables.names)]
    held = ["" if m == 0 else "upper" if m > 0 else "lower" for m in ranges]
    return {
        **history.facts,
        "unit": units[designs.objective],
        "start": first.found[designs.objective],
        "value": best.found[designs.objective],
        "analyses": len(designs.trials),
        "failed_analyses": sum(bool(trial.failure) for trial in designs.trials),
        "optimality": best.optimality.residual,
        "violation": best.violation,
        "variables": {
            name: {
                "start": float(variables.start[i]),
                "value": float(best.values[i]),
                "bounds": [float(variables.low[i]), float(variables.high[i])],
                "unit": variables.units[i],
                "held_by": held[i],
            }
            for i, name in enumerate(variables.names)
        },
        "fields": {
            name: {
                "elements": len(best.values[place]),
                "start": float(variables.start[place].mean()),
                "mean": float(best.values[place].mean()),
                "least": float(best.values[place].min()),
                "largest": float(best.values[place].max()),
            }
            for name, place in variables.fields.items()
        },
        "constraints": [
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
        ],
    }
