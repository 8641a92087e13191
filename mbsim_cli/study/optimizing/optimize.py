"""An optimisation as a whole: its statement in the model file, its analyses, and its result."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, ModelError, UsageError, either, leaving, option
from mbsim_cli.io.findings import History
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.parameters import with_adjoint_by
from mbsim_cli.spec.studies import Optimization
from mbsim_cli.study.assembling import AUTO, Settings, load, named_or_only, stated_method
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.fitting.findings import save_model as save
from mbsim_cli.study.fitting.findings import text_to_save
from mbsim_cli.study.listener import SILENT, Interrupted, Listener, PollOnly
from mbsim_cli.study.model import Model
from mbsim_cli.study.optimizing.design import ACTIVE, FEASIBLE, Designs, Limit, Trial, Variables, variables_of
from mbsim_cli.study.optimizing.log import Log, identity_of
from mbsim_cli.study.optimizing.methods import method_for, search
from mbsim_cli.study.plan import Plan, Timing, plan_run
from mbsim_cli.study.recording import plan_for_file, recorded
from mbsim_cli.study.run import run

GRADIENTS = ("ddm", "adjoint", AUTO)


def method_of_gradients(model_file: ModelFile, settings: Settings, given: Optimization) -> str:
    """The method of gradients: the caller's, else the file's where it is exact, else auto; of fields the adjoint."""
    if given.fields and settings.method not in (None, "adjoint", AUTO):
        raise UsageError(f"the adjoint alone gives gradients by fields, not {settings.method}")
    if given.fields:
        return "adjoint"
    method = settings.method or stated_method(model_file, settings)
    if settings.method is not None and method not in GRADIENTS:
        raise UsageError(f"an optimisation follows exact gradients: {', '.join(GRADIENTS)}, not {method}")
    return method if method in GRADIENTS else AUTO


def limits_of(model_file: ModelFile, given: Optimization) -> list[Limit]:
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
    """Name of the mean of a field over the volume, in limits and reports."""
    return f"volume of {field}"


def varied_fields(model_file: ModelFile, base: Plan) -> dict[str, tuple[np.ndarray, float, float]]:
    """Values (ne) of the fields that vary, and their bounds."""
    number, found = model_file.expressions.value, {}
    for given in base.assembled.fields:
        low, high = (float(number(bound).real) for bound in model_file.fields[given.name].bounds or ())
        mesh = given.body.mesh()
        assert mesh is not None  # bodies with fields have one
        found[given.name] = (mesh.fields[given.name], low, high)
    return found


def line_of(designs: Designs) -> str:
    """The best design so far, in a line."""
    trial, beyond = designs.best, ""
    if trial.violation > FEASIBLE:
        limit = designs.missed
        beyond = f", {limit.name} beyond its limit by {abs(trial.found[limit.name] - limit.value):.1e}"
    value, residual = trial.found[designs.objective], trial.optimality.residual
    return f"analysis {len(designs.trials)}: {designs.objective} {value:.8g}, optimality {residual:.1e}{beyond}"


def warnings_of(designs: Designs, ended: str) -> list[str]:
    """Warnings of a search that ``ended`` before an optimum."""
    if not ended:
        return []
    best, variables = designs.best, designs.variables
    worst = best.optimality.worst
    place = variables.names[worst] if worst < len(variables.names) else "an element of a field"
    reached = f"the optimality conditions hold to {best.optimality.residual:.1e} ({place})"
    return [f"{reached}, not to {designs.tolerance:g}: {ended}"]


def history_of(designs: Designs, units: Mapping[str, str], facts: Mapping[str, str]) -> History:
    """All designs that were tried."""
    trials, variables = designs.trials, designs.variables
    best = next(i for i, trial in enumerate(trials, 1) if trial is designs.best)
    direction, count = "minimized" if designs.sign > 0 else "maximized", len(variables.names)
    return History(
        {**facts, direction: designs.objective, "best": best},
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
    first, best = designs.trials[0], designs.best
    return {
        **history.facts,
        "unit": units[designs.objective],
        "start": first.found[designs.objective],
        "value": best.found[designs.objective],
        "analyses": len(designs.trials),
        "failed_analyses": sum(bool(trial.failure) for trial in designs.trials),
        "optimality": best.optimality.residual,
        "violation": best.violation,
        "variables": {name: _variable(designs, i) for i, name in enumerate(designs.variables.names)},
        "fields": {name: _field(designs, place) for name, place in designs.variables.fields.items()},
        "constraints": [
            {
                "objective": limit.name,
                "limit": limit.words,
                "start": first.found[limit.name],
                "value": best.found[limit.name],
                "unit": units[limit.name],
                "active": bool(m != 0),
                "sensitivity": float(m),  # of the optimum to the limit
            }
            for limit, m in zip(designs.limits, designs.multipliers(best), strict=True)
        ],
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


Stop = Interrupted | KeyboardInterrupt


class Task(NamedTuple):
    """An optimisation that a model file states, and the analyses of its designs."""

    name: str
    given: Optimization
    file: ModelFile  # whose gradients the search follows
    settings: Settings
    variables: Variables
    limits: list[Limit]
    listener: Listener

    @property
    def by(self) -> Sequence[str] | None:
        """Parameters that gradients are taken by; None where there are fields, and the file says so."""
        return None if self.given.fields else self.variables.names

    def plan(self, values: np.ndarray, timing: Timing) -> Plan:
        """The analysis of a design: the model at its values (v,)."""
        changed, fields = self.variables.parts(values)
        moved = self.file.with_fields(fields) if fields else self.file
        return plan_run(moved, self.settings, timing, PollOnly(self.listener), self.by, values=changed)

    def objectives(self, values: np.ndarray) -> Mapping[str, Gradient]:
        """Objectives of a design, and volumes of fields, with derivatives (v,) by all variables."""
        spent = Timing()
        outcome, variables = run(self.plan(values, spent), spent, PollOnly(self.listener)), self.variables
        if not variables.fields:
            return outcome.results
        found = {}
        for name, result in outcome.results.items():
            parts = [outcome.by_fields[name][field] for field in variables.fields]
            found[name] = result._replace(gradient=np.concatenate([result.gradient, *parts]))
        for given in outcome.plan.assembled.fields:
            assert given.body.share is not None  # bodies with fields have one
            mean, by_elements, by_parameters = given.body.share(variables.names)
            gradient = np.zeros(len(variables.start))
            gradient[: len(by_parameters)] = by_parameters
            gradient[variables.fields[given.name]] = by_elements
            found[volume_of(given.name)] = Gradient(mean, gradient)
        return found

    def method(self, algorithm: str | None) -> str:
        """Name of the search method; raises UsageError for one that cannot keep the limits."""
        equalities = any(limit.equal for limit in self.limits)
        found = method_for(algorithm or self.given.algorithm, len(self.variables.start), equalities)
        if found == "mma" and equalities:
            raise UsageError("mma keeps no equalities; choose slsqp")
        return found

    def designs(self, analyse: Callable[[np.ndarray], Mapping[str, Gradient]], most: int) -> Designs:
        """Designs of at most ``most`` analyses, none of them tried yet."""
        tolerance = float(self.file.expressions.value(self.given.tolerance).real)
        sign = 1.0 if self.given.minimize is not None else -1.0
        return Designs(self.variables, self.given.objective, sign, self.limits, analyse, most, tolerance)


@dataclass(frozen=True)
class Request:
    """Options of one optimisation, without the settings of its analyses."""

    name: str | None = None  # in the model file; None: the only one
    output: Path | None = None  # the result file; None: MODEL-NAME.h5
    evaluations: int | None = None  # analyses at most; None: as in the file
    algorithm: str | None = None  # None: as in the file
    save_model: Path | None = None  # where the model file is written with the values of the best design
    force: bool = False  # whether files of another kind are overwritten


def optimize(
    path: Path, request: Request, settings: Settings, listener: Listener, command: str, begun: float | None = None
) -> dict[str, Any]:
    """Optimise as a model file states; write the result of the best design; return what --json prints."""
    force, save_model, timing = request.force, request.save_model, Timing()
    with timing.phase("load", begun):
        file = load(path, settings)
        name, given = named_or_only(file.optimization, request.name, "optimization", "{calm: {minimize: OBJECTIVE}}")
        variables = variables_of(file, given.varied)
        settings = replace(settings, method=method_of_gradients(file, settings, given))
        if given.fields:
            file = with_adjoint_by(file, variables.names, given.fields)
        task = Task(name, given, file, settings, variables, limits_of(file, given), listener)
        output = request.output or Path(f"{path.stem}-{name}.h5")
        if given.fields and save_model:
            kept = f"file: {output}, dataset: fields/{given.fields[0]}"
            message = f"{option('save_model')} writes no elements of fields"
            raise UsageError(f"{message}; a field takes its optimum up by {kept}")
        model = None if save_model is None else Model.with_settings(path, settings, SILENT)
        if model and save_model:
            text_to_save(model, variables.parts(variables.start)[0], save_model, force=force)
    base, target, guard = plan_for_file(output, file, settings, timing, listener, task.by, force=force)
    if given.fields:
        variables = variables.with_fields(varied_fields(file, base))
    task = task._replace(settings=base.settings, variables=variables)
    method = task.method(request.algorithm)
    with timing.phase("compile"):
        base.compile(listener)
    identity = identity_of(file, base.settings, [*variables.names, *variables.fields])
    log = Log(target.with_name(f"{target.name}.designs"), identity, task.objectives, listener, force=force)
    with closing(log), listener.shield():
        designs, ended, stop, starts = _best_of(task, log, request.evaluations, method, timing)
        planned = task.plan(designs.best.values, timing)._replace(second_run=True)
        units = {objective.name: objective.unit for objective in planned.assembled.objectives}
        units |= {volume_of(field): "1" for field in designs.variables.fields}
        history = history_of(designs, units, {"name": name, "method": method, "ended": ended or "optimal"})
        outcome = recorded(planned, target, guard, command, timing, listener, history)
        if stop is None:
            log.remove()
    report = {"model": str(path), "output": str(output)} | outcome.report
    report["warnings"] = [*report["warnings"], *warnings_of(designs, ended)]
    report["optimization"] = report_of(designs, history, units)
    if starts:
        report["optimization"]["starts"] = starts
    if model and save_model:
        found, _ = variables.parts(designs.best.values)
        try:
            report["saved_model"] = str(save(model, found, save_model, force=force))
        except UsageError as error:
            sentence = f"{error}; the best design is kept in {output}"
            raise leaving(UsageError(sentence), kept=str(output)) from error
    _require_complete(designs, ended, stop, output, listener)
    return report


def _best_of(
    task: Task, log: Log, evaluations: int | None, method: str, timing: Timing
) -> tuple[Designs, str, Stop | None, list[float | None]]:
    """Search from each start; the best designs, why that search ended, what interrupted, and the optimum of each start.

    The optima are left out where there is one start; one that no analysis works at has none.
    """
    count, most = task.given.starts, evaluations or task.given.evaluations
    random = np.random.default_rng(0)
    best: tuple[Designs, str] | None = None
    found: list[float | None] = []
    stop: Stop | None = None
    for k in range(count):
        designs = task.designs(log, most)
        if k:
            place = random.random(len(task.variables.start))
            designs.variables = replace(task.variables, start=task.variables.values(place))
            task.listener.say(f"start {k + 1} of {count}")
        try:
            ended, stop = _searched(method, designs, timing, task.listener)
        except (AnalysisError, ModelError):
            if not k:
                raise
            found.append(None)
            continue
        if not designs.trials:
            if best is None:
                raise stop or AnalysisError(ended)
            break
        found.append(designs.best.found[designs.objective] if designs.best.violation <= FEASIBLE else None)
        if best is None or _key(designs) < _key(best[0]):
            best = designs, ended
        if stop is not None:
            break
    assert best is not None
    return *best, stop, found if count > 1 else []


def _key(designs: Designs) -> tuple[bool, float]:
    """The order of the best designs of searches: limits that are missed, then the objective."""
    trial = designs.best
    return trial.violation > FEASIBLE, designs.sign * trial.found[designs.objective]


def _searched(method: str, designs: Designs, timing: Timing, listener: Listener) -> tuple[str, Stop | None]:
    """Why the search ended, nothing where it found an optimum; and what interrupted it."""
    best: list[Trial | None] = [None]
    with timing.phase("solve"), listener.progress("optimizing", designs.most) as show:

        def report(designs: Designs) -> None:
            show(len(designs.trials))
            if designs.best is not best[0]:
                best[0] = designs.best
                listener.say(line_of(designs))

        designs.progress = report
        try:
            return search(method, designs), None
        except (Interrupted, KeyboardInterrupt) as stop:
            return str(stop) or "interrupted", stop


def _require_complete(designs: Designs, ended: str, stop: Stop | None, output: Path, listener: Listener) -> None:
    """Raise what ended an optimisation too early, or that no design keeps to the limits; the result is written."""
    trial = designs.best
    if stop is not None:
        continues = f"the same {either('command', 'call')} continues the search"
        sentence = f"the best of {len(designs.trials)} designs is kept in {output}; {continues}"
        listener.warn(f"mbsim: {sentence}")
        stop.add_note(sentence)
        raise leaving(stop, kept=str(output))
    if trial.violation > FEASIBLE:
        limit = designs.missed
        best = f"the best has {limit.name} {trial.found[limit.name]:.8g}, which is to be {limit.words}"
        sentence = f"no design was found within the limits: {best}; it is kept in {output}; {ended}"
        raise leaving(AnalysisError(sentence), kept=str(output))
